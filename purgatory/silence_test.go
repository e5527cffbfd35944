package purgatory

import (
	"testing"

	"layover/offsets"
	"layover/purgatory/far"
)

// hush is partitions with runs, of which a test lets some answer no copy.
type hush struct {
	*rig
	ends map[int32]int64 // of runs partitions
}

func newHush(t *testing.T, most int) *hush {
	h := &hush{newRig(t, func(c *Config) { c.MaxCopies = most }), make(map[int32]int64)}
	h.Runs().Usable(ingress, true)
	return h
}

// begin assigns a partition and has n records of it parked for a month.
func (h *hush) begin(no int32, n int) {
	h.Helper()
	h.assign(no, 1, 0)
	o := far.Opening{Writer: uint64(no) + 1, TopicID: offsets.TopicID{1}, Window: offsets.NewWindow(0)}
	x, _ := far.Open(&o)
	h.Runs().Begin(offsets.Assignment{TopicPartition: partitionOf(no), Epoch: 1}, o.TopicID, x, 0)
	h.Runs().Usable(ingress, true)
	for i := range n {
		h.mustTake(no, 1, 30*24*3_600_000, int64(i))
	}
}

// flush gathers and offers all that may be moved. Partitions from one on answer; it returns the copies of the others.
func (h *hush) flush(answers int32) (silent []Move) {
	h.Helper()
	for more := true; more; {
		_, more = h.Runs().Gather(0, 1<<40, 1<<20)
	}
	for moves := h.Runs().Offer(nil, 1<<20); len(moves) > 0; moves = h.Runs().Offer(nil, 1<<20) {
		if n := h.Runs().Flying(); n > h.cfg.MaxCopies {
			h.Fatalf("%d copies are in flight, the client has room for %d", n, h.cfg.MaxCopies)
		}
		for _, m := range moves {
			if m.Partition < answers {
				silent = append(silent, m)
			} else {
				h.answer(m)
			}
		}
	}
	return silent
}

func (h *hush) answer(m Move) {
	h.Runs().Moved(h.at, []Answer{{ID: m.ID, Acked: true, Offset: h.ends[m.Partition], Bytes: 10}})
	h.ends[m.Partition]++
}

// TestASilentRunsPartitionKeepsWhatIsInFlightAlone: the rest is parked again and stays so, memory counts all of
// it, and nobody waits for it. Once all of it is answered it is moved as before.
func TestASilentRunsPartitionKeepsWhatIsInFlightAlone(t *testing.T) {
	h := newHush(t, 20)
	h.begin(0, 30)
	silent := h.flush(1)
	if len(silent) != 10 || h.stats.Gathered != 30 || !h.Runs().Moving() {
		t.Fatalf("%d copies in flight, %d records gathered, moving %t", len(silent), h.stats.Gathered, h.Runs().Moving())
	}
	h.pass(silentMs - 1)
	if h.Runs().Offer(nil, 9); h.stats.Gathered != 30 || !h.Runs().Moving() {
		t.Fatalf("%d records are gathered, moving %t: it is given up too early", h.stats.Gathered, h.Runs().Moving())
	}
	h.pass(1)
	h.Runs().Offer(nil, 9)
	if h.stats.Gathered != 10 || h.stats.Parked != 20 {
		t.Errorf("%d records gathered, %d parked", h.stats.Gathered, h.stats.Parked)
	}
	if moving := h.Runs().MovingBytes(); h.Runs().Moving() || moving != 0 || h.Runs().Answering() != 0 {
		t.Errorf("moving %t, %d bytes of it, %d copies", h.Runs().Moving(), moving, h.Runs().Answering())
	}
	h.audit()
	h.begin(1, 5)
	if more := h.flush(1); len(more) != 0 || h.stats.Moved != 5 || h.stats.Parked != 20 {
		t.Errorf("%d more copies of it, %d records of all moved, %d parked", len(more), h.stats.Moved, h.stats.Parked)
	}
	h.pass(60_000)
	for i, m := range silent {
		h.answer(m)
		if h.Runs().Moving() {
			t.Fatalf("it is waited for after %d answers of %d", i+1, len(silent))
		}
	}
	h.audit()
	if h.flush(0); h.stats.Moved != 35 || h.stats.Gathered+h.stats.Parked != 0 {
		t.Errorf("%d moved, %d gathered, %d parked once it answers", h.stats.Moved, h.stats.Gathered, h.stats.Parked)
	}
	h.audit()
}

