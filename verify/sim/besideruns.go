package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"layover/purgatory"
)

// besideRunsMs is how much time goes by in one step of BesideRuns, in milliseconds.
const besideRunsMs = 200

// BesideRuns is Beside with a runs topic: far records are moved, and read back. Partition 0 is healthy in ingress and
// in the runs topic. Those of the others fall silent, refuse copies, fail visits or answer them late, have a former
// leader, lose copies, or cannot be read. The coordinator refuses commits of others, and partitions change hands.
//
// No record for a healthy target is more than lateMs late, unless nobody could read it. Partition 0 is read and moved.
// What happened is added to tally.
func BesideRuns(seed uint64, steps int, tally *Tally) (broken *Broken) {
	b := newBesideRuns(rand.New(rand.NewPCG(seed, 0xbe51d3)))
	defer func() {
		tally.Add(&b.tally)
		if r := recover(); r != nil {
			b.fail("PANIC: %v", r)
			broken = b.err
		}
	}()
	for n := 0; n < steps && b.err == nil; n++ {
		b.unchecked = n%checkEvery > 0
		b.step()
	}
	b.end()
	return b.err
}

// besideRuns drives such a world.
type besideRuns struct {
	beside
	flush  flush
	revoke []*revoking
	onTime onTime
	share  int64           // of memory for records, in bytes
	keptMs int64           // when it committed last
	sick   int64           // burden, and what was written of it since
	far    int             // of 100 records so many are far off
	farMs  int64           // at most so much further than near ones
	often  [numMishaps]int // of 1000 steps
}

// revoking is a partition that is given up, as soon as what is in flight has been answered.
type revoking struct {
	part    int
	sinceMs int64
}

const (
	// checkEvery is how many steps pass between two looks at all promises.
	checkEvery    = 16
	commitEveryMs = 1000

	// mostDrainMs is how long answers are waited for before a partition is given up.
	mostDrainMs = 5000

	mostRecord = 400 // bytes
)

func newBesideRuns(rng *rand.Rand) *besideRuns {
	cfg := Config{
		Instances: 1, Partitions: 3, OnInvalid: purgatory.DeadLetter, DeadLetters: true,
		MaxInFlight: 4 + rng.IntN(8), MaxBuffered: 16 + rng.IntN(100), MaxInFlightBytes: int64(10_000 + rng.IntN(10_000)),
		HeldShare: int64(2000 + rng.IntN(10_000)), Patience: time.Duration(5+rng.IntN(60)) * time.Second, LargestChunk: 4 << 10,
		JumpOver: 1000, MaxMetadata: 4096, Accidents: -1, Burst: 1,
	}
	cfg.haveRuns()
	b := &besideRuns{beside: beside{World: New(cfg), rng: rng}, far: 20 + rng.IntN(60), farMs: 30_000 + rng.Int64N(150_000), share: int64(24+rng.IntN(48)) << 10}
	b.reads = reads{soonMs: 2000 + int64(rng.IntN(2000))}
	b.reads.aheadMs = b.reads.soonMs + int64(rng.IntN(10_000))
	for i := range b.often {
		b.often[i] = []int{0, 0, 1, 3, 10}[rng.IntN(5)]
	}
	for p := 1; p < cfg.Partitions; p++ {
		if rng.IntN(2) == 0 { // one that lasts, where there are few mishaps
			b.ail(p)
		}
	}
	b.flush = flush{besideRuns: b}
	b.Do(Action{Kind: Start})
	return b
}

// step is one step: something is written, something falls sick or recovers, and the instance runs until it has nothing
// left to do.
func (b *besideRuns) step() {
	b.Do(Action{Kind: Pass, N: besideRunsMs})
	b.sick = b.burden()
	for p, log := range b.logs {
		if log.sick.hasLeader() {
			b.produceSome(p)
		}
	}
	b.mishap()
	in := b.insts[0]
	b.Do(Action{Kind: Start})
	b.Do(Action{Kind: Learn})
	b.Do(Action{Kind: Sync})
	b.assignAll(in)
	b.giveUpAll(in)
	b.openAll(in)
	full := b.rng.IntN(50) == 0
	for turn := 0; b.err == nil && turn < 20; turn++ {
		fetched := b.fetchAll(in)
		before := len(in.flying)
		b.Do(Action{Kind: Turn, N: 64})
		busy := b.flush.turn(in)
		if !busy && !fetched && len(in.flying) == before && len(in.intake) == 0 {
			break
		}
		b.answerAll(full)
	}
	if b.nowMs-b.keptMs >= commitEveryMs || slices.ContainsFunc(in.partitions, func(own *partition) bool { return own != nil && !own.accepted }) {
		b.keptMs = b.nowMs
		b.keep(in)
	}
	for _, log := range b.runs.logs {
		log.feel(b.nowMs)
	}
	b.onTime.judge(b, in)
}

