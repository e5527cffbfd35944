package daemon

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"layover/verify/long"
)

// line returns the texts of one of the page's lines, as its script gets them, and how
// many parts it is drawn in.
func (in *instance) line(key string) (texts string, parts int) {
	in.w.Helper()
	var page struct{ Body []any }
	_, body := in.get("/status?format=page")
	if err := json.Unmarshal([]byte(body), &page); err != nil {
		in.w.Fatalf("%v: %s", err, body)
	}
	var all []string
	var walk func(n any, inside bool)
	walk = func(n any, inside bool) {
		switch n := n.(type) {
		case string:
			if inside {
				all = append(all, n)
			}
		case []any:
			inside = inside || n[1].(map[string]any)["data-key"] == "line "+key
			if inside && n[0] == "polyline" {
				parts++
			}
			for _, child := range n[2:] {
				walk(child, inside)
			}
		}
	}
	for _, n := range page.Body {
		walk(n, false)
	}
	return strings.Join(all, "; "), parts
}

func TestThePageShowsTheLast15Minutes(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		w.send(0, "a", header("x-delay", "10m"))
		w.send(0, "b", header("x-delay", "1m"))
		w.send(1, "c", header("x-delay", "soon"))
		time.Sleep(14 * time.Minute)
		for key, want := range map[string]string{
			"parked": "Parked; 0; 0 to 2", "delivered": "Delivered, a second; 0; 0 to 0.2, 2 in all",
			"dead-lettered": "Dead-lettered, a second; 0; 0 to 0.2, 1 in all",
		} {
			if got, parts := in.line(key); got != want || parts == 0 {
				t.Errorf("%q in %d parts, want %q", got, parts, want)
			}
		}
		if got, parts := in.line("late"); !strings.HasSuffix(got, "; –; 1 ms throughout") || parts != 2 {
			t.Errorf("%q in %d parts, and two records were delivered, each at its time", got, parts)
		}
		time.Sleep(15 * time.Minute)
		if got, _ := in.line("delivered"); got != "Delivered, a second; 0; 0 throughout" {
			t.Errorf("a quarter of an hour later: %q", got)
		}
		in.wire.sever()
		time.Sleep(5 * time.Minute)
		if got, parts := in.line("parked"); got != "Parked; unknown; 0 throughout" || parts != 1 {
			t.Errorf("without Kafka: %q in %d parts", got, parts)
		}
		in.stop()
	})
}
