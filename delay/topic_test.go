package delay

import (
	"strings"
	"testing"
)

// TestNamesAreLegalAsKafkaHasIt uses Kafka's own rules.
func TestNamesAreLegalAsKafkaHasIt(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "A.b_c-9": true, "...": true, "z": true, "Z": true, "0": true, "`": false, "{": false, "@": false, "[": false, ":": false, strings.Repeat("n", 249): true,
		"": false, ".": false, "..": false, strings.Repeat("n", 250): false, "a b": false, "ä": false, "a/b": false,
	} {
		if got := IsTopicName(name); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}