// produceSome writes some records to a partition: most for the healthy target, and no more for sick ones than burden
// says.
func (b *besideRuns) produceSome(p int) {
	most := mostRecord
	if p > 0 { // so that there are many, though they may take little memory
		most /= 4
	}
	for range b.rng.IntN(3) {
		e := entry{target: egress, deadlineMs: b.nowMs + int64(b.rng.IntN(3000)), body: string(make([]byte, b.rng.IntN(most)))}
		if b.rng.IntN(100) < b.far {
			e.deadlineMs += 20_000 + b.rng.Int64N(b.farMs)
		}
		if b.rng.IntN(6) == 0 {
			e.target = other
		}
		if p > 0 || e.target == other {
			if b.sick += e.takes(); b.sick > b.share/4 {
				continue
			}
		}
		b.append(p, e)
	}
}

// burden is what of sick partitions and targets is in memory, or will be once it is read, in bytes. No more than a
// quarter of memory is written of it: what cannot leave may fill memory, and then reading pauses.
func (b *besideRuns) burden() (bytes int64) {
	for p, log := range b.logs {
		own := b.insts[0].partition(p)
		for o := log.start; o < log.end(); o++ {
			e := log.entries[o]
			if p == 0 && e.target == egress {
				continue
			}
			if there := own != nil && own.held[o] != nil; there && !own.isDone(o) || !there && !e.finished() && !b.moved(e) {
				bytes += e.takes()
			}
		}
		for i := 0; own != nil && i < len(own.loaded); i++ {
			if e := own.loaded[i].entry; p > 0 || e.target == other {
				bytes += e.takes()
			}
		}
	}
	return bytes
}

// takes is what a record takes in memory, in bytes.
func (e *entry) takes() int64 { return int64(len(e.body)) + recordBeside }

// recordBeside is what a record takes in memory beside its body, in bytes.
const recordBeside = 60

// used is what records take of memory. What a core takes beside them is more than they do in a world so small.
func (b *besideRuns) used() int64 { return b.insts[0].core.Snapshot().LiveBytes }

// fetchAll reads something of each partition while memory has room.
func (b *besideRuns) fetchAll(in *instance) (fetched bool) {
	if b.used() >= b.share {
		b.pausedMs = b.nowMs
		return false
	}
	return b.beside.fetchAll(in)
}

// openAll has the runs of all partitions begun with whose leaders answer.
func (b *besideRuns) openAll(in *instance) {
	for p, log := range b.runs.logs {
		for log.ails.answersVisits() && log.ails != former && b.Do(Action{Kind: Open, P: p}) {
		}
	}
	b.Do(Action{Kind: RunsUsable, N: 1})
}

// giveUpAll gives up the partitions that are to change hands, once what is in flight was answered, or was waited for.
// Copies to a runs partition that has not answered for long are not.
func (b *besideRuns) giveUpAll(in *instance) {
	b.revoke = slices.DeleteFunc(b.revoke, func(r *revoking) bool {
		own := in.partition(r.part)
		if own == nil || !own.revoking {
			return true
		}
		if in.core.Draining(partitionOf(r.part), own.epoch) > 0 && b.nowMs-r.sinceMs < mostDrainMs {
			b.onTime.drains(b, in, r)
			return false
		}
		b.Do(Action{Kind: Final, P: r.part})
		b.answerCommits(in)
		b.Do(Action{Kind: Sweep, P: r.part})
		return true
	})
}

