package endtoend

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"layover/bench/broker"
	"layover/bench/row"

	"github.com/twmb/franz-go/pkg/kgo"
)

// tiny is enough for every row to be there, and for nothing to be read from it.
func tiny(t *testing.T) Options {
	return Options{
		Records: 2000, Idle: 300 * time.Millisecond, Flow: 300 * time.Millisecond, PerSecond: 200, Settle: 10 * time.Millisecond,
		LoopRounds: 1, LoopWatch: 1200 * time.Millisecond, Log: t.Output(),
	}
}

// named checks that there are these rows, by how their names begin, and no other.
func named(t *testing.T, rows []row.Row, names ...string) {
	t.Helper()
	for i, r := range rows {
		t.Logf("%-60s %s   %s", r.Name, r.Value, r.Goal)
		if i >= len(names) || !strings.HasPrefix(r.Name, names[i]) {
			t.Errorf("row %d is %q", i, r.Name)
		}
		if r.Value == "" || (r.Goal == "") != (r.Met == nil) {
			t.Errorf("row %q: value %q, goal %q, met %v", r.Name, r.Value, r.Goal, r.Met)
		}
	}
	if len(rows) < len(names) {
		t.Errorf("%d rows, want %q", len(rows), names)
	}
}

func TestEndToEndFillsItsRows(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	rows, err := EndToEnd(ctx, tiny(t))
	if err != nil {
		t.Fatal(err)
	}
	named(t, rows,
		"parked", "Go runtime", "payload", "live bytes", "overhead", "accounted", "resident per record", "resident in all",
		"CPU while idle", "CPU at 200/s", "GC CPU per minute at 200/s",
		"lateness at 200/s, due to delivery", "lateness at 200/s, due to receiver", "lost", "early", "delivered more than once")
}

func TestLoopFillsItsRows(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	rows, err := Loop(ctx, tiny(t))
	if err != nil {
		t.Fatal(err)
	}
	named(t, rows,
		"wake-ups, nothing parked", "wake-ups, 10000 parked", "an earlier deadline",
		"lateness of the loop, idle, GOMAXPROCS", "of a plain sleeper, idle", "lateness of the loop, idle, GOMAXPROCS", "of a plain sleeper, idle",
		"lateness of the loop, all", "of a plain sleeper, all", "lateness of the loop, all", "of a plain sleeper, all")
}

func TestRestartFillsItsRows(t *testing.T) {
	t.Setenv("LAYOVER_TEST_DOCKER", "there-is-no-such-program") // the embedded broker will do
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	o := tiny(t)
	o.Window, o.Build, o.Around = 50_000, 5*time.Second, time.Second
	rows, err := Restart(ctx, o, 2)
	if err != nil {
		t.Fatal(err)
	}
	twice := func(name string) []string { return []string{name + ", with the journal", name + ", metadata alone"} }
	named(t, rows, slices.Concat([]string{"broker", "window"}, twice("delivered again"), twice("process start to assignment"),
		twice("assignment to ready"), twice("assignment to the first delivery"), twice("assignment to the whole window read again"),
		twice("assignment to all delivered that is due"), []string{"restore of the journal", "journal until the kill"}, twice("CPU until the kill"), twice("memory"))...)
}

