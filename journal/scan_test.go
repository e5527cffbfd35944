package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"layover/journal/facts"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// TestAScanReadsEachPartitionInOrderFromStartToEnd and nothing beyond.
func TestAScanReadsEachPartitionInOrderFromStartToEnd(t *testing.T) {
	inBubble(t, func(w *fixture) {
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
		w.DeleteRecords(name, 0, 5)
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
	inBubble(t, func(w *fixture) {
		ids := make(map[offsets.TopicPartition]offsets.Identity)
		at := func(p int32) offsets.TopicPartition { return offsets.TopicPartition{Topic: ingress, Partition: p} }
		for p := range int32(3) {
			ids[at(p)] = offsets.Identity{ClusterID: "c", TopicID: offsets.TopicID{7}, Partition: p}
		}
		held, unknown := w.j.Holds(context.Background(), ids)
		if len(unknown) > 0 || len(held) != 3 || held[at(0)] || held[at(1)] || held[at(2)] {
			t.Errorf("of a topic that is missing: %v, %v", held, unknown)
		}
		id := w.makeJournal(3)
		w.append(1, []byte("not ours"), nil)
		for i, change := range []func(id *facts.Identity){
			func(id *facts.Identity) { id.Group = "other" },
			func(id *facts.Identity) { id.ClusterID = "d" },
			func(id *facts.Identity) { id.TopicID[3] = 1 },
			func(id *facts.Identity) { id.Partition = 9 },
		} {
			e := w.assignment(1, id)
			change(&e.id)
			e.ledger = facts.NewWriter(e.id, uint64(i)+1, facts.Restored{}, e.window)
			e.ledger.Use(id, 1<<20)
			e.finish(1, 5000)
			e.store()
		}
		e := w.assignment(2, id) // another incarnation is no matter
		e.finish(1, 5000)
		e.store()
		if held, unknown = w.j.Holds(context.Background(), ids); len(unknown) > 0 || held[at(0)] || held[at(1)] || !held[at(2)] {
			t.Errorf("%v, %v, want partition 2", held, unknown)
		}
		one := w.assignment(1, id)
		one.finish(1, 5000)
		one.store()
		if held, unknown = w.j.Holds(context.Background(), ids); len(unknown) > 0 || !held[at(1)] {
			t.Errorf("%v, %v, want partition 1, too", held, unknown)
		}
	})
}

// TestHoldsDoesNotGuessWhereNobodyAnswers: false would be a claim. The other partition
// is not kept waiting, and has its answer.
func TestHoldsDoesNotGuessWhereNobodyAnswers(t *testing.T) {
	for what, key := range map[string]kmsg.Key{"no bounds": kmsg.ListOffsets, "no records": kmsg.Fetch} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				id := w.makeJournal(3)
				ids := make(map[offsets.TopicPartition]offsets.Identity)
				for p := range int32(2) {
					e := w.assignment(p, id)
					e.finish(1, 5000)
					e.store()
					ids[e.tp] = e.id.Identity
				}
				defer w.Refuse(key, kfake.Fault{Topic: name, Partitions: []int32{1}, Err: kerr.LeaderNotAvailable}).Remove()
				began := time.Now()
				held, unknown := w.j.Holds(context.Background(), ids)
				if took := time.Since(began); took > 3*time.Second {
					t.Errorf("took %v", took)
				}
				sick, well := offsets.TopicPartition{Topic: ingress, Partition: 1}, offsets.TopicPartition{Topic: ingress}
				if _, known := held[sick]; known || !held[well] || unknown[sick] == nil || len(unknown) != 1 {
					t.Errorf("held %v, unknown %v", held, unknown)
				}
			})
		})
	}
}

// TestMoreThanOneAnswerHoldsIsReadInOrder: 12 MiB, of which a request asks for one of
// each partition; also of brokers from before topics had ids.
func TestMoreThanOneAnswerHoldsIsReadInOrder(t *testing.T) {
	for what, opts := range map[string][]kgo.Opt{"now": nil, "by name": {kgo.MaxVersions(kversion.V2_7_0())}} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				w.makeJournal(3)
				pad := make([]byte, 100_000)
				ends := make(map[int32][2]int64)
				for p := range int32(3) {
					for n := range 40 {
						w.append(p, fmt.Appendf(nil, "%d %s", n, pad))
					}
					ends[p] = [2]int64{0, 40}
				}
				h := w.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Count: -1, Observe: true})
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
				if n := h.Hits(); n < 4 || n > 16 { // 4 MiB of each partition
					t.Errorf("%d requests", n)
				}
			})
		})
	}
}