// keep commits, has the journal written, and deletes what is finished of the runs.
func (b *besideRuns) keep(in *instance) {
	b.Do(Action{Kind: Cut, N: 1})
	for len(in.writes) > 0 && b.err == nil {
		p := in.writes[0].part
		b.Do(Action{Kind: JournalAppend, P: p})
		b.Do(Action{Kind: JournalAnswer, P: p})
	}
	for len(b.journal.deletes) > 0 && b.err == nil {
		b.Do(Action{Kind: JournalDelete})
	}
	b.Do(Action{Kind: Build})
	b.answerCommits(in)
	b.Do(Action{Kind: Clear})
	for len(b.runs.deletes) > 0 && b.err == nil {
		refused := 0
		if !b.runs.logs[b.runs.deletes[0].part].ails.answersCopies() {
			refused = 1
		}
		b.Do(Action{Kind: RunsDelete, P: refused})
	}
}

const numMishaps = 13

// mishaps is what happens to sick partitions and targets, and how often a seed has each: some never.
var mishaps = [numMishaps]func(b *besideRuns, sick int){
	func(b *besideRuns, _ int) { b.Do(Action{Kind: Silence, P: 1, N: b.rng.IntN(4)}) },
	func(b *besideRuns, _ int) { b.Do(Action{Kind: Verdict, P: 1, N: b.rng.IntN(len(verdicts))}) },
	func(b *besideRuns, sick int) { b.Do(Action{Kind: Sicken, P: sick, N: b.rng.IntN(int(illnesses))}) },
	func(b *besideRuns, sick int) { b.Do(Action{Kind: RunsTrim, P: sick, N: b.rng.IntN(20)}) },
	func(b *besideRuns, sick int) {
		if b.runs.logs[sick].ails != former { // else there are three leaders
			b.Do(Action{Kind: RunsTruncate, P: sick, N: b.rng.IntN(20)})
		}
	},
	func(b *besideRuns, sick int) { b.spoil(b.runs.logs[sick]) },
	func(b *besideRuns, _ int) { b.elect(b.rng.IntN(len(b.logs))) },
	func(b *besideRuns, _ int) { b.giveUp(b.rng.IntN(len(b.logs))) },
	func(b *besideRuns, _ int) { b.rejoin() },
	func(b *besideRuns, _ int) { b.Do(Action{Kind: RunsRecreate, N: b.rng.IntN(4)}) },
	(*besideRuns).ail, (*besideRuns).ail, (*besideRuns).ail,
}

// mishap has things happen, or not.
func (b *besideRuns) mishap() {
	for i, often := range b.often {
		if b.rng.IntN(1000) < often {
			mishaps[i](b, 1+b.rng.IntN(len(b.logs)-1))
		}
	}
}

// elect gives a runs partition another leader, and nothing is lost.
func (b *besideRuns) elect(p int) {
	if b.runs.logs[p].ails != former {
		b.runs.logs[p].epoch++
	}
}

// giveUp begins to give a partition up.
func (b *besideRuns) giveUp(p int) {
	if b.Do(Action{Kind: Revoke, P: p}) {
		b.revoke = append(b.revoke, &revoking{p, b.nowMs})
	}
}

// rejoin has the member given up, which may be dead as well.
func (b *besideRuns) rejoin() {
	if b.rng.IntN(2) == 0 {
		b.Do(Action{Kind: Crash})
	}
	b.Do(Action{Kind: Expel})
}

// ail makes a runs partition ill, or fit again.
func (b *besideRuns) ail(p int) {
	log, as := b.runs.logs[p], fit
	if log.ails == fit {
		as = 1 + ailment(b.rng.IntN(int(ailments)-1))
	}
	if log.ail(as, int64(b.rng.IntN(60)), b.nowMs) {
		b.say("the runs of %d are %v now, and end at %d", p, as, log.shown().until)
	}
}

// spoil breaks a batch of a runs partition, so that it cannot be read.
func (b *besideRuns) spoil(log *runsLog) {
	if log.end() == log.start {
		return
	}
	from := log.start + b.rng.Int64N(log.end()-log.start)
	for o := from; o < min(from+1+b.rng.Int64N(5), log.end()); o++ {
		log.entries[o].broken = true
	}
}

// end has all faults end. What could not be read is read by the next assignment.
func (b *besideRuns) end() {
	b.unchecked = false
	for _, log := range b.runs.logs {
		log.ails = fit
		for _, c := range log.entries {
			c.broken = false
		}
	}
	b.reads = reads{aheadMs, aheadMs, 4000}
	b.Do(Action{Kind: Expel})
	b.Do(Action{Kind: Learn})
	b.Drain()
}
