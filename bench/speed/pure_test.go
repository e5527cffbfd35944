package speed

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/delay"
)

func TestADelayIsWrittenInTheFormOfTheScheduler(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	for format, want := range map[Format]struct {
		value string
		dueMs int64
		past  string
	}{
		Milliseconds: {"2500", 1_002_500, "0"},
		Seconds:      {"3", 1_003_000, "0"},
		EpochMs:      {"1002500", 1_002_500, "1000000"},
		Duration:     {"2.5s", 1_002_500, "0s"},
	} {
		p := Product{Format: format}
		if value, dueMs := p.delay(now, now.Add(2500*time.Millisecond)); value != want.value || dueMs != want.dueMs {
			t.Errorf("%s: %q, due %d; want %q, due %d", format, value, dueMs, want.value, want.dueMs)
		}
		if value, dueMs := p.delay(now, now.Add(-time.Hour)); value != want.past || dueMs != now.UnixMilli() {
			t.Errorf("%s: an instant that has passed is %q, due %d", format, value, dueMs)
		}
	}
}

func TestAProductIsFilledOrRefused(t *testing.T) {
	if p, err := (Product{}).Filled(); err != nil || p != Layover() {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := (Product{Ingress: "in", Target: "out"}).Filled(); err != nil || p.TargetHeader != "" || p.DelayHeader != "x-delay" || p.Format != Milliseconds || p.Name == "" {
		t.Errorf("%+v, %v", p, err)
	}
	for name, p := range map[string]Product{
		"no ingress": {Target: "out"},
		"no format":  {Ingress: "in", Format: "fortnights"},
	} {
		if _, err := p.Filled(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestALoopAddsTheHeadersOfALayover(t *testing.T) {
	targets, err := delay.NewTargets("ready", nil, []string{"delayed"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	rules := &delay.Rules{MaxDelay: time.Hour, Targets: targets}
	written := time.Date(2026, 3, 1, 23, 59, 59, 70_000_000, time.UTC)
	in := &kgo.Record{Topic: "delayed", Partition: 3, Offset: 1 << 40, Timestamp: written, Headers: []kgo.RecordHeader{
		{Key: "trace", Value: []byte("17")}, {Key: "x-delay", Value: []byte("2500")}, {Key: "x-deliver-to", Value: []byte("elsewhere")},
	}}
	o := loopOrder{To: "ready", Stamp: true, Strip: []string{"x-delay", "x-deliver-to"}, Chooses: "x-deliver-to", Delay: "x-delay"}
	out := o.copyOf(in)
	want := rules.AppendDelivered(nil, in.Headers, delay.Origin{Topic: in.Topic, Partition: in.Partition, Offset: in.Offset, TimestampMs: written.UnixMilli()},
		written.UnixMilli()+2500, delay.Whole, nil)
	if fmt.Sprintf("%q", out.Headers) != fmt.Sprintf("%q", want) || out.Topic != "elsewhere" {
		t.Errorf("to %s: %q\nwant %q", out.Topic, out.Headers, want)
	}
	o.Stamp = false
	if got := o.copyOf(in).Headers; len(got) != 1 || got[0].Key != "trace" {
		t.Errorf("without: %q", got)
	}
}

// arrival is a record of a target.
func arrival(key string, stampMs int64) *kgo.Record {
	return &kgo.Record{Topic: "ready", Key: []byte(key), Timestamp: time.UnixMilli(stampMs)}
}

func TestWhatIsLostEarlyOrStrayIsAnError(t *testing.T) {
	const tag, first, second, never = "007-", "007-000000000000", "007-000000000001", "007-000000000002"
	for name, c := range map[string]struct {
		arrivals []*kgo.Record
		at       int64 // received, Unix milliseconds; 0: read afterwards
		skew     time.Duration
		foreign  bool
		want     string // in the error; "" is none
		again    int
	}{
		"on time":                    {arrivals: []*kgo.Record{arrival(first, 1000), arrival(second, 2000)}},
		"late":                       {arrivals: []*kgo.Record{arrival(first, 1070), arrival(second, 2000)}, at: 2090},
		"twice":                      {arrivals: []*kgo.Record{arrival(first, 1000), arrival(first, 900), arrival(second, 2000)}, again: 1},
		"lost":                       {arrivals: []*kgo.Record{arrival(first, 1000)}, want: "1 were lost and 0 early"},
		"early by its timestamp":     {arrivals: []*kgo.Record{arrival(first, 999), arrival(second, 2000)}, want: "0 were lost and 1 early"},
		"early by the receiver":      {arrivals: []*kgo.Record{arrival(first, 1000), arrival(second, 2000)}, at: 1999, want: "0 were lost and 1 early"},
		"a clock that is behind":     {arrivals: []*kgo.Record{arrival(first, 990), arrival(second, 1990)}, skew: -10 * time.Millisecond},
		"a clock that is ahead":      {arrivals: []*kgo.Record{arrival(first, 1009), arrival(second, 2010)}, skew: 10 * time.Millisecond, want: "0 were lost and 1 early"},
		"due after all":              {arrivals: []*kgo.Record{arrival(first, 1000), arrival(second, 2000), arrival(never, 2000)}, want: never},
		"never sent":                 {arrivals: []*kgo.Record{arrival(first, 1000), arrival(second, 2000), arrival("007-000000000003", 2000)}, want: "not ours"},
		"somebody else's":            {arrivals: []*kgo.Record{arrival(first, 1000), arrival(second, 2000), arrival("006-000000000000", 2000)}, want: "not ours"},
		"somebody else's, a running": {arrivals: []*kgo.Record{arrival(first, 1000), arrival(second, 2000), arrival("006-000000000000", 2000)}, foreign: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := &books{tag: tag, foreign: c.foreign, skew: c.skew}
			for i, e := range []entry{{dueMs: 1000}, {dueMs: 2000}, {dueMs: 9000, unwanted: true}} {
				if got := string(b.enter(e)); got != []string{first, second, never}[i] || len(got) != keySize {
					t.Fatalf("key %q", got)
				}
			}
			for _, r := range c.arrivals {
				at := time.Time{}
				if c.at != 0 {
					at = time.UnixMilli(c.at)
				}
				b.arrived(r, at)
			}
			a := b.account(since(0))
			err := b.fault(a)
			switch {
			case c.want == "" && err != nil:
				t.Errorf("error %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v, want %q", err, c.want)
			}
			if a.again != c.again || a.sent != 2 {
				t.Errorf("%+v, want %d again", a, c.again)
			}
		})
	}
}

func TestBooksOfTheSameRecordsAreEmpty(t *testing.T) {
	b := &books{tag: "001-"}
	for ms := range int64(4) {
		b.enter(entry{dueMs: ms, unwanted: ms == 3})
	}
	b.arrived(arrival("001-000000000000", 5), time.Time{})
	if b.left() != 2 || b.again().left() != 3 || b.again().account(since(0)).lost != 3 {
		t.Errorf("%d are left, and %d of the same", b.left(), b.again().left())
	}
	b.cut(2)
	if a := b.account(since(0)); b.left() != 1 || a.lost != 1 || a.sent != 2 {
		t.Errorf("one of two is due before the cut, one is left: %+v", a)
	}
}

func TestLatenessIsOfThePickedRecords(t *testing.T) {
	b := &books{tag: "001-"}
	for i, e := range []entry{{dueMs: 1000}, {dueMs: 2000}, {dueMs: 2000, aside: true}, {dueMs: 3000}} {
		b.enter(e)
		b.arrived(arrival(fmt.Sprintf("001-%012d", i), e.dueMs+int64(i)), time.UnixMilli(e.dueMs+100))
	}
	a := b.account(within(time.UnixMilli(2000), time.UnixMilli(3000)))
	if !slices.Equal(a.stamped, []time.Duration{time.Millisecond}) || !slices.Equal(a.received, []time.Duration{100 * time.Millisecond}) || a.first != 2001 || a.last != 2001 {
		t.Errorf("%+v", a)
	}
	if a := b.account(since(0)); a.first != 1000 || a.last != 3003 {
		t.Errorf("%+v", a)
	}
}

func TestABrokersClockIsTakenForOursWhereItCanBe(t *testing.T) {
	at := func(us ...int64) (all []time.Time) {
		for _, u := range us {
			all = append(all, time.UnixMicro(u))
		}
		return all
	}
	for name, c := range map[string]struct {
		stamps []time.Time
		want   time.Duration
	}{
		"the same":                   {at(10_000, 20_000), 0},
		"it may be the same":         {at(10_000, 22_000), 0},
		"ahead":                      {at(15_000, 25_000), 4_750 * time.Microsecond},
		"behind":                     {at(5000, 15_000), -5_250 * time.Microsecond},
		"one look narrows the other": {at(15_000, 24_000), 4_250 * time.Microsecond},
	} {
		before, after := at(10_500, 20_500), at(11_000, 21_000)
		if name == "it may be the same" {
			after = at(11_000, 22_500)
		}
		if got := skew(before, c.stamps, after); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestABareProducerWritesInWholeMillisecondsAndNeverEarly(t *testing.T) {
	o := timerOrder{FromMs: 5000, Every: 400 * time.Microsecond}
	for i, want := range []int64{5000, 5001, 5001, 5002, 5002, 5002, 5003} {
		if got := o.dueMs(i); got != want {
			t.Errorf("record %d is due at %d, want %d", i, got, want)
		}
	}
}

func TestAFigureIsTheMedianOfItsRuns(t *testing.T) {
	f := new(figures)
	for _, v := range []float64{5, 1, 3} {
		f.add("part", "case", "way", "what", "unit", v)
	}
	f.add("part", "case", "another", "what", "unit", 7)
	f.add("part", "case", "another", "what", "unit", 9)
	if v, ok := f.get("part", "case", "way", "what"); v != 3 || !ok || len(f.all) != 2 || !slices.Equal(f.all[0].Runs, []float64{5, 1, 3}) {
		t.Errorf("%v, %v", v, ok)
	}
	if v, _ := f.get("part", "case", "another", "what"); v != 8 {
		t.Errorf("the median of 7 and 9 is %v", v)
	}
	if _, ok := f.get("part", "no case", "way", "what"); ok {
		t.Error("a figure of nothing")
	}
}

func TestGoalsAreJudgedAgainstTheLoopThatWritesAsMuch(t *testing.T) {
	s := &site{Options: Options{Product: Layover(), Due: map[int]int{100: 10}, Partitions: []int{4}}, figures: new(figures)}
	of := dueCase(100, 4)
	for k, rate := range map[kind]float64{product: 80, stamped: 100, plain: 159, bare: 200} {
		s.add(partAlready, of, s.ways(k)[0].name, whatRate, "records/s", rate)
	}
	met := make(map[string]bool)
	for _, r := range s.alreadyRows() {
		if r.Met != nil {
			met[r.Name] = *r.Met
		}
	}
	if len(met) != 2 || !met[of+": layover"] || met[of+": layover, no added headers"] {
		t.Errorf("%v", met)
	}
}
