package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestTheJournalsSettingsAreReadAlone: a mistake in any other variable of Layover does not
// matter, one of a connection does.
func TestTheJournalsSettingsAreReadAlone(t *testing.T) {
	base := []string{"KAFKA_BROKERS=kafka:9092", "LAYOVER_LANES=x", "LAYOVER_START_OFFSET=latest", "LAYOVER_EGRESS_TOPIC=/", "LAYOVER_GROUP=x"}
	for name, test := range map[string]struct {
		more          []string
		settings      JournalSettings
		topics, group string
		start         StartOffset
		journal, runs string // of the first topic
	}{
		"by the environment":  {[]string{"LAYOVER_INGRESS_TOPICS=a,b"}, JournalSettings{}, "a b", "layover-a", "", "a.layover-a", "a.layover-a.runs"},
		"the topic is known":  {nil, JournalSettings{Topic: "c"}, "c", "layover-c", "", "c.layover-c", "c.layover-c.runs"},
		"both":                {[]string{"LAYOVER_INGRESS_TOPICS=a"}, JournalSettings{Topic: "c"}, "a", "layover-a", "", "a.layover-a", "a.layover-a.runs"},
		"with the start":      {[]string{"LAYOVER_INGRESS_TOPICS=a"}, JournalSettings{Start: true}, "a", "layover-a", "latest", "a.layover-a", "a.layover-a.runs"},
		"a group and a name":  {[]string{"LAYOVER_INGRESS_TOPICS=a", "LAYOVER_GROUP_ID=g", "LAYOVER_JOURNAL_TOPIC={group}.j"}, JournalSettings{}, "a", "g", "", "g.j", "a.g.runs"},
		"a name of runs":      {[]string{"LAYOVER_INGRESS_TOPICS=a", "LAYOVER_RUNS_TOPIC=far.{group}.{ingress}"}, JournalSettings{}, "a", "layover-a", "", "a.layover-a", "far.layover-a.a"},
		"an empty topic list": {[]string{"LAYOVER_INGRESS_TOPICS="}, JournalSettings{Topic: "c"}, "c", "layover-c", "", "c.layover-c", "c.layover-c.runs"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, warnings, err := LoadJournal(append(slices.Clone(base), test.more...), test.settings)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(cfg.IngressTopics, " "); got != test.topics || cfg.GroupID != test.group || cfg.StartOffset != test.start || len(cfg.Kafka.Brokers) != 1 {
				t.Errorf("topics %q, group %q, start %q, brokers %q", got, cfg.GroupID, cfg.StartOffset, cfg.Kafka.Brokers)
			}
			if got := cfg.JournalName(cfg.IngressTopics[0]); got != test.journal {
				t.Errorf("journal %q, want %q", got, test.journal)
			}
			if got := cfg.RunsName(cfg.IngressTopics[0]); got != test.runs {
				t.Errorf("runs topic %q, want %q", got, test.runs)
			}
			if len(warnings) != 1 || !strings.Contains(warnings[0], "LAYOVER_GROUP is ignored") {
				t.Errorf("warnings %q", warnings)
			}
		})
	}
	for want, environ := range map[string][]string{
		"KAFKA_BROKERS":          {"LAYOVER_INGRESS_TOPICS=a"},
		"LAYOVER_INGRESS_TOPICS": {"KAFKA_BROKERS=kafka:9092"},
		"KAFKA_TLS_ENABLED":      {"KAFKA_BROKERS=kafka:9092", "LAYOVER_INGRESS_TOPICS=a", "KAFKA_TLS_ENABLED=maybe"},
		"KAFKA_SSL_CA":           {"KAFKA_BROKERS=kafka:9092", "LAYOVER_INGRESS_TOPICS=a", "KAFKA_SSL_CA=x"},
		"KAFKA_SASL_PASSWORD":    {"KAFKA_BROKERS=kafka:9092", "LAYOVER_INGRESS_TOPICS=a", "KAFKA_SASL_MECHANISM=SCRAM-SHA-256", "KAFKA_SASL_USERNAME=x"},
		"LAYOVER_JOURNAL_TOPIC":  {"KAFKA_BROKERS=kafka:9092", "LAYOVER_INGRESS_TOPICS=a,b", "LAYOVER_JOURNAL_TOPIC=j"},
		"LAYOVER_RUNS_TOPIC":     {"KAFKA_BROKERS=kafka:9092", "LAYOVER_INGRESS_TOPICS=a,b", "LAYOVER_RUNS_TOPIC={ingress}.{group}"},
	} {
		cfg, _, err := LoadJournal(environ, JournalSettings{})
		var all *Errors
		if cfg != nil || !errors.As(err, &all) || len(all.Problems) != 1 || all.Problems[0].Variable != want {
			t.Errorf("%q: %v, want one problem of %s", environ, err, want)
		}
	}
	if _, _, err := LoadJournal([]string{"KAFKA_BROKERS=kafka:9092", "LAYOVER_INGRESS_TOPICS_FILE=/no/such/file"}, JournalSettings{Topic: "c"}); err == nil {
		t.Error("a file of topics that cannot be read is passed over")
	}
	if _, _, err := LoadJournal([]string{"KAFKA_BROKERS=kafka:9092", "LAYOVER_INGRESS_TOPICS=a", "LAYOVER_START_OFFSET=x"}, JournalSettings{Start: true}); err == nil {
		t.Error("a wrong start is passed over")
	}
}

