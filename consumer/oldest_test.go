package consumer

import (
	"testing"
	"time"

	"layover/offsets"
)

// unreadRows is a table of partitions that have so many offsets unread, by number.
func unreadRows(lags ...int64) *ownership {
	t := newOwnership()
	for p, lag := range lags {
		tp := offsets.TopicPartition{Topic: "delayed", Partition: int32(p)}
		t.rows[tp] = &owned{Assignment: offsets.Assignment{TopicPartition: tp, Epoch: uint64(p + 1)}, loaded: true, next: 100, end: 100 + lag}
	}
	return t
}

func (t *ownership) of(p int32) *owned {
	return t.rows[offsets.TopicPartition{Topic: "delayed", Partition: p}]
}

// TestPartitionsAreAskedForTheirAgeInTurnUntilThereIsAnAnswer: a pause is no reason for load.
func TestPartitionsAreAskedForTheirAgeInTurnUntilThereIsAnAnswer(t *testing.T) {
	now, rows := time.Now(), unreadRows(5, 0, 7, 9, 1)
	rows.of(4).loaded = false
	asked := func() (out []int32) {
		now = now.Add(endsEvery)
		for _, a := range rows.unaged(2, now) {
			out = append(out, a.Partition)
		}
		return out
	}
	same := func(got []int32, want ...int32) {
		t.Helper()
		if len(got) != len(want) {
			t.Fatalf("%v, want %v", got, want)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("%v, want %v", got, want)
			}
		}
	}
	same(asked(), 0, 2)
	same(asked(), 3, 0) // nobody has answered: the one that was not asked about is first
	for _, p := range []int32{0, 3} {
		rows.of(p).unread.at, rows.of(p).unread.timestamp = 100, now
	}
	same(asked(), 2)
	rows.of(2).unread.at, rows.of(2).unread.timestamp = 100, now
	same(asked())
	rows.of(3).next = 104 // it was read on
	same(asked(), 3)
	rows.of(3).stop(Unreadable, "x", 104, now)
	same(asked())
}

func TestAnAgeIsOfOneReadPosition(t *testing.T) {
	o, written := unreadRows(5).of(0), time.Now()
	o.unread.at, o.unread.timestamp = 100, written
	if !o.oldestUnread().Equal(written) {
		t.Errorf("%v, want %v", o.oldestUnread(), written)
	}
	if o.next = 103; !o.oldestUnread().IsZero() {
		t.Error("that record was read")
	}
	if o.unread.at, o.next = 105, 105; !o.oldestUnread().IsZero() {
		t.Error("nothing is unread")
	}
}
