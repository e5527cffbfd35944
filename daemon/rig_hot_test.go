package daemon

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// hottest is how many requests of each kind an instance may send in any one second, also
// while a fault lasts. The numbers are some three times the most of 34 runs. Produce and
// Fetch go by the records that come and fall due. A retry without a pause sends thousands.
var hottest = map[kmsg.Key]int{
	kmsg.Produce:              1500, // an offer each 2 ms, to each of three brokers
	kmsg.Fetch:                1000,
	kmsg.ListOffsets:          200,
	kmsg.Metadata:             150,
	kmsg.OffsetCommit:         100,
	kmsg.OffsetFetch:          20,
	kmsg.FindCoordinator:      30,
	kmsg.JoinGroup:            60,
	kmsg.Heartbeat:            15,
	kmsg.LeaveGroup:           10,
	kmsg.SyncGroup:            20,
	kmsg.ApiVersions:          150, // one for each connection
	kmsg.CreateTopics:         10,
	kmsg.CreatePartitions:     10,
	kmsg.DeleteRecords:        30,
	kmsg.InitProducerID:       60,
	kmsg.OffsetForLeaderEpoch: 300, // kgo asks at every fetch that is fenced, for each partition
	kmsg.DescribeConfigs:      20,
}

// judgeHeat notes a request of an instance, and a fault where there are too many of its
// kind. Callers hold mu.
func (r *rig) judgeHeat(p *party, x *exchange) {
	n := p.pulse.beat(x.key, x.sent)
	r.sum.most[x.key.Int16()] = max(r.sum.most[x.key.Int16()], n)
	most, known := hottest[x.key]
	switch {
	case x.key == kmsg.Fetch && slices.ContainsFunc(r.windows, (*window).excusesFetching):
	case !known:
		r.faults = append(r.faults, fmt.Sprintf("%s sent %s, of which nothing says how many there may be", slotName(p.slot), kmsg.NameForKey(x.key.Int16())))
	case n == most+1:
		r.faults = append(r.faults, fmt.Sprintf("%s sent more than %d requests %s within the second before %v, the last %+v",
			slotName(p.slot), most, kmsg.NameForKey(x.key.Int16()), x.sent.Sub(r.begun), x.request))
	}
}

// pulse has the requests of one client in the last second, by kind.
type pulse map[kmsg.Key][]time.Time

// beat notes a request, and returns how many of its kind there were in the last second.
func (p pulse) beat(key kmsg.Key, now time.Time) int {
	times := p[key]
	old := 0
	for old < len(times) && now.Sub(times[old]) >= time.Second {
		old++
	}
	p[key] = append(slices.Delete(times, 0, old), now)
	return len(p[key])
}
