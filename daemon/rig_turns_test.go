package daemon

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// busiest is how often a loop of an instance may turn in any one second, also while a fault
// lasts. It may turn so many times whatever happens, and so many times for each thing that
// happened in that second or the one before. A request, an answer and a record that was produced
// are things. Both are some three times what 30 runs had. A wait without a pause, or with one of
// a few milliseconds, turns hundreds of times in a second in which nothing happens.
var busiest = map[string]struct{ always, each float64 }{
	"lane":            {40, 2},
	"poll":            {10, 2},
	"committer":       {70, 2}, // each lane has a commit that is refused at once ten times, with two turns each
	"loading":         {20, 2},
	"journal_reading": {180, 2}, // each of three lanes reads journal and runs topic, that of the last assignment too: 20 looks
	"cluster_watch":   {6, 2},
	"journal_keeper":  {6, 0},
	"log_ends":        {3, 0},
	"readiness":       {22, 0},
	"drop_summary":    {2, 0},
	"sick_list":       {3, 0},
	"preflight":       {5, 0},
	"replay":          {6, 0},
	"history":         {2, 0},
}

// turning is what a judge of loops knows of one instance.
type turning struct {
	over     chan struct{} // closed when the instance has ended
	done     chan struct{} // closed when nobody looks any more
	happened int           // requests, answers and records so far; under rig.mu
}

// things are what a request or an answer of an instance counts as. Callers hold mu.
func (p *party) things(x *exchange) {
	p.turning.happened++
	if x.key == kmsg.Produce {
		for _, b := range batchesOf(x) {
			p.turning.happened += int(b.n)
		}
	}
}

// judgeTurns looks every second, until the instance has ended, how often its loops have
// turned.
func (p *party) judgeTurns(d *Daemon) {
	defer close(p.turning.done)
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	p.rig.still.watch(slotName(p.slot), d)
	before, happened, last := d.turns(), 0, 0
	for {
		select {
		case <-p.turning.over:
			return
		case <-ticker.C:
		}
		now := d.turns()
		p.rig.still.passes.Add(1)
		p.rig.mu.Lock()
		things := p.turning.happened - happened
		happened = p.turning.happened
		for loop, n := range now {
			p.rig.judgeLoop(p, loop, int(n-before[loop]), things+last)
		}
		p.rig.mu.Unlock()
		before, last = now, things
	}
}

// judgeLoop notes the turns of a loop within a second, and a fault where they are too many.
// Callers hold mu.
func (r *rig) judgeLoop(p *party, loop string, turns, things int) {
	kind := loop
	if strings.HasPrefix(loop, "lane_") {
		kind = "lane"
	}
	most, known := busiest[kind]
	r.sum.turns.take(kind, turns, float64(turns)-most.each*float64(things))
	if allowed := most.always + most.each*float64(things); !known || float64(turns) > allowed {
		r.faults = append(r.faults, fmt.Sprintf("%s of %s turned %d times within the second before %v, in which %d things happened: at most %.0f turns are right",
			loop, slotName(p.slot), turns, time.Since(r.begun), things, allowed))
	}
}

// turnSums is the most turns of each kind of loop in a second: of all, and beyond those that
// things account for.
type turnSums map[string]turnSum

type turnSum struct {
	most   int
	beyond float64
}

func (s turnSums) take(kind string, turns int, beyond float64) {
	had := s[kind]
	s[kind] = turnSum{max(had.most, turns), max(had.beyond, beyond)}
}

func (s turnSums) add(o turnSums) {
	for kind, n := range o {
		s.take(kind, n.most, n.beyond)
	}
}

func (s turnSums) String() string {
	var b strings.Builder
	b.WriteString("most turns in a second, and of them without a reason that is seen outside:")
	for _, kind := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(&b, " %s %d/%.0f,", kind, s[kind].most, s[kind].beyond)
	}
	return b.String()
}

// stillFor is how long, on a real clock, no virtual second may pass: a busy one takes moments.
const stillFor = time.Minute

// standstill notices a loop that turns without any pause: virtual time stands still then, so
// that no judge within the bubble is ever asked.
type standstill struct {
	passes  atomic.Int64 // seconds that any instance has seen pass
	over    chan struct{}
	mu      sync.Mutex
	daemons map[string]*Daemon // the last of each slot
}

// watch begins to count the turns of an instance's loops.
func (s *standstill) watch(name string, d *Daemon) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.daemons[name] = d
}

// turns returns the turns of all loops.
func (s *standstill) turns() map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[string]int64)
	for name, d := range s.daemons {
		for loop, n := range d.turns() {
			out[loop+" of "+name] = n
		}
	}
	return out
}

// run looks from outside the bubble until over, and panics where virtual time stands still.
func (s *standstill) run(what string) {
	ticker := time.NewTicker(stillFor)
	defer ticker.Stop()
	for passed, before := int64(-1), s.turns(); ; {
		select {
		case <-s.over:
			return
		case <-ticker.C:
		}
		now := s.turns()
		if n := s.passes.Load(); n != passed {
			passed, before = n, now
			continue
		}
		if loop, n := hottestOf(before, now); n > 10_000 {
			panic(fmt.Sprintf("%s: virtual time stands still: %s turned %d times", what, loop, n))
		}
	}
}

// hottestOf returns the loop that has turned most often since before.
func hottestOf(before, now map[string]int64) (loop string, turns int64) {
	for name, n := range now {
		if n -= before[name]; n > turns {
			loop, turns = name, n
		}
	}
	return loop, turns
}

func TestTheJudgeOfTurnsFindsWhatTurnsHot(t *testing.T) {
	for name, test := range map[string]struct {
		loop          string
		turns, things int
		fault         bool
	}{
		"a lane of an idle process":  {"lane_0", 40, 0, false},
		"a lane that does not rest":  {"lane_1", 41, 0, true},
		"a lane with work":           {"lane_1", 240, 100, false},
		"a lane with more than that": {"lane_1", 241, 100, true},
		"a ticker":                   {"sick_list", 3, 1000, false},
		"a ticker that runs early":   {"sick_list", 4, 1000, true},
		"a loop that nobody bounds":  {"another", 1, 0, true},
	} {
		r := &rig{sum: newSums(), begun: time.Now()}
		r.judgeLoop(&party{rig: r}, test.loop, test.turns, test.things)
		if got := len(r.faults) > 0; got != test.fault {
			t.Errorf("%s: faults %q", name, r.faults)
		}
	}
	if loop, n := hottestOf(map[string]int64{"a": 5, "b": 50}, map[string]int64{"a": 25, "b": 60, "c": 15}); loop != "a" || n != 20 {
		t.Errorf("%s turned %d times, want a, 20 times", loop, n)
	}
}
