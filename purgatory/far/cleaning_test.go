package far

import (
	"testing"

	"layover/offsets"
)

// cleaned is an index whose runs have a copy of 10 bytes each, and what its log has.
type cleaned struct {
	*Index
	all []Found
	few int
}

func newCleaned(few int) *cleaned {
	return &cleaned{Index: New(Beginning{Writer: 9, Window: offsets.NewWindow(0)}), few: few}
}

// add appends a run that a writer has written.
func (x *cleaned) add(writer uint64) {
	f := Found{Offset: int64(len(x.all)), DeadlineMs: 1000, Bytes: 10, Writer: writer}
	x.all = append(x.all, f)
	x.Read(f.Offset, f.Offset+1, []Found{f}, 0, 0, nil)
	x.Seal()
}

// clean returns what is to be loaded now.
func (x *cleaned) clean() (v Visit, ok bool) {
	return x.Clean(Cleaning{1 << 30, 100, x.few}, nothing)
}

// load loads runs as long as some are to be, and there is room for so many. It returns how many.
func (x *cleaned) load(t *testing.T, room int) (n int) {
	t.Helper()
	for n < room {
		v, ok := x.clean()
		if !ok {
			break
		}
		taken := x.Read(v.From, v.To, x.all[v.From:v.To], nothing-1, int64(room-n)*10, nil)
		if n += len(taken); len(taken) == 0 {
			t.Fatalf("%+v: nothing is taken", v)
		}
	}
	return n
}

// TestSmallRunsBecomeOne: where there are fewSmall, all are loaded and not one alone, or the next flush
// would make it the last of so many again.
func TestSmallRunsBecomeOne(t *testing.T) {
	const fewSmall = 64
	x := newCleaned(fewSmall)
	for n := range uint64(fewSmall - 1) {
		x.add(n)
	}
	if v, ok := x.clean(); ok {
		t.Fatalf("%+v is to be loaded of %d runs", v, len(x.all))
	}
	x.add(fewSmall)
	if loaded := x.load(t, 2*fewSmall); loaded != fewSmall {
		t.Errorf("%d runs were loaded, want all %d", loaded, fewSmall)
	}
	x.add(fewSmall + 1)
	if v, ok := x.clean(); ok {
		t.Errorf("%+v is to be loaded, which is the only one", v)
	}
}

// TestWhatSmallRunsHaveBecomeWaits until there are so many small runs again: memory may hold a few of them at a time, so
// that what these become is small, too.
func TestWhatSmallRunsHaveBecomeWaits(t *testing.T) {
	const fewSmall, each = 64, 4
	x := newCleaned(fewSmall)
	for n := range uint64(fewSmall) {
		x.add(n)
	}
	loaded := 0
	for n := x.load(t, each); n > 0; n = x.load(t, each) { // and they are moved
		for i := range n {
			x.Finish(int64(loaded + i))
		}
		loaded += n
		x.add(fewSmall + uint64(loaded))
	}
	if _, runs := x.Waiting(); loaded != fewSmall || runs != fewSmall/each {
		t.Errorf("%d runs were loaded, and %d are left, want %d and %d", loaded, runs, fewSmall, fewSmall/each)
	}
}

// TestARunThatGrowsEndsWhereItIsToBeMovedAgain: one that was read through would grow until something of it is due.
func TestARunThatGrowsEndsWhereItIsToBeMovedAgain(t *testing.T) {
	x := newCleaned(1)
	for o := range int64(3) {
		x.all = append(x.all, Found{Offset: o, DeadlineMs: 1000 + o, Bytes: 10, Writer: 1})
	}
	x.Read(0, 3, x.all, 0, 0, nil)
	if v, ok := x.clean(); !ok || v.From != 0 || v.To != 3 {
		t.Errorf("%+v is to be loaded: %v, want the run that was read", v, ok)
	}
}