// TestASlowRunsPartitionIsNotWaitedForAndGoesOn: each copy is answered after three seconds. Ten seconds after its records
// were gathered memory counts them again, and another partition is moved, first where there is room for one. The next
// record of the slow one is gathered once all before are moved.
func TestASlowRunsPartitionIsNotWaitedForAndGoesOn(t *testing.T) {
	h := newHush(t, 4)
	h.begin(0, 10)
	moves, moving := h.flush(1), h.Runs().MovingBytes()
	for waited := int64(0); waited < silentMs; waited += 3000 {
		if !h.Runs().Moving() || h.Runs().MovingBytes() > moving || waited < 3000 && h.Runs().MovingBytes() < moving {
			t.Fatalf("moving %t, %d bytes, within %d ms", h.Runs().Moving(), h.Runs().MovingBytes(), waited)
		}
		h.pass(3000)
		h.answer(moves[0])
		moves = append(moves[1:], h.Runs().Offer(nil, 1)...)
	}
	if h.Runs().Moving() || h.Runs().MovingBytes() != 0 || h.stats.Gathered != 6 || len(moves) != 2 {
		t.Errorf("moving %t, %d bytes, %d gathered, %d in flight", h.Runs().Moving(), h.Runs().MovingBytes(), h.stats.Gathered, len(moves))
	}
	h.audit()
	h.mustTake(0, 1, 30*24*3_600_000, 10)
	h.begin(1, 5) // for which there is no room before the next answer
	h.answer(moves[0])
	if moves = append(moves[1:], h.flush(1)...); h.stats.Moved != 5+5 || h.stats.Parked != 1 || len(moves) != 2 {
		t.Errorf("%d moved, %d parked, %d in flight", h.stats.Moved, h.stats.Parked, len(moves))
	}
	for len(moves) > 0 { // also with the last ones in flight
		if h.Runs().Moving() {
			t.Fatalf("%d of it are waited for", len(moves))
		}
		h.answer(moves[0])
		moves = append(moves[1:], h.Runs().Offer(nil, 1)...)
	}
	h.audit()
	if h.flush(0); h.stats.Moved != 16 || h.Runs().Moving() {
		t.Errorf("%d moved, moving %t, once all of it is answered", h.stats.Moved, h.Runs().Moving())
	}
}

// TestASilentCopyIsGivenUpBeforeItIsDue, and its memory counts once, before and after.
func TestASilentCopyIsGivenUpBeforeItIsDue(t *testing.T) {
	h := newHush(t, 20)
	h.begin(0, 3)
	silent := h.flush(1)
	h.pass(30*24*3_600_000 - giveUpMs)
	h.Runs().Offer(nil, 9)
	moving := h.Runs().MovingBytes()
	if n := h.Runs().Flying(); moving != 0 || h.stats.Gathered != 0 || h.stats.Parked != 3 || n != 3 {
		t.Errorf("%d bytes moving, %d gathered, %d parked, %d in flight", moving, h.stats.Gathered, h.stats.Parked, n)
	}
	for _, m := range silent {
		h.answer(m)
	}
	if moving := h.Runs().MovingBytes(); moving != 0 || h.Runs().Moving() {
		t.Errorf("%d bytes moving, %t", moving, h.Runs().Moving())
	}
	h.audit()
}

// TestWhatAHandOverLeavesInFlightIsNotWaitedFor, if its partition is silent.
func TestWhatAHandOverLeavesInFlightIsNotWaitedFor(t *testing.T) {
	h := newHush(t, 20)
	h.begin(0, 3)
	silent := h.flush(1)
	h.Revoke(partitionOf(0), 1)
	h.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1})
	h.pass(silentMs)
	if moving := h.Runs().MovingBytes(); h.Runs().Moving() || moving != 0 {
		t.Errorf("moving %t, %d bytes of it", h.Runs().Moving(), moving)
	}
	for _, m := range silent {
		h.answer(m)
	}
	h.audit()
}

// TestCopiesInFlightFitTheRoomHoweverManyPartitionsAreSilent, one after the other, and one that answers is moved all
// the same.
func TestCopiesInFlightFitTheRoomHoweverManyPartitionsAreSilent(t *testing.T) {
	const most, silent, records = 200, 60, 50
	h := newHush(t, most)
	var flying []Move
	for no := range int32(silent) {
		h.begin(no, records)
		flying = append(flying, h.flush(no+1)...)
		h.pass(silentMs)
	}
	if n := h.Runs().Flying(); n != len(flying) || n > most || n < most/copyRoomShare {
		t.Fatalf("%d copies are in flight", n)
	}
	h.begin(silent, records)
	if h.flush(silent); h.stats.Moved != records {
		t.Errorf("%d records of %d are moved beside %d silent partitions", h.stats.Moved, records, silent)
	}
	for _, m := range flying {
		h.answer(m)
	}
	h.audit()
	if h.flush(0); h.stats.Moved != (silent+1)*records {
		t.Errorf("%d records of %d are moved once all answer", h.stats.Moved, (silent+1)*records)
	}
}

// TestARevokeDoesNotWaitForASilentRunsPartition: the group waits for a revoke, and no answer may come for weeks.
func TestARevokeDoesNotWaitForASilentRunsPartition(t *testing.T) {
	h := newHush(t, 20)
	h.begin(0, 5)
	silent := h.flush(1)
	h.Revoke(partitionOf(0), 1)
	if n := h.Draining(partitionOf(0), 1); n != len(silent) {
		t.Errorf("%d are waited for, want %d copies that were just sent", n, len(silent))
	}
	h.pass(silentMs)
	if n := h.Draining(partitionOf(0), 1); n != 0 {
		t.Errorf("%d are waited for, which nobody has answered for %d ms", n, silentMs)
	}
	h.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1})
	for _, m := range silent {
		h.answer(m)
	}
	h.audit()
}
