package lane

import (
	"io"
	"log/slog"
	"strconv"
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
	flying   int     // deliveries that round leaves unanswered
	done     []ended // scratch of round
}

func (s *sink) Deliver(_ *kgo.Record, _ bool, done func(*kgo.Record, error)) {
	s.promises = append(s.promises, done)
}

// round delivers what is due in a lane that does not run, and answers it.
func (s *sink) round(l *Lane, now time.Time) {
	l.core.Tick(l.clock(now), tickBudget)
	l.out.offer(now, false, &l.wake)
	n := max(len(s.promises)-s.flying, 0)
	for _, promise := range s.promises[:n] {
		promise(nil, nil)
	}
	s.promises = s.promises[:copy(s.promises, s.promises[n:])]
	m := l.box.take(mail{ended: s.done[:0]})
	l.out.land(l.clock(now), m.ended)
	s.done = m.ended
}

// BenchmarkAlreadyDue is the cost of a record that is due when it is read. It is counted
// from the fetched record to the one that the client is given to produce, and back. Kafka is
// left out.
func BenchmarkAlreadyDue(b *testing.B) {
	for _, leaveOut := range []delay.Added{0, delay.AddAll} {
		b.Run("without "+leaveOut.String(), func(b *testing.B) { benchAlreadyDue(b, leaveOut, 0, 0) })
	}
	b.Run("behind a backlog", func(b *testing.B) { benchAlreadyDue(b, 0, 100_000, 8192) })
}

// benchAlreadyDue delivers records with so many read before them and so many in flight. Of many, the bytes
// are no longer in the processor's cache when they are offered and answered.
func benchAlreadyDue(b *testing.B, leaveOut delay.Added, ahead, flying int) {
	const batch, partitions = intakeBudget, 4
	targets, err := delay.NewTargets("ready", nil, []string{"delayed"}, nil)
	if err != nil {
		b.Fatal(err)
	}
	s := &sink{flying: flying}
	l := New(Config{
		Core: purgatory.Config{
			MaxInFlight: 1000 + flying, MaxBuffered: 1 << 16, MaxInFlightBytes: 8 << 20, JumpOver: purgatory.JumpOver, Geometry: wheel.DefaultGeometry(),
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
	offset := int64(0)
	read := func() {
		for _, r := range records {
			r.Offset = offset
			offset++
		}
		l.in.fetched = append(l.in.fetched, fetched{assignment: at, records: records})
		l.in.read()
	}
	for offset < int64(ahead) {
		read()
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range (b.N + batch - 1) / batch {
		read()
		s.round(l, now)
		now = now.Add(10 * time.Millisecond)
	}
	b.StopTimer()
	if n := l.core.Snapshot().InFlight; ahead > 0 && b.N > 4*flying && n != flying {
		b.Fatalf("%d are in flight", n)
	}
}

// BenchmarkReport is what each turn pays to say what memory is used, while a record is in flight, by assigned partitions.
func BenchmarkReport(b *testing.B) {
	for _, partitions := range []int32{2, 100} {
		b.Run(strconv.Itoa(int(partitions)), func(b *testing.B) {
			s := &sink{flying: 1}
			targets, err := delay.NewTargets("ready", nil, []string{"delayed"}, nil)
			if err != nil {
				b.Fatal(err)
			}
			l := New(Config{
				Core:  purgatory.Config{MaxInFlight: 1, MaxBuffered: 4, MaxInFlightBytes: 8 << 20, Geometry: wheel.DefaultGeometry()},
				Rules: always(&delay.Rules{MaxDelay: 24 * time.Hour, Targets: targets}), Answered: func() time.Duration { return 0 },
				Changed: func() {}, Log: slog.New(slog.DiscardHandler),
			}, s, s, s)
			now := time.Now()
			for p := range partitions {
				l.core.Assign(facts.Assigned{Assignment: assignment(p, 1), Window: offsets.NewWindow(0), Committed: true})
			}
			l.in.fetched = []fetched{{assignment: assignment(0, 1), records: []*kgo.Record{{Topic: "delayed", Timestamp: now, Headers: []kgo.RecordHeader{{Key: "x-delay", Value: []byte("0")}}}}}}
			l.in.read()
			if s.round(l, now); l.core.Occupying() != 1 {
				b.Fatal("nothing is in flight")
			}
			for b.Loop() {
				l.seen.report(l.core, 0)
			}
		})
	}
}
