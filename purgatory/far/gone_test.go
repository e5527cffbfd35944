package far

import (
	"slices"
	"testing"

	"layover/journal/runs"
	"layover/offsets"
)

// compact takes copies out of the middle of the log, as somebody has set: what is in memory is delivered all the same.
func (w *world) compact() {
	if w.dice.IntN(3) > 0 || len(w.log) == int(w.start) {
		return
	}
	from := w.start + w.dice.Int64N(int64(len(w.log))-w.start)
	for _, r := range w.log[from:min(from+w.dice.Int64N(8), int64(len(w.log)))] {
		if !r.copied || w.parked[r.Offset] || slices.Contains(w.acks, r) {
			continue
		}
		w.taken++
		open := !r.done && r.Offset < w.x.Known() && !w.x.taken.Finished(r.Offset)
		r.copied = false
		if across := w.x.across(r.Offset, r.Offset+1); open && !slices.ContainsFunc(across, func(e *entry) bool { return e.listed }) {
			before := w.missed
			w.read(r.Offset, r.Offset+1, w.nowMs, 1)
			if w.missed != before+1 {
				w.t.Fatalf("the copy at %d is gone, and %d are missed", r.Offset, w.missed-before)
			}
		}
	}
}

// TestACopyThatIsGoneFromTheMiddleOfItsLogIsMissed, where it was one for certain: the offset was not found, and nothing
// else may have stood there.
func TestACopyThatIsGoneFromTheMiddleOfItsLogIsMissed(t *testing.T) {
	copyAt := func(offset, deadlineMs int64) Found {
		return Found{Offset: offset, DeadlineMs: deadlineMs, Bytes: 1, Writer: 7, Run: 1}
	}
	four := []Found{copyAt(0, 100), copyAt(1, 200), copyAt(2, 300), copyAt(3, 400)}
	listing := func(copies ...Found) *runs.Directory {
		r, err := runs.NewRun(7, 1, int64(len(copies)), 4, func(i int64) (int64, int64) { return copies[i].Offset, copies[i].DeadlineMs })
		if err != nil {
			t.Fatal(err)
		}
		return &runs.Directory{End: 4, Runs: []runs.Run{r}}
	}
	for what, c := range map[string]struct {
		said   Said
		dir    *runs.Directory
		read   []Found // at first; nothing of it is due
		before func(x *Index)
		want   int64
	}{
		"it was read":                        {read: four, want: 1},
		"it was read, and its run has ended": {read: four, before: (*Index).Seal, want: 1},
		"it was acknowledged": {before: func(x *Index) {
			for _, f := range four {
				x.Acked(f)
			}
		}, want: 1},
		"it is finished":  {read: four, before: func(x *Index) { x.Finish(1) }},
		"it is in memory": {read: four, before: func(x *Index) { x.Carry(1) }},
		"it is damaged, and counted for that": {read: four, before: func(x *Index) {
			x.Damaged(1)
			x.Damaged(1)
		}, want: 1},
		"it is in memory, and damaged": {read: four, before: func(x *Index) {
			x.Carry(1)
			x.Damaged(1)
		}},
		"it is never due":                                         {read: []Found{four[0], copyAt(1, nothing), copyAt(2, nothing), four[3]}},
		"it is among such":                                        {read: []Found{copyAt(0, nothing), four[1], copyAt(2, nothing), four[3]}, before: (*Index).Seal},
		"it was no copy":                                          {read: []Found{four[0], four[2], four[3]}},
		"a directory has listed it":                               {dir: listing(four...), want: 1},
		"and may list no copy":                                    {dir: listing(four[0], four[2], four[3])},
		"and the last commit calls it finished, perhaps":          {dir: listing(four...), said: Said{Known: 4, DueMs: 250}},
		"and the last commit cannot":                              {dir: listing(four...), said: Said{Known: 4, DueMs: 150}, want: 1},
		"a run that a directory lists is across one that is read": {dir: listing(four[0], four[3]), before: func(x *Index) { x.grow(four[1]); x.Seal() }},
	} {
		t.Run(what, func(t *testing.T) {
			x := New(Beginning{Writer: 9, Window: offsets.NewWindow(0), Said: c.said})
			if c.dir != nil {
				x.Adopt(c.dir, 4)
			}
			if x.Log(offsets.Bounds{End: 4}); c.read != nil {
				x.Read(0, 4, c.read, 0, 100, nil)
			}
			if c.before != nil {
				c.before(x)
			}
			for range 2 { // it is missed once
				x.Read(0, 4, []Found{four[0], four[2], four[3]}, 0, 100, nil)
			}
			if n := x.Lost(); n != c.want {
				t.Errorf("%d are missed, want %d", n, c.want)
			}
			if holds := x.Holds(1); !holds && !x.Finished(1) {
				t.Error("the offset is open")
			}
		})
	}
}
