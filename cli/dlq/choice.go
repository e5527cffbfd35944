package dlq

import (
	"bytes"
	"slices"
	"time"

	"layover/delay"
)

// filters choose among dead letters. Each that is given has to hold.
type filters struct {
	reasons []delay.Reason // any of them; none: all
	ingress string         // "": all
	since   time.Time      // dead-lettered then or later; zero: ever
	key     []byte
	byKey   bool
}

// choose reports whether a letter is wanted.
func (f *filters) choose(l *letter) bool {
	switch {
	case len(f.reasons) > 0 && !slices.Contains(f.reasons, l.reason):
		return false
	case f.ingress != "" && l.origin.Topic != f.ingress:
		return false
	case f.byKey && (l.Key == nil || !bytes.Equal(l.Key, f.key)):
		return false
	}
	return !l.at.Before(f.since)
}

// obstacle is why a letter is passed over by redrive. The words are documented.
type obstacle string

const (
	none       obstacle = ""
	foreign    obstacle = "foreign"     // not a dead letter of Layover
	otherGroup obstacle = "other_group" // of a Layover of another group
	otherTopic obstacle = "other_topic" // of a topic that is no ingress topic here
	cancels    obstacle = "cancel"
	reference  obstacle = "batch"    // stands for a batch, and has no content
	valueless  obstacle = "no_value" // went without the value of its record
)

// obstacles are all there are, with their meaning behind a count.
var obstacles = []struct {
	obstacle
	meaning string
}{
	{foreign, "not dead letters of Layover"},
	{otherGroup, "of another group: --any-group takes them"},
	{otherTopic, "of a topic that LAYOVER_INGRESS_TOPICS does not have"},
	{cancels, "cancels: what they were to end has been delivered or not"},
	{reference, "stand for a batch, whose records are in the ingress topic alone"},
	{valueless, "went without the value of their record, which is in the ingress topic alone"},
}

// routes are the settings that say where dead letters may go back to.
type routes struct {
	ingress  []string // empty: not known
	group    string   // "": not known
	anyGroup bool
}

// obstacle returns why a letter is passed over, or none. Only what was written as it
// was can be sent again: a guess would be a record that nobody has written.
func (t *routes) obstacle(l *letter) obstacle {
	switch {
	case !t.anyGroup && t.group != "" && l.group != t.group:
		return otherGroup
	case l.batch:
		return reference
	case l.cancel():
		return cancels
	case l.dropped:
		return valueless
	case len(t.ingress) > 0 && !slices.Contains(t.ingress, l.origin.Topic):
		return otherTopic
	}
	return none
}
