package admin

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"layover/purgatory"
)

// momentAt is a look that was made so long before the end.
func momentAt(end time.Time, age time.Duration, parked, delivered int64) moment {
	return moment{at: end.Add(-age), parked: parked, parkedKnown: true, delivered: delivered}
}

func byKey(t *testing.T, lines []line, key string) line {
	t.Helper()
	i := slices.IndexFunc(lines, func(l line) bool { return l.Key == "line "+key })
	if i < 0 {
		t.Fatalf("there is no line of %s", key)
	}
	return lines[i]
}

func TestTheHistoryIsBoundedInNumberAndInTime(t *testing.T) {
	var h history
	start := time.Now()
	for i := range 1000 {
		h.add(momentAt(start, -time.Duration(i)*HistoryStep, int64(i), 0))
	}
	all := h.all()
	if len(all) != 181 || all[0].parked != 819 || all[180].parked != 999 {
		t.Errorf("%d moments, from %d to %d", len(all), all[0].parked, all[len(all)-1].parked)
	}
	h.add(momentAt(start, -1010*HistoryStep-10*time.Minute, 5000, 0)) // the process stood still for 10 minutes
	if all := h.all(); all[len(all)-1].at.Sub(all[0].at) > 15*time.Minute || len(all) < 40 {
		t.Errorf("%d moments, over %s", len(all), all[len(all)-1].at.Sub(all[0].at))
	}
	for range 1000 { // as often as somebody likes to call it
		h.add(momentAt(start, -2000*HistoryStep-time.Duration(len(h.all())), 1, 0))
	}
	if n := len(h.all()); n > 181 {
		t.Errorf("%d moments", n)
	}
	h.add(momentAt(start, 0, 1, 0)) // the clock was set back
	if n := len(h.all()); n != 1 {
		t.Errorf("%d moments after a step of the clock, whose places nobody knows", n)
	}
}

func TestAReaderOfTheHistorySeesNoLaterChange(t *testing.T) {
	var h history
	start := time.Now()
	for i := range 400 {
		before := h.all()
		kept := slices.Clone(before)
		h.add(momentAt(start, -time.Duration(i)*HistoryStep, int64(i), 0))
		if !slices.Equal(before, kept) {
			t.Fatalf("moment %d changed what a reader has", i)
		}
	}
}

func TestLinesSayLeastMostAndNow(t *testing.T) {
	end := time.Now()
	all := []moment{momentAt(end, 15*time.Second, 1200, 100), momentAt(end, 10*time.Second, 3400, 150), momentAt(end, 5*time.Second, 0, 151), momentAt(end, 0, 2000, 30_151)}
	all[3].deadLettered = 7
	lines := trend(all, end)
	for key, want := range map[string]line{
		"parked":        {Now: "2,000", Range: "0 to 3,400"},
		"delivered":     {Now: "6,000", Range: "0.2 to 6,000, 30,051 in all"},
		"dead-lettered": {Now: "1.4", Range: "0 to 1.4, 7 in all", Tone: warn},
		"late":          {Now: "–", Range: "nothing is known yet"},
	} {
		got := byKey(t, lines, key)
		if got.Now != want.Now || got.Range != want.Range || got.Tone != want.Tone {
			t.Errorf("%s: %q, %q, %s; want %q, %q, %s", key, got.Now, got.Range, got.Tone, want.Now, want.Range, want.Tone)
		}
	}
	// The plane has 180 steps and a height of 40, with a margin of 2: 0 is at 38, 3,400 at 2.
	if want := []string{"177.0,25.3 178.0,2.0 179.0,38.0 180.0,16.8"}; !slices.Equal(byKey(t, lines, "parked").Parts, want) {
		t.Errorf("parked is drawn as %v, want %v", byKey(t, lines, "parked").Parts, want)
	}
}

