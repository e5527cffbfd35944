package purgatory

import (
	"cmp"
	"slices"
	"strings"
	"testing"
)

// unanswered has a record on its way to the runs topic that is due in so many ms.
func unanswered(t *testing.T, inMs int64) (w *ways, move Move) {
	t.Helper()
	w = newWays(t, 1)
	w.mustTake(0, 1, inMs, 0)
	w.Runs().Gather(0, 1<<20, 100)
	moves := w.Runs().Offer(nil, 9)
	if len(moves) != 1 {
		t.Fatalf("%d moves", len(moves))
	}
	return w, moves[0]
}

// TestACopyWithoutAnAnswerHoldsNothingUp: its record is delivered when it is due. A copy that turns out to be there
// afterwards has its outcome, and the bytes that the client read are given back.
func TestACopyWithoutAnAnswerHoldsNothingUp(t *testing.T) {
	for name, acked := range map[string]bool{"it is there": true, "it is not": false} {
		t.Run(name, func(t *testing.T) {
			w, move := unanswered(t, 300_000)
			body := string(move.Body)
			w.pass(300_000 - giveUpMs - 1)
			if w.Runs().Offer(nil, 9); w.stats.Gathered != 1 {
				t.Fatal("it is given up too early")
			}
			w.pass(giveUpEveryMs)
			if w.Runs().Offer(nil, 9); w.stats.Gathered != 0 || w.stats.Parked != 1 {
				t.Fatalf("%d gathered, %d parked", w.stats.Gathered, w.stats.Parked)
			}
			w.audit()
			w.pass(giveUpMs)
			got := w.offer()
			w.want(got, 0)
			w.Outcomes(w.at, []Result{{ID: got[0].ID, Class: Delivered}})
			w.audit()
			if string(move.Body) != body {
				t.Errorf("the client reads %q, want %q", move.Body, body)
			}
			w.Runs().Moved(w.at, []Answer{{ID: move.ID, Acked: acked, Bytes: 9}})
			w.audit()
			if w.index.Finished(0) != acked || w.store.live != 0 || len(w.store.retained) != 0 {
				t.Errorf("finished %t, %d records live, %d retained", w.index.Finished(0), w.store.live, len(w.store.retained))
			}
		})
	}
}

// TestACopyThatIsAnsweredWhileItsRecordWaitsCountsAsWell: nobody knows whether the record will have an outcome.
func TestACopyThatIsAnsweredWhileItsRecordWaitsCountsAsWell(t *testing.T) {
	w, move := unanswered(t, 300_000)
	w.pass(300_000 - giveUpMs)
	w.Runs().Offer(nil, 9)
	w.Runs().Moved(w.at, []Answer{{ID: move.ID, Acked: true, Bytes: 9}})
	if w.audit(); w.index.Finished(0) || w.stats.Parked != 1 || w.stats.Moved != 0 {
		t.Errorf("finished %t, %d parked, %d moved", w.index.Finished(0), w.stats.Parked, w.stats.Moved)
	}
}

// TestAnAssignmentEndsWithACopyThatIsNotAnswered, and what is left of it goes with the answer.
func TestAnAssignmentEndsWithACopyThatIsNotAnswered(t *testing.T) {
	w, move := unanswered(t, 300_000)
	w.pass(300_000 - giveUpMs)
	w.Runs().Offer(nil, 9)
	w.Revoke(partitionOf(0), w.epoch)
	w.Sweep(w.a())
	w.audit()
	if w.store.live != 1 {
		t.Errorf("%d records live, want the one that the client reads", w.store.live)
	}
	w.Runs().Moved(w.at, []Answer{{ID: move.ID}})
	if w.audit(); w.store.live != 0 || len(w.store.retained) != 0 {
		t.Errorf("%d records live, %d retained", w.store.live, len(w.store.retained))
	}
}

// TestARecordThatWasParkedAgainCountsOnce: among those in memory, though its copy is not answered.
func TestARecordThatWasParkedAgainCountsOnce(t *testing.T) {
	w, _ := unanswered(t, 300_000)
	most := len(Horizons) - 1
	if o := w.Runs().outlook(); o.DueWithin[most] != 1 || o.NextDueMs == 0 || o.Partitions[0].FurthestMs == 0 {
		t.Errorf("on its way it is not looked forward to: %+v", o)
	}
	w.pass(300_000 - giveUpMs)
	w.Runs().Offer(nil, 9)
	if o := w.Runs().outlook(); o.DueWithin[most] != 0 || o.NextDueMs != 0 || o.Partitions[0].FurthestMs != 0 {
		t.Errorf("parked again, it counts as on its way: %+v", o)
	}
	w.audit()
}

// TestWhatIsNearlyDueIsGivenUpInALongPass: through ten million records it takes seconds, and nothing is offered
// before its end.
func TestWhatIsNearlyDueIsGivenUpInALongPass(t *testing.T) {
	for what, pass := range map[string]func(r *Runs){
		"gathering for memory":             func(r *Runs) { r.Gather(0, 1, 1) },
		"gathering for what ingress keeps": func(r *Runs) { r.GatherKept(0, 0, 1) },
		"carrying together":                func(r *Runs) { r.SqueezeOn(1) },
	} {
		t.Run(what, func(t *testing.T) {
			w := movable(t, 0)
			w.mustTake(0, 1, 100_000, 0)
			w.Runs().Gather(0, 1<<40, 1<<20)
			w.mustTake(0, 1, 7_200_000, 1, 2, 3)
			if n := len(w.Runs().Offer(nil, 10)); n != 1 {
				t.Fatalf("%d copies are on their way, want 1", n)
			}
			w.pass(98_000)
			pass(w.Runs())
			w.audit()
			w.pass(2000)
			if n := len(w.offer()); n != 1 {
				t.Errorf("%d records are delivered when they are due, want the one whose copy nobody answers", n)
			}
		})
	}
}

