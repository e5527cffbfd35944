package sim

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"layover/purgatory"
)

// pacer is the rate of catch-up of one life of an instance, and counts what it gave.
type pacer struct {
	*purgatory.CatchUp
	delayed  map[string]int   // records read that ask for a deadline, by target
	admitted map[string]int   // instants given
	latest   map[string]int64 // the latest of them, monotonic
	waited   *int             // instants that were not at once; of all lives
}

func (w *World) newPacer() *pacer {
	if w.cfg.CatchUp == 0 {
		return nil
	}
	return &pacer{purgatory.NewCatchUp(w.cfg.CatchUp), make(map[string]int), make(map[string]int), make(map[string]int64), &w.waited}
}

// Admit implements purgatory.Pacer.
func (p *pacer) Admit(label string, monotonicMs, withinMs int64) (waitMs int64, ok bool) {
	if waitMs, ok = p.CatchUp.Admit(label, monotonicMs, withinMs); ok {
		p.admitted[label]++
		p.latest[label] = max(p.latest[label], monotonicMs+waitMs)
		*p.waited += int(min(waitMs, 1))
	}
	return waitMs, ok
}

// read notes a record that a core took in.
func (p *pacer) read(e *entry) {
	if p != nil && e.kind != control && !e.invalid && !e.passed && !e.cancel {
		p.delayed[e.target]++
	}
}

// encode writes what decides about instants from now on.
func (p *pacer) encode(s *scribe, nowMs int64) {
	if p == nil {
		return
	}
	for _, label := range slices.Sorted(maps.Keys(p.latest)) {
		s.text(label)
		s.num(max(p.latest[label]-nowMs, -1000), int64(p.delayed[label]-p.admitted[label]))
	}
}

// caughtUp holds the records that wait for an instant to the rules. Each has one, and none
// waits longer than all that were read would take. A clock that was stepped back by up to a
// second is waited for.
func (in *instance) caughtUp() {
	w := in.w
	if in.pacer == nil || w.unchecked {
		return
	}
	for label, n := range in.pacer.admitted {
		if n > in.pacer.delayed[label] {
			w.fail("%d records for %s were read, and %d instants of the catch-up were taken", in.pacer.delayed[label], label, n)
		}
	}
	for _, c := range in.core.Snapshot().CatchingUp {
		most := int64(in.pacer.delayed[c.Label]+1)*1000/int64(w.cfg.CatchUp) + 2000
		if wait := c.UntilMs - in.clock().WallMs; wait > most && !in.steppedBehind {
			w.fail("%d late records for %s wait %d ms for their instants, want %d at most", c.Records, c.Label, wait, most)
		}
	}
}

// afterMs is how much time goes by in one step of After, in milliseconds.
const afterMs = 50

// After plays some steps of a world with outages, in which brokers and targets are well. No
// more late records leave than the rate says, whatever happens between two outages, and
// none that is due now waits behind them. It returns how many late records were put back.
func After(seed uint64, steps int) (putBack int, broken *Broken) {
	rng := rand.New(rand.NewPCG(seed, 0xa47e2))
	w := New(Config{
		Instances: 2, Partitions: 2, OnInvalid: purgatory.DeadLetter, DeadLetters: true,
		MaxInFlight: 1000, MaxBuffered: 10_000, MaxInFlightBytes: 1 << 20, HeldShare: 1 << 20, Patience: time.Hour, LargestChunk: 4 << 10,
		JumpOver: 1000, MaxMetadata: 4096, Accidents: -1, Burst: 4, IDs: rng.IntN(3), Events: rng.IntN(2) == 0, OnExpired: purgatory.Drop,
		CatchUp: 1 + rng.IntN(40),
	})
	a := after{World: w, rng: rng, left: make(map[*pacer]*leaving)}
	for range steps {
		a.step()
	}
	a.end()
	w.Drain()
	return w.waited, w.err
}

// after drives a world with outages.
type after struct {
	*World
	rng  *rand.Rand
	left map[*pacer]*leaving
}

// leaving is what one life of an instance may hand out, and what it did.
type leaving struct {
	sinceMs int64
	extra   int // those that had an instant when something happened that held it up, or went over it
	late    int
}

// step is one step: something is written, something happens, and all run until they have
// nothing left to do.
func (a *after) step() {
	a.Do(Action{Kind: Pass, N: afterMs})
	for p := range a.logs {
		if a.rng.IntN(4) == 0 {
			a.Do(Action{Kind: Append, P: p, N: a.number()})
		}
	}
	if a.rng.IntN(40) == 0 {
		a.happen(a.insts[a.rng.IntN(len(a.insts))])
	}
	for _, in := range a.insts {
		a.Do(Action{Kind: Start, I: in.no})
		a.Do(Action{Kind: Learn, I: in.no})
		a.Do(Action{Kind: Sync, I: in.no})
	}
	for p := range a.logs {
		a.Do(Action{Kind: Assign, I: a.rng.IntN(len(a.insts)), P: p})
	}
	for _, in := range a.insts {
		a.run(in)
	}
}

// number draws a record: with a delay of up to 20 s and sometimes an id or an expiry.
func (a *after) number() int {
	return a.rng.IntN(len(delays)-1) + len(delays)*([]int{2, 4, 9, 9, 9, 9}[a.rng.IntN(6)]+16*a.rng.IntN(1000))
}

