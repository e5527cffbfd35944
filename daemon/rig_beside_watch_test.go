package daemon

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// thing is what can be sick: a topic, or a partition of one.
type thing struct {
	topic     string
	partition int32 // -1: all
}

func whole(topic string) thing { return thing{topic, -1} }

func (x thing) String() string {
	if x.partition < 0 {
		return x.topic
	}
	return fmt.Sprintf("%s/%d", x.topic, x.partition)
}

// shares is who serves each ingress partition, as the coordinator has it. Lateness is
// excused by the time in which no running member on the network serves the partition.
type shares struct {
	owner      map[thing]string // member id, when the group was last stable; "" for none
	lapses     map[thing][]period
	lapsing    map[thing]time.Time // when the open one began
	generation int32               // when the group was last stable
	changes    time.Time           // when the group was first seen not to be, or in another generation
	changed    []period            // in which it was not
	looked     time.Time
}

func newShares() shares {
	return shares{owner: make(map[thing]string), lapses: make(map[thing][]period), lapsing: make(map[thing]time.Time)}
}

// watchGroup looks who serves what. A partition that has the same owner before and after a
// rebalance was served during it. Parked records of partitions that stay go on meanwhile.
// Nothing is read, see judgeTime.
func (b *beside) watchGroup() {
	s, now := &b.shares, time.Now()
	defer func() { s.looked = now }()
	g := b.Broker.GroupInfo(group)
	stable := settled(g)
	if s.changes.IsZero() && (!stable || g.Epoch != s.generation) {
		s.changes = s.looked
	}
	from := s.changes
	if from.IsZero() {
		from = s.looked
	}
	for x, serves := range b.owners(g) {
		switch open := s.lapsing[x]; {
		case !open.IsZero() && stable && serves != "":
			s.lapses[x] = append(s.lapses[x], period{open, now.Add(firstCommit)})
			delete(s.lapsing, x)
		case !open.IsZero():
		case !stable && s.begun(x):
			s.lapsing[x] = from
		case serves == "" && (g != nil && g.State == "Stable" || !b.served(s.owner[x])):
			s.lapsing[x] = from
		case stable && (serves != s.owner[x] || !s.changes.IsZero() && s.begun(x)):
			s.lapses[x] = append(s.lapses[x], period{from, now.Add(firstCommit)})
		}
		if stable {
			s.owner[x] = serves
		}
	}
	if stable && !s.changes.IsZero() {
		s.generation = g.Epoch
		s.changed, s.changes = append(s.changed, period{s.changes, now}), time.Time{}
	}
}

// begun says whether a partition has an owner since so lately that a rebalance now goes on
// with the former one.
func (s *shares) begun(x thing) bool {
	all := s.lapses[x]
	return len(all) > 0 && time.Since(all[len(all)-1].to) < promised
}

// settled says whether a rebalance is over. A member that has to give a partition away
// does so between two rounds. In the first round nobody gets that partition.
func settled(g *kfake.GroupInfo) bool {
	if g == nil || g.State != "Stable" {
		return false
	}
	n := 0
	for _, m := range g.Members {
		n += len(m.Assignment[ingress])
	}
	return n == besidePartitions
}

// owners returns by ingress partition the member that serves it, as an id of the client
// and of the member. It is "" where no member serves it that runs and is on the network.
func (b *beside) owners(g *kfake.GroupInfo) map[thing]string {
	out := make(map[thing]string)
	for topic, n := range map[string]int32{ingress: besidePartitions, second: 2} {
		for p := range n {
			out[thing{topic, p}] = ""
		}
	}
	if g == nil {
		return out
	}
	for _, m := range g.Members {
		for topic, partitions := range m.Assignment {
			for _, p := range partitions {
				if id := m.ClientID + " " + m.MemberID; b.served(id) {
					out[thing{topic, p}] = id
				}
			}
		}
	}
	return out
}

// served says whether a member runs, is on the network, and has had time to notice.
func (b *beside) served(member string) bool {
	client, _, _ := strings.Cut(member, " ")
	for _, l := range b.slots {
		if l != nil && l.on && l.id == client && time.Since(l.back) >= reconnects {
			return true
		}
	}
	return false
}

// seenEnd is a high watermark and when it was seen first.
type seenEnd struct {
	end int64
	at  time.Time
}

// watchEnds notes the ends of what is delivered to: the times of deliveries are read
// there, not in what is delivered.
func (b *beside) watchEnds() {
	now := time.Now()
	for _, topic := range append(sickTargets(), egress, dlq) {
		for _, p := range b.Broker.PartitionInfos(topic) {
			x := thing{topic, p.Partition}
			seen := b.ends[x]
			if len(seen) == 0 || seen[len(seen)-1].end != p.HighWatermark {
				b.ends[x] = append(seen, seenEnd{p.HighWatermark, now})
			}
		}
	}
}

// watchProbes asks each instance. Once ready an instance stays so. It says that it is
// degraded while it must know that something is sick. It pauses for nothing but what is
// sick.
func (b *beside) watchProbes() {
	for _, l := range b.slots {
		if l == nil {
			continue
		}
		code, body := l.get("/readyz")
		if code != http.StatusOK {
			if l.wasReady {
				b.fault("%s was ready and is not any more: %d %s", l.id, code, body)
			}
			continue
		}
		l.wasReady = true
		b.sum.probes++
		degraded := strings.HasPrefix(body, "degraded: ")
		if degraded {
			b.sum.degraded++
		}
		if x, since := b.shows(); l.on && since.Before(time.Now()) && time.Since(later(since, l.since)) > besideNoticed && !degraded {
			b.fault("%s is sick since %v, and %s says %q", x, since.Sub(b.begun), l.id, body)
		}
		if !degraded && body != "ready\n" {
			b.fault("%s says %q", l.id, body)
		}
		if time.Now().Truncate(besideStatus).Equal(time.Now()) {
			b.watchStatus(l)
		}
	}
}

// watchStatus looks whether all that was read is accounted for, and what reading pauses
// for.
func (b *beside) watchStatus(l *life) {
	if lost := l.status()["counters"].(map[string]any)["unaccounted"].(float64); lost != 0 {
		b.fault("%s cannot account for %v records", l.id, lost)
	}
	if why := l.pausedFor(); why != "" {
		b.sum.paused++
		if !b.overlaps(whole(dlq), period{time.Now().Add(-2 * promised), time.Now()}) {
			b.fault("%s does not read for %q", l.id, why)
		}
	}
}
