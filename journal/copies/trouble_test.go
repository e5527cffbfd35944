package copies

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
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
	if tr.all(now)["orders"].Elsewhere {
		t.Error("what is not read waits elsewhere")
	}
	tr.read(of(0), fmt.Errorf("%w former", ErrElsewhere), now)
	if !tr.all(now)["orders"].Elsewhere {
		t.Error("what waits elsewhere is not read for another reason")
	}
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

// TestATopicThatTakesNothingIsToldBesideLargeRecords: too few replicas are in sync, and a large record is refused
// now and then for its size, which a broker, or Copy itself, looks at first. No copy was taken meanwhile.
func TestATopicThatTakesNothingIsToldBesideLargeRecords(t *testing.T) {
	for name, unreadable := range map[string]bool{"by the broker": false, "by Copy itself": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				batch := 1 << 20
				if unreadable {
					batch = 100 << 10
				}
				c := &Copies{troubles: newTroubles(), said: make(map[string]time.Time), cfg: Config{Name: func(s string) string { return s + ".runs" }, Log: slog.New(slog.DiscardHandler),
					Batch: func(string) int { return batch }, Together: func(string) int { return 64 << 10 },
					Produce: func(r *kgo.Record, alone bool, done func(*kgo.Record, error)) {
						if alone {
							done(r, kerr.MessageTooLarge)
						} else {
							done(r, kerr.NotEnoughReplicas)
						}
					}}}
				at := offsets.TopicPartition{Topic: "orders"}
				first, green := time.Now(), 0
				for range 60 {
					for _, size := range []int{100, 500 << 10} {
						c.Copy(at, &kgo.Record{Value: make([]byte, size), Timestamp: time.Now()}, func(int64, error) {})
						time.Sleep(500 * time.Millisecond)
						if c.Troubles()["orders"].Moving == "" {
							green++
						}
					}
				}
				c.Copy(at, &kgo.Record{Value: make([]byte, 100), Timestamp: time.Now()}, func(int64, error) {})
				since := c.Troubles()["orders"].MovingSince
				if green > 0 || !since.Equal(first) {
					t.Errorf("in %d looks of 120 nothing is wrong with a topic that took nothing; it is wrong since %v, want since %v", green, since.Sub(first), time.Duration(0))
				}
			})
		})
	}
}

// TestASilentPartitionIsToldBesideARecordThatIsRefusedHere: an answer of Copy itself is none of the partition.
func TestASilentPartitionIsToldBesideARecordThatIsRefusedHere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Copies{troubles: newTroubles(), said: make(map[string]time.Time), cfg: Config{Name: func(s string) string { return s + ".runs" }, Log: slog.New(slog.DiscardHandler),
			Batch: func(string) int { return 100 << 10 }, Together: func(string) int { return 64 << 10 }, Produce: func(*kgo.Record, bool, func(*kgo.Record, error)) {}}}
		at := offsets.TopicPartition{Topic: "orders"}
		told := 0
		for i := range 120 {
			if i == 0 || i%9 == 8 {
				size := 100
				if i > 0 {
					size = 500 << 10
				}
				c.Copy(at, &kgo.Record{Value: make([]byte, size), Timestamp: time.Now()}, func(int64, error) {})
			}
			time.Sleep(time.Second)
			if c.Troubles()["orders"].Moving != "" {
				told++
			}
		}
		if told < 100 {
			t.Errorf("in %d s of 120 it is told that a copy has no answer", told)
		}
	})
}
