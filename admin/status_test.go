package admin

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"layover/purgatory"
)

func TestStatusIsAsPublished(t *testing.T) {
	want, err := os.ReadFile("testdata/status.json")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		w := get(t, newServer(sourceOf(busy(time.Now()))), "/status")
		if kind := w.Header().Get("Content-Type"); kind != "application/json" {
			t.Errorf("content type %q", kind)
		}
		if w.Body.String() != string(want) {
			t.Errorf("differs from testdata/status.json:\n%s", w.Body)
		}
	})
}

// statusOf returns /status as somebody who knows its names reads it.
func statusOf(t *testing.T, s Sample) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal(get(t, newServer(sourceOf(s)), "/status").Body.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestStatusOfAProcessThatHasJustStarted(t *testing.T) {
	got := statusOf(t, Sample{Mode: "at-least-once", Started: time.Now()})
	for _, name := range []string{"next_due", "checked_at", "furthest_deadline", "lateness_ms"} {
		if value, there := got[name]; !there || value != nil {
			t.Errorf("%s is %v (there: %v), want null", name, value, there)
		}
	}
	for _, name := range []string{"assignments", "sick", "findings", "pauses", "last_errors", "held"} {
		if value, is := got[name].([]any); !is || len(value) != 0 {
			t.Errorf("%s is %v, want an empty list", name, got[name])
		}
	}
	if got["ready"] != false || got["ready_text"] == "" {
		t.Errorf("ready is %v: %q", got["ready"], got["ready_text"])
	}
}

func TestStatusQuantilesAreOfTheRecentDeliveries(t *testing.T) {
	for name, test := range map[string]struct {
		recent [][]int32
		want   string
	}{
		"one":       {[][]int32{{7}}, "map[count:1 max:7 p50:7 p90:7 p99:7]"},
		"two":       {[][]int32{{9, 1}}, "map[count:2 max:9 p50:1 p90:9 p99:9]"},
		"two lanes": {[][]int32{{10, 2, 9, 4, 5}, {1, 6, 8, 7, 3}}, "map[count:10 max:10 p50:5 p90:9 p99:10]"},
		"none":      {[][]int32{nil, nil}, "<nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			var s Sample
			for _, recent := range test.recent {
				s.Lanes = append(s.Lanes, &purgatory.Snapshot{RecentMs: recent})
			}
			if got := fmt.Sprint(statusOf(t, s)["lateness_ms"]); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

func TestStatusTextHelpsAnOperator(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Sample)
		at     []any // path to the text
		want   []string
	}{
		"memory": {
			func(s *Sample) { s.Pauses = []Pause{{Reason: PauseBytes}} },
			[]any{"pauses", 0, "text"},
			[]string{"take 192.0 MiB of memory, and it pauses at 224.0 MiB", "LAYOVER_MAX_PARKED_BYTES, 256.0 MiB", "LAYOVER_MAX_PARKED_BYTES", "Nothing is lost", "raise the limit"}},
		"the dead-letter topic": {
			func(s *Sample) { s.Pauses = []Pause{{Reason: PauseDeadLetter, Target: "retry-7"}} },
			[]any{"pauses", 0, "text"},
			[]string{"dead-letter topic retry-7", "it is missing (no such topic)", "Nothing is lost"}},
		"a target": {func(*Sample) {}, []any{"pauses", 0, "text"},
			[]string{"target retry-7", "it is missing (no such topic)", "LAYOVER_TARGET_PATIENCE", "LAYOVER_DLQ_TOPIC"}},
		"a target of which nothing is known": {
			func(s *Sample) { s.Pauses[0].Target = "other" }, []any{"pauses", 0, "text"},
			[]string{"target other", "the reason is not known yet"}},
		"a pause of another kind": {
			func(s *Sample) { s.Pauses = []Pause{{Reason: "operator"}} }, []any{"pauses", 0, "text"},
			[]string{"Reading is paused: operator"}},
		"halted": {func(*Sample) {}, []any{"assignments", 1, "stopped", "text"},
			[]string{"orders/1 stopped at offset 60: no_target", "A restart with another LAYOVER_ON_INVALID goes on from there: dlq (with LAYOVER_DLQ_TOPIC set) or deliver or drop."}},
		"halted by a refusal": {
			func(s *Sample) { s.Lanes[2].Partitions[0].Halted = "too_large: target ready" },
			[]any{"assignments", 1, "stopped", "text"}, []string{"goes on from there: dlq (with LAYOVER_DLQ_TOPIC set) or drop."}},
		"halted before a batch that is too large to read": {
			func(s *Sample) { s.Lanes[2].Partitions[0].Halted = "too_large_to_read: orders/1@60: the batch" },
			[]any{"assignments", 1, "stopped", "text"}, []string{"goes on from there: dlq (with LAYOVER_DLQ_TOPIC set) or drop.", "run: layover skip orders/1@60."}},
		"halted with deliver": {
			func(s *Sample) { s.Settings.OnInvalid = "deliver" },
			[]any{"assignments", 1, "stopped", "text"}, []string{"goes on from there: dlq (with LAYOVER_DLQ_TOPIC set) or drop."}},
		"halted with a dead-letter topic": {
			func(s *Sample) { s.Settings.DeadLetter, s.Settings.Deliverable = "dead", false },
			[]any{"assignments", 1, "stopped", "text"}, []string{"goes on from there: dlq or drop."}},
		"duplicates": {func(*Sample) {}, []any{"duplicates_after_a_kill", "text"},
			[]string{"since the last successful commit", "per target partition at most 1,000", "prefix"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := busy(time.Now())
			test.change(&s)
			var at any = statusOf(t, s)
			for _, step := range test.at {
				switch step := step.(type) {
				case int:
					at = at.([]any)[step]
				case string:
					at = at.(map[string]any)[step]
				}
			}
			for _, want := range test.want {
				if !strings.Contains(at.(string), want) {
					t.Errorf("%q lacks %q", at, want)
				}
			}
		})
	}
}

func TestStatusBoundsTheHeldTargetsItShows(t *testing.T) {
	var l purgatory.Snapshot
	for i := range maxHeld + 5 {
		l.Held = append(l.Held, purgatory.HeldView{Target: fmt.Sprintf("retry-%d", i), Records: i})
	}
	got := statusOf(t, Sample{Lanes: []*purgatory.Snapshot{&l}})
	held := got["held"].([]any)
	if first := held[0].(map[string]any)["target"]; len(held) != maxHeld || first != "retry-104" || got["held_not_shown"] != 5.0 {
		t.Errorf("%d shown, first %v, %v not shown", len(held), first, got["held_not_shown"])
	}
}

func TestStatusShowsAMissingRecord(t *testing.T) {
	s := busy(time.Now())
	s.Lanes[0].Parked--
	if got := statusOf(t, s)["counters"].(map[string]any)["unaccounted"]; got != 1.0 {
		t.Errorf("unaccounted is %v, want 1", got)
	}
}

func TestOfTwoAssignmentsTheNewerIsShown(t *testing.T) {
	older := &purgatory.Snapshot{Partitions: []purgatory.PartitionView{partition("orders", 0, purgatory.PartitionView{Epoch: 1, Next: 5})}}
	newer := &purgatory.Snapshot{Partitions: []purgatory.PartitionView{partition("orders", 0, purgatory.PartitionView{Epoch: 2, Next: 9})}}
	for _, lanes := range [][]*purgatory.Snapshot{{older, newer}, {newer, older}} {
		if parts := join(nil, lanes); len(parts) != 1 || parts[0].core.Next != 9 {
			t.Errorf("%d partitions, next %d", len(parts), parts[0].core.Next)
		}
	}
}
