package purgatory

// refusals is what a target partition keeps of its refusals. A broker refuses a batch for one of its records. The client
// fails with it all that is in flight to the partition, which is a wave. Which record it was, nobody tells.
//
// So a refused wave is sent again, in waves of half its size, down to one record that goes alone. A record that is
// refused then is refused for itself. Each wave's worth of deliveries doubles the next. One record in n costs log2 n
// refusals.
type refusals struct {
	limit int // records that it may have in flight; 0: as many as others
	good  int // deliveries since the limit was set
	wave  int // of what is put in flight now
	// Of the monotonic clock: the last refusal, and the one since which each found the target's share of memory full.
	lastMs, fullMs int64
	hurried        bool // what is put in flight now ends where its wave is refused
}

// hurryAfterMs is how long what waits behind refusals may take more than the target's share of memory, in milliseconds.
// Then they are why it waits: many records that are due at once are gone by then. It also ends that span where it is
// between two refusals.
const hurryAfterMs = 10_000

// took notes a delivery.
func (w *refusals) took(most int) {
	if w.limit == 0 {
		return
	}
	if w.good++; w.good < w.limit {
		return
	}
	if w.limit, w.good = 2*w.limit, 0; w.limit >= most {
		*w = refusals{wave: w.wave}
	}
}

// refuses notes that a wave of so many records is refused.
func (w *refusals) refuses(n, most int, full bool, nowMs int64) {
	if !full || !w.recent(nowMs) {
		w.fullMs = nowMs
	}
	w.wave++
	w.good, w.lastMs = 0, nowMs
	if w.hurried = nowMs-w.fullMs >= hurryAfterMs; w.hurried {
		w.limit = min(2*max(w.limit, n), most)
		return
	}
	w.limit = max(n/2, 1)
}

// recent reports whether the last refusal was not long ago. What waits long after it waits for another reason.
func (w *refusals) recent(nowMs int64) bool { return w.lastMs != 0 && nowMs-w.lastMs <= hurryAfterMs }

// hurries reports whether what is put in flight now ends where its wave is refused.
func (w *refusals) hurries(nowMs int64) bool { return w.hurried && w.recent(nowMs) }

// rejected takes back a record that its target has refused, alone or with its wave.
func (o *outbox) rejected(f *flight, r *Result) {
	e, d, t := f.entry, f.dest, f.dest.target
	if t != o.dir.dead {
		o.holds.works(t, &e, f.trial)
	}
	if f.wave == d.wave && (e.try == together || d.limit > 0) {
		full := t != o.dir.dead && o.shares.full(t, o.cfg.HeldShare, o.now.MonotonicMs)
		d.refuses(d.inFlight+1, o.cfg.MaxInFlight, full, o.now.MonotonicMs)
	}
	switch {
	case e.try == together && o.unknown(e): // the answer may be about another of its wave
		e.try = alone
		e.from.due++
		o.store.exempt(e.loc)
		o.waitAgain(e, d)
	case e.try != together || f.hurried:
		o.refused(f, reasonRejected, r)
	case !o.withdraw(e):
		e.from.due++
		o.waitAgain(e, d)
	}
}

// rejected returns the bytes of what waits for partitions that have refused records not long ago, and is not held.
func (t *target) rejected(nowMs int64) (bytes int64) {
	if t.hold.held {
		return 0
	}
	limited := false
	for _, d := range t.dests {
		if d.limit > 0 && d.recent(nowMs) {
			limited = true
			if !d.stalled {
				bytes += d.overflow.bytes
			}
		}
	}
	if limited {
		bytes += t.queue.bytes
	}
	return bytes
}
