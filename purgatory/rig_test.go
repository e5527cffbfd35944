package purgatory

import (
	"fmt"
	"slices"
	"testing"
	"time"
	"unsafe"

	"layover/offsets"
	"layover/wheel"
)

const (
	ingress = "delayed"
	egress  = "ready"
	other   = "audit"
	graves  = "dead-letters"
)

// startMs is the wall clock at which every rig starts.
const startMs = 1_700_000_000_000

// text is a body of plain bytes. Its first byte chooses the target partition.
type text string

func (b text) Size() int      { return len(b) }
func (b text) Put(dst []byte) { copy(dst, b) }

// signpost is what a test says about targets.
type signpost map[string]Verdict

// rig is a core in the hands of a test.
type rig struct {
	testing.TB
	*Core
	router signpost
	at     Clock
	back   bool // the clock was stepped back

	// elsewhere says what other cores hold, which hear what this one does; nil: nothing.
	elsewhere func(name TargetName, own int64) int64

	asked []TargetName
	told  []TargetState
}

func newRig(t testing.TB, edit func(*Config)) *rig {
	cfg := Config{
		DeadLetterTopic: graves, Patience: time.Minute, HeldShare: 1 << 20,
		MaxInFlight: 100, MaxInFlightBytes: 1 << 20, JumpOver: 10,
		Geometry: wheel.Geometry{TickMs: 1, Slots: 64, Factor: 16, Levels: 4},
		Place: func(_ *TargetState, _ offsets.TopicPartition, body []byte) Route {
			return Route{Partition: int32(body[0] - '0')}
		},
	}
	if edit != nil {
		edit(&cfg)
	}
	r := &rig{TB: t, router: signpost{}, at: Clock{WallMs: startMs, AnsweredMs: 1}}
	r.Core = New(cfg, r.at)
	return r
}

// Tick is the core's, which hears before what others hold.
func (r *rig) Tick(now Clock, budget int) bool {
	if r.elsewhere != nil {
		shares := r.Shares(now, nil)
		for i := range shares {
			shares[i].Elsewhere = r.elsewhere(shares[i].TargetName, shares[i].Own)
		}
		r.Elsewhere(shares)
	}
	return r.Core.Tick(now, budget)
}

// Offer is the core's, which is told before what the signpost says.
func (r *rig) Offer(out []Delivery, limit int) []Delivery {
	r.asked, r.told = r.Wanted(r.asked[:0]), r.told[:0]
	for _, name := range r.asked {
		r.told = append(r.told, TargetState{TargetName: name, Verdict: r.router[name.Name]})
	}
	r.Targets(r.told)
	return r.Core.Offer(out, limit)
}

func partitionOf(no int32) offsets.TopicPartition {
	return offsets.TopicPartition{Topic: ingress, Partition: no}
}

// sizeOf is what a record takes in a chunk, in a core with few partitions and targets.
func sizeOf(a Arrival) int64 {
	h := header{size: uint32(a.Body.Size()), offset: a.Offset, deadlineMs: a.DeadlineMs, timestampMs: a.TimestampMs}
	var b [maxHeader]byte
	return int64(len(h.encode(&b))) + int64(h.size)
}

// assign hands over partition no at a low offset, with its start committed.
func (r *rig) assign(no int32, epoch uint64, low int64) {
	r.Assign(Assignment{TopicPartition: partitionOf(no), Epoch: epoch, Window: offsets.NewWindow(low), Next: low, Committed: true})
}

// arrival is a valid record for the egress topic, due delayMs from now.
func (r *rig) arrival(offset, delayMs int64, body string) Arrival {
	return Arrival{Offset: offset, TimestampMs: r.at.WallMs, DeadlineMs: r.at.WallMs + delayMs, Target: egress, Label: egress, Body: text(body)}
}

// take reads one record; false when it was not wanted or stops its partition.
func (r *rig) take(no int32, epoch uint64, a Arrival) bool {
	r.Helper()
	reader, ok := r.Reader(partitionOf(no), epoch)
	return ok && reader.Wants(a.Offset, 0) && reader.Read(&a)
}

// mustTake reads records for the egress topic that are due delayMs from now.
func (r *rig) mustTake(no int32, epoch uint64, delayMs int64, offsets ...int64) {
	r.Helper()
	for _, o := range offsets {
		if !r.take(no, epoch, r.arrival(o, delayMs, fmt.Sprintf("0 record %d", o))) {
			r.Fatalf("offset %d was not taken", o)
		}
	}
}

// pass lets time go by, in which brokers answer, and what became due move on.
func (r *rig) pass(ms int64) {
	r.at.WallMs += ms
	r.at.AnsweredMs += max(ms, 0)
	r.at.MonotonicMs += max(ms, 0)
	for r.Tick(r.at, 1<<20) {
	}
}

// step sets the wall clock forwards or back without time going by.
func (r *rig) step(ms int64) {
	r.back = r.back || ms < 0
	r.at.WallMs += ms
	for r.Tick(r.at, 1<<20) {
	}
}

func (r *rig) offer() []Delivery { return r.Offer(nil, 1<<20) }

