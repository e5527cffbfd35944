package daemon

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"layover/purgatory"
)

// linesWith returns the lines of a log that have a message.
func linesWith(logs, message string) (out []string) {
	for line := range strings.Lines(logs) {
		if strings.Contains(line, fmt.Sprintf("msg=%q", message)) || strings.Contains(line, "msg="+message+" ") { // one word has no quotes
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

func TestDeadLettersAreSummedUpInTheLog(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		for range 3 {
			w.send(0, "bad", header("x-delay", "tomorrow"))
		}
		w.send(1, "stray", header("x-deliver-to", "elsewhere"))
		w.arrives(dlq, 4, 10*time.Second)
		time.Sleep(2 * time.Minute)
		w.send(1, "late", header("x-delay", "tomorrow"))
		w.arrives(dlq, 5, 10*time.Second)
		time.Sleep(time.Minute)
		in.stop()
		lines := linesWith(in.logs.String(), "records went to the dead-letter topic")
		want := []string{
			`level=WARN msg="records went to the dead-letter topic" records=4 within=30s by="delayed/malformed_delay=3,delayed/target_not_allowed=1"`,
			`level=WARN msg="records went to the dead-letter topic" records=1 within=30s by="delayed/malformed_delay=1"`,
		}
		if len(lines) != len(want) {
			t.Fatalf("%d lines, want %d: %v", len(lines), len(want), lines)
		}
		for i := range want {
			if !strings.HasSuffix(strings.ReplaceAll(lines[i], `\"`, `"`), want[i]) {
				t.Errorf("line %d is %s, want it to end in %s", i+1, lines[i], want[i])
			}
		}
	})
}

func TestWhatIsLostShortlyBeforeTheStopIsInTheLog(t *testing.T) {
	tests := map[string]struct{ policy, message, by string }{
		"dropped":       {"drop", "records dropped, as LAYOVER_ON_INVALID says", `by="delayed=3"`},
		"dead-lettered": {"dlq", "records went to the dead-letter topic", `by="delayed/malformed_delay=3"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				in := w.start("LAYOVER_ON_INVALID=" + test.policy)
				in.ready()
				for range 3 {
					w.send(0, "bad", header("x-delay", "tomorrow"))
				}
				time.Sleep(8 * time.Second)
				in.stop()
				lines := linesWith(in.logs.String(), test.message)
				if len(lines) != 1 || !strings.Contains(lines[0], "records=3 ") || !strings.Contains(lines[0], test.by) {
					t.Errorf("want one line with 3 records and %s: %v", test.by, lines)
				}
				if logs := in.logs.String(); strings.Index(logs, test.message) > strings.Index(logs, "msg=stopped") {
					t.Error("said behind the end")
				}
			})
		})
	}
}

func TestALineOfTheDropSummaryHasABoundAndNamesTheMost(t *testing.T) {
	var out bytes.Buffer
	dead := make(map[purgatory.TopicReason]int64)
	s := dropSummary{log: slog.New(slog.NewTextHandler(&out, nil)), lookedAt: time.Unix(1000, 0)}
	s.counts = func() (a, b map[purgatory.TopicReason]int64) { return nil, dead }
	for i := range int64(30) {
		dead[purgatory.TopicReason{Topic: fmt.Sprintf("in%02d", i), Reason: "why"}] = i + 1
	}
	s.say(time.Unix(1030, 0))
	want := `records=465 within=30s by="in20/why=21,in21/why=22,in22/why=23,in23/why=24,in24/why=25,in25/why=26,in26/why=27,in27/why=28,in28/why=29,in29/why=30,others=210"`
	if got := strings.TrimSpace(out.String()); !strings.HasSuffix(got, want) {
		t.Errorf("said %s, want it to end in %s", got, want)
	}
}
