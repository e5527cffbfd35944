package sim

import (
	"math/rand/v2"
	"time"

	"layover/purgatory"
)

// lateMs is the most that a record of a healthy target may be late because of a sick
// one, in milliseconds.
const lateMs = 5000

// besideMs is how much time goes by in one step of Beside, in milliseconds.
const besideMs = 100

// Beside plays some steps of a world in which one target answers at once and is never
// more than lateMs late, whatever the others do: one has partitions that fall silent,
// is missing, or refuses; the dead-letter topic falls silent; the client has no room.
func Beside(seed uint64, steps int) *Broken {
	rng := rand.New(rand.NewPCG(seed, 0xbe51de))
	w := New(Config{
		Instances: 1, Partitions: 2, OnInvalid: purgatory.DeadLetter, DeadLetters: true,
		MaxInFlight: 1 + rng.IntN(8), MaxBuffered: 32 + rng.IntN(100), MaxInFlightBytes: int64(4000 + rng.IntN(4000)),
		HeldShare: int64(2000 + rng.IntN(20_000)), Patience: time.Duration(5+rng.IntN(60)) * time.Second, LargestChunk: 4 << 10,
		JumpOver: 1000, MaxMetadata: 4096, Accidents: -1, Burst: 4,
	})
	w.Do(Action{Kind: Start})
	w.Do(Action{Kind: Sync})
	for p := range w.logs {
		w.Do(Action{Kind: Assign, P: p})
	}
	for range steps {
		w.besides(rng)
	}
	w.Drain()
	return w.err
}

// besides is one step: something is written, something falls sick or recovers, and
// the instance runs until it has nothing left to do.
func (w *World) besides(rng *rand.Rand) {
	w.Do(Action{Kind: Pass, N: besideMs})
	for p := range w.logs {
		w.append(p, entry{target: egress, deadlineMs: w.nowMs + int64(rng.IntN(3000))})
		for range rng.IntN(3) {
			w.append(p, entry{target: other, deadlineMs: w.nowMs + int64(rng.IntN(3000)), invalid: rng.IntN(4) == 0})
		}
	}
	switch rng.IntN(60) {
	case 0, 1:
		w.Do(Action{Kind: Silence, P: 1 + rng.IntN(2), N: rng.IntN(4)})
	case 2:
		w.Do(Action{Kind: Verdict, P: 1, N: rng.IntN(len(verdicts))})
	}
	in, full := w.insts[0], rng.IntN(50) == 0
	for turn := 0; w.err == nil && turn < 50; turn++ {
		if len(in.core.Pauses()) == 0 {
			for p := range w.logs {
				w.Do(Action{Kind: Fetch, P: p, N: 50})
			}
		}
		before := len(in.flying)
		w.Do(Action{Kind: Turn, N: 64})
		if len(in.flying) == before && len(in.intake) == 0 {
			break
		}
		w.answerAll(rng, full)
	}
	w.Do(Action{Kind: Build})
	for len(in.queue) > 0 && w.err == nil {
		w.Do(Action{Kind: Arrive})
		w.Do(Action{Kind: Answer})
	}
	w.onTime(in)
}

// append writes one record that producers ask for.
func (w *World) append(p int, e entry) {
	got := w.logs[p].append(p, e)
	w.say("%v is written for %s, due in %d ms", got, e.target, e.deadlineMs-w.nowMs)
}

// answerAll answers what is in flight, but for what went to silent partitions: the
// healthy target takes everything that the client had room for.
func (w *World) answerAll(rng *rand.Rand, full bool) {
	in := w.insts[0]
	for k := 0; k < len(in.flying) && w.err == nil; {
		class := purgatory.Delivered
		if target := in.flying[k].d.Target; full && rng.IntN(3) == 0 {
			class = purgatory.NoRoom
		} else if target == other && rng.IntN(8) == 0 {
			class = purgatory.Unavailable
		}
		if !w.Do(Action{Kind: Reply, P: k, N: int(class)}) {
			k++
		}
	}
}

// onTime holds what was read for the healthy target to its deadline.
func (w *World) onTime(in *instance) {
	for _, t := range in.tenures {
		if t == nil {
			continue
		}
		for _, e := range t.held {
			if e.target != egress || e.invalid || e.written > 0 {
				continue
			}
			if late := w.nowMs - max(e.deadlineMs, e.readMs); late > lateMs {
				w.fail("LATE: %v for a healthy target waits %d ms after its deadline beside sick ones", e, late)
			}
		}
	}
}