// end gives deliveries an outcome, in their order.
func (r *rig) end(class Class, ds ...Delivery) {
	results := make([]Result, len(ds))
	for i, d := range ds {
		results[i] = Result{ID: d.ID, Class: class, Verdict: Missing, Detail: "said the broker"}
	}
	r.Outcomes(r.at, results)
}

// one ends the only delivery on offer, and returns what it was.
func (r *rig) one(class Class) Delivery {
	r.Helper()
	ds := r.offer()
	if len(ds) != 1 {
		r.Fatalf("%d deliveries on offer, want 1: %+v", len(ds), ds)
	}
	r.end(class, ds...)
	return ds[0]
}

// want compares the offsets of deliveries.
func (r *rig) want(ds []Delivery, want ...int64) {
	r.Helper()
	got := []int64{}
	for _, d := range ds {
		got = append(got, d.Offset)
	}
	if !slices.Equal(got, append([]int64{}, want...)) {
		r.Fatalf("offered offsets %v, want %v", got, want)
	}
}

// commitLow takes the commits of all that have news up to partition no, and returns
// the low offset of that one; -1: it has none.
func (r *rig) commitLow(no int32) int64 {
	r.Helper()
	for _, c := range r.Commits(nil, false) {
		r.Committed(CommitResult{Commit: c})
		if c.Partition == no {
			return c.Low
		}
	}
	return -1
}

func total[K comparable](m map[K]int64) (n int64) {
	for _, v := range m {
		n += v
	}
	return n
}

// census counts records and memory afresh, from the entries themselves.
type census struct {
	refs     map[uint32]int
	live     map[int]int32 // records by chunk
	parked   map[*partition]int
	furthest map[*partition]int64
	due      map[*source]int
	inFlight map[*source]int
	overhead int64
	used     int64 // bytes of records
}

func (n *census) note(c *Core, loc location) header {
	h := readHeader(c.store.at(loc))
	n.refs[h.target]++
	n.live[int(loc>>locationBits)]++
	n.used += int64(h.total())
	return h
}

func (n *census) queue(c *Core, q *queue) {
	var bytes int64
	q.each(func(e *entry) {
		n.note(c, e.loc)
		n.due[e.from]++
		bytes += int64(e.size)
	})
	if bytes != q.bytes {
		panic(fmt.Sprintf("queue counts %d bytes, holds %d", q.bytes, bytes))
	}
	n.overhead += int64(len(q.buf)) * entrySize
}

// audit holds every counter of the core to a recount.
func (r *rig) audit() {
	r.Helper()
	c := r.Core
	n := &census{refs: map[uint32]int{}, live: map[int]int32{}, parked: map[*partition]int{}, furthest: map[*partition]int64{}, due: map[*source]int{}, inFlight: map[*source]int{}}
	c.parking.wheel.Sweep(func(payload uint64) bool {
		h := n.note(c, location(payload))
		p := c.parts[h.slot]
		n.parked[p]++
		if !h.atOnce {
			n.furthest[p] = max(n.furthest[p], h.deadlineMs)
		}
		return false
	})
	for _, p := range c.parts {
		if p != nil {
			n.queue(c, &p.src.waiting)
		}
	}
	r.auditTargets(n)
	r.auditFlight(n)
	var parked, due, inFlight int
	for _, p := range c.parts {
		if p == nil {
			continue
		}
		if p.src.gone && p.src.inFlight == 0 {
			r.Errorf("partition %d is gone, nothing of it is in flight, and it keeps its slot", p.Partition)
		}
		if p.parked != n.parked[p] || p.src.due != n.due[p.src] || p.src.inFlight != n.inFlight[p.src] {
			r.Errorf("partition %d counts %d parked, %d due, %d in flight; recount %d, %d, %d",
				p.Partition, p.parked, p.src.due, p.src.inFlight, n.parked[p], n.due[p.src], n.inFlight[p.src])
		}
		// What was due before a step back is parked again behind the wheel's own time, and
		// leaves it in that order: a deadline may then count on after its record has left.
		want, some := n.furthest[p]
		if (p.furthestMs != want && !r.back || p.furthestMs < want) && (some || p.parked == 0) {
			r.Errorf("partition %d: furthest deadline %d, recount %d", p.Partition, p.furthestMs, want)
		}
		parked, due, inFlight = parked+n.parked[p], due+n.due[p.src], inFlight+n.inFlight[p.src]
	}
	r.auditStore(n)
	if c.store.used != n.used {
		r.Errorf("%d bytes of records counted, recount %d", c.store.used, n.used)
	}
	if c.out.dir.overhead != n.overhead {
		r.Errorf("%d bytes of overhead counted, recount %d", c.out.dir.overhead, n.overhead)
	}
	s := &c.stats
	if int64(parked) != s.Parked || inFlight != c.out.flights.count {
		r.Errorf("core counts %d parked, %d in flight; recount %d, %d", s.Parked, c.out.flights.count, parked, inFlight)
	}
	var skipped int64
	for k, v := range s.Consumed {
		if k.Outcome == Skipped {
			skipped += v
		}
	}
	out := total(s.Delivered) + total(s.DeadLettered) + total(s.Dropped) + s.Unfinished + s.HandedOver + s.Referred + skipped + int64(parked+due+inFlight)
	if in := total(s.Consumed); in != out {
		r.Errorf("%d consumed, %d accounted for", in, out)
	}
}

