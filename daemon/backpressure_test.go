package daemon

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"layover/admin"
	"layover/purgatory"
	"layover/verify/kafkatest"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestEachPauseForMemoryEndsATenthBelowTheLimit: memory that goes up and down around the
// limit pauses reading once, and one line says so.
func TestEachPauseForMemoryEndsATenthBelowTheLimit(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		w.parkMuch()
		time.Sleep(5 * time.Second)
		const limit = 1_000_000
		var used int64 // in thousandths of the limit
		log := &kafkatest.Log{}
		b := &backpressure{limit: func() int64 { return limit }, log: slog.New(slog.NewTextHandler(log, nil)), lanes: in.daemon.lanes, consumer: in.daemon.consumer}
		b.names = func() int64 { // the rest of what is used
			names := used*limit/1000 - b.consumer.Unread()
			for _, l := range b.lanes {
				names -= l.Bytes()
			}
			return names
		}
		memory := []purgatory.Pause{{Reason: admin.PauseBytes}}
		for round := range 3 {
			for _, at := range []struct {
				used   int64
				pauses bool
			}{{0, false}, {1000, false}, {1001, true}, {1000, true}, {1001, true}, {999, true}, {901, true}, {1002, true}, {901, true}, {900, false}, {901, false}, {1000, false}, {900, false}} {
				used = at.used
				b.check()
				if paused := b.pauses(); (len(paused) > 0) != at.pauses || at.pauses && paused[0] != memory[0] {
					t.Fatalf("round %d, with %d of 1000 used: paused for %v, want %v", round+1, at.used, paused, at.pauses)
				}
			}
			if said := log.String(); strings.Count(said, "reading pauses") != round+1 || strings.Count(said, "reading goes on") != round+1 {
				t.Fatalf("round %d: said\n%s", round+1, said)
			}
			time.Sleep(time.Minute)
		}
		in.stop()
	})
}

// parkMuch parks what is no small part of a megabyte: with little in memory reading does not pause for it.
func (w *fixture) parkMuch() {
	w.Produce(&kgo.Record{Topic: ingress, Key: []byte("parked"), Value: make([]byte, 200_000), Headers: []kgo.RecordHeader{header("x-delay", "1h")}})
}

// TestWhatNoDeliveryGivesBackPausesNoReading, such as the room of a thousand queues, while records take little beside it:
// they go on up to a tenth of the limit above it.
func TestWhatNoDeliveryGivesBackPausesNoReading(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		w.send(0, "parked", header("x-delay", "1h"))
		time.Sleep(5 * time.Second)
		const limit = 1_000_000
		kept := int64(2 * limit)
		b := &backpressure{limit: func() int64 { return limit }, names: func() int64 { return kept }, log: slog.New(slog.DiscardHandler), lanes: in.daemon.lanes, consumer: in.daemon.consumer}
		if b.check(); len(b.pauses()) > 0 {
			t.Errorf("with one small record reading is paused for %v", b.pauses())
		}
		w.parkMuch()
		time.Sleep(5 * time.Second)
		if b.check(); len(b.pauses()) == 0 {
			t.Error("with a fifth of the limit more, which an hour frees, reading goes on")
		}
		in.stop()
	})
}

// TestARecordThatStaysKeepsNoOtherFromBeingRead: it waits for an hour and is not moved, or its target is missing. With a
// small bound what a burst leaves for reuse is more than reading may use.
func TestARecordThatStaysKeepsNoOtherFromBeingRead(t *testing.T) {
	for _, test := range []struct {
		name, bound string
		n           int
		stays       kgo.RecordHeader
	}{
		{"id", "2Mi", 10_000, header("x-delay-id", "one")}, {"held", "2Mi", 10_000, header("x-deliver-to", "missing")},
		{"id", "3Mi", 20_000, header("x-delay-id", "one")}, {"held", "3Mi", 20_000, header("x-deliver-to", "missing")},
		{"id", "16Mi", 200_000, header("x-delay-id", "one")}, {"held", "16Mi", 200_000, header("x-deliver-to", "missing")},
	} {
		t.Run(test.bound+"/"+test.name, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				w.createTopics(32, "wide") // each partition has a queue, which keeps room
				in := w.start("LAYOVER_MAX_PARKED_BYTES="+test.bound, "LAYOVER_TARGETS_ALLOWED=missing,wide", "LAYOVER_TARGET_PATIENCE=1h")
				in.ready()
				delay := "50m"
				if test.name == "held" {
					delay = "1ms"
				}
				w.send(0, "stays", header("x-delay", delay), test.stays)
				time.Sleep(5 * time.Second)
				due := time.Now().Add(5 * time.Second).UnixMilli()
				for from := 0; from < test.n; from += 1000 {
					w.sendMany(0, from, 1000, func(int) []kgo.RecordHeader {
						return []kgo.RecordHeader{header("x-deliver-at", strconv.FormatInt(due, 10)), header("x-deliver-to", "wide")}
					})
				}
				time.Sleep(13 * time.Second)
				if got := w.count("wide"); got != test.n {
					s := in.daemon.Sample()
					t.Errorf("%d of %d are delivered 8 s after they were due; memory %+v, paused for %v", got, test.n, s.Memory, s.Pauses)
				}
				in.kill()
			})
		})
	}
}

