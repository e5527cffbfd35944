package admin

import (
	"slices"
	"testing"
	"time"

	"layover/purgatory"
)

// TestTheHeadroomOfATopicIsThatOfItsWorstPartition, wherever that stands: in the first lane
// or the last, before or behind better ones. It is less with time, and more once the oldest
// record is delivered.
func TestTheHeadroomOfATopicIsThatOfItsWorstPartition(t *testing.T) {
	now := time.Now()
	const keep = 24 * time.Hour
	sample := func(ages ...time.Duration) Sample { // of the oldest needed record, a lane for each two partitions; 0: none is needed
		s := Sample{Started: now, Settings: Settings{Ingress: []string{"orders", "invoices"}, Retention: map[string]time.Duration{"orders": keep, "invoices": keep}}}
		for i, age := range ages {
			if i%2 == 0 {
				s.Lanes = append(s.Lanes, &purgatory.Snapshot{})
			}
			v := purgatory.PartitionView{Epoch: 1}
			if age > 0 {
				v.OldestNeededMs = now.Add(-age).UnixMilli()
			}
			lane := s.Lanes[len(s.Lanes)-1]
			lane.Partitions = append(lane.Partitions, partition("orders", int32(i), v))
			s.Group.Partitions = append(s.Group.Partitions, Assignment{Topic: "orders", Partition: int32(i), Loaded: true})
		}
		return s
	}
	headroom := func(s Sample) (seconds float64, there bool) {
		seconds, there = scrape(t, s)[`layover_ingress_retention_headroom_seconds{topic="orders"}`]
		return seconds, there
	}
	best, middle, worst := time.Hour, 10*time.Hour, 23*time.Hour
	for _, ages := range [][]time.Duration{
		{worst, middle, best, 0}, {best, middle, worst, 0}, {middle, worst, best, 0}, {0, best, worst, middle}, {worst}, {0, 0, worst},
	} {
		if got, there := headroom(sample(ages...)); !there || got < 3590 || got > 3610 {
			t.Errorf("the oldest needed records are %v old: headroom %v s (%v), want an hour", ages, got, there)
		}
		ages[slices.Index(ages, worst)] = 26 * time.Hour
		if got, _ := headroom(sample(ages...)); got > -2*3600+10 || got < -2*3600-10 {
			t.Errorf("the oldest needed records are %v old: headroom %v s, want two hours less than none", ages, got)
		}
		ages[slices.Index(ages, 26*time.Hour)] = 0
		want, any := keep-slices.Max(ages), slices.Max(ages) > 0
		if got, there := headroom(sample(ages...)); there != any || any && (got < want.Seconds()-10 || got > want.Seconds()+10) {
			t.Errorf("the oldest needed records are %v old: headroom %v s (%v), want %v", ages, got, there, want)
		}
	}
}
