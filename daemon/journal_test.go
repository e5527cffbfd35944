package daemon

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// spread is records whose delays are random, and what becomes of them.
type spread struct {
	*fixture
	partitions, each int // records of each partition
	kills            []kill
}

// kill is one, with how many records may come again.
type kill struct {
	at    time.Time
	bound int
}

// spreadOver sends n records to so many partitions, due at random within a time.
func (w *fixture) spreadOver(n, partitions int, over time.Duration) *spread {
	w.Helper()
	s := &spread{fixture: w, partitions: partitions, each: n / partitions}
	if resp, err := w.Admin().UpdatePartitions(context.Background(), partitions, ingress); err != nil || resp.Error() != nil {
		w.Fatal(err, resp.Error())
	}
	dice := rand.New(rand.NewPCG(6, 1))
	begin := time.Now().Add(10 * time.Second)
	for first := 0; first < s.each; first += 5000 {
		for p := range int32(partitions) {
			w.sendMany(p, first, min(5000, s.each-first), func(int) []kgo.RecordHeader {
				due := begin.Add(time.Duration(dice.Int64N(int64(over))))
				return []kgo.RecordHeader{header("x-deliver-at", strconv.FormatInt(due.UnixMilli(), 10))}
			})
		}
	}
	return s
}

// inJournal fails the test unless the finished sets of all partitions are in the
// journal.
func (s *spread) inJournal(in *instance) {
	s.Helper()
	for _, a := range in.status()["assignments"].([]any) {
		if set := a.(map[string]any)["finished_set_in"]; set != "journal" {
			s.Errorf("the finished set of partition %v is in %q", a.(map[string]any)["partition"], set)
		}
	}
}

// kill kills an instance, and notes what it said may come again.
func (s *spread) kill(in *instance) {
	s.Helper()
	// A lane publishes what it has done every 20 ms, and in that time some more finish.
	const since = 100
	said := in.status()["duplicates_after_a_kill"].(map[string]any)["total"].(float64)
	s.kills = append(s.kills, kill{time.Now(), int(said) + since})
	in.kill()
}

// judge fails the test for what is lost, early, or came again more often than a kill
// allows.
func (s *spread) judge() {
	s.Helper()
	all := s.Records(egress)
	s.notEarly(all)
	slices.SortStableFunc(all, func(a, b *kgo.Record) int { return a.Timestamp.Compare(b.Timestamp) })
	seen := make(map[string]bool, len(all))
	again := make([]int, len(s.kills))
	for _, r := range all {
		if value := string(r.Value); !seen[value] {
			seen[value] = true
			continue
		}
		k := len(s.kills) - 1
		for k > 0 && r.Timestamp.Before(s.kills[k].at) {
			k--
		}
		again[k]++
	}
	if want := s.partitions * s.each; len(seen) != want {
		s.Errorf("%d of %d records were delivered", len(seen), want)
	}
	for i, k := range s.kills {
		s.Logf("kill %d: %d came again, at most %d may", i, again[i], k.bound)
		if again[i] > k.bound {
			s.Errorf("after kill %d %d records came again, at most %d may", i, again[i], k.bound)
		}
	}
}

// end waits until all is delivered, judges, and stops.
func (s *spread) end(in *instance, within time.Duration) {
	s.Helper()
	s.Until(within, "all is committed", func() bool {
		for p := range int32(s.partitions) {
			if s.commitOf(p).At != int64(s.each) {
				return false
			}
		}
		return true
	})
	if n := in.status()["counters"].(map[string]any)["unaccounted"].(float64); n != 0 {
		s.Errorf("%v records unaccounted for", n)
	}
	s.judge()
	in.stop()
}

func TestRandomDelaysOverTenMinutesRepeatNoMoreThanTheirBound(t *testing.T) {
	long.Only(t)
	t.Parallel()
	n, kills, over := 60_000, 3, 3*time.Minute
	if long.Whole() {
		n, kills, over = 500_000, 10, 10*time.Minute
	}
	inBubble(t, func(w *fixture) {
		start := func() *instance { // a static member takes its place again at once
			in := w.start("LAYOVER_GROUP_INSTANCE_ID=a")
			in.ready()
			return in
		}
		in := start()
		s := w.spreadOver(n, 4, over)
		dice := rand.New(rand.NewPCG(6, 2))
		time.Sleep(30 * time.Second) // a set needs some time until it does not fit
		for i := range kills {
			time.Sleep(25*time.Second + time.Duration(dice.Int64N(int64(20*time.Second))))
			s.inJournal(in)
			s.kill(in)
			in = start()
			if restored := in.status()["journal"].(map[string]any)["restored_records"].(float64); restored == 0 {
				t.Errorf("after kill %d nothing was read from the journal", i)
			}
		}
		s.end(in, 10*time.Minute)
	})
}

