package daemon

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// numbers watches every number that an instance shows: each series of /metrics, and each
// leaf of /status. At each look it compares all of them with the truth from outside: what
// the test sent, what the brokers have, and what the scenario did. A number that nothing
// explains has to be what it was in the first look, where the instance was idle; a counter,
// what it was in the last one.
type numbers struct {
	w     *fixture
	in    *instance
	known *truth
	looks []sight
	// was is the value of each number where nothing explains another one.
	was map[string]any
	// explained are those that a truth has stood for, at any look.
	explained map[string]bool
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
	n := &numbers{w: w, in: in, known: known, was: make(map[string]any), explained: make(map[string]bool)}
	n.look("at first", n.said().with(of(also...)))
	return n
}

// expected are values by key. A value is a number, a string, a bool or nil, an instant, or a judge.
type expected map[string]any

// judge says what a value has to be.
type judge struct {
	what string
	is   func(v any) bool
}

// with returns both; those of more count where both have one.
func (e expected) with(more expected) expected {
	out := maps.Clone(e)
	maps.Copy(out, more)
	return out
}

// secondsSince is how long ago an instant is when it is sight at.
func secondsSince(t time.Time) judge {
	return judge{fmt.Sprintf("the seconds since %v", t.UTC()), func(v any) bool { return nearly(time.Since(t).Seconds()).is(v) }}
}

// secondsUntil is how long it is until an instant when it is sight at.
func secondsUntil(t time.Time) judge {
	return judge{fmt.Sprintf("the seconds until %v", t.UTC()), func(v any) bool { return nearly(time.Until(t).Seconds()).is(v) }}
}

func between(low, high float64) judge {
	return judge{fmt.Sprintf("between %v and %v", low, high), func(v any) bool {
		n, ok := v.(float64)
		return ok && n >= low && n <= high
	}}
}

// nearly is a number of seconds that go by while the test looks.
func nearly(n float64) judge { return between(n-1.5, n+1.5) }

// around is an instant that the process has sight for about once a second.
func around(t time.Time) judge { return by(t.Add(2*time.Second), 2200*time.Millisecond) }

// of puts expectations together; the last that has a key counts.
func of(all ...expected) expected {
	out := make(expected)
	for _, e := range all {
		maps.Copy(out, e)
	}
	return out
}

func has(parts ...string) judge {
	return judge{fmt.Sprintf("a text with %q", parts), func(v any) bool {
		s, ok := v.(string)
		return ok && !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(s, p) })
	}}
}

// slack is how far an instant may be from that which the test knows.
const slack = 150 * time.Millisecond

// by is an instant that came within a time before t.
func by(t time.Time, within time.Duration) judge {
	return judge{fmt.Sprintf("at %v or up to %v before", t.UTC(), within), func(v any) bool {
		at, ok := instantOf(v)
		return ok && !at.After(t.Add(slack)) && !at.Before(t.Add(-within-slack))
	}}
}

// instantOf reads an instant of /status, or one of a metric in seconds.
func instantOf(v any) (time.Time, bool) {
	switch v := v.(type) {
	case string:
		at, err := time.Parse(time.RFC3339, v)
		return at, err == nil
	case float64:
		return time.UnixMilli(int64(math.Round(v * 1000))), v != 0
	}
	return time.Time{}, false
}

// fits reports whether a value is what is wanted.
func fits(want, got any) bool {
	switch want := want.(type) {
	case judge:
		return want.is(got)
	case time.Time:
		return by(want, 0).is(got)
	case int:
		return got == float64(want)
	case int64:
		return got == float64(want)
	}
	return want == got
}

func (j judge) String() string { return j.what }

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
		if k := rowOf(key).kind; len(n.looks) == 0 || k == counter || k == stamp {
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
	return &numbers{w: w, in: in, was: make(map[string]any), explained: make(map[string]bool)}
}

// inTable fails the test for numbers that are in no row.
func (n *numbers) inTable(got map[string]any) {
	n.w.Helper()
	table := numbersTable()
	lacking := make(map[string]bool)
	for key := range got {
		if _, there := table[rowName(key)]; !there {
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
	return rowOf(key).kind == sometimes
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

// sorted returns the name of a series with its labels in the order of their names.
func sorted(series string) string {
	name, _, labelled := strings.Cut(series, "{")
	if !labelled {
		return series
	}
	pairs := label.FindAllString(series, -1)
	slices.Sort(pairs)
	return name + "{" + strings.Join(pairs, ",") + "}"
}

// named are the members that name an element of a list.
var named = [][]string{{"topic", "partition", "loaded"}, {"kind", "name", "partition"}, {"seconds", "records"}, {"variable"}, {"broker"}, {"ingress"}, {"id", "found"}, {"target", "records"}, {"reason", "text"}}

// flatten makes a key of each leaf: .assignments[delayed/0].low_offset.
func flatten(path string, v any, out map[string]any) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			flatten(path+"."+name, member, out)
		}
	case []any:
		out[path+"[#]"] = float64(len(v))
		for i, element := range v {
			flatten(fmt.Sprintf("%s[%s]", path, nameOf(element, i)), element, out)
		}
	default:
		out[path] = v
	}
}

