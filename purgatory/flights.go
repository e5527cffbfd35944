package purgatory

// flights has the records in flight, and says how many more there may be.
type flights struct {
	cfg   *Config
	store *store
	list  []flight // by id
	free  []int32  // ids in list that are not used

	count       int
	bytes       int64 // without stuck records
	stuck       int   // of count, to target partitions that do not answer
	stuckBytes  int64 // of those
	fairRecords int   // records that one target may have in flight, at least 1
	fairBytes   int64 // the same in bytes
	fullMs      int64 // monotonic clock of the last record for which the client had no room; 0: none
}

// flight is one record in flight, by its id.
type flight struct {
	entry       entry
	dest        *dest
	sinceMs     int64 // wall clock when it was given to the producer
	monotonicMs int64 // the same by the clock that no step moves
	busy        bool
	trial       bool
	hurried     bool
	retry       bool // its partition, or with a trial the record, failed before
	wave        int  // of its partition
}

// flightSize is the accounted size of a record in flight, in bytes.
const flightSize = 96

// memory is the size of the list, in bytes.
func (f *flights) memory() int64 { return int64(cap(f.list)) * flightSize }

// start puts a record in flight and returns its id.
func (f *flights) start(fl flight, now Clock) (id int32) {
	fl.busy, fl.sinceMs, fl.monotonicMs = true, now.WallMs, now.MonotonicMs
	id = int32(len(f.list))
	if n := len(f.free); n > 0 {
		id, f.free = f.free[n-1], f.free[:n-1]
	} else {
		f.list = append(f.list, flight{})
	}
	d, e := fl.dest, &fl.entry
	fl.wave, fl.hurried, fl.retry = d.wave, d.hurries(now.MonotonicMs), d.fails() || fl.trial && d.target.hold.sick(d, e)
	f.list[id] = fl
	if d.inFlight == 0 {
		d.proven = d.proven && now.AnsweredMs-d.answeredMs < stuckMs
		d.answeredMs = now.AnsweredMs
	}
	d.inFlight++
	d.bytes += int64(e.size)
	if e.try != together {
		d.alone++
	}
	d.target.inFlight++
	f.count++
	f.occupy(d.target, 1, int64(e.size))
	e.from.due--
	e.from.inFlight++
	f.store.fly(e.loc)
	return id
}

// trim gives the list back where nothing is in flight.
func (f *flights) trim() {
	if f.count == 0 {
		f.list, f.free = nil, nil
	}
}

// land takes a record out of flight; ok is false when none has that id.
func (f *flights) land(id int32) (fl flight, ok bool) {
	if int(id) >= len(f.list) || !f.list[id].busy {
		return flight{}, false
	}
	fl = f.list[id]
	f.list[id] = flight{}
	f.free = append(f.free, id)
	d, e := fl.dest, &fl.entry
	d.inFlight--
	d.bytes -= int64(e.size)
	if e.try != together {
		d.alone--
	}
	d.target.inFlight--
	f.count--
	if d.stuck {
		f.stuck--
		f.stuckBytes -= int64(e.size)
	} else {
		f.occupy(d.target, -1, -int64(e.size))
	}
	e.from.inFlight--
	f.store.land(e.loc)
	return fl, true
}

// draining counts the records in flight of a revoked source that may be answered soon.
func (f *flights) draining(s *source) (n int) {
	for i := range f.list {
		if fl := &f.list[i]; fl.busy && fl.entry.from == s && s.revokedMs-fl.dest.answeredMs < stuckMs {
			n++
		}
	}
	return n
}

// maxBuffered is Config.MaxBuffered where none is given.
const maxBuffered = 1 << 16

// roomShare divides the room beside stuck records: one part of so many may be in flight to
// partitions that answer. If all of it gets stuck at once, the other parts are left: the
// room shrinks, and never ends.
const roomShare = 4

// room returns how many more records may be put in flight, negative for none.
//
// Stuck records stay with the producer, which alone may send them again, and so keep
// their places in the client's buffer. Invariant: stuck records and those in flight
// beside them are at most Config.MaxBuffered, which
// TestWhatIsStuckAndWhatIsInFlightFitsTheBuffer checks.
func (f *flights) room() int { return (f.cfg.MaxBuffered-f.stuck)/roomShare - f.occupying() }

