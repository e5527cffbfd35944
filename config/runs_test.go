package config

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const aDay = 24 * time.Hour

// TestTheLongestDelayFollowsFromWhetherRecordsAreMoved: without runs it has to stay below the
// retention that ingress topics have by default.
func TestTheLongestDelayFollowsFromWhetherRecordsAreMoved(t *testing.T) {
	for name, test := range map[string]struct {
		env  []string
		want time.Duration
		has  bool // runs of the topic delayed
	}{
		"by default":                 {nil, 30 * aDay, true},
		"runs are off":               {[]string{"LAYOVER_RUNS=off"}, 6 * aDay, false},
		"there is no journal":        {[]string{"LAYOVER_JOURNAL=off"}, 6 * aDay, false},
		"both are off":               {[]string{"LAYOVER_RUNS=off", "LAYOVER_JOURNAL=off"}, 6 * aDay, false},
		"a group that no topic is":   {[]string{"LAYOVER_GROUP_ID=my group"}, 6 * aDay, false},
		"too long for runs alone":    {[]string{"LAYOVER_GROUP_ID=" + strings.Repeat("g", 240)}, 6 * aDay, false},
		"as long as runs may be":     {[]string{"LAYOVER_GROUP_ID=" + strings.Repeat("g", 236)}, 30 * aDay, true},
		"a journal with a long name": {[]string{"LAYOVER_JOURNAL_TOPIC={ingress}" + strings.Repeat("j", 249)}, 6 * aDay, false},
		"one of two topics has runs": {[]string{"LAYOVER_INGRESS_TOPICS=delayed," + strings.Repeat("i", 240)}, 6 * aDay, true},
		"it is set, with runs":       {[]string{"LAYOVER_MAX_DELAY=1h"}, time.Hour, true},
		"it is set, without":         {[]string{"LAYOVER_MAX_DELAY=90d", "LAYOVER_RUNS=off"}, 90 * aDay, false},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, _, err := load(minimal(test.env...), host)
			if err != nil {
				t.Fatal(err)
			}
			if cfg.MaxDelay != test.want || cfg.HasRuns("delayed") != test.has {
				t.Errorf("the longest delay is %v, runs %v, want %v, %v", cfg.MaxDelay, cfg.HasRuns("delayed"), test.want, test.has)
			}
			if set := slices.ContainsFunc(test.env, func(e string) bool { return strings.HasPrefix(e, "LAYOVER_MAX_DELAY") }); !set && cfg.RunsOn() != (test.want == 30*aDay) {
				t.Errorf("runs on: %v", cfg.RunsOn())
			}
		})
	}
}

// TestABackoffFitsTheLongestDelayOfTheMode: both are derived, and one follows the other.
func TestABackoffFitsTheLongestDelayOfTheMode(t *testing.T) {
	if cfg := mustLoad(t, minimal("LAYOVER_RUNS=off", "LAYOVER_BACKOFF=1s..6d")); cfg.Backoff.Last() != 6*aDay {
		t.Errorf("the last wait is %v", cfg.Backoff.Last())
	}
	wantProblem(t, minimal("LAYOVER_RUNS=off", "LAYOVER_BACKOFF=1s..7d"), "LAYOVER_BACKOFF", "6d by default")
	mustLoad(t, minimal("LAYOVER_BACKOFF=1s..30d"))
}

