package daemon

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

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
var named = [][]string{{"topic", "partition", "loaded"}, {"topic", "partition", "copies"}, {"kind", "name", "partition"}, {"seconds", "records"}, {"variable"}, {"broker"}, {"ingress"}, {"id", "found"}, {"target", "records"}, {"reason", "text"}}

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
	inBrackets  = regexp.MustCompile(`\[[^]#]+\]`)
	label       = regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)
	ofHistogram = regexp.MustCompile(`_(seconds|attempts)_(bucket|sum|count)$`)
	bucketEnd   = regexp.MustCompile(`_(bucket|sum|count)$`)
)

// closed are the labels whose values are codes. Others are names.
var closed = []string{"outcome", "result", "kind", "place", "seconds", "status"}

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
	if ofHistogram.MatchString(name) {
		return bucketEnd.ReplaceAllString(name, "")
	}
	var kept []string
	for _, m := range label.FindAllStringSubmatch(labels, -1) {
		if slices.Contains(closed, m[1]) || m[1] == "reason" && slices.Contains([]string{"layover_intake_paused", "layover_connection_refused_total", "layover_barrier_opened_total"}, name) {
			kept = append(kept, fmt.Sprintf("%s=%q", m[1], m[2]))
		}
	}
	if len(kept) == 0 {
		return name
	}
	return name + "{" + strings.Join(kept, ",") + "}"
}

func (n *numbers) rowOf(key string) row { return n.table[rowName(key)] }

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
