package daemon

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"layover/verify"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// timerWatch is what the rig sees of records with an id beside deliveries and commits.
type timerWatch struct {
	names    map[source]string // ledger's ids, by partition and offset
	upsets   []time.Time       // something happened to an ingress partition or a member that is no trouble for the journal
	openings []opening
	givenUp  int             // events
	quiet    map[string]bool // cancels that need no event, by the ledger's id
}

// opening is a rise of an instance's count of opened barriers, between two looks at it.
type opening struct {
	by       *party
	from, to time.Time
}

// upset notes what may keep a partition from being read for a while.
func (r *rig) upset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ids.upsets = append(r.ids.upsets, time.Now())
}

// acked enters an acknowledgement that was just read.
func (r *rig) acked(id string, partition int32, offset int64) {
	r.ledger.AckedAt(id, partition, offset, time.Now())
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ids.names[source{partition: partition, offset: offset}] = id
}

// refuseEvents has the topic of events refuse all for a while.
func (r *rig) refuseEvents(forbids bool, for_ time.Duration) {
	err := kerr.NotEnoughReplicas
	if forbids {
		err = kerr.TopicAuthorizationFailed
	}
	r.note("the topic of events answers %s for %v", err.Message, for_)
	fault := r.Refuse(kmsg.Produce, kfake.Fault{Topic: events, Err: err})
	time.AfterFunc(for_, fault.Remove)
}

// saidEvent is an event, and where it lies.
type saidEvent struct {
	arrival
	Event      string
	Partition  int32
	Offset, By *int64
}

// about returns the records that an event finishes, and the one whose only event it is to be.
func (e *saidEvent) about() (finishes []source, only source) {
	at := func(offset *int64) {
		if offset != nil {
			only = source{partition: e.Partition, offset: *offset}
			finishes = append(finishes, only)
		}
	}
	at(e.Offset)
	if e.Event != "replaced" { // the newer record lives on
		at(e.By)
	}
	return finishes, only
}

// splitEvents takes the events out of what arrived.
func (r *rig) splitEvents(all []arrival) (rest []arrival, said []saidEvent) {
	for _, a := range all {
		if a.Topic != events {
			rest = append(rest, a)
			continue
		}
		e := saidEvent{arrival: a}
		if err := json.Unmarshal(a.Value, &e); err != nil {
			r.fault("event %s: %v", a.Value, err)
			continue
		}
		e.Record.Partition = a.Record.Partition
		said = append(said, e)
	}
	return rest, said
}

// judgeTimers tells the ledger which events may come again or be missing. It also tells which
// arrivals may be of records that had ended, and when all was calm.
func (r *rig) judgeTimers(all []arrival, said []saidEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.plan.events {
		r.ledger.Events(events)
	}
	r.ledger.MayNotSay(r.ids.givenUp)
	r.sum.ids.givenUp, r.sum.ids.opened = r.ids.givenUp, len(r.ids.openings)
	delivered := r.unsettled(all)
	for i := range said {
		if r.plan.quiet {
			break
		}
		e := &said[i]
		finishes, only := e.about()
		if slices.ContainsFunc(finishes, func(o source) bool { return !r.settled(&e.arrival, o) || o != only && delivered[o] }) {
			r.ledger.MaySayAgain(r.ids.names[only], 1)
		}
	}
	if r.recreated || !r.plan.roomy() { // see allowRepeats and judge
		r.ledger.MaySayAnyAgain(len(said))
	}
	for i := range all {
		if a := &all[i]; r.openedFor(a) {
			r.ledger.MayReturn(a.Topic, a.Partition, a.Offset)
		}
	}
	if r.recreated || r.plan.full {
		return
	}
	for p := range r.assignments {
		for _, c := range r.calms(p) {
			r.sum.ids.calm += c.to.Sub(c.from)
			r.ledger.Calm(ingress, p, c.from, c.to)
		}
	}
}

