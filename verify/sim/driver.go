package sim

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"time"

	"layover/purgatory"
)

// Run is a world and what happens in it: all that a seed decides.
type Run struct {
	Config Config
	Trace  []Action
}

// weights are how often each kind is drawn. Ordinary life is frequent enough that
// records get through between two accidents.
var weights = [kinds]int{
	Append: 50, Decide: 8, Pass: 40, Step: 1, Start: 10, Crash: 1, Expel: 3, Learn: 10, Sync: 80, Assign: 120, Load: 60, Revoke: 2, Final: 20,
	Sweep: 10, Fetch: 60, Turn: 50, Write: 40, Reply: 120, Build: 40, Arrive: 80, Straggle: 6, Refuse: 4, Answer: 80, Late: 3,
	Haunt: 3, Suspend: 1, Trim: 1, DeleteRecords: 2, Elect: 3, Truncate: 1, Compact: 2, Recreate: 1, Sicken: 3, Verdict: 3, Silence: 6, Limit: 1, Reset: 2,
	Overwrite: 2, Pending: 4, Resolve: 8,
	Cut: 20, JournalAppend: 100, JournalAnswer: 100, JournalHaunt: 4, JournalDelete: 10, JournalDouble: 2, JournalTruncate: 1, JournalTrim: 1, JournalRecreate: 1,
	JournalNotice: 3, Reading: 4,
}

// runsWeights are those of the kinds that a world with runs has beside them.
var runsWeights = [kinds]int{
	Gather: 600, Move: 600, List: 300, Copy: 600, Copied: 600, Visit: 600, Visited: 600, Open: 600, Clear: 400, RunsUsable: 3, CopyHaunt: 60,
	RunsDelete: 400, RunsTrim: 2, RunsElect: 5, RunsTruncate: 2, RunsRecreate: 5,
}

// fortune is every kind as often as its weight says.
func fortune(weights ...*[kinds]int) (all []Kind) {
	for _, w := range weights {
		for k, n := range w {
			for range n {
				all = append(all, Kind(k))
			}
		}
	}
	return all
}

var wheelOfFortune, wheelWithRuns = fortune(&weights), fortune(&weights, &runsWeights)

// Seeded returns the run of a seed, steps actions that are possible when their turn
// comes, and the first promise that it breaks.
func Seeded(seed uint64, steps int, tally *Tally) (Run, *Broken) {
	rng := rand.New(rand.NewPCG(seed, 0x1a70))
	r := Run{Config: shape(rng)}
	wheel := wheelOfFortune
	if seed%4 == 3 {
		r.Config.haveRuns()
		wheel = wheelWithRuns
	}
	w := New(r.Config)
	calm := r.Config.Journal && rng.IntN(4) > 0 // so that something gets into the journal
	for tries := 0; len(r.Trace) < steps && tries < 50*steps && w.err == nil; tries++ {
		a := Action{Kind: wheel[rng.IntN(len(wheel))], I: rng.IntN(r.Config.Instances), P: rng.IntN(r.Config.Partitions)}
		a.P, a.N = numbers(rng, a)
		if calm && w.accident(a) && rng.IntN(8) > 0 {
			continue
		}
		if w.Do(a) {
			r.Trace = append(r.Trace, a)
		}
	}
	w.Drain()
	tally.Add(&w.tally)
	return r, w.err
}

// shape draws a world.
func shape(rng *rand.Rand) Config {
	policy := purgatory.Policy(rng.IntN(4))
	c := Config{
		Instances: 1 + rng.IntN(3), Partitions: 1 + rng.IntN(3), OnInvalid: policy,
		DeadLetters: policy == purgatory.DeadLetter || rng.IntN(2) == 0,
		MaxInFlight: 1 + rng.IntN(8), MaxBuffered: 8 + rng.IntN(60), MaxInFlightBytes: int64(100 + rng.IntN(3000)), HeldShare: int64(200 + rng.IntN(4000)),
		Patience: time.Duration(1+rng.IntN(40)) * time.Second, LargestChunk: 4 << 10 << rng.IntN(4), JumpOver: int64(2 + rng.IntN(12)),
		MaxMetadata: []int{4096, 4096, 300, 130}[rng.IntN(4)], Accidents: -1, Burst: 1, CommitsByName: rng.IntN(3) == 0,
	}
	if c.MaxMetadata < smallestLimit { // such a broker gets offsets without metadata, and nothing tells of which topic
		c.CommitsByName = false
	}
	if rng.IntN(2) == 0 {
		c.Journal, c.JournalAbove, c.JournalMax = true, []int{69, 69, 100, 160, 240}[rng.IntN(5)], []int{140, 200, 4096}[rng.IntN(3)]
	}
	if rng.IntN(10) == 0 { // sets that do not fit into what the broker takes
		c.Burst, c.Partitions, c.MaxMetadata, c.JumpOver = 8, 1, 300, 1000
	}
	c.IDs, c.Events, c.OnExpired = max(rng.IntN(6)-1, 0)%4, rng.IntN(2) == 0, []purgatory.Policy{purgatory.DeadLetter, purgatory.Drop}[rng.IntN(2)]
	c.CatchUp = max(rng.IntN(6)-3, 0) * (1 + rng.IntN(20))
	return c
}

