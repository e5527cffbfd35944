package sim

// onTime holds a world of BesideRuns to the deadlines of healthy records, of any partition.
//
// These are all the excuses. Each ends at a moment that is known, and lateMs count from there:
//
//   - Nobody had read the record, or its partition was not owned, or no commit of it was accepted.
//   - The runs partition did not answer visits, or hid the copy, or had it in a batch that nobody can read.
//   - Nobody had begun with the runs, as with each assignment, and with each log that was cut or made again.
//
// Memory that reading pauses for is no excuse: of what cannot leave, no more than a quarter is written, see burden. Nor
// is a silent partition, once the ten seconds are over in which others wait for it.
type onTime struct {
	ownedMs int64 // when partition 0 was last delivered from, or given up
	begunMs int64 // when its runs were last begun with
	movedMs int64 // when a record of partition 0 was last moved, or there was nothing to move
	moved   int64 // copies in the runs of partition 0
}

const (
	// silentMs is how long a flush, or a revoke, may wait for a runs partition that does not answer or takes nothing.
	silentMs = 10_000
	// unmovedMs is how long nothing of partition 0 may be moved while memory is nearly full. A flush may wait for each
	// of two sick partitions.
	unmovedMs = 2*silentMs + lateMs
)

// judge looks at all of them.
func (t *onTime) judge(b *besideRuns, in *instance) {
	for p, own := range in.partitions {
		accepted := own != nil && own.accepted
		if p == 0 && (accepted || own != nil && own.revoking) {
			t.ownedMs = b.nowMs
		}
		if !accepted || own.revoking {
			continue
		}
		t.inMemory(b, own)
		if own.opening == nil && own.loading == nil {
			t.inRuns(b, own, b.runs.logs[p])
		}
	}
	if t.ownedMs > 0 && b.nowMs-t.ownedMs > lateMs {
		b.fail("LATE: partition 0 is not delivered from beside sick ones")
	}
	t.goesOn(b, in)
}

// inMemory holds the records in memory to their deadlines.
func (t *onTime) inMemory(b *besideRuns, own *partition) {
	for o := own.low; o < own.read; o++ {
		e := own.held[o]
		if e == nil || e.target != egress || e.written > 0 || own.isDone(o) {
			continue
		}
		if late := b.nowMs - max(e.deadlineMs, e.readMs, own.acceptedMs); late > lateMs {
			b.fail("LATE: %v for a healthy target waits %d ms after its deadline beside sick ones", e, late)
		}
	}
	for _, c := range own.loaded {
		if c.entry.target != egress || c.entry.written > 0 {
			continue
		}
		if late := b.nowMs - max(c.entry.deadlineMs, c.atMs, own.acceptedMs); late > lateMs {
			b.fail("LATE: the copy of %v at %d is in memory, and waits %d ms after its deadline beside sick ones", c.entry, c.copyAt, late)
		}
	}
}

// inRuns holds the copies that can be read to their deadlines.
func (t *onTime) inRuns(b *besideRuns, own *partition, log *runsLog) {
	for o := log.start; o < log.end(); o++ {
		e := log.entries[o].entry
		if e == nil || e.target != egress || e.finished() || e.deadlineMs > b.nowMs-lateMs || own.index.Finished(o) {
			continue // finished without an outcome: it was moved again
		}
		since, never := log.readableMs(o)
		if never {
			continue
		}
		if late := b.nowMs - max(e.deadlineMs, since, own.begunMs, own.acceptedMs); late > lateMs {
			b.fail("LATE: the copy of %v at %d waits %d ms after its deadline, and can be read", e, o, late)
			return
		}
	}
}

// goesOn holds partition 0 to being read and moved.
func (t *onTime) goesOn(b *besideRuns, in *instance) {
	own, log := in.partitions[0], b.logs[0]
	if own == nil || own.revoking {
		t.movedMs = b.nowMs
		return
	}
	if own.read < log.end()-1 && b.nowMs-max(own.acceptedMs, log.entries[own.read].atMs) > lateMs {
		b.fail("LATE: partition 0 is read up to %d of %d, with %d of %d bytes in use, %d of sick ones", own.read, log.end(), b.used(), b.share, b.burden())
	}
	if own.opening == nil {
		t.begunMs = b.nowMs
	} else if b.nowMs-max(own.acceptedMs, t.begunMs) > lateMs {
		b.fail("LATE: nobody begins with the runs of partition 0")
	}
	if n := int64(len(b.runs.logs[0].places)); n != t.moved || !b.mayMove(own) || b.used() <= b.share*3/4 {
		t.moved, t.movedMs = n, b.nowMs
	}
	if late := b.nowMs - t.movedMs; late > unmovedMs {
		b.fail("LATE: nothing of partition 0 is moved for %d ms, with %d of %d bytes in use", late, b.used(), b.share)
	}
}

// mayMove says whether partition 0 has something that is far off.
func (b *besideRuns) mayMove(own *partition) bool {
	for o, e := range own.held {
		if !own.isDone(o) && e.deadlineMs > b.nowMs+horizonMs+lateMs {
			return true
		}
	}
	return false
}

// drains holds a partition that is being given up to waiting for nothing in vain. It must not wait for copies to a
// runs partition that had not answered for over silentMs when that began.
func (t *onTime) drains(b *besideRuns, in *instance, r *revoking) {
	for _, f := range in.flying {
		if f.part == r.part {
			return
		}
	}
	log, sinceMs := b.runs.logs[r.part], b.nowMs
	for _, c := range in.copies {
		if c.part == r.part && c.listing == nil && in.still(c.part, c.epoch) != nil {
			sinceMs = min(sinceMs, c.sentMs)
		}
	}
	if !log.ails.answersCopies() && r.sinceMs-max(log.sinceMs, sinceMs) > silentMs+1000 {
		b.fail("LATE: partition %d is not given up, as copies are in flight to a runs partition that is silent", r.part)
	}
}
