package needs

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"layover/config"
)

// load returns the settings of the quick start, and those given besides.
func load(t *testing.T, more ...string) *config.Config {
	t.Helper()
	cfg, _, err := config.Load(append([]string{
		"KAFKA_BROKERS=kafka:9092", "LAYOVER_INGRESS_TOPICS=delayed", "LAYOVER_EGRESS_TOPIC=ready", "LAYOVER_DLQ_TOPIC=dead-letters",
	}, more...))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// lines are the table as text, a line for each topic, right and gap.
func (t Table) lines() (out []string) {
	for _, topic := range t.Topics {
		line := fmt.Sprintf("%s %s", topic.Role, topic.Name)
		for _, s := range topic.Config {
			line += " " + s.Name + "=" + s.Value
		}
		out = append(out, line)
	}
	for _, r := range t.Rights {
		out = append(out, fmt.Sprintf("allow %v on %s %s %s", r.Operations, r.Pattern, r.Resource, r.Name))
	}
	for _, g := range t.Gaps {
		out = append(out, fmt.Sprintf("gap %s %s", g.Role, g.Name))
	}
	return out
}

func TestEverythingThatTheSettingsNameIsInTheTable(t *testing.T) {
	const (
		ingress = "ingress delayed retention.ms=604800000 retention.bytes=-1 cleanup.policy=delete"
		journal = "journal delayed.layover-delayed cleanup.policy=delete retention.ms=-1 retention.bytes=-1"
		runs    = "runs delayed.layover-delayed.runs cleanup.policy=delete retention.ms=-1 retention.bytes=-1 segment.bytes=67108864 max.message.bytes=1114124"
		empties = "allow [Describe Read Delete] on literal topic delayed.layover-delayed.runs"
	)
	for name, test := range map[string]struct {
		environ  []string
		has, not []string
	}{
		"the quick start": {nil, []string{
			ingress, "target ready", "dead_letter dead-letters", journal, runs,
			"allow [Read Describe] on literal topic delayed", "allow [DescribeConfigs] on literal topic delayed",
			"allow [Write Describe] on literal topic ready", "allow [Write Describe] on literal topic dead-letters",
			"allow [Create] on literal topic delayed.layover-delayed", "allow [Delete] on literal topic delayed.layover-delayed",
			"allow [Create] on literal topic delayed.layover-delayed.runs", "allow [Write] on literal topic delayed.layover-delayed.runs",
			"allow [Delete] on literal topic delayed.layover-delayed.runs",
			"allow [Read] on literal group layover-delayed",
		}, []string{"gap"}},
		"a longer delay, moved":     {[]string{"LAYOVER_MAX_DELAY=90d"}, []string{ingress, runs}, nil},
		"a longer delay, not moved": {[]string{"LAYOVER_MAX_DELAY=30d", "LAYOVER_RUNS=off"}, []string{"ingress delayed retention.ms=2678400000"}, nil},
		"a shorter delay, moved":    {[]string{"LAYOVER_MAX_DELAY=1h"}, []string{"ingress delayed retention.ms=90000000", runs}, nil},
		"no runs":                   {[]string{"LAYOVER_RUNS=off"}, []string{ingress, journal, empties}, []string{"\nruns", "Create] on literal topic delayed.layover-delayed.runs", "Write] on literal topic delayed.layover-delayed.runs"}},
		"runs by another name":      {[]string{"LAYOVER_RUNS_TOPIC=far.{group}.{ingress}"}, []string{"runs far.layover-delayed.delayed ", "allow [Alter] on literal topic far.layover-delayed.delayed"}, []string{"delayed.runs"}},
		"several ingress topics with targets of their own": {
			[]string{"LAYOVER_INGRESS_TOPICS=a,b", "LAYOVER_EGRESS_TOPIC=", "LAYOVER_TOPIC_TARGETS=a=x,b=x"},
			[]string{"ingress a ", "ingress b ", "target x", "journal a.layover-a", "journal b.layover-a", "runs a.layover-a.runs", "runs b.layover-a.runs", "allow [Read] on literal group layover-a"}, []string{"target ready", "group layover-b"},
		},
		"no dead letters":    {[]string{"LAYOVER_DLQ_TOPIC=", "LAYOVER_ON_INVALID=halt"}, []string{"target ready"}, []string{"dead_letter", "topic dead-letters"}},
		"events":             {[]string{"LAYOVER_EVENTS_TOPIC=events"}, []string{"events events", "allow [Write Describe] on literal topic events", "allow [DescribeConfigs] on literal topic events"}, []string{"gap"}},
		"no events":          {nil, nil, []string{"events"}},
		"allowed names":      {[]string{"LAYOVER_TARGETS_ALLOWED=ready,more"}, []string{"target more", "allow [Write Describe] on literal topic more"}, []string{"gap"}},
		"a glob by prefix":   {[]string{"LAYOVER_TARGETS_ALLOWED=orders.*"}, []string{"gap target orders.*", "allow [Write Describe] on prefixed topic orders."}, []string{"\ntarget orders"}},
		"a glob of another":  {[]string{"LAYOVER_TARGETS_ALLOWED=*.eu"}, []string{"gap target *.eu"}, []string{"prefixed", "\ntarget *"}},
		"every topic":        {[]string{"LAYOVER_TARGETS_ALLOWED=*"}, []string{"gap target *"}, []string{"prefixed", "topic *"}},
		"no journal":         {[]string{"LAYOVER_JOURNAL=off"}, []string{ingress, "allow [Describe Read] on literal topic delayed.layover-delayed", empties}, []string{"\njournal", "\nruns", "Create"}},
		"a group of a name":  {[]string{"LAYOVER_GROUP_ID=my group"}, []string{"allow [Read] on literal group my group", "gap journal delayed.my group", "gap runs delayed.my group.runs"}, []string{"Create"}},
		"nor without runs":   {[]string{"LAYOVER_GROUP_ID=my group", "LAYOVER_RUNS=off"}, []string{"gap journal delayed.my group"}, []string{"gap runs", "runs"}},
		"a name too long":    {[]string{"LAYOVER_GROUP_ID=" + strings.Repeat("g", 240)}, []string{"journal delayed.g", "gap runs delayed.g", "ingress delayed retention.ms=604800000"}, []string{"\nruns"}},
		"a group called all": {[]string{"LAYOVER_GROUP_ID=*", "LAYOVER_JOURNAL=off"}, []string{"gap group *"}, []string{"group *\nallow", "literal group"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := "\n" + strings.Join(Of(load(t, test.environ...)).lines(), "\n") + "\n"
			for _, want := range test.has {
				if !strings.Contains(got, "\n"+want) {
					t.Errorf("no line begins with %q in:%s", want, got)
				}
			}
			for _, no := range test.not {
				if strings.Contains(got, no) {
					t.Errorf("%q is in:%s", no, got)
				}
			}
		})
	}
}

func TestEveryEntrySaysWhatItIsFor(t *testing.T) {
	table := Of(load(t, "LAYOVER_TARGETS_ALLOWED=orders.*,*.eu", "LAYOVER_EVENTS_TOPIC=events"))
	table.Gaps = append(table.Gaps, Of(load(t, "LAYOVER_GROUP_ID=my group")).Gaps...)
	table.Rights = append(table.Rights, Of(load(t, "LAYOVER_RUNS=off")).Rights...)
	for _, r := range table.Rights {
		if r.For == "" || r.Without == "" || len(r.Operations) == 0 || r.Role == "" {
			t.Errorf("%+v", r)
		}
	}
	for _, g := range table.Gaps {
		if !strings.HasSuffix(g.Why, ".") {
			t.Errorf("%+v", g)
		}
	}
	for _, topic := range table.Topics {
		for _, s := range topic.Config {
			if s.Else == "" {
				t.Errorf("%s: %+v", topic.Name, s)
			}
		}
	}
}

// A prefixed ACL allows what the glob does: no name more and none less.
func TestAPrefixMatchesWhatItsGlobDoes(t *testing.T) {
	globs := []string{"orders.*", "orders.**", "o*", "*", "**", "*.eu", "o*s", "orders-?", "orders[.-]*", "orders?*", "[o]*"}
	names := []string{"o", "orders", "orders.", "orders.eu", "orders-1", "orders-12", "x.eu", "__consumer_offsets", "os", "p"}
	same := 0
	for _, glob := range globs {
		prefix, ok := PrefixOf(glob)
		if !ok {
			continue
		}
		same++
		for _, name := range names {
			if by, err := path.Match(glob, name); err != nil || by != strings.HasPrefix(name, prefix) {
				t.Errorf("%s by the prefix %q: %s is %t, %v", glob, prefix, name, !by, err)
			}
		}
	}
	if same != 3 {
		t.Errorf("%d of the globs are prefixes, want 3", same)
	}
}

func TestNamesOfTopicsAreUnique(t *testing.T) {
	table := Of(load(t, "LAYOVER_INGRESS_TOPICS=a,b,c", "LAYOVER_TOPIC_TARGETS=a=ready,b=x", "LAYOVER_TARGETS_ALLOWED=x,ready,orders.*,y", "LAYOVER_EVENTS_TOPIC=events"))
	var names []string
	for _, topic := range table.Topics {
		if slices.Contains(names, topic.Name) {
			t.Errorf("%s comes twice", topic.Name)
		}
		names = append(names, topic.Name)
	}
	if len(names) != 3+3+1+1+3+3 {
		t.Errorf("topics %q", names)
	}
}

// TestAnIngressTopicKeepsLessWhereRecordsAreMoved: six hours at most are asked for, and a topic
// that commands make always has as much.
func TestAnIngressTopicKeepsLessWhereRecordsAreMoved(t *testing.T) {
	const day = 24 * time.Hour
	for name, test := range map[string]struct {
		maxDelay    time.Duration
		runs        bool
		least, made time.Duration
	}{
		"the defaults":             {30 * day, true, 6 * time.Hour, 7 * day},
		"the defaults without":     {6 * day, false, 7 * day, 7 * day},
		"a minute":                 {time.Minute, true, 6 * time.Hour, day + time.Minute},
		"a minute without":         {time.Minute, false, day + time.Minute, day + time.Minute},
		"ten years":                {3650 * day, true, 6 * time.Hour, 7 * day},
		"ten years without":        {3650 * day, false, 3651 * day, 3651 * day},
		"just below the default":   {6*day - 1, true, 6 * time.Hour, 7*day - 1},
		"a fraction of a ms, made": {time.Millisecond / 2, false, day + time.Millisecond/2, day},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Retention(test.maxDelay, test.runs); got != test.least {
				t.Errorf("least %v, want %v", got, test.least)
			}
			made := IngressConfig(test.maxDelay, test.runs)
			if want := fmt.Sprint(test.made.Milliseconds()); made[0].Name != "retention.ms" || made[0].Value != want {
				t.Errorf("made with %+v, want %s", made[0], want)
			}
		})
	}
}

