package lane

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"layover/delay"
	"layover/offsets"
	"layover/purgatory"
	"layover/wheel"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestRecordsAreCountedByTheWayThatTheirHeadersAskFor, one of each.
func TestRecordsAreCountedByTheWayThatTheirHeadersAskFor(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.assign(0, 1)
		header := func(offset int64, name, value string) *kgo.Record {
			rec := r.record(offset, 0)
			rec.Headers = []kgo.RecordHeader{{Key: name, Value: []byte(value)}}
			return rec
		}
		r.fetched(assignment(0, 1), header(0, "trace", "t"), header(1, "x-delay", "-5s"), header(2, "x-deliver-at", delayFormat(r.start.Add(-time.Hour))),
			header(3, "x-delay", "1h"), header(4, "x-deliver-at", delayFormat(r.start.Add(time.Hour))))
		time.Sleep(2 * time.Second)
		both := header(5, "x-deliver-at", delayFormat(r.start.Add(time.Hour)))
		both.Headers = append(both.Headers, kgo.RecordHeader{Key: "x-delay", Value: []byte("1m")})
		r.fetched(assignment(0, 1), both)
		time.Sleep(2 * time.Second)
		if n := r.Snapshot().Ambiguous["delayed"]; n != 1 {
			t.Errorf("%d ask for an instant and a delay, want 1", n)
		}
		want := map[purgatory.Outcome]int64{purgatory.Passed: 1, purgatory.Immediate: 1, purgatory.PastDue: 1, purgatory.Parked: 3}
		got := r.Snapshot().Consumed
		for outcome, n := range want {
			if of := got[purgatory.TopicOutcome{Topic: "delayed", Outcome: outcome}]; of != n {
				t.Errorf("%d %v, want %d", of, outcome, n)
			}
		}
	})
}

// TestAStopOfReadingIsSaidWithItsNextStep: the command is left out where it mends nothing.
func TestAStopOfReadingIsSaidWithItsNextStep(t *testing.T) {
	at := purgatory.HaltNotice{Assignment: assignment(3, 1), Offset: 42, Reason: "no such time", Code: "bad_header"}
	truncated, unreadable, nameless := at, at, at
	truncated.Truncated, unreadable.Unreadable, nameless.Code = true, true, ""
	for name, test := range map[string]struct {
		halt      purgatory.HaltNotice
		want, not []string
	}{
		"by the policy":  {at, []string{"err=bad_header", "LAYOVER_ON_INVALID", "layover skip delayed/3@42"}, []string{"no such time"}},
		"without a code": {nameless, []string{`err="no such time"`}, nil},
		"truncated":      {truncated, []string{"partition=3 offset=42"}, []string{"LAYOVER_ON_INVALID", "skip"}},
		"unreadable":     {unreadable, []string{"layover skip delayed/3@42"}, []string{"LAYOVER_ON_INVALID"}},
	} {
		var logs bytes.Buffer
		c := carrier{cfg: &Config{Log: slog.New(slog.NewTextHandler(&logs, nil))}}
		c.sayHalt(&test.halt)
		said := logs.String()
		if strings.Count(said, "level=ERROR") != 1 {
			t.Errorf("%s: said %s", name, said)
		}
		for _, part := range test.want {
			if !strings.Contains(said, part) {
				t.Errorf("%s: said %s, want %q in it", name, said, part)
			}
		}
		for _, part := range test.not {
			if strings.Contains(said, part) {
				t.Errorf("%s: said %s, with %q in it", name, said, part)
			}
		}
	}
}

// TestAHaltIsSeenAtOnceWhereverInAFetchItsRecordStands: the turn that reads it has no mail.
func TestAHaltIsSeenAtOnceWhereverInAFetchItsRecordStands(t *testing.T) {
	inBubble(t, func(c *Config) { c.CommitInterval = time.Hour }, func(r *rig) {
		for epoch := uint64(1); epoch <= 2; epoch++ {
			r.assign(0, epoch)
			time.Sleep(5*time.Second + 500*time.Millisecond)
			var records []*kgo.Record
			for o := range int64(intakeBudget + 100) {
				records = append(records, r.record(o, time.Hour))
			}
			records[intakeBudget+50].Headers[0].Value = []byte("soon")
			r.fetched(assignment(0, epoch), records...)
			time.Sleep(publishEvery + time.Millisecond)
			if s := r.Snapshot(); len(s.Partitions) != 1 || s.Partitions[0].Halted == "" || s.Partitions[0].HaltedAt != intakeBudget+50 {
				t.Errorf("assignment %d: %+v", epoch, s.Partitions)
			}
			over := make(chan struct{})
			r.Lost(assignment(0, epoch), func() { close(over) })
			<-over
		}
	})
}

// TestOneLetterIsSeenSoon: a turn with a single thing in its mail is published like any other.
func TestOneLetterIsSeenSoon(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.assign(0, 1)
		for o := range int64(3) {
			time.Sleep(10*time.Second + 500*time.Millisecond)
			r.fetched(assignment(0, 1), r.record(o, time.Hour))
			time.Sleep(publishEvery + time.Millisecond)
			if n := r.Snapshot().Parked; n != int(o)+1 {
				t.Errorf("%d parked are seen, want %d", n, o+1)
			}
		}
	})
}

