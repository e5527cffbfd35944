package lane

import (
	"slices"
	"testing"
	"time"

	"layover/journal/facts"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestABarrierStaysShutWhileTheLaneHasFetchedRecords: reading has come to a stand, and the cancel of a record that is
// overdue was fetched before. It is read some turns behind the record.
func TestABarrierStaysShutWhileTheLaneHasFetchedRecords(t *testing.T) {
	for name, halt := range map[string]func(*kafka){
		"reads on":            func(*kafka) {},
		"reading pauses":      func(k *kafka) { k.paused = true },
		"the partition stops": func(k *kafka) { k.stopped = true },
	} {
		inBubble(t, nil, func(r *rig) {
			r.kafka.set(halt)
			const end = 4*intakeBudget + 2
			id := kgo.RecordHeader{Key: "x-delay-id", Value: []byte("a")}
			all := []*kgo.Record{r.record(0, time.Millisecond)}
			all[0].Headers = append(all[0].Headers, id)
			for o := int64(1); o < end-1; o++ {
				all = append(all, r.record(o, time.Hour))
			}
			all = append(all, &kgo.Record{Topic: "delayed", Offset: end - 1, Timestamp: time.Now(), Key: []byte("key"),
				Headers: []kgo.RecordHeader{id, {Key: "x-delay-cancel", Value: []byte("true")}}})
			time.Sleep(time.Second) // nothing ran when it was due
			r.Assign(facts.Assigned{Assignment: assignment(0, 1), Window: offsets.NewWindow(0), Committed: true, StableEnd: end})
			r.fetched(assignment(0, 1), all...)
			if got := r.values(); slices.Contains(got, "0") {
				t.Errorf("%s: delivered %v, though its cancel was fetched before it was read", name, got)
			}
		})
	}
}
