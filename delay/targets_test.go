package delay

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

func TestResolve(t *testing.T) {
	targets := mustTargets(t, "ready",
		[]string{"orders", "eu.*", "eu.retry-?", "us.[a-c]*", "delayed", "dead-*", "__secret", "ready*", "*.journal"},
		[]string{"delayed", "dead-letters", "layover.journal", "ready-not"})
	full := strings.Repeat("x", 246)
	tests := map[string]struct{ name, label string }{
		"an exact name": {"orders", "orders"},
		"the egress topic, also if a glob matches": {"ready", "ready"},
		"a glob":                              {"eu.orders", "eu.*"},
		"the first of two globs":              {"eu.retry-1", "eu.*"},
		"a star matches nothing as well":      {"eu.", "eu.*"},
		"a class":                             {"us.boston", "us.[a-c]*"},
		"outside a class":                     {"us.dallas", ""},
		"a glob matches from the start":       {"neu.orders", ""},
		"a glob matches to the end":           {"x.journals", ""},
		"a glob that also names a denied one": {"dead-end", "dead-*"},
		"denied though the list names it":     {"delayed", ""},
		"denied though a glob matches":        {"dead-letters", ""},
		"the journal though a glob matches":   {"layover.journal", ""},
		"denied though it looks like egress":  {"ready-not", ""},
		"internal though the list names it":   {"__secret", ""},
		"internal":                            {"__consumer_offsets", ""},
		"internal though a glob matches":      {"__x.journal", ""},
		"another":                             {"payments", ""},
		"another case":                        {"ORDERS", ""},
		"empty":                               {"", ""},
		"a space":                             {"eu.a b", ""},
		"a space in front":                    {" orders", ""},
		"a slash":                             {"eu.a/b", ""},
		"a zero":                              {"eu.\x00", ""},
		"not ASCII":                           {"eu.zażółć", ""},
		"a glob for a name":                   {"eu.*", ""},
		"the longest name":                    {"eu." + full, "eu.*"},
		"too long a name":                     {"eu." + full + "x", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for range 2 { // the second is from memory
				topic, label, ok := targets.Resolve([]byte(tt.name))
				if ok != (tt.label != "") || label != tt.label || ok && topic != tt.name || !ok && topic != "" {
					t.Errorf("got %q %q %v, want label %q", topic, label, ok, tt.label)
				}
			}
		})
	}
}

// A topic that looks like another process's journal or runs topic is a target only by its own
// name. A glob was meant for other topics, and a record in such a topic would harm the
// process that keeps it.
func TestAGlobAllowsNoJournalOfAnotherProcess(t *testing.T) {
	targets, err := NewTargets("ready", []string{"*", "orders.layover-orders"}, []string{"delayed.layover-delayed"}, []string{"*.layover-*", "delayed.?*-journal", "*.*.runs"})
	if err != nil {
		t.Fatal(err)
	}
	for name, label := range map[string]string{
		"orders.layover-orders": "orders.layover-orders", "orders.eu": "*", "layover-x": "*", "delayed": "*",
		"eu.layover-eu": "", "a.b.layover-c": "", "delayed.eu-journal": "", "delayed.eu": "*", "delayed.layover-delayed": "", "eu.billing.runs": "", "billing.runs": "*",
	} {
		for range 2 {
			if _, got, ok := targets.Resolve([]byte(name)); got != label || ok != (label != "") {
				t.Errorf("%s: label %q %v, want %q", name, got, ok, label)
			}
		}
	}
	if _, inv := (&Rules{MaxDelay: 1, Targets: targets}).parse(headers("x-deliver-to", "eu.layover-eu"), noon, noon); inv == nil || inv.Reason != ReasonTargetNotAllowed || !strings.Contains(inv.Error(), "named like a journal or a runs topic of Layover") {
		t.Errorf("a record for it is %+v, want target_not_allowed", inv)
	}
	if f := targets.fault([]byte("delayed.layover-delayed")); f != faultTargetDenied {
		t.Errorf("a denied topic whose name is like a journal's is refused as %q, want %q", f, faultTargetDenied)
	}
	if _, err := NewTargets("ready", nil, nil, []string{"a["}); err == nil {
		t.Error("a glob that cannot be read was taken")
	}
}

func TestDotsAreNoTopicsThoughAGlobMatches(t *testing.T) {
	targets := mustTargets(t, "", []string{"*"}, nil)
	for _, name := range []string{".", "..", "", "__x"} {
		if topic, _, ok := targets.Resolve([]byte(name)); ok {
			t.Errorf("%q was allowed as %q", name, topic)
		}
	}
	if _, _, ok := targets.Resolve([]byte("...")); !ok {
		t.Error("three dots are a legal topic")
	}
}

