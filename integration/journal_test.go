package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// spread enters n records that are due at random within a time, and writes them.
func (f *fixture) spread(l *ledger, n int, from time.Time, over time.Duration) {
	f.Helper()
	rng := rand.New(rand.NewPCG(6, 1))
	for n > 0 {
		batch := make([]*kgo.Record, min(n, 20_000))
		for i := range batch {
			n--
			due := from.Add(time.Duration(rng.Int64N(int64(over)))).Truncate(time.Millisecond)
			batch[i] = l.at(fmt.Sprintf("%d-%d", i, n), due)
		}
		f.produce(batch...)
	}
}

// TestTenKillsAmongRandomDelaysRepeatNoMoreThanTheirBound: sets of delays like these fill
// commit metadata within a second or two.
func TestTenKillsAmongRandomDelaysRepeatNoMoreThanTheirBound(t *testing.T) {
	long(t)
	t.Parallel() // none of these measures anything
	const (
		records = 500_000
		over    = 2 * time.Minute
		kills   = 10
		// What may finish between the look at /status and the kill.
		slack = records / int(over/time.Second) / 4
	)
	f := onSharedBroker(t, 4)
	// A static member takes its place again at once.
	settings := "LAYOVER_GROUP_INSTANCE_ID=" + f.group + "-0"
	p := f.layover(settings)
	out := f.collect(f.egress)
	l := f.newLedger()
	begin := time.Now().Add(15 * time.Second)
	f.spread(l, records, begin, over)
	bound, again := 0, 0
	for kill := range kills {
		at := begin.Add(over * time.Duration(kill+1) / (kills + 1))
		eventually(t, over, "the next kill", func() bool { return time.Now().After(at) })
		s := p.status()
		p.kill()
		began := time.Now()
		p = f.layover(settings)
		ready := time.Since(began)
		eventually(t, time.Minute, "something is delivered again", func() bool { return p.status().Parked.Records > 0 })
		after := p.status()
		out.settle()
		_, now := out.count()
		t.Logf("kill %d: /status said %d may repeat; ready after %v, of which the journal took %d ms for %d records; so far %d came again",
			kill, s.Duplicates.Total, ready.Round(time.Millisecond), after.Journal.LastMs, after.Journal.Restored, now)
		if kill > 0 && s.Assignments[0].Set != "journal" {
			t.Errorf("kill %d: the finished set is in %q", kill, s.Assignments[0].Set)
		}
		bound += int(s.Duplicates.Total) + slack
	}
	out.await(records, 3*time.Minute)
	f.reachesEnd(20 * time.Second)
	s := p.status()
	t.Logf("journal: %+v", s.Journal)
	if s.Counters.Unaccounted != 0 {
		t.Errorf("%d records unaccounted for", s.Counters.Unaccounted)
	}
	p.terminate()
	out.settle()
	_, again = out.count()
	t.Logf("%d came again after %d kills", again, kills)
	l.judge(out.all(), bound)
}

// journal is the name of the fixture's journal topic.
func (f *fixture) journal() string { return f.ingress + "." + f.group }

// runs is the name of the topic for records that are far off.
func (f *fixture) runs() string { return f.journal() + ".runs" }

// topicID returns the bytes of a topic's id.
func (f *fixture) topicID(topic string) []byte {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), 30*time.Second)
	defer cancel()
	topics, err := f.admin.ListTopics(ctx, topic)
	if err != nil || topics[topic].Err != nil {
		f.Fatalf("topic %s: %v, %v", topic, err, topics[topic].Err)
	}
	id := topics[topic].ID
	return id[:]
}

// journalled waits until the finished set of every partition is in the journal.
func (p *process) journalled(within time.Duration) {
	p.t.Helper()
	eventually(p.t, within, "all finished sets in the journal", func() bool {
		s := p.status()
		for _, a := range s.Assignments {
			if a.Set != "journal" {
				return false
			}
		}
		return len(s.Assignments) > 0 && s.Journal.Snapshots > 0
	})
}

