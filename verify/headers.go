package verify

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The headers that docs/headers.md promises.
var (
	control = []string{"x-delay", "x-deliver-at", "x-deliver-to", "x-delay-id", "x-delay-cancel"}
	stamps  = []string{"layover-id", "layover-due", "layover-original-timestamp"}
	counted = []string{"layover-hops"} // of what was delivered before
	errata  = []string{"layover.errors.topic", "layover.errors.partition", "layover.errors.offset", "layover.errors.group",
		"layover.errors.reason", "layover.errors.message", "layover.errors.timestamp"}
	// dropped is on a dead letter whose value its topic did not take, and on no other.
	dropped = "layover.errors.value"
)

func isOneOf(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}

// without returns the headers whose name is none of those.
func without(headers []Header, names ...string) []Header {
	return slices.DeleteFunc(slices.Clone(headers), func(h Header) bool { return isOneOf(names, h.Name) })
}

// sameBytes tells null from empty.
func sameBytes(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }

// show is a nullable value, cut to what a line can take.
func show(b []byte) string {
	switch {
	case b == nil:
		return "null"
	case len(b) > 40:
		return fmt.Sprintf("%q… (%d bytes)", b[:40], len(b))
	}
	return strconv.Quote(string(b))
}

// passed says what became of the user's headers: they come first, each as it was and
// in its order; what follows them is the product's.
func passed(want, got []Header) (added []Header, fault string) {
	for i, w := range want {
		if i >= len(got) {
			return nil, fmt.Sprintf("header %d, %s, is missing", i, w.Name)
		}
		if g := got[i]; g.Name != w.Name || !sameBytes(g.Value, w.Value) {
			return nil, fmt.Sprintf("header %d is %s=%s, want %s=%s", i, g.Name, show(g.Value), w.Name, show(w.Value))
		}
	}
	return got[len(want):], ""
}

// values returns added headers by name, or what is wrong with them: each name once, and
// no other.
func values(added []Header, names []string) (by map[string]string, fault string) {
	by = make(map[string]string)
	for _, h := range added {
		if _, again := by[h.Name]; again || !slices.Contains(names, h.Name) {
			return nil, fmt.Sprintf("header %s=%s is not expected", h.Name, show(h.Value))
		}
		by[h.Name] = string(h.Value)
	}
	for _, name := range names {
		if _, ok := by[name]; !ok {
			return nil, "header " + name + " is missing"
		}
	}
	return by, ""
}

// instant is the only form in which a time is stamped.
const instant = "2006-01-02T15:04:05.000Z"

func formatted(t time.Time) string { return t.UTC().Format(instant) }

// deliveredHeaders says what is wrong with the headers of a delivery, "" for nothing.
func deliveredHeaders(e *entry, got []Header) string {
	for _, h := range got {
		if isOneOf(control, h.Name) {
			return fmt.Sprintf("control header %s=%s is still there", h.Name, show(h.Value))
		}
	}
	counts := e.carried()
	ours := slices.Concat(stamps, slices.Collect(maps.Keys(counts)))
	added, fault := passed(without(e.Record.Headers, slices.Concat(control, counted, ours)...), got)
	if fault != "" {
		return fault
	}
	by, fault := values(added, ours)
	if fault != "" {
		return fault
	}
	for name, want := range counts {
		if by[name] != want {
			return fmt.Sprintf("%s is %q, want %q", name, by[name], want)
		}
	}
	due := e.Due
	if due.IsZero() {
		due = e.Record.Timestamp
	}
	switch {
	case !e.isOrigin(by["layover-id"]):
		return fmt.Sprintf("layover-id is %q, want %q", by["layover-id"], e.origin())
	case by["layover-due"] != formatted(due):
		return fmt.Sprintf("layover-due is %q, want %q", by["layover-due"], formatted(due))
	case by["layover-original-timestamp"] != formatted(e.Record.Timestamp):
		return fmt.Sprintf("layover-original-timestamp is %q, want %q", by["layover-original-timestamp"], formatted(e.Record.Timestamp))
	}
	return ""
}

// deadHeaders says what is wrong with the headers of a dead letter, "" for nothing.
func deadHeaders(e *entry, got []Header) string {
	added, fault := passed(without(e.Record.Headers, append(errata, dropped)...), got)
	if fault != "" {
		return fault
	}
	if n := len(added) - 1; n >= 0 && added[n].Name == dropped { // it is last, and judge has seen what it says
		added = added[:n]
	}
	by, fault := values(added, errata)
	if fault != "" {
		return fault
	}
	at := by["layover.errors.topic"] + "-" + by["layover.errors.partition"] + "-" + by["layover.errors.offset"]
	_, err := time.Parse(instant, by["layover.errors.timestamp"])
	switch reason := by["layover.errors.reason"]; {
	case !slices.Contains(e.Dead, reason):
		return fmt.Sprintf("dead-lettered as %q (%s), want one of %q", reason, by["layover.errors.message"], e.Dead)
	case !e.isOrigin(at):
		return fmt.Sprintf("the error headers say it was %q, want %q", at, e.origin())
	case by["layover.errors.group"] == "" || by["layover.errors.message"] == "":
		return "an error header is empty"
	case err != nil:
		return fmt.Sprintf("layover.errors.timestamp is %q", by["layover.errors.timestamp"])
	}
	return ""
}

// hasDropped says whether a dead letter says that its topic did not take the value.
func hasDropped(a *Record) bool {
	return slices.ContainsFunc(a.Headers, func(h Header) bool { return h.Name == dropped && string(h.Value) == "dropped" })
}

// hasExpired says whether a dead letter is one because its record expired.
func (e *entry) hasExpired(a *Record) bool {
	return !e.Expires.IsZero() && slices.ContainsFunc(a.Headers, func(h Header) bool {
		return h.Name == "layover.errors.reason" && string(h.Value) == "expired"
	})
}

// origin is the id that the product gives a record: where it lies in the ingress topic.
func (e *entry) origin() string {
	if e.outcome != acked {
		return e.Record.Topic + "-<partition>-<offset>"
	}
	return fmt.Sprintf("%s-%d-%d", e.Record.Topic, e.Record.Partition, e.Record.Offset)
}

// isOrigin says whether an id may be the record's. Where it lies is known only of an
// acknowledged one; of any other the id has to have the form.
func (e *entry) isOrigin(id string) bool {
	if e.outcome == acked {
		return id == e.origin()
	}
	rest, ok := strings.CutPrefix(id, e.Record.Topic+"-")
	partition, offset, found := strings.Cut(rest, "-")
	_, err1 := strconv.ParseUint(partition, 10, 31)
	_, err2 := strconv.ParseUint(offset, 10, 63)
	return ok && found && err1 == nil && err2 == nil
}
