package cluster

import (
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
			got := retentionWarning("orders", test.values, 6*day)
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
		faults := RetentionFaults(map[string]string{"retention.ms": ms, "retention.bytes": "1"}, time.Hour)
		if len(faults) == 0 || faults[0].Short != want || faults[len(faults)-1].Short && faults[len(faults)-1].Name != "retention.ms" {
			t.Errorf("retention.ms=%s: %+v, want short %v", ms, faults, want)
		}
	}
}
