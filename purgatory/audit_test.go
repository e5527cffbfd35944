package purgatory

import (
	"fmt"
	"testing"
	"unsafe"
)

// census counts records and memory afresh, from the entries themselves.
type census struct {
	refs     map[uint32]int
	live     map[int]int32 // records by chunk
	parked   map[*partition]int
	furthest map[*partition]int64
	due      map[*source]int
	inFlight map[*source]int
	overhead int64
	keptRoom int
	putBack  map[string]int // by label
	used     int64          // bytes of records
	copies   int64          // of them that are loaded copies
	late     int64          // of these that are put back
	ids      idCensus
	texts    map[*failure]int // entries that have it
}

// failed counts an entry's failure.
func (n *census) failed(e *entry) {
	if e.failure != nil {
		n.texts[e.failure]++
	}
}

func (n *census) note(c *Core, loc location) header {
	h := readHeader(c.store.at(loc))
	n.refs[h.target]++
	if loc&named != 0 {
		loc = location(c.store.slots.Get(uint32(loc)))
	}
	n.live[int(loc>>locationBits)]++
	n.ids.used[int(loc>>locationBits)] += int32(h.total())
	n.used += int64(h.total())
	if h.marks&isCopy != 0 {
		n.copies += int64(h.total())
	}
	return h
}

func (n *census) queue(c *Core, q *queue, at spot) {
	var bytes int64
	q.each(func(e *entry) {
		n.failed(e)
		h := n.note(c, e.loc)
		n.ids.note(c, e.loc, &h, e, at)
		n.due[e.from]++
		bytes += entrySize + int64(e.size)
		if e.failure != nil && !e.failure.shared {
			bytes += failureSize + int64(len(e.failure.message))
		}
	})
	if bytes != q.bytes {
		panic(fmt.Sprintf("queue counts %d bytes, holds %d", q.bytes, bytes))
	}
	for i := q.length; i < len(q.buf); i++ {
		if *q.at(i) != (entry{}) {
			panic(fmt.Sprintf("queue keeps an entry that has left it, of target %s", q.at(i).target.name))
		}
	}
	n.overhead += int64(len(q.buf)) * entrySize
	if q.kept != (q.length == 0 && len(q.buf) > fewEntries) {
		panic(fmt.Sprintf("a queue of %d entries with room for %d counts as kept: %v", q.length, len(q.buf), q.kept))
	}
	if q.kept {
		n.keptRoom += len(q.buf)
	}
	dead := q.length - q.count
	n.ids.dead += dead
	if dead > q.count || q.count > 0 && q.front() != q.at(0) || q.length > 0 && q.store.isGone(q.at(0).loc) {
		panic(fmt.Sprintf("of %d entries of a queue %d are dead, the one in front: %v", q.length, dead, q.store.isGone(q.at(0).loc)))
	}
}