// TestAProducersSettingsSayWhatBecomesOfARecord as far as there are some.
func TestAProducersSettingsSayWhatBecomesOfARecord(t *testing.T) {
	for name, test := range map[string]struct {
		env      []string
		ingress  string
		to       string
		reads    bool
		policy   OnInvalid
		target   string // "": the record is invalid
		delayed  time.Duration
		declined []string // targets that are refused
	}{
		"nothing is set":      {nil, "any", "x", true, OnInvalidDLQ, "x", 0, []string{"any", "any.layover-any", "y"}},
		"topics alone":        {[]string{"LAYOVER_INGRESS_TOPICS=a,b"}, "b", "x", true, OnInvalidDLQ, "x", 0, []string{"a", "b", "b.layover-a"}},
		"another topic":       {[]string{"LAYOVER_INGRESS_TOPICS=a"}, "b", "x", false, OnInvalidDLQ, "", 0, nil},
		"a target":            {[]string{"LAYOVER_EGRESS_TOPIC=e", "LAYOVER_ON_INVALID=drop"}, "a", "x", true, OnInvalidDrop, "", 0, []string{"x"}},
		"the target":          {[]string{"LAYOVER_EGRESS_TOPIC=e", "LAYOVER_DEFAULT_DELAY=5m"}, "a", "e", true, OnInvalidDLQ, "e", 5 * time.Minute, []string{"x"}},
		"an allowed target":   {[]string{"LAYOVER_TARGETS_ALLOWED=x.*"}, "a", "x.1", true, OnInvalidDLQ, "x.1", 0, []string{"x", "y"}},
		"a target of topics":  {[]string{"LAYOVER_INGRESS_TOPICS=a", "LAYOVER_TOPIC_TARGETS=a=t", "LAYOVER_TOPIC_DELAYS=a=7s"}, "a", "t", true, OnInvalidDLQ, "t", 7 * time.Second, []string{"x"}},
		"dead letters":        {[]string{"LAYOVER_DLQ_TOPIC=d"}, "a", "d", true, OnInvalidDLQ, "", 0, []string{"d"}},
		"a group's journal":   {[]string{"LAYOVER_GROUP_ID=g"}, "a", "a.g", true, OnInvalidDLQ, "", 0, []string{"a.g"}},
		"a mistake elsewhere": {[]string{"LAYOVER_LANES=x", "KAFKA_TLS_ENABLED=maybe"}, "a", "x", true, OnInvalidDLQ, "x", 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := LoadRouting(test.env)
			if err != nil {
				t.Fatal(err)
			}
			if r.Reads(test.ingress) != test.reads || r.OnInvalid() != test.policy {
				t.Errorf("reads %v, invalid ones %q", r.Reads(test.ingress), r.OnInvalid())
			}
			rules, err := r.Rules(test.ingress, test.to)
			if (err == nil) != test.reads {
				t.Fatal(err)
			}
			if err != nil {
				return
			}
			parse := func(to string) (string, bool) {
				d, invalid := rules.Parse(&kgo.Record{Timestamp: time.UnixMilli(1_000_000), Headers: []kgo.RecordHeader{{Key: "x-deliver-to", Value: []byte(to)}}}, 1_000_000)
				if invalid == nil && d.DeadlineMs != 1_000_000+test.delayed.Milliseconds() {
					t.Errorf("to %s: due at %d", to, d.DeadlineMs)
				}
				return d.Target, invalid == nil
			}
			if got, ok := parse(test.to); ok != (test.target != "") || ok && got != test.target {
				t.Errorf("to %s: %q, valid %v", test.to, got, ok)
			}
			for _, other := range test.declined {
				if got, ok := parse(other); ok {
					t.Errorf("to %s: taken, for %q", other, got)
				}
			}
		})
	}
	if r, err := LoadRouting([]string{"LAYOVER_EGRESS_TOPIC=/", "LAYOVER_MAX_DELAY=x"}); r != nil || err == nil || strings.Count(fmt.Sprint(err), "LAYOVER_") < 2 {
		t.Errorf("%v, %v", r, err)
	}
}

