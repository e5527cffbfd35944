package lane

import (
	"math"
	"time"

	"layover/offsets"
	"layover/purgatory"
)

// moves is a lane's part in the runs topics: what waits for long is moved there, and read back in
// time. Nothing is done while no partition of the lane is to have runs.
type moves struct {
	openings openings
	flush    flush
	visits   visits
	lost     int64 // offsets gone from runs topics, as the log has it
}

func newMoves(l *Lane) moves {
	pressure := &pressure{l.core, &l.out, &l.seen, l.cfg.Runs.Share, l.cfg.Runs.Left, l.cfg.Runs.Full, mostAge}
	return moves{
		openings: openings{core: l.core, box: &l.box, cfg: &l.cfg, topics: make(map[string]RunsTopic), parts: make(map[offsets.Assignment]*opening)},
		flush:    flush{core: l.core, box: &l.box, cfg: &l.cfg, pressure: pressure, out: &l.out, throttle: &l.throttle},
		visits:   visits{core: l.core, box: &l.box, cfg: &l.cfg, pressure: pressure, published: &l.seen, in: &l.in, ahead: leastAhead, whole: make(map[offsets.Assignment]time.Time)},
	}
}

// turn does what is due about runs; more says that something is left that need not be waited for.
func (m *moves) turn(now time.Time, suspended bool, wake *alarm) (more bool) {
	if len(m.openings.parts) == 0 {
		return false
	}
	m.openings.allow(m.openings.cfg.Runs.Uniform())
	if !suspended {
		more = m.flush.turn(now, m.visits.mustAhead(), wake)
	}
	m.visits.look(now, m.openings.topicOf, wake)
	if m.flush.core.Runs().Moving() || m.flush.gathering {
		m.visits.cleaned = now.Add(runsLook)
	} else if m.visits.clean(now, m.openings.topicOf) {
		m.flush.again = true
	}
	m.flush.clear(now, m.openings.topicOf)
	m.sayLost()
	return more
}

// read takes the answer to a visit, and parks the copies that are due.
func (m *moves) read(v *purgatory.Visited, records records) {
	if m.visits.read(v, records) {
		m.openings.again(v.Assignment)
	}
}

// land takes the answers to copies.
func (m *moves) land(now purgatory.Clock, answers []purgatory.Answer) {
	if len(answers) > 0 {
		m.flush.land(now, answers)
		m.visits.news = true
	}
}

// bytes is the memory of what is in flight.
func (m *moves) bytes() int64 { return int64(cap(m.flush.slots)) * slotSize }

// sayLost logs that copies are gone.
func (m *moves) sayLost() {
	if n := m.openings.core.Runs().Lost(); n > m.lost {
		m.openings.cfg.Log.Error("records are gone from a runs topic: whatever was in them is not delivered", "offsets", n-m.lost)
		m.lost = n
	}
}

// The bounds of what a pressure says.
const (
	longest  = time.Hour // horizon without pressure
	shortest = time.Minute
)

// pressure is how full a lane's share of memory is.
type pressure struct {
	core  *purgatory.Core
	out   *outbound
	seen  *published // the bytes that left knows of
	share func() int64
	left  func() int64
	full  func() bool   // reading pauses for memory, whoever uses it; nil: it never does
	age   time.Duration // that ingress may have to keep what can be moved: the least of all topics
}

// horizon is how far off a record is at least that is moved. It is an hour while up to half
// of the share is used, and a minute from seven eighths on. It falls by equal factors in
// between. It is never longer than the age to which ingress is to keep a record. While reading pauses it is as near as
// from seven eighths on.
func (p *pressure) horizon(used int64) time.Duration {
	if p.pauses() {
		used = max(used, p.share()*7/8)
	}
	part := (float64(used)/float64(p.share()) - 0.5) / 0.375
	return min(p.age, time.Duration(float64(longest)*math.Pow(float64(shortest)/float64(longest), max(0, min(part, 1)))))
}

// pauses reports whether reading pauses for memory.
func (p *pressure) pauses() bool { return p.full != nil && p.full() }

// used is the lane's bytes but for those of what is on its way to the runs topics. What deliveries
// take counts, as it does where reading pauses: else that may be before anything is moved.
func (p *pressure) used() int64 {
	return p.whole() - p.core.Runs().MovingBytes()
}

// whole is the same with those: reading pauses for them, too.
func (p *pressure) whole() int64 { return p.core.Bytes() + p.out.bytes() }

// room is how many bytes of copies that are due soon may be read now. While memory is not full it is up to a quarter of
// the share, for all copies that are not stranded: those are like any other parked record. It is an eighth whatever
// else takes memory. Memory is full where neither the lane's share nor the other lanes leave anything. Stranded copies
// may take more than that and stay for hours. A sixteenth is for the other copies all the same, also beside a share
// that is just full. Reading pauses then, and what it leaves for fetches is more than that.
//
// Late copies that wait for their instant are bounded by nothing else, so they leave a quarter of memory free.
func (p *pressure) room() int64 {
	share := p.share()
	loaded, late := p.core.Runs().LoadedBytes(), p.core.Runs().PutBackBytes()
	grown := p.core.Bytes() - p.seen.core
	free, others := max(share-p.core.Bytes(), p.left()-grown), p.loaded()
	most := max(min(share/4-others-late, free), min(share/4-others, free-share/4))
	return max(share/8-loaded, min(share/16-others-late, free+share/16), most)
}

// roomAhead is the same for copies that are due later, or are to be moved again: they leave a sixteenth of the share to
// what is due soon. Else a partition that is taken over would wait until what others have read ahead is due.
func (p *pressure) roomAhead() int64 { return p.room() - p.share()/16 }

// roomAgain is the same for copies that are to be moved again. Together with what is read ahead they take a quarter.
func (p *pressure) roomAgain() int64 { return p.roomAhead() - p.core.Runs().ReloadedBytes() }

// loaded is the bytes of copies in memory but for those that are stranded, or wait for their instant of the catch-up.
func (p *pressure) loaded() int64 {
	r := p.core.Runs()
	return max(r.LoadedBytes()-r.Stranded()-r.PutBackBytes(), 0)
}
