package dev

import (
	"os"
	"slices"
	"strings"
	"testing"

	"layover/config"
)

func TestAnEmptyDevSendsNothingAndLeavesNothing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	d := start(t, "--addr", "127.0.0.1:0", "--empty", "--ingress", "retry")
	addr := d.until(`broker  (127\.0\.0\.1:\d+), topics delayed, retry, ready and dead-letters`)[1]
	d.until("Ctrl-C")
	d.send(addr, "--topic", "retry", "--delay", "50ms", "again")
	if got := d.until(`^  (\S+)-\d-\d+  due .*`); got[1] != "retry" || !strings.HasSuffix(got[0], `"again"`) {
		t.Errorf("the first record that came out is %q", got[0])
	}
	if rest := d.end(); strings.Contains(rest, "sample") {
		t.Errorf("more came out: %q", rest)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("%d entries are left, %v", len(left), err)
	}
}

func TestSettingsForSingleTopicsApplyWhereTheyAreAboutDevsOwn(t *testing.T) {
	for name, test := range map[string]struct {
		pair    string
		applies bool
	}{
		"delayed":             {"LAYOVER_TOPIC_DELAYS=delayed=2s", true},
		"one more":            {"LAYOVER_TOPIC_DELAYS=delayed=1s, retry=2s", true},
		"in lower case":       {"layover_topic_delays=retry=2s", false},
		"targets":             {"LAYOVER_TOPIC_TARGETS=retry=orders", true},
		"another":             {"LAYOVER_TOPIC_DELAYS=orders=2s", false},
		"another beside ours": {"LAYOVER_TOPIC_DELAYS=retry=2s,orders=2s", false},
		"targets of another":  {"LAYOVER_TOPIC_TARGETS=orders=ready", false},
	} {
		t.Run(name, func(t *testing.T) {
			environ, ignored := compose([]string{test.pair}, "127.0.0.1:9092", "retry")
			if slices.Contains(environ, test.pair) != test.applies || (len(ignored) == 0) != test.applies {
				t.Errorf("environment %q, not used are %q", environ, ignored)
			}
			cfg, warnings, err := config.Load(environ)
			if err != nil || len(warnings) > 0 {
				t.Fatal(warnings, err)
			}
			if want := []string{"delayed", "retry"}; !slices.Equal(cfg.IngressTopics, want) || (len(cfg.TopicDelays)+len(cfg.TopicTargets) > 0) != test.applies {
				t.Errorf("ingress topics %q, delays %v, targets %v", cfg.IngressTopics, cfg.TopicDelays, cfg.TopicTargets)
			}
		})
	}
}