// TestALookAtMemoryDecidesBeforeTheNextLook: another lane looks and decides wherever the lock
// lets it, between a lane's look and that lane's decision. The later look counts.
func TestALookAtMemoryDecidesBeforeTheNextLook(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		w.parkMuch()
		time.Sleep(5 * time.Second)
		const limit = 1_000_000
		log := &kafkatest.Log{}
		b := &backpressure{limit: func() int64 { return limit }, log: slog.New(slog.NewTextHandler(log, nil)), lanes: in.daemon.lanes, consumer: in.daemon.consumer}
		var used int64
		var other func() // the other lane's turn
		b.names = func() int64 {
			is := used
			if turn := other; turn != nil && b.mu.TryLock() { // else the other lane waits
				b.mu.Unlock()
				other = nil
				turn()
			}
			return is
		}
		for round, of := range [][2]int64{{2 * limit, 0}, {0, 2 * limit}, {2 * limit, 0}, {0, 2 * limit}, {2 * limit, 0}} {
			used = of[0]
			turn := func() {
				used = of[1]
				b.check()
			}
			other = turn
			if b.check(); other != nil {
				other = nil
				turn()
			}
			if paused := len(b.pauses()) > 0; paused != (of[1] > limit) {
				t.Errorf("round %d, with %d bytes used, and %d at an earlier look: reading is paused %v", round, of[1], of[0], paused)
			}
		}
		in.stop()
	})
}

// TestPausesForMemoryThatFlapAreALineIn30Seconds, with how many there were. One that lasts is said even so.
func TestPausesForMemoryThatFlapAreALineIn30Seconds(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		w.parkMuch()
		time.Sleep(5 * time.Second)
		const limit = 1_000_000
		var used int64
		log := &kafkatest.Log{}
		b := &backpressure{limit: func() int64 { return limit }, names: func() int64 { return used }, log: slog.New(slog.NewTextHandler(log, nil)), lanes: in.daemon.lanes, consumer: in.daemon.consumer}
		for range 400 { // for 40 s
			used = 2 * limit
			b.check()
			time.Sleep(50 * time.Millisecond)
			used = 0
			b.check()
			time.Sleep(50 * time.Millisecond)
		}
		lines := linesWith(log.String(), "reading pauses, what is parked goes on")
		if len(lines) != 2 || strings.Contains(lines[0], "times") || !strings.Contains(lines[1], "times=300") {
			t.Errorf("of 400 pauses in 40 s the log says %q", lines)
		}
		if n := len(linesWith(log.String(), "reading goes on")); n != 2 {
			t.Errorf("%d lines say that reading goes on, want 2", n)
		}
		used = 2 * limit
		for range 25 {
			b.check()
			time.Sleep(time.Second)
		}
		if lines = linesWith(log.String(), "reading pauses, what is parked goes on"); len(lines) != 3 || !strings.Contains(lines[2], "times=100") {
			t.Errorf("a pause that lasts: %q", lines)
		}
		in.stop()
	})
}

// TestAFloodForAHeldTargetStopsNoOther: its topic is missing. The records are small beside what each takes in a queue, or
// cannot be understood and have texts.
func TestAFloodForAHeldTargetStopsNoOther(t *testing.T) {
	long.Only(t)
	for name, delay := range map[string]string{"valid": "1s", "invalid": "in a while"} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				w.createTopics(2, "audit")
				in := w.start("LAYOVER_LANES=1", "LAYOVER_EGRESS_TOPIC=absent", "LAYOVER_ON_INVALID=deliver", "LAYOVER_MAX_PARKED_BYTES=16Mi", "LAYOVER_TARGETS_ALLOWED=audit")
				in.ready()
				const n = 100
				for i := range n {
					w.sendMany(0, 1000*i, 1000, func(int) []kgo.RecordHeader { return []kgo.RecordHeader{header("x-delay", delay)} })
					w.send(0, fmt.Sprint("healthy ", i), header("x-deliver-to", "audit"))
					time.Sleep(time.Second)
					if why := in.pausedFor(); why != "" {
						t.Fatalf("reading pauses for %q after %d records; held %v", why, 1000*(i+1), in.status()["held"])
					}
				}
				time.Sleep(5 * time.Second)
				if got := w.count("audit"); got != n || w.count(dlq) == 0 {
					t.Errorf("%d of %d records for a healthy target are delivered; %d dead letters", got, n, w.count(dlq))
				}
				in.kill()
			})
		})
	}
}
