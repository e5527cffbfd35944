package report

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"layover/bench/measure"
	"layover/bench/rival"
)

// made returns figures with one result of each value for each structure named.
func made(figure measure.Figure, pending int, values map[string][]float64) Figures {
	f := Figures{}
	for name, runs := range values {
		for _, v := range runs {
			f.Add(measure.Spec{Rival: name, Delays: "uniform", Pending: pending}, measure.Result{figure: v})
		}
	}
	return f
}

func TestAFigureIsTheMedianOfTheRunsThatHaveIt(t *testing.T) {
	for name, test := range map[string]struct {
		runs []float64
		want string
	}{
		"none":  {nil, ""},
		"one":   {[]float64{7}, "7.00"},
		"two":   {[]float64{8, 7}, "7.50"},
		"three": {[]float64{1000, 7, 8}, "8.00"},
	} {
		f := made(measure.Warm, 5, map[string][]float64{rival.Layover: test.runs})
		f.Add(measure.Spec{Rival: rival.Layover, Delays: "uniform", Pending: 5}, measure.Result{measure.Cancel: 1})
		if got := f.cell(key{rival.Layover, "uniform", 5}, measure.Warm); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestNumbersHaveThreeDigits(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.0001: "0", 0.0123: "0.012", 1.5: "1.50", 17.26: "17.3", 568.4: "568", 1565: "1565", 106463.3: "106,463",
	} {
		if got := number(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1_000: "1,000", 10_000_000: "10,000,000"} {
		if got := count(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func TestAGoalIsJudgedAtTheLargestSize(t *testing.T) {
	f := made(measure.Warm, 10, map[string][]float64{rival.Layover: {50}, rival.RussellLuo: {400}, rival.AfterFunc: {300}, rival.FourAry: {45}})
	f.Add(measure.Spec{Rival: rival.Layover, Delays: "uniform", Pending: 5}, measure.Result{measure.Warm: 1})
	table := strings.Join(strings.Fields(f.goals()), " ")
	for _, want := range []string{
		"insert, warm memory, against RussellLuo/timingwheel | 3x | 8x | met |",
		"insert, warm memory, against time.AfterFunc | 7x | 6x | missed |",
		// Within 1.1x of the heap, which is as much as 0.909x faster.
		"| 0.909x | 0.9x | missed |",
		"cancel, against RussellLuo/timingwheel | 3.5x | | not measured |",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, f.goals())
		}
	}
}

func TestOneEarlyRecordOfAnyRunMissesTheGoal(t *testing.T) {
	f := Figures{}
	for run := range 3 {
		for _, delays := range measure.AllDelays() {
			early := 0.0
			if run == 1 && delays.Name == "constant" {
				early = 1
			}
			f.Add(measure.Spec{Rival: rival.Layover, Delays: delays.Name, Pending: 10},
				measure.Result{measure.Early: early, measure.EarlyOf: 10})
		}
	}
	if measured, met, ok := f.noneEarly(); measured != "1 of 90" || met || !ok {
		t.Errorf("%s, %t, %t", measured, met, ok)
	}
}

func TestTheCollectorsGoalIsAgainstTheBestPeerWithPointers(t *testing.T) {
	f := made(measure.Collection, 10, map[string][]float64{
		rival.Layover: {0.25}, rival.FourAry: {0.2}, "container/heap": {500}, rival.AfterFunc: {240},
	})
	if measured, met, ok := f.collection(); measured != "960x less" || met || !ok {
		t.Errorf("%s, %t, %t", measured, met, ok)
	}
}

func TestATableIsAligned(t *testing.T) {
	got := table{{"structure", "ns", "verdict"}, {"heap", "1.5", "met"}, {"µ", "", "no"}, {"w", "1,200", ""}}.markdown()
	want := `| structure |    ns | verdict |
|-----------|------:|---------|
| heap      |   1.5 | met     |
| µ         |       | no      |
| w         | 1,200 |         |
`
	if got != want {
		t.Errorf("\n%s\nwant\n%s", got, want)
	}
}

func TestAFileOfTablesIsWrittenWhole(t *testing.T) {
	doc := filepath.Join(t.TempDir(), "doc.md")
	for _, text := range []string{"\nold\n", "new"} {
		if err := errors.Join(Check(doc, Wheel, ""), Write(doc, Wheel, "", text, nil)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(doc)
	if want := "# The wheel and the daemon\n\nnew\n"; err != nil || string(got) != want {
		t.Errorf("%v, %q, want %q", err, got, want)
	}
}

func TestAFileOfAnotherKindIsFoundOutAtOnce(t *testing.T) {
	dir := t.TempDir()
	if err := Check(filepath.Join(dir, "none", "doc.md"), Wheel, ""); err == nil {
		t.Error("no error without a directory")
	}
	doc := filepath.Join(dir, "doc.md")
	if err := Write(doc, Journal, "", "tables", nil); err != nil {
		t.Fatal(err)
	}
	if err := Check(doc, Wheel, ""); err == nil {
		t.Error("tables of another subject would be replaced")
	}
	if err := os.WriteFile(doc, []byte("# Benchmarks\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Check(doc, Wheel, ""); err == nil {
		t.Error("prose would be replaced")
	}
}

// curves are figures for all plots: the cost of structure i is 10^i at each of
// the sizes.
func curves(sizes ...int) Figures {
	f := Figures{}
	for _, n := range sizes {
		for i, kind := range rival.Kinds() {
			v := []float64{1, 10, 100, 1_000, 10_000, 10_001}[i]
			f.Add(measure.Spec{Rival: kind.Name, Delays: "uniform", Pending: n},
				measure.Result{measure.Warm: v, measure.Cancel: v, measure.Expiry.All(): v, measure.LiveBytes: v})
		}
	}
	return f
}

func TestAPlotIsXMLWithAPointForEachFigure(t *testing.T) {
	plots := curves(10_000, 1_000_000).Plots()
	if len(plots) != 4 {
		t.Fatalf("%d plots, want 4", len(plots))
	}
	for _, p := range plots {
		elements := map[string]int{}
		for d := xml.NewDecoder(strings.NewReader(p.SVG())); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", p.Name, err)
			}
			if start, ok := token.(xml.StartElement); ok {
				elements[start.Name.Local]++
			}
		}
		if elements["polyline"] != 6 || elements["circle"] != 12 {
			t.Errorf("%s: %v, want 6 lines and 12 points", p.Name, elements)
		}
	}
}

func TestAPlotHasTwoLogarithmicAxes(t *testing.T) {
	x, y := curves(10_000, 1_000_000).Plots()[0].axes()
	if middle := x.at(100_000); middle != (x.from+x.to)/2 {
		t.Errorf("100,000 is at %v, want it halfway between %v and %v", middle, x.from, x.to)
	}
	if y.low != 1 || y.high != 20_000 || y.at(1) != below || y.at(20_000) != top {
		t.Errorf("the vertical axis is %+v, want 1 at the bottom and 20,000 at the top", y)
	}
}

func TestOneSizeIsNoPlot(t *testing.T) {
	if plots := curves(10_000).Plots(); len(plots) != 0 {
		t.Errorf("%d plots", len(plots))
	}
}