func TestOnlyTheEgressTopicWhereNothingIsAllowed(t *testing.T) {
	targets := mustTargets(t, "ready", nil, nil)
	if topic, label, ok := targets.Default(); topic != "ready" || label != "ready" || !ok {
		t.Errorf("default is %q %q %v", topic, label, ok)
	}
	if _, _, ok := targets.Resolve([]byte("orders")); ok {
		t.Error("orders was allowed")
	}
	if topic, _, ok := mustTargets(t, "", []string{"*"}, nil).Default(); ok || topic != "" {
		t.Errorf("default is %q where no egress topic is set", topic)
	}
}

func TestNewTargetsRefuses(t *testing.T) {
	tests := map[string]struct {
		egress  string
		allowed []string
		denied  []string
		words   string
	}{
		"an illegal egress topic":     {"a b", nil, nil, `egress topic "a b": want 1 to 249`},
		"an internal egress topic":    {"__x", nil, nil, `egress topic "__x": want a topic other`},
		"a denied egress topic":       {"delayed", nil, []string{"delayed"}, `egress topic "delayed": want a topic other`},
		"an illegal name":             {"ready", []string{"ok", "a/b"}, nil, `allowed target "a/b": want 1 to 249`},
		"an empty name":               {"ready", []string{""}, nil, `allowed target "": want`},
		"two dots":                    {"ready", []string{".."}, nil, `allowed target "..": want`},
		"too long a name":             {"ready", []string{strings.Repeat("a", 250)}, nil, `cut from 250 bytes`},
		"an open class":               {"ready", []string{"a[b"}, nil, `allowed target "a[b": syntax error in pattern`},
		"an open class behind a star": {"ready", []string{"*[b"}, nil, `syntax error in pattern`},
		"an escape of nothing":        {"ready", []string{`a\`}, nil, `syntax error in pattern`},
		"braces":                      {"ready", []string{"{a,b}*"}, nil, `no topic has '{' in its name`},
		"a space in a glob":           {"ready", []string{"a *"}, nil, `no topic has ' ' in its name`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			targets, err := NewTargets(tt.egress, tt.allowed, tt.denied, nil)
			if err == nil || targets != nil || !strings.Contains(err.Error(), tt.words) {
				t.Errorf("got %v, want %q", err, tt.words)
			}
		})
	}
}

func TestTargetsRememberABoundedNumberOfTopics(t *testing.T) {
	targets := mustTargets(t, "ready", []string{"orders", "*"}, nil)
	for i := range 2 * maxRemembered {
		name := fmt.Sprintf("topic-%d", i)
		topic, label, ok := targets.Resolve([]byte(name))
		if topic != name || label != "*" || !ok {
			t.Fatalf("%s: got %q %q %v", name, topic, label, ok)
		}
	}
	if got, want := len(*targets.known.Load()), 2+maxRemembered; got != want {
		t.Errorf("remembers %d topics, want %d", got, want)
	}
	for range 1000 {
		targets.Resolve([]byte("not/allowed"))
	}
	if got, want := len(*targets.known.Load()), 2+maxRemembered; got != want {
		t.Errorf("remembers %d topics after refusals, want %d", got, want)
	}
}

// Names are of 10 bytes each, so the bound is where the third would pass it.
func TestTargetsRememberWithinABoundInBytes(t *testing.T) {
	for name, tt := range map[string]struct{ bound, want int64 }{
		"two fit":          {2 * (rememberedSize + 10), 2},
		"a byte too few":   {2*(rememberedSize+10) - 1, 1},
		"nothing fits":     {0, 0},
		"more than we had": {1 << 40, maxRemembered},
	} {
		targets := mustTargets(t, "", []string{"*"}, nil)
		targets.Remember(tt.bound)
		for i := range maxRemembered + 5 {
			if _, _, ok := targets.Resolve(fmt.Appendf(nil, "topic-%04d", i)); !ok {
				t.Fatalf("%s: topic %d is refused", name, i)
			}
		}
		if got := targets.Bytes(); got != tt.want*(rememberedSize+10) || int64(len(*targets.known.Load())) != tt.want {
			t.Errorf("%s: %d topics in %d bytes, want %d", name, len(*targets.known.Load()), got, tt.want)
		}
	}
}

func TestTargetsAreForAnyNumberOfGoroutines(t *testing.T) {
	targets := mustTargets(t, "ready", []string{"eu.*"}, nil)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 500 {
				name := fmt.Sprintf("eu.%d", i)
				if topic, _, ok := targets.Resolve([]byte(name)); !ok || topic != name {
					t.Errorf("%s: got %q %v", name, topic, ok)
				}
			}
		})
	}
	wg.Wait()
}