// taker returns what takes one record after the other, of a size, that is due in two hours.
func (w *ways) taker() func(size int) {
	offset := int64(0)
	return func(size int) {
		a := w.arrivalOfSize(offset, size)
		a.ID, a.DeadlineMs = nil, w.at.WallMs+7_200_000
		w.take(0, 1, a)
		offset++
	}
}

// TestACopyThatIsTooLargeHoldsUpNoOther, however large those are, and is tried again after tooLargeMs. It does not
// count as movable until then.
func TestACopyThatIsTooLargeHoldsUpNoOther(t *testing.T) {
	w := newWays(t, 1)
	take := w.taker()
	moves := func(want ...int64) (got []Move) {
		t.Helper()
		w.Runs().FromFarthest()
		w.Runs().Gather(0, 1<<40, 1<<20)
		got = w.Runs().Offer(nil, 9)
		slices.SortFunc(got, func(a, b Move) int { return cmp.Compare(a.Offset, b.Offset) })
		if !slices.EqualFunc(got, want, func(m Move, offset int64) bool { return m.Offset == offset }) {
			t.Errorf("moved are %d, want those at %v", len(got), want)
		}
		return got
	}
	answer := func(all []Move, a Answer) {
		for _, m := range all {
			a.ID = m.ID
			w.Runs().Moved(w.at, []Answer{a})
			a.Offset++
		}
	}
	take(2000)
	take(100)
	first := moves(0, 1)
	answer(first[:1], Answer{TooLarge: true})
	answer(first[1:], Answer{Acked: true, Bytes: 9})
	if n := w.Runs().MovableBytes(); n != 0 {
		t.Errorf("%d bytes are movable", n)
	}
	take(1500)
	take(3000)
	answer(moves(2, 3), Answer{Acked: true, Offset: 1, Bytes: 9})
	w.pass(tooLargeMs / 2)
	take(1000)
	answer(moves(4), Answer{TooLarge: true})
	w.audit()
	w.pass(tooLargeMs/2 - 1)
	moves()
	w.pass(1)
	if n := w.Runs().MovableBytes(); n < 3000 {
		t.Errorf("%d bytes are movable after all", n)
	}
	again := moves(0, 4)
	answer(again[:1], Answer{TooLarge: true})
	answer(again[1:], Answer{Acked: true, Offset: 3, Bytes: 9})
	moves()
	w.audit()
}

// TestOfLargeCopiesTwoOfAPartitionAreInFlight: the client sends them one by one. The rest stays gathered, which a
// revoke gives up at once. Another partition has its own two, and small records have the room that large ones leave.
func TestOfLargeCopiesTwoOfAPartitionAreInFlight(t *testing.T) {
	h := newHush(t, 100)
	h.begin(0, 0)
	h.begin(1, 0)
	for no := range int32(2) {
		for i := range int64(5) {
			h.take(no, 1, h.arrival(i, 30*24*3_600_000+i, "0 "+strings.Repeat("x", AloneBytes)))
		}
	}
	h.mustTake(1, 1, 30*24*3_600_000, 5, 6, 7)
	moves := h.flush(2)
	if h.audit(); len(moves) != 2+3+2 {
		t.Fatalf("%d copies are in flight, want two large ones of each partition and three small ones", len(moves))
	}
	h.answer(moves[0])
	if more := h.flush(2); len(more) != 1 || more[0].Partition != moves[0].Partition {
		t.Errorf("an answer has %v sent, want one more of its partition", more)
	}
	h.audit()
	h.Revoke(partitionOf(0), 1)
	if n := h.Draining(partitionOf(0), 1); n != 2 || len(h.Runs().Offer(nil, 9)) != 0 {
		t.Errorf("a revoke waits for %d copies", n)
	}
}

// TestWhatIsTooLargeAndUnansweredTakesNothingFromWhatIsMovable: two records were too large and are tried again. One
// is refused, for the other there is no answer. MovableBytes returns "the bytes of records that may be moved,
// however soon they are due, without those on their way".
func TestWhatIsTooLargeAndUnansweredTakesNothingFromWhatIsMovable(t *testing.T) {
	for name, again := range map[string]bool{"the first time": false, "tried again": true} {
		t.Run(name, func(t *testing.T) {
			w := newWays(t, 1)
			take := w.taker()
			moves := func() []Move {
				w.Runs().FromFarthest()
				w.Runs().Gather(0, 1<<40, 1<<20)
				return w.Runs().Offer(nil, 9)
			}
			take(2000)
			take(20_000)
			all := moves()
			if again {
				for _, m := range all {
					w.Runs().Moved(w.at, []Answer{{ID: m.ID, TooLarge: true}})
				}
				w.pass(tooLargeMs)
				all = moves()
			}
			for _, m := range all {
				if m.Offset == 0 {
					w.Runs().Moved(w.at, []Answer{{ID: m.ID, TooLarge: true}})
				}
			}
			w.pass(2 * silentMs)
			for range 10 {
				take(1000)
			}
			if n := w.Runs().MovableBytes(); n < 10_000 {
				t.Errorf("%d bytes are movable of ten records of 1000 bytes", n)
			}
			w.audit()
		})
	}
}
