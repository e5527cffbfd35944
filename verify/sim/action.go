package sim

import (
	"fmt"
	"slices"

	"layover/purgatory"
)

// Kind is a kind of thing that can happen.
type Kind uint8

const (
	Append          Kind = iota // a producer writes N to P
	Decide                      // the open transaction of P is committed, or with N aborted
	Pass                        // N milliseconds go by
	Step                        // the clock of I is stepped by N milliseconds
	Start                       // I starts
	Crash                       // I is killed
	Expel                       // the coordinator gives I up, which does not know
	Learn                       // I learns that it was given up, and joins again
	Sync                        // I learns the present generation
	Assign                      // P is assigned to I, and with N even read at once
	Load                        // I asks one question more about where P begins
	Revoke                      // I begins to give P up
	Final                       // I builds the last commit of P
	Sweep                       // I has given P up
	Fetch                       // I reads N records of P
	Turn                        // I's loop turns, with a budget of N
	Write                       // the produce number N of I arrives
	Reply                       // I hears of its produce number P how it went: N
	Build                       // I builds commits
	Arrive                      // I's commit arrives at the coordinator
	Straggle                    // the same, but I's connection is cut, so that it sends it again
	Refuse                      // I's commit is refused, though nothing is wrong with it
	Answer                      // I gets the answer to its commit
	Late                        // the commit number N of those on cut connections arrives
	Haunt                       // the produce number N of those nobody waits for arrives
	Suspend                     // I's lease runs out
	Trim                        // I gives memory back
	DeleteRecords               // the log of P begins N offsets later
	Elect                       // P has another leader, and nothing is lost
	Truncate                    // the log of P ends N offsets earlier
	Compact                     // an offset of P is compacted away
	Recreate                    // the topic of P is deleted and made again
	Sicken                      // Kafka answers for P as illness N says, from now on
	Verdict                     // the brokers say something else about a target
	Silence                     // partition N/2 of target number P does not answer from now on, with N odd it does again
	Limit                       // the broker takes less metadata
	Reset                       // an operator moves the group's offset of P
	Overwrite                   // another client commits the offset of P with metadata of its own
	Pending                     // an open transaction holds an offset for P
	Resolve                     // that transaction ends: N commits it
	Cut                         // I has what finished written to the journal, with N all of it
	JournalAppend               // I's oldest record for the journal of P arrives
	JournalAnswer               // I hears of its oldest record for the journal of P, with N of a failure
	JournalHaunt                // the record number N of those nobody waits for arrives
	JournalDelete               // the deletion number N of those on their way arrives, with P it is refused
	JournalDouble               // record number N of the journal of P stands there once more
	JournalTruncate             // the journal of P loses its last N records
	JournalTrim                 // the journal of P loses its first N records, as by its retention
	JournalRecreate             // the journal is deleted and made again
	JournalNotice               // I hears that the journal cannot be used, can be (1), or is gone (2)
	Reading                     // I's core hears that reading pauses (1), goes on (0), or that nothing more is read of P (2)
	Gather                      // I's core looks for what is far off
	Move                        // I takes N copies to write, and one
	List                        // I takes the directories to write
	Copy                        // I's oldest copy of P arrives
	Copied                      // I hears of its oldest copy of P, with N of a failure
	Visit                       // I asks for copies that are due soon, with N 3 also for those to be moved again
	Visited                     // I's visit number N/9 is answered: all of it, N%9 records, or with 8 not at all
	Open                        // I asks one question more about where the runs of P begin
	Clear                       // I asks for the deletion of finished copies
	RunsUsable                  // I hears that the runs topic takes copies, with N 0 that it does not
	CopyHaunt                   // the copy number N of those nobody waits for arrives
	RunsDelete                  // the deletion number N of those on their way arrives, with P it is refused
	RunsTrim                    // the runs of P begin N offsets later
	RunsElect                   // with N 0 the runs of P have another leader, and nothing is lost
	RunsTruncate                // the runs of P lose their last N records
	RunsRecreate                // with N 0 the runs topic is deleted and made again
	Calm                        // all faults end, and the world drains: life goes on behind it
	kinds
)

var kindNames = [kinds]string{
	"append", "decide", "pass", "step", "start", "crash", "expel", "learn", "sync", "assign", "load", "revoke", "final", "sweep",
	"fetch", "turn", "write", "reply", "build", "arrive", "straggle", "refuse", "answer", "late", "haunt", "suspend", "trim",
	"delete records", "elect", "truncate", "compact", "recreate", "sicken", "verdict", "silence", "limit", "reset", "overwrite", "pending", "resolve",
	"cut", "journal append", "journal answer", "journal haunt", "journal delete", "journal double", "journal truncate", "journal trim", "journal recreate",
	"journal notice", "reading",
	"gather", "move", "list", "copy", "copied", "visit", "visited", "open", "clear", "runs usable", "copy haunt", "runs delete", "runs trim",
	"runs elect", "runs truncate", "runs recreate", "calm",
}

func (k Kind) String() string { return kindNames[k] }

// Action is one thing that happens: to instance I, to partition P, N being what
// its kind says. An action that is not possible as the world is does nothing, so
// that any part of a trace is a trace.
type Action struct {
	Kind    Kind
	I, P, N int
}

func (a Action) String() string {
	return fmt.Sprintf("%-14s I=%d P=%d N=%d", a.Kind, a.I, a.P, a.N)
}

// accident says whether an action is one, and not what follows from earlier ones or
// happens all the time.
func (w *World) accident(a Action) bool {
	switch a.Kind {
	case Expel:
		return len(w.insts[a.I].dead) == 0 // of one that is alive
	case Reply:
		return a.N == int(purgatory.Unknown)
	case JournalAnswer, Sicken, Copied:
		return a.N > 0
	case Reading:
		return a.N == 1
	}
	return slices.Contains([]Kind{Crash, Revoke, Straggle, Suspend, Step, DeleteRecords, Elect, Truncate, Recreate,
		JournalDouble, JournalTruncate, JournalTrim, JournalRecreate, RunsTrim, RunsElect, RunsTruncate, RunsRecreate}, a.Kind)
}

// Tally counts what happened, by kind.
type Tally [kinds]int

// Add adds another tally.
func (t *Tally) Add(o *Tally) {
	for k := range t {
		t[k] += o[k]
	}
}

// String names the kinds that happened, with their numbers.
func (t *Tally) String() string {
	s := ""
	for k, n := range t {
		if n > 0 {
			s += fmt.Sprintf("%s %d, ", Kind(k), n)
		}
	}
	if len(s) > 0 {
		s = s[:len(s)-2]
	}
	return s
}

// Do makes an action happen and checks the world; false says that it was not
// possible and nothing happened. A panic of the core is a broken promise.
func (w *World) Do(a Action) (done bool) {
	accident := w.cfg.Accidents >= 0 && w.accident(a)
	if w.err != nil || accident && w.accidents == w.cfg.Accidents {
		return false
	}
	defer func() {
		if r := recover(); r != nil {
			w.fail("PANIC: %v", r)
			done = true
		}
	}()
	if w.text != nil {
		before := w.text.Len()
		fmt.Fprintf(w.text, "%v\n", a)
		defer func() {
			if !done && w.err == nil { // not possible: not part of the story
				w.text.Truncate(before)
			}
		}()
	}
	if done = w.apply(a); done {
		w.tally[a.Kind]++
		if accident {
			w.accidents++
		}
		if w.steps++; !w.unchecked {
			w.check()
		}
	}
	return done
}
