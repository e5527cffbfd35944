package send

import (
	"strings"
	"testing"
	"time"

	"layover/cli/clitest"
	"layover/cli/process"
)

func TestSendWarnsOfWhatLayoverWillRefuse(t *testing.T) {
	_, brokers := startKafka(t, 1)
	year := time.Now().AddDate(1, 0, 0).UTC().Format("2006-01-02T15:04:05.000Z")
	routed := "LAYOVER_INGRESS_TOPICS=delayed,other LAYOVER_EGRESS_TOPIC=ready LAYOVER_DLQ_TOPIC=dead LAYOVER_TARGETS_ALLOWED=orders.*,eu LAYOVER_TOPIC_TARGETS=other=side"
	tests := map[string]struct {
		environ, args string // split at spaces
		want          string // part of the warning; "" for none
	}{
		"a year":                           {"", "--at " + year, `will dead-letter this record, by the settings here: delay_too_long: header x-deliver-at "` + year + `": want at most 30d (LAYOVER_MAX_DELAY) after`},
		"a month and a day":                {"", "--delay 31d", `header x-delay "31d": want at most 30d (LAYOVER_MAX_DELAY)`},
		"a month":                          {"", "--delay 30d", ""},
		"a week without runs":              {"LAYOVER_RUNS=off", "--delay 7d", `header x-delay "7d": want at most 6d (LAYOVER_MAX_DELAY)`},
		"a week without a journal":         {"LAYOVER_JOURNAL=off", "--delay 7d", `header x-delay "7d": want at most 6d (LAYOVER_MAX_DELAY)`},
		"six days without runs":            {"LAYOVER_RUNS=off", "--delay 6d", ""},
		"a week that may be":               {"LAYOVER_MAX_DELAY=7d", "--delay 7d", ""},
		"a minute that may not be":         {"LAYOVER_MAX_DELAY=30s", "--delay 1m", "want at most 30s (LAYOVER_MAX_DELAY)"},
		"a back-off above the maximum":     {"LAYOVER_MAX_DELAY=30m", "--delay 1s..1h", `delay_too_long: header x-delay "1s..1h": want at most 30m (LAYOVER_MAX_DELAY)`},
		"the back-off of the settings":     {"LAYOVER_MAX_DELAY=30m LAYOVER_BACKOFF=1s..5m", "--delay auto", ""},
		"a default that a maximum cuts":    {"LAYOVER_MAX_DELAY=30m", "--delay auto", ""},
		"no attempt left":                  {"", "--delay auto --header x-delay-attempt=16", "attempts_exhausted: header x-delay-attempt \"16\""},
		"a circle":                         {"LAYOVER_MAX_HOPS=2", "--delay 0 --header layover-id=x --header layover-hops=2", "too_many_hops: header layover-hops \"2\""},
		"an instant that has passed":       {"", "--at 2020-01-01T00:00:00Z", ""},
		"a target, of no settings":         {"", "--delay 5s --to orders", ""},
		"the topic that is written to":     {"", "--delay 5s --to delayed", `target_not_allowed: header x-deliver-to "delayed": an ingress, dead-letter, events, journal, runs or internal topic, which no setting allows`},
		"its journal":                      {"", "--delay 5s --to delayed.layover-delayed", "which no setting allows"},
		"its runs topic":                   {"", "--delay 5s --to delayed.layover-delayed.runs", "which no setting allows"},
		"the runs topic of a setting":      {"LAYOVER_RUNS_TOPIC={group}-{ingress}", "--delay 5s --to layover-delayed-delayed", "which no setting allows"},
		"the journal of its group":         {"LAYOVER_GROUP_ID=us", "--delay 5s --to delayed.us", "which no setting allows"},
		"the egress topic":                 {routed, "--delay 5s --to ready", ""},
		"a target that is allowed":         {routed, "--delay 5s --to eu", ""},
		"a target that a glob allows":      {routed, "--delay 5s --to orders.eu", ""},
		"the target of another ingress":    {routed, "--delay 5s --to side", ""},
		"a target that is not allowed":     {routed, "--delay 5s --to us", "a topic that LAYOVER_TARGETS_ALLOWED has"},
		"the dead-letter topic":            {routed, "--delay 5s --to dead", "which no setting allows"},
		"the events topic":                 {routed + " LAYOVER_EVENTS_TOPIC=orders.events", "--delay 5s --to orders.events", "which no setting allows"},
		"another ingress topic":            {routed, "--delay 5s --to other", "which no setting allows"},
		"a journal that a glob allows":     {routed + " LAYOVER_TARGETS_ALLOWED=*", "--delay 5s --to eu.layover-eu", "named like a journal"},
		"a runs topic that a glob allows":  {routed + " LAYOVER_TARGETS_ALLOWED=*", "--delay 5s --to eu.us.runs", "named like a journal or a runs topic"},
		"a journal by its own name":        {routed + " LAYOVER_TARGETS_ALLOWED=eu.layover-eu", "--delay 5s --to eu.layover-eu", ""},
		"no target where one is needed":    {"LAYOVER_TARGETS_ALLOWED=orders", "--delay 5s", "no_target: header x-deliver-to missing: want one, or a topic in LAYOVER_EGRESS_TOPIC"},
		"a topic with a target of its own": {"LAYOVER_TOPIC_TARGETS=delayed=side", "--delay 5s", ""},
		"an expiry before the deadline":    {"LAYOVER_MAX_DELAY=3650d", "--at 2030-01-01T00:00:00Z --expire-at 2029-12-31T23:59:59.9999Z", "Layover will not deliver this record: it expires at 2029-12-31T23:59:59.999Z, and is due at 2030-01-01T00:00:00.000Z"},
		"an expiry at the deadline":        {"LAYOVER_MAX_DELAY=3650d", "--at 2030-01-01T00:00:00Z --expire-at 2030-01-01T00:00:00Z", "Layover will not deliver this record"},
		"an expiry after the deadline":     {"LAYOVER_MAX_DELAY=3650d LAYOVER_EXPIRE_AFTER=1ns", "--at 2030-01-01T00:00:00Z --expire-at 2030-01-01T00:00:00.001Z", ""},
		"a default expiry":                 {"LAYOVER_EXPIRE_AFTER=1ns", "--delay 0", ""},
		"dropped":                          {"LAYOVER_ON_INVALID=drop", "--delay 31d", "Layover will drop this record"},
		"delivered":                        {"LAYOVER_ON_INVALID=deliver", "--delay 31d", "Layover will deliver this record at once"},
		"stopped at":                       {"LAYOVER_ON_INVALID=halt", "--delay 31d", "Layover will stop reading the partition at this record"},
		"a topic that is not read":         {"LAYOVER_INGRESS_TOPICS=orders", "--delay 5s --topic delayed", "LAYOVER_INGRESS_TOPICS does not have delayed"},
		"a setting that is wrong":          {"LAYOVER_MAX_DELAY=soon", "--delay 5s", "LAYOVER_MAX_DELAY: "},
		"settings that are":                {"LAYOVER_EGRESS_TOPIC=delayed", "--delay 5s", "settings here are wrong"},
		"a setting that says nothing":      {"LAYOVER_LANES=none", "--delay 5s", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			environ := append(brokers[:len(brokers):len(brokers)], strings.Fields(test.environ)...)
			got := clitest.Call{Environ: environ, Args: append(strings.Fields(test.args), "-"), Stdin: strings.NewReader("a\nb\n")}.Do(t, Command)
			if lines := strings.Count(got.Stdout, " due "); got.Code != process.ExitOK || lines != 2 {
				t.Errorf("code %d, printed %q", got.Code, got.Stdout)
			}
			if (test.want == "") != (got.Stderr == "") || !strings.Contains(got.Stderr, test.want) || strings.Count(got.Stderr, "warning: ") > 1 {
				t.Errorf("stderr %q, want %q in one warning", got.Stderr, test.want)
			}
		})
	}
}

