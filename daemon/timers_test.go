//go:build !race

package daemon

import (
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"layover/verify/long"
)

// everyAllocation has the runtime note each allocation until the test ends, with the stack that
// made it. So timers can be counted, of which nobody else has a list.
func everyAllocation(t *testing.T) {
	t.Helper()
	was := runtime.MemProfileRate
	runtime.MemProfileRate = 1
	t.Cleanup(func() { runtime.MemProfileRate = was })
}

// timers counts the timers and tickers of ours that are alive, by the function that made them.
// The Kafka client has its own with its connections, which come and go. Those are alive that call a function once they are due, and those
// that somebody still has; the runtime collects the others, stopped or not.
func timers() map[string]int {
	runtime.GC() // what is dead is known behind the second
	runtime.GC()
	records := make([]runtime.MemProfileRecord, 1<<16)
	n, ok := runtime.MemProfile(records, false)
	for !ok {
		records = make([]runtime.MemProfileRecord, 2*n)
		n, ok = runtime.MemProfile(records, false)
	}
	out := make(map[string]int)
	for i := range records[:n] {
		if by := timerOf(records[i].Stack()); strings.HasPrefix(by, "layover/") {
			out[by] += int(records[i].InUseObjects())
		}
	}
	return out
}

// ofContext is the end of what timerOf says where the timer is a context's deadline.
const ofContext = ", of a context"

// timerOf returns the function that has made a timer, by the stack of an allocation, and "" for
// an allocation of anything else.
func timerOf(stack []uintptr) string {
	frames := runtime.CallersFrames(stack)
	timer, by := false, ""
	for {
		f, more := frames.Next()
		pkg, _, _ := strings.Cut(f.Function, ".")
		switch {
		case f.Function == "time.newTimer":
			timer = true
		case timer && pkg == "context":
			by = ofContext
		case pkg == "runtime" || timer && pkg == "time":
		case timer:
			return f.Function + by
		default:
			return ""
		}
		if !more {
			return ""
		}
	}
}

// lasting counts the timers that are there at each of some looks: one that belongs to a request
// underway is gone at the next.
func lasting() map[string]int {
	out := timers()
	for range 4 {
		time.Sleep(170 * time.Millisecond)
		now := timers()
		for by, n := range out {
			out[by] = min(n, now[by])
		}
	}
	return out
}

// leaks makes timers that nobody stops.
type leaks struct {
	tickers []*time.Ticker
	timers  []*time.Timer
}

func (l *leaks) ticker()   { l.tickers = append(l.tickers, time.NewTicker(time.Second)) }
func (l *leaks) timer()    { l.timers = append(l.timers, time.NewTimer(time.Hour)) }
func (l *leaks) callback() { time.AfterFunc(time.Hour, l.callback) }

// TestTheCensusOfTimersSeesEachThatIsLeft, and none that was stopped or is over.
func TestTheCensusOfTimersSeesEachThatIsLeft(t *testing.T) {
	everyAllocation(t)
	synctest.Test(t, func(t *testing.T) {
		before := timers()
		over := func() {
			ticker := time.NewTicker(time.Second)
			defer ticker.Stop()
			timer := time.NewTimer(time.Millisecond)
			<-timer.C
			<-ticker.C
			time.AfterFunc(time.Second, func() {})
			time.Sleep(2 * time.Second)
		}
		over()
		if more := more(before, timers()); len(more) > 0 {
			t.Errorf("none is left, and there are\n%s", strings.Join(more, "\n"))
		}
		var l leaks
		for range 3 {
			l.ticker()
			l.timer()
			l.callback()
		}
		time.Sleep(time.Minute)
		got := timers()
		for _, of := range []string{"ticker", "timer", "callback"} {
			if n := got["layover/daemon.(*leaks)."+of]; n < 3 {
				t.Errorf("%d of 3 leaks of a %s were seen", n, of)
			}
		}
		runtime.KeepAlive(&l)
	})
}

// mostEnded is how many deadlines of a function's contexts may be there once these have ended. The runtime has a
// stopped timer until its time, and a client the context of its last request. One of each question would be more.
const mostEnded = 1

// withoutEnded takes those from counts.
func withoutEnded(counts map[string]int) map[string]int {
	for by := range counts {
		if strings.HasSuffix(by, ofContext) {
			counts[by] -= mostEnded
		}
	}
	return counts
}

// TestNoTimerStaysBehind: a daemon that has seen every fault, and is well again, has the timers
// and tickers that it had before.
func TestNoTimerStaysBehind(t *testing.T) {
	long.Only(t)
	everyAllocation(t)
	inBubble(t, func(w *fixture) {
		in := w.censused()
		in.calm(time.Minute)
		before := lasting()
		own := 0
		for _, n := range before {
			own += n
		}
		if own < 10 {
			t.Errorf("a daemon that runs has %d timers: %v", own, before)
		}
		in.suffers()
		in.calm(7 * time.Minute) // dead letters are said for five
		grown := more(before, withoutEnded(lasting()))
		if len(grown) > 0 { // a request may have been underway
			in.calm(2*time.Minute + 17*time.Second)
			grown = more(before, withoutEnded(lasting()))
		}
		if len(grown) > 0 {
			t.Errorf("there are more timers of\n%s", strings.Join(grown, "\n"))
		}
		in.stop()
	})
}
