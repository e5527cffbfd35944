package far

import (
	"testing"

	"layover/offsets"
)

// TestSmallRunsBecomeOne: where there are 64, all are loaded and not one alone, or the next flush
// would make it the sixty-fourth again.
func TestSmallRunsBecomeOne(t *testing.T) {
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
	if v, ok := x.Clean(1<<30, 100, nothing); ok {
		t.Fatalf("%+v is to be loaded of %d runs", v, len(all))
	}
	add(100)
	loaded := 0
	for ; ; loaded++ {
		v, ok := x.Clean(1<<30, 100, nothing)
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
	add(101)
	if v, ok := x.Clean(1<<30, 100, nothing); ok {
		t.Errorf("%+v is to be loaded, which is the only one", v)
	}
}
