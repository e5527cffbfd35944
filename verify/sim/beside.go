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

// Beside plays some steps of a world in which partition 0 and one target are healthy. No
// record of theirs is more than lateMs late, whatever the others do. The other partitions
// are deleted, forbidden or without a leader, and the member joins again meanwhile. The
// other target has partitions that fall silent, is missing, or refuses. The dead-letter
// topic falls silent, the client has no room, and batches cannot be read.
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
	b := beside{World: w, rng: rng}
	for range steps {
		b.step()
	}
	w.Drain()
	return w.err
}

// beside drives a world of one instance, in which one partition and one target stay healthy.
type beside struct {
	*World
	rng      *rand.Rand
	pausedMs int64 // when reading last paused
}

// step is one step: something is written, something falls sick or recovers, and
// the instance runs until it has nothing left to do.
func (b *beside) step() {
	b.Do(Action{Kind: Pass, N: besideMs})
	for p, log := range b.logs {
		if !log.sick.hasLeader() {
			continue
		}
		b.append(p, entry{target: egress, deadlineMs: b.nowMs + int64(b.rng.IntN(3000))})
		for range b.rng.IntN(3) {
			b.append(p, entry{target: other, deadlineMs: b.nowMs + int64(b.rng.IntN(3000)), invalid: b.rng.IntN(4) == 0, large: p > 0 && b.rng.IntN(10) == 0})
		}
	}
	switch b.rng.IntN(60) {
	case 0, 1:
		b.Do(Action{Kind: Silence, P: 1 + b.rng.IntN(2), N: b.rng.IntN(4)})
	case 2:
		b.Do(Action{Kind: Verdict, P: 1, N: b.rng.IntN(len(verdicts))})
	case 3, 4:
		b.Do(Action{Kind: Sicken, P: 1 + b.rng.IntN(len(b.logs)-1), N: b.rng.IntN(int(illnesses))})
	case 5:
		b.Do(Action{Kind: Expel})
		b.Do(Action{Kind: Learn})
	}
	in, full := b.insts[0], b.rng.IntN(50) == 0
	b.assignAll(in)
	for turn := 0; b.err == nil && turn < 50; turn++ {
		fetched := b.fetchAll(in)
		before := len(in.flying)
		b.Do(Action{Kind: Turn, N: 64})
		if !fetched && len(in.flying) == before && len(in.intake) == 0 {
			break
		}
		b.answerAll(full)
	}
	b.Do(Action{Kind: Build})
	b.answerCommits(in)
	b.onTime(in)
}

// assignAll gives the instance the partitions that it has not, and asks again where the
// rest begins. It lets the instance have a topic anew that was made again, as the
// daemon does.
func (b *beside) assignAll(in *instance) {
	for p := range b.logs {
		if own := in.partition(p); own != nil && own.loading == nil && own.log != b.logs[p] && b.logs[p].sick == well {
			b.Do(Action{Kind: Revoke, P: p})
			b.Do(Action{Kind: Final, P: p})
			b.answerCommits(in)
			b.Do(Action{Kind: Sweep, P: p})
		}
		b.Do(Action{Kind: Assign, P: p})
		for b.Do(Action{Kind: Load, P: p}) {
		}
	}
}

// fetchAll reads something of each partition, where reading does not pause.
func (b *beside) fetchAll(in *instance) (fetched bool) {
	if len(in.core.Pauses()) > 0 {
		b.pausedMs = b.nowMs
		return false
	}
	for p := range b.logs {
		fetched = b.Do(Action{Kind: Fetch, P: p, N: 50}) || fetched
	}
	return fetched
}

// answerCommits lets the coordinator answer.
func (b *beside) answerCommits(in *instance) {
	for len(in.queue) > 0 && b.err == nil {
		b.Do(Action{Kind: Arrive})
		b.Do(Action{Kind: Answer})
	}
}

// answerAll answers what is in flight, but for what went to silent partitions: the
// healthy target takes everything that the client had room for.
func (b *beside) answerAll(full bool) {
	in := b.insts[0]
	for k := 0; k < len(in.flying) && b.err == nil; {
		class := purgatory.Delivered
		if target := in.flying[k].d.Target; full && b.rng.IntN(3) == 0 {
			class = purgatory.NoRoom
		} else if target == other && b.rng.IntN(8) == 0 {
			class = purgatory.Unavailable
		}
		if !b.Do(Action{Kind: Reply, P: k, N: int(class)}) {
			k++
		}
	}
}

// onTime holds records for the healthy target to their deadline. Those are the records
// that were read of any partition that may deliver, and those of the healthy partition
// that are not read. Reading pauses where the dead-letter topic does not answer.
func (b *beside) onTime(in *instance) {
	for p, own := range in.partitions {
		switch {
		case p == 0 && (own == nil || !own.accepted):
			b.fail("LATE: partition 0 is not delivered from beside sick ones")
			return
		case own == nil || !own.accepted:
			continue
		}
		for _, e := range own.held {
			if e.target != egress || e.invalid || e.written > 0 {
				continue
			}
			if late := b.nowMs - max(e.deadlineMs, e.readMs, own.acceptedMs); late > lateMs {
				b.fail("LATE: %v for a healthy target waits %d ms after its deadline beside sick ones", e, late)
			}
		}
	}
	if log := b.logs[0]; b.nowMs-b.pausedMs > lateMs && in.partitions[0].read < log.end()-1 {
		b.fail("LATE: partition 0 is read up to %d of %d, and nothing pauses it", in.partitions[0].read, log.end())
	}
}
