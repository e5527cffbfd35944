package purgatory

import (
	"slices"
	"testing"

	"layover/offsets"
)

// refuseBatches ends deliveries as a compacted topic does: a batch with one of those offsets is
// refused whole, and others are taken. It returns the offsets that were taken.
func (r *rig) refuseBatches(ds []Delivery, refused ...int64) (out []int64) {
	batches := make(map[int32]bool) // by partition: it has one of those
	for _, d := range ds {
		batches[d.TargetPartition] = batches[d.TargetPartition] || slices.Contains(refused, d.Offset)
	}
	results := make([]Result, len(ds))
	for i, d := range ds {
		if results[i] = (Result{ID: d.ID, Class: Rejected, Detail: "said the broker"}); !batches[d.TargetPartition] {
			results[i].Class = Delivered
			out = append(out, d.Offset)
		}
	}
	r.Outcomes(r.at, results)
	return out
}

// TestLettersThatAreRefusedForTheirContentStopNoOther, and reading pauses from the first refusal
// until one of those is taken, or none is there any more.
func TestLettersThatAreRefusedForTheirContentStopNoOther(t *testing.T) {
	for name, end := range map[string]func(*rig){
		"one is taken": func(r *rig) {
			for range 4 { // another letter may be in front of it
				r.pass(holdMaxMs)
				r.end(Delivered, r.offer()...)
			}
		},
		"they are handed over": func(r *rig) {
			r.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1})
			r.assign(0, 2, 400)
			bad := r.arrival(400, 0, "0")
			bad.Reason = "no_target"
			r.take(0, 2, bad)
			r.pass(holdMaxMs)
			r.one(Delivered)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			r.assign(0, 1, 0)
			for o := range int64(10) {
				r.bury(o, string('0'+byte(o%3)))
			}
			r.pass(1)
			taken := r.refuseBatches(r.offer(), 3, 7)
			for range 10 { // each of them alone
				taken = append(taken, r.refuseBatches(r.offer(), 3, 7)...)
			}
			since := r.at.WallMs
			for next := int64(10); next < 300; next++ {
				if next%10 == 0 { // what is parked goes on
					r.bury(next, "0")
				}
				r.pass(100)
				for range 5 {
					taken = append(taken, r.refuseBatches(r.offer(), 3, 7)...)
				}
				if h := r.heldView(); h.SinceMs != since || h.Verdict != Rejecting || h.Detail != "said the broker" || len(r.Pauses()) != 1 {
					t.Fatalf("after %d ms: held %+v, pauses %v; want one hold, all the time", r.at.WallMs-since, h, r.Pauses())
				}
				r.audit()
			}
			if slices.Sort(taken); len(taken) < 35 {
				t.Errorf("taken %v, want nearly all", taken)
			}
			if n := len(r.Take().Holds); n != 1 {
				t.Errorf("%d notices, want one", n)
			}
			if end(r); len(r.Pauses()) > 0 || len(r.Snapshot().Held) > 0 || len(r.offer()) > 0 {
				t.Errorf("pauses %v, held %+v", r.Pauses(), r.Snapshot().Held)
			}
			r.audit()
		})
	}
}
