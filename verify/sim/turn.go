package sim

import (
	"layover/offsets"
	"layover/purgatory"
)

// turn is one turn of the lane's loop: the time, up to n records read, up to n offered.
func (in *instance) turn(n int) {
	more := in.core.Tick(in.clock(), 4*n)
	for n := n; n > 0 && len(in.intake) > 0; {
		b := &in.intake[0]
		own := in.still(b.part, b.epoch)
		if own != nil && b.start > 0 {
			in.logStart(b.part, b.start)
		}
		reader, ok := in.reader(b, own)
		for ; ok && len(b.entries) > 0 && n > 0; n-- {
			ok = in.read(reader, own, b.entries[0])
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
func (in *instance) reader(b *batch, own *partition) (purgatory.Reader, bool) {
	r, ok := in.core.Reader(partitionOf(b.part), b.epoch)
	if current := own != nil && !own.revoking && !own.halted; ok != current {
		in.w.fail("reading partition %d in epoch %d is allowed: %v, want %v", b.part, b.epoch, ok, current)
	}
	return r, ok && in.w.err == nil
}

// read shows the core one record; false when its partition does not read any more.
func (in *instance) read(reader purgatory.Reader, own *partition, e *entry) bool {
	w := in.w
	if e.large {
		return in.unread(reader, own, e)
	}
	wants := reader.Wants(e.offset, e.epoch) == purgatory.Whole
	if own.newLeader(e); own.halted {
		if wants {
			w.fail("%v is wanted of a log that was truncated", e)
		}
		return w.err == nil
	}
	if e.offset >= own.read {
		for o := own.read; o < e.offset; o++ { // nothing is there, and never will be
			own.done[o] = true
		}
		own.read = e.offset
	}
	if want := e.offset >= own.read && !own.isDone(e.offset); wants != want {
		w.fail("%v is wanted: %v, want %v", e, wants, want)
		return false
	}
	if e.offset < own.read {
		return true
	}
	if !wants {
		in.effects() // a jump
		own.read = max(own.read, e.offset+1)
		return true
	}
	return in.take(reader, own, e)
}

// unread shows the core a batch that is not read, of one record; false when its
// partition does not read any more.
func (in *instance) unread(reader purgatory.Reader, own *partition, e *entry) bool {
	ok := reader.Unread(&offsets.UnreadBatch{First: e.offset, Last: e.offset, Records: 1, LeaderEpoch: e.epoch, Message: "says the model"}, body(e.body))
	own.newLeader(e)
	stops := !own.halted && e.offset >= own.read && !own.isDone(e.offset) && in.w.cfg.OnInvalid != purgatory.Drop && in.w.cfg.OnInvalid != purgatory.DeadLetter
	switch {
	case ok == (own.halted || stops):
		in.w.fail("partition %d goes on at the batch %v: %v", e.part, e, ok)
	case own.halted || e.offset < own.read:
	default:
		for o := own.read; o < e.offset; o++ { // nothing is there, and never will be
			own.done[o] = true
		}
		own.read = e.offset + 1
		in.outcomeOf(own, e, stops)
	}
	if ok {
		in.effects() // the jump behind it
	}
	return ok && in.w.err == nil
}

// outcomeOf notes what becomes of a batch that is not read.
func (in *instance) outcomeOf(own *partition, e *entry, stops bool) {
	switch {
	case own.isDone(e.offset):
	case stops:
		own.read, own.halted, own.mayHalt = e.offset, true, e.offset
	case in.w.cfg.OnInvalid == purgatory.Drop:
		own.done[e.offset], e.dropped = true, true
	default:
		e.reads++
		own.held[e.offset] = e
		in.w.say("%s reads the batch %v", in.member, e)
	}
}

// newLeader forgets what the assignment came with about records that a truncated log
// does not have any more. Where what was read, or the low offset, has passed them,
// that is not enough.
func (own *partition) newLeader(e *entry) {
	switch {
	case own.halted || e.epoch <= own.epochRead:
	case own.strange > 0:
		own.epochRead = e.epoch
	case own.epochRead >= 0 && max(own.lowest(), own.read) > e.offset:
		own.halted, own.cut, own.overwritten = true, true, true
		return
	default:
		own.epochRead = e.epoch
		for o := range own.done {
			if o >= e.offset {
				delete(own.done, o)
			}
		}
	}
	if e.offset+1 >= own.strange {
		own.strange = 0
	}
}

// factsEpoch is the leader epoch that commits of the assignment have to name.
func (own *partition) factsEpoch() int32 {
	if own.strange > 0 {
		return -1
	}
	return own.epochRead
}

// take gives the core a record that it wants.
func (in *instance) take(reader purgatory.Reader, own *partition, e *entry) bool {
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
		own.halted, own.mayHalt = true, e.offset
		if !e.invalid || in.w.cfg.OnInvalid != purgatory.Halt {
			in.w.fail("partition %d stops reading at %v", e.part, e)
		}
		return false
	case a.Control:
		own.done[e.offset] = true
	case e.invalid && in.w.cfg.OnInvalid == purgatory.Drop:
		own.done[e.offset], e.dropped = true, true
	default:
		e.reads++
		e.readMs = in.w.nowMs
		own.held[e.offset] = e
		in.w.say("%s reads %v", in.member, e)
	}
	own.read = e.offset + 1
	return true
}

// lowest is the low offset: the lowest that is not finished.
func (own *partition) lowest() int64 {
	o := own.low
	for own.done[o] {
		o++
	}
	return o
}

func (own *partition) isDone(offset int64) bool { return offset < own.low || own.done[offset] }

// body is a record's bytes as the core keeps them.
type body string

func (b body) Size() int      { return len(b) }
func (b body) Put(dst []byte) { copy(dst, b) }

// logStart tells the core that its log begins later now.
func (in *instance) logStart(p int, start int64) {
	own := in.partitions[p]
	in.core.LogStart(partitionOf(p), own.epoch, start)
	for o := own.read; o < start; o++ {
		if e := own.log.entries[o]; !own.isDone(o) || e.epoch > own.epochRead && e.written == 0 {
			e.lost = true
		}
		own.done[o] = true
	}
	own.read = max(own.read, start)
}

// effects carries out what the core asks for.
func (in *instance) effects() {
	e := in.core.Take()
	for _, j := range e.Jumps {
		own := in.still(int(j.Partition), j.Epoch)
		if own == nil {
			continue
		}
		if j.Beyond && own.log.endOf(j.LeaderEpoch) < j.To { // which is asked first, as of any jump
			own.stopped = true
			in.w.say("%s stops reading %d: the log was truncated", in.member, j.Partition)
			continue
		}
		for o := own.read; o < j.To; o++ {
			if !own.isDone(o) {
				in.w.fail("LOST: a jump to %d goes over %d@%d, which has no outcome", j.To, j.Partition, o)
			}
		}
		own.read, own.next = max(own.read, j.To), max(own.next, j.To)
		own.validate(j.To, j.LeaderEpoch)
	}
	in.send(e)
	for _, h := range e.Halts {
		own := in.still(int(h.Partition), h.Epoch)
		if own == nil {
			continue
		}
		in.w.say("%s stops reading %d at %d: %s", in.member, h.Partition, h.Offset, h.Reason)
		if own.notices++; own.notices > 1 || h.Truncated != own.overwritten || !h.Truncated && own.mayHalt != h.Offset {
			in.w.fail("partition %d stops reading at %d without a reason, or twice: %s", h.Partition, h.Offset, h.Reason)
		}
		own.halted = true
	}
}

// offer takes up to n deliveries and holds each to the promises.
func (in *instance) offer(n int) {
	w, now := in.w, in.clock().WallMs
	in.core.Targets(w.told(in.core.Wanted(nil)))
	for _, d := range in.core.Offer(nil, n) {
		p := int(d.Partition)
		own := in.partition(p)
		if own == nil || own.revoking || !own.accepted {
			w.fail("%d@%d is offered, though its partition may not deliver", p, d.Offset)
			return
		}
		e := own.held[d.Offset]
		switch {
		case e == nil || own.isDone(d.Offset) || d.Offset >= own.read:
			w.fail("%d@%d is offered, but it is finished or was not read", p, d.Offset)
			return
		case in.inFlight(p, own.epoch, d.Offset):
			w.fail("%v is offered twice at a time", e)
		case d.Reason == "" && !e.passed && e.deadlineMs > now:
			w.fail("EARLY: %v is offered %d ms before its deadline", e, e.deadlineMs-now)
		case string(d.Body) != e.body:
			w.fail("%v is offered with other bytes: %q, want %q", e, d.Body, e.body)
		case d.Reason == "" && d.Target != e.target || d.DeadLettered != (d.Target == graves) || d.Reason == "" && d.DeadLettered:
			w.fail("%v is offered to %s, want %s", e, d.Target, e.target)
		}
		w.say("%s offers %v to %s %s", in.member, e, d.Target, d.Reason)
		in.flying = append(in.flying, &produce{part: p, epoch: own.epoch, entry: e, d: d})
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
	own := in.still(f.part, f.epoch)
	refused := class == purgatory.Rejected || class == purgatory.TooLarge && f.d.Bare
	switch {
	case class == purgatory.Delivered && own != nil:
		own.done[f.d.Offset] = true
	case refused && own != nil && !f.d.DeadLettered && !w.cfg.DeadLetters && w.cfg.OnInvalid == purgatory.Drop:
		own.done[f.d.Offset], f.entry.dropped = true, true
	case refused && own != nil && !f.d.DeadLettered && !w.cfg.DeadLetters && own.notices == 0:
		own.mayHalt = f.d.Offset
	}
	w.say("%s hears of %v: %s", in.member, f.entry, className(class))
	in.core.Outcomes(in.clock(), []purgatory.Result{{ID: f.d.ID, Class: class, Verdict: purgatory.Missing, Detail: "says the model"}})
	in.effects()
}

func className(c purgatory.Class) string {
	return [...]string{"delivered", "too large", "rejected", "target unavailable", "unknown", "no room"}[c]
}