// audit holds every counter of the core to a recount.
func (r *rig) audit() {
	r.Helper()
	c := r.Core
	n := &census{refs: map[uint32]int{}, live: map[int]int32{}, parked: map[*partition]int{}, furthest: map[*partition]int64{}, putBack: map[string]int{}, due: map[*source]int{}, inFlight: map[*source]int{}, ids: newIDCensus(), texts: map[*failure]int{}}
	c.parking.wheel.Sweep(func(payload uint64) bool {
		loc, putBack := parked(payload)
		h := n.note(c, loc)
		n.ids.note(c, loc, &h, nil, spot{where: inWheel})
		p := c.parts.list[h.slot]
		n.parked[p]++
		if h.waits() {
			n.furthest[p] = max(n.furthest[p], h.deadlineMs)
		}
		if putBack {
			n.putBack[c.out.dir.list[h.target].label]++
			if h.marks&isCopy != 0 {
				n.late += int64(h.total())
			}
		}
		return false
	})
	for _, p := range c.parts.list {
		if p != nil {
			n.queue(c, &p.src.waiting, spot{where: inWaiting})
			n.queue(c, &p.src.behind, spot{where: behindBarrier})
		}
	}
	gathered := r.auditRuns(n)
	if c.out.now != &c.now {
		r.Errorf("the outbox has the time %+v, the core %+v", *c.out.now, c.now)
	}
	r.auditCatchUp(n)
	r.auditTargets(n)
	r.auditFlight(n)
	var parked, due, inFlight int
	for _, p := range c.parts.list {
		if p == nil {
			continue
		}
		if c.parts.list[p.src.slot] != p {
			r.Errorf("partition %d is not where its source says", p.Partition)
		}
		if p.src.gone && p.src.inFlight+p.src.moving == 0 {
			r.Errorf("partition %d is gone, nothing of it is in flight, and it keeps its slot", p.Partition)
		}
		if p.parked != n.parked[p] || p.src.due != n.due[p.src] || p.src.inFlight != n.inFlight[p.src] {
			r.Errorf("partition %d counts %d parked, %d due, %d in flight; recount %d, %d, %d",
				p.Partition, p.parked, p.src.due, p.src.inFlight, n.parked[p], n.due[p.src], n.inFlight[p.src])
		}
		// A record that was due before a step back is parked again behind the wheel's own
		// time, and leaves the wheel in that order. A deadline may then count on after its
		// record has left.
		want, some := n.furthest[p]
		if (p.furthestMs != want && !r.back && !r.ended() && r.cfg.CatchUp == nil && r.runs.taken == nil || p.furthestMs < want) && (some || p.parked == 0) {
			r.Errorf("partition %d: furthest deadline %d, recount %d", p.Partition, p.furthestMs, want)
		}
		parked, due, inFlight = parked+n.parked[p], due+n.due[p.src], inFlight+n.inFlight[p.src]
	}
	r.auditStore(n)
	r.auditIDs(&n.ids)
	if loaded := c.runs.LoadedBytes(); loaded != n.copies {
		r.Errorf("%d bytes of copies counted, recount %d", loaded, n.copies)
	}
	if late, stranded := c.runs.PutBackBytes(), c.runs.Stranded(); late != n.late || stranded < 0 || stranded > n.copies {
		r.Errorf("%d bytes of copies put back, recount %d; %d are stranded of %d", late, n.late, stranded, n.copies)
	}
	if c.store.used != n.used {
		r.Errorf("%d bytes of records counted, recount %d", c.store.used, n.used)
	}
	if got, want := c.Bytes(), r.memory(n); got != want {
		r.Errorf("%d bytes of memory counted, recount %d", got, want)
	}
	if c.out.dir.kept != n.keptRoom {
		r.Errorf("room for %d entries counts as kept, recount %d", c.out.dir.kept, n.keptRoom)
	}
	if c.out.dir.overhead != n.overhead {
		r.Errorf("%d bytes of overhead counted, recount %d", c.out.dir.overhead, n.overhead)
	}
	s := &c.stats
	s.pour()
	if int64(parked) != s.Parked || inFlight != c.out.flights.count {
		r.Errorf("core counts %d parked, %d in flight; recount %d, %d", s.Parked, c.out.flights.count, parked, inFlight)
	}
	var skipped int64
	for k, v := range s.Consumed {
		if k.Outcome == Skipped {
			skipped += v
		}
	}
	out := total(s.Delivered) + total(s.DeadLettered) + total(s.Dropped) + s.Unfinished + s.HandedOver + s.Referred + skipped + int64(parked+due+inFlight) + s.Moved + gathered +
		total(s.Ended) + total(s.Cancels) + int64(c.commands.cancels) - s.EventsWaiting
	if in := total(s.Consumed) + s.Loaded; in != out {
		r.Errorf("%d consumed, %d accounted for", in, out)
	}
}

// textBytes is what letters say, each text once.
func (r *rig) textBytes(n *census) (bytes int64) {
	r.Helper()
	shared := int64(0)
	for f, entries := range n.texts {
		bytes += failureSize + int64(len(f.message))
		if f.shared {
			shared += failureSize + int64(len(f.message))
		}
		if entries != f.entries {
			r.Errorf("%d entries have the failure %q, counted %d", entries, f.message, f.entries)
		}
	}
	if shared != r.out.dir.shared {
		r.Errorf("%d bytes of shared texts counted, recount %d", r.out.dir.shared, shared)
	}
	return bytes
}

