package copies

import (
	"bytes"
	"testing"

	"layover/offsets"
	"layover/purgatory"
	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestABatchIsBrokenThatCannotBeReadTwiceInARow(t *testing.T) {
	c, at := &Copies{broken: make(map[offsets.TopicPartition][]int64)}, offsets.TopicPartition{Topic: "runs"}
	if c.isBroken(at, 7) || !c.isBroken(at, 7) {
		t.Error("want it to be broken the second time")
	}
	if c.isWhole(at, 8, 20); !c.isBroken(at, 7) {
		t.Error("what is read elsewhere says nothing about it")
	}
	if c.isWhole(at, 5, 8); c.isBroken(at, 7) {
		t.Error("it was read since, want another try")
	}
}

// TestTwoBrokenBatchesAreBothPassed, though visits of what is due and of a gap take turns.
func TestTwoBrokenBatchesAreBothPassed(t *testing.T) {
	inBubble(t, func(w *stack) {
		broken := kafkatest.Batch(func(*kmsg.RecordBatch) {})
		w.ProduceBatch(topic, broken)
		w.fill(1)
		w.ProduceBatch(topic, broken)
		w.fill(1)
		due, gap := purgatory.Visit{From: 0, To: 4}, purgatory.Visit{From: 4, To: 8}
		for range 10 {
			for _, v := range []*purgatory.Visit{&due, &gap} {
				if v.From == v.To {
					continue
				}
				if a, _ := w.visitOf(w.topic(), *v); a.Err == nil {
					v.From = a.Until
				}
			}
		}
		if due.From != 4 || gap.From != 8 {
			t.Errorf("what is due is read up to %d, and the gap up to %d, want 4 and 8", due.From, gap.From)
		}
	})
}

// TestABrokenBatchBehindOthersIsNotPassed, though what is behind it was not wanted.
func TestABrokenBatchBehindOthersIsNotPassed(t *testing.T) {
	inBubble(t, func(w *stack) {
		w.Produce(w.copied("g", 100, []byte("a")))
		w.ProduceBatch(topic, kafkatest.Batch(func(*kmsg.RecordBatch) {})) // of three offsets
		w.Produce(w.copied("g", 102, []byte("c")))
		a, _ := w.visitOf(w.topic(), purgatory.Visit{From: 0, To: 4})
		if a.Err != nil || a.Until != 1 || len(a.Found) != 1 {
			w.Errorf("%d copies up to %d, %v, want the one in front of it", len(a.Found), a.Until, a.Err)
		}
	})
}

// TestBatchesThatHadNoRoomAreReadNext: they compress so well that an answer takes more than it may decompressed.
func TestBatchesThatHadNoRoomAreReadNext(t *testing.T) {
	inBubble(t, func(w *stack) {
		const n, size, to = 700, 60 << 10, 690
		cl := w.NewClient(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(8<<20), kgo.ProducerBatchCompression(kgo.GzipCompression()))
		for i := range n {
			if err := cl.ProduceSync(w.copies.ends, w.copied("g", int64(100+i), bytes.Repeat([]byte{'x'}, size))).FirstErr(); err != nil {
				w.Fatal(err)
			}
		}
		for from := int64(0); from < to; {
			a, _ := w.visitOf(w.topic(), purgatory.Visit{From: from, To: to})
			if a.Err != nil || a.Until == from || int64(len(a.Found)) != a.Until-from {
				w.Fatalf("from %d up to %d: %d copies, %v", from, a.Until, len(a.Found), a.Err)
			}
			from = a.Until
		}
	})
}
