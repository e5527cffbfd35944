package consumer

import (
	"testing"
	"time"

	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestAPausedPartitionIsReadOnBehindJumpsInAnyOrder: it is paused before a batch that is not read, and stands in a
// finished stretch that is jumped over.
func TestAPausedPartitionIsReadOnBehindJumpsInAnyOrder(t *testing.T) {
	const later = -1 // the jumps up to there are carried out
	for name, jumps := range map[string][]jumpTo{
		"over the stretch, behind the batch":           {{50, -1, false}, {20, -1, true}},
		"behind the batch, over the stretch":           {{20, -1, true}, {50, -1, false}},
		"over the stretch, and later behind the batch": {{50, -1, false}, {later, -1, false}, {20, -1, true}},
		"behind the batch, and later over the stretch": {{20, -1, true}, {later, -1, false}, {50, -1, false}},
	} {
		client, err := kgo.NewClient(kgo.SeedBrokers("127.0.0.1:1"))
		if err != nil {
			t.Fatal(err)
		}
		table := newOwnership()
		table.add(map[string][]int32{"t": {0}})
		a := offsets.Assignment{TopicPartition: offsets.TopicPartition{Topic: "t"}, Epoch: 1}
		table.while(a, func(o *owned) { o.loaded, o.fetched = true, true })
		f := &fetching{client: client, table: table}
		j := &jumper{client: client, table: table, fetching: f, poll: new(poll), pending: make(map[offsets.Assignment]jumpTo)}
		f.pause(a)
		for _, to := range jumps {
			if to.offset == later {
				j.carryOut()
				j.last = time.Time{}
				continue
			}
			j.note(a, to)
		}
		j.carryOut()
		if paused := client.PauseFetchPartitions(nil); len(paused["t"]) > 0 || table.position(a) != 50 {
			t.Errorf("%s: paused are %v, at %d", name, paused, table.position(a))
		}
		client.Close()
	}
}
