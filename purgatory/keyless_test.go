package purgatory

import (
	"slices"
	"testing"

	"layover/offsets"
)

// TestARecordWithoutAKeyGoesToAPartitionThatTakesIt, and never to one without a leader.
func TestARecordWithoutAKeyGoesToAPartitionThatTakesIt(t *testing.T) {
	silent := func(ms int64) func(*rig, []Delivery) { return func(r *rig, _ []Delivery) { r.pass(ms) } }
	fails := func(r *rig, ds []Delivery) { r.end(Unknown, ds...) }
	for name, test := range map[string]struct {
		before string // the partitions of what was offered before
		sicken func(*rig, []Delivery)
		want   []int32
	}{
		"all are well":               {"012", func(r *rig, ds []Delivery) { r.end(Delivered, ds...) }, []int32{0, 1, 2}},
		"all have room":              {"012", silent(1), []int32{0, 1, 2}},
		"one is stuck":               {"1", silent(stuckMs), []int32{0, 2}},
		"one is silent":              {"1", silent(stallMs), []int32{0, 2}},
		"one fails":                  {"1", fails, []int32{0, 2}},
		"one has its fill in flight": {"1112", silent(1), []int32{0, 2}},
		"all have their fill":        {"000111222", silent(1), []int32{0, 1, 2}},
		"all have, and one fails": {"000111222", func(r *rig, ds []Delivery) {
			fails(r, slices.DeleteFunc(ds, func(d Delivery) bool { return d.TargetPartition != 1 }))
		}, []int32{0, 2}},
		"all are silent":          {"012", silent(stallMs), []int32{0, 1, 2}},
		"all fail":                {"012", fails, []int32{0, 1, 2}},
		"one was silent":          {"1", func(r *rig, ds []Delivery) { r.pass(stallMs); r.end(Delivered, ds...) }, []int32{0, 1, 2}},
		"one failed, and is well": {"1", func(r *rig, ds []Delivery) { fails(r, ds); r.pass(holdMaxMs); r.one(Delivered) }, []int32{0, 1, 2}},
	} {
		var chosen []int32
		r := newRig(t, func(c *Config) {
			c.MaxInFlight = 2
			c.Place = func(s *TargetState, _ offsets.TopicPartition, body []byte) Route {
				if body[0] != '?' {
					return Route{Partition: int32(body[0] - '0')}
				}
				chosen = append(chosen, s.Led[len(chosen)%len(s.Led)])
				return Route{Partition: chosen[len(chosen)-1]}
			}
		})
		r.partitions, r.led = 4, []int32{0, 1, 2}
		r.assign(0, 1, 0)
		for o, p := range test.before {
			r.take(0, 1, r.arrival(int64(o), 0, string(p)))
		}
		r.pass(1)
		test.sicken(r, r.offer())
		for o := int64(100); o < 106; o++ {
			r.take(0, 1, r.arrival(o, 0, "?"))
		}
		r.pass(1)
		r.offer()
		slices.Sort(chosen)
		if got := slices.Compact(chosen); !slices.Equal(got, test.want) {
			t.Errorf("%s: records without a key go to %v, want %v", name, got, test.want)
		}
		if !slices.Equal(r.led, []int32{0, 1, 2}) {
			t.Errorf("%s: the list that was told is %v", name, r.led)
		}
		r.audit()
	}
}
