package logs

import (
	"bytes"
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"

	"layover/cluster"
	"layover/cluster/batches"
	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestAnAnswerIsBounded by what a partition may take in it, and by what all may. A first
// batch that is larger comes whole.
func TestAnAnswerIsBounded(t *testing.T) {
	inBubble(t, func(w *fixture) {
		pad := strings.Repeat("x", 10_000)
		for p := range int32(3) {
			w.produce(p, pad, pad, pad, pad, pad)
		}
		for what, c := range map[string]struct {
			limits Limits
			want   [3]int // records of each partition
		}{
			"a partition": {Limits{Answer: 1 << 20, Partition: 25_000, Batch: 1 << 20}, [3]int{2, 2, 2}},
			"all":         {Limits{Answer: 25_000, Partition: 1 << 20, Batch: 1 << 20}, [3]int{2, 0, 0}},
			"a byte":      {Limits{Answer: 1, Partition: 1, Batch: 1}, [3]int{1, 0, 0}},
		} {
			got := w.fetch(c.limits, w.want(0, 0), w.want(1, 0), w.want(2, 0))
			for p, n := range c.want {
				g := got[at(int32(p))]
				if errors.Is(g.Err, cluster.ErrNoAnswer) && n == 0 { // brokers may leave out what there is no room for
					g.Err = nil
				}
				if g.Err != nil || len(g.Records) != n || g.Next != int64(n) {
					t.Errorf("%s: partition %d: %d records, next %d, %v; want %d", what, p, len(g.Records), g.Next, g.Err, n)
				}
			}
		}
	})
}

// TestABatchThatCannotBeReadIsAnErrorWhereItStands, and the records in front of it come
// first.
func TestABatchThatCannotBeReadIsAnErrorWhereItStands(t *testing.T) {
	plain := kafkatest.Batch(func(*kmsg.RecordBatch) {}) // says gzip, and is none
	sum := bytes.Clone(plain)
	sum[len(sum)-1] ^= 1
	for what, c := range map[string]struct {
		written, seen []byte // seen in its place, unless it is nil
		text          string
		tooLarge      bool
	}{
		"over the limit":   {batch(make([]byte, roomy.Batch+1)), nil, "more than the limit", true},
		"an unknown codec": {plain, kafkatest.Batch(func(b *kmsg.RecordBatch) { b.Attributes = 7 }), "unknown compression", false},
		"no gzip at all":   {plain, nil, "", false},
		"cut short":        {kafkatest.Batch(func(b *kmsg.RecordBatch) { b.Records, _ = gzipped(make([]byte, 1000)); b.Records = b.Records[:12] }), nil, "cut short", false},
		"a wrong sum":      {plain, sum, "crc", false},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				w.produce(0, "a", "b")
				w.ProduceBatch(topic, c.written)
				if c.seen != nil {
					w.reader = w.reading(kgo.Dialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
						conn, err := w.Net.DialContext(ctx, network, addr)
						return kafkatest.Swapped{Conn: conn, From: c.written[17:], To: c.seen[17:]}, err // the broker writes what is before
					}))
				}
				w.produce(0, "behind")
				w.produce(1, "well")
				next, seen := int64(0), 0
				for range 3 {
					got := w.fetch(roomy, w.want(0, next), w.want(1, 0))
					if g := got[at(1)]; g.Err != nil || len(g.Records) != 1 {
						t.Errorf("the other partition: %+v", g)
					}
					g := got[at(0)]
					seen, next = seen+len(g.Records), g.Next
					if g.Err == nil {
						continue
					}
					_, tooLarge := errors.AsType[*batches.TooLarge](g.Err)
					if !errors.Is(g.Err, ErrUnreadable) || tooLarge != c.tooLarge || !strings.Contains(g.Err.Error(), c.text) || !strings.HasPrefix(g.Err.Error(), "reading at 2: ") {
						t.Errorf("%v", g.Err)
					}
				}
				if g := w.fetch(roomy, w.want(0, next))[at(0)]; seen != 2 || next != 2 || g.Err == nil || g.Next != 2 {
					t.Errorf("%d records, stands at %d: %+v", seen, next, g)
				}
			})
		})
	}
}

// TestTogetherBatchesTakeNoMoreThanTheLimit decompressed, and all are read in the end.
func TestTogetherBatchesTakeNoMoreThanTheLimit(t *testing.T) {
	inBubble(t, func(w *fixture) {
		const size, of = 300_000, 7 // three of them fit
		for range of {
			w.ProduceBatch(topic, batch(make([]byte, size)))
		}
		if g := w.fetch(roomy, w.want(0, 0))[at(0)]; len(g.Records) != of || g.Err != nil {
			t.Errorf("one by one: %d records, %v", len(g.Records), g.Err)
		}
		together := roomy
		together.Together = true
		var each []int
		for next := int64(0); next < of; {
			g := w.fetch(together, w.want(0, next))[at(0)]
			if g.Err != nil || g.Next == next {
				t.Fatalf("%+v", g)
			}
			each, next = append(each, len(g.Records)), g.Next
		}
		if !slices.Equal(each, []int{3, 3, 1}) {
			t.Errorf("%v records in an answer", each)
		}
	})
}

// TestWithoutRoomBesideAnotherPartitionNothingIsWrong: the next answer has it.
func TestWithoutRoomBesideAnotherPartitionNothingIsWrong(t *testing.T) {
	inBubble(t, func(w *fixture) {
		large := []byte(strings.Repeat("v", 600_000)) // two of them do not fit
		packed := w.NewClient(kgo.ProducerBatchCompression(kgo.GzipCompression()), kgo.RecordPartitioner(kgo.ManualPartitioner()))
		for p := range int32(2) {
			if err := packed.ProduceSync(context.Background(), &kgo.Record{Topic: topic, Partition: p, Value: large}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		together := roomy
		together.Together = true
		for _, first := range []int32{0, 1} {
			got := w.fetch(together, w.want(first, 0), w.want(1-first, 0))
			one, two := got[at(first)], got[at(1-first)]
			if one.Err != nil || len(one.Records) != 1 || two.Err != nil || len(two.Records) > 0 || two.Next != 0 {
				t.Errorf("%v first: %+v and %+v", first, one, two)
			}
		}
	})
}