// TestAJournalThatTakesNothingForAMinuteHoldsNothingUp: no delivery and no commit, and what
// a kill repeats then has been said.
func TestAJournalThatTakesNothingForAMinuteHoldsNothingUp(t *testing.T) {
	long(t)
	t.Parallel()
	const (
		records = 60_000
		over    = 85 * time.Second
		slack   = records / int(over/time.Second) // what finishes between the look at /status and the kill
	)
	f := onSharedBroker(t, 2)
	proxy := f.proxied()
	settings := []string{"LAYOVER_GROUP_INSTANCE_ID=" + f.group + "-0", "KAFKA_BROKERS=" + proxy.addr}
	p := f.layover(settings...)
	out := f.collect(f.egress)
	l := f.newLedger()
	begin := time.Now().Add(5 * time.Second)
	f.spread(l, records, begin, over)
	p.journalled(60 * time.Second)
	proxy.silence([]byte(f.journal()), f.topicID(f.journal()))
	away := time.Now()
	before, _ := out.count()
	commits := p.status().Counters.Commits
	eventually(t, 2*time.Minute, "the minute is over", func() bool { return time.Since(away) > time.Minute })
	s := p.status()
	p.kill()
	after, _ := out.count()
	if least := slack * 50; after-before < least {
		t.Errorf("%d delivered in the minute, want %d at least", after-before, least)
	}
	if n := s.Counters.Commits - commits; n < 50 {
		t.Errorf("%d commits in the minute", n)
	}
	lines := 0
	for _, line := range strings.Split(p.log(), "\n") {
		if strings.Contains(line, "journal does not answer") {
			lines++
		}
	}
	if lines < 1 || lines > 3 {
		t.Errorf("%d lines about the journal, want one in 30 s:\n%s", lines, p.log())
	}
	proxy.speak(t)
	p = f.layover(settings...)
	out.await(records, 2*time.Minute)
	f.reachesEnd(20 * time.Second)
	if n := p.status().Counters.Unaccounted; n != 0 {
		t.Errorf("%d records unaccounted for", n)
	}
	p.terminate()
	out.settle()
	_, again := out.count()
	t.Logf("%d delivered in the minute; /status said that %d may come again: %d did", after-before, s.Duplicates.Total, again)
	l.judge(out.all(), int(s.Duplicates.Total)+slack)
}

// TestAJournalThatIsDeletedWhileRunningIsMadeAgain, and what stood in it is written anew.
func TestAJournalThatIsDeletedWhileRunningIsMadeAgain(t *testing.T) {
	long(t)
	t.Parallel()
	const records = 30_000
	f := onSharedBroker(t, 2)
	settings := "LAYOVER_GROUP_INSTANCE_ID=" + f.group + "-0"
	p := f.layover(settings)
	out := f.collect(f.egress)
	l := f.newLedger()
	f.spread(l, records, time.Now().Add(4*time.Second), 40*time.Second)
	p.journalled(40 * time.Second)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := f.admin.DeleteTopics(ctx, f.journal()); err != nil {
		t.Fatal(err)
	}
	snapshots := p.status().Journal.Snapshots
	eventually(t, 20*time.Second, "it is made again and has a snapshot of each partition", func() bool {
		return p.status().Journal.Snapshots >= snapshots+2
	})
	configs, err := f.admin.DescribeTopicConfigs(ctx, f.journal())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range configs[0].Configs {
		if want, ok := map[string]string{"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}[c.Key]; ok && c.MaybeValue() != want {
			t.Errorf("%s is %s", c.Key, c.MaybeValue())
		}
	}
	s, commits := p.status(), p.status().Counters.Commits
	eventually(t, 10*time.Second, "commits name the snapshots", func() bool {
		s = p.status()
		return s.Counters.Commits >= commits+4
	})
	p.kill()
	p = f.layover(settings)
	if strings.Contains(p.log(), "journal is incomplete") {
		t.Errorf("the journal is said to be incomplete:\n%s", p.log())
	}
	out.await(records, time.Minute)
	f.reachesEnd(20 * time.Second)
	p.terminate()
	out.settle()
	l.judge(out.all(), int(s.Duplicates.Total)+records/40)
}

// verb runs another verb of the binary with the fixture's settings.
func (f *fixture) verb(args ...string) string {
	f.Helper()
	return verb(f.T, f.settings(), args...)
}

// TestOffsetsThatAreGoneAreRecoveredFromTheJournal: until somebody says so, partitions
// are stopped, and nothing is guessed.
func TestOffsetsThatAreGoneAreRecoveredFromTheJournal(t *testing.T) {
	long(t)
	t.Parallel()
	const (
		records = 20_000
		// Finished offsets that only the last commit's metadata held are gone with it.
		// They finished while the last record was written, in two partitions.
		tailBound = records / 40
	)
	f := onSharedBroker(t, 2)
	p := f.layover()
	out := f.collect(f.egress)
	l := f.newLedger()
	f.spread(l, records, time.Now().Add(3*time.Second), 25*time.Second)
	p.journalled(30 * time.Second)
	p.terminate()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := f.admin.DeleteGroups(ctx, f.group); err != nil {
		t.Fatal(err)
	}
	out.settle()
	before, _ := out.count()
	p = start(t, f.settings()...)
	eventually(t, 30*time.Second, "both partitions are stopped", func() bool {
		return strings.Count(p.log(), "layover journal recover") >= 2
	})
	if s := p.status(); s.Counters.Consumed > 0 {
		t.Errorf("%d records read", s.Counters.Consumed)
	}
	if at, err := f.committed(); err != nil || len(at) > 0 {
		t.Errorf("committed %v, %v", at, err)
	}
	p.terminate()
	if after, _ := out.count(); after != before {
		t.Errorf("%d delivered", after-before)
	}
	t.Log(f.verb("journal", "show"))
	t.Log(f.verb("journal", "recover"))
	if at, err := f.committed(); err != nil || len(at) > 0 {
		t.Errorf("a dry run committed %v, %v", at, err)
	}
	t.Log(f.verb("journal", "recover", "--execute"))
	p = f.layover()
	out.await(records, time.Minute)
	f.reachesEnd(20 * time.Second)
	p.terminate()
	out.settle()
	l.judge(out.all(), tailBound)
}
