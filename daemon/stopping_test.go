package daemon

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// stopWithin is the default of LAYOVER_SHUTDOWN_TIMEOUT.
const stopWithin = 8 * time.Second

// lows watches the offsets that groups commit.
type lows struct {
	mu    sync.Mutex
	high  map[string]int64 // by group, topic and partition
	wrong []string
}

// watchCommits has each commit compared with those before.
func (w *fixture) watchCommits() *lows {
	l := &lows{high: make(map[string]int64)}
	w.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Count: -1, Observe: true, When: func(r kmsg.Request) bool {
		l.look(r.(*kmsg.OffsetCommitRequest))
		return false
	}})
	return l
}

func (l *lows) look(req *kmsg.OffsetCommitRequest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			of := fmt.Sprintf("%s %x %s/%d", req.Group, t.TopicID, t.Topic, p.Partition)
			if p.Offset < l.high[of] {
				l.wrong = append(l.wrong, fmt.Sprintf("%s: %d after %d, by member %q", of, p.Offset, l.high[of], req.MemberID))
			}
			l.high[of] = max(l.high[of], p.Offset)
		}
	}
}

// wentBack fails the test where a commit took an earlier one back since the last call.
func (l *lows) wentBack(w *fixture, at point) {
	w.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.wrong) > 0 {
		w.Errorf("%v: commits went back:\n%s", at, strings.Join(l.wrong, "\n"))
		l.wrong = nil
	}
}

// members is how many members the usual group has.
func (w *fixture) members() int {
	if g := w.Broker.GroupInfo("layover-" + ingress); g != nil {
		return len(g.Members)
	}
	return 0
}

// load sends a record to each partition that is due at once, and one that is not.
func (w *fixture) load(at point) {
	w.Helper()
	for p := range int32(2) {
		w.send(p, at.String())
	}
	w.send(0, "parked", header("x-delay", "100h"))
}

// delivered fails the test unless the records of load have come, and where brokers answered
// each of them once.
func (w *fixture) delivered(points []point, answered bool) {
	w.Helper()
	if w.Failed() {
		return
	}
	records := w.Records(egress)
	w.notEarly(records)
	got := make(map[string]int)
	for _, r := range records {
		got[string(r.Value)]++
	}
	for _, at := range points {
		if n := got[at.String()]; n < 2 || n > 2 && answered {
			w.Errorf("%v: 2 records were delivered %d times in all", at, n)
		}
	}
	if got["parked"] > 0 {
		w.Errorf("a record was delivered that is parked")
	}
}

// over starts an instance over a network of its own.
func (w *fixture) over(s *steps, settings ...string) *instance {
	w.Helper()
	usual := w.dial
	defer func() { w.dial = usual }()
	w.dial = s.dial
	return w.start(settings...)
}

// pick returns those of the points that are tried. They are the first of each kind, the first two in the checks of
// a change, or all in a long test.
func pick(points []point) []point {
	return slices.DeleteFunc(points, func(p point) bool { return p.nth > 1 && !long.Asked() || p.nth > 2 && !long.Whole() })
}

// arrives waits until the instance has come to its point. It does not come to each in every run:
// goroutines take turns as they like.
func (s *steps) arrives() bool {
	select {
	case <-s.came:
		return true
	case <-time.After(20 * time.Second):
		return false
	}
}

// eachPoint calls f at each of the points.
func (w *fixture) eachPoint(points []point, f func(at point) (came bool)) {
	w.Helper()
	before := inThisBubble()
	missed := 0
	for _, at := range points {
		if !f(at) {
			missed++
		}
		if w.Failed() {
			return
		}
	}
	if missed > len(points)/2 {
		w.Errorf("%d of %d points have not come", missed, len(points))
	}
	time.Sleep(2 * time.Minute) // sessions are over, and requests given up
	synctest.Wait()
	if more := more(before, inThisBubble(), "kgo.(*broker", "(*steps).dial"); len(more) > 0 {
		w.Errorf("there are more goroutines of\n%s", strings.Join(more, "\n"))
	}
}