// TestASnapshotIsMadeAtMostEvery20MillisecondsAndShowsWhatComes while records come.
func TestASnapshotIsMadeAtMostEvery20MillisecondsAndShowsWhatComes(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.assign(0, 1)
		time.Sleep(5 * time.Second)
		seen := make(map[*purgatory.Snapshot]bool)
		for o := range int64(1000) {
			r.fetched(assignment(0, 1), r.record(o, time.Minute))
			time.Sleep(time.Millisecond)
			seen[r.Snapshot()] = true
		}
		if n := len(seen); n < 40 || n > 52 {
			t.Errorf("%d snapshots in a second, want one every 20 ms", n)
		}
		time.Sleep(outlookEvery + publishEvery)
		horizons := r.Snapshot().Outlook.DueWithin
		if last := horizons[len(horizons)-1]; last != 1000 {
			t.Errorf("%d records are seen to come, want 1000: %v", last, horizons)
		}
		time.Sleep(2 * time.Minute)
		for _, n := range r.Snapshot().Outlook.DueWithin {
			if n != 0 {
				t.Errorf("%v are seen to come, and nothing is parked", r.Snapshot().Outlook.DueWithin)
				break
			}
		}
	})
}

// TestALaneShowsItselfBeforeItRunsAndAfterItsEnd: probes ask at any time.
func TestALaneShowsItselfBeforeItRunsAndAfterItsEnd(t *testing.T) {
	k := &kafka{}
	l := New(Config{Core: purgatory.Config{Geometry: wheel.DefaultGeometry()}, Rules: always(&delay.Rules{}), Answered: func() time.Duration { return 0 }, Changed: func() {}}, k, k, k)
	if behind := time.Since(l.Beat()); behind < 0 || behind > time.Minute {
		t.Errorf("the last beat is %v old", behind)
	}
	if s := l.Snapshot(); s == nil || len(s.Partitions) != 0 || len(l.Pauses()) != 0 || l.Resting() != 0 {
		t.Errorf("%+v, pauses %v, resting %d", s, l.Pauses(), l.Resting())
	}
	inBubble(t, nil, func(r *rig) {
		r.assign(0, 1)
		r.fetched(assignment(0, 1), r.record(0, time.Hour))
		time.Sleep(time.Second)
		if s := r.Snapshot(); len(s.Partitions) != 1 {
			t.Fatalf("%+v", s.Partitions)
		}
		over := make(chan struct{})
		ended := false
		r.kafka.set(func(k *kafka) { // the last turn has begun: the loop does not read this order
			k.turning = func() {
				if !ended {
					ended = true
					r.Revoke(assignment(0, 1), func() { close(over) })
				}
			}
		})
		r.Stop(time.Now().Add(time.Minute))
		<-r.Done()
		<-over
		if s := r.Snapshot(); len(s.Partitions) != 0 || s.Parked != 0 {
			t.Errorf("%d partitions, %d parked after the end", len(s.Partitions), s.Parked)
		}
	})
}

// TestAReasonToHoldIsToldWhileItLasts, each time, beside the held records in the snapshot.
func TestAReasonToHoldIsToldWhileItLasts(t *testing.T) {
	holding := NewHolding()
	inBubble(t, func(c *Config) { c.Holding = holding }, func(r *rig) {
		r.assign(0, 1)
		for o := range int64(3) {
			time.Sleep(5 * time.Second)
			r.kafka.set(func(k *kafka) { k.verdict = purgatory.Missing })
			r.fetched(assignment(0, 1), r.record(o, 0))
			time.Sleep(3 * time.Second)
			if why := holding.Why("ready"); why.State != "missing" || len(r.Snapshot().Held) != 1 {
				t.Errorf("round %d: %+v, held %+v", o, why, r.Snapshot().Held)
			}
			r.kafka.set(func(k *kafka) { k.verdict = purgatory.Usable })
			time.Sleep(3 * time.Second)
			if n := len(r.values()); n != int(o)+1 {
				t.Errorf("round %d: %d delivered", o, n)
			}
			if why := holding.Why("ready"); why != (Why{}) || len(r.Snapshot().Held) != 0 {
				t.Errorf("round %d, healthy again: %+v, held %+v", o, why, r.Snapshot().Held)
			}
		}
	})
}

// TestAPokeHasALaneLookAtItsTargetsAtOnce: what is known of one has changed.
func TestAPokeHasALaneLookAtItsTargetsAtOnce(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.assign(0, 1)
		for o := range int64(3) {
			r.kafka.set(func(k *kafka) { k.verdict = purgatory.Pending })
			time.Sleep(5 * time.Second)
			r.fetched(assignment(0, 1), r.record(o, 0))
			time.Sleep(33 * time.Millisecond)
			if n := len(r.values()); n != int(o) {
				t.Errorf("round %d: %d delivered to a target that is not known", o, n)
			}
			r.kafka.set(func(k *kafka) { k.verdict = purgatory.Usable })
			r.Poke()
			if n := len(r.values()); n != int(o)+1 { // no time has passed
				t.Errorf("round %d: %d delivered after the poke, want %d", o, n, o+1)
			}
		}
	})
}

