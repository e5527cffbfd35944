package model

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// constant returns what a constant of package lane is, from its source.
func constant(t *testing.T, file, name string) string {
	t.Helper()
	source, err := os.ReadFile("../../lane/" + file)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^\s*` + name + `\s+= ([^/\n]+)`).FindSubmatch(source)
	if found == nil {
		t.Fatalf("%s has no constant %s", file, name)
	}
	return strings.TrimSpace(string(found[1]))
}

func TestTheRulesAreThoseOfTheLane(t *testing.T) {
	units := map[string]time.Duration{"time.Millisecond": time.Millisecond, "time.Second": time.Second, "time.Minute": time.Minute, "time.Hour": time.Hour}
	for _, c := range []struct {
		file, name string
		ms         int64
	}{
		{"flush.go", "flushRest", flushRestMs}, {"flush.go", "mostAge", mostAgeMs}, {"moves.go", "longest", longestMs}, {"moves.go", "shortest", shortestMs},
		{"visits.go", "mostAhead", mostAheadMs}, {"visits.go", "leastAhead", leastAhead}, {"cleaning.go", "cleanRest", cleanRestMs},
	} {
		times, unit, two := strings.Cut(constant(t, c.file, c.name), " * ")
		n := int64(1)
		if !two {
			unit = times
		} else if _, err := fmt.Sscan(times, &n); err != nil {
			t.Fatal(err)
		}
		if got := (time.Duration(n) * units[unit]).Milliseconds(); got != c.ms || got == 0 {
			t.Errorf("%s is %d ms in the lane, and %d here", c.name, got, c.ms)
		}
	}
	for name, want := range map[string]string{"gatherBudget": fmt.Sprint(gatherBudget), "copyBudget": fmt.Sprint(copyBudget), "squeezeShare": fmt.Sprint(squeezeShare), "leastFlush": fmt.Sprint(leastFlush), "mostSpan": "5_000_000", "leastSpan": "50_000"} {
		if got := constant(t, "flush.go", name); got != want {
			t.Errorf("%s is %s in the lane, and %s here", name, got, want)
		}
	}
	for name, want := range map[string]int{"fewSmall": fewSmall, "leastFew": leastFew, "fewShare": fewShare, "cleanPart": cleanPart} {
		if got := constant(t, "cleaning.go", name); got != fmt.Sprint(want) {
			t.Errorf("%s is %s in the lane, and %d here", name, got, want)
		}
	}
	if got := constant(t, "flush.go", "leastOfRun"); got != "1 << 10" || leastOfRun != 1<<10 {
		t.Errorf("leastOfRun is %s in the lane", got)
	}
	if got := constant(t, "cleaning.go", "cleanSlack"); got != "128 << 20" || cleanSlack != 128<<20 {
		t.Errorf("cleanSlack is %s in the lane", got)
	}
}

func TestEveryRecordOfTheModelIsDeliveredOrWaits(t *testing.T) {
	d := Delay{"minutes and a day", 0, day, func() func(r dice) int64 {
		return func(r dice) int64 {
			if r.IntN(4) == 0 {
				return day
			}
			return 2*hour + r.Int64N(hour)
		}
	}()}
	d.Mean = 0.25*float64(day) + 0.75*2.5*float64(hour)
	w, err := steady(d, 40_000, 2<<20, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	inMemory := int64(w.core.Snapshot().Parked) - w.loaded()
	c := w.count
	if c.Moved-c.Again < c.Read/2 || c.Delivered == 0 {
		t.Errorf("the model did not move most of it: %+v", c)
	}
	if got := c.Delivered + w.live + inMemory; got != c.Read {
		t.Errorf("%d were read, and %d were delivered, %d wait in runs and %d in memory", c.Read, c.Delivered, w.live, inMemory)
	}
	if c.Segments > 3 {
		t.Errorf("the log was %d bytes with %d live: %.1f segments over thrice that", c.MostLog, c.ItsLive, c.Segments)
	}
}

func TestARestartOfTheModelFindsAllThatWaits(t *testing.T) {
	f, err := Fill(30_000, 2<<20, 0, 2*hour, day, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if f.Waiting < 15_000 || f.Runs == 0 || f.Directory == 0 || f.Restart.Runs != f.Runs {
		t.Errorf("%+v", f)
	}
	if f.Later.Loaded <= f.Restart.Loaded || f.Count.Stopped {
		t.Errorf("two hours later some are due, and %d were loaded; at once %d", f.Later.Loaded, f.Restart.Loaded)
	}
}

func TestWhatIsDueWithinALongerStepIsLoaded(t *testing.T) {
	w := newWorld(2<<20, 0, 4)
	w.every(100)
	for range 20_000 {
		w.arrive(70*second + w.dice.Int64N(120*second))
	}
	for now := int64(0); now <= 100*second; now += 100 {
		w.turn(startMs + now)
	}
	moved := w.live
	w.every(stepMs)
	for now := 101 * second; now < 2*hour && w.err == nil; now += stepMs {
		w.turn(startMs + now)
	}
	if w.err != nil || moved == 0 || w.count.Delivered != w.count.Read {
		t.Errorf("%d were moved, and of %d that were read %d were delivered: %v", moved, w.count.Read, w.count.Delivered, w.err)
	}
}
