package ids

import (
	"io"
	"strings"
	"testing"
)

func TestAMeasurementHasEachFigureAndItsGoal(t *testing.T) {
	rows, err := Measure(t.Context(), Options{Records: 20_000, Runs: 1, Log: io.Discard}, 90)
	if err != nil {
		t.Fatal(err)
	}
	goals := 0
	for _, r := range rows {
		if r.Goal != "" {
			goals++
		}
		if strings.HasPrefix(r.Value, "0 ") || strings.Contains(r.Value, "NaN") {
			t.Errorf("%s: %s", r.Name, r.Value)
		}
		if strings.HasPrefix(r.Name, "accounted bytes of an id") && !*r.Met {
			t.Errorf("%s: %s, wanted %s", r.Name, r.Value, r.Goal)
		}
	}
	if len(rows) != 6 || goals != 3 {
		t.Errorf("%d rows, %d with a goal, want 6 and 3", len(rows), goals)
	}
}

func TestARecordThatTheCoreDoesNotTakeIsAnError(t *testing.T) {
	c := newCore(1)
	c.next = -1 // below what the partition has read
	if c.parkAll(1, nil); c.err == nil {
		t.Error("no error")
	}
}
