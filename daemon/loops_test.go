package daemon

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// loopTurns returns layover_loop_turns_total, by loop.
func (in *instance) loopTurns() map[string]int {
	in.w.Helper()
	out := make(map[string]int)
	_, body := in.get("/metrics")
	for line := range strings.Lines(body) {
		rest, is := strings.CutPrefix(line, `layover_loop_turns_total{loop="`)
		if !is {
			continue
		}
		loop, count, _ := strings.Cut(rest, `"} `)
		n, err := strconv.ParseFloat(strings.TrimSpace(count), 64)
		if err != nil {
			in.w.Fatalf("%q: %v", line, err)
		}
		out[loop] = int(n)
	}
	return out
}

// TestEachLoopTurnsAsOftenAsItSays while nothing happens, in two minutes with some work between.
func TestEachLoopTurnsAsOftenAsItSays(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		time.Sleep(70 * time.Second) // a new group's commits are repeated for a minute
		for round := range 2 {
			before := in.loopTurns()
			time.Sleep(time.Minute)
			after := in.loopTurns()
			for loop, want := range map[string]struct{ least, most int }{
				"lane_0": {55, 70}, "lane_1": {55, 70}, "poll": {55, 65}, "cluster_watch": {55, 130},
				"journal_keeper": {11, 65}, "log_ends": {3, 65}, "committer": {0, 10}, "loading": {0, 0}, "journal_reading": {0, 0},
				"readiness": {0, 0}, "drop_summary": {2, 2}, "sick_list": {59, 61}, "preflight": {0, 0}, "replay": {239, 241}, "history": {1, 60},
			} {
				if n := after[loop] - before[loop]; n < want.least || n > want.most {
					t.Errorf("round %d: %s turned %d times in a minute, want %d to %d", round, loop, n, want.least, want.most)
				}
				delete(after, loop)
			}
			for loop := range after {
				t.Errorf("nothing says how often %s turns", loop)
			}
			before = in.loopTurns()
			w.sendMany(0, 100*round, 100, func(int) []kgo.RecordHeader { return nil })
			w.arrives(egress, 100*(round+1), time.Minute)
			after = in.loopTurns()
			if after["lane_0"]+after["lane_1"]+after["poll"] <= before["lane_0"]+before["lane_1"]+before["poll"] {
				t.Errorf("round %d: no loop turned for a hundred records", round)
			}
			time.Sleep(10 * time.Second)
		}
		if n := in.loopTurns()["readiness"]; n == 0 {
			t.Error("readiness was never looked for")
		}
		in.stop()
	})
}

// turnsIn is how often a loop has turned in so many seconds. Tickers turn as often as they
// tick. A loop that shows that it moves turns once a second at least, and others as work comes.
func turnsIn(loop string, seconds float64) any {
	const busy = 100 // a second
	switch {
	case loop == "sick_list":
		return between(seconds-2, seconds)
	case loop == "replay":
		return between(4*seconds-8, 4*seconds)
	case loop == "drop_summary":
		return between(seconds/30-1, seconds/30)
	case loop == "poll", strings.HasPrefix(loop, "lane_"):
		return between(seconds-5, busy*seconds)
	}
	return between(0, busy*seconds)
}
