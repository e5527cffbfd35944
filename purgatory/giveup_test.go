package purgatory

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// TestThePatienceOfManyPartitionsStopsNoOtherTarget: a broker is gone, and many partitions of a target have been silent
// since the same moment. Or many targets are missing. One look does not go through all of them.
func TestThePatienceOfManyPartitionsStopsNoOtherTarget(t *testing.T) {
	const many, each = 8, giveUpBudget / 2
	for name, edit := range map[string]func(*rig, *Arrival){
		"partitions": func(*rig, *Arrival) {},
		"targets": func(r *rig, a *Arrival) {
			a.Target = fmt.Sprint("missing-", a.Offset%many)
			a.Label, r.router[a.Target] = a.Target, Missing
		},
	} {
		r := newRig(t, func(c *Config) { c.HeldShare, c.MaxInFlight = 1<<40, 1 })
		r.router[graves] = Missing
		r.assign(0, 1, 0)
		for o := range int64(many * each) {
			a := r.arrival(o, 0, fmt.Sprint(o%many))
			edit(r, &a)
			r.take(0, 1, a)
		}
		for range 200 {
			r.pass(10)
			r.offer() // silent all
		}
		r.pass(stallMs)
		letters := func() int { return r.out.dir.dead.queue.count }
		for look := 0; letters() < many*(each-1); look++ {
			before := letters()
			r.pass(checkEveryMs)
			if given := letters() - before; given > giveUpBudget || look > 610 {
				t.Fatalf("%s: look %d gives up %d records, %d in all", name, look, given, letters())
			}
		}
		r.audit()
	}
}

// TestAShareThatManyPassAtOnceStopsNoOtherTarget: a target with a large backlog is missing, and most of it is over its share.
func TestAShareThatManyPassAtOnceStopsNoOtherTarget(t *testing.T) {
	const n = 5 * shareBudget / 2
	r := newRig(t, func(c *Config) { c.HeldShare = 1000 })
	r.router[egress], r.router[graves] = Missing, Missing
	r.assign(0, 1, 0)
	for o := range int64(n) {
		r.mustTake(0, 1, 0, o)
	}
	r.pass(1)
	r.want(r.offer())
	letters := func() int { return r.out.dir.dead.queue.count }
	for look := 0; r.heldView().Bytes > r.cfg.HeldShare; look++ {
		before := letters()
		r.pass(checkEveryMs)
		if given := letters() - before; given > shareBudget || look > 3 {
			t.Fatalf("look %d gives up %d records, %d in all", look, given, letters())
		}
	}
	r.audit()
}

// TestATargetWithoutEndKeepsNoOtherFromBeingGivenUp: each look has more records of one target to give up than it may.
func TestATargetWithoutEndKeepsNoOtherFromBeingGivenUp(t *testing.T) {
	r := newRig(t, func(c *Config) { c.HeldShare, c.Patience = 1<<40, 500*time.Millisecond })
	r.router[egress], r.router[other], r.router["third"], r.router[graves] = Missing, Missing, Missing, Missing
	r.assign(0, 1, 0)
	next := int64(0)
	flood := func() {
		for range giveUpBudget + 1000 {
			r.mustTake(0, 1, 0, next)
			next++
		}
		r.pass(checkEveryMs)
		r.offer()
	}
	flood()
	for _, name := range []string{other, "third"} {
		r.give(next, name, 0)
		next++
	}
	for range 8 {
		flood()
	}
	for _, h := range r.Snapshot().Held {
		if h.Target != egress && h.Target != graves && h.Records > 0 {
			t.Errorf("a record has waited for 0.8 s, and the patience is half a second: %+v", h)
		}
	}
}

// TestTheOldestOfAllPartitionsAreGivenUpForTheShare: two partitions fail, and the one has long done so. What comes for that
// one passes the share.
func TestTheOldestOfAllPartitionsAreGivenUpForTheShare(t *testing.T) {
	for _, sick := range []int{0, 1} {
		r := newRig(t, func(c *Config) { c.HeldShare, c.Patience = 20_000, time.Hour })
		r.assign(0, 1, 0)
		next := int64(0)
		give := func(partition int) {
			r.take(0, 1, r.arrival(next, 0, fmt.Sprint(partition)+strings.Repeat("x", 1000)))
			next++
		}
		turn := func() (letters []int64) {
			r.pass(1000)
			for _, d := range r.allFail(r.offer()) {
				letters = append(letters, d.Offset)
			}
			return letters
		}
		for range 15 {
			give(sick)
		}
		for range 50 {
			if l := turn(); len(l) > 0 {
				t.Fatalf("offsets %v are given up: this is not the situation", l)
			}
		}
		give(1 - sick)
		young := next - 1
		for range 10 {
			for _, o := range turn() {
				if o >= young {
					t.Errorf("offset %d is given up, and records that have been held for 50 s longer are not", o)
				}
			}
			give(sick)
		}
		if r.out.dir.byKey[TargetName{Name: egress}].givenUp == 0 {
			t.Error("nothing is given up: this is not the situation")
		}
		r.audit()
	}
}

