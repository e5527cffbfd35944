package integration

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// limited is a Layover as a user whose rights a test gives and takes.
type limited struct {
	*fixture
	*process
	out *collector
	l   *ledger
}

// limitedTo starts a Layover with the rights of the documents but those that are missing, and
// memory for a few thousand records.
func (s *secured) limitedTo(t *testing.T, missing func(f *fixture) []right) *limited {
	t.Helper()
	f := newFixture(t, s.broker, 2)
	without := make(map[right]bool)
	for _, r := range missing(f) {
		without[r] = true
	}
	for _, r := range f.rights() {
		if !without[r] {
			f.grant(r)
		}
	}
	p := f.layover("KAFKA_BROKERS="+s.clear, "KAFKA_SASL_MECHANISM=SCRAM-SHA-256", "KAFKA_SASL_USERNAME=layover", "KAFKA_SASL_PASSWORD=password",
		"LAYOVER_MAX_PARKED_BYTES=4Mi", "LAYOVER_LANES=1")
	return &limited{f, p, f.collect(f.egress), f.newLedger()}
}

// onRuns is a right on the fixture's runs topic.
func (f *fixture) onRuns(operation kadm.ACLOperation) right {
	return right{topic: f.runs(), operation: operation}
}

// TestEachRightOnARunsTopicThatIsMissingIsNamed: without it nothing is moved although memory is
// more than half full, records are delivered, and once it is granted they are moved.
func TestEachRightOnARunsTopicThatIsMissingIsNamed(t *testing.T) {
	long(t)
	t.Parallel()
	f, s := onSecuredBroker(t, true)
	f.setPassword(kadm.ScramSha256, "password")
	for name, operation := range map[string]kadm.ACLOperation{
		"Write": kadm.OpWrite, "Read": kadm.OpRead, "Create": kadm.OpCreate, "DescribeConfigs": kadm.OpDescribeConfigs,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := s.limitedTo(t, func(f *fixture) []right { return []right{f.onRuns(operation)} })
			l.withoutIt(name, operation)
		})
	}
	t.Run("Delete", func(t *testing.T) {
		t.Parallel()
		s.limitedTo(t, func(f *fixture) []right { return []right{f.onRuns(kadm.OpDelete)} }).keepsWhatItDelivered()
	})
	t.Run("Read is taken away", func(t *testing.T) {
		t.Parallel()
		s.limitedTo(t, func(*fixture) []right { return nil }).readsNothing()
	})
}

// withoutIt holds the Layover to what it does without a right, and when that is granted.
func (l *limited) withoutIt(name string, operation kadm.ACLOperation) {
	f, p, began := l.fixture, l.process, time.Now()
	const far, near = 3_700, 100 // far ones take more than half of the memory, and less than seven eighths
	f.produce(l.l.within("far", far, 3*time.Hour, 4*time.Hour)...)
	f.produce(l.l.within("near", near, time.Second, 10*time.Second)...)
	allow := "allow " + name + " on topic " + f.runs()
	p.says(45*time.Second, allow)
	eventually(f.T, time.Minute, "a line comes again", func() bool { return time.Since(began) > 45*time.Second })
	s := p.status()
	if len(s.Runs.Topics) != 1 || s.Runs.Topics[0].Usable || !containsAll(s.Runs.Topics[0].Text, []string{allow}) {
		f.Errorf("/status says %+v", s.Runs.Topics)
	}
	if s.Runs.Moved > 0 || s.Parked.Records != far {
		f.Errorf("%d moved, %d parked", s.Runs.Moved, s.Parked.Records)
	}
	lines := p.count(allow)
	if most := 1 + int(time.Since(began)/(30*time.Second)); lines > most {
		f.Errorf("%d lines say it, want %d at most:\n%s", lines, most, p.log())
	}
	l.out.await(near, 10*time.Second)
	f.grant(f.onRuns(operation))
	eventually(f.T, time.Minute, "records are moved", func() bool { return p.status().Runs.Moved > 1000 })
	if all, again := l.out.count(); all != near || again > 0 {
		f.Errorf("%d are delivered, %d again", all, again)
	}
	f.Logf("%d lines: %s", lines, s.Runs.Topics[0].Text)
	p.terminate()
}

// keepsWhatItDelivered: without Delete a runs topic grows, and all else is as ever. With all rights
// of the documents it is emptied.
func (l *limited) keepsWhatItDelivered() {
	f, p := l.fixture, l.process
	const far = 12_000
	f.produce(l.l.within("far", far, 75*time.Second, 85*time.Second)...)
	l.out.await(far, 2*time.Minute)
	moved := p.status().Runs.Moved
	if moved == 0 {
		f.Error("nothing was moved")
	}
	p.says(30*time.Second, "cannot be deleted", "allow Delete on topic "+f.runs())
	for partition, start := range f.starts(f.runs()) {
		if start > 0 {
			f.Errorf("runs partition %d begins at %d", partition, start)
		}
	}
	f.grant(f.onRuns(kadm.OpDelete))
	f.emptied(f.runs(), time.Minute)
	f.reachesEnd(20 * time.Second)
	p.terminate()
	l.out.settle()
	l.l.judge(l.out.all(), 0)
}

// readsNothing: while Read is away, what is in runs becomes late, and near records do not. It comes
// once it is granted again.
func (l *limited) readsNothing() {
	f, p := l.fixture, l.process
	const far, near = 12_000, 100
	f.produce(l.l.within("far", far, 75*time.Second, 80*time.Second)...)
	due := time.Now().Add(85 * time.Second)
	eventually(f.T, 40*time.Second, "some are moved", func() bool { return p.status().Runs.Moved > 1000 })
	f.withdraw(f.onRuns(kadm.OpRead))
	p.says(time.Minute, "allow Read on topic "+f.runs())
	f.produce(l.l.within("near", near, 5*time.Second, 10*time.Second)...)
	eventually(f.T, 2*time.Minute, "all are due", func() bool { return time.Now().After(due) })
	s := p.status()
	all, _ := l.out.count()
	if s.Runs.waiting() == 0 || all >= far+near {
		f.Errorf("%d wait in runs, %d are delivered", s.Runs.waiting(), all)
	}
	_, readyz := p.get("/readyz")
	f.Logf("%d are delivered, %d wait in runs; /readyz: %s; usable %v, %s", all, s.Runs.waiting(), readyz, s.Runs.Topics[0].Usable, s.Runs.Topics[0].Text)
	f.grant(f.onRuns(kadm.OpRead))
	l.out.await(far+near, time.Minute)
	f.reachesEnd(20 * time.Second)
	p.terminate()
	l.out.settle()
	l.l.judge(l.out.all(), 0)
}
