package lane

import (
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"layover/journal/facts"
	"layover/offsets"
	"layover/purgatory"

	"github.com/twmb/franz-go/pkg/kgo"
)

// waits are those of a life's records. Some records are due at once, and some while answers
// are owed. The last one is never due in the time of a test.
var waits = []time.Duration{0, 0, 3 * time.Millisecond, 3 * time.Millisecond, 9 * time.Millisecond, 30 * time.Millisecond, 20 * time.Hour}

// life is a lane that reads, delivers and commits, and in which something comes in the middle
// of a turn.
type life struct {
	*rig
	wall  time.Time // of the records
	calls atomic.Int32
	over  atomic.Int32 // ends of assignments that were told
}

// live runs a life. The loop's calls of the outside are counted from the first records on. At
// the nth the loop calls what, so mail comes while a turn goes on. after is called when the
// loop has come to rest. It returns how many calls there were in the first three seconds.
func live(t *testing.T, n int32, what func(l *life), after func(l *life)) (calls int32) {
	t.Helper()
	inBubble(t, nil, func(r *rig) {
		l := &life{rig: r}
		r.assign(0, 1)
		time.Sleep(2500 * time.Millisecond)
		r.kafka.set(func(k *kafka) {
			k.slow, k.tardy = 4*time.Millisecond, 5*time.Millisecond
			k.meeting = func() {
				switch l.calls.Add(1) - 1 {
				case 0: // by the loop itself, so that each life is the same
					l.wall = time.Now()
					r.fetched(assignment(0, 1), l.records(0)...)
				case n:
					what(l)
				}
			}
		})
		time.Sleep(3 * time.Second)
		calls = l.calls.Load() - 1
		time.Sleep(3 * time.Second)
		synctest.Wait()
		after(l)
	})
	return calls
}

// records returns the records from an offset on, as they are read at any time.
func (l *life) records(from int64) (out []*kgo.Record) {
	for o := from; o < int64(len(waits)); o++ {
		r := l.record(o, waits[o])
		r.Timestamp = l.wall
		out = append(out, r)
	}
	return out
}

// eachCall runs a life for each call of the loop.
func eachCall(t *testing.T, what, after func(l *life)) {
	t.Helper()
	calls := live(t, -1, nil, func(*life) {})
	if calls < 50 {
		t.Fatalf("the loop made %d calls", calls)
	}
	for n := int32(1); n <= calls && !t.Failed(); n++ {
		live(t, n, what, func(l *life) {
			defer func() {
				if t.Failed() {
					t.Logf("it came in call %d of %d", n, calls)
				}
			}()
			after(l)
		})
	}
}

// onceEach fails the test unless each of the first n records was delivered once.
func (l *life) onceEach(n int) {
	l.Helper()
	got := l.values()
	slices.Sort(got)
	var want []string
	for o := range n {
		want = append(want, strconv.Itoa(o))
	}
	if !slices.Equal(got, want) {
		l.Errorf("delivered %v, want %v", got, want)
	}
}

// ended is what the consumer hears of the end of an assignment.
func (l *life) ended() { l.over.Add(1) }

// again assigns the partition anew, as the next owner would get it.
func (l *life) again(epoch uint64) {
	low, _ := l.lastCommit()
	l.Assign(facts.Assigned{Assignment: assignment(0, epoch), Window: offsets.NewWindow(low), Next: low})
	l.fetched(assignment(0, epoch), l.records(low)...)
	time.Sleep(2 * time.Second)
}

// epochs fails the test unless the commits behind the first one of an assignment are its own.
func (l *life) epochs() {
	l.Helper()
	var last uint64
	for _, c := range l.seen().commits {
		if c.Epoch < last {
			l.Errorf("a commit of assignment %d was sent behind one of assignment %d", c.Epoch, last)
		}
		last = max(last, c.Epoch)
	}
}

// TestARevokeInTheMiddleOfATurnLosesAndRepeatsNothing, wherever in the turn it comes.
func TestARevokeInTheMiddleOfATurnLosesAndRepeatsNothing(t *testing.T) {
	eachCall(t, func(l *life) { l.Revoke(assignment(0, 1), l.ended) }, func(l *life) {
		if l.over.Load() != 1 {
			l.Fatalf("the end of the assignment was told %d times", l.over.Load())
		}
		low, _ := l.lastCommit()
		if n := int64(len(l.values())); low != n {
			l.Errorf("the last commit is at %d with %d records delivered", low, n)
		}
		commits := l.commits()
		time.Sleep(10 * time.Second)
		if n := l.commits(); n > commits {
			l.Errorf("%d commits behind the end of the assignment", n-commits)
		}
		l.again(2)
		l.onceEach(len(waits) - 1)
		l.epochs()
	})
}

