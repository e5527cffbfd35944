package daemon

import (
	"strings"
	"testing"
	"time"
)

func TestTheStartLineSaysWhatWasUnderstood(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_TOPIC_TARGETS=delayed=other", "LAYOVER_MAX_PARKED_BYTES=64Mi", "LAYOVER_PARTITION=same")
		in.stop()
		line, _, _ := strings.Cut(in.logs.String(), "\n")
		for _, want := range []string{
			`msg="layover starts"`, "mode=at-least-once", "group=layover-delayed", "ingress=[delayed]", `targets="[ready other]"`,
			"dead_letter=dead-letters", "max_parked_bytes=67108864", "partition=same", "gomaxprocs=", "gomemlimit=",
		} {
			if !strings.Contains(line, want) {
				t.Errorf("no %s in the first line: %s", want, line)
			}
		}
	})
}

// Whatever is logged at whatever level, it has nothing of what records are.
func TestNoLineOfTheLogHasAnythingOfARecord(t *testing.T) {
	t.Setenv("LAYOVER_TEST_DEBUG", "1")
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_ON_INVALID=halt", "LAYOVER_DLQ_TOPIC=")
		in.ready()
		w.send(0, "SECRET-value", header("SECRET-name", "SECRET-text"), header("x-delay", "1s"))
		w.send(0, "SECRET-other", header("SECRET-name", "SECRET-text"), header("x-deliver-to", "SECRET-target"))
		w.arrives(egress, 1, 5*time.Second)
		in.stop()
		if logs := in.logs.String(); strings.Contains(logs, "SECRET") || !strings.Contains(logs, "offset=1 err=target_not_allowed") {
			t.Errorf("log: %s", logs)
		}
	})
}

func TestTheStartLineHasWhatHoldsForEachIngressTopicAndHowLongIsWaited(t *testing.T) {
	tests := map[string]struct {
		settings  []string
		want, not []string
	}{
		"as set": {
			[]string{
				"LAYOVER_INGRESS_TOPICS=delayed,also", "LAYOVER_TOPIC_TARGETS=delayed=other,also=ready", "LAYOVER_TOPIC_DELAYS=also=36h,delayed=90s",
				"LAYOVER_DEFAULT_DELAY=1500ms", "LAYOVER_TARGET_PATIENCE=36h", "LAYOVER_CATCHUP_RATE=1500", "KAFKA_CLIENT_ID=shop-1",
				"LAYOVER_EXPIRE_AFTER=90m", "LAYOVER_ON_EXPIRED=drop", "LAYOVER_EVENTS_TOPIC=events",
				"LAYOVER_HEADERS=Spring,etf1", "LAYOVER_HEADER_MAP=X-Wait=S", "LAYOVER_ADDED_HEADERS=due,ID",
			},
			[]string{
				" client_id=shop-1 ", ` topic_targets="delayed=other,also=ready" `, ` topic_delays="also=1d12h,delayed=1m30s" `,
				" tls=false client_id", " default_delay=1s500ms ", " target_patience=1d12h catchup_rate=1500 ", " max_delay=30d ", " journal=auto runs=auto default_delay=",
				" on_expired=drop events=events partition=", " expire_after=1h30m ", " headers=spring,etf1 ", " added_headers=id,due compression=", ` header_map="X-Wait=s" `,
			}, nil,
		},
		"secured": {
			[]string{"KAFKA_TLS_ENABLED=true", "KAFKA_SASL_MECHANISM=SCRAM-SHA-512", "KAFKA_SASL_USERNAME=USER", "KAFKA_SASL_PASSWORD=SECRET"},
			[]string{" tls=true mechanism=SCRAM-SHA-512 "},
			[]string{"USER", "SECRET"},
		},
		"by default": {
			nil,
			[]string{" client_id=layover ", " default_delay=0s ", ` backoff="1s..1h x2 jitter=20% max=16" max_hops=1000 `, " target_patience=15m ", " commit_interval=1s ", " on_expired=dlq ", " added_headers=id,due,original-timestamp "},
			[]string{"topic_targets", "topic_delays", "mechanism", "expire_after", "events=", " headers=", "header_map="},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				in := w.start(test.settings...)
				in.stop()
				line, _, _ := strings.Cut(in.logs.String(), "\n")
				for _, want := range test.want {
					if !strings.Contains(line, want) {
						t.Errorf("no %s in the first line: %s", want, line)
					}
				}
				for _, not := range test.not {
					if strings.Contains(line, not) {
						t.Errorf("%s in the first line, and nothing is set: %s", not, line)
					}
				}
			})
		})
	}
}