// haveRuns makes a world one with a runs topic.
func (c *Config) haveRuns() {
	if c.Runs = true; !c.Journal {
		c.Journal, c.JournalAbove, c.JournalMax = true, 160, 4096
	}
	c.IDs, c.CatchUp = 0, 0
}

// numbers draws what an action is about, beside the instance.
func numbers(rng *rand.Rand, a Action) (p, n int) {
	p = a.P
	switch a.Kind {
	case Append:
		n = rng.IntN(len(delays) * 16 * 1000)
	case Pass:
		n = []int{1, 7, 40, 300, 1500, 25_000, 31_000}[rng.IntN(7)]
	case Step:
		n = []int{-10, -900, -3000, -100_000, 40, 5000, 100_000}[rng.IntN(7)]
	case Fetch, Turn:
		n = 1 + rng.IntN(12)
	case Write, Late, Haunt:
		n = rng.IntN(3)
	case Reply:
		p = rng.IntN(4)
		n = int([]purgatory.Class{0, 0, 0, 0, 0, 0, purgatory.TooLarge, purgatory.Rejected, purgatory.Unavailable, purgatory.Unknown, purgatory.NoRoom}[rng.IntN(11)])
	case DeleteRecords, Truncate, Compact, Reset:
		n = 1 + rng.IntN(10)
	case Verdict:
		p, n = rng.IntN(len(targets)), rng.IntN(len(verdicts))
	case Silence:
		p, n = rng.IntN(len(targets)), rng.IntN(4)
	case Assign:
		n = max(0, rng.IntN(4)-2)
	case Sicken:
		n = max(0, rng.IntN(int(2*illnesses))-int(illnesses))
	case Limit:
		n = 200 + rng.IntN(400)
	case Decide, Build, Resolve:
		n = rng.IntN(2)
	case Overwrite:
		n = rng.IntN(3)
	case JournalAnswer:
		n = []int{0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2}[rng.IntN(11)]
	case JournalHaunt, JournalDouble:
		n = rng.IntN(5)
	case JournalDelete:
		p, n = rng.IntN(6), rng.IntN(3)
	case JournalTruncate, JournalTrim:
		n = 1 + rng.IntN(4)
	case Cut, JournalNotice, Reading, CopyHaunt:
		n = rng.IntN(3)
	case Gather, Move, RunsTrim, RunsTruncate:
		n = rng.IntN(8)
	case Copied:
		n = max(0, rng.IntN(10)-8)
	case Visited:
		n = rng.IntN(3)*9 + []int{0, 0, 0, 0, 1, 2, 5, 8}[rng.IntN(8)]
	case RunsUsable, Visit:
		n = rng.IntN(4)
	case RunsRecreate, RunsElect:
		n = rng.IntN(20)
	case RunsDelete:
		p, n = rng.IntN(6), rng.IntN(3)
	}
	return p, n
}

// Play runs a trace, lets the world drain, and returns the first broken promise.
func (r Run) Play() *Broken {
	w := New(r.Config)
	for _, a := range r.Trace {
		w.Do(a)
	}
	return w.Drain()
}

// Tell plays a trace and returns what happened, for people.
func (r Run) Tell() string {
	w := New(r.Config)
	w.text = &bytes.Buffer{}
	fmt.Fprintf(w.text, "%+v\n", r.Config)
	for _, a := range r.Trace {
		w.Do(a)
	}
	w.Drain()
	return w.text.String()
}