// TestRecordsOfManyPartitionsAreGivenUpInTheOrderInWhichTheyAreHeld: all are silent. At each instant several records come.
func TestRecordsOfManyPartitionsAreGivenUpInTheOrderInWhichTheyAreHeld(t *testing.T) {
	const partitions, records, each = 7, 300, 3
	r := newRig(t, func(c *Config) { c.MaxInFlight = 1 })
	r.router[graves] = Missing
	r.assign(0, 1, 0)
	random := rand.New(rand.NewPCG(1, 2))
	next := int64(0)
	for next < partitions {
		r.give(next, egress, int(next))
		next++
	}
	r.pass(1)
	r.offer() // never answered
	r.pass(stallMs)
	for range records / each {
		for range each {
			r.give(next, egress, random.IntN(partitions))
			next++
		}
		r.pass(1)
		r.want(r.offer())
	}
	r.pass(r.cfg.Patience.Milliseconds() - records/each/4)
	given, last := 0, int64(-1)
	r.out.dir.dead.queue.each(func(e *entry) {
		given++
		h := readHeader(r.store.at(e.loc))
		if at := (h.offset - partitions) / each; at < last {
			t.Errorf("offset %d is given up behind records that were held later", h.offset)
		} else {
			last = at
		}
	})
	if given < records/2 || given == records {
		t.Errorf("%d of %d records are given up: this is not the situation", given, records)
	}
	r.audit()
}

// TestWhatHasExpiredPausesNothing: it waits for a silent partition, and there is no dead-letter topic.
func TestWhatHasExpiredPausesNothing(t *testing.T) {
	for name, share := range map[string]int64{"patience": 1 << 20, "share": 1} {
		r := newRig(t, func(c *Config) {
			c.DeadLetterTopic, c.OnExpired, c.OnInvalid, c.MaxInFlight, c.HeldShare = "", Drop, Drop, 1, share
		})
		r.assign(0, 1, 0)
		r.mustTake(0, 1, 0, 0)
		r.take(0, 1, r.expires(1, 0, 5000))
		r.pass(1)
		r.want(r.offer(), 0) // never answered
		for range 100 {
			r.pass(1000)
			r.offer()
		}
		if p := r.Pauses(); len(p) > 0 {
			t.Errorf("%s: reading pauses for a record that expired 95 s ago: %+v, %+v", name, p, r.Snapshot().Held)
		}
		if n := r.stats.Ended[TopicResult{ingress, Expired.String()}]; n != 1 {
			t.Errorf("%s: %d records have expired, want 1", name, n)
		}
		r.audit()
	}
}

// TestWhatIsHeldForAPartitionIsGivenUpWithItsText: one partition of a target is silent, another fails.
func TestWhatIsHeldForAPartitionIsGivenUpWithItsText(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	sick := func() (letters []Delivery) {
		for _, d := range r.offer() {
			switch {
			case d.DeadLettered:
				letters = append(letters, d)
				r.end(Delivered, d)
			case d.TargetPartition == 1:
				r.end(Unknown, d)
			}
		}
		return letters
	}
	for o := range int64(300) { // partition 2 may have a hundred in flight
		r.take(0, 1, r.arrival(o, 0, fmt.Sprint(1+o%2)))
	}
	r.pass(1)
	sick()
	from := make(map[string]int)
	for range 80 {
		r.pass(1000)
		for _, d := range sick() {
			from[string(d.Body)+": "+d.Message[strings.LastIndex(d.Message, "partition"):]]++
		}
	}
	want := map[string]int{"1: partition 1: said the broker": 150, "2: partition 2 has not answered for 10 s": 50}
	if fmt.Sprint(from) != fmt.Sprint(want) {
		t.Errorf("given up: %v, want %v", from, want)
	}
	if h := r.heldView(); h.GivenUp != 200 || len(h.Partitions) != 1 || h.Partitions[0].No != 2 || h.Partitions[0].GivenUp != 50 {
		t.Errorf("%+v, want 200 given up, and of partition 2, which is silent still, 50", h)
	}
	r.audit()
}