func (r *rig) auditTargets(n *census) {
	r.Helper()
	busy := map[*target]bool{}
	for _, t := range r.out.busy {
		busy[t] = true
	}
	for i, t := range r.out.dir.list {
		if t == nil {
			continue
		}
		n.overhead += targetSize + int64(len(t.name)) + int64(len(t.dests))*destSize
		n.queue(r.Core, &t.queue)
		overflow, stalled := 0, 0
		for _, d := range t.dests {
			n.queue(r.Core, &d.overflow)
			overflow += d.overflow.count
			if d.stalled {
				stalled++
			}
		}
		if overflow != t.overflow || stalled != t.stalled {
			r.Errorf("target %s counts %d in overflow, %d partitions stalled; recount %d, %d", t.name, t.overflow, t.stalled, overflow, stalled)
		}
		if t.queue.count+overflow > 0 && !busy[t] || busy[t] && !t.busy {
			r.Errorf("target %s: busy is %v, has %d waiting", t.name, t.busy, t.queue.count+overflow)
		}
		if t.index != uint32(i) || r.out.dir.byKey[t.key] != t {
			r.Errorf("target %s is not where its index and name say", t.name)
		}
	}
}

func (r *rig) auditFlight(n *census) {
	r.Helper()
	type sum struct {
		records, alone int
		bytes          int64
	}
	dests := map[*dest]sum{}
	var all, stuckBytes int64
	stuck := 0
	for _, f := range r.out.flights.list {
		if f.busy {
			n.note(r.Core, f.entry.loc)
			n.inFlight[f.entry.from]++
			s := dests[f.dest]
			s.records++
			s.bytes += int64(f.entry.size)
			if f.entry.try != together {
				s.alone++
			}
			dests[f.dest] = s
			if f.dest.stuck {
				stuck++
				stuckBytes += int64(f.entry.size)
			} else {
				all += int64(f.entry.size)
			}
		}
	}
	if all != r.out.flights.bytes || stuck != r.out.flights.stuck || stuckBytes != r.out.flights.stuckBytes {
		r.Errorf("%d bytes in flight counted, %d records of %d bytes stuck; recount %d, %d, %d", r.out.flights.bytes, r.out.flights.stuck, r.out.flights.stuckBytes, all, stuck, stuckBytes)
	}
	if r.out.flights.count > r.cfg.MaxBuffered {
		r.Errorf("%d records in flight, the client has room for %d", r.out.flights.count, r.cfg.MaxBuffered)
	}
	for _, t := range r.out.dir.list {
		if t == nil {
			continue
		}
		refs, inFlight, occupying, occupyingBytes := n.refs[t.index], 0, 0, int64(0)
		if t == r.out.dir.dead {
			refs++
		}
		for _, d := range t.dests {
			if got := (sum{d.inFlight, d.alone, d.bytes}); got != dests[d] {
				r.Errorf("%s/%d counts %+v in flight, recount %+v", t.name, d.no, got, dests[d])
			}
			if d.alone > 1 {
				r.Errorf("%s/%d has %d alone at once", t.name, d.no, d.alone)
			}
			inFlight += d.inFlight
			if !d.stuck {
				occupying += d.inFlight
				occupyingBytes += d.bytes
			}
		}
		if t.refs != refs || t.inFlight != inFlight || t.occupying != occupying || t.occupyingBytes != occupyingBytes {
			r.Errorf("target %s counts %d refs, %d in flight, of which %d of %d bytes are not stuck; recount %d, %d, %d, %d",
				t.name, t.refs, t.inFlight, t.occupying, t.occupyingBytes, refs, inFlight, occupying, occupyingBytes)
		}
	}
}

func (r *rig) auditStore(n *census) {
	r.Helper()
	var bytes, live int64
	for no, ch := range r.store.chunks {
		if ch == nil {
			continue
		}
		bytes += int64(cap(ch.buf)) + chunkOverhead
		live += int64(ch.live)
		if ch.live != n.live[no] {
			r.Errorf("chunk %d counts %d live, recount %d", no, ch.live, n.live[no])
		}
	}
	if bytes != r.store.bytes || live != r.store.live {
		r.Errorf("store counts %d bytes, %d live; recount %d, %d", r.store.bytes, r.store.live, bytes, live)
	}
}

func TestAnEntryIsAccountedWithItsSize(t *testing.T) {
	if got := unsafe.Sizeof(entry{}); got != entrySize {
		t.Errorf("an entry takes %d bytes, is accounted with %d", got, entrySize)
	}
	if got := int64(unsafe.Sizeof(target{})); got > targetSize-64 {
		t.Errorf("a target takes %d bytes, is accounted with %d", got, targetSize)
	}
	if got := int64(unsafe.Sizeof(dest{})); got > destSize-8 {
		t.Errorf("a target partition takes %d bytes, is accounted with %d", got, destSize)
	}
}
