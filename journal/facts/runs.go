package facts

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// Run is the offsets from From (included) to To (not included).
type Run struct{ From, To int64 }

// runs is a list of runs in the order in which they finished, in a few bytes each. The
// last run is kept open, because offsets that finish in the order of the log extend it.
type runs struct {
	b     []byte // for each run: where it begins, from where the last one began; its length
	base  int64  // where the last run in b begins
	open  Run    // empty: none
	count int64  // offsets
}

func (r *runs) add(from, to int64) {
	r.count += to - from
	if from == r.open.To && r.open.From < r.open.To {
		r.open.To = to
		return
	}
	r.close()
	r.open = Run{from, to}
}

func (r *runs) close() {
	if r.open.From < r.open.To {
		r.b = binary.AppendVarint(r.b, r.open.From-r.base)
		r.b = binary.AppendUvarint(r.b, uint64(r.open.To-r.open.From))
		r.base, r.open = r.open.From, Run{}
	}
}

func (r *runs) reset() { *r = runs{b: r.b[:0]} }

// size is the bytes that the runs take.
func (r *runs) size() int { return len(r.b) }

// appendTo appends the first runs, most of them at most, as they were added.
func (r *runs) appendTo(out []Run, most int) []Run {
	at := int64(0)
	for b := r.b; len(b) > 0 && len(out) < most; {
		step, n := binary.Varint(b)
		length, m := binary.Uvarint(b[n:])
		at += step
		out = append(out, Run{at, at + int64(length)})
		b = b[n+m:]
	}
	if r.open.From < r.open.To && len(out) < most {
		out = append(out, r.open)
	}
	return out
}

// merge sorts runs, cuts off offsets that are not above low, and joins runs that touch.
// It works in place.
func merge(rs []Run, low int64) []Run {
	slices.SortFunc(rs, func(a, b Run) int { return cmp.Compare(a.From, b.From) })
	out := rs[:0]
	for _, r := range rs {
		r.From = max(r.From, low+1)
		switch last := len(out) - 1; {
		case r.From >= r.To:
		case last >= 0 && r.From <= out[last].To:
			out[last].To = max(out[last].To, r.To)
		default:
			out = append(out, r)
		}
	}
	return out
}

// each calls f with runs until it returns false.
func each(rs []Run) func(f func(from, to int64) bool) {
	return func(f func(from, to int64) bool) {
		for _, r := range rs {
			if !f(r.From, r.To) {
				return
			}
		}
	}
}

// beyond drops the offsets below offset from the front of runs.
func beyond(rs []Run, offset int64) []Run {
	for len(rs) > 0 && rs[0].To <= offset {
		rs = rs[1:]
	}
	if len(rs) > 0 {
		rs[0].From = max(rs[0].From, offset)
	}
	return rs
}

// tail makes runs an offsets.Set, which commit metadata is encoded from.
type tail struct {
	low   int64
	runs  []Run
	above int64
}

func (t *tail) Low() int64                       { return t.low }
func (t *tail) Above() int64                     { return t.above }
func (t *tail) Each(f func(from, to int64) bool) { each(t.runs)(f) }
