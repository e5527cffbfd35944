package speed

import (
	"encoding/json"
	"os"
	"slices"
)

// Figure is one that was measured, in each run.
type Figure struct {
	Part   string    `json:"part"`
	Case   string    `json:"case"`
	Way    string    `json:"way"`
	What   string    `json:"what"`
	Unit   string    `json:"unit"`
	Median float64   `json:"median"`
	Runs   []float64 `json:"runs"`
}

// figures are all, in the order in which they were first measured.
type figures struct{ all []*Figure }

// add keeps a figure of a run.
func (f *figures) add(part, of, way, what, unit string, value float64) {
	g := f.find(part, of, way, what)
	if g == nil {
		g = &Figure{Part: part, Case: of, Way: way, What: what, Unit: unit}
		f.all = append(f.all, g)
	}
	g.Runs = append(g.Runs, value)
	g.Median = median(g.Runs)
}

func (f *figures) find(part, of, way, what string) *Figure {
	for _, g := range f.all {
		if g.Part == part && g.Case == of && g.Way == way && g.What == what {
			return g
		}
	}
	return nil
}

// get is the median of a figure.
func (f *figures) get(part, of, way, what string) (float64, bool) {
	if g := f.find(part, of, way, what); g != nil {
		return g.Median, true
	}
	return 0, false
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return (sorted[half-1] + sorted[half]) / 2
	}
	return sorted[half]
}

// WriteJSON writes the figures, and beside them what they were measured with.
func (f *Found) WriteJSON(file, about string) error {
	text, err := json.MarshalIndent(struct {
		About   string    `json:"about"`
		Broker  string    `json:"broker"`
		Figures []*Figure `json:"figures"`
	}{about, f.broker, f.figures.all}, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}
