package daemon

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"layover/offsets"
	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// commitLeftOut commits what layover skip leaves: record 0 is not finished, and all from 1 up to an offset is.
func (w *fixture) commitLeftOut(to int64) {
	w.Helper()
	set := offsets.NewWindow(0)
	set.FinishRange(1, to)
	w.commitSet(set)
}

// broken appends a batch of three records that nobody can read to partition 0.
func (w *fixture) broken() {
	w.Helper()
	w.ProduceBatch(ingress, kafkatest.Batch(func(*kmsg.RecordBatch) {}))
}

// TestABrokenBatchThatIsJumpedOverStopsNoPartition: an operator has left a broken batch out, and a long finished stretch
// follows it. In front of both a record is parked for long. The partition is handed over to a member that rests between
// polls, as all that it reads waits for long.
func TestABrokenBatchThatIsJumpedOverStopsNoPartition(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.dial = slow(w.dial, 5*time.Millisecond)
		start := func() *instance { return w.start(narrow, "LAYOVER_RUNS=off") }
		a := start()
		a.ready()
		cl := w.NewClient(kgo.ProducerBatchCompression(kgo.NoCompression()))
		defer cl.Close()
		for _, r := range []*kgo.Record{
			{Topic: ingress, Value: make([]byte, 60_000), Headers: []kgo.RecordHeader{header("x-delay", "5h")}, Timestamp: time.Now()},
			{Topic: ingress, Value: make([]byte, 10_000), Timestamp: time.Now()},
		} { // each in a batch of its own
			if err := cl.ProduceSync(context.Background(), r).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		w.broken() // 2 to 4
		time.Sleep(20 * time.Second)
		a.stop()
		w.commitLeftOut(5)
		a = start()
		for range 12 {
			w.sendMany(0, 0, 1000, func(int) []kgo.RecordHeader { return nil })
		}
		for i := range 10 {
			w.send(0, fmt.Sprint("v", i), header("x-delay", "10m"))
		}
		a.ready()
		time.Sleep(10 * time.Second)
		b := start()
		b.ready()
		for range 30 {
			time.Sleep(time.Second)
			for p := range int32(2) {
				w.send(p, "later", header("x-delay", "5h"))
			}
		}
		if _, body := a.get("/metrics"); !strings.Contains(body, `layover_committed_offset{partition="0"`) {
			a, b = b, a
		}
		a.stop() // which has partition 0
		time.Sleep(20 * time.Minute)
		got := w.values(egress)
		for i := range 10 {
			if v := fmt.Sprint("v", i); got[v] != 1 {
				t.Errorf("%s is delivered %d times", v, got[v])
			}
		}
		if lines := b.logs.Lines("partition stops"); len(lines) > 0 {
			t.Errorf("%s", lines[0])
		}
		b.stop()
	})
}

// TestABrokenBatchThatIsLeftOutHidesNoCancel: the commit says that the cancel is finished, that its record is not, and that
// commands count again from the broken batch on. The control has records in place of that batch.
func TestABrokenBatchThatIsLeftOutHidesNoCancel(t *testing.T) {
	for name, there := range map[string]func(*fixture){
		"broken": (*fixture).broken, "control": func(w *fixture) { w.sendMany(0, 0, 3, func(int) []kgo.RecordHeader { return nil }) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				w.send(0, "timer", header("x-delay", "2m"), header("x-delay-id", "one")) // 0
				in := w.start()
				in.ready()
				time.Sleep(5 * time.Second)
				in.stop()
				there(w) // 1 to 3
				w.send(0, "cancel", header("x-delay-id", "one"), header("x-delay-cancel", "true"))
				w.commitLeftOut(5)
				w.send(0, "behind")
				in = w.start()
				in.ready()
				time.Sleep(10 * time.Minute)
				if got := w.values(egress); got["timer"] != 0 || got["behind"] != 1 {
					t.Errorf("delivered %v", got)
				}
				in.stop()
			})
		})
	}
}

// TestABrokenBatchAtTheEndOfTheLogThatIsLeftOutHoldsNothingUp: nothing was written since. What has an id waits until its
// partition is read up to that end, and so does readiness.
func TestABrokenBatchAtTheEndOfTheLogThatIsLeftOutHoldsNothingUp(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		w.send(0, "timer", header("x-delay", "2m"), header("x-delay-id", "one"))
		w.broken() // 1 to 3
		time.Sleep(20 * time.Second)
		in.stop()
		w.commitLeftOut(4)
		in = w.start()
		in.ready()
		w.Until(3*time.Minute, "the record with an id is delivered", func() bool { return w.values(egress)["timer"] == 1 })
		in.stop()
	})
}

// flipped is a connection that changes one byte at a distance from a text, once for all connections.
type flipped struct {
	net.Conn
	text []byte
	by   int // distance from its first byte
	once *atomic.Bool
}

func (c flipped) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if at := bytes.Index(b[:n], c.text); at >= 0 && c.once.CompareAndSwap(true, false) {
		b[at+c.by] ^= 1
	}
	return n, err
}

// TestABatchThatWasDamagedOnItsWayOnceIsReadAgain: the broker has it as it was written. Behind a magic that it does not
// know the client goes on by itself.
func TestABatchThatWasDamagedOnItsWayOnceIsReadAgain(t *testing.T) {
	const inFront = 61 + 9 // bytes of a batch in front of its first value
	for fault, by := range map[string]int{"crc": 0, "unknown magic": 16 - inFront} {
		t.Run(fault, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				var once atomic.Bool
				w.dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
					c, err := w.Net.DialContext(ctx, network, addr)
					return flipped{c, []byte("a fragile value"), by, &once}, err
				}
				in := w.start()
				in.ready()
				w.send(0, "before")
				time.Sleep(5 * time.Second)
				once.Store(true)
				w.send(0, "a fragile value")
				w.send(0, "behind")
				time.Sleep(time.Minute)
				if said := in.logs.Lines("its broker has whole"); once.Load() || len(said) != 1 || !strings.Contains(said[0], fault) {
					t.Fatalf("damaged: %v, said %s", !once.Load(), strings.Join(said, "\n"))
				}
				if got := w.values(egress); got["a fragile value"] != 1 || got["behind"] != 1 {
					t.Errorf("delivered %v; %s", got, strings.Join(in.logs.Lines("partition stops"), "\n"))
				}
				in.stop()
			})
		})
	}
}