// TestWhatAHeaderMayChooseIsEachNameOnce, in their order, and no empty one.
func TestWhatAHeaderMayChooseIsEachNameOnce(t *testing.T) {
	cfg := mustLoad(t, minimal("LAYOVER_INGRESS_TOPICS=a,b", "LAYOVER_GROUP_ID=g", "LAYOVER_EGRESS_TOPIC=ready", "LAYOVER_TOPIC_TARGETS=a=ready,b=other", "LAYOVER_TARGETS_ALLOWED=other,jobs.*,ready"))
	if got := strings.Join(cfg.Allowed(), " "); got != "ready other jobs.*" {
		t.Errorf("allowed are %q", got)
	}
	cfg = mustLoad(t, minimal("LAYOVER_EGRESS_TOPIC=", "LAYOVER_TARGETS_ALLOWED=x"))
	if got := cfg.Allowed(); !slices.Equal(got, []string{"x"}) {
		t.Errorf("allowed are %q", got)
	}
}

// TestAnOddEntryOfTheEnvironmentIsPassedOver: it sets nothing, and unsets nothing.
func TestAnOddEntryOfTheEnvironmentIsPassedOver(t *testing.T) {
	if cfg := mustLoad(t, minimal("LAYOVER_LANES=2", "LAYOVER_LANES", `=C:=C:\`, "")); cfg.Lanes != 2 {
		t.Errorf("%d lanes", cfg.Lanes)
	}
}

// TestEachUnknownNameHasItsWarning, also behind one with an answer of its own.
func TestEachUnknownNameHasItsWarning(t *testing.T) {
	warnings := unknownNames(map[string]string{"LAYOVER_HTTPS": "true", "LAYOVER_LANE": "2", "LAYOVER_TEST_X": "1", "LAYOVER_XYZZY": "1"})
	if len(warnings) != 3 || !strings.Contains(warnings[0], "LAYOVER_HTTPS ") || !strings.Contains(warnings[1], "LAYOVER_LANE ") || !strings.Contains(warnings[2], "LAYOVER_XYZZY ") {
		t.Errorf("warnings %q", warnings)
	}
}

// TestATopicThatIsNotReadIsSaidOnceForItsList.
func TestATopicThatIsNotReadIsSaidOnceForItsList(t *testing.T) {
	text := fmt.Sprint(&Errors{problemsOf(t, minimal("LAYOVER_TOPIC_DELAYS=other=1s,other=2s,delayed=3s"))})
	if n := strings.Count(text, `"other" is not in`); n != 1 {
		t.Errorf("said %d times: %s", n, text)
	}
}

// TestOneProblemOfAnAdminTokenIsEnough: it is not missing, too.
func TestOneProblemOfAnAdminTokenIsEnough(t *testing.T) {
	wantProblem(t, minimal("LAYOVER_ADMIN_ADDR=0.0.0.0:9847", "LAYOVER_ADMIN_TOKEN=a\nb"), "LAYOVER_ADMIN_TOKEN")
	wantProblem(t, minimal("LAYOVER_ADMIN_ADDR=x", "LAYOVER_ADMIN_TOKEN=ab"), "LAYOVER_ADMIN_ADDR")
}

// TestTheTableSaysWhatPairsAreMadeOf.
func TestTheTableSaysWhatPairsAreMadeOf(t *testing.T) {
	wantProblem(t, minimal("LAYOVER_TOPIC_TARGETS=x"), "LAYOVER_TOPIC_TARGETS", "ingress=target")
	want := map[string]string{"LAYOVER_TOPIC_TARGETS": "a list of ingress=target", "LAYOVER_TOPIC_DELAYS": "a list of ingress=delay, each 0s to LAYOVER_MAX_DELAY, a back-off, or auto, which is LAYOVER_BACKOFF", "LAYOVER_BACKOFF": "FIRST..LAST [xFACTOR] [jitter=P%] [max=N]", "LAYOVER_LANES": "1 to 64", "LAYOVER_LOG_FORMAT": "auto, text or json"}
	for _, row := range Table() {
		if text, ok := want[row.Variable]; ok && row.Values != text {
			t.Errorf("%s: %q, want %q", row.Variable, row.Values, text)
		}
		delete(want, row.Variable)
	}
	if len(want) > 0 {
		t.Errorf("the table is without %v", want)
	}
}
