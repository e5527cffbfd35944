package config

import (
	"testing"
	"time"

	"layover/delay"
)

func backoffOf(t *testing.T, text string) delay.Backoff {
	t.Helper()
	b, err := delay.ParseBackoff(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestABackoffMayBeATopicsDelay(t *testing.T) {
	cfg := mustLoad(t, minimal("LAYOVER_INGRESS_TOPICS=a,b,c,d", "LAYOVER_GROUP_ID=g", "LAYOVER_DEFAULT_DELAY=7s", "LAYOVER_BACKOFF=2s..9h  max=3 ",
		"LAYOVER_TOPIC_DELAYS= a = auto , b=5m..5m x1.50,c=30s"))
	want := map[string]struct {
		backoff string
		delay   time.Duration
	}{
		"a": {"2s..9h x2 jitter=20% max=3", 0},
		"b": {"5m..5m x1.5 jitter=20% max=16", 0}, // not the parts of the setting
		"c": {"", 30 * time.Second},
		"d": {"", 7 * time.Second},
	}
	for ingress, w := range want {
		rules, err := cfg.Rules(ingress)
		if err != nil {
			t.Fatal(err)
		}
		if rules.TopicBackoff.String() != w.backoff || rules.DefaultDelay != w.delay || rules.Backoff.String() != want["a"].backoff ||
			rules.MaxHops != 1000 || rules.DeliverInvalid {
			t.Errorf("%s: %+v", ingress, rules)
		}
	}
	if got := joined(cfg.TopicDelays); got != "a=auto,b=5m..5m x1.5 jitter=20% max=16,c=30s" {
		t.Errorf("prints as %s", got)
	}
	rules, err := mustLoad(t, minimal("LAYOVER_ON_INVALID=deliver", "LAYOVER_MAX_HOPS=7")).Rules("delayed")
	if err != nil || !rules.DeliverInvalid || rules.MaxHops != 7 {
		t.Errorf("%+v, %v", rules, err)
	}
}

func TestTheDefaultBackoffIsTheOneThatSendTakesWithoutSettings(t *testing.T) {
	if got := mustLoad(t, minimal()).Backoff; got != backoffOf(t, delay.DefaultBackoff) {
		t.Errorf("%s, want %s", got, delay.DefaultBackoff)
	}
}

func TestABackoffThatCannotBeIsRefused(t *testing.T) {
	wantProblem(t, minimal("LAYOVER_BACKOFF=auto"), "LAYOVER_BACKOFF", `"auto"`, "want a back-off like 1s..1h x2 jitter=20% max=16")
	wantProblem(t, minimal("LAYOVER_BACKOFF=30s"), "LAYOVER_BACKOFF", "want a back-off")
	wantProblem(t, minimal("LAYOVER_BACKOFF=1s..1h x11"), "LAYOVER_BACKOFF", "x1 to x10")
	wantProblem(t, minimal("LAYOVER_BACKOFF=1s..30d1ns"), "LAYOVER_BACKOFF", "LAYOVER_MAX_DELAY", "30d by default")
	wantProblem(t, minimal("LAYOVER_BACKOFF=1s..2h", "LAYOVER_MAX_DELAY=1h"), "LAYOVER_BACKOFF", `"1h"`)
	wantProblem(t, minimal("LAYOVER_TOPIC_DELAYS=delayed=1s..30d1ns"), "LAYOVER_TOPIC_DELAYS", "above LAYOVER_MAX_DELAY")
	wantProblem(t, minimal("LAYOVER_TOPIC_DELAYS=delayed=1h..1s"), "LAYOVER_TOPIC_DELAYS", "below the first")
	wantProblem(t, minimal("LAYOVER_TOPIC_DELAYS=delayed=1s..1h,x3"), "LAYOVER_TOPIC_DELAYS", "ingress=delay") // a comma ends an entry
	wantProblem(t, minimal("LAYOVER_DEFAULT_DELAY=auto"), "LAYOVER_DEFAULT_DELAY")
	wantProblem(t, minimal("LAYOVER_DEFAULT_DELAY=1s..1h"), "LAYOVER_DEFAULT_DELAY")
}

// A maximum that is below the default's longest wait was a valid setting before there were
// back-offs.
func TestTheDefaultBackoffIsWithinAMaximumThatIsShorter(t *testing.T) {
	for longest, want := range map[string]string{
		"1h": "1s..1h x2 jitter=20% max=16", "10m": "1s..10m x2 jitter=20% max=16", "500ms": "500ms..500ms x2 jitter=20% max=16",
	} {
		if got := mustLoad(t, minimal("LAYOVER_MAX_DELAY="+longest)).Backoff.String(); got != want {
			t.Errorf("at most %s: %s, want %s", longest, got, want)
		}
	}
}
