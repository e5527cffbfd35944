package verify

import (
	"errors"
	"fmt"
	"strings"
)

// Kind is what can be wrong with a record.
type Kind uint8

const (
	Lost        Kind = iota // acknowledged, not excused, and nowhere
	Early                   // there before it was due, by the timestamp of its delivery
	Repeated                // there more often than the faults allow
	Wrong                   // in another topic, or changed on its way
	Strange                 // sent by nobody
	Returned                // stamped after the event that said it was cancelled or replaced
	Outrun                  // there though a cancel was acknowledged in time, and nothing was amiss
	Stale                   // handed out after its expiry
	Uncommanded             // an event that no record in the log is the reason of
	Unsaid                  // a cancel without an event
	SaidAgain               // with more events than the faults allow
	kinds
)

// String returns the word that reports use.
func (k Kind) String() string {
	return [...]string{"lost", "early", "repeated", "wrong", "strange",
		"returned", "outrun", "stale", "uncommanded", "unsaid", "said again"}[k]
}

// shown is how many findings of a kind a report spells out.
const shown = 5

// Report is what Check found.
type Report struct {
	Sent, Acked, Refused, Unknown int // records entered, and how their sending ended
	Excused                       int // acknowledged ones that need not arrive, and did not
	Came                          int // different records that arrived
	Arrived                       int // all records in the topics, but for events
	Repeats, Allowed              int // arrivals beyond each record's first, and the bound
	InTime                        int // cancels that had to win

	Events map[string]int // by what they say

	counts map[Kind]int
	found  map[Kind][]string // the first few, as lines
}

func (r *Report) add(k Kind, format string, args ...any) {
	r.counts[k]++
	if len(r.found[k]) < shown {
		r.found[k] = append(r.found[k], fmt.Sprintf(format, args...))
	}
}

func (r *Report) count(e *entry) {
	r.Sent++
	switch e.outcome {
	case acked:
		r.Acked++
	case refused:
		r.Refused++
	default:
		r.Unknown++
	}
}

// Count returns how many findings of a kind there are.
func (r *Report) Count(k Kind) int { return r.counts[k] }

// String is the report in lines: the counts, and the first few findings of each kind.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d sent: %d acknowledged, %d refused, %d unknown; %d excused and gone\n", r.Sent, r.Acked, r.Refused, r.Unknown, r.Excused)
	fmt.Fprintf(&b, "%d arrivals of %d records, %d of them repeats, %d allowed", r.Arrived, r.Came, r.Repeats, r.Allowed)
	if len(r.Events) > 0 {
		fmt.Fprintf(&b, "\nevents: %v; %d cancels in time", r.Events, r.InTime)
	}
	for k := range kinds {
		if r.counts[k] == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n%d %s:", r.counts[k], k)
		for _, line := range r.found[k] {
			b.WriteString("\n  " + line)
		}
		if more := r.counts[k] - len(r.found[k]); more > 0 {
			fmt.Fprintf(&b, "\n  and %d more", more)
		}
	}
	return b.String()
}

// Err returns the report as an error where anything is wrong, and nil where not.
func (r *Report) Err() error {
	if len(r.counts) == 0 {
		return nil
	}
	return errors.New(r.String())
}