// TestCommitsThatStayRefusedAreSaidAgainAfterEachHealthyTime: not the first few, not each one.
func TestCommitsThatStayRefusedAreSaidAgainAfterEachHealthyTime(t *testing.T) {
	var logs bytes.Buffer
	inBubble(t, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&logs, nil)) }, func(r *rig) {
		said := func() int { r.seen(); return strings.Count(logs.String(), "commits are refused") }
		for round := range 3 {
			epoch := uint64(2*round + 1)
			refused := func(n int) {
				before := r.commits()
				r.kafka.set(func(k *kafka) { k.refuse, k.refusals = errors.New("coordinator loading"), n })
				r.assign(0, epoch) // deliveries wait for its commit
				time.Sleep(10 * time.Second)
				if sent := r.commits() - before; sent != n+1 {
					t.Errorf("round %d: %d commits, want %d refused and one that is taken", round, sent, n)
				}
				over := make(chan struct{})
				r.Lost(assignment(0, epoch), func() { close(over) })
				<-over
				epoch++
			}
			before := said()
			refused(refusalsToSay - 1)
			if n := said() - before; n != 0 {
				t.Errorf("round %d: said %d times after %d refusals", round, n, refusalsToSay-1)
			}
			refused(refusalsToSay)
			if n := said() - before; n != 1 {
				t.Errorf("round %d: said %d times after %d refusals, want 1", round, n, refusalsToSay)
			}
			if e := r.Snapshot().Errors; len(e) == 0 || !strings.Contains(fmt.Sprint(e), "commit of delayed") {
				t.Errorf("round %d: errors %+v", round, e)
			}
			time.Sleep(time.Minute)
		}
	})
}

// TestOnePartitionThatIsRefusedHasItsPausesGrowBesideOneThatIsTaken: the answers to the other
// one end no pause.
func TestOnePartitionThatIsRefusedHasItsPausesGrowBesideOneThatIsTaken(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.kafka.set(func(k *kafka) {
			k.refuse, k.spares = errors.New("not the topic's"), func(p int32) bool { return p == 1 }
		})
		r.assign(0, 1)
		r.assign(1, 1)
		time.Sleep(time.Minute)
		count := func() (refused int) {
			r.seen().set(func(k *kafka) {
				for _, c := range k.commits {
					if c.Partition == 0 {
						refused++
					}
				}
			})
			return refused
		}
		before := count()
		for o := range int64(30) {
			r.fetched(offsets.Assignment{TopicPartition: offsets.TopicPartition{Topic: "delayed", Partition: 1}, Epoch: 1}, r.record(o, 0))
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if n := count() - before; n < 10 || n > 32 {
			t.Errorf("%d refused commits in 30 s, want about one an interval", n)
		}
		if n := len(r.values()); n != 30 {
			t.Errorf("%d delivered of the partition that is well, want 30", n)
		}
	})
}

// TestNoSnapshotIsMadeThatNobodyAsksFor but one a second, for those that a hanging loop does not answer.
func TestNoSnapshotIsMadeThatNobodyAsksFor(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.assign(0, 1)
		time.Sleep(5 * time.Second)
		seen := make(map[*purgatory.Snapshot]bool)
		for o := range int64(5000) {
			r.fetched(assignment(0, 1), r.record(o, time.Minute))
			time.Sleep(time.Millisecond)
			seen[r.Published()] = true
		}
		if n := len(seen); n < 4 || n > 6 {
			t.Errorf("%d snapshots in 5 s in which nobody asked for one, want one a second", n)
		}
		if n := r.Snapshot().Parked; n != 5000 {
			t.Errorf("%d parked are seen, want 5000", n)
		}
		time.Sleep(outlookEvery)
		was := r.Snapshot()
		time.Sleep(2 * publishEvery)
		if r.Snapshot() != was {
			t.Error("a new snapshot was made, and nothing had happened since the last one")
		}
	})
}

// TestASnapshotOfALaneThatHangsIsTheLastOne: a probe is not kept for longer than a moment.
func TestASnapshotOfALaneThatHangsIsTheLastOne(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.assign(0, 1)
		time.Sleep(5 * time.Second)
		hangs := make(chan struct{})
		r.kafka.set(func(k *kafka) { k.turning = func() { <-hangs } })
		r.fetched(assignment(0, 1), r.record(0, time.Minute))
		time.Sleep(3 * publishEvery)
		for i, most := range []time.Duration{soon, soon, 0} {
			began := time.Now()
			if s := r.Snapshot(); s.Parked != 0 || time.Since(began) > most {
				t.Errorf("look %d: %d parked after %v, want the state before the turn that hangs within %v", i, s.Parked, time.Since(began), most)
			}
			time.Sleep(time.Second)
		}
		r.kafka.set(func(k *kafka) { k.turning = nil })
		close(hangs)
		synctest.Wait()
		if n := r.Snapshot().Parked; n != 1 {
			t.Errorf("%d parked are seen, want 1", n)
		}
	})
}