// knows fails the test unless requests of these kinds are among the points.
func (w *fixture) knows(points []point, kinds ...kmsg.Key) {
	w.Helper()
	for _, kind := range kinds {
		if !slices.ContainsFunc(points, func(p point) bool { return p.what == "request "+kind.Name() }) {
			w.Errorf("there was no %s", kind.Name())
		}
	}
}

// startKinds are what a start comes to.
var startKinds = []kmsg.Key{kmsg.Metadata, kmsg.FindCoordinator, kmsg.JoinGroup, kmsg.SyncGroup, kmsg.OffsetFetch, kmsg.ListOffsets, kmsg.OffsetCommit, kmsg.Fetch, kmsg.InitProducerID, kmsg.Produce}

// answers reports whether brokers answer in time.
func (e ending) answers() bool { return !e.vanishes && !e.silences && e.wait < stopWithin }

// stopsIn stops an instance. The test fails where that takes longer than promised, and where
// brokers answer unless it is quick.
func (in *instance) stopsIn(at point, how ending) {
	in.w.Helper()
	within := stopWithin
	if how.answers() {
		within = time.Second
	}
	began := time.Now()
	in.stop()
	if took := time.Since(began); took > within {
		in.w.Errorf("%v: the stop took %v, want %v at most", at, took, within)
	}
}

// TestAStopAtEachPointOfAStart is about a member whose group has offsets and a journal.
// Whatever becomes of the point, the stop is over in time and nothing stays behind. The next
// start goes on as if there had been no stop.
func TestAStopAtEachPointOfAStart(t *testing.T) {
	for what, settings := range map[string][]string{"": nil, ", behind its checks": {"LAYOVER_PREFLIGHT=fail"}} {
		for _, how := range slices.Concat(answered, unanswered) {
			if settings != nil && how.answers() != (how.wait == once) && !long.Whole() {
				continue // an answered and an unanswered one are tried
			}
			if !long.Asked() && (settings != nil || how.name != "goes on" && how.name != "vanishes") {
				continue
			}
			t.Run(how.name+what, func(t *testing.T) {
				t.Parallel()
				inBubble(t, func(w *fixture) { w.stopAtEachPointOfAStart(how, settings) })
			})
		}
	}
}

func (w *fixture) stopAtEachPointOfAStart(how ending, settings []string) {
	settings = append([]string{narrow}, settings...)
	l := w.journalled(settings...)
	w.load(point{})
	s := stepsOf(w.dial, point{}, how)
	in := w.over(s, settings...)
	in.ready()
	time.Sleep(2 * time.Second)
	points := s.all()
	in.stop()
	w.knows(points, startKinds...)
	points = pick(points)
	w.eachPoint(points, func(at point) bool {
		w.load(at)
		s := stepsOf(w.dial, at, how)
		in := w.over(s, settings...)
		came := s.arrives()
		in.stopsIn(at, how)
		if n := w.members(); n > 0 && how.answers() {
			w.Errorf("%v: %d members are left in the group", at, n)
		}
		l.wentBack(w, at)
		return came
	})
	w.goesOn(settings...)
	w.delivered(append(points, point{}), how.answers())
}

// journalled makes a group that has a journal, and returns what watches its commits.
func (w *fixture) journalled(settings ...string) *lows {
	w.Helper()
	w.LimitMetadata(300)
	w.withoutFetchSessions()
	l := w.watchCommits()
	in := w.start(settings...)
	in.ready()
	w.scattered(200)
	in.stop()
	return l
}

// goesOn fails the test unless a start is healthy.
func (w *fixture) goesOn(settings ...string) {
	w.Helper()
	in := w.start(settings...)
	in.ready()
	time.Sleep(5 * time.Second)
	w.onTime(0, 1)
	in.stop()
}