func nameOf(element any, i int) string {
	members, _ := element.(map[string]any)
	for _, names := range named {
		if !slices.ContainsFunc(names, func(name string) bool { _, there := members[name]; return !there }) {
			switch names[0] {
			case "topic":
				return fmt.Sprintf("%v/%v", members["topic"], members["partition"])
			case "kind":
				if members["partition"] != nil {
					return fmt.Sprintf("%v %v/%v", members["kind"], members["name"], members["partition"])
				}
				return fmt.Sprintf("%v %v", members["kind"], members["name"])
			}
			return fmt.Sprint(members[names[0]])
		}
	}
	return strconv.Itoa(i)
}

// kind is how a number moves.
type kind string

const (
	counter   kind = "counter"   // goes up with each thing that happens, and stays when nothing does
	gauge     kind = "gauge"     // goes up and comes back
	sometimes kind = "sometimes" // is there while there is something to say, and gone again
	fixed     kind = "fixed"     // is what was set
	stamp     kind = "stamp"     // when something last happened, or what was the last of it; or it goes one way
	clock     kind = "clock"     // goes with the time
)

type row struct {
	kind      kind
	scenarios []string
}

var (
	inBrackets = regexp.MustCompile(`\[[^]#]+\]`)
	label      = regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)
	bucketEnd  = regexp.MustCompile(`_(bucket|sum|count)$`)
)

// closed are the labels whose values are codes. Others are names.
var closed = []string{"outcome", "kind", "place", "seconds", "status"}

// rowName is the name of a key's row in the table: without names of topics, targets and others.
func rowName(key string) string {
	if strings.HasPrefix(key, ".") {
		if rest, ok := strings.CutPrefix(key, ".kafka.warnings."); ok && rest != "" {
			return ".kafka.warnings.*"
		}
		if rest, ok := strings.CutPrefix(key, ".dead_letters.by_reason."); ok && rest != "" {
			return ".dead_letters.by_reason.*"
		}
		return inBrackets.ReplaceAllString(key, "[]")
	}
	name, labels, _ := strings.Cut(key, "{")
	if strings.HasSuffix(name, "_seconds_sum") || strings.HasSuffix(name, "_seconds_count") || strings.HasSuffix(name, "_seconds_bucket") {
		return bucketEnd.ReplaceAllString(name, "")
	}
	var kept []string
	for _, m := range label.FindAllStringSubmatch(labels, -1) {
		if slices.Contains(closed, m[1]) || m[1] == "reason" && slices.Contains([]string{"layover_intake_paused", "layover_connection_refused_total"}, name) {
			kept = append(kept, fmt.Sprintf("%s=%q", m[1], m[2]))
		}
	}
	if len(kept) == 0 {
		return name
	}
	return name + "{" + strings.Join(kept, ",") + "}"
}

func rowOf(key string) row { return numbersTable()[rowName(key)] }

// numbersTable reads the table.
func numbersTable() map[string]row {
	out := make(map[string]row)
	for line := range strings.Lines(numbersText) {
		f := strings.Fields(line)
		if len(f) < 3 {
			continue
		}
		out[f[2]] = row{kind(f[0]), strings.Split(f[1], ",")}
	}
	return out
}

// done fails the test unless the numbers of the scenario have moved as their kind does.
func (n *numbers) done(scenario string) {
	n.w.Helper()
	table := numbersTable()
	moved := make(map[string]bool)
	for key := range n.explained {
		name := rowName(key)
		moved[name] = moved[name] || n.moves(key, table[name].kind)
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if r := table[name]; slices.Contains(r.scenarios, scenario) && !moved[name] {
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

// families are the names of all metrics of an instance, also of those without a series.
func (in *instance) families() (names []string) {
	descriptions := make(chan *prometheus.Desc)
	go func() {
		in.daemon.registry.Describe(descriptions)
		close(descriptions)
	}()
	name := regexp.MustCompile(`fqName: "(layover_[^"]+)"`)
	for d := range descriptions {
		if m := name.FindStringSubmatch(d.String()); m != nil && (!strings.HasPrefix(m[1], "layover_kafka_") || m[1] == "layover_kafka_connected") {
			names = append(names, m[1])
		}
	}
	return names
}

// TestEveryMetricHasARow: also one without a series in any run.
func TestEveryMetricHasARow(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		names := in.families()
		if len(names) < 50 {
			t.Fatalf("only the metrics %q are there", names)
		}
		table := numbersTable()
		for _, name := range names {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(table)), func(row string) bool { return row == name || strings.HasPrefix(row, name+"{") }) {
				t.Errorf("%s is in no row of the table", name)
			}
		}
		in.stop()
	})
}