func TestABareNumberIsSaidToBeMilliseconds(t *testing.T) {
	_, environ := startKafka(t, 1)
	for value, want := range map[string]string{
		"5": "note: --delay 5 is 5 ms; write 5s for seconds\n", "999": "note: --delay 999 is 999 ms; write 999s for seconds\n",
		"1000": "", "0": "", "-5": "", "5ms": "", "5s": "",
	} {
		got := clitest.Call{Environ: environ, Args: []string{"--delay=" + value, "v"}}.Do(t, Command)
		if got.Code != process.ExitOK || got.Stderr != want {
			t.Errorf("--delay %s: got %+v, want %q", value, got, want)
		}
	}
}

// A warning on the terminal that the counter is on does not stand in the counter's line.
func TestAWarningStandsAboveTheCounter(t *testing.T) {
	_, environ := startKafka(t, 1)
	got := clitest.Call{Environ: environ, Args: []string{"--delay", "31d", "-"}, Stdin: strings.NewReader("a\n"), OnATerminal: true}.Do(t, Command)
	for line := range strings.Lines(got.Stderr) {
		if at := strings.Index(line, "warning: "); at > 0 && !strings.HasSuffix(line[:at], eraseLine) {
			t.Errorf("a warning stands behind %q", line[:at])
		}
	}
	if got.Code != process.ExitOK || !strings.Contains(got.Stderr, "warning: ") {
		t.Errorf("got %+v", got)
	}
}
