package sim

import (
	"layover/offsets"
	"layover/purgatory"
)

// turn is one turn of the lane's loop: the time, up to n records read, up to n offered.
func (in *instance) turn(n int) {
	in.tick()
	more := in.core.Tick(in.clock(), 4*n)
	in.observe()
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
	in.core.Journals().Cut(false)
	in.effects()
	if !more {
		in.punctual()
		in.caughtUp()
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
	want := reader.Wants(e.offset, e.epoch)
	wants := want == purgatory.Whole
	if own.newLeader(e); own.halted {
		if wants {
			w.fail("%v is wanted of a log that was truncated", e)
		}
		return w.err == nil
	}
	own.showed(in.clock().AnsweredMs)
	if e.offset >= own.read {
		for o := own.read; o < e.offset; o++ { // nothing is there, and never will be
			own.done[o] = true
		}
		own.read = e.offset
	}
	if should := e.offset >= own.read && !own.isDone(e.offset); wants != should {
		w.fail("%v is wanted: %v, want %v", e, wants, should)
		return false
	}
	if e.offset < own.read {
		return true
	}
	if !wants {
		return in.finishedBefore(reader, own, e, want)
	}
	return in.take(reader, own, e)
}

// unread shows the core a batch that is not read, of one record; false when its
// partition does not read any more.
func (in *instance) unread(reader purgatory.Reader, own *partition, e *entry) bool {
	ok := reader.Unread(&offsets.UnreadBatch{First: e.offset, Last: e.offset, Records: 1, LeaderEpoch: e.epoch, Message: "says the model"}, body(e.body))
	own.newLeader(e)
	if !own.halted && e.offset >= own.read {
		own.showed(in.clock().AnsweredMs)
	}
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
	valid := a.Control || own.judge(e, now)
	switch {
	case a.Control:
	case !valid:
		a.Reason, a.Message, a.Cancel = "malformed_delay", "says the model", e.cancel
	case e.passed:
		a.Outcome = purgatory.Passed
	case e.deadlineMs <= now:
		a.Outcome = purgatory.PastDue
	}
	if valid && e.commands() {
		own.shown[e.offset] = e
		a.ID, a.IDAt, a.Cancel, a.Copied = []byte(e.id), idAt, e.cancel, e.copied
	}
	a.Expires, a.ExpireMs = e.expires && valid, e.expireMs
	ok := reader.Read(&a)
	switch {
	case !ok:
		own.halted, own.mayHalt = true, e.offset
		if valid || e.cancel || in.w.cfg.OnInvalid != purgatory.Halt {
			in.w.fail("partition %d stops reading at %v", e.part, e)
		}
		return false
	case a.Control:
		own.done[e.offset] = true
	case !valid && !e.cancel && in.w.cfg.OnInvalid == purgatory.Drop, !valid && e.cancel && !in.w.cfg.DeadLetters:
		own.done[e.offset], e.dropped = true, true
	default:
		e.reads++
		e.readMs = in.w.nowMs
		in.pacer.read(e)
		own.held[e.offset] = e
		in.w.say("%s reads %v", in.member, e)
	}
	own.read = e.offset + 1
	if valid && e.commands() {
		in.command(own, e, false)
	}
	return in.w.err == nil
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
			in.hopped(own, o)
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