// TestAStopThatIsDisturbedAtEachOfItsPoints: by brokers, or by a second signal, which ends
// the process there.
func TestAStopThatIsDisturbedAtEachOfItsPoints(t *testing.T) {
	long.InChecks(t)
	for _, how := range slices.Concat(answered, unanswered, []ending{{name: "is a second signal", wait: once}}) {
		t.Run(how.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *fixture) { w.disturbEachPointOfAStop(how, how.name == "is a second signal") })
		})
	}
}

func (w *fixture) disturbEachPointOfAStop(how ending, killed bool) {
	l := w.journalled(narrow)
	life := func(at point) (*steps, *instance) { // up to the stop, with records in flight
		s := stepsOf(slow(w.dial, 5*time.Millisecond), at, how)
		s.armed = false
		in := w.over(s, narrow)
		in.ready()
		time.Sleep(1500 * time.Millisecond)
		s.fromNow()
		w.load(at)
		time.Sleep(once)
		return s, in
	}
	s, in := life(point{})
	in.stop()
	points := s.all()
	w.knows(points, kmsg.Produce, kmsg.OffsetCommit, kmsg.LeaveGroup)
	points = pick(points)
	w.eachPoint(points, func(at point) bool {
		s, in := life(at)
		var came bool
		if killed {
			in.cancel()
			came = s.arrives()
			in.kill()
		} else {
			in.stopsIn(at, how)
			came = s.arrives()
		}
		l.wentBack(w, at)
		return came
	})
	w.goesOn(narrow)
	w.delivered(append(points, point{}), how.answers() && !killed)
}

// TestAStopAtEachPointOfARebalance: a second member joins, and one of the two is stopped.
func TestAStopAtEachPointOfARebalance(t *testing.T) {
	long.InChecks(t)
	for what, older := range map[string]bool{"the older member": true, "the newer member": false} {
		for _, how := range []ending{answered[0], answered[1], unanswered[1]} {
			if older && !how.answers() || how.answers() && how.wait > once && !long.Whole() {
				continue // the points are the newer one's
			}
			t.Run(what+", "+how.name, func(t *testing.T) {
				t.Parallel()
				inBubble(t, func(w *fixture) { w.stopAtEachPointOfARebalance(how, older) })
			})
		}
	}
}

func (w *fixture) stopAtEachPointOfARebalance(how ending, older bool) {
	l := w.journalled(narrow)
	first := w.start(narrow)
	first.ready()
	const each = 100 // records of a partition that are delivered while a member joins
	sent := 0
	join := func(at point) (*steps, *instance) {
		w.load(at)
		for p := range int32(2) {
			w.sendMany(p, sent, each, delays(10*time.Second, each))
		}
		sent += each
		s := stepsOf(w.dial, at, how)
		return s, w.over(s, narrow)
	}
	s, second := join(point{})
	time.Sleep(10 * time.Second)
	points := s.all()
	second.stop()
	w.knows(points, kmsg.JoinGroup, kmsg.SyncGroup, kmsg.OffsetFetch, kmsg.OffsetCommit, kmsg.Fetch)
	points = pick(points)
	w.eachPoint(points, func(at point) bool {
		time.Sleep(2 * time.Second)
		s, second := join(at)
		came := s.arrives()
		if older {
			first, second = second, first
		}
		began := time.Now()
		second.stop()
		if took := time.Since(began); took > stopWithin { // a member that leaves waits for the answer to its join
			w.Errorf("%v: the stop took %v", at, took)
		}
		if !how.answers() {
			time.Sleep(time.Minute) // its session is over
		}
		l.wentBack(w, at)
		return came
	})
	first.stop()
	w.goesOn(narrow)
	w.delivered(append(points, point{}), how.answers())
	if how.answers() && !w.Failed() { // what finished shortly before a revoke is in its last commit
		w.exactly(egress, 0, sent, 100) // scattered has delivered as many by these names
		w.exactly(egress, 1, sent, 0)
	}
}