// happened returns when an arrival was offered, and when what an event says happened, by the
// rig's clock. The clocks of machines are stepped.
func (r *rig) happened(a *arrival) time.Time {
	if a.Topic != events {
		return a.offered
	}
	var e struct{ At time.Time }
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.delivery(a)
	if m == nil || json.Unmarshal(a.Value, &e) != nil {
		return a.offered
	}
	at, ok := r.machines[m.by.slot].offered(e.At, m.applied)
	if !ok {
		r.faults = append(r.faults, fmt.Sprintf("no clock showed what the event %s says", a.Value))
	}
	return at
}

// openedFor says whether an arrival was offered in an assignment whose barrier may have been
// open. Callers hold mu.
func (r *rig) openedFor(a *arrival) bool {
	m := r.delivery(a)
	in := m.assignment(origin(a.Record).partition, a.offered)
	return m != nil && slices.ContainsFunc(r.ids.openings, func(o opening) bool {
		return o.by == m.by && !a.offered.Before(o.from.Truncate(time.Millisecond)) && (in == nil || !in.begun.After(o.to))
	})
}

// calms are the times in which one owner had a partition, and nothing was amiss. Callers hold
// mu.
func (r *rig) calms(partition int32) (out []period) {
	troubles := slices.Clone(r.troubles)
	for _, at := range r.ids.upsets {
		troubles = append(troubles, period{at, at})
	}
	for _, m := range r.machines {
		for i, step := range m.steps[1:] { // until the clock is right again, which it may never be
			until := time.Now()
			if next := i + 2; next < len(m.steps) {
				until = m.steps[next].from
			}
			troubles = append(troubles, period{step.from, until})
		}
	}
	for _, own := range r.assignments[partition] {
		troubles = append(troubles, period{own.asked, own.begun})
	}
	slices.SortFunc(troubles, func(a, b period) int { return a.from.Compare(b.from) })
	if len(r.assignments[partition]) == 0 {
		return nil
	}
	from := r.assignments[partition][0].begun.Add(recovery)
	for _, t := range append(troubles, period{time.Now(), time.Now()}) {
		if t.from.After(from) {
			out = append(out, period{from, t.from})
		}
		if end := t.to.Add(recovery); end.After(from) {
			from = end
		}
	}
	return out
}

// firstSeen returns when a broker first had the delivery of each record, or the event about
// it. Callers hold mu.
func (r *rig) firstSeen(all []arrival, said []saidEvent) map[source]time.Time {
	first := make(map[source]time.Time)
	note := func(o source, a *arrival) {
		o.id = r.ids.names[source{partition: o.partition, offset: o.offset}]
		if m := r.delivery(a); m != nil && (first[o].IsZero() || m.applied.Before(first[o])) {
			first[o] = m.applied
		}
	}
	for i := range all {
		note(origin(all[i].Record), &all[i])
	}
	for i := range said {
		finishes, _ := said[i].about()
		for _, o := range finishes {
			note(o, &said[i].arrival)
		}
	}
	maps.DeleteFunc(first, func(o source, _ time.Time) bool { // what may have ended without a trace
		return r.ids.quiet[o.id] || strings.HasPrefix(o.id, timerPrefix) && (!r.plan.events || r.ids.givenUp > 0)
	})
	return first
}

// looksEvery is how often the counts of a life are read.
const looksEvery = 5 * time.Second

