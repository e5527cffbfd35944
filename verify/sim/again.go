package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"layover/purgatory"
)

// lives is how often Again has each fault in one life.
const lives = 2

// fault is something that goes wrong, as the actions that have to be possible one soon
// after the other. Instance and partition of an action are drawn.
type fault struct {
	name    string
	actions []Action
	target  bool // P is the number of a target, not of a partition
	// needs says whether a world can have it; nil: any can.
	needs func(Config) bool
	// when says whether the first action's instance is ready for it; nil: any is.
	when func(*instance) bool
	// seldom: it needs luck, and may not come to pass in every life.
	seldom bool
}

func hasJournal(c Config) bool { return c.Journal }

// sends says whether a record of an instance is on its way, and writes one of its journal.
func sends(in *instance) bool {
	return slices.ContainsFunc(in.flying, func(f *produce) bool { return !f.applied })
}

func writes(in *instance) bool {
	return slices.ContainsFunc(in.writes, func(g *journalWrite) bool { return !g.applied })
}

// reply is an answer to a produce.
func reply(name string, class purgatory.Class) fault {
	return fault{name: name, actions: []Action{{Kind: Reply, N: int(class)}}}
}

// one is a fault of one action.
func one(name string, kind Kind, n int) fault {
	return fault{name: name, actions: []Action{{Kind: kind, N: n}}}
}

// faults are those that Again plays: every kind of accident, and every refusal.
func faults() []fault {
	all := []fault{
		one("crash", Crash, 0), one("lease runs out", Suspend, 0), one("given up", Expel, 0), one("rebalance", Revoke, 0),
		one("commit refused", Refuse, 0), one("commit on a cut connection", Straggle, 0),
		one("clock back a little", Step, -900), one("clock back", Step, -100_000), one("clock forwards", Step, 100_000),
		one("records deleted", DeleteRecords, 3), one("election", Elect, 0), one("truncation", Truncate, 2), one("topic made again", Recreate, 0),
		reply("too large", purgatory.TooLarge), reply("rejected", purgatory.Rejected), reply("unavailable", purgatory.Unavailable), reply("no outcome", purgatory.Unknown),
		reply("no room", purgatory.NoRoom), one("reading pauses", Reading, 1),
		{name: "target missing", actions: []Action{{Kind: Verdict, N: 6}}, target: true},
		{name: "target forbidden", actions: []Action{{Kind: Verdict, N: 7}}, target: true},
		{name: "target silent", actions: []Action{{Kind: Silence, N: 0}, {Kind: Silence, N: 2}}, target: true},
		{name: "compaction", actions: []Action{{Kind: Compact, N: 1}}, seldom: true},
		{name: "commit late", actions: []Action{{Kind: Straggle}, {Kind: Late}}, seldom: true},
		{name: "record of the dead", actions: []Action{{Kind: Crash}, {Kind: Haunt}}, when: sends},
		{name: "offset set by an operator", actions: []Action{{Kind: Expel}, {Kind: Reset, N: 2}}, seldom: true},
		{name: "offset of others", actions: []Action{{Kind: Expel}, {Kind: Overwrite, N: 1}}, seldom: true},
		{name: "offset pending", actions: []Action{{Kind: Expel}, {Kind: Pending}}, seldom: true},
	}
	for n := well + 1; n < illnesses; n++ {
		all = append(all, one(fmt.Sprintf("illness %d", n), Sicken, int(n)))
	}
	for _, f := range []fault{
		one("journal refuses", JournalAnswer, 1), one("journal takes less", JournalAnswer, 2), one("journal record twice", JournalDouble, 0),
		one("journal truncated", JournalTruncate, 2), one("journal trimmed", JournalTrim, 2), one("journal made again", JournalRecreate, 0),
		one("journal away", JournalNotice, 0), one("journal gone", JournalNotice, 2),
		{name: "journal deletion refused", actions: []Action{{Kind: JournalDelete, P: 1}}, seldom: true},
		{name: "journal record of the dead", actions: []Action{{Kind: Crash}, {Kind: JournalHaunt}}, when: writes, seldom: true},
	} {
		f.needs = hasJournal
		f.seldom = f.seldom || !slices.Contains([]Kind{JournalRecreate, JournalNotice}, f.actions[0].Kind) // a small set is not in the journal
		all = append(all, f)
	}
	return all
}

