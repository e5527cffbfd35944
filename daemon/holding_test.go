package daemon

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestWhateverTheLanesThereIsOneLineWhenATargetIsSickAndOneWhenItIsWell(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_EGRESS_TOPIC=absent") // with two lanes, each with a partition
		in.ready()
		w.send(0, "a", header("x-delay", "1s"))
		w.send(1, "b", header("x-delay", "5s"))
		time.Sleep(10 * time.Second)
		w.createTopics(2, "absent")
		w.arrives("absent", 2, 10*time.Second)
		time.Sleep(time.Minute)
		in.stop()
		for message, want := range map[string]string{
			"sick":       `level=WARN msg=sick kind=target target=absent reason=missing text="The target absent does not exist. No record waits for it yet.`,
			"well again": `level=INFO msg="well again" kind=target target=absent after=`,
		} {
			lines := linesWith(in.logs.String(), message)
			if len(lines) != 1 || !strings.Contains(lines[0], want) {
				t.Errorf("want one line with %s: %q", want, lines)
			}
		}
		if line := linesWith(in.logs.String(), "sick"); len(line) == 1 && !strings.Contains(line[0], "--create --topic absent") {
			t.Errorf("%s does not say what to do", line)
		}
	})
}

func TestATargetWithTooFewPartitionsIsSaidOnceAndWhatItHolds(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.createTopics(1, "narrow")
		in := w.start("LAYOVER_PARTITION=same", "LAYOVER_EGRESS_TOPIC=narrow")
		in.ready()
		w.send(0, "a", header("x-delay", "1s"))
		w.send(1, "b", header("x-delay", "1s"))
		time.Sleep(10 * time.Second)
		in.stop()
		var lines []string
		for line := range strings.Lines(in.logs.String()) {
			if strings.Contains(line, "narrow has 1 partitions") || strings.Contains(line, "kind=target") {
				lines = append(lines, line)
			}
		}
		if len(lines) != 1 {
			t.Fatalf("%d lines, want one: %q", len(lines), lines)
		}
		for _, want := range []string{
			"level=WARN", "kind=target target=narrow reason=mismatched", "narrow has 1 partitions and delayed has 2", "all records of delayed for it are held, of whichever partition",
			"give it at least 2, or set LAYOVER_PARTITION=key",
		} {
			if !strings.Contains(lines[0], want) {
				t.Errorf("no %q in %s", want, lines[0])
			}
		}
	})
}

func TestAPauseSaysWhatIsWrongWithTheTopicAndNothingOfMemory(t *testing.T) {
	tests := map[string]struct {
		settings []string
		fault    *kfake.Fault
		header   string // of x-delay
		want     string
	}{
		"the dead-letter topic is missing": {
			[]string{"LAYOVER_DLQ_TOPIC=nodlq"}, nil, "tomorrow",
			`msg="reading pauses, what is parked goes on" reason=dead_letter target=nodlq state=missing`,
		},
		"the dead-letter topic refuses": {
			nil, &kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: dlq, Err: kerr.TopicAuthorizationFailed, Count: -1}, "tomorrow",
			`msg="reading pauses, what is parked goes on" reason=dead_letter target=dead-letters state=forbidden err="TOPIC_AUTHORIZATION_FAILED: `,
		},
		"a target is missing for too long": {
			[]string{"LAYOVER_DLQ_TOPIC=", "LAYOVER_ON_INVALID=halt", "LAYOVER_EGRESS_TOPIC=absent", "LAYOVER_TARGET_PATIENCE=5s"}, nil, "1s",
			`msg="reading pauses, what is parked goes on" reason=target target=absent state=missing`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				if test.fault != nil {
					w.Broker.Fault(*test.fault)
				}
				in := w.start(test.settings...)
				in.ready()
				w.send(0, "x", header("x-delay", test.header))
				time.Sleep(20 * time.Second)
				in.stop()
				lines := linesWith(in.logs.String(), "reading pauses, what is parked goes on")
				if len(lines) != 1 || !strings.Contains(lines[0], test.want) || strings.Contains(lines[0], "used=") || strings.Contains(lines[0], "limit=") {
					t.Errorf("want one line with %s and nothing of memory: %q", test.want, lines)
				}
			})
		})
	}
}
