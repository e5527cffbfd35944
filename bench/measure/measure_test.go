package measure

import (
	"math/rand/v2"
	"slices"
	"testing"

	"layover/bench/rival"
)

// TestEveryMeasurementHasItsFigures runs each part of each structure with few
// records. What they do is checked where it is measured. This test checks the
// figures that are there in the end, and that no clock-driven figure is
// missing by accident.
func TestEveryMeasurementHasItsFigures(t *testing.T) {
	for _, kind := range rival.Kinds() {
		for _, delays := range AllDelays() {
			for _, part := range Parts() {
				s := Spec{Rival: kind.Name, Delays: delays.Name, Pending: 1_000, Part: part}
				t.Run(s.String(), func(t *testing.T) {
					result, err := Run(s)
					if err != nil {
						t.Fatal(err)
					}
					for _, figure := range expected(kind, delays, part) {
						if v, ok := result[figure]; !ok || v < 0 {
							t.Errorf("%s: %v, %t", figure, v, ok)
						}
					}
				})
			}
		}
	}
}

func expected(kind rival.Kind, delays Delays, part string) []Figure {
	switch {
	case part == Hold:
		return []Figure{Fresh, Fresh.Wall(), Fresh.All(), Fresh.Allocs(), LiveBytes, Collection, Sweeping}
	case part == Churn:
		return []Figure{Warm, Cancel, CancelRest, CancelAtOnce}
	case kind.ByItself && delays.Name != AllDelays()[0].Name:
		return nil
	case kind.ByItself:
		return []Figure{Expiry, Expiry.All(), Early, EarlyOf}
	case kind.Name == rival.Layover:
		return []Figure{Expiry, Early, EarlyOf, P999, Longest, LongestCPU,
			JumpRate, JumpBefore, JumpMost, JumpAfter, JumpRate.Same(), JumpMost.Same()}
	}
	return []Figure{Expiry, Early, EarlyOf, P999, Longest, LongestCPU}
}

func TestNothingMovedByHandOrByTheRuntimeIsEarly(t *testing.T) {
	for _, kind := range rival.Kinds() {
		if kind.Name == rival.RussellLuo {
			continue // whose share of early records is the figure
		}
		result, err := Run(Spec{Rival: kind.Name, Delays: "uniform", Pending: 500, Part: Expire})
		if err != nil || result[Early] != 0 || result[EarlyOf] == 0 {
			t.Errorf("%s: %v of %v early, %v", kind.Name, result[Early], result[EarlyOf], err)
		}
	}
}

func TestAllocationsAreThoseThatAreKnown(t *testing.T) {
	const n = 50_000
	for name, want := range map[string]struct{ least, most float64 }{
		rival.Layover:    {0, 0.01},
		rival.FourAry:    {0, 0.01},
		"container/heap": {1, 1.01},
		rival.AfterFunc:  {2, 2.01}, // the timer and the closure
	} {
		result, err := Run(Spec{Rival: name, Delays: "uniform", Pending: n, Part: Hold})
		if err != nil {
			t.Fatal(err)
		}
		if got := result[Fresh.Allocs()]; got < want.least || got > want.most {
			t.Errorf("%s: %v allocations a record, want %v to %v", name, got, want.least, want.most)
		}
	}
}

func TestLiveBytesAreTheSizeOfWhatIsKept(t *testing.T) {
	// A node of the hashed wheel is 48 bytes in a size class of 48, and the ring
	// is 16 bytes a slot.
	const n = 100_000
	result, err := Run(Spec{Rival: "hashed wheel, rounds", Delays: "uniform", Pending: n, Part: Hold})
	want := 48 + 16*float64(rival.HashedWheelSlots)/n
	if got := result[LiveBytes]; err != nil || got < want-0.5 || got > want+0.5 {
		t.Errorf("%v bytes a record, %v, want %v", got, err, want)
	}
}

func TestDelaysAreWhatTheirTextSays(t *testing.T) {
	for name, want := range map[string]struct{ shortest, median, longest int64 }{
		"uniform":      {60_000, 1_830_000, 3_600_000},
		"constant":     {900_000, 900_500, 901_000}, // 100 in a millisecond
		"heavy-tailed": {100, 93_000, 86_400_000},   // sqrt(100 ms x 24 h)
	} {
		index := slices.IndexFunc(AllDelays(), func(d Delays) bool { return d.Name == name })
		deadlinesMs := make([]int64, 100_000)
		AllDelays()[index].fill(deadlinesMs, 5_000, rand.New(rand.NewPCG(1, 1)))
		slices.Sort(deadlinesMs)
		for _, at := range []struct {
			what      string
			got, want int64
		}{
			{"shortest", deadlinesMs[0] - 5_000, want.shortest},
			{"median", deadlinesMs[50_000] - 5_000, want.median},
			{"longest", deadlinesMs[99_999] - 5_000, want.longest},
		} {
			if at.got < at.want*95/100 || at.got > at.want*105/100 {
				t.Errorf("%s: the %s delay is %d ms, want about %d", name, at.what, at.got, at.want)
			}
		}
	}
}

func TestTheShareReadIsThatOfTheVisitsOfAHashedWheel(t *testing.T) {
	const turn = rival.HashedWheelSlots
	// Read 1, 1, 2, and 3 times: 7 in all.
	deadlinesMs := []int64{startMs + 1, startMs + turn, startMs + turn + 1, startMs + 3*turn}
	for afterMs, want := range map[int64]float64{
		0: 0, 1: 2, turn - 1: 2, turn: 4, turn + 1: 5, 2 * turn: 6, 3*turn - 1: 6, 3 * turn: 7, 9 * turn: 7,
	} {
		if got := 7 * shareRead(deadlinesMs, startMs+afterMs); got < want-1e-9 || got > want+1e-9 {
			t.Errorf("after %d ms: %v readings, want %v", afterMs, got, want)
		}
	}
}

func TestWhatIsUnknownIsAnError(t *testing.T) {
	for _, s := range []Spec{
		{Rival: "sundial", Delays: "uniform", Pending: 1, Part: Hold},
		{Rival: rival.Layover, Delays: "none", Pending: 1, Part: Hold},
		{Rival: rival.Layover, Delays: "uniform", Pending: 0, Part: Hold},
		{Rival: rival.Layover, Delays: "uniform", Pending: 1, Part: "none"},
	} {
		if _, err := Run(s); err == nil {
			t.Errorf("%+v: no error", s)
		}
	}
}
