package daemon

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestABatchTooLargeThatIsJumpedOverTakesNoRecordAlong: a partition is handed over. Its log has a record that is parked
// for long, and one that is finished. Then a batch too large follows, which is finished, and a batch that is finished up
// to its middle. The last batch is too large as well, and as large as the first such. The next owner rests between
// polls, as all that it reads waits for long.
func TestABatchTooLargeThatIsJumpedOverTakesNoRecordAlong(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.dial = slow(w.dial, 5*time.Millisecond)
		a := w.start(narrow)
		a.ready()
		for p := range int32(2) {
			cl := w.NewClient(kgo.ProducerLinger(time.Second), kgo.ProducerBatchCompression(kgo.NoCompression()))
			if err := cl.ProduceSync(context.Background(), &kgo.Record{Topic: ingress, Partition: p, Value: make([]byte, 60_000), Headers: []kgo.RecordHeader{header("x-delay", "5h")}, Timestamp: time.Now()},
				&kgo.Record{Topic: ingress, Partition: p, Value: []byte("at once"), Timestamp: time.Now()}).FirstErr(); err != nil {
				t.Fatal(err)
			}
			w.bomb(p, 12_000)
			var ten []*kgo.Record
			for i := range 10 {
				r := &kgo.Record{Topic: ingress, Partition: p, Value: fmt.Append(nil, "v", p, " ", i), Timestamp: time.Now()}
				if i >= 5 {
					r.Headers = append(r.Headers, header("x-delay", "10m"))
				}
				ten = append(ten, r)
			}
			if err := cl.ProduceSync(context.Background(), ten...).FirstErr(); err != nil {
				t.Fatal(err)
			}
			w.bomb(p, 12_000)
			cl.Close()
		}
		w.arrives(egress, 12, time.Minute)
		time.Sleep(10 * time.Second)
		t.Logf("letters %v, committed %d %d", w.letters(), w.commitOf(0).At, w.commitOf(1).At)
		b := w.start(narrow)
		b.ready()
		for range 30 {
			time.Sleep(time.Second)
			for p := range int32(2) {
				w.send(p, "later", header("x-delay", "5h"))
			}
		}
		a.stop()
		time.Sleep(20 * time.Minute)
		got := w.values(egress)
		for p := range 2 {
			for i := range 10 {
				if v := fmt.Sprint("v", p, " ", i); got[v] != 1 {
					t.Errorf("%s is delivered %d times", v, got[v])
				}
			}
		}
		t.Log(b.at("sick"), len(w.letters()))
		for p := range int32(2) {
			o := w.commitOf(p)
			t.Log(o.At, o.Metadata)
		}
		b.stop()
	})
}
