package config

import (
	"slices"
	"strings"
	"testing"

	"layover/delay"
)

func TestWhatIsSaidOfSingleTopicsIsRefusedWithWhatWouldBeRight(t *testing.T) {
	const targets, delays = "LAYOVER_TOPIC_TARGETS", "LAYOVER_TOPIC_DELAYS"
	two := "LAYOVER_INGRESS_TOPICS=orders,payments"
	tests := map[string]struct {
		env      []string
		variable string
		reason   []string
	}{
		"a topic that is not read":       {[]string{two, targets + "=order=x"}, targets, []string{`"order" is not in LAYOVER_INGRESS_TOPICS`, `nearest there is "orders"`}},
		"one that is like none":          {[]string{two, targets + "=zzz=x"}, targets, []string{"nearest there is"}},
		"a delay of none that is read":   {[]string{two, delays + "=payment=1s"}, delays, []string{`"payment" is not in`, `"payments"`}},
		"a topic twice":                  {[]string{targets + "=delayed=x,delayed=y"}, targets, []string{`"delayed=y"`, "second time"}},
		"the same twice":                 {[]string{targets + "=delayed=x,delayed=x"}, targets, []string{"second time"}},
		"two delays of one":              {[]string{delays + "=delayed=1s, delayed = 2s"}, delays, []string{"second time"}},
		"no equals sign":                 {[]string{targets + "=delayed"}, targets, []string{`"delayed"`, "ingress=target"}},
		"no topic":                       {[]string{targets + "==x"}, targets, []string{`"=x"`, "ingress=target"}},
		"no target":                      {[]string{targets + "=delayed="}, targets, []string{"ingress=target"}},
		"no delay":                       {[]string{delays + "=delayed="}, delays, []string{"ingress=delay"}},
		"a target that no topic is":      {[]string{targets + "=delayed=a/b"}, targets, []string{`"a/b"`, "'/'"}},
		"a second equals sign":           {[]string{targets + "=delayed=a=b"}, targets, []string{`"a=b"`, "'='"}},
		"a target that is a glob":        {[]string{targets + "=delayed=a*"}, targets, []string{"'*'"}},
		"an internal target":             {[]string{targets + "=delayed=__x"}, targets, []string{"internal"}},
		"an internal ingress topic":      {[]string{targets + "=__x=y"}, targets, []string{`the ingress topic "__x"`, "internal"}},
		"a target that is read":          {[]string{two, targets + "=orders=payments"}, targets, []string{`"payments" is an ingress topic too`}},
		"a target that is its own":       {[]string{targets + "=delayed=delayed"}, targets, []string{`"delayed" is an ingress topic too`}},
		"a target that is dead letters":  {[]string{targets + "=delayed=dead-letters"}, targets, []string{`"dead-letters" is the dead-letter topic too`}},
		"a target that is a journal":     {[]string{targets + "=delayed=j", "LAYOVER_JOURNAL_TOPIC=j"}, "LAYOVER_JOURNAL_TOPIC", []string{`"j"`, "a target of LAYOVER_TOPIC_TARGETS"}},
		"all that is wrong with targets": {[]string{two, targets + "=order=x,orders=dead-letters"}, targets, []string{`"order" is not`, "dead-letter topic"}},
		"a delay without a unit":         {[]string{delays + "=delayed=30"}, delays, []string{`"30"`, "did you mean 30s or 30ms?", "0s to LAYOVER_MAX_DELAY"}},
		"a negative delay":               {[]string{delays + "=delayed=-1s"}, delays, []string{"negative"}},
		"a delay above the longest":      {[]string{delays + "=delayed=30d1ns"}, delays, []string{`"delayed"`, "LAYOVER_MAX_DELAY", "30d by default"}},
		"above one that is set":          {[]string{delays + "=delayed=2h", "LAYOVER_MAX_DELAY=1h"}, delays, []string{`"1h"`}},
		"two bad delays":                 {[]string{two, delays + "=orders=x,payments=y"}, delays, []string{`"x"`, `"y"`}},
		"no egress for one of two":       {[]string{two, "LAYOVER_EGRESS_TOPIC=", targets + "=orders=x"}, "LAYOVER_EGRESS_TOPIC", []string{"required", "LAYOVER_TARGETS_ALLOWED", targets, `(without a target there: "payments")`}},
		"semicolons between delays":      {[]string{two, delays + "=orders=30s;payments=5s"}, delays, []string{`"orders=30s;payments=5s" has a semicolon`, "separated by commas"}},
		"semicolons between targets":     {[]string{two, targets + "=orders=x;payments=y"}, targets, []string{"separated by commas"}},
		"semicolons between topics":      {[]string{"LAYOVER_INGRESS_TOPICS=orders;payments", targets + "=payments=x"}, "LAYOVER_INGRESS_TOPICS", []string{`"orders;payments"`, "separated by commas"}},
		"delivering what one cannot": {[]string{two, "LAYOVER_EGRESS_TOPIC=", targets + "=orders=x", "LAYOVER_TARGETS_ALLOWED=y", "LAYOVER_ON_INVALID=deliver"},
			"LAYOVER_ON_INVALID", []string{"LAYOVER_EGRESS_TOPIC", targets, `(without a target there: "payments")`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			wantProblem(t, minimal(test.env...), test.variable, test.reason...)
		})
	}
}

