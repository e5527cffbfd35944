package copies

import (
	"testing"

	"layover/offsets"
)

func TestABatchIsBrokenThatCannotBeReadTwiceInARow(t *testing.T) {
	c, at := &Copies{broken: make(map[offsets.TopicPartition]int64)}, offsets.TopicPartition{Topic: "runs"}
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