func TestLinesHaveGapsWhereNothingIsKnown(t *testing.T) {
	end := time.Now()
	var all []moment
	for _, age := range []int{100, 95, 90, 40, 35, 30, 25, 20} { // between 90 and 40 the process stood still
		all = append(all, momentAt(end, time.Duration(age)*time.Second, 10, 0))
	}
	all[5].parkedKnown, all[7].parkedKnown = false, false
	l := byKey(t, trend(all, end), "parked")
	var points []int
	for _, part := range l.Parts {
		points = append(points, len(strings.Fields(part)))
	}
	// 100 to 90; 40 and 35; 25 alone.
	if want := []int{3, 2, 2}; !slices.Equal(points, want) || l.Now != "unknown" {
		t.Errorf("points of the parts: %v, want %v; now %q", points, want, l.Now)
	}
	if dot := l.Parts[2]; dot != "174.0,2.0 176.0,2.0" { // 25 s ago is step 175
		t.Errorf("the dot is %s", dot)
	}
	if empty := trend(nil, end); byKey(t, empty, "parked").Now != "–" || len(byKey(t, empty, "parked").Parts) != 0 {
		t.Errorf("without a look: %+v", empty[0])
	}
}

func TestLatenessIsOfEachStepAndOfRecordsThatWait(t *testing.T) {
	end := time.Now()
	histogram := func(sumMs int64, buckets map[int]uint64) (h purgatory.Histogram) {
		for i, n := range buckets {
			h.Buckets[i] = n
			h.Count += n
		}
		h.SumMs = sumMs
		return h
	}
	before := momentAt(end, 5*time.Second, 0, 0)
	before.late = histogram(10_000_000, map[int]uint64{15: 1000, 0: 5}) // an hour ago all was late
	for name, test := range map[string]struct {
		late   purgatory.Histogram // beyond before
		oldest time.Duration
		want   value
	}{
		"nothing delivered":                  {histogram(0, nil), 0, value{0, false}},
		"nothing delivered, and one waits":   {histogram(0, nil), 90 * time.Second, value{90_000, true}},
		"99 of 100 within 2 ms":              {histogram(400, map[int]uint64{1: 99, 6: 1}), 0, value{2, true}},
		"98 of 100 within 2 ms":              {histogram(400, map[int]uint64{1: 98, 6: 2}), 0, value{100, true}},
		"beyond the last bound":              {histogram(2*7_200_000, map[int]uint64{15: 2}), 0, value{7_200_000, true}},
		"some in time, one waits for longer": {histogram(1, map[int]uint64{0: 1}), time.Minute, value{60_000, true}},
	} {
		t.Run(name, func(t *testing.T) {
			after := momentAt(end, 0, 0, 0)
			after.late, after.oldest = before.late, test.oldest
			after.late.Add(&test.late)
			if got := lateBetween(&before, &after); got.known != test.want.known || got.known && got.n != test.want.n {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

func TestThePageDrawsWhatWasRemembered(t *testing.T) {
	source := sourceOf(ordinary(time.Now()))
	srv := newServer(source)
	for i := range 4 {
		s := ordinary(time.Now())
		s.Lanes[0].Parked = 1000 * (i + 1)
		source.sample.Store(&s)
		srv.Remember(time.Now().Add(time.Duration(i-3) * HistoryStep))
	}
	page := parse(t, get(t, srv, "/status?format=html").Body.String())
	if text := section(t, page, "trend"); !strings.Contains(text, "Parked 4,000 1,000 to 4,000") {
		t.Errorf("the lines say %q", text)
	}
	for _, e := range page {
		if e.name != "polyline" {
			continue
		}
		for _, point := range strings.Fields(e.attr["points"]) {
			x, y, _ := strings.Cut(point, ",")
			for _, at := range []struct {
				text string
				most float64
			}{{x, 180}, {y, 40}} {
				if n, err := strconv.ParseFloat(at.text, 64); err != nil || n < 0 || n > at.most {
					t.Errorf("the point %s is outside of the drawing", point)
				}
			}
		}
	}
	if text := get(t, srv, "/status?format=page").Body.String(); !strings.Contains(text, "1,000 to 4,000") {
		t.Error("the script does not get the lines")
	}
}

// TestWhatIsRememberedHasTheTimeOfTheWall: a monotonic clock may stand still while the
// machine sleeps, and no line would have a gap.
func TestWhatIsRememberedHasTheTimeOfTheWall(t *testing.T) {
	s := newServer(scene(ordinary))
	s.Remember(time.Now())
	if at := s.history.all()[0].at; at != at.Round(0) {
		t.Errorf("a moment is of %s", at)
	}
}