// occupying returns how many records are in flight to partitions that answer.
func (f *flights) occupying() int { return f.count - f.stuck }

// byteRoom is room in bytes, of roomShare times MaxInFlightBytes. One record goes whatever
// its size, so each silent partition may add one. Three quarters are left however much is
// stuck: the bytes are in the store anyway, and the client bounds records alone.
func (f *flights) byteRoom() int64 {
	limit := f.cfg.MaxInFlightBytes
	return max(limit-f.stuckBytes/roomShare, limit-limit/roomShare) - f.bytes
}

// divide gives the targets that have something to offer equal shares of the room. A
// target that answers waits for silent ones once, until they are stuck. In the room
// left then its share is its own, however many silent ones there are.
func (f *flights) divide(busy []*target) {
	n := 0
	for _, t := range busy {
		if !t.hold.held {
			n++
		}
	}
	n = max(n, 1)
	f.fairRecords = max((f.room()+f.occupying())/n, 1)
	f.fairBytes = max((f.byteRoom()+f.bytes)/int64(n), 1)
}

// fair says whether a target may have one more record in flight.
func (f *flights) fair(t *target) bool {
	return t.occupying < f.fairRecords && t.occupyingBytes < f.fairBytes && (f.occupying() == 0 || f.byteRoom() > 0)
}

// wary says whether so much is stuck that a partition has to answer one record before
// it gets a second. Each silent partition that is met from then on costs one record.
func (f *flights) wary() bool {
	return f.stuck >= f.cfg.MaxBuffered/roomShare || f.stuckBytes >= f.cfg.MaxInFlightBytes
}

// takes reports whether a target partition takes one more record. Its bounds in records
// and in bytes keep one partition without a leader from filling the room of all. Records
// that must be alone go one at a time.
func (f *flights) takes(d *dest, e *entry) bool {
	switch {
	case d.stuck:
		return false
	case f.occupying() == 0:
		return true
	case f.byteRoom() <= 0:
		return false
	case d.inFlight == 0:
		return true
	case !d.proven && f.wary():
		return false
	case e.try != together:
		return d.alone == 0
	}
	return f.allows(d) && d.bytes+int64(e.size) <= f.cfg.MaxInFlightBytes/4
}

// allows reports whether a target partition may have one more record in flight by its number.
// More than Config.MaxInFlight is for those that answer fast, and for half of the room. If
// their brokers fall silent, the other half is left for all.
func (f *flights) allows(d *dest) bool {
	if d.limit > 0 && d.inFlight >= d.limit {
		return false
	}
	return d.inFlight < f.cfg.MaxInFlight || d.inFlight < d.allowance.records && f.occupying() < f.room()
}

// stick counts a partition's records in flight as stuck.
func (f *flights) stick(d *dest) {
	d.stuck = true
	f.stuck += d.inFlight
	f.stuckBytes += d.bytes
	f.occupy(d.target, -d.inFlight, -d.bytes)
}

// unstick lets a stuck partition have records again, once its records in flight fit
// beside those of the others.
func (f *flights) unstick(d *dest) {
	if d.inFlight > 0 && (f.room()+d.inFlight/roomShare < d.inFlight || f.byteRoom()+d.bytes/roomShare < d.bytes) {
		return
	}
	d.stuck = false
	f.stuck -= d.inFlight
	f.stuckBytes -= d.bytes
	f.occupy(d.target, d.inFlight, d.bytes)
}

// answered notes that a partition gave some answer.
func (f *flights) answered(d *dest, now *Clock) {
	d.answeredMs, d.proven = now.AnsweredMs, true
	d.allowance.answered(now.MonotonicMs)
	if d.stuck {
		f.unstick(d)
	}
}

// occupy counts records in flight to a partition that answers.
func (f *flights) occupy(t *target, records int, bytes int64) {
	t.occupying += records
	t.occupyingBytes += bytes
	f.bytes += bytes
}

// fullPauseMs is how long nothing is offered after the client had no room.
const fullPauseMs = 100

// full says whether the client lately had no room. Nothing but its own answers makes
// some, and without a pause the loop would ask it without end.
func (f *flights) full(monotonicMs int64) bool {
	return f.fullMs > 0 && monotonicMs-f.fullMs < fullPauseMs
}
