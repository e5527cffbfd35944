package daemon

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// order is in what order the commits of a partition reached the broker. One may be on
// its way while its client gives the connection up, and sends it again with newer ones
// behind it. When the one on its way arrives after all, it takes back what the newer
// ones said, until the next one is taken.
type order struct {
	taken []time.Time // when those were sent that the broker has answered well
	late  []time.Time // when one arrived behind a newer one
}

// onArrival is called for every request when the broker gets it.
func (r *rig) onArrival(x *exchange) {
	q, is := x.request.(*kmsg.OffsetCommitRequest)
	if !is {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range q.Topics {
		for _, c := range t.Partitions {
			o := r.order(c.Partition)
			if slices.ContainsFunc(o.taken, x.sent.Before) {
				o.late = append(o.late, time.Now())
				r.sum.overtaken++
			}
		}
	}
}

// order returns what is known of a partition's commits. Callers hold mu.
func (r *rig) order(partition int32) *order {
	o := r.orders[partition]
	if o == nil {
		o = new(order)
		r.orders[partition] = o
	}
	return o
}

// stale says whether the last commit of a partition that a broker has at a time may be
// one that newer ones had overtaken. Callers hold mu.
func (r *rig) stale(partition int32, at time.Time) bool {
	o := r.order(partition)
	return slices.ContainsFunc(o.late, func(late time.Time) bool {
		return !late.After(at) && !slices.ContainsFunc(o.taken, func(sent time.Time) bool { return sent.After(late) && sent.Before(at) })
	})
}

// begunStale says whether an assignment after a time began with such a commit. Callers hold
// mu.
func (r *rig) begunStale(partition int32, after time.Time) bool {
	return slices.ContainsFunc(r.assignments[partition], func(own *assignment) bool {
		return own.asked.After(after) && r.stale(partition, own.asked)
	})
}
