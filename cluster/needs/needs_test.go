package needs

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

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
	)
	for name, test := range map[string]struct {
		environ  []string
		has, not []string
	}{
		"the quick start": {nil, []string{
			ingress, "target ready", "dead_letter dead-letters", journal,
			"allow [Read Describe] on literal topic delayed", "allow [DescribeConfigs] on literal topic delayed",
			"allow [Write Describe] on literal topic ready", "allow [Write Describe] on literal topic dead-letters",
			"allow [Create] on literal topic delayed.layover-delayed", "allow [Delete] on literal topic delayed.layover-delayed",
			"allow [Read] on literal group layover-delayed",
		}, []string{"gap"}},
		"a longer delay": {[]string{"LAYOVER_MAX_DELAY=30d"}, []string{"ingress delayed retention.ms=2678400000"}, nil},
		"several ingress topics with targets of their own": {
			[]string{"LAYOVER_INGRESS_TOPICS=a,b", "LAYOVER_EGRESS_TOPIC=", "LAYOVER_TOPIC_TARGETS=a=x,b=x"},
			[]string{"ingress a ", "ingress b ", "target x", "journal a.layover-a", "journal b.layover-a", "allow [Read] on literal group layover-a"}, []string{"target ready", "group layover-b"},
		},
		"no dead letters":    {[]string{"LAYOVER_DLQ_TOPIC=", "LAYOVER_ON_INVALID=halt"}, []string{"target ready"}, []string{"dead_letter", "topic dead-letters"}},
		"events":             {[]string{"LAYOVER_EVENTS_TOPIC=events"}, []string{"events events", "allow [Write Describe] on literal topic events", "allow [DescribeConfigs] on literal topic events"}, []string{"gap"}},
		"no events":          {nil, nil, []string{"events"}},
		"allowed names":      {[]string{"LAYOVER_TARGETS_ALLOWED=ready,more"}, []string{"target more", "allow [Write Describe] on literal topic more"}, []string{"gap"}},
		"a glob by prefix":   {[]string{"LAYOVER_TARGETS_ALLOWED=orders.*"}, []string{"gap target orders.*", "allow [Write Describe] on prefixed topic orders."}, []string{"\ntarget orders"}},
		"a glob of another":  {[]string{"LAYOVER_TARGETS_ALLOWED=*.eu"}, []string{"gap target *.eu"}, []string{"prefixed", "\ntarget *"}},
		"every topic":        {[]string{"LAYOVER_TARGETS_ALLOWED=*"}, []string{"gap target *"}, []string{"prefixed", "topic *"}},
		"no journal":         {[]string{"LAYOVER_JOURNAL=off"}, []string{"allow [Describe Read] on literal topic delayed.layover-delayed"}, []string{"\njournal", "Create"}},
		"a group of a name":  {[]string{"LAYOVER_GROUP_ID=my group"}, []string{"allow [Read] on literal group my group", "gap journal delayed.my group"}, []string{"Create"}},
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
	if len(names) != 3+3+1+1+3 {
		t.Errorf("topics %q", names)
	}
}
