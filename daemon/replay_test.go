package daemon

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"layover/consumer"
)

// all is a look at one partition with so many offsets left.
func all(left int64) map[consumer.Tenure]int64 { return map[consumer.Tenure]int64{{Epoch: 1}: left} }

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
		`records=2500 per_second=50 remaining=2500`, // of the last ten seconds five were paused
		`records=2750 per_second=25 remaining=2250`,
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
