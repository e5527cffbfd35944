package daemon

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// busiest is how often a loop of an instance may turn in any one second, also while a fault
// lasts: so many times whatever happens, and so many times for each thing that happened in
// that second or the one before. A request, an answer and a record that was produced are
// things. Both are some three times what 30 runs had. A wait without a pause, or with one of a
// few milliseconds, turns hundreds of times in a second in which nothing happens.
var busiest = map[string]struct{ always, each float64 }{
	"lane":                 {40, 2},
	"poll":                 {10, 2},
	"committer":            {70, 2}, // each lane has a commit that is refused at once ten times, with two turns each
	"loading":              {20, 2},
	"reading journals":     {100, 2}, // each partition that cannot be read is tried again five times
	"watch of the cluster": {6, 2},
	"keeper of journals":   {6, 0},
	"log ends":             {2, 0},
	"readiness":            {22, 0},
	"drop summary":         {2, 0},
	"sick list":            {3, 0},
	"preflight":            {5, 0},
	"replay":               {6, 0},
	"history":              {2, 0},
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
	before, happened, last := d.turns(), 0, 0
	for {
		select {
		case <-p.turning.over:
			return
		case <-ticker.C:
		}
		now := d.turns()
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
	if strings.HasPrefix(loop, "lane ") {
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
