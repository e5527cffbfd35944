package purgatory

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"layover/verify/long"
)

// noAnswer is how a partition answers that is silent.
const noAnswer = Class(99)

// outages is a core whose target has partitions that each answer in a way of their own, which changes now and then.
type outages struct {
	*rig
	rng    *rand.Rand
	ways   []Class // to choose from
	answer []Class // by partition
	flying []Delivery
	next   int64 // offset
}

// newOutages returns one whose partitions answer in one of some ways.
func newOutages(t *testing.T, seed uint64, edit func(*Config, *rand.Rand), partitions int, ways ...Class) *outages {
	rng := rand.New(rand.NewPCG(seed, 1))
	w := &outages{rng: rng, ways: ways, answer: make([]Class, partitions)}
	w.rig = newRig(t, func(c *Config) {
		if edit != nil {
			edit(c, rng)
		}
	})
	w.assign(0, 1, 0)
	for p := range w.answer {
		w.change(p)
	}
	return w
}

func (w *outages) change(partition int) { w.answer[partition] = w.ways[w.rng.IntN(len(w.ways))] }

// write reads a record for any partition.
func (w *outages) write() (offset int64) {
	w.take(0, 1, w.arrival(w.next, 0, fmt.Sprint(w.rng.IntN(len(w.answer)))))
	w.next++
	return w.next - 1
}

// answerAll answers all that is in flight, but for what goes to a silent partition, or is slow. Letters are taken. each is called for each
// that is answered, and after the answer a second time.
func (w *outages) answerAll(slow bool, each func(d *Delivery, class Class, answered bool)) {
	w.flying = append(w.flying, w.offer()...)
	w.flying = slices.DeleteFunc(w.flying, func(d Delivery) bool {
		class := Delivered
		if !d.DeadLettered {
			class = w.answer[d.TargetPartition]
		}
		if class == noAnswer || slow && w.rng.IntN(3) == 0 {
			return false
		}
		each(&d, class, false)
		w.end(class, d)
		each(&d, class, true)
		return true
	})
}

// held reports of a partition of the target whether what waits for it is held.
func (w *outages) held(partition int32) bool {
	t := w.out.dir.byKey[TargetName{Name: egress}]
	return t != nil && (t.hold.held || slices.ContainsFunc(t.dests, func(d *dest) bool { return d.no == partition && d.stalled }))
}

// TestRandomOutagesKeepToPatience: nothing is ever taken, as answers say in changing ways, or metadata. Each record is
// given up a minute after it was due.
func TestRandomOutagesKeepToPatience(t *testing.T) {
	for seed := range uint64(long.Of(300, 30)) {
		w := newOutages(t, seed, nil, 3, Unknown, Unavailable)
		due, given := map[int64]int64{}, map[int64]int64{}
		for second := range 300 {
			for range w.rng.IntN(3) {
				if second < 120 {
					due[w.write()] = w.at.WallMs
				}
			}
			if w.rng.IntN(20) == 0 {
				w.change(w.rng.IntN(3))
			}
			if seed%2 == 1 && second > 20 && w.rng.IntN(40) == 0 {
				w.router[egress] = Missing
			}
			for range 10 {
				w.pass(100)
				w.answerAll(false, func(d *Delivery, _ Class, _ bool) {
					if d.DeadLettered {
						given[d.Offset] = w.at.WallMs
					}
				})
			}
			w.audit()
		}
		for o, dueMs := range due {
			if at, ok := given[o]; !ok || at-dueMs > 62_000 {
				t.Fatalf("seed %d: offset %d is given up %d ms after it was due (%v), the patience is 60 s", seed, o, at-dueMs, ok)
			}
		}
	}
}

// TestNothingIsGivenUpBeforeItsPatience, while partitions take records, answer with errors, or fall silent, and while
// metadata calls the topic missing: what a record waits for has lasted for that long.
func TestNothingIsGivenUpBeforeItsPatience(t *testing.T) {
	const patience = 20_000
	for seed := range uint64(long.Of(1000, 30)) {
		w := newOutages(t, seed, func(c *Config, rng *rand.Rand) {
			c.Patience, c.MaxInFlight = patience*time.Millisecond, 1+rng.IntN(5)
		}, 3, Delivered, Unknown, Unknown, Unavailable, Unavailable, noAnswer, NoRoom)
		var well [3]int64 // Clock.AnsweredMs when nothing was held for the partition
		look := func() {
			for p := range well {
				if !w.held(int32(p)) {
					well[p] = w.at.AnsweredMs
				}
			}
		}
		seen := map[int64]bool{}
		for step := range 2000 {
			if w.rng.IntN(10) == 0 {
				w.write()
			}
			if w.rng.IntN(40) == 0 {
				w.change(w.rng.IntN(3))
			}
			if w.rng.IntN(150) == 0 {
				w.router[egress] = []Verdict{Usable, Usable, Missing}[w.rng.IntN(3)]
			}
			look()
			w.pass(100)
			w.out.dir.dead.queue.each(func(e *entry) {
				h, body := w.store.read(e.loc)
				if lasted := w.at.AnsweredMs - well[body[0]-'0']; !seen[h.offset] && strings.Contains(e.failure.message, "was held for") && lasted < patience-3000 {
					t.Fatalf("seed %d, step %d: offset %d of partition %c is given up, and what holds it began %d ms ago", seed, step, h.offset, body[0], lasted)
				}
				seen[h.offset] = true
			})
			w.answerAll(true, func(*Delivery, Class, bool) { look() })
			if step%100 == 0 {
				w.audit()
			}
		}
	}
}

// TestAHealthyPartitionIsOnTimeBesideOutages of all others of its target.
func TestAHealthyPartitionIsOnTimeBesideOutages(t *testing.T) {
	for seed := range uint64(long.Of(600, 20)) {
		w := newOutages(t, seed, func(c *Config, rng *rand.Rand) {
			c.Patience, c.MaxInFlight, c.MaxBuffered = 20*time.Second, 1+rng.IntN(8), 40+rng.IntN(200)
			c.HeldShare = int64(2000 + rng.IntN(20_000))
		}, 4, Delivered, Unknown, Unknown, Unavailable, Unavailable, noAnswer, noAnswer, Rejected, TooLarge)
		w.answer[0] = Delivered
		w.partitions = int32(w.rng.IntN(2) * 4)
		burst := 1 + w.rng.IntN(6)
		for step := range 1200 {
			for range w.rng.IntN(burst) {
				w.write()
			}
			if w.rng.IntN(60) == 0 {
				w.change(1 + w.rng.IntN(3))
			}
			w.pass(50)
			w.answerAll(false, func(d *Delivery, _ Class, _ bool) {
				if late := w.at.WallMs - d.DeadlineMs; late > 5000 && d.TargetPartition == 0 && !d.DeadLettered {
					t.Fatalf("seed %d, step %d: offset %d of the healthy partition is %d ms late", seed, step, d.Offset, late)
				}
			})
			if step%300 == 0 {
				w.audit()
			}
		}
	}
}
