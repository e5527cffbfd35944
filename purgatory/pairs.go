package purgatory

import "layover/offsets"

// pairs has the commands whose records are not finished yet. A restart has to find such a
// command, though it may be finished: a commit says from which offset on they count again.
type pairs struct {
	window *offsets.Window // the commands as unfinished, all between them as finished; nil: there is none
	end    int64           // one past the last one
	count  int
}

// open notes a command, behind all that were noted before; or one that is open already.
func (p *pairs) open(offset int64) {
	switch {
	case p.count == 0:
		p.window = offsets.NewWindow(offset)
	case offset < p.end:
		return
	default:
		p.window.FinishRange(p.end, offset)
	}
	p.end = offset + 1
	p.count++
}

// close notes that the record of a command is finished.
func (p *pairs) close(offset int64) {
	if p.count == 0 || offset >= p.end || !p.window.Finish(offset) {
		return
	}
	if p.count--; p.count == 0 {
		*p = pairs{}
	}
}

// oldest returns the first of them.
func (p *pairs) oldest() (offset int64, ok bool) {
	if p.count == 0 {
		return 0, false
	}
	return p.window.Low(), true
}

func (p *pairs) bytes() int64 {
	if p.window == nil {
		return 0
	}
	return p.window.Bytes()
}

// again returns the offset from which on commands count again after a restart with what is
// finished now, 0 for all of them. Nothing is said where no id waits: of a finished command
// nobody could tell then.
func (p *partition) again() int64 {
	if p.named == 0 {
		return 0
	}
	at := p.next
	if oldest, ok := p.pairs.oldest(); ok {
		at = min(at, oldest)
	}
	return at
}
