package daemon

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"layover/verify"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// sums is what happened in a run, or in several.
type sums struct {
	virtual, real                       time.Duration
	records, transactions               int
	arrived, repeats                    int
	allowed, unknown                    int
	excused                             int
	starts, stops, kills                int
	unplugged, deleted, truncated       int
	commits, fenced, overtaken, longest int
	copies, settled                     int // settled: deliveries of copied records that may not be repeated
	journal                             journalSums
	ids                                 idSums
	slowest                             time.Duration            // from the end of a fault until all was well
	endured                             map[string]int           // faults of the rounds, by kind
	kinds                               map[int16]int            // requests of instances
	most                                map[int16]int            // of an instance in one second
	turns                               turnSums                 // the same of its loops
	faults                              map[int16]map[string]int // by kind and effect
}

func newSums() *sums {
	s := &sums{endured: make(map[string]int), kinds: make(map[int16]int), most: make(map[int16]int), turns: make(turnSums), faults: make(map[int16]map[string]int)}
	for k := range refusals {
		s.faults[k.Int16()] = make(map[string]int)
	}
	return s
}

// take takes what the checker counted.
func (s *sums) take(r *verify.Report, virtual time.Duration) {
	s.virtual = virtual
	s.arrived, s.repeats, s.allowed, s.unknown, s.excused = r.Arrived, r.Repeats, r.Allowed, r.Unknown, r.Excused
	s.ids.take(r)
}

func (s *sums) add(o *sums) {
	s.virtual += o.virtual
	s.real += o.real
	s.records += o.records
	s.transactions += o.transactions
	s.arrived += o.arrived
	s.repeats += o.repeats
	s.allowed += o.allowed
	s.unknown += o.unknown
	s.excused += o.excused
	s.starts += o.starts
	s.stops += o.stops
	s.kills += o.kills
	s.unplugged += o.unplugged
	s.deleted += o.deleted
	s.truncated += o.truncated
	s.commits += o.commits
	s.fenced += o.fenced
	s.overtaken += o.overtaken
	s.copies += o.copies
	s.settled += o.settled
	s.longest = max(s.longest, o.longest)
	s.journal.add(&o.journal)
	s.ids.add(&o.ids)
	s.slowest = max(s.slowest, o.slowest)
	s.turns.add(o.turns)
	for k, n := range o.endured {
		s.endured[k] += n
	}
	for k, n := range o.kinds {
		s.kinds[k] += n
		s.most[k] = max(s.most[k], o.most[k])
	}
	for k, by := range o.faults {
		for effect, n := range by {
			s.faults[k][effect] += n
		}
	}
}

func (s *sums) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%.1f virtual hours in %v; %d records sent, %d transactions, %d outcomes unknown, %d excused; %d arrivals, %d of them repeats, bound %d\n",
		s.virtual.Hours(), s.real.Round(10*time.Millisecond), s.records, s.transactions, s.unknown, s.excused, s.arrived, s.repeats, s.allowed)
	fmt.Fprintf(&b, "%d starts, %d stops, %d kills, %d times off the network, %d deletions of records, %d truncations; %d offsets committed, %d of a stale generation, %d overtaken, metadata up to %d; %d copies, %d settled deliveries of what was copied\n",
		s.starts, s.stops, s.kills, s.unplugged, s.deleted, s.truncated, s.commits, s.fenced, s.overtaken, s.longest, s.copies, s.settled)
	fmt.Fprintln(&b, &s.journal)
	fmt.Fprintln(&b, &s.ids)
	fmt.Fprintln(&b, s.turns)
	fmt.Fprintf(&b, "at least twice in each life, with all well between (after %v at most):", s.slowest.Round(time.Second))
	for _, k := range slices.Sorted(maps.Keys(s.endured)) {
		fmt.Fprintf(&b, " %s %d,", k, s.endured[k])
	}
	fmt.Fprintln(&b)
	fmt.Fprintf(&b, "%-22s %9s %8s %8s %8s %8s %8s", "", "requests", "a second", refused, lost, cut, slowed)
	for _, k := range slices.Sorted(maps.Keys(s.kinds)) {
		f := s.faults[k]
		fmt.Fprintf(&b, "\n%-22s %9d %8d %8d %8d %8d %8d", kmsg.NameForKey(k), s.kinds[k], s.most[k], f[refused], f[lost], f[cut], f[slowed])
	}
	return b.String()
}

// enough is the number of seeds from which on every fault must have happened.
const enough = 40

// complain fails the test where, with many seeds, something never happened to the journal.
func (s *journalSums) complain(t *testing.T) {
	t.Helper()
	for what, n := range map[string]int{
		"fact was written": s.facts, "snapshot was written": s.snapshots, "strange record was there": s.strange, "record was deleted": s.deletions,
		"assignment began from it": s.begun, "harm was done": s.harms, "request was kept from it": s.silent, "calm delivery was looked for": s.calm,
	} {
		if n == 0 {
			t.Errorf("journal: no %s", what)
		}
	}
}

// complain fails the test for kinds of requests that the rig has no fault for, and, with
// many seeds, for faults that never happened.
func (s *sums) complain(t *testing.T, seeds int) {
	t.Helper()
	if seeds >= enough {
		s.journal.complain(t)
		s.ids.complain(t)
		if s.copies == 0 || s.settled == 0 {
			t.Errorf("%d copies were sent to the runs topic, %d deliveries of what was copied had to be the last", s.copies, s.settled)
		}
	}
	for k := range s.kinds {
		name := kmsg.NameForKey(k)
		f, known := s.faults[k]
		if !known {
			t.Errorf("a daemon sends %s, for which the rig has no fault", name)
			continue
		}
		for _, effect := range []string{refused, lost, cut, slowed} {
			if seeds >= enough && f[effect] == 0 && (effect != refused || len(refusals[kmsg.Key(k)]) > 0) {
				t.Errorf("%s was never %s in %d seeds", name, effect, seeds)
			}
		}
	}
}
