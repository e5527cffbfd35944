package purgatory

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"layover/offsets"
	"layover/verify/long"
)

// ends gives some deliveries outcomes of all kinds, in any order, and returns those that are in flight still.
func (r *rig) ends(rng *rand.Rand, flying []Delivery) []Delivery {
	rng.Shuffle(len(flying), func(i, j int) { flying[i], flying[j] = flying[j], flying[i] })
	n := rng.IntN(len(flying) + 1)
	for _, d := range flying[:n] {
		r.end([]Class{Delivered, Delivered, TooLarge, Rejected, Unavailable, Unknown, Unknown, NoRoom}[rng.IntN(8)], d)
	}
	return flying[n:]
}

// TestAllMemoryComesBack: targets fail in every way for a while, and all are well then. In the end nothing takes memory, no
// target is held, and reading goes on.
func TestAllMemoryComesBack(t *testing.T) {
	for seed := range uint64(long.Of(200, 20)) {
		rng := rand.New(rand.NewPCG(seed, 2))
		r := newRig(t, func(c *Config) {
			if c.OnInvalid = []Policy{DeadLetter, Deliver, Drop}[rng.IntN(3)]; c.OnInvalid != DeadLetter && rng.IntN(3) == 0 {
				c.DeadLetterTopic = ""
			}
			c.MaxInFlight, c.HeldShare = 1+rng.IntN(6), int64(500+rng.IntN(5000))
			if rng.IntN(2) == 0 {
				c.EventsTopic, c.Event = events, eventText
			}
		})
		r.assign(0, 1, 0)
		r.assign(1, 2, 0)
		var next [2]int64
		var flying []Delivery
		names := []string{egress, graves, events, "jobs.1", "jobs.2", "jobs.3"}
		for range 600 {
			switch rng.IntN(6) {
			case 0, 1:
				no := rng.IntN(2)
				if r.take(int32(no), uint64(no+1), r.any(rng, next[no])) {
					next[no]++
				}
			case 2:
				r.router[names[rng.IntN(len(names))]] = []Verdict{Usable, Usable, Usable, Pending, Missing, Forbidden}[rng.IntN(6)]
			case 3:
				r.pass(int64(rng.IntN(30)) * 100)
			default:
				flying = r.ends(rng, append(flying, r.Offer(nil, 1+rng.IntN(20))...))
			}
			if rng.IntN(10) == 0 {
				r.audit()
			}
			r.Take()
		}
		clear(r.router)
		for range 400 {
			r.pass(500)
			r.end(Delivered, append(flying, r.offer()...)...)
			flying = nil
		}
		r.audit()
		r.Trim()
		s := r.Snapshot()
		for what, left := range map[string]int64{
			"bytes": r.store.bytes, "texts": r.out.dir.texts, "copies": r.out.dir.copies, "ids": int64(s.IDs), "slots": int64(r.store.slots.Len()),
			"due": int64(s.Due), "parked": int64(s.Parked), "held": int64(len(s.Held)), "pauses": int64(len(r.Pauses())),
		} {
			if left != 0 {
				t.Fatalf("seed %d: %d %s are left", seed, left, what)
			}
		}
	}
}

// any is a record for one of four targets: a small or larger one, one that cannot be understood, expires, or has an id.
func (r *rig) any(rng *rand.Rand, offset int64) Arrival {
	a := r.arrival(offset, int64(rng.IntN(3)*200), fmt.Sprintf("%d %0*d", rng.IntN(3), rng.IntN(60), offset))
	if n := rng.IntN(6); n > 2 {
		a.Target, a.Label = fmt.Sprintf("jobs.%d", n-2), "jobs.*"
	}
	switch rng.IntN(5) {
	case 0:
		a.Reason, a.Message = "malformed_delay", fmt.Sprintf("%0*d", rng.IntN(300), offset)
	case 1:
		a.Expires, a.ExpireMs = true, a.DeadlineMs+int64(rng.IntN(20_000))
	case 2:
		id := fmt.Sprint("id", rng.IntN(10))
		a.Body, a.ID, a.IDAt = text("2"+string(rune(len(id)+1))+id), []byte(id), 1
		a.Cancel = rng.IntN(3) == 0
	}
	return a
}

// TestAHoldThatIsToldOfEndsForAllWhoHear: of each target as many notices say that something of it is held as say that it is
// not any more, but for what is held now.
func TestAHoldThatIsToldOfEndsForAllWhoHear(t *testing.T) {
	for seed := range uint64(long.Of(200, 10)) {
		rng := rand.New(rand.NewPCG(seed, 5))
		targets := []int{3, 3, 3, 2000}[seed%4] // those that nothing is there for are forgotten
		r := newRig(t, func(c *Config) {
			c.MaxInFlight, c.HeldShare, c.Patience = 1+rng.IntN(4), int64(500+rng.IntN(4000)), 20*time.Second
		})
		epoch, next := uint64(1), int64(0)
		r.assign(0, epoch, 0)
		var flying []Delivery
		told := make(map[string]int)
		name := func() string { return fmt.Sprintf("jobs.%d", rng.IntN(targets)) }
		for step := range 1500 {
			switch rng.IntN(7) {
			case 0, 1:
				a := r.arrival(next, int64(rng.IntN(2)*200), fmt.Sprint(rng.IntN(3)))
				if rng.IntN(3) > 0 {
					a.Target, a.Label = name(), "jobs.*"
				}
				if rng.IntN(4) == 0 {
					a.Reason = "malformed_delay"
				}
				if r.take(0, epoch, a) {
					next++
				}
			case 2:
				n := []string{egress, graves, name()}[rng.IntN(3)]
				if r.router[n] = []Verdict{Usable, Usable, Pending, Missing, Forbidden}[rng.IntN(5)]; rng.IntN(3) == 0 {
					r.Usable(n)
				}
			case 3:
				r.pass(int64(rng.IntN(40)) * 100)
			case 4:
				if rng.IntN(40) == 0 {
					r.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: epoch})
					epoch++
					r.assign(0, epoch, next)
				}
			default:
				flying = r.ends(rng, append(flying, r.Offer(nil, 1+rng.IntN(20))...))
			}
			for _, h := range r.Take().Holds {
				switch {
				case h.Changed:
				case h.Held:
					told[h.Target]++
				default:
					told[h.Target]--
				}
			}
			maps.DeleteFunc(told, func(_ string, n int) bool { return n == 0 })
			if held := r.heldNow(); !maps.Equal(told, held) {
				t.Fatalf("seed %d, step %d: told of as held %v, held are %v", seed, step, told, held)
			}
		}
		r.audit()
	}
}

// heldNow counts what is held by target: the target, and each of its partitions.
func (r *rig) heldNow() map[string]int {
	held := make(map[string]int)
	for _, t := range r.out.dir.list {
		if t == nil || !t.hold.held && t.stalled == 0 {
			continue
		}
		if held[t.name] = t.stalled; t.hold.held {
			held[t.name]++
		}
	}
	return held
}
