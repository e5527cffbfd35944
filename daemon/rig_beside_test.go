package daemon

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"layover/verify"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// beside is one run in which some things fall sick and are healed, and others never do.
// What never does has to go on as if nothing were: see judgeTime.
//
// The instances are whole daemons, which start, stop, are killed, thrown out of the group
// and taken off the network meanwhile. One goroutine does and looks at everything.
type beside struct {
	*fixture
	plan   *besidePlan
	begun  time.Time
	slots  [besideSlots]*life // nil: none runs
	lives  []*life            // that ever were
	sick   map[thing][]*spell // in order of their beginning
	shares shares
	ends   map[thing][]seenEnd // of partitions that are delivered to
	shaky  *kgo.Client         // sends to what may be sick
	ledger *verify.Ledger
	sum    *besideSums

	mu   sync.Mutex // of what the clients' promises touch
	sent []*wanted

	timeline, faults []string
}

const (
	besideSlots = 2
	// besideTick is how often the group and the targets are looked at: times that are
	// seen there are late by up to so much.
	besideTick   = 100 * time.Millisecond
	besideStatus = 5 * time.Second // how often /status is read, which takes longer than the rest
	// promised is how late a delivery may be for what is sick beside it.
	promised = 5 * time.Second
	// firstCommit is how long a partition waits for the first commit of its owner, without
	// which nothing of it is delivered. Commits go out every second.
	firstCommit = time.Second
	// reconnects is how long clients take that were off the network. Each tries again
	// after 2 s at most, and the answer to its first request tells it what to ask then.
	reconnects = 5 * time.Second
)

// life is one life of an instance.
type life struct {
	*instance
	slot     int
	id       string // its Kafka clients', in the group
	cable    *wire
	on       bool // runs and is on the network
	asked    bool // it was asked to stop, or killed
	wasReady bool
	since    time.Time // on the network
	back     time.Time // the same, where it was off before
}

func TestRigSickBesideHealthy(t *testing.T) {
	long.Only(t)
	from, n := rigRange(1, 3)
	total := new(besideSums)
	eachSeed(t, from, n, func(t *testing.T, seed uint64) func() {
		began, s := time.Now(), new(besideSums)
		synctest.Test(t, func(t *testing.T) { newBeside(t, newBesidePlan(seed), s).run() })
		s.real = time.Since(began)
		return func() { total.add(s) }
	})
	t.Logf("%d seeds from %d:\n%v", n, from, total)
	total.complain(t, n)
}

func newBeside(t *testing.T, p *besidePlan, s *besideSums) *beside {
	b := &beside{
		fixture: newFixture(t, p.brokers, kfake.SeedTopics(besidePartitions, ingress), kfake.SeedTopics(2, second),
			kfake.SeedTopics(egressPartitions, egress), kfake.SeedTopics(2, dlq), kfake.SeedTopics(lamePartitions, sickTargets()...), kfake.SeedTopics(20, wideTargets()...)), plan: p, ledger: verify.NewLedger(dlq), sum: s, begun: time.Now(),
		sick: make(map[thing][]*spell), shares: newShares(), ends: make(map[thing][]seenEnd),
	}
	for topic, n := range map[string]int32{ingress: besidePartitions, second: 2} {
		b.CreateTopic(topic+"."+group, n, map[string]string{"retention.ms": "-1", "retention.bytes": "-1"})
	}
	if p.metadata > 0 {
		b.LimitMetadata(p.metadata)
	}
	b.withoutFetchSessions()
	b.shaky = b.NewClient()
	return b
}

// run lets the plan happen, heals, waits until all has drained, and judges.
func (b *beside) run() {
	defer b.tearDown()
	b.begin(0)
	b.slots[0].ready()
	for _, s := range b.plan.steps {
		b.passUntil(b.begun.Add(s.at))
		s.do(b)
	}
	b.healAll()
	for _, l := range b.slots {
		if l != nil {
			b.plugIn(l)
		}
	}
	b.begin(0)
	b.passUntil(later(b.lastDue(), time.Now()).Add(besidePatience + time.Minute))
	for until := time.Now().Add(5 * time.Minute); b.open() != "" && time.Now().Before(until); {
		b.passUntil(time.Now().Add(time.Second))
	}
	if open := b.open(); open != "" {
		b.fault("not drained: %s", open)
	}
	b.judge()
	b.sum.virtual = time.Since(b.begun)
	if len(b.faults) == 0 {
		b.Logf("%v", b.plan)
		return
	}
	b.Errorf("%v\n%s\n%s", b.plan, strings.Join(b.timeline, "\n"), strings.Join(b.faults, "\n"))
}

// tearDown ends what still runs.
func (b *beside) tearDown() {
	b.healAll()
	b.running = nil // these instances are ended here
	for _, l := range b.lives {
		l.cable.sever()
		l.cancel()
		<-l.done
		if *rigLogs && b.Failed() {
			b.Logf("%s:\n%s", l.id, l.logs)
		}
	}
	b.Client.Close()
	b.shaky.Close()
	time.Sleep(5 * time.Minute) // in which what a stopped client still asks for is given up
	synctest.Wait()
	b.Broker.Close()
}