// TestARunsTopicMayDeleteUnlessEachSettingSaysThatItKeeps: one that no broker tells may.
func TestARunsTopicMayDeleteUnlessEachSettingSaysThatItKeeps(t *testing.T) {
	keeps := map[string][]string{"cleanup.policy": {"delete"}, "retention.ms": {"-1", "-2"}, "retention.bytes": {"-1", "-9223372036854775808"}, "segment.bytes": {"", "1"}}
	deletes := map[string][]string{"cleanup.policy": {"", "compact", "compact,delete", "delete,compact"}, "retention.ms": {"", "0", "a week"}, "retention.bytes": {"", "0", "1"}}
	for may, all := range map[bool]map[string][]string{false: keeps, true: deletes} {
		for setting, values := range all {
			for _, value := range values {
				if MayDelete(setting, value) != may {
					t.Errorf("%s=%s: want %t", setting, value, may)
				}
			}
		}
	}
	for _, s := range RunsConfig() {
		if MayDelete(s.Name, s.Value) {
			t.Errorf("%s=%s deletes", s.Name, s.Value)
		}
	}
}

// TestAnIngressTopicIsMadeAsTheDoctorSays: its test has the same words.
func TestAnIngressTopicIsMadeAsTheDoctorSays(t *testing.T) {
	const want = "--partitions 1 --config retention.ms=604800000 --config retention.bytes=-1 --config cleanup.policy=delete"
	if got := IngressFlags(30*24*time.Hour, true, 1); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
