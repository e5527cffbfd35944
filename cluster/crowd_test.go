package cluster

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"layover/verify/long"
)

// TestFiftyThousandNamesThatDoNotExist bounds every request, counts the memory, and lets
// nobody wait who is healthy. One request for all of them had 12.7 MB, each second.
func TestFiftyThousandNamesThatDoNotExist(t *testing.T) {
	long.Only(t)
	inBubble(t, nil, func(w *fixture) {
		w.create("healthy")
		w.Until(3*time.Second, "healthy is usable", func() bool { return w.state("healthy") == Usable })
		began, calm := time.Now(), time.Time{}
		look := func() {
			for i := range 50_000 {
				w.w.Lookup(nameOf(i))
			}
			w.w.Lookup("healthy")
		}
		for range 20 { // 40 s: a held target is tried every 2 s
			look()
			time.Sleep(2 * time.Second)
		}
		calm = time.Now()
		if n := w.w.Health().Names; n.Known > MaxNames || n.Known < MaxNames/2 || n.Limit != MaxNames || n.Refused.Before(began) || n.Refused.After(began.Add(3*time.Second)) {
			t.Errorf("names %+v", n)
		}
		if b := w.w.Bytes(); b < int64(w.w.Health().Names.Known)*249 || b > MaxNames*1000 {
			t.Errorf("%d bytes counted", b)
		}
		w.healthy(began, calm)
		w.learns("healthy", look)
		w.stop()
		if n := strings.Count(w.logs.String(), "too many target names"); n != 1 || strings.Contains(w.logs.String(), "job-") {
			t.Errorf("said %d times, or with a name: %.2000s", n, w.logs.String())
		}
	})
}

// healthy checks the requests of a stretch of time. Their size is bounded, and each
// configured topic and a name in use are asked for again within 2.5 s.
func (w *fixture) healthy(from, to time.Time) {
	w.Helper()
	var total int
	last := map[string]time.Time{ingress: from, "healthy": from}
	for _, a := range w.since(from, kmsg.Metadata) {
		total += a.bytes
		if a.bytes > requestBytes+4096 || len(a.names) > requestNames {
			w.Fatalf("a request of %d bytes about %d names", a.bytes, len(a.names))
		}
		for _, name := range a.names {
			if at, watched := last[name]; watched {
				if gap := a.at.Sub(at); gap > 2500*time.Millisecond {
					w.Errorf("%s was not asked about for %v", name, gap)
				}
				last[name] = a.at
			}
		}
	}
	if second := total / int(to.Sub(from)/time.Second); second > 1<<20 || second < 1000 {
		w.Errorf("%d bytes of requests a second", second)
	}
}

// learns checks that what happens to a healthy name, and a name that is new and exists,
// are known within seconds.
func (w *fixture) learns(name string, crowd func()) {
	w.Helper()
	if _, err := w.Admin().UpdatePartitions(w.Context(), 5, name); err != nil {
		w.Fatal(err)
	}
	w.Until(3*time.Second, name+" has grown", func() bool { return w.w.Lookup(name).Partitions == 5 })
	w.DeleteTopic(name)
	w.Until(5*time.Second, name+" is missing", func() bool { return w.state(name) == Missing })
	w.create("latecomer")
	began := time.Now()
	w.Until(5*time.Minute, "a topic that exists finds room", func() bool {
		crowd()
		time.Sleep(time.Second)
		return w.state("latecomer") == Usable
	})
	w.Logf("a new topic that exists found room after %v", time.Since(began))
}

// TestANewNameIsAnsweredAtOnceAmongThousands that are known to be missing.
func TestANewNameIsAnsweredAtOnceAmongThousands(t *testing.T) {
	inBubble(t, nil, func(w *fixture) {
		for i := range MaxNames - 10 {
			w.state(nameOf(i))
		}
		time.Sleep(10 * time.Second)
		w.create("new")
		began := time.Now()
		w.Until(2*time.Second, "it is usable", func() bool { return w.state("new") == Usable })
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		w.create(nameOf(5)) // missing ones are asked about in turn
		w.Until(11*time.Second, "one that was missing is usable", func() bool { return w.state(nameOf(5)) == Usable })
	})
}

// TestNamesGoWhenNobodyUsesThem and their memory with them; the log says that it is over.
func TestNamesGoWhenNobodyUsesThem(t *testing.T) {
	inBubble(t, func(c *Config) { c.Names = 100 }, func(w *fixture) {
		w.create("idle")
		w.Until(3*time.Second, "idle is usable", func() bool { return w.state("idle") == Usable })
		for i := range 200 {
			w.state(nameOf(i))
		}
		if s := w.state("one more"); s != TooMany {
			t.Errorf("one too many is %v", s)
		}
		time.Sleep(forgetAfter + 5*time.Second)
		if n, b := w.w.Health().Names, w.w.Bytes(); n.Known != 0 || b != 0 || !n.Refused.IsZero() {
			t.Errorf("%+v, %d bytes", n, b)
		}
		w.Until(time.Second, "a name finds room", func() bool { return w.state("idle") == Usable })
		w.stop()
		if !strings.Contains(w.logs.String(), "no more target names than fit") {
			t.Errorf("log: %s", w.logs.String())
		}
	})
}

// TestAFailedRequestStopsNoOther: a name that spoils each request that it is in spoils
// its own in the end.
func TestAFailedRequestStopsNoOther(t *testing.T) {
	inBubble(t, nil, func(w *fixture) {
		w.create("healthy")
		w.Until(3*time.Second, "healthy is usable", func() bool { return w.state("healthy") == Usable })
		poison := nameOf(77)
		w.Broker.ControlKey(int16(kmsg.Metadata), func(r kmsg.Request) (kmsg.Response, error, bool) {
			w.Broker.KeepControl()
			spoilt := slices.ContainsFunc(r.(*kmsg.MetadataRequest).Topics, func(t kmsg.MetadataRequestTopic) bool { return *t.Topic == poison })
			return nil, errors.New("the broker hangs up"), spoilt
		})
		began := time.Now()
		for i := range 200 {
			w.state(nameOf(i))
		}
		w.Until(30*time.Second, "all others are answered", func() bool {
			for i := range 200 {
				if i != 77 && w.state(nameOf(i)) != Missing {
					return false
				}
			}
			return true
		})
		t.Logf("all others are answered after %v", time.Since(began))
		if h := w.w.Health(); !h.Answering || h.Since.After(began) || w.state(poison) != Pending {
			t.Errorf("the spoiler is %v; health %+v", w.state(poison), h)
		}
		w.DeleteTopic("healthy")
		w.Until(10*time.Second, "healthy is missing", func() bool { return w.state("healthy") == Missing })
	})
}
