package daemon

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"layover/verify/kafkatest"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// behindCompacted runs f with a partition that begins with a batch of three records, of which compaction has left so
// many. Behind it stands what write has produced.
func behindCompacted(t *testing.T, left uint32, write, f func(w *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := fixtureOf(kafkatest.StartVirtualOnDisk(t, 1, kfake.SeedTopics(1, ingress), kfake.SeedTopics(1, egress), kfake.SeedTopics(1, dlq)))
		cl := w.NewClient(kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerLinger(time.Second))
		var three []*kgo.Record
		for i := range 3 {
			three = append(three, &kgo.Record{Topic: ingress, Value: fmt.Append(nil, "kept ", i)})
		}
		if err := cl.ProduceSync(context.Background(), three...).FirstErr(); err != nil {
			t.Fatal(err)
		}
		cl.Close()
		write(w)
		w.Compact(ingress, left)
		f(w)
	})
}

// TestABatchTooLargeToReadBehindACompactedOneIsDeadLettered: compaction has emptied the batch in front, or cut its end.
// It keeps its last offset, and the reader, who stands within it, has no record from there.
func TestABatchTooLargeToReadBehindACompactedOneIsDeadLettered(t *testing.T) {
	long.Only(t)
	for left := range uint32(3) {
		for _, bomb := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d records are left, a bomb behind them: %v", left, bomb), func(t *testing.T) {
				write := func(w *fixture) {
					if bomb {
						w.bomb(0, 2)
					}
					w.send(0, "behind")
				}
				behindCompacted(t, left, write, func(w *fixture) {
					in := w.start(narrow)
					time.Sleep(time.Minute)
					if got := w.values(egress); got["behind"] != 1 || len(got) != int(left)+1 {
						_, body := in.get("/readyz")
						t.Errorf("after a minute %v are delivered; %s", got, body)
					}
					if bomb {
						w.lettersAre("too_large_to_read delayed/0@3-4 of 2")
					} else {
						w.lettersAre()
					}
					in.stop()
				})
			})
		}
	}
}

// TestWhatCannotBeReadBehindACompactedBatchIsNamed: an operator skips what status names.
func TestWhatCannotBeReadBehindACompactedBatchIsNamed(t *testing.T) {
	for left := range uint32(3) {
		t.Run(fmt.Sprintf("%d records are left", left), func(t *testing.T) {
			write := func(w *fixture) { w.ProduceBatch(ingress, kafkatest.Batch(func(*kmsg.RecordBatch) {})) }
			behindCompacted(t, left, write, func(w *fixture) {
				in := w.start()
				time.Sleep(time.Minute)
				if text := fmt.Sprint(in.at("sick")); !strings.Contains(text, "layover skip delayed/0@3") {
					t.Errorf("sick: %s", text)
				}
				in.stop()
			})
		})
	}
}
