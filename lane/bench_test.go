package lane

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"layover/delay"
	"layover/journal/facts"
	"layover/offsets"
	"layover/producer"
	"layover/purgatory"
	"layover/wheel"

	"github.com/twmb/franz-go/pkg/kgo"
)

// sink takes every delivery and answers when it is told to.
type sink struct {
	kafka
	promises []func(*kgo.Record, error)
	done     []ended // scratch of round
}

func (s *sink) Deliver(_ *kgo.Record, _ bool, done func(*kgo.Record, error)) {
	s.promises = append(s.promises, done)
}

// round delivers what is due in a lane that does not run, and answers it.
func (s *sink) round(l *Lane, now time.Time) {
	l.core.Tick(l.clock(now), tickBudget)
	l.out.offer(now, false, &l.wake)
	for _, promise := range s.promises {
		promise(nil, nil)
	}
	s.promises = s.promises[:0]
	m := l.box.take(mail{ended: s.done[:0]})
	l.out.land(l.clock(now), m.ended)
	s.done = m.ended
}

// BenchmarkAlreadyDue is the cost of a record that is due when it is read. It is counted
// from the fetched record to the one that the client is given to produce, and back. Kafka is
// left out.
func BenchmarkAlreadyDue(b *testing.B) {
	for _, leaveOut := range []delay.Added{0, delay.AddAll} {
		b.Run("without "+leaveOut.String(), func(b *testing.B) { benchAlreadyDue(b, leaveOut) })
	}
}

func benchAlreadyDue(b *testing.B, leaveOut delay.Added) {
	const batch, partitions = intakeBudget, 4
	targets, err := delay.NewTargets("ready", nil, []string{"delayed"}, nil)
	if err != nil {
		b.Fatal(err)
	}
	s := &sink{}
	l := New(Config{
		Core: purgatory.Config{
			MaxInFlight: 1000, MaxBuffered: 1 << 16, MaxInFlightBytes: 8 << 20, JumpOver: purgatory.JumpOver, Geometry: wheel.DefaultGeometry(),
			Place: func(_ *purgatory.TargetState, _ offsets.TopicPartition, body []byte) purgatory.Route {
				return purgatory.Route{Partition: producer.Pick(Key(body, nil), partitions, nil)}
			},
		},
		Rules: always(&delay.Rules{MaxDelay: 24 * time.Hour, Targets: targets, LeaveOut: leaveOut}), Answered: func() time.Duration { return 0 },
		Changed: func() {}, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}, s, s, s)
	at := assignment(0, 1)
	l.core.Assign(facts.Assigned{Assignment: at, Window: offsets.NewWindow(0), Committed: true})
	now := time.Now()
	records := make([]*kgo.Record, batch)
	for i := range records {
		records[i] = &kgo.Record{Topic: "delayed", Key: []byte{'k', 'e', 'y', byte(i), byte(i >> 8)}, Value: make([]byte, 100), Timestamp: now,
			Headers: []kgo.RecordHeader{{Key: "x-delay", Value: []byte("0")}, {Key: "trace", Value: []byte("t")}}}
	}
	b.ReportAllocs()
	for i := 0; i < b.N; i += batch {
		for j, r := range records {
			r.Offset = int64(i + j)
		}
		l.in.fetched = append(l.in.fetched, fetched{assignment: at, records: records})
		l.in.read()
		s.round(l, now)
		now = now.Add(10 * time.Millisecond)
	}
}
