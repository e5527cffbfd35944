//go:build !race

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
	"layover/purgatory"
	"layover/wheel"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestAllocationsOfTheLoop follows records through the lane, from what the client fetched
// to what it is given to produce and back. Nothing is allocated but the chunks that a
// hundred of them share. The race detector allocates too.
func TestAllocationsOfTheLoop(t *testing.T) {
	targets, err := delay.NewTargets("ready", nil, []string{"delayed"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &sink{}
	l := New(Config{
		Core: purgatory.Config{
			MaxInFlight: 1 << 20, MaxInFlightBytes: 1 << 30, JumpOver: 100, Geometry: wheel.DefaultGeometry(),
		},
		Rules: always(&delay.Rules{MaxDelay: 24 * time.Hour, Targets: targets}), Answered: func() time.Duration { return 0 },
		Changed: func() {}, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}, s, s, s)
	l.core.Assign(facts.Assigned{Assignment: assignment(0, 1), Window: offsets.NewWindow(0), Committed: true})
	reader, _ := l.core.Reader(assignment(0, 1).TopicPartition, 1)

	now, delayMs := time.Now(), int64(0)
	r := &kgo.Record{Topic: "delayed", Key: []byte("key"), Value: make([]byte, 100), Headers: []kgo.RecordHeader{{Key: "x-delay"}, {Key: "trace", Value: []byte("t")}}}
	park := func() {
		r.Timestamp = now
		r.Headers[0].Value = strconv.AppendInt(r.Headers[0].Value[:0], delayMs, 10)
		if !l.in.take(reader, l.cfg.Rules("delayed"), r, now.UnixMilli()) {
			t.Fatalf("offset %d was not taken", r.Offset)
		}
		r.Offset++
	}
	deliver := func() {
		s.round(l, now)
		now = now.Add(10 * time.Millisecond)
	}
	for range 2000 { // what is kept for reuse is there
		park()
		deliver()
	}
	t.Run("a record that passes through", func(t *testing.T) {
		if got := testing.AllocsPerRun(2000, func() { park(); deliver() }); got > 0 {
			t.Errorf("%v allocations, want none", got)
		}
	})
	t.Run("a record that passes through without added headers", func(t *testing.T) {
		l.cfg.Rules("delayed").LeaveOut = delay.AddAll
		if got := testing.AllocsPerRun(2000, func() { park(); deliver() }); got > 0 {
			t.Errorf("%v allocations, want none", got)
		}
	})
	t.Run("a record that is parked", func(t *testing.T) {
		delayMs = 3_600_000
		if got := testing.AllocsPerRun(20_000, park); got > 0 { // rounded down: chunks are shared
			t.Errorf("%v allocations, want less than one", got)
		}
	})
}
