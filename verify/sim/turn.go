package sim

import (
	"layover/purgatory"
)

// turn is one turn of the lane's loop: the time, up to n records read, up to n offered.
func (in *instance) turn(n int) {
	more := in.core.Tick(in.clock(), 4*n)
	for n := n; n > 0 && len(in.intake) > 0; {
		b := &in.intake[0]
		t := in.still(b.part, b.epoch)
		if t != nil && b.start > 0 {
			in.logStart(b.part, b.start)
		}
		reader, ok := in.reader(b, t)
		for ; ok && len(b.entries) > 0 && n > 0; n-- {
			ok = in.read(reader, t, b.entries[0])
			b.entries = b.entries[1:]
		}
		if !ok {
			b.entries = nil
		}
		if len(b.entries) > 0 {
			break
		}
		in.intake = in.intake[1:]
	}
	in.offer(n)
	in.core.Cut(false)
	in.effects()
	if !more {
		in.punctual()
	}
}

// reader asks the core for the intake of a batch, as the lane does once for it.
func (in *instance) reader(b *batch, t *tenure) (purgatory.Reader, bool) {
	r, ok := in.core.Reader(partitionOf(b.part), b.epoch)
	if current := t != nil && !t.revoking && !t.halted; ok != current {
		in.w.fail("reading partition %d in epoch %d is allowed: %v, want %v", b.part, b.epoch, ok, current)
	}
	return r, ok && in.w.err == nil
}

// read shows the core one record; false when its partition does not read any more.
func (in *instance) read(reader purgatory.Reader, t *tenure, e *entry) bool {
	w := in.w
	if e.large {
		return in.unread(reader, t, e)
	}
	wants := reader.Wants(e.offset, e.epoch)
	if t.newLeader(e); t.halted {
		if wants {
			w.fail("%v is wanted of a log that was truncated", e)
		}
		return w.err == nil
	}
	if e.offset >= t.read {
		for o := t.read; o < e.offset; o++ { // nothing is there, and never will be
			t.done[o] = true
		}
		t.read = e.offset
	}
	if want := e.offset >= t.read && !t.isDone(e.offset); wants != want {
		w.fail("%v is wanted: %v, want %v", e, wants, want)
		return false
	}
	if e.offset < t.read {
		return true
	}
	if !wants {
		in.effects() // a jump
		t.read = max(t.read, e.offset+1)
		return true
	}
	return in.take(reader, t, e)
}

// unread shows the core a batch that is not read, of one record; false when its
// partition does not read any more.
func (in *instance) unread(reader purgatory.Reader, t *tenure, e *entry) bool {
	ok := reader.Unread(&purgatory.Batch{First: e.offset, Last: e.offset, Records: 1, LeaderEpoch: e.epoch, Body: body(e.body), Message: "says the model"})
	t.newLeader(e)
	stops := !t.halted && e.offset >= t.read && !t.isDone(e.offset) && in.w.cfg.OnInvalid != purgatory.Drop && in.w.cfg.OnInvalid != purgatory.DeadLetter
	switch {
	case ok == (t.halted || stops):
		in.w.fail("partition %d goes on at the batch %v: %v", e.part, e, ok)
	case t.halted || e.offset < t.read:
	default:
		for o := t.read; o < e.offset; o++ { // nothing is there, and never will be
			t.done[o] = true
		}
		t.read = e.offset + 1
		in.outcomeOf(t, e, stops)
	}
	if ok {
		in.effects() // the jump behind it
	}
	return ok && in.w.err == nil
}

// outcomeOf notes what becomes of a batch that is not read.
func (in *instance) outcomeOf(t *tenure, e *entry, stops bool) {
	switch {
	case t.isDone(e.offset):
	case stops:
		t.read, t.halted, t.mayHalt = e.offset, true, e.offset
	case in.w.cfg.OnInvalid == purgatory.Drop:
		t.done[e.offset], e.dropped = true, true
	default:
		e.reads++
		t.held[e.offset] = e
		in.w.say("%s reads the batch %v", in.member, e)
	}
}

