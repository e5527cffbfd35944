package cluster

import (
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestAWarningSaysWhatIsWrongWithAnIngressTopicAndWhatToSet(t *testing.T) {
	const day = 24 * time.Hour
	for name, test := range map[string]struct {
		values map[string]string
		want   []string // parts of the warning; none: no warning
	}{
		"kafka's defaults":             {map[string]string{"retention.ms": "604800000", "retention.bytes": "-1", "cleanup.policy": "delete"}, nil},
		"kept for ever":                {map[string]string{"retention.ms": "-1", "retention.bytes": "-1", "cleanup.policy": "delete"}, nil},
		"a millisecond less":           {map[string]string{"retention.ms": "604799999"}, []string{"retention.ms=604799999", "--add-config retention.ms=604800000"}},
		"by size":                      {map[string]string{"retention.ms": "-1", "retention.bytes": "1000"}, []string{"retention.bytes=1000", "retention.bytes=-1"}},
		"compacted":                    {map[string]string{"cleanup.policy": "compact"}, []string{"cleanup.policy=compact", "cleanup.policy=delete"}},
		"compacted, deleted":           {map[string]string{"cleanup.policy": "compact,delete"}, []string{"cleanup.policy=delete"}},
		"no policy, from Kafka 4.2 on": {map[string]string{"retention.ms": "1", "retention.bytes": "1", "cleanup.policy": ""}, nil},
		"the policy is not told":       {map[string]string{"retention.ms": "1"}, []string{"retention.ms=604800000"}},
		"all of it":                    {map[string]string{"retention.ms": "1", "retention.bytes": "1", "cleanup.policy": "compact"}, []string{"retention.ms=604800000,retention.bytes=-1,cleanup.policy=delete", "--entity-name orders"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := retentionWarning("orders", test.values, 6*day, false)
			if (got == "") != (len(test.want) == 0) {
				t.Errorf("warning %q", got)
			}
			for _, part := range test.want {
				if !strings.Contains(got, part) {
					t.Errorf("warning %q does not say %q", got, part)
				}
			}
		})
	}
}

func TestAFaultIsShortOnlyWhereTheLongestDelayIsLonger(t *testing.T) {
	for ms, want := range map[string]bool{"3599999": true, "3600000": false, "89999999": false} {
		faults := RetentionFaults(map[string]string{"retention.ms": ms, "retention.bytes": "1"}, time.Hour, false)
		if len(faults) == 0 || faults[0].Short != want || faults[len(faults)-1].Short && faults[len(faults)-1].Name != "retention.ms" {
			t.Errorf("retention.ms=%s: %+v, want short %v", ms, faults, want)
		}
	}
}

// TestSixHoursDoWhereFarOffRecordsAreMoved, whatever the longest delay is. What is due within
// the hour is not moved: that long the topic has to keep it.
func TestSixHoursDoWhereFarOffRecordsAreMoved(t *testing.T) {
	const day = 24 * time.Hour
	for name, test := range map[string]struct {
		ms       string
		maxDelay time.Duration
		found    string // "": no fault
		short    bool
	}{
		"six hours":                 {"21600000", 30 * day, "", false},
		"a millisecond less":        {"21599999", 30 * day, "retention.ms=21599999 is less than the six hours that far-off records need until they are moved", false},
		"an hour":                   {"3600000", 30 * day, "six hours", false},
		"less than an hour":         {"3599999", 30 * day, "six hours", true},
		"above the longest delay":   {"600000", 10 * time.Minute, "six hours", false},
		"below the longest delay":   {"599999", 10 * time.Minute, "six hours", true},
		"for ever":                  {"-1", 30 * day, "", false},
		"at once":                   {"0", 30 * day, "six hours", true},
		"a week, for a month's one": {"604800000", 30 * day, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			faults := RetentionFaults(map[string]string{"retention.ms": test.ms, "retention.bytes": "-1"}, test.maxDelay, true)
			if test.found == "" {
				if len(faults) > 0 {
					t.Errorf("faults %+v", faults)
				}
				return
			}
			if len(faults) != 1 || !strings.Contains(faults[0].Found, test.found) || faults[0].Want != "21600000" || faults[0].Short != test.short {
				t.Errorf("faults %+v, want one with %q, short %v", faults, test.found, test.short)
			}
		})
	}
	// Size and keys delete records whatever is moved.
	if faults := RetentionFaults(map[string]string{"retention.bytes": "1", "cleanup.policy": "compact"}, day, true); len(faults) != 2 {
		t.Errorf("faults %+v, want two", faults)
	}
}

// TestTheWarningFollowsWhetherRecordsAreMoved: it is asked with each look, of each topic.
func TestTheWarningFollowsWhetherRecordsAreMoved(t *testing.T) {
	moved := false
	w := New(Config{Ingress: []string{ingress, "other"}, MaxDelay: time.Hour, Log: slog.New(slog.DiscardHandler),
		Runs: func(topic string) bool { return topic == ingress && moved }}, nil)
	for _, want := range []bool{false, true, false} {
		moved = want
		for _, topic := range w.cfg.Ingress {
			w.configured(topic, map[string]string{"retention.ms": "25200000"}) // seven hours
			if warned := strings.Contains(w.warnings[topic], "LAYOVER_MAX_DELAY plus a day"); warned == (moved && topic == ingress) {
				t.Errorf("records of %s are moved: %v; the warning is %q", topic, moved, w.warnings[topic])
			}
		}
	}
}