func TestARunsTopicIsNamedForItsIngressTopicAndItsGroup(t *testing.T) {
	for name, test := range map[string]struct{ setting, group, want string }{
		"by default":             {"", "g", "in.g.runs"},
		"set":                    {"far.{group}_{ingress}", "g", "far.g_in"},
		"both twice":             {"{group}{ingress}{ingress}{group}", "g", "gining"},
		"a group named like one": {"", "{ingress}", "in.{ingress}.runs"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := mustLoad(t, minimal("LAYOVER_RUNS_TOPIC="+test.setting, "LAYOVER_GROUP_ID="+test.group)).RunsName("in"); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestWithoutAJournalItIsSaidThatNothingIsMoved, unless runs are off, too.
func TestWithoutAJournalItIsSaidThatNothingIsMoved(t *testing.T) {
	for _, env := range [][]string{{"LAYOVER_JOURNAL=off"}, {"LAYOVER_JOURNAL_FILE=/v/off", "LAYOVER_RUNS=auto"}} {
		_, warnings, err := load(minimal(env...), host)
		if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "nothing is moved to runs") || !strings.Contains(warnings[0], "set LAYOVER_RUNS=off too, or LAYOVER_JOURNAL=auto") {
			t.Errorf("%q: warnings %q, %v", env, warnings, err)
		}
	}
	mustLoad(t, minimal("LAYOVER_JOURNAL=off", "LAYOVER_RUNS=off"))
	mustLoad(t, minimal("LAYOVER_RUNS=off"))
}

// TestAHeaderChoosesNoRunsTopic, this Layover's or another's, whatever a glob matches: a
// record there might pass for a copy.
func TestAHeaderChoosesNoRunsTopic(t *testing.T) {
	cfg := mustLoad(t, minimal("LAYOVER_TARGETS_ALLOWED=*,by.its.runs", "LAYOVER_RUNS_TOPIC={ingress}-far-{group}", "LAYOVER_RUNS=off"))
	if got, want := cfg.RunsLike(), []string{"*-far-*", "*-far-layover-*", "*.*.runs", "*.layover-*.runs"}; !slices.Equal(got, want) {
		t.Errorf("globs %q, want %q", got, want)
	}
	if got, want := mustLoad(t, minimal("LAYOVER_RUNS_TOPIC={ingress}-{group}")).RunsLike(), []string{"*-layover-*", "*.*.runs", "*.layover-*.runs"}; !slices.Equal(got, want) {
		t.Errorf("globs %q, want %q", got, want)
	}
	rules, err := cfg.Rules("delayed")
	if err != nil {
		t.Fatal(err)
	}
	routing, err := LoadRouting([]string{"LAYOVER_RUNS_TOPIC={ingress}-far-{group}", "LAYOVER_TARGETS_ALLOWED=*,by.its.runs"})
	if err != nil {
		t.Fatal(err)
	}
	ofSend, err := routing.Rules("delayed", "x")
	if err != nil {
		t.Fatal(err)
	}
	for target, allowed := range map[string]bool{
		"delayed-far-layover-delayed": false, "orders-far-billing": false, "orders.billing.runs": false, "orders.layover-orders.runs": false,
		"by.its.runs": true, "marathon.runs": true, "runs": true, "orders.runs.done": true,
	} {
		record := &kgo.Record{Headers: []kgo.RecordHeader{{Key: "x-deliver-to", Value: []byte(target)}}}
		if _, invalid := rules.Parse(record, 1); (invalid == nil) != allowed {
			t.Errorf("%s: %v, want allowed: %v", target, invalid, allowed)
		}
		if _, invalid := ofSend.Parse(record, 1); (invalid == nil) != allowed {
			t.Errorf("%s, for send: %v, want allowed: %v", target, invalid, allowed)
		}
	}
}

// TestAProducerKnowsTheLongestDelayOfTheMode, as far as its environment tells.
func TestAProducerKnowsTheLongestDelayOfTheMode(t *testing.T) {
	for want, env := range map[time.Duration][]string{30 * aDay: nil, 6 * aDay: {"LAYOVER_RUNS=off"}, 6*aDay + 1: {"LAYOVER_JOURNAL=off", "LAYOVER_MAX_DELAY=6d1ns"}} {
		routing, err := LoadRouting(env)
		if err != nil {
			t.Fatal(err)
		}
		if rules, err := routing.Rules("delayed", "x"); err != nil || rules.MaxDelay != want {
			t.Errorf("%q: %v, want %v", env, rules.MaxDelay, want)
		}
	}
}