// silenceJournalUntil makes the broker keep what is about the journal's records.
func (w *fixture) silenceJournalUntil(until time.Time) {
	id := w.Broker.TopicInfo(journalTopic).TopicID
	w.Broker.Control(func(q kmsg.Request) (kmsg.Response, error, bool) {
		w.Broker.KeepControl()
		if wait := time.Until(until); wait > 0 && isAbout(q, id) {
			w.Broker.SleepControl(func() { time.Sleep(wait) })
		}
		return nil, nil, false
	})
}

// refuseJournalUntil makes the broker refuse what is about the journal's records, those
// that are to be appended with an error.
func (w *fixture) refuseJournalUntil(until time.Time, err *kerr.Error) {
	f := w.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: journalTopic, Err: err, Count: -1},
		kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch, kmsg.ListOffsets, kmsg.DeleteRecords}, Topic: journalTopic, Err: kerr.NotLeaderForPartition, Count: -1})
	time.AfterFunc(time.Until(until), f.Remove)
}

// isAbout says whether a request is about the records of the journal.
func isAbout(q kmsg.Request, id [16]byte) bool {
	switch q := q.(type) {
	case *kmsg.ProduceRequest:
		return len(q.Topics) > 0 && (q.Topics[0].TopicID == id || q.Topics[0].Topic == journalTopic)
	case *kmsg.FetchRequest:
		return len(q.Topics) > 0 && (q.Topics[0].TopicID == id || q.Topics[0].Topic == journalTopic)
	case *kmsg.ListOffsetsRequest:
		return len(q.Topics) > 0 && q.Topics[0].Topic == journalTopic
	case *kmsg.DeleteRecordsRequest:
		return true
	}
	return false
}

func TestAJournalThatIsAwayForAMinuteHoldsNothingUp(t *testing.T) {
	long.Only(t)
	t.Parallel()
	for name, away := range map[string]func(w *fixture, until time.Time){
		"it has too few replicas": func(w *fixture, until time.Time) { w.refuseJournalUntil(until, kerr.NotEnoughReplicas) },
		"it refuses records":      func(w *fixture, until time.Time) { w.refuseJournalUntil(until, kerr.InvalidRecord) },
		"it does not answer":      (*fixture).silenceJournalUntil,
	} {
		if !long.Whole() && name != "it does not answer" { // with the race detector half a minute each
			continue
		}
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				in := w.start("LAYOVER_GROUP_INSTANCE_ID=a")
				in.ready()
				const n, over = 96_000, 4 * time.Minute
				s := w.spreadOver(n, 2, over)
				time.Sleep(40 * time.Second)
				s.inJournal(in)
				gone := time.Now()
				away(w, gone.Add(time.Minute))
				s.goesOn(in, 45*time.Second, n*9/10/int(over/time.Second))
				w.sayAtMostEvery(in, 30*time.Second)
				s.kill(in)
				in = w.start("LAYOVER_GROUP_INSTANCE_ID=a")
				s.end(in, 10*time.Minute)
				if !strings.Contains(in.logs.String(), "journal was read") {
					t.Error("the journal was not read when it was back")
				}
			})
		})
	}
}

// goesOn fails the test unless for a time so many records a second are delivered, and
// commits say so.
func (s *spread) goesOn(in *instance, for_ time.Duration, perSecond int) {
	s.Helper()
	const step = 5 * time.Second
	commits := func() float64 { return in.status()["counters"].(map[string]any)["commits"].(float64) }
	last, before := commits(), s.count(egress)
	for range for_ / step {
		time.Sleep(step)
		now, count := commits(), s.count(egress)
		if now-last < 3*float64(s.partitions) { // one a second each, and a wait for the journal
			s.Errorf("%v commits in %v", now-last, step)
		}
		if got, want := count-before, perSecond*int(step/time.Second); got < want {
			s.Errorf("%d records were delivered in %v, want at least %d", got, step, want)
		}
		last, before = now, count
	}
}

// sayAtMostEvery fails the test where an instance warns about the journal more often.
func (w *fixture) sayAtMostEvery(in *instance, pause time.Duration) {
	w.Helper()
	var last time.Time
	lines := 0
	for line := range strings.Lines(in.logs.String()) {
		if !strings.Contains(line, "level=WARN") && !strings.Contains(line, "level=ERROR") || !strings.Contains(line, "journal") {
			continue
		}
		at, err := time.Parse(time.RFC3339Nano, field(line, "time"))
		if err != nil {
			w.Fatal(err)
		}
		if lines++; lines > 1 && at.Sub(last) < pause {
			w.Errorf("two warnings about the journal within %v: %s", at.Sub(last), line)
		}
		last = at
	}
	if lines == 0 {
		w.Error("nothing was said about the journal")
	}
}
