package speed

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"layover/bench/row"
)

// tiny is enough for every row to be there, and for nothing to be read from it. The broker is an embedded one.
func tiny(t *testing.T) Options {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	return Options{
		Brokers: cluster.ListenAddrs(), Product: Layover(), Runs: 1, Due: map[int]int{100: 2000}, Partitions: []int{2, 3}, Rates: []int{200},
		Watch: 500 * time.Millisecond, Burst: 500, LateRates: []int{200}, Flood: 2000, Warm: 100, Warmups: 1, Lanes: []int{1, 2}, Cores: []int{1}, Parked: []int{10, 1000}, Beside: 500, Log: t.Output(),
	}
}

// measured measures the tables whose titles begin so.
func measured(t *testing.T, o Options, title string) *Found {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	found, err := Measure(ctx, o, func(s string) bool { return strings.HasPrefix(s, title) })
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Tables) != 1 {
		t.Fatalf("%d tables begin with %q", len(found.Tables), title)
	}
	return found
}

// named checks that there are these rows, by how their names begin, and no other.
func named(t *testing.T, rows []row.Row, names ...string) {
	t.Helper()
	for i, r := range rows {
		t.Logf("%-60s %s   %s", r.Name, r.Value, r.Goal)
		if i >= len(names) || !strings.HasPrefix(r.Name, names[i]) {
			t.Errorf("row %d is %q", i, r.Name)
		}
		if r.Value == "" || (r.Goal == "") != (r.Met == nil) || strings.Contains(r.Value+r.Goal, "NaN") {
			t.Errorf("row %q: value %q, goal %q, met %v", r.Name, r.Value, r.Goal, r.Met)
		}
	}
	if len(rows) < len(names) {
		t.Errorf("%d rows, want %q", len(rows), names)
	}
}

func TestEveryPartFillsItsRows(t *testing.T) {
	due := func(partitions string) []string {
		of := "100 B, partitions: " + partitions + ": "
		return []string{of + "layover", of + "loop, the same headers", of + "layover, no added headers", of + "bare loop"}
	}
	burst := func(of string) (names []string) {
		for _, way := range []string{"layover: ", "bare produce: "} {
			names = append(names, of+way+"the last one", of+way+"lateness", of+way+"one for another target")
		}
		return names
	}
	for title, names := range map[string][]string{
		"Already": append(due("2"), due("3")...),
		"CPU":     {"200/s, delay 2 s: layover", "200/s, delay 3600 s: layover", "200/s: bare loop, no linger", "200/s: bare loop", "200/s: bare produce"},
		"Burst":   append(burst("due at one instant: "), burst("due within one second: ")...),
		"Lateness": {"200/s: layover, by", "200/s: layover, at", "200/s: bare produce, by", "200/s: bare produce, at",
			"200/s: bare produce, as much read beside it, by", "200/s: bare produce, as much read beside it, at"},
		"Flood": {"layover: lateness at 1000/s before", "layover: lateness at 1000/s before", "layover: lateness at 1000/s while",
			"layover: lateness at 1000/s while", "layover: the flood", "bare produce: lateness at 1000/s before", "bare produce: lateness at 1000/s before",
			"bare produce: lateness at 1000/s while", "bare produce: lateness at 1000/s while", "bare loop: the flood"},
		"Lanes":  {"lanes: 1, cores: 1", "lanes: 2, cores: 1"},
		"Parked": {"10 parked", "1000 parked"},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			found := measured(t, tiny(t), title)
			if err := found.Tables[0].Err; err != nil {
				t.Fatal(err)
			}
			named(t, found.Tables[0].Rows, append([]string{"broker"}, names...)...)
			if plots := found.Plots(); (len(plots) == 1) != (title == "Already" || title == "Lateness") {
				t.Errorf("%d plots", len(plots))
			}
			file := filepath.Join(t.TempDir(), "speed.json")
			if err := found.WriteJSON(file, "a test"); err != nil {
				t.Fatal(err)
			}
			checkJSON(t, file)
		})
	}
}

// checkJSON checks that each figure says what it is, and has a median of its runs.
func checkJSON(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		About, Broker string
		Figures       []Figure
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.About != "a test" || doc.Broker == "" || len(doc.Figures) == 0 {
		t.Errorf("%+v", doc)
	}
	for _, f := range doc.Figures {
		if f.Part == "" || f.Way == "" || f.What == "" || f.Unit == "" || len(f.Runs) != 1 || f.Median != f.Runs[0] {
			t.Errorf("%+v", f)
		}
	}
}

// other is a scheduler that runs already: in truth a loop, which knows of no delay.
func other(t *testing.T, o *Options) {
	t.Helper()
	s, err := open(t.Context(), *o)
	if err != nil {
		t.Fatal(err)
	}
	sc := &scene{site: s, name: "other"}
	if err := sc.make(t.Context(), "wait", 2, "CreateTime"); err != nil {
		t.Fatal(err)
	}
	s.close()
	o.Product = Product{Name: "other", Ingress: "wait", TargetHeader: "to", DelayHeader: "at", Format: EpochMs}
	c, err := sc.child(t.Context(), loopChild, loopOrder{Brokers: o.Brokers, Group: "other", From: "wait", Chooses: "to", Strip: []string{"to", "at"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Kill)
}

func TestASchedulerThatRunsAlreadyIsMeasured(t *testing.T) {
	t.Parallel()
	o := tiny(t)
	other(t, &o)
	found := measured(t, o, "Already")
	if err := found.Tables[0].Err; err != nil {
		t.Fatal(err)
	}
	const of = "100 B, partitions: 2: " // of its topic
	named(t, found.Tables[0].Rows, "broker", of+"other", of+"loop, the same headers", of+"bare loop")
}

func TestWhatIsEarlyIsAnErrorAndNoRows(t *testing.T) {
	t.Parallel()
	o := tiny(t)
	other(t, &o)
	table := measured(t, o, "Lateness").Tables[0]
	if table.Err == nil || !strings.Contains(table.Err.Error(), "0 were lost and") || table.Rows != nil {
		t.Errorf("a loop that knows of no delay: error %v, %d rows", table.Err, len(table.Rows))
	}
}

func TestATargetOfOthersHasToBeStampedByTheBroker(t *testing.T) {
	t.Parallel()
	o := tiny(t)
	other(t, &o)
	o.Product.Target, o.Product.TargetHeader = "wait", ""
	_, err := Measure(t.Context(), o, func(string) bool { return true })
	if err == nil || !strings.Contains(err.Error(), logAppend) {
		t.Errorf("error %v", err)
	}
}
