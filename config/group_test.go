package config

import (
	"strings"
	"testing"
)

// TestAGroupThatHangsOnTheFirstOfSeveralTopicsIsWarnedOf: with another first topic all is read again, by a new group.
func TestAGroupThatHangsOnTheFirstOfSeveralTopicsIsWarnedOf(t *testing.T) {
	for name, test := range map[string]struct {
		more  []string
		group string
		warns bool
	}{
		"several":                {[]string{"LAYOVER_INGRESS_TOPICS=b,a"}, "layover-b", true},
		"several that are twice": {[]string{"LAYOVER_INGRESS_TOPICS=b,b"}, "", false}, // which is refused
		"several and the group":  {[]string{"LAYOVER_INGRESS_TOPICS=b,a", "LAYOVER_GROUP_ID=layover-b"}, "layover-b", false},
		"one":                    {[]string{"LAYOVER_INGRESS_TOPICS=b"}, "layover-b", false},
	} {
		cfg, warnings, err := load(minimal(test.more...), host)
		if (err != nil) != (test.group == "") || err == nil && cfg.GroupID != test.group {
			t.Errorf("%s: %+v, %v", name, cfg, err)
		}
		all := strings.Join(warnings, "\n")
		if test.warns != (len(warnings) == 1 && strings.HasPrefix(all, "set LAYOVER_GROUP_ID="+test.group+", ") && strings.Contains(all, "starts at earliest")) || !test.warns && all != "" {
			t.Errorf("%s: warnings %q", name, warnings)
		}
	}
}
