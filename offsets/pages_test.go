package offsets

import (
	"math/rand/v2"
	"testing"
)

// wantRuns compares the runs above low, from and to in turn.
func wantRuns(t *testing.T, what string, w *Window, want ...int64) {
	t.Helper()
	got := runsOf(w)
	same := len(got) == len(want)
	for i := range want {
		same = same && got[i] == want[i]
	}
	if !same {
		t.Errorf("%s: runs %v, want %v", what, got, want)
	}
}

// Pages without a hole have no bits, and those that touch are one span.
func TestFullPagesTakeNoBits(t *testing.T) {
	const page = int64(pageSize)
	for name, fill := range map[string]func(w *Window){
		"one by one": func(w *Window) {
			for _, i := range rand.Perm(int(3 * page)) {
				w.Finish(page + int64(i))
			}
		},
		"in halves": func(w *Window) {
			for at := page; at < 4*page; at += page / 2 {
				w.FinishRange(at, at+page/2)
			}
		},
		"from the top": func(w *Window) {
			for at := 3 * page; at >= page; at -= page {
				w.FinishRange(at, at+page)
			}
		},
		"the middle last": func(w *Window) {
			w.FinishRange(page, 2*page)
			w.FinishRange(3*page, 4*page)
			w.FinishRange(2*page, 3*page)
		},
	} {
		w := NewWindow(0)
		fill(w)
		wantRuns(t, name, w, page, 4*page)
		if len(w.spans) != 1 || w.pages != 0 {
			t.Errorf("%s: %d spans with bits in %d pages, want 1 with none", name, len(w.spans), w.pages)
		}
	}
}

func TestAHoleOfAPageBetweenFullPagesStaysOne(t *testing.T) {
	const page = int64(pageSize)
	w := NewWindow(0)
	w.FinishRange(page, 2*page)
	w.FinishRange(3*page, 4*page)
	w.FinishRange(6*page, 7*page)
	wantRuns(t, "from below", w, page, 2*page, 3*page, 4*page, 6*page, 7*page)

	w = NewWindow(0)
	w.FinishRange(6*page, 7*page)
	w.FinishRange(3*page, 4*page)
	w.FinishRange(page, 2*page)
	wantRuns(t, "from above", w, page, 2*page, 3*page, 4*page, 6*page, 7*page)
}

// A clip keeps what is below it, down to a page's first offset, and no page that has
// nothing left.
func TestAClipKeepsTheFirstOffsetOfItsPage(t *testing.T) {
	const page = int64(pageSize)
	for end, want := range map[int64][]int64{
		page:      {5, 6},
		page + 1:  {5, 6, page, page + 1},
		page + 9:  {5, 6, page, page + 1},
		page + 10: {5, 6, page, page + 1, page + 9, page + 10},
	} {
		w := NewWindow(0)
		for _, offset := range []int64{5, page, page + 9, page + 70} {
			w.Finish(offset)
		}
		w.ClipAbove(end)
		wantRuns(t, "clipped", w, want...)
		if w.Highest() != want[len(want)-1]-1 {
			t.Errorf("clipped to %d: the highest is %d", end, w.Highest())
		}
		for _, s := range w.spans {
			if s.page != nil && s.page.highest() < 0 {
				t.Errorf("clipped to %d: a page without a finished offset is kept", end)
			}
		}
	}
}

func TestWhatIsAskedBelowLowIsAnsweredFromLow(t *testing.T) {
	const page = int64(pageSize)
	w := NewWindow(0)
	low := 2*page + 100
	w.FinishRange(0, low)
	w.FinishRange(low+5, low+9)
	for _, from := range []int64{-1, 0, page, low - 1, low} {
		if got := w.NextUnfinished(from); got != low {
			t.Errorf("unfinished from %d on is %d, want %d", from, got, low)
		}
		var runs []int64
		w.EachFrom(from, func(from, to int64) bool { runs = append(runs, from, to); return true })
		if len(runs) != 2 || runs[0] != low+5 || runs[1] != low+9 {
			t.Errorf("runs from %d on are %v, want %d to %d", from, runs, low+5, low+9)
		}
	}
}