// newLeader forgets what the tenure came with about records that a truncated log
// does not have any more. Where what was read, or the low offset, has passed them,
// that is not enough.
func (t *tenure) newLeader(e *entry) {
	switch {
	case t.halted || e.epoch <= t.epochRead:
	case t.strange > 0:
		t.epochRead = e.epoch
	case t.epochRead >= 0 && max(t.lowest(), t.read) > e.offset:
		t.halted, t.cut, t.overwritten = true, true, true
		return
	default:
		t.epochRead = e.epoch
		for o := range t.done {
			if o >= e.offset {
				delete(t.done, o)
			}
		}
	}
	if e.offset+1 >= t.strange {
		t.strange = 0
	}
}

// factsEpoch is the leader epoch that commits of the tenure have to name.
func (t *tenure) factsEpoch() int32 {
	if t.strange > 0 {
		return -1
	}
	return t.epochRead
}

// take gives the core a record that it wants.
func (in *instance) take(reader purgatory.Reader, t *tenure, e *entry) bool {
	now := in.clock().WallMs
	a := purgatory.Arrival{
		Offset: e.offset, TimestampMs: startMs, Control: e.kind == control, Body: body(e.body),
		Target: e.target, Label: e.target, DeadlineMs: e.deadlineMs,
	}
	switch {
	case a.Control:
	case e.invalid:
		a.Reason, a.Message = "malformed_delay", "says the model"
	case e.passed:
		a.Outcome = purgatory.Passed
	case e.deadlineMs <= now:
		a.Outcome = purgatory.PastDue
	}
	ok := reader.Read(&a)
	switch {
	case !ok:
		t.halted, t.mayHalt = true, e.offset
		if !e.invalid || in.w.cfg.OnInvalid != purgatory.Halt {
			in.w.fail("partition %d stops reading at %v", e.part, e)
		}
		return false
	case a.Control:
		t.done[e.offset] = true
	case e.invalid && in.w.cfg.OnInvalid == purgatory.Drop:
		t.done[e.offset], e.dropped = true, true
	default:
		e.reads++
		e.readMs = in.w.nowMs
		t.held[e.offset] = e
		in.w.say("%s reads %v", in.member, e)
	}
	t.read = e.offset + 1
	return true
}

// lowest is the low offset: the lowest that is not finished.
func (t *tenure) lowest() int64 {
	o := t.low
	for t.done[o] {
		o++
	}
	return o
}

func (t *tenure) isDone(offset int64) bool { return offset < t.low || t.done[offset] }

// body is a record's bytes as the core keeps them.
type body string

func (b body) Size() int      { return len(b) }
func (b body) Put(dst []byte) { copy(dst, b) }

// logStart tells the core that its log begins later now.
func (in *instance) logStart(p int, start int64) {
	t := in.tenures[p]
	in.core.LogStart(partitionOf(p), t.epoch, start)
	for o := t.read; o < start; o++ {
		if e := t.log.entries[o]; !t.isDone(o) || e.epoch > t.epochRead && e.written == 0 {
			e.lost = true
		}
		t.done[o] = true
	}
	t.read = max(t.read, start)
}

// effects carries out what the core asks for.
func (in *instance) effects() {
	e := in.core.Take()
	for _, j := range e.Jumps {
		t := in.still(int(j.Partition), j.Epoch)
		if t == nil {
			continue
		}
		if j.Beyond && t.log.endOf(j.LeaderEpoch) < j.To { // which is asked first, as of any jump
			t.stopped = true
			in.w.say("%s stops reading %d: the log was truncated", in.member, j.Partition)
			continue
		}
		for o := t.read; o < j.To; o++ {
			if !t.isDone(o) {
				in.w.fail("LOST: a jump to %d goes over %d@%d, which has no outcome", j.To, j.Partition, o)
			}
		}
		t.read, t.next = max(t.read, j.To), max(t.next, j.To)
		t.validate(j.To, j.LeaderEpoch)
	}
	in.send(e)
	for _, h := range e.Halts {
		t := in.still(int(h.Partition), h.Epoch)
		if t == nil {
			continue
		}
		in.w.say("%s stops reading %d at %d: %s", in.member, h.Partition, h.Offset, h.Reason)
		if t.notices++; t.notices > 1 || h.Truncated != t.overwritten || !h.Truncated && t.mayHalt != h.Offset {
			in.w.fail("partition %d stops reading at %d without a reason, or twice: %s", h.Partition, h.Offset, h.Reason)
		}
		t.halted = true
	}
}