func TestFarFillsItsRows(t *testing.T) {
	t.Setenv("LAYOVER_TEST_DOCKER", "there-is-no-such-program") // the embedded broker will do
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	o := tiny(t)
	o.Far, o.Memory, o.Quiet, o.Flow = 150_000, 64<<20, 2*time.Second, time.Second
	rows, err := Far(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	of := func(what string) string { return "150000 parked: " + what }
	named(t, rows, "broker", "daemon", "record", "lateness at 200/s without runs", of("moved"), of("resident"), of("CPU"), of("lateness at 200/s while"),
		of("lateness at 200/s when"), of("runs, by"), of("runs topic"), of("restart: offsets"), of("restart: process"), of("restart: assignment to the first"), of("restart: assignment to ready"),
		"lateness of parked", "lateness of those", "visits", "lost", "early", "delivered again")
	if strings.HasPrefix(rows[4].Value, "0/s") || strings.HasPrefix(rows[9].Value, "0,") {
		t.Errorf("nothing was moved: %+v", rows)
	}
}

func TestAgainFillsItsRows(t *testing.T) {
	t.Setenv("LAYOVER_TEST_DOCKER", "there-is-no-such-program")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	o := tiny(t)
	o.Settle = 100 * time.Millisecond
	rows, err := Again(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	named(t, rows, "broker", "waiting", "live heap", "resident", "CPU of a collection", "from the assignment to ready", "a bare client")
}

// out is a record as the receiver gets it.
func out(topic, key string, stampMs int64) *kgo.Record {
	return &kgo.Record{Topic: topic, Key: []byte(key), Timestamp: time.UnixMilli(stampMs)}
}

func TestWhatIsLostEarlyOrStrayIsAnError(t *testing.T) {
	const key, dueMs = "0000000000000000", 1000
	for name, c := range map[string]struct {
		arrivals []*kgo.Record
		at       int64
		want     string // in the error; "" is none
		again    int
	}{
		"on time":                      {arrivals: []*kgo.Record{out(egress, key, dueMs)}, at: dueMs},
		"late":                         {arrivals: []*kgo.Record{out(egress, key, dueMs+70)}, at: dueMs + 90},
		"twice":                        {arrivals: []*kgo.Record{out(egress, key, dueMs), out(egress, key, dueMs+1)}, at: dueMs + 1, again: 1},
		"lost":                         {at: dueMs, want: "1 were lost and 0 early"},
		"early by its timestamp":       {arrivals: []*kgo.Record{out(egress, key, dueMs-1)}, at: dueMs, want: "0 were lost and 1 early"},
		"early by the receiver":        {arrivals: []*kgo.Record{out(egress, key, dueMs)}, at: dueMs - 1, want: "0 were lost and 1 early"},
		"a parked one":                 {arrivals: []*kgo.Record{out(egress, key, dueMs), out(egress, parkedKey+"000000001", dueMs)}, at: dueMs, want: "parked-000000001 in ready"},
		"dead-lettered, which is lost": {arrivals: []*kgo.Record{out(dlq, key, dueMs)}, at: dueMs, want: "in dead-letters"},
		"one that was never sent":      {arrivals: []*kgo.Record{out(egress, key, dueMs), out(egress, "0000000000000001", dueMs)}, at: dueMs, want: "0000000000000001 in ready"},
	} {
		t.Run(name, func(t *testing.T) {
			l := new(ledger)
			l.sent(dueMs)
			for _, r := range c.arrivals {
				l.arrived(r, time.UnixMilli(c.at))
			}
			a := l.account(0, 1)
			err := errors.Join(a.fault(), l.stray())
			switch {
			case c.want == "" && err != nil:
				t.Errorf("error %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v, want %q", err, c.want)
			}
			if a.again != c.again {
				t.Errorf("%d delivered again, want %d", a.again, c.again)
			}
		})
	}
}

func TestTheDaemonsBooksHaveToAgree(t *testing.T) {
	books := func(parked, delivered, dead, unaccounted int64) (s status) {
		s.Parked.Records, s.Counters.Delivered, s.Counters.DeadLettered, s.Counters.Unaccounted = parked, delivered, dead, unaccounted
		return s
	}
	if err := books(2, 3, 0, 0).fault(2, 3); err != nil {
		t.Error(err)
	}
	for _, s := range []status{books(1, 3, 0, 0), books(2, 2, 0, 0), books(2, 3, 1, 0), books(2, 3, 0, -1)} {
		if s.fault(2, 3) == nil {
			t.Errorf("%+v is no fault", s)
		}
	}
}

func TestQuantilesAreLatenessesThatHappened(t *testing.T) {
	var l row.Latenesses
	if l.At(500) != 0 {
		t.Error("a quantile of nothing")
	}
	for i := range 200 {
		l = append(l, time.Duration(200-i))
	}
	for permille, want := range map[int]time.Duration{0: 1, 500: 100, 990: 198, 1000: 200} {
		if got := l.At(permille); got != want {
			t.Errorf("%d of a thousand: %d, want %d", permille, got, want)
		}
	}
}

func TestWhatFallsDueWhileItIsParkedIsInTheBooks(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	d := new(dues)
	soon, later, never := d.key(0, now, time.Second), d.key(1, now, time.Hour), d.key(2, now, 2*watchedFor)
	if len(soon) != keySize || len(later) != keySize || len(never) != keySize {
		t.Errorf("keys %q, %q, %q: want %d bytes", soon, later, never, keySize)
	}
	if d.arrived(out("x", never, 0)) || d.arrived(out("x", "0000000000000000", 0)) || d.arrived(out("x", dueKey+"000000000009", 0)) {
		t.Error("what is in no books has arrived")
	}
	if n := d.left(now.Add(time.Minute)); n != 1 {
		t.Errorf("%d are left, want 1", n)
	}
	if a := d.account(now.Add(time.Minute)); a.lost != 1 || a.due != 1 || a.fault() == nil {
		t.Errorf("nothing has arrived, and the account is %+v", a)
	}
	for range 2 {
		if !d.arrived(out("x", soon, now.UnixMilli()+1007)) {
			t.Error("it is not in the books")
		}
	}
	if a := d.account(now.Add(time.Minute)); a.lost != 0 || a.again != 1 || a.late.At(500) != 7*time.Millisecond || a.fault() != nil {
		t.Errorf("it came twice and 7 ms late, and the account is %+v", a)
	}
	d.outages = []outage{{now, now.Add(time.Second)}}
	if a := d.account(now.Add(time.Minute)); len(a.late) != 0 || a.out.At(500) != 7*time.Millisecond {
		t.Errorf("it fell due in an outage, and the account is %+v", a)
	}
	d.arrived(out("x", later, now.UnixMilli()))
	if a := d.account(now); a.early != 1 || a.due != 2 || a.fault() == nil {
		t.Errorf("one came an hour early, and the account is %+v", a)
	}
}

func TestADaemonIsKilledAtAMillionTenMillionAndTheEnd(t *testing.T) {
	for far, want := range map[int][]int64{500: {500}, 1_000_000: {1_000_000}, 2_000_000: {1_000_000, 2_000_000}, 50_000_000: {1_000_000, 10_000_000, 50_000_000}} {
		o := Options{Far: far}
		if got := o.steps(); !slices.Equal(got, want) {
			t.Errorf("%d: %v, want %v", far, got, want)
		}
	}
}

// verdicts are the rows with a goal, by how their names begin: true is met.
func verdicts(rows []row.Row) map[string]bool {
	met := make(map[string]bool)
	for _, r := range rows {
		if r.Met != nil {
			met[r.Name] = *r.Met
		}
	}
	return met
}

func TestAHerdFromRunsMayCostTwiceThatFromMemory(t *testing.T) {
	o := Options{Herd: Full().Herd}
	for spent, want := range map[time.Duration]bool{20 * time.Second: true, 21 * time.Second: false} {
		rows := herdRows(o, &broker.Broker{Name: "none"}, []herdFound{{name: "from memory", spent: 10 * time.Second, filled: 1}, {name: "from runs", runs: 499, spent: spent, filled: 1}})
		got := verdicts(rows)
		if len(got) != 2 || got["from runs: CPU"] != want || got["from runs: runs"] {
			t.Errorf("%v: %v", spent, got)
		}
	}
}

func TestAKindOfDelaysMayCostTwiceThatFromMemory(t *testing.T) {
	o, k := Options{Herd: 1_000_000}, kind{name: "all"}
	for spent, want := range map[time.Duration]bool{20 * time.Second: true, 21 * time.Second: false} {
		got := verdicts(k.rows(o, &kindFound{spent: 10 * time.Second}, &kindFound{spent: spent, moved: 900_000, copies: 990_000}))
		if len(got) != 1 || got["all: CPU from runs"] != want {
			t.Errorf("%v: %v", spent, got)
		}
	}
}

func TestCleaningMayBeTwiceAsLate(t *testing.T) {
	o := Options{PerSecond: 1000, Memory: 100}
	late := func(d time.Duration) account { return account{received: row.Latenesses{d}} }
	f := cleanFound{base: late(time.Second), moved: late(2 * time.Second), delivering: late(time.Second), cleaning: late(2*time.Second + 1), peak: 101}
	f.after.Runs.Moved, f.after.Runs.Cleaned = 200, 100
	want := map[string]bool{
		"lateness at 1000/s while moving": true, "lateness at 1000/s until the others were delivered": true, "lateness at 1000/s while cleaning": false,
		"copies written": true, "peak of resident memory": false, "lost and early": true,
	}
	if got := verdicts(f.rows(o, &broker.Broker{Name: "none"})); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
