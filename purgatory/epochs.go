package purgatory

// epochs tells the leader epoch in which a record of ingress was written, of the offsets that were
// read in the latest 16 epochs. A copy carries it: whoever looks for its origin finds out whether
// the log was written anew there.
type epochs struct {
	begins [16]epochBegin // ascending by offset, the first n
	n      int
}

// epochBegin is the first offset that was read of a leader epoch.
type epochBegin struct {
	offset int64
	epoch  int32
}

// read notes that a record was read.
func (e *epochs) read(offset int64, epoch int32) {
	if e.n > 0 && e.begins[e.n-1].epoch == epoch && e.begins[e.n-1].offset <= offset {
		return
	}
	for e.n > 0 && e.begins[e.n-1].offset >= offset { // truncated, and written anew
		e.n--
	}
	if e.n == len(e.begins) {
		copy(e.begins[:], e.begins[1:])
		e.n--
	}
	e.begins[e.n] = epochBegin{offset, epoch}
	e.n++
}

// of returns the leader epoch of a record that was read, -1 where that is not known any more.
func (e *epochs) of(offset int64) int32 {
	for i := e.n - 1; i >= 0; i-- {
		if e.begins[i].offset <= offset {
			return e.begins[i].epoch
		}
	}
	return -1
}
