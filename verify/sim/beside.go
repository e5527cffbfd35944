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

// Beside plays some steps of a world in which partition 0 and one target are healthy, and
// no record of theirs is more than lateMs late, whatever the others do. The other
// partitions are deleted, forbidden or without a leader, and the member joins again
// meanwhile. The other target has partitions that fall silent, is missing, or refuses; the
// dead-letter topic falls silent; the client has no room; batches cannot be read.
func Beside(seed uint64, steps int) *Broken {
	rng := rand.New(rand.NewPCG(seed, 0xbe51de))
	w := New(Config{
		Instances: 1, Partitions: 3, OnInvalid: purgatory.DeadLetter, DeadLetters: true,
		MaxInFlight: 1 + rng.IntN(8), MaxBuffered: 32 + rng.IntN(100), MaxInFlightBytes: int64(4000 + rng.IntN(4000)),
		HeldShare: int64(2000 + rng.IntN(20_000)), Patience: time.Duration(5+rng.IntN(60)) * time.Second, LargestChunk: 4 << 10,
		JumpOver: 1000, MaxMetadata: 4096, Accidents: -1, Burst: 4,
	})
	w.Do(Action{Kind: Start})
	w.Do(Action{Kind: Sync})
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
	for p, log := range w.logs {
		if !log.sick.hasLeader() {
			continue
		}
		w.append(p, entry{target: egress, deadlineMs: w.nowMs + int64(rng.IntN(3000))})
		for range rng.IntN(3) {
			w.append(p, entry{target: other, deadlineMs: w.nowMs + int64(rng.IntN(3000)), invalid: rng.IntN(4) == 0, large: p > 0 && rng.IntN(10) == 0})
		}
	}
	switch rng.IntN(60) {
	case 0, 1:
		w.Do(Action{Kind: Silence, P: 1 + rng.IntN(2), N: rng.IntN(4)})
	case 2:
		w.Do(Action{Kind: Verdict, P: 1, N: rng.IntN(len(verdicts))})
	case 3, 4:
		w.Do(Action{Kind: Sicken, P: 1 + rng.IntN(len(w.logs)-1), N: rng.IntN(int(illnesses))})
	case 5:
		w.Do(Action{Kind: Expel})
		w.Do(Action{Kind: Learn})
	}
	in, full := w.insts[0], rng.IntN(50) == 0
	w.assignAll(in)
	for turn := 0; w.err == nil && turn < 50; turn++ {
		fetched := w.fetchAll(in)
		before := len(in.flying)
		w.Do(Action{Kind: Turn, N: 64})
		if !fetched && len(in.flying) == before && len(in.intake) == 0 {
			break
		}
		w.answerAll(rng, full)
	}
	w.Do(Action{Kind: Build})
	w.answerCommits(in)
	w.onTime(in)
}

// assignAll gives the instance what it has not, asks again where the rest begins, and lets
// it have a topic anew that was made again, as the daemon does.
func (w *World) assignAll(in *instance) {
	for p := range w.logs {
		if own := in.partition(p); own != nil && own.loading == nil && own.log != w.logs[p] && w.logs[p].sick == well {
			w.Do(Action{Kind: Revoke, P: p})
			w.Do(Action{Kind: Final, P: p})
			w.answerCommits(in)
			w.Do(Action{Kind: Sweep, P: p})
		}
		w.Do(Action{Kind: Assign, P: p})
		for w.Do(Action{Kind: Load, P: p}) {
		}
	}
}

// fetchAll reads something of each partition, where reading does not pause.
func (w *World) fetchAll(in *instance) (fetched bool) {
	if len(in.core.Pauses()) > 0 {
		w.pausedMs = w.nowMs
		return false
	}
	for p := range w.logs {
		fetched = w.Do(Action{Kind: Fetch, P: p, N: 50}) || fetched
	}
	return fetched
}

// answerCommits lets the coordinator answer.
func (w *World) answerCommits(in *instance) {
	for len(in.queue) > 0 && w.err == nil {
		w.Do(Action{Kind: Arrive})
		w.Do(Action{Kind: Answer})
	}
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

// onTime holds records for the healthy target to their deadline: those that were read of
// any partition that may deliver, and those of the healthy partition that are not read.
// Reading pauses where the dead-letter topic does not answer.
func (w *World) onTime(in *instance) {
	for p, own := range in.partitions {
		switch {
		case p == 0 && (own == nil || !own.accepted):
			w.fail("LATE: partition 0 is not delivered from beside sick ones")
			return
		case own == nil || !own.accepted:
			continue
		}
		for _, e := range own.held {
			if e.target != egress || e.invalid || e.written > 0 {
				continue
			}
			if late := w.nowMs - max(e.deadlineMs, e.readMs, own.acceptedMs); late > lateMs {
				w.fail("LATE: %v for a healthy target waits %d ms after its deadline beside sick ones", e, late)
			}
		}
	}
	if log := w.logs[0]; w.nowMs-w.pausedMs > lateMs && in.partitions[0].read < log.end()-1 {
		w.fail("LATE: partition 0 is read up to %d of %d, and nothing pauses it", in.partitions[0].read, log.end())
	}
}