// passUntil lets time pass, and looks at what happens.
func (b *beside) passUntil(end time.Time) {
	for now := time.Now(); now.Before(end); now = time.Now() {
		next := now.Truncate(besideTick).Add(besideTick)
		if end.Before(next) {
			time.Sleep(end.Sub(now))
			return
		}
		time.Sleep(next.Sub(now))
		b.watchGroup()
		b.watchEnds()
		if next.Truncate(time.Second).Equal(next) {
			b.watchProbes()
		}
	}
}

// begin starts an instance in a slot, unless one runs there.
func (b *beside) begin(slot int) {
	if b.slots[slot] != nil {
		return
	}
	l := &life{slot: slot, id: fmt.Sprintf("life-%d", len(b.lives)), on: true, since: time.Now()}
	b.note("%s starts in slot %d", l.id, slot)
	l.cable = &wire{next: b.Net.DialContext}
	l.instance = b.startOver(l.dial, nil, append(slices.Clone(b.plan.settings), "KAFKA_CLIENT_ID="+l.id)...)
	b.slots[slot], b.lives = l, append(b.lives, l)
	b.sum.starts++
}

// end stops or kills the instance of a slot, and does not wait for its end. One that is
// back on the network for so short a time is stopped, and not killed. kfake keeps a
// member that dies between its join and its share until a time-out. Every other join
// begins that time-out anew.
func (b *beside) end(slot int, kill bool) {
	const joins = 15 * time.Second
	l := b.slots[slot]
	if l == nil {
		return
	}
	kill = kill && time.Since(l.back) >= joins
	b.slots[slot], l.on = nil, false
	if kill {
		b.note("%s is killed", l.id)
		b.sum.kills++
		l.cable.sever()
	} else {
		b.note("%s stops", l.id)
		b.sum.stops++
		l.cable.mend()
	}
	l.asked = true
	l.cancel()
}

// unplug takes an instance off the network.
func (b *beside) unplug(slot int, for_ time.Duration) {
	if l := b.slots[slot]; l != nil {
		b.note("%s is off the network for %v", l.id, for_)
		b.sum.unplugged++
		l.on = false
		l.cable.sever()
	}
}

// plugIn puts an instance back on the network.
func (b *beside) plugIn(l *life) {
	if !l.on {
		l.on, l.since, l.back = true, time.Now(), time.Now()
		l.cable.mend()
	}
}

// evict throws a member out of the group, as an administrator can.
func (b *beside) evict(which int) {
	g := b.Broker.GroupInfo(group)
	if g == nil || len(g.Members) == 0 {
		return
	}
	m := g.Members[which%len(g.Members)]
	b.note("%s is thrown out of the group", m.ClientID)
	b.sum.evicted++
	if err := b.throwOut(m); err != nil {
		b.fault("throwing out %s: %v", m.ClientID, err)
	}
}

// dial connects an instance with a broker. Who fetches more than a hundred times a second
// waits for a moment each time, see slow. Nothing else takes any time: where a mutex is
// held over a question to a broker, virtual time stands still for who waits for it.
func (l *life) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := l.cable.dial(ctx, network, addr)
	if err != nil {
		time.Sleep(usualTime) // some callers try again at once
		return nil, err
	}
	return &fetchesLag{Conn: c}, nil
}

// fetchesLag is a connection on which one goroutine writes a request at a time.
type fetchesLag struct {
	net.Conn
	since   time.Time
	fetches int
}

func (c *fetchesLag) Write(request []byte) (int, error) {
	const size, often = 4, 100 // bytes in front of the kind; fetches in a second
	if len(request) > size+2 && kmsg.Key(binary.BigEndian.Uint16(request[size:])) == kmsg.Fetch {
		if c.fetches++; time.Since(c.since) > time.Second {
			c.since, c.fetches = time.Now(), 0
		} else if c.fetches > often {
			time.Sleep(usualTime)
		}
	}
	return c.Conn.Write(request)
}

// note adds a line to the timeline.
func (b *beside) note(format string, args ...any) {
	b.timeline = append(b.timeline, fmt.Sprintf("%14v  %s", time.Since(b.begun).Round(time.Millisecond), fmt.Sprintf(format, args...)))
}

// fault notes that something happened which nothing excuses. The first few are spelled out.
func (b *beside) fault(format string, args ...any) {
	const most = 30
	if len(b.faults) < most {
		text := fmt.Sprintf(format, args...)
		b.faults = append(b.faults, text)
		b.note("FAULT: %s", text)
	}
}

func later(a, b time.Time) time.Time {
	return slices.MaxFunc([]time.Time{a, b}, func(a, b time.Time) int { return cmp.Compare(a.UnixNano(), b.UnixNano()) })
}
