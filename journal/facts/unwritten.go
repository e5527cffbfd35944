package facts

// unwritten is the finished offsets that are in no record yet. A gap is a number of them
// that no fact will bring into the journal: only a snapshot closes it.
//
// Invariant: without a gap every finished offset is below the low offset, in an
// acknowledged record from the base on, in flight, or in fresh
// (sim.TestSimulationKeepsEveryPromise).
type unwritten struct {
	fresh  runs  // for the next facts
	passed int64 // offsets that the low offset has passed before a record had them: the next record's low offset tells them
	gap    bool
	lost   int64 // offsets that belong to the gap
	closes int64 // of lost, those that the snapshot being written brings into the journal
}

// note takes offsets that finished. With a gap and no snapshot being written they belong
// to the gap.
func (u *unwritten) note(from, to int64, snapshotRuns bool) {
	if u.gap && !snapshotRuns {
		u.lost += to - from
		return
	}
	u.fresh.add(from, to)
}

// widen makes the fresh offsets a part of the gap. The snapshot being written is given up.
func (u *unwritten) widen() {
	u.lost += u.fresh.count
	u.fresh.reset()
	u.gap, u.closes = true, 0
}

// restart makes all finished offsets above the low offset the gap.
func (u *unwritten) restart(above int64) {
	u.gap, u.lost, u.closes = true, above, 0
	u.fresh.reset()
}

// snapshotBegins takes note that a snapshot is begun, which brings the gap into the journal.
func (u *unwritten) snapshotBegins() {
	if u.gap {
		u.fresh.reset()
		u.closes = u.lost
	}
}

// snapshotEnds takes note that every part of the snapshot was acknowledged.
func (u *unwritten) snapshotEnds() {
	u.lost -= u.closes
	u.gap, u.closes = false, 0
}

// forget drops everything: the set fits into metadata.
func (u *unwritten) forget() { *u = unwritten{passed: u.passed} }

// take returns the fresh offsets above low, sorted, for facts, and keeps none of them.
func (u *unwritten) take(low int64) []Run {
	taken := merge(u.fresh.appendTo(nil, int(u.fresh.count)), low)
	u.passed += u.fresh.count
	for _, r := range taken {
		u.passed -= r.To - r.From
	}
	u.passed = max(u.passed, 0)
	u.fresh.reset()
	return taken
}

// cut returns how many offsets a record is the first to hold: those in its runs, and those
// that its low offset has passed.
func (u *unwritten) cut(inRuns int64) (first int64) {
	first, u.passed = u.passed+inRuns, 0
	return first
}

// count returns how many offsets there are.
func (u *unwritten) count() int64 { return u.lost + u.fresh.count + u.passed }

// flight is a record that was handed out and not answered.
type flight struct {
	seq   uint64
	size  int
	sum   uint32
	low   int64  // everything below is finished
	runs  runs   // of a fact
	first int64  // finished offsets that no record before it holds
	snap  uint64 // number of the snapshot that it is a part of, 0 for a fact
	last  bool   // it is the last part of its snapshot
}

// flights are the records in flight, in the order in which they were cut.
type flights struct {
	records []flight
	bytes   int
	seq     uint64 // of the last record that was cut
}

// add takes a record that is handed out, and returns it with its number.
func (f *flights) add(r flight, value []byte) Write {
	f.seq++
	r.seq, r.size = f.seq, len(value)
	r.runs.close()
	f.records = append(f.records, r)
	f.bytes += r.size
	return Write{r.seq, value}
}

// answered removes the record with this number. false: none is in flight that has it.
func (f *flights) answered(seq uint64) (flight, bool) {
	i := 0
	for i < len(f.records) && f.records[i].seq != seq {
		i++
	}
	if i == len(f.records) {
		return flight{}, false
	}
	r := f.records[i]
	f.records = append(f.records[:i], f.records[i+1:]...)
	if len(f.records) == 0 {
		f.records = nil
	}
	f.bytes -= r.size
	return r, true
}

// forget drops all: their answers do not count any more.
func (f *flights) forget() { f.records, f.bytes = nil, 0 }

// count returns how many finished offsets a record in flight holds, and no acknowledged one.
func (f *flights) count() (n int64) {
	for i := range f.records {
		n += f.records[i].first
	}
	return n
}

// memory returns the bytes that the records in flight hold, those of their runs included.
func (f *flights) memory() int {
	n := f.bytes
	for i := range f.records {
		n += cap(f.records[i].runs.b)
	}
	return n
}
