package daemon

import (
	"slices"
	"testing"

	"layover/config"
)

// TestNoTargetIsAJournal: not of any ingress topic, not by a glob, and not with the
// journal off.
func TestNoTargetIsAJournal(t *testing.T) {
	tests := map[string]struct {
		settings []string
		denied   []string
		allowed  []string
	}{
		"by default":      {nil, []string{"a.g", "b.g"}, []string{"a.journal", "c.g", "g"}},
		"by a name set":   {[]string{"LAYOVER_JOURNAL_TOPIC={ingress}.journal"}, []string{"a.journal", "b.journal"}, []string{"a.g", "b.g", "c.journal"}},
		"where it is off": {[]string{"LAYOVER_JOURNAL=off"}, []string{"a.g", "b.g"}, []string{"a.journal"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cfg, _, err := config.Load(append([]string{
				"KAFKA_BROKERS=kafka:9092", "LAYOVER_INGRESS_TOPICS=a,b", "LAYOVER_GROUP_ID=g",
				"LAYOVER_DLQ_TOPIC=dead", "LAYOVER_TARGETS_ALLOWED=*",
			}, test.settings...))
			if err != nil {
				t.Fatal(err)
			}
			rules, err := (&Daemon{cfg: cfg}).rules()
			if err != nil {
				t.Fatal(err)
			}
			for _, topic := range slices.Concat(test.denied, []string{"a", "b", "dead"}, test.allowed) {
				if _, _, ok := rules("a").Targets.Resolve([]byte(topic)); ok != slices.Contains(test.allowed, topic) {
					t.Errorf("%s may be a target: %v", topic, ok)
				}
			}
		})
	}
}