// offer takes up to n deliveries and holds each to the promises.
func (in *instance) offer(n int) {
	w, now := in.w, in.clock().WallMs
	in.core.Targets(w.told(in.core.Wanted(nil)))
	for _, d := range in.core.Offer(nil, n) {
		p := int(d.Partition)
		t := in.tenure(p)
		if t == nil || t.revoking || !t.accepted {
			w.fail("%d@%d is offered, though its partition may not deliver", p, d.Offset)
			return
		}
		e := t.held[d.Offset]
		switch {
		case e == nil || t.isDone(d.Offset) || d.Offset >= t.read:
			w.fail("%d@%d is offered, but it is finished or was not read", p, d.Offset)
			return
		case in.inFlight(p, t.epoch, d.Offset):
			w.fail("%v is offered twice at a time", e)
		case d.Reason == "" && !e.passed && e.deadlineMs > now:
			w.fail("EARLY: %v is offered %d ms before its deadline", e, e.deadlineMs-now)
		case string(d.Body) != e.body:
			w.fail("%v is offered with other bytes: %q, want %q", e, d.Body, e.body)
		case d.Reason == "" && d.Target != e.target || d.DeadLettered != (d.Target == graves) || d.Reason == "" && d.DeadLettered:
			w.fail("%v is offered to %s, want %s", e, d.Target, e.target)
		}
		w.say("%s offers %v to %s %s", in.member, e, d.Target, d.Reason)
		in.flying = append(in.flying, &produce{part: p, epoch: t.epoch, entry: e, d: d})
	}
	if most := w.cfg.MaxBuffered; most > 0 && len(in.flying) > most {
		w.fail("%d records are in flight, the client has room for %d", len(in.flying), most)
	}
}

func (in *instance) inFlight(p int, epoch uint64, offset int64) bool {
	for _, f := range in.flying {
		if f.part == p && f.epoch == epoch && f.d.Offset == offset {
			return true
		}
	}
	return false
}

// outcome ends a delivery. What was written stays written, whatever the core is told.
func (in *instance) outcome(k int, class purgatory.Class) {
	f := in.flying[k]
	in.flying = append(in.flying[:k:k], in.flying[k+1:]...)
	w := in.w
	if class == purgatory.Delivered && !f.applied {
		w.write(f)
		f.applied = true
	}
	if class == purgatory.Unknown {
		f.entry.unknown++
		w.haunt(f)
	}
	t := in.still(f.part, f.epoch)
	refused := class == purgatory.Rejected || class == purgatory.TooLarge && f.d.Bare
	switch {
	case class == purgatory.Delivered && t != nil:
		t.done[f.d.Offset] = true
	case refused && t != nil && !f.d.DeadLettered && !w.cfg.DeadLetters && w.cfg.OnInvalid == purgatory.Drop:
		t.done[f.d.Offset], f.entry.dropped = true, true
	case refused && t != nil && !f.d.DeadLettered && !w.cfg.DeadLetters && t.notices == 0:
		t.mayHalt = f.d.Offset
	}
	w.say("%s hears of %v: %s", in.member, f.entry, className(class))
	in.core.Outcomes(in.clock(), []purgatory.Result{{ID: f.d.ID, Class: class, Verdict: purgatory.Missing, Detail: "says the model"}})
	in.effects()
}

func className(c purgatory.Class) string {
	return [...]string{"delivered", "too large", "rejected", "target unavailable", "unknown", "no room"}[c]
}