func TestBadTopicTargetsAreOneProblemAndNotTwo(t *testing.T) {
	wantProblem(t, minimal("LAYOVER_EGRESS_TOPIC=", "LAYOVER_TOPIC_TARGETS=!"), "LAYOVER_TOPIC_TARGETS")
	wantProblem(t, minimal("LAYOVER_EGRESS_TOPIC=", "LAYOVER_TOPIC_TARGETS=!", "LAYOVER_ON_INVALID=deliver"), "LAYOVER_TOPIC_TARGETS")
	wantProblem(t, minimal("LAYOVER_EGRESS_TOPIC=", "LAYOVER_INGRESS_TOPICS=!", "LAYOVER_TOPIC_TARGETS=a=x"), "LAYOVER_INGRESS_TOPICS")
	wantProblem(t, minimal("LAYOVER_MAX_DELAY=x", "LAYOVER_TOPIC_DELAYS=delayed=9d"), "LAYOVER_MAX_DELAY")
}

func TestHowRecordsAreDeliveredIsOneOfAFewChoices(t *testing.T) {
	tests := map[string]struct {
		env    string
		reason []string
	}{
		"a client with a space": {"KAFKA_CLIENT_ID=lay over", []string{"' '"}},
		"a client too long":     {"KAFKA_CLIENT_ID=" + strings.Repeat("x", 250), []string{"249"}},
		"no such partition":     {"LAYOVER_PARTITION=hash", []string{`"hash"`, "key or same"}},
		"no such timestamp":     {"LAYOVER_TIMESTAMP=now", []string{`"now"`, "delivery or original"}},
		"no such codec":         {"LAYOVER_COMPRESSION=brotli", []string{`"brotli"`, "snappy, lz4, zstd, gzip or none"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			variable, _, _ := strings.Cut(test.env, "=")
			wantProblem(t, minimal(test.env), variable, test.reason...)
		})
	}
}

func TestPairsPrintAsTheyAreRead(t *testing.T) {
	cfg := mustLoad(t, minimal("LAYOVER_TOPIC_TARGETS=delayed = x"))
	if got := cfg.TopicTargets[0].String(); got != "delayed=x" {
		t.Errorf("got %q", got)
	}
}

// pairsModel splits a list with commas and semicolons alike, and returns the
// pairs that have both halves, and how many entries there are.
func pairsModel(text string) (pairs [][2]string, entries int) {
	for _, entry := range strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == ';' }) {
		if strings.TrimSpace(entry) == "" {
			continue
		}
		entries++
		ingress, value, _ := strings.Cut(entry, "=")
		if ingress, value = strings.TrimSpace(ingress), strings.TrimSpace(value); ingress != "" && value != "" {
			pairs = append(pairs, [2]string{ingress, value})
		}
	}
	return pairs, entries
}

// FuzzTopicLists reads lists of pairs. The pairs that are understood are those that
// a plain split finds with a right value, in the same order. That is so also where
// the list is refused. An accepted list is understood as a whole, and has each topic once.
func FuzzTopicLists(f *testing.F) {
	for _, seed := range []string{"", ",", "a=b", "a=b,c=d", " a = b ,\tc=1h", "a=b,a=c", "a", "=", "a=", "=b", "a=b=c", "a=30s,b=1d12h", "a=30", "a=-1s", "é=b", "__a=b", "a=__b", ".=x", "a=..", "a=b\nc=d", "a=\x00", "a=1s;b=2s", "a=auto", "a=Auto", "a=1s..1h x2 jitter=20% max=16,b=5m..5m", "a=1h..1s", "a=1s..", "a=1s..1h max=1 x2", "a=1s..1h  x1.5", "a=1s,;,b=x;"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var targets, wantTargets []TopicTarget
		var delays, wantDelays []TopicDelay
		errs := map[string]error{"target": decodeTargets(text, &targets), "delay": decodeDelays(text, &delays)}
		pairs, entries := pairsModel(text)
		topics := make(map[string]bool)
		for _, pair := range pairs {
			topics[pair[0]] = true
			if boundTopic.MatchString(pair[1]) && !strings.HasPrefix(pair[1], "__") && pair[1] != "." && pair[1] != ".." {
				wantTargets = append(wantTargets, TopicTarget{pair[0], pair[1]})
			}
			if d, ok := durationModel(pair[1]); ok {
				wantDelays = append(wantDelays, TopicDelay{Ingress: pair[0], Delay: d})
			} else if b, err := delay.ParseBackoff(pair[1]); err == nil || pair[1] == "auto" {
				wantDelays = append(wantDelays, TopicDelay{Ingress: pair[0], Backoff: b, Auto: err != nil})
			}
		}
		if !slices.Equal(targets, wantTargets) || !slices.Equal(delays, wantDelays) {
			t.Fatalf("%q: targets %q and delays %v, want %q and %v", text, targets, delays, wantTargets, wantDelays)
		}
		for what, kept := range map[string]int{"target": len(targets), "delay": len(delays)} {
			err := errs[what]
			if err != nil && (err.Error() == "" || strings.ContainsAny(err.Error(), "\n\r")) {
				t.Fatalf("%q as %ss: refused by %q", text, what, err)
			}
			if err == nil && (kept != entries || len(topics) != entries || strings.Contains(text, ";")) {
				t.Fatalf("%q as %ss: accepted with %d of %d entries", text, what, kept, entries)
			}
		}
	})
}
