package daemon

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// numbers watches every number that an instance shows: each series of /metrics, and each
// leaf of /status. At each look it compares all of them with the truth from outside. That
// truth is what the test sent, what the brokers have, and what the scenario did. A number that
// nothing explains has to be what it was in the first look, where the instance was idle. A
// counter or an instant that nothing explains has to be what it was in the last look.
type numbers struct {
	w     *fixture
	in    *instance
	known *truth
	looks []sight
	// was is the value of each number where nothing explains another one.
	was map[string]any
	// explained are those that a truth has stood for, at any look.
	explained map[string]bool
	table     map[string]row
	leftOut   []string // beginnings of keys
}

// sight is what a look has judged.
type sight struct {
	values map[string]any
	some   bool           // and no others
	all    map[string]any // what there was, judged or not
}

// gone is the value of a number that is not there.
const gone = "gone"

// watch begins with an idle instance.
func (w *fixture) watch(in *instance, known *truth, also ...expected) *numbers {
	w.Helper()
	time.Sleep(20*time.Second + 37*time.Millisecond) // its runs are known then, it reads as far ahead as it ever does, and no commit goes just now
	n := &numbers{w: w, in: in, known: known, was: make(map[string]any), explained: make(map[string]bool), table: numbersTable()}
	n.look("at first", n.said().with(of(also...)))
	return n
}

// look compares every number with the truth, and with what the scenario says beside it.
func (n *numbers) look(when string, also expected) {
	n.w.Helper()
	time.Sleep(2 * time.Second) // the ends of logs are asked for once a second
	n.known.settle()
	want := n.known.now(n).with(also)
	got := n.all()
	n.inTable(got)
	for key, v := range want {
		n.explained[key] = true
		if _, there := got[key]; !there {
			n.w.Errorf("%s: %s is not there, want %v", when, key, v)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		v := got[key]
		if slices.ContainsFunc(n.leftOut, func(prefix string) bool { return strings.HasPrefix(key, prefix) }) {
			continue
		}
		w, explained := want[key]
		if !explained && len(n.looks) > 0 {
			w, explained = n.was[key]
		}
		if (explained || len(n.looks) > 0) && !fits(w, v) {
			n.w.Errorf("%s: %s is %v, want %v", when, key, v, w)
		}
		if k := n.rowOf(key).kind; len(n.looks) == 0 || k == counter || k == stamp {
			n.was[key] = v
		}
	}
	for key, v := range n.was {
		if _, there := got[key]; !there && v != nil && !n.mayGo(key, got) {
			n.w.Errorf("%s: %s is gone, was %v", when, key, v)
		}
	}
	n.looks = append(n.looks, sight{values: got, all: got})
}

// some looks at some numbers, where the rest is another scenario's. One that is gone is not there.
func (n *numbers) some(when string, want expected) {
	n.w.Helper()
	time.Sleep(2 * time.Second)
	got, judged := n.all(), make(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(want)) {
		n.explained[key] = true
		v, there := got[key]
		if !there {
			v = gone
		}
		if judged[key] = v; !fits(want[key], v) {
			n.w.Errorf("%s: %s is %v, want %v", when, key, v, want[key])
		}
	}
	n.inTable(got)
	n.looks = append(n.looks, sight{judged, true, got})
}

// beside watches an instance of which some numbers are sight at.
func (w *fixture) beside(in *instance) *numbers {
	return &numbers{w: w, in: in, was: make(map[string]any), explained: make(map[string]bool), table: numbersTable()}
}

// inTable fails the test for numbers that are in no row.
func (n *numbers) inTable(got map[string]any) {
	n.w.Helper()
	lacking := make(map[string]bool)
	for key := range got {
		if _, there := n.table[rowName(key)]; !there {
			lacking[rowName(key)] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(lacking)) {
		n.w.Errorf("%s is in no row of the table: which scenario moves it?", name)
	}
}

// ignoring runs looks that leave out the numbers whose keys begin so: what they count goes on
// while the test looks.
func (n *numbers) ignoring(f func(), prefixes ...string) {
	n.leftOut = prefixes
	f()
	n.leftOut = nil
}

// mayGo reports whether the absence of a number is told by another one: a list's length, or
// the object that is no more.
func (n *numbers) mayGo(key string, got map[string]any) bool {
	for parent := key; parent != ""; {
		cut := strings.LastIndexAny(parent, ".[{")
		if cut < 0 {
			break
		}
		parent = parent[:cut]
		if _, there := got[parent+"[#]"]; there {
			return true
		}
		if v, there := got[parent]; there && v == nil {
			return true
		}
	}
	return n.rowOf(key).kind == sometimes
}

// all returns every number of the instance now, by key.
func (n *numbers) all() map[string]any {
	n.w.Helper()
	out := make(map[string]any)
	_, metrics := n.in.get("/metrics")
	for line := range strings.Lines(metrics) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || !strings.HasPrefix(name, "layover_") || strings.HasPrefix(name, "layover_kafka_") && name != "layover_kafka_connected" {
			continue // of the client library, which counts by itself
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			n.w.Fatalf("%q: %v", line, err)
		}
		out[sorted(name)] = v
	}
	_, body := n.in.get("/status")
	var status map[string]any
	if err := json.Unmarshal([]byte(body), &status); err != nil {
		n.w.Fatal(err)
	}
	flatten("", status, out)
	return out
}

// done fails the test unless the numbers of the scenario have moved as their kind does.
func (n *numbers) done(scenario string) {
	n.w.Helper()
	moved := make(map[string]bool)
	for key := range n.explained {
		name := rowName(key)
		moved[name] = moved[name] || n.moves(key, n.table[name].kind)
	}
	for _, name := range slices.Sorted(maps.Keys(n.table)) {
		if r := n.table[name]; slices.Contains(r.scenarios, scenario) && !moved[name] {
			n.w.Errorf("%s has not moved as a %s does", name, r.kind)
		}
	}
}

// moves reports whether a number has moved as its kind does.
func (n *numbers) moves(key string, k kind) bool {
	var values []any
	for _, l := range n.looks {
		v, there := l.values[key]
		if _, beside := l.all[key]; !there && beside {
			continue
		}
		if !there {
			v = gone
		}
		values = append(values, v)
	}
	if len(values) == 0 {
		return false
	}
	last := values[len(values)-1]
	switch k {
	case fixed:
		return last != gone
	case sometimes:
		return slices.Contains(values, any(gone)) && slices.ContainsFunc(values, func(v any) bool { return v != gone })
	case clock, stamp:
		return slices.ContainsFunc(values, func(v any) bool { return v != last })
	case counter:
		first, _ := values[0].(float64)
		end, _ := last.(float64)
		return end > first && values[len(values)-2] == last
	}
	for i, v := range values {
		if j := slices.IndexFunc(values[i:], func(other any) bool { return other != v }); j >= 0 && slices.Contains(values[i+j:], v) {
			return true
		}
	}
	return false
}
