package facts

import "layover/offsets"

// written is the acknowledged records of the journal that a restart needs, and the
// snapshot that will replace them.
type written struct {
	base   base     // the last complete snapshot
	facts  int64    // bytes of facts acknowledged since base
	to     int64    // journal offset of the last acknowledged record, -1: none
	sum    uint32   // its checksum
	low    int64    // highest low offset in an acknowledged record
	snap   snapshot // being written
	number uint64   // of the last snapshot that was begun
}

// snapshot is a snapshot that is being written.
type snapshot struct {
	active bool
	cut    bool  // its last part was cut
	next   int64 // first offset that was not cut yet
	from   int64 // journal offset of its first part, -1 before that is known
	bytes  int64
	facts  int64 // bytes of facts acknowledged meanwhile
	leave  bool  // the one after which the journal is left
}

// base is the last complete snapshot.
type base struct {
	ok    bool
	from  int64
	bytes int64
	leave bool
}

// begin starts a snapshot. leave: it is the one after which the journal is left.
func (w *written) begin(leave bool) {
	w.number++
	w.snap = snapshot{active: true, from: -1, leave: leave}
}

// acknowledged takes a record that stands at a journal offset, above w.to. It reports
// whether a snapshot is complete with it.
//
// Parts are acknowledged in their order, and a part that failed would have ended the
// snapshot: so the last part's acknowledgement completes it.
func (w *written) acknowledged(f *flight, offset int64) (complete bool) {
	w.to, w.sum, w.low = offset, f.sum, max(w.low, f.low)
	switch {
	case f.snap == 0:
		w.facts += int64(f.size)
		w.snap.facts += int64(f.size)
	case f.snap == w.number && w.snap.active:
		w.snap.bytes += int64(f.size)
		if w.snap.from < 0 {
			w.snap.from = offset
		}
		if f.last {
			w.base = base{ok: true, from: w.snap.from, bytes: w.snap.bytes, leave: w.snap.leave}
			w.facts, w.snap = w.snap.facts, snapshot{}
			return true
		}
	}
	return false
}

// restart drops everything: nothing counts as written until a snapshot is complete.
func (w *written) restart() {
	w.base, w.snap, w.facts, w.to, w.low = base{}, snapshot{}, 0, -1, 0
}

// forget drops the records that a commit might name: the set fits into metadata.
func (w *written) forget() { w.base, w.snap, w.facts, w.low = base{}, snapshot{}, 0, 0 }

// named returns the records of a topic that a commit names, its zero value without a base.
func (w *written) named(topic offsets.TopicID) offsets.JournalRange {
	if !w.base.ok {
		return offsets.JournalRange{}
	}
	return offsets.JournalRange{TopicID: topic, From: w.base.from, To: w.to, Sum: w.sum}
}

// live returns the bytes in the journal from the base on.
func (w *written) live() int64 { return w.base.bytes + w.facts }

// deletion is the state of deleting records, in one request at a time.
type deletion struct {
	done    int64 // everything below this journal offset is deleted
	running bool
	below   int64 // offset of the one that runs
	retryAt int64 // not before, in milliseconds of the owner's clock
}

// begin reports whether the records below are to be deleted now, and counts that as
// running.
func (d *deletion) begin(below, nowMs int64) bool {
	if below <= d.done || d.running || nowMs < d.retryAt {
		return false
	}
	d.running, d.below = true, below
	return true
}

// ended takes the answer to a deletion below an offset, and reports whether it succeeded.
// An answer that nobody waits for is about a topic that is gone.
func (d *deletion) ended(below int64, err error, nowMs int64) bool {
	if !d.running || below != d.below {
		return false
	}
	d.running = false
	if err != nil {
		d.retryAt = nowMs + deleteRetryMs
		return false
	}
	d.done = max(d.done, below)
	return true
}