// countTimers reads an instance's counts until the returned function is called, which reads
// them once more.
func (r *rig) countTimers(in *instance, p *party) (stop func()) {
	over, done := make(chan struct{}), make(chan struct{})
	var last counts
	looked := time.Now()
	look := func() {
		now := time.Now()
		c, err := in.counts(last)
		if err != nil {
			r.note("instance %d does not say its counts: %v", p.slot, err)
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if c.opened > last.opened {
			r.ids.openings = append(r.ids.openings, opening{p, looked, time.Now()})
			r.timeline = append(r.timeline, fmt.Sprintf("%14v  instance %d has opened %d barriers: %v", time.Since(r.begun).Round(time.Millisecond), p.slot, c.opened, c.why))
		}
		if c.givenUp > last.givenUp {
			r.timeline = append(r.timeline, fmt.Sprintf("%14v  instance %d has given up %d events", time.Since(r.begun).Round(time.Millisecond), p.slot, c.givenUp-last.givenUp))
		}
		r.ids.givenUp += c.givenUp - last.givenUp
		last, looked = c, now
	}
	go func() {
		defer close(done)
		ticker := time.NewTicker(looksEvery)
		defer ticker.Stop()
		for {
			select {
			case <-over:
				return
			case <-ticker.C:
				look()
			}
		}
	}()
	return func() {
		close(over)
		<-done
		look()
	}
}

// counts are those of an instance that excuse something.
type counts struct {
	opened, givenUp int
	why             map[string]int
}

// counts reads an instance's counts from /status.
func (in *instance) counts(last counts) (counts, error) {
	c := &http.Client{Transport: &http.Transport{DialContext: in.w.Net.DialContext, DisableKeepAlives: true}}
	defer c.CloseIdleConnections()
	resp, err := c.Get("http://" + in.http + "/status")
	if err != nil {
		return last, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return last, err
	}
	var v struct {
		IDs struct {
			Opened map[string]int `json:"barrier_opened"`
			Events map[string]int `json:"events"`
		} `json:"ids"`
	}
	if err := json.Unmarshal(body, &v); err != nil {
		return last, err
	}
	out := counts{givenUp: v.IDs.Events["given_up"], why: v.IDs.Opened}
	for _, n := range v.IDs.Opened {
		out.opened += n
	}
	return out, nil
}

// idSums is what became of records with an id, in a run or in several.
type idSums struct {
	events                  map[string]int // by what they say
	inTime, opened, givenUp int
	calm                    time.Duration // of all partitions together
}

func (s *idSums) take(r *verify.Report) { s.events, s.inTime = r.Events, r.InTime }

func (s *idSums) add(o *idSums) {
	if s.events == nil {
		s.events = make(map[string]int)
	}
	for what, n := range o.events {
		s.events[what] += n
	}
	s.inTime += o.inTime
	s.opened += o.opened
	s.givenUp += o.givenUp
	s.calm += o.calm
}

func (s *idSums) String() string {
	var b strings.Builder
	b.WriteString("ids:")
	for _, what := range slices.Sorted(maps.Keys(s.events)) {
		fmt.Fprintf(&b, " %d %s,", s.events[what], what)
	}
	fmt.Fprintf(&b, " %d events given up; %d cancels had to win in %.1f calm hours of partitions; barriers were seen to open %d times", s.givenUp, s.inTime, s.calm.Hours(), s.opened)
	return b.String()
}

// complain fails the test where, with many seeds, something never happened to an id.
func (s *idSums) complain(t *testing.T) {
	t.Helper()
	for _, what := range []string{"cancelled", "replaced", "too_late", "cancel_miss", "expired"} {
		if s.events[what] == 0 {
			t.Errorf("ids: no event says %s", what)
		}
	}
	for what, n := range map[string]int{"cancel had to win": s.inTime, "barrier opened": s.opened, "event was given up": s.givenUp} {
		if n == 0 {
			t.Errorf("ids: no %s", what)
		}
	}
}

// unsettled returns the records with a delivery of which not everybody knew. Their cancel may have missed them
// at first, as it came after that delivery. Callers hold mu.
func (r *rig) unsettled(all []arrival) map[source]bool {
	out := make(map[source]bool)
	for i := range all {
		if o := origin(all[i].Record); !r.settled(&all[i], o) {
			out[source{partition: o.partition, offset: o.offset}] = true
		}
	}
	return out
}