// happen is one of the things that life brings.
func (a *after) happen(in *instance) {
	switch a.rng.IntN(8) {
	case 0, 1: // nobody runs
		a.outage()
	case 2: // nobody turns
		a.disturb(in)
		a.Do(Action{Kind: Pass, N: 10_000 + a.rng.IntN(20_000)})
	case 3:
		for range 1 + a.rng.IntN(2) { // the second may come before what the first one made wait
			a.disturb(in)
			a.Do(Action{Kind: Step, I: in.no, N: []int{-400, -5000, -100_000, 5000, 60_000}[a.rng.IntN(5)]})
			a.run(in)
		}
	case 4:
		a.disturb(in)
		a.Do(Action{Kind: Suspend, I: in.no})
	case 5:
		a.Do(Action{Kind: Crash, I: in.no})
		a.Do(Action{Kind: Expel, I: in.no})
	default:
		p := a.rng.IntN(len(a.logs))
		a.Do(Action{Kind: Revoke, I: in.no, P: p})
		a.Do(Action{Kind: Final, I: in.no, P: p})
		a.answerCommits(in)
		a.Do(Action{Kind: Sweep, I: in.no, P: p})
	}
}

// outage is a time in which nobody runs.
func (a *after) outage() {
	for _, in := range a.insts {
		a.Do(Action{Kind: Crash, I: in.no})
		a.Do(Action{Kind: Expel, I: in.no})
	}
	a.Do(Action{Kind: Pass, N: 10_000 + a.rng.IntN(30_000)})
}

// end is an outage, and two steps back while late records wait: they wait for their deadlines
// then, and no longer.
func (a *after) end() {
	a.outage()
	for range 3 { // until what was read again is offered
		a.step()
	}
	for range 2 {
		for _, in := range a.insts {
			a.Do(Action{Kind: Step, I: in.no, N: -100_000})
			a.Do(Action{Kind: Turn, I: in.no})
		}
	}
}

// disturb notes that records which have their instant may leave together.
func (a *after) disturb(in *instance) {
	for _, in := range a.insts {
		if !in.up {
			continue
		}
		for _, c := range in.core.Snapshot().CatchingUp {
			a.of(in).extra += c.Records
		}
	}
}

func (a *after) of(in *instance) *leaving {
	l := a.left[in.pacer]
	if l == nil {
		l = &leaving{sinceMs: a.nowMs}
		a.left[in.pacer] = l
	}
	return l
}

// run lets one instance do all that it can.
func (a *after) run(in *instance) {
	if !in.up || a.err != nil {
		return
	}
	began, l := a.nowMs, a.of(in)
	for p := range a.logs {
		for a.Do(Action{Kind: Load, I: in.no, P: p}) {
		}
	}
	for turn := 0; a.err == nil && turn < 50; turn++ {
		fetched := false
		for p := range a.logs {
			fetched = a.Do(Action{Kind: Fetch, I: in.no, P: p, N: 200}) || fetched
		}
		a.Do(Action{Kind: Turn, I: in.no, N: 1000})
		sent := len(in.flying)
		for k := len(in.flying); k > 0 && a.err == nil; k-- {
			f := in.flying[0]
			if e := f.entry; f.event == nil && f.d.Reason == "" && !e.passed && in.clock().WallMs-e.deadlineMs > purgatory.LateMs {
				l.late++
			}
			a.Do(Action{Kind: Reply, I: in.no})
		}
		if !fetched && sent == 0 && len(in.intake) == 0 && turn > 1 {
			break
		}
	}
	a.Do(Action{Kind: Build, I: in.no})
	a.answerCommits(in)
	a.judge(in, l, began)
}

// answerCommits lets the coordinator answer.
func (a *after) answerCommits(in *instance) {
	for len(in.queue) > 0 && a.err == nil {
		a.Do(Action{Kind: Arrive, I: in.no})
		a.Do(Action{Kind: Answer, I: in.no})
	}
}

// judge holds an instance to its rate, of two targets, and to what is due now.
func (a *after) judge(in *instance, l *leaving, began int64) {
	rate := float64(a.cfg.CatchUp) / 1000
	if most := 2*(1+rate*float64(a.nowMs-l.sinceMs)) + float64(l.extra); float64(l.late) > most {
		a.fail("LATE: %d late records left within %d ms, want %.0f at most", l.late, a.nowMs-l.sinceMs, most)
	}
	waits := int64(0)
	if in.steppedBack { // by up to a second: the wheel waits for such a clock
		waits = 1000
	}
	for _, own := range in.partitions {
		if own == nil || own.loading != nil || !own.accepted || own.acceptedMs >= began || own.revoking || own.halted {
			continue
		}
		for o, e := range own.held {
			late := in.clock().WallMs - e.deadlineMs
			if own.isDone(o) || own.ended[o] || own.invalid(e) || e.large || e.cancel || e.commands() && !own.over || e.expires {
				continue
			}
			if late >= waits && (late <= purgatory.LateMs || e.passed) && e.readMs+waits < a.nowMs {
				a.fail("LATE: %v is due now and waits beside late records, %d ms after its deadline", e, late)
			}
		}
	}
}
