package far

import (
	"testing"

	"layover/offsets"
)

// TestSmallRunsBecomeOne: where there are fewSmall, all are loaded and not one alone, or the next flush
// would make it the last of so many again.
func TestSmallRunsBecomeOne(t *testing.T) {
	const fewSmall = 64
	x := New(Beginning{Writer: 9, Window: offsets.NewWindow(0)})
	var all []Found
	add := func(writer uint64) {
		f := Found{Offset: int64(len(all)), DeadlineMs: 1000, Bytes: 10, Writer: writer}
		all = append(all, f)
		x.Read(f.Offset, f.Offset+1, []Found{f}, 0, 0, nil)
		x.Seal()
	}
	for n := range uint64(fewSmall - 1) {
		add(n)
	}
	if v, ok := x.Clean(Cleaning{1 << 30, 100, fewSmall}, nothing); ok {
		t.Fatalf("%+v is to be loaded of %d runs", v, len(all))
	}
	add(fewSmall)
	loaded := 0
	for ; ; loaded++ {
		v, ok := x.Clean(Cleaning{1 << 30, 100, fewSmall}, nothing)
		if !ok {
			break
		}
		if taken := x.Read(v.From, v.To, all[v.From:v.To], nothing-1, 1<<20, nil); len(taken) != 1 {
			t.Fatalf("%+v: taken are %v", v, taken)
		}
	}
	if loaded != fewSmall {
		t.Errorf("%d runs were loaded, want all %d", loaded, fewSmall)
	}
	add(fewSmall + 1)
	if v, ok := x.Clean(Cleaning{1 << 30, 100, fewSmall}, nothing); ok {
		t.Errorf("%+v is to be loaded, which is the only one", v)
	}
}