// memory adds up what the core's parts take, from the census where it counts them.
func (r *rig) memory(n *census) int64 {
	sum := n.overhead + r.textBytes(n) + flightSize*int64(cap(r.out.flights.list)) + r.parking.wheel.Bytes()
	sum += r.store.slots.Bytes() + r.commands.index.table.Bytes()
	for _, all := range r.commands.pending {
		sum += int64(len(all)+1) * commandSize
	}
	for _, u := range r.parking.catching.labels {
		sum += int64(cap(u.oldest.samples)) * int64(unsafe.Sizeof(age{}))
	}
	for _, ch := range r.store.chunks {
		if ch != nil {
			sum += int64(cap(ch.buf)) + chunkOverhead
		}
	}
	for _, p := range r.parts.list {
		if p != nil {
			for _, part := range []int64{p.Window.Bytes(), p.Facts.Bytes(), int64(cap(p.ages.samples)) * int64(unsafe.Sizeof(age{})), p.pairs.bytes(), p.moved.bytes()} {
				sum += part
			}
		}
	}
	return sum
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
		n.queue(r.Core, &t.queue, spot{where: inQueue})
		overflow, stalled := 0, 0
		for _, d := range t.dests {
			n.queue(r.Core, &d.overflow, spot{where: inOverflow, at: uint64(d.no)})
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
		if (t.hold.held || t.stalled > 0) && !t.busy && t.inFlight == 0 && t != r.out.dir.dead {
			r.Errorf("target %s is held, and nothing is there that could end it", t.name)
		}
		for i := 1; i < t.queue.length && t.hold.held && t.hold.verdict == Rejecting; i++ {
			if t.queue.at(i-1).refused && !t.queue.at(i).refused {
				r.Errorf("target %s: a letter that was refused is in front of one that was not", t.name)
			}
		}
		if t.index != uint32(i) || r.out.dir.byKey[t.key] != t {
			r.Errorf("target %s is not where its index and name say", t.name)
		}
	}
}

func (r *rig) auditFlight(n *census) {
	r.Helper()
	type sum struct {
		records int
		alone   int32
		bytes   int64
	}
	dests := map[*dest]sum{}
	var all, stuckBytes int64
	stuck := 0
	for id, f := range r.out.flights.list {
		if f.busy {
			h := n.note(r.Core, f.entry.loc)
			n.ids.note(r.Core, f.entry.loc, &h, &f.entry, spot{where: inFlight, at: uint64(id)})
			n.inFlight[f.entry.from]++
			n.failed(&f.entry)
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
		if t == r.out.dir.dead || t == r.out.dir.events {
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
	var bytes, live, movable int64
	for no, ch := range r.store.chunks {
		if ch == nil {
			continue
		}
		bytes += int64(cap(ch.buf)) + chunkOverhead
		live += int64(ch.live)
		if movableClass(ch.class) {
			movable += int64(ch.used)
		}
		if ch.live != n.live[no] {
			r.Errorf("chunk %d counts %d live, recount %d", no, ch.live, n.live[no])
		}
	}
	if bytes != r.store.bytes || live != r.store.live || movable != r.store.movable {
		r.Errorf("store counts %d bytes, %d live, %d that may be moved; recount %d, %d, %d", r.store.bytes, r.store.live, r.store.movable, bytes, live, movable)
	}
}

func TestAnEntryIsAccountedWithItsSize(t *testing.T) {
	if got := unsafe.Sizeof(entry{}); got != entrySize {
		t.Errorf("an entry takes %d bytes, is accounted with %d", got, entrySize)
	}
	if got := int64(unsafe.Sizeof(failure{})); got > failureSize {
		t.Errorf("a failure takes %d bytes, is accounted with %d", got, failureSize)
	}
	if got := int64(unsafe.Sizeof(target{})); got > targetSize-64 {
		t.Errorf("a target takes %d bytes, is accounted with %d", got, targetSize)
	}
	if got := int64(unsafe.Sizeof(dest{})); got > destSize-8 {
		t.Errorf("a target partition takes %d bytes, is accounted with %d", got, destSize)
	}
}
