package delay

import (
	"testing"
	"time"
)

func TestOnlyASmallBareNumberHasAHint(t *testing.T) {
	for value, want := range map[string]string{
		"1": "1 ms; write 1s for seconds", "5": "5 ms; write 5s for seconds", "007": "7 ms; write 7s for seconds", "999": "999 ms; write 999s for seconds",
		"1000": "", "0": "", "-1": "", "5ms": "", "5s": "", "": "", " 5": "", "+5": "", "99999999999999999999": "", "\x00\x00\x00\x00\x00\x00\x00\x05": "",
	} {
		if got := Hint([]byte(value)); got != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
}

func TestADurationIsWrittenAsItIsRead(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 144 * time.Hour: "6d", 90 * time.Minute: "1h30m", 1500 * time.Millisecond: "1s500ms", 15 * time.Minute: "15m",
		25 * time.Hour: "1d1h", time.Microsecond: "1us", 1: "1ns",
	} {
		got := FormatDuration(d)
		if back, err := ParseDelay(got); got != want || err != nil || back != d {
			t.Errorf("%v: %q, which is read as %v, %v; want %q", d, got, back, err, want)
		}
	}
}
