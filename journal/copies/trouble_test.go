package copies

import (
	"errors"
	"testing"
	"time"

	"layover/offsets"
)

func TestTroubleIsToldUntilItIsOver(t *testing.T) {
	now := time.Unix(1000, 0)
	tr := newTroubles()
	of := func(p int32) offsets.TopicPartition { return offsets.TopicPartition{Topic: "orders", Partition: p} }
	want := func(when, moving, reading string) {
		t.Helper()
		if got := tr.all(now)["orders"]; got.Moving != moving || got.Reading != reading || got.MovingSince.IsZero() != (moving == "") || got.ReadingSince.IsZero() != (reading == "") {
			t.Errorf("%s: %+v, want %q and %q", when, got, moving, reading)
		}
	}
	want("at first", "", "")
	tr.sent(of(2), now)
	tr.sent(of(2), now)
	now = now.Add(10 * time.Second)
	want("after ten seconds", "", "")
	now = now.Add(time.Second)
	want("after eleven", "partition 2 has not answered for 11 s", "")
	tr.sent(of(1), now.Add(-time.Minute))
	want("with a lower one", "partition 1 has not answered for 60 s", "")
	tr.answered(of(1), nil, now)
	tr.answered(of(2), nil, now)
	want("after one answer of two", "", "")
	now = now.Add(11 * time.Second)
	want("while the other is owed", "partition 2 has not answered for 11 s", "")
	tr.answered(of(2), errors.New("NOT_ENOUGH_REPLICAS"), now)
	want("refused", "partition 2 refuses copies: NOT_ENOUGH_REPLICAS", "")
	tr.read(of(3), errors.New("NOT_LEADER"), now)
	tr.read(of(0), errors.New("no answer"), now)
	want("two are not read", "partition 2 refuses copies: NOT_ENOUGH_REPLICAS", "partition 0 is not read: no answer")
	if other := tr.all(now)["invoices"]; other != (Trouble{}) {
		t.Errorf("another topic has %+v", other)
	}
	tr.read(of(0), nil, now)
	tr.sent(of(2), now)
	tr.answered(of(2), nil, now)
	want("one of each has succeeded", "", "partition 3 is not read: NOT_LEADER")
	now = now.Add(time.Minute)
	want("a minute later", "", "partition 3 is not read: NOT_LEADER")
	now = now.Add(time.Second)
	want("when nobody has asked since", "", "")
	if len(tr.flying)+len(tr.refused)+len(tr.unread) > 0 {
		t.Errorf("kept are %+v", &tr)
	}
}

// TestTroubleIsSinceItsFirstFailure, of those that nothing of its kind has come between.
func TestTroubleIsSinceItsFirstFailure(t *testing.T) {
	first := time.Unix(1000, 0)
	tr := newTroubles()
	at := offsets.TopicPartition{Topic: "orders"}
	failed := errors.New("NOT_LEADER")
	for i := range time.Duration(5) {
		tr.read(at, failed, first.Add(i*30*time.Second))
	}
	if got := tr.all(first.Add(2 * time.Minute))["orders"].ReadingSince; !got.Equal(first) {
		t.Errorf("since %v, want the first failure's %v", got, first)
	}
	tr.read(at, nil, first)
	again := first.Add(150 * time.Second)
	tr.read(at, failed, again)
	if got := tr.all(again)["orders"].ReadingSince; !got.Equal(again) {
		t.Errorf("since %v, want %v, as it was read in between", got, again)
	}
	tr.read(at, failed, again.Add(2*time.Minute))
	if got := tr.all(again.Add(2 * time.Minute))["orders"].ReadingSince; !got.Equal(again.Add(2 * time.Minute)) {
		t.Errorf("since %v, want the last: the one before was over", got)
	}
}