// daily are the actions in which nothing goes wrong, as often as they are drawn.
var daily = func() (all []Kind) {
	for _, k := range wheelOfFortune {
		if slices.Contains([]Kind{Append, Decide, Pass, Sync, Learn, Start, Assign, Load, Final, Sweep, Fetch, Turn, Write, Reply, Build, Arrive, Answer,
			Cut, JournalAppend, JournalAnswer, JournalDelete, Trim}, k) {
			all = append(all, k)
		}
	}
	return all
}()

// Between two faults, and for one that is not possible yet, a life has so many daily steps.
const (
	dailySteps = 60
	faultTries = 400
)

// plainNow is the number of an Append of a small valid record that is due at once.
const plainNow = 9 * len(delays)

// Again plays one life in which every fault comes lives times. Between two faults all ends
// that is wrong, and the world drains: whatever a fault has left behind, the next of its kind
// meets it. met counts how often each fault came to pass; the life is in its trace.
func Again(seed uint64, met map[string]int) (Run, *Broken) {
	rng := rand.New(rand.NewPCG(seed, 0xa9a1))
	c := shape(rng)
	c.Journal = seed%2 == 0                                                             // whatever was drawn
	c.OnInvalid = []purgatory.Policy{purgatory.DeadLetter, purgatory.Drop}[rng.IntN(2)] // the others end reading at the first fault
	c.DeadLetters = c.DeadLetters || c.OnInvalid == purgatory.DeadLetter
	if c.Journal && c.JournalMax == 0 {
		c.JournalAbove, c.JournalMax = 69, []int{140, 200, 4096}[rng.IntN(3)]
	}
	g := relive{World: New(c), rng: rng, run: Run{Config: c}}
	all := slices.DeleteFunc(faults(), func(f fault) bool { return f.needs != nil && !f.needs(c) })
	for range lives {
		rng.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
		for i := range all {
			g.live(dailySteps)
			if g.meet(&all[i]) {
				met[all[i].name]++
			}
			g.live(dailySteps / 2)
			g.do(Action{Kind: Calm})
		}
	}
	g.Drain()
	return g.run, g.err
}

// relive drives a world.
type relive struct {
	*World
	rng *rand.Rand
	run Run
}

func (g *relive) do(a Action) bool {
	done := g.err == nil && g.Do(a)
	if done {
		g.run.Trace = append(g.run.Trace, a)
	}
	return done
}

// live plays some daily steps.
func (g *relive) live(steps int) {
	for range steps {
		a := Action{Kind: daily[g.rng.IntN(len(daily))], I: g.rng.IntN(g.cfg.Instances), P: g.rng.IntN(g.cfg.Partitions)}
		switch a.P, a.N = numbers(g.rng, a); a.Kind {
		case Reply, JournalAnswer, JournalDelete: // all goes well
			a.N = 0
			if a.Kind == JournalDelete {
				a.P = 0
			}
		}
		g.do(a)
	}
}

// meet makes a fault happen, with daily steps until it can.
func (g *relive) meet(f *fault) bool {
	for i, a := range f.actions {
		done := false
		for try := 0; !done && try < faultTries && g.err == nil; try++ {
			a.I = g.rng.IntN(g.cfg.Instances)
			switch {
			case f.target:
				a.P = g.rng.IntN(len(targets))
			case a.Kind == Reply, a.Kind == JournalDelete:
			default:
				a.P = g.rng.IntN(g.cfg.Partitions)
			}
			if ready := i > 0 || f.when == nil || f.when(g.insts[a.I]); ready {
				if done = g.do(a); done || try < 20 {
					continue
				}
			}
			if g.live(5); try%10 == 0 {
				g.do(Action{Kind: Append, P: g.rng.IntN(g.cfg.Partitions), N: plainNow})
			}
		}
		if !done {
			return false
		}
	}
	return true
}

// Faults names the faults of Again that every life has lives times, and those that need luck.
func Faults(journal bool) (sure, seldom []string) {
	for _, f := range faults() {
		switch {
		case f.needs != nil && !journal:
		case f.seldom:
			seldom = append(seldom, f.name)
		default:
			sure = append(sure, f.name)
		}
	}
	return sure, seldom
}

// Met is how often faults came to pass, for people.
func Met(met map[string]int) string {
	var b strings.Builder
	for _, f := range faults() {
		fmt.Fprintf(&b, ", %s %d", f.name, met[f.name])
	}
	return strings.TrimPrefix(b.String(), ", ")
}
