package copies

import (
	"testing"

	"layover/offsets"
	"layover/purgatory"
	"layover/verify/kafkatest"

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
