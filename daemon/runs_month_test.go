package daemon

import (
	"strconv"
	"testing"
	"time"

	"layover/verify/long"
)

// TestAMonthWithRestartsAndADayOfRetention: a process lives for minutes, twice a day, and ends by a kill and
// by a stop in turn. Ingress deletes what is a day old. What is due while a process lives is on time.
func TestAMonthWithRestartsAndADayOfRetention(t *testing.T) {
	long.Only(t)
	const (
		half = 12 * time.Hour // from one start to the next
		day  = 2 * half
		n    = 30 // of each delay, in each life
	)
	delays := []time.Duration{2 * day, day + half, half, 5 * time.Hour}
	if long.Whole() {
		delays = []time.Duration{30 * day, 10 * day, 3 * day, 5 * time.Hour}
	}
	inBubble(t, func(w *fixture) {
		w.alter(ingress, "retention.ms", strconv.FormatInt(day.Milliseconds(), 10))
		w.alter(egress, "retention.ms", "-1")
		f := w.freight()
		lives, kills, absent := int(delays[0]/half)+4, 0, make(map[int]time.Time) // when the next life begins, by record
		var sent []int
		began := time.Now()
		end := began.Add(time.Duration(lives) * half)
		for life := range lives {
			start := began.Add(time.Duration(life) * half)
			time.Sleep(time.Until(start))
			gone, want := w.expire(), 0
			if life >= 3 {
				want = sent[life-3]
			}
			if gone != int64(want) {
				t.Fatalf("life %d: ingress has deleted %d records, want the %d that are a day old", life, gone, want)
			}
			in := w.start()
			time.Sleep(time.Until(start.Add(100 * time.Second)))
			for _, d := range delays {
				first, next := f.next, f.next
				if time.Now().Add(d).Before(end) {
					next = f.next + n
					f.send(n, 100, func(i int) time.Duration { return d - time.Minute + time.Duration(i)*2*time.Second })
				}
				for i := first; i < next && d%half != 0; i++ {
					absent[i] = start.Add(half)
				}
			}
			f.send(n, 100, func(i int) time.Duration { return time.Minute + time.Duration(i)*20*time.Millisecond })
			sent = append(sent, f.next)
			time.Sleep(62 * time.Second)
			if life%2 == 0 {
				in.kill()
				kills++
			} else {
				in.stop()
			}
		}
		time.Sleep(time.Until(end))
		in := w.start()
		time.Sleep(2 * time.Minute)
		a := f.all(kills * n) // of what was delivered within two seconds before a kill
		for i := range f.next {
			due, within := f.due[strconv.Itoa(i)], 100*time.Millisecond
			if next, ok := absent[i]; ok {
				within = next.Add(20 * time.Second).Sub(due)
			}
			a.onTime(i, i+1, within)
		}
		if _, _, lost, waiting := in.runsCount(); lost > 0 || waiting > 0 {
			t.Errorf("%d lost, %d wait", lost, waiting)
		}
		t.Logf("%d records, %d lives, %d kills, %d repeats", f.next, lives, kills, a.Repeats)
		in.stop()
	})
}