// TestALossAndAFreshAssignmentInTheMiddleOfATurn: the partition comes back at once, with
// what was committed before the turn, as after a loss of membership.
func TestALossAndAFreshAssignmentInTheMiddleOfATurn(t *testing.T) {
	eachCall(t, func(l *life) {
		l.Lost(assignment(0, 1), l.ended)
		l.Assign(facts.Assigned{Assignment: assignment(0, 2), Window: offsets.NewWindow(0)})
		l.fetched(assignment(0, 2), l.records(0)...)
	}, func(l *life) {
		if l.over.Load() != 1 {
			l.Fatalf("the end of the assignment was told %d times", l.over.Load())
		}
		l.epochs()
		if low, _ := l.lastCommit(); low != int64(len(waits)-1) {
			l.Errorf("the last commit is at %d", low)
		}
		got := l.values()
		for o := range len(waits) - 1 {
			n := 0
			for _, v := range got {
				if v == strconv.Itoa(o) {
					n++
				}
			}
			if n < 1 || n > 2 {
				l.Errorf("record %d was delivered %d times: %v", o, n, got)
			}
		}
	})
}

// TestAStopInTheMiddleOfATurnCommitsWhatWasDelivered, and neither reads nor offers more.
func TestAStopInTheMiddleOfATurnCommitsWhatWasDelivered(t *testing.T) {
	eachCall(t, func(l *life) { l.Stop(time.Now().Add(8 * time.Second)) }, func(l *life) {
		select {
		case <-l.Done():
		default:
			l.Fatal("the lane still runs two seconds later")
		}
		low, _ := l.lastCommit()
		if n := int64(len(l.values())); low != n {
			l.Errorf("the last commit is at %d with %d records delivered", low, n)
		}
	})
}

// TestMailInTheMiddleOfATurnIsReadInTheNext: an earlier deadline is kept, and mail about what is
// not here is let go.
func TestMailInTheMiddleOfATurnIsReadInTheNext(t *testing.T) {
	sent := make(chan time.Time, 1)
	eachCall(t, func(l *life) {
		early := l.record(int64(len(waits)), 7*time.Millisecond)
		sent <- early.Timestamp
		l.fetched(assignment(0, 1), early)
		l.fetched(assignment(0, 0), l.record(50, 0)) // of an assignment that is over
		l.fetched(assignment(3, 1), l.record(60, 0)) // of one that never was
		l.LogStart(assignment(0, 0), 99)
		l.Unread(assignment(0, 0), offsets.UnreadBatch{First: 0, Last: 99, Records: 1})
		l.Journalled("delayed", purgatory.JournalState{})
		l.Poke()
	}, func(l *life) {
		due := (<-sent).Add(7 * time.Millisecond)
		last := strconv.Itoa(len(waits))
		got := l.values()
		if len(got) != len(waits) || slices.Index(got, last) < 0 {
			l.Fatalf("delivered %v", got)
		}
		i := slices.Index(got, last)
		if late := l.seen().deliveries[i].at.Sub(due); late < 0 || late > offerEvery {
			l.Errorf("delivered %v behind its deadline", late)
		}
	})
}

// TestASnapshotIsWholeWhileTheLoopGoesOn: whoever reads it from another goroutine, as a scrape
// does, needs nothing else, and it does not change any more.
func TestASnapshotIsWholeWhileTheLoopGoesOn(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.assign(0, 1)
		for o := range int64(200) {
			s, pauses := r.Snapshot(), r.Pauses()
			was := fmt.Sprintf("%+v %v", *s, pauses) // read before the loop goes on
			r.fetched(assignment(0, 1), r.record(o, time.Duration(o%7)*time.Millisecond))
			during := fmt.Sprintf("%+v %v", *s, pauses) // read while it does
			time.Sleep(25 * time.Millisecond)
			if is := fmt.Sprintf("%+v %v", *s, pauses); is != was || during != was {
				t.Fatalf("a snapshot became\n%s, and was\n%s", is, was)
			}
		}
		if n := r.Snapshot().Consumed; len(n) == 0 {
			t.Error("nothing was read")
		}
		synctest.Wait()
	})
}
