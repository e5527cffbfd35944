package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"layover/facts"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// TestAScanReadsEachPartitionInOrderFromStartToEnd and nothing beyond.
func TestAScanReadsEachPartitionInOrderFromStartToEnd(t *testing.T) {
	inBubble(t, func(w *world) {
		w.makeJournal(3)
		for n := range 20 {
			w.append(int32(n%2), fmt.Appendf(nil, "%d", n))
		}
		got := make(map[int32][]string)
		ends := map[int32][2]int64{0: {2, 10}, 1: {0, 3}, 2: {0, 0}}
		err := Scan(context.Background(), w.options(), name, ends, func(p int32, r *kgo.Record) error {
			got[p] = append(got[p], string(r.Value))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		want := map[int32][]string{0: {"4", "6", "8", "10", "12", "14", "16", "18"}, 1: {"1", "3", "5"}}
		if len(got) != 2 || !slices.Equal(got[0], want[0]) || !slices.Equal(got[1], want[1]) {
			t.Errorf("got %v, want %v", got, want)
		}
		stop := errors.New("enough")
		calls := 0
		err = Scan(context.Background(), w.options(), name, ends, func(int32, *kgo.Record) error { calls++; return stop })
		if !errors.Is(err, stop) || calls != 1 {
			t.Errorf("%v after %d calls", err, calls)
		}
		w.broker.DeleteRecords(name, 0, 5)
		err = Scan(context.Background(), w.options(), name, ends, func(int32, *kgo.Record) error { return nil })
		if !errors.Is(err, kerr.OffsetOutOfRange) {
			t.Errorf("below the log start: %v", err)
		}
		began := time.Now()
		err = Scan(context.Background(), w.options(), name, map[int32][2]int64{1: {0, 11}}, func(int32, *kgo.Record) error { return nil })
		if took := time.Since(began); err == nil || took < 30*time.Second || took > 31*time.Second {
			t.Errorf("of an end that is not there: %v after %v", err, took)
		}
	})
}

// TestHoldsFindsRecordsOfAnyLifeOfTheOffsetAndOfNobodyElse by group, cluster, topic and
// partition.
func TestHoldsFindsRecordsOfAnyLifeOfTheOffsetAndOfNobodyElse(t *testing.T) {
	inBubble(t, func(w *world) {
		ids := make(map[offsets.TopicPartition]offsets.Identity)
		at := func(p int32) offsets.TopicPartition { return offsets.TopicPartition{Topic: ingress, Partition: p} }
		for p := range int32(3) {
			ids[at(p)] = offsets.Identity{ClusterID: "c", TopicID: offsets.TopicID{7}, Partition: p}
		}
		held, err := w.j.Holds(context.Background(), ids)
		if err != nil || len(held) != 3 || held[at(0)] || held[at(1)] || held[at(2)] {
			t.Errorf("of a topic that is missing: %v, %v", held, err)
		}
		id := w.makeJournal(3)
		w.append(1, []byte("not ours"), nil)
		for i, change := range []func(id *facts.Identity){
			func(id *facts.Identity) { id.Group = "other" },
			func(id *facts.Identity) { id.ClusterID = "d" },
			func(id *facts.Identity) { id.TopicID[3] = 1 },
			func(id *facts.Identity) { id.Partition = 9 },
		} {
			e := w.tenure(1, id)
			change(&e.id)
			e.ledger = facts.NewLedger(e.id, uint64(i)+1, facts.Restored{}, e.window)
			e.ledger.Use(id, 1<<20)
			e.finish(1, 5000)
			e.store()
		}
		e := w.tenure(2, id) // another incarnation is no matter
		e.finish(1, 5000)
		e.store()
		if held, err = w.j.Holds(context.Background(), ids); err != nil || held[at(0)] || held[at(1)] || !held[at(2)] {
			t.Errorf("%v, %v, want partition 2", held, err)
		}
		one := w.tenure(1, id)
		one.finish(1, 5000)
		one.store()
		if held, err = w.j.Holds(context.Background(), ids); err != nil || !held[at(1)] {
			t.Errorf("%v, %v, want partition 1, too", held, err)
		}
	})
}

// TestHoldsDoesNotGuessWhereNobodyAnswers: false would be a claim.
func TestHoldsDoesNotGuessWhereNobodyAnswers(t *testing.T) {
	inBubble(t, func(w *world) {
		w.makeJournal(3)
		defer w.fault(kmsg.ListOffsets, kfake.Fault{Topic: name, Partitions: []int32{1}, Err: kerr.LeaderNotAvailable})()
		ids := map[offsets.TopicPartition]offsets.Identity{{Topic: ingress, Partition: 0}: {}, {Topic: ingress, Partition: 1}: {}}
		began := time.Now()
		held, err := w.j.Holds(context.Background(), ids)
		if took := time.Since(began); err == nil || took < 5*time.Second || took > 6*time.Second {
			t.Errorf("%v, %v after %v", held, err, took)
		}
	})
}

// TestMoreThanOneAnswerHoldsIsReadInOrder: 12 MiB, of which a request asks for one of
// each partition; also of brokers from before topics had ids.
func TestMoreThanOneAnswerHoldsIsReadInOrder(t *testing.T) {
	for what, opts := range map[string][]kgo.Opt{"now": nil, "by name": {kgo.MaxVersions(kversion.V2_7_0())}} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(w *world) {
				w.makeJournal(3)
				pad := make([]byte, 100_000)
				ends := make(map[int32][2]int64)
				for p := range int32(3) {
					for n := range 40 {
						w.append(p, fmt.Appendf(nil, "%d %s", n, pad))
					}
					ends[p] = [2]int64{0, 40}
				}
				h := w.broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Count: -1, Observe: true})
				next := make(map[int32]int64)
				err := Scan(context.Background(), append(w.options(), opts...), name, ends, func(p int32, r *kgo.Record) error {
					if r.Offset != next[p] || !strings.HasPrefix(string(r.Value), fmt.Sprintf("%d ", r.Offset)) {
						return fmt.Errorf("offset %d of partition %d, want %d", r.Offset, p, next[p])
					}
					next[p]++
					return nil
				})
				if err != nil || next[0] != 40 || next[1] != 40 || next[2] != 40 {
					t.Errorf("%v, read %v", err, next)
				}
				if h.Hits() < 4 { // 4 MiB of each partition
					t.Errorf("%d requests", h.Hits())
				}
			})
		})
	}
}
