package daemon

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"layover/offsets"
)

// all is a look at one partition with so many offsets left.
func all(left int64) map[offsets.Assignment]int64 {
	return map[offsets.Assignment]int64{{Epoch: 1}: left}
}

func TestAReplayThatSomebodyElseEndsIsNotSaidToBeRead(t *testing.T) {
	var out bytes.Buffer
	r := replay{log: slog.New(slog.NewTextHandler(&out, nil))}
	now := time.Unix(1000, 0)
	for i := range int64(15) {
		now = now.Add(time.Second)
		r.look(now, all(5000-i), i)
	}
	r.look(now.Add(time.Second), nil, 15) // revoked
	if got := out.String(); !strings.Contains(got, "read what was in the log, but for what is not read here any more") {
		t.Errorf("said %s", got)
	}
	if s := r.sample(); s.Remaining != 0 || !s.Since.IsZero() {
		t.Errorf("still %+v", s)
	}
}

func TestAReplayIsToldEveryTenSecondsWithItsRateAndItsEnd(t *testing.T) {
	var out bytes.Buffer
	r := replay{log: slog.New(slog.NewTextHandler(&out, nil))}
	now := time.Unix(1000, 0)
	look := func(seconds int, remaining, perSecond, restored int64) (left, read int64) {
		for range seconds {
			now = now.Add(time.Second)
			remaining, restored = remaining-perSecond, restored+perSecond
			r.look(now, all(remaining), restored)
		}
		return remaining, restored
	}
	remaining, restored := look(1, 5000, 0, 70)
	remaining, restored = look(25, remaining, 100, restored)
	if s := r.sample(); s.Records != 2500 || s.Remaining != 2500 || s.Rate != 100 || !s.Since.Equal(time.Unix(1001, 0)) {
		t.Errorf("after 25 s: %+v", s)
	}
	remaining, restored = look(30, remaining, 0, restored) // reading is paused
	if s := r.sample(); s.Rate != 0 {
		t.Errorf("paused, and still %v a second", s.Rate)
	}
	look(10, remaining, 250, restored)
	if s := r.sample(); !s.Since.IsZero() || s.Remaining != 0 {
		t.Errorf("at the end: %+v", s)
	}
	want := []string{
		`records=1000 per_second=100 remaining=4000`,
		`records=2000 per_second=100 remaining=3000`,
		`records=2500 per_second=50 remaining=2500`, // of the ten seconds since the last line five were paused
		`records=2750 per_second=9 remaining=2250`,  // in 26 s, most of them paused
		`msg="read what was in the log" records=5000 took=1m5s`,
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), &out)
	}
	for i := range want {
		if !strings.HasSuffix(lines[i], want[i]) {
			t.Errorf("line %d is %q, want it to end in %q", i+1, lines[i], want[i])
		}
	}
}

func TestAShortReplayIsNotToldAtAll(t *testing.T) {
	var out bytes.Buffer
	r := replay{log: slog.New(slog.NewTextHandler(&out, nil))}
	now := time.Unix(1000, 0)
	for left := int64(900); left >= 0; left -= 100 {
		now = now.Add(time.Second)
		r.look(now, all(left), 900-left)
	}
	if out.Len() > 0 {
		t.Errorf("said %s", &out)
	}
}

// TestAReplayCountsFromTheAssignment: most of what a fast disk has is read before the
// first look that finds something left. A look need not be on time.
func TestAReplayCountsFromTheAssignment(t *testing.T) {
	var out bytes.Buffer
	r := replay{log: slog.New(slog.NewTextHandler(&out, nil))}
	const total, atOnce, perSecond = 300_000, 100_000, 8_000
	base := int64(70) // of an earlier replay
	began := time.Unix(1000, 0)
	read := func(now time.Time) int64 {
		if now.Before(began) {
			return 0
		}
		return min(total, atOnce+int64(now.Sub(began).Seconds()*perSecond))
	}
	r.look(began.Add(-50*time.Millisecond), nil, base)
	for now := began.Add(200 * time.Millisecond); read(now) < total; now = now.Add(251 * time.Millisecond) {
		r.look(now, all(total-read(now)), base+read(now))
		if s := r.sample(); s.Records+s.Remaining != total {
			t.Fatalf("%d read and %d left of %d", s.Records, s.Remaining, total)
		}
	}
	r.look(began.Add(25*time.Second), all(0), base+total)
	want := []string{
		// 9.738 s after the assignment, and 9.788 s after the last look before it.
		`records=177904 per_second=18175 remaining=122096`,
		`records=256216 per_second=8000 remaining=43784`,
		`msg="read what was in the log" records=300000 took=25s`,
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i := range max(len(want), len(lines)) {
		if i >= len(lines) || i >= len(want) || !strings.HasSuffix(lines[i], want[i]) {
			t.Fatalf("said\n%swant lines that end in\n%s", &out, strings.Join(want, "\n"))
		}
	}
}

func TestTheLinesOfAReplayAreTenSecondsApartAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []time.Time
		r := replay{log: slog.New(slog.NewTextHandler(writes(func() { said = append(said, time.Now()) }), nil))}
		began := time.Now().Add(130 * time.Millisecond) // between two looks
		ctx, cancel := context.WithTimeout(t.Context(), 65*time.Second)
		defer cancel()
		r.run(ctx, new(atomic.Int64), func() (map[offsets.Assignment]int64, int64) {
			read := max(int64(time.Since(began).Milliseconds()), 0)
			if read == 0 {
				return nil, 0
			}
			return all(1_000_000 - read), read
		})
		if len(said) < 6 {
			t.Fatalf("%d lines in 65 s", len(said))
		}
		for i, last := 0, began; i < len(said); last, i = said[i], i+1 {
			if gap := said[i].Sub(last); gap > 10*time.Second {
				t.Errorf("line %d is %v behind what was before", i+1, gap)
			}
		}
	})
}

// writes is called for every write.
type writes func()

func (w writes) Write(p []byte) (int, error) {
	w()
	return len(p), nil
}
