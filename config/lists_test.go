package config

import (
	"strings"
	"testing"
)

// What is said of a list with a mistake in it has to be all that would be said
// once the mistake is mended.
func TestAMistakeInAListHidesNoOther(t *testing.T) {
	const (
		ingress, targets, delays = "LAYOVER_INGRESS_TOPICS", "LAYOVER_TOPIC_TARGETS", "LAYOVER_TOPIC_DELAYS"
		two                      = ingress + "=in.a,in.b"
	)
	tests := map[string]struct {
		env  []string
		want []string // each in a line of the error
	}{
		"malformed, and not read": {
			[]string{two, targets + "=in.c=x,in.a", delays + "=in.a=30x,in.b=31d,in.q=1s"},
			[]string{`"in.a" is not of the form ingress=target`, `"in.c" is not in ` + ingress, `"in.a=30x"`, `delay of "in.b" is above`, `"in.q" is not in ` + ingress},
		},
		"wrong behind malformed":       {[]string{two, targets + "=in.a,in.b=__x", delays + "=in.a,in.b=31d"}, []string{"ingress=target", `target "__x"`, "ingress=delay", "is above"}},
		"both halves":                  {[]string{two, targets + "=in.c=__x"}, []string{`target "__x"`, `"in.c" is not in`}},
		"an ingress topic and a value": {[]string{two, targets + "=__c=__x", delays + "=__d=30"}, []string{`ingress topic "__c"`, `target "__x"`, `ingress topic "__d"`, `delay "30"`}},
		"the second of one topic":      {[]string{two, targets + "=in.a=ta,in.a=__x"}, []string{"second time", `target "__x"`}},
		"a second delay too long":      {[]string{two, delays + "=in.a=1s,in.a=31d"}, []string{"second time", "is above"}},
		"a target that is read":        {[]string{two, targets + "=in.a=in.b,in.b"}, []string{`"in.b" is not of the form`, `"in.b" is an ingress topic too`}},
		"a target of dead letters":     {[]string{targets + "=delayed=dead-letters,x"}, []string{"ingress=target", "dead-letter topic too"}},
		"a journal that is a target":   {[]string{targets + "=delayed=j,x", "LAYOVER_JOURNAL_TOPIC=j"}, []string{"ingress=target", "a target of " + targets}},
		"an allowed target":            {[]string{"LAYOVER_TARGETS_ALLOWED=delayed,["}, []string{"glob", "never allowed as a target"}},
		"the egress topic":             {[]string{ingress + "=a/b,ready"}, []string{"'/'", `"ready" is an ingress topic too`}},
		"one journal for both":         {[]string{ingress + "=a,b/", "LAYOVER_JOURNAL_TOPIC=j"}, []string{"'/'", "the 2 ingress topics would share"}},
		"a topic twice, one unknown":   {[]string{ingress + "=in.a,in.a", targets + "=in.c=x"}, []string{"listed twice", `"in.c" is not in`}},
		"a topic without a target":     {[]string{two, "LAYOVER_EGRESS_TOPIC=", targets + "=in.a=__x"}, []string{`target "__x"`, `(without a target there: "in.b")`}},
		"behind a semicolon":           {[]string{two, delays + "=in.a=30s;in.b=31d,in.c=x"}, []string{"separated by commas", "is above", `delay "x"`, `"in.c" is not in`}},
		"beside brokers":               {[]string{"KAFKA_BROKERS=a:1;b,c"}, []string{"separated by commas", `"b" has no port`, `"c" has no port`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := (&Errors{problemsOf(t, minimal(test.env...))}).Error()
			for _, want := range test.want {
				if !strings.Contains(err, want) {
					t.Errorf("%q is not in\n%s", want, err)
				}
			}
			for line := range strings.SplitSeq(err, "\n") {
				isWanted := false
				for _, want := range test.want {
					isWanted = isWanted || strings.Contains(line, want)
				}
				if !isWanted {
					t.Errorf("not to be said: %s", line)
				}
			}
		})
	}
}

// What is missing from a list may be what is wrong in it.
func TestNothingIsMissedThatAMistakeMayHaveMeant(t *testing.T) {
	wantProblem(t, minimal("LAYOVER_INGRESS_TOPICS=delayed,b/", "LAYOVER_TOPIC_TARGETS=b=x"), "LAYOVER_INGRESS_TOPICS")
	wantProblem(t, minimal("LAYOVER_INGRESS_TOPICS=b/,delayed", "LAYOVER_DLQ_TOPIC=delayed.layover-delayed"), "LAYOVER_INGRESS_TOPICS")
	wantProblem(t, minimal("LAYOVER_EGRESS_TOPIC=", "LAYOVER_TOPIC_TARGETS=delayed/=x"), "LAYOVER_TOPIC_TARGETS")
	wantProblem(t, minimal("LAYOVER_EGRESS_TOPIC=", "LAYOVER_TOPIC_TARGETS=delayed"), "LAYOVER_TOPIC_TARGETS")
	wantProblem(t, minimal("LAYOVER_EGRESS_TOPIC=", "LAYOVER_TOPIC_TARGETS_FILE=/none"), "LAYOVER_TOPIC_TARGETS_FILE", "cannot be read")
}
