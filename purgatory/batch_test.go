package purgatory

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"layover/journal/facts"
	"layover/offsets"
)

// letterBody is the body of all letters.
const letterBody = "0 letter"

// batch is a batch of partition 0 with as many records as offsets.
func (r *rig) batch(first, last int64) offsets.UnreadBatch {
	return offsets.UnreadBatch{First: first, Last: last, Records: last - first + 1, Message: "takes too much"}
}

// unread reads a batch of partition 0 in place of its records.
func (r *rig) unread(b offsets.UnreadBatch) bool {
	reader, ok := r.Reader(partitionOf(0), 1)
	return ok && reader.Unread(&b, text(letterBody))
}

func TestOneLetterStandsForABatchAndFinishesAllOfIt(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 1000, 0)
	if !r.unread(r.batch(3, 12)) { // 1 and 2 are compacted away
		t.Fatal("the partition has stopped")
	}
	if j := r.Take().Jumps; len(j) != 1 || j[0].To != 13 || !j[0].Beyond {
		t.Errorf("jumps %+v", j)
	}
	r.mustTake(0, 1, 1000, 13)
	r.audit()
	if low := r.commitLow(0); low != 0 {
		t.Errorf("committed %d", low)
	}
	d := r.one(Delivered)
	if d.Offset != 3 || d.Last != 12 || d.Records != 10 || d.Target != graves || !d.DeadLettered || d.Reason != reasonTooLargeToRead || d.Message != "takes too much" || string(d.Body) != letterBody {
		t.Errorf("the letter is %+v", d)
	}
	r.audit()
	r.pass(1000)
	r.all(Delivered, 0, 13)
	if low := r.commitLow(0); low != 14 {
		t.Errorf("committed %d", low)
	}
	s := r.Snapshot()
	if s.Consumed[TopicOutcome{ingress, Invalid}] != 10 || s.Invalid[TopicReason{ingress, reasonTooLargeToRead}] != 10 ||
		s.DeadLettered[TopicReason{ingress, reasonTooLargeToRead}] != 10 || s.Referred != 0 || s.Restored != 0 {
		t.Errorf("counted %+v", s.Stats)
	}
}

// all ends the deliveries on offer, which are of these offsets.
func (r *rig) all(class Class, offsets ...int64) {
	r.Helper()
	ds := r.offer()
	r.want(ds, offsets...)
	r.end(class, ds...)
}

// TestALetterStandsForWhatHasNoOutcome: of a batch that was read before, with a larger
// limit, some records are finished.
func TestALetterStandsForWhatHasNoOutcome(t *testing.T) {
	for name, test := range map[string]struct {
		low      int64
		finished []int64
		batch    offsets.UnreadBatch
		records  int64 // 0: no letter
		commits  int64
	}{
		"nothing is finished":               {10, nil, offsets.UnreadBatch{First: 10, Last: 14, Records: 5}, 5, 15},
		"the low offset is within it":       {12, nil, offsets.UnreadBatch{First: 10, Last: 14, Records: 5}, 3, 15},
		"some are finished":                 {10, []int64{11, 13}, offsets.UnreadBatch{First: 10, Last: 14, Records: 5}, 3, 15},
		"it was compacted":                  {10, nil, offsets.UnreadBatch{First: 10, Last: 14, Records: 2}, 2, 15},
		"compacted, and some are finished":  {10, []int64{11, 13, 14}, offsets.UnreadBatch{First: 10, Last: 14, Records: 4}, 2, 15},
		"all are finished":                  {10, []int64{10, 11, 12, 13, 14}, offsets.UnreadBatch{First: 10, Last: 14, Records: 5}, 0, 15},
		"all but the gaps":                  {10, []int64{11, 12, 13, 14}, offsets.UnreadBatch{First: 10, Last: 14, Records: 4}, 1, 15},
		"it says that it has none":          {10, nil, offsets.UnreadBatch{First: 10, Last: 14}, 1, 15},
		"aborted":                           {10, nil, offsets.UnreadBatch{First: 10, Last: 14, Records: 5, Aborted: true}, 0, 15},
		"all of it is below what was read":  {20, nil, offsets.UnreadBatch{First: 10, Last: 14, Records: 5}, 0, 20},
		"finished beyond it, and not in it": {10, []int64{15, 16}, offsets.UnreadBatch{First: 10, Last: 14, Records: 5}, 5, 17},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			set := offsets.NewWindow(test.low)
			for _, o := range test.finished {
				set.Finish(o)
			}
			r.Assign(facts.Assigned{Assignment: offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}, Window: set, Next: test.low, Committed: true})
			r.Take()
			if !r.unread(test.batch) {
				t.Fatal("the partition has stopped")
			}
			if j := r.Take().Jumps; len(j) != 1 || j[0].To != 15 || !j[0].Beyond {
				t.Errorf("jumps %+v", j)
			}
			r.audit()
			ds := r.offer()
			if len(ds) > 0 != (test.records > 0) || len(ds) > 0 && (ds[0].Records != test.records || ds[0].Offset != 10 || ds[0].Last != 14) {
				t.Errorf("offered %+v", ds)
			}
			r.end(Delivered, ds...)
			r.audit()
			if got := total(r.Snapshot().DeadLettered); got != test.records {
				t.Errorf("%d records counted, want %d", got, test.records)
			}
			r.commitLow(0)
			if low := r.parts.byTopic[partitionOf(0)].Window.Low(); low != test.commits {
				t.Errorf("finished up to %d, want %d", low, test.commits)
			}
		})
	}
}

func TestWhatBecomesOfABatchIsAsThePolicySays(t *testing.T) {
	for name, test := range map[string]struct {
		policy        Policy
		dead          string
		halts         bool
		letters, drop int64
	}{
		"dead letter":                    {DeadLetter, graves, false, 5, 0},
		"drop":                           {Drop, graves, false, 0, 5},
		"drop without a dead letter":     {Drop, "", false, 0, 5},
		"halt":                           {Halt, graves, true, 0, 0},
		"deliver":                        {Deliver, graves, true, 0, 0},
		"a dead letter and nowhere to":   {DeadLetter, "", true, 0, 0},
		"deliver without a dead letter,": {Deliver, "", true, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(c *Config) { c.OnInvalid, c.DeadLetterTopic = test.policy, test.dead })
			r.assign(0, 1, 0)
			if r.unread(r.batch(2, 6)) == test.halts {
				t.Error("whether the partition goes on is not as the policy says")
			}
			for _, d := range r.offer() {
				r.end(Delivered, d)
			}
			e := r.Take()
			if len(e.Halts) > 0 != test.halts || len(e.Jumps) > 0 == test.halts {
				t.Errorf("halts %+v, jumps %+v", e.Halts, e.Jumps)
			}
			want := int64(7)
			if test.halts {
				want = 2
				if h := e.Halts[0]; h.Offset != 2 || h.Code != reasonTooLargeToRead || h.Truncated || !strings.Contains(h.Reason, "takes too much") {
					t.Errorf("halted with %+v", h)
				}
			}
			r.commitLow(0)
			if low := r.parts.byTopic[partitionOf(0)].Window.Low(); low != want {
				t.Errorf("finished up to %d, want %d", low, want)
			}
			if s := r.Snapshot(); total(s.DeadLettered) != test.letters || total(s.Dropped) != test.drop {
				t.Errorf("%d dead-lettered, %d dropped", total(s.DeadLettered), total(s.Dropped))
			}
			r.audit()
		})
	}
}

// TestALetterThatIsNotWrittenFinishesNothing, whatever becomes of it.
func TestALetterThatIsNotWrittenFinishesNothing(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.unread(r.batch(0, 4))
	for range 3 { // with others, alone, without what is not there anyway
		r.one(TooLarge)
		r.audit()
	}
	r.pass(5000)
	flying := r.offer()
	r.Revoke(partitionOf(0), 1)
	r.audit()
	if low := r.parts.byTopic[partitionOf(0)].Window.Low(); low != 0 {
		t.Errorf("finished up to %d", low)
	}
	r.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1})
	r.audit()
	r.end(Unavailable, flying...)
	r.audit()
	if s := r.Snapshot(); s.HandedOver != 5 || s.Referred != 0 || total(s.DeadLettered) != 0 {
		t.Errorf("%d handed over, %d referred to, %d dead-lettered", s.HandedOver, s.Referred, total(s.DeadLettered))
	}
	r.assign(0, 1, 0) // whoever reads it next
	r.unread(r.batch(0, 4))
	r.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}) // while it is due
	r.audit()
	if s := r.Snapshot(); s.HandedOver != 10 || s.Referred != 0 {
		t.Errorf("%d handed over, %d referred to", s.HandedOver, s.Referred)
	}
}

// TestABatchOfALaterLeaderEpochEndsWhatWasKnown, as a record does.
func TestABatchOfALaterLeaderEpochEndsWhatWasKnown(t *testing.T) {
	r := newRig(t, nil)
	set := offsets.NewWindow(3)
	set.FinishRange(5, 9)
	r.Assign(facts.Assigned{Assignment: offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}, Window: set, Next: 3, LeaderEpoch: 1, Committed: true})
	b := r.batch(3, 8)
	b.LeaderEpoch = 2
	r.unread(b)
	if d := r.one(Delivered); d.Records != 6 {
		t.Errorf("the letter stands for %d records", d.Records)
	}
	reader, _ := r.Reader(partitionOf(0), 1)
	b = r.batch(7, 8)
	b.Last, b.LeaderEpoch = 9, 3
	if reader.Unread(&b, text(letterBody)) || r.parts.byTopic[partitionOf(0)].halted == nil {
		t.Error("a batch of a later epoch over what was read does not stop the partition")
	}
}

// TestABatchThatIsLeftOutIsGoneOver with the finished stretch behind it. What stands in front of the batch are gaps. While
// a record with an id waits, commands that count again are read.
func TestABatchThatIsLeftOutIsGoneOver(t *testing.T) {
	for name, test := range map[string]struct {
		id          string // of record 0, "": it has none
		again       int64
		first, last int64 // of the batch
		to, jumped  int64 // where reading goes on, and offsets jumped over
	}{
		"all that is finished":               {"", 0, 3, 5, 15, 12},
		"a header that says nothing":         {"", 0, 3, 3, 15, 12},
		"it is left out in part":             {"", 0, 3, 20, 15, 12},
		"every command counts again":         {"a", 0, 3, 5, 6, 3},
		"those from within it on do":         {"a", 4, 3, 5, 6, 3},
		"those from behind it on do":         {"a", 10, 3, 5, 10, 7},
		"none of those behind it does":       {"a", 15, 3, 5, 15, 12},
		"said of what is jumped over by now": {"", 0, 0, 0, 1, 0},
	} {
		r := newRig(t, nil)
		w := offsets.NewWindow(0)
		w.FinishRange(3, 15)
		r.Assign(facts.Assigned{Assignment: offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}, Window: w, Committed: true, LeaderEpoch: 4, Again: test.again, StableEnd: test.to})
		a := r.arrival(0, 60_000, "0")
		if test.id != "" {
			a = r.named(0, 60_000, test.id)
		}
		r.must(a)
		r.Take()
		if !r.unread(offsets.UnreadBatch{First: test.first, Last: test.last, Broken: true, LeaderEpoch: -1, Message: "its checksum is wrong"}) {
			t.Errorf("%s: the partition has stopped", name)
		}
		want := Jump{offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}, test.to, 4, true}
		if e := r.Take(); len(e.Halts) != 0 || !slices.Equal(e.Jumps, []Jump{want}) {
			t.Errorf("%s: %+v, want %+v", name, e, want)
		}
		r.pass(1)
		p, s := r.parts.byTopic[partitionOf(0)], r.Snapshot()
		if p.next != test.to || !p.barrier.over || s.Jumped != test.jumped || test.to > 1 && !p.Window.Finished(2) {
			t.Errorf("%s: reading goes on at %d, %d jumped over, all is read: %v, the gap is finished: %v", name, p.next, s.Jumped, p.barrier.over, p.Window.Finished(2))
		}
		r.audit()
	}
}

// batchModel is a batch of the model's log.
type batchModel struct {
	first, last int64
	aborted     bool
}

// pack makes batches of some stretches of a log.
func (w *world) pack(p *partitionModel) {
	for n := w.dice.roll(4); n > 0; n-- {
		b := &batchModel{first: int64(w.dice.roll(logLength)), aborted: w.dice.roll(6) == 0}
		b.last = min(b.first+int64(w.dice.roll(9)), logLength-1)
		stretch := p.log[b.first : b.last+1]
		if slices.ContainsFunc(stretch, func(l logged) bool { return l.batch != nil || !l.there || l.control }) {
			continue
		}
		for o := range stretch {
			stretch[o].batch = b
		}
	}
}

// presentBatch reads a batch in place of its records; false when the partition stops.
func (w *world) presentBatch(reader Reader, p *partitionModel, b *batchModel) bool {
	from := max(b.first, p.next)
	for gap := p.next; gap < b.first; gap++ {
		p.done[gap] = true
	}
	p.next = from
	finished := true
	for o := from; o <= b.last; o++ {
		finished = finished && p.done[o]
	}
	ok := reader.Unread(&offsets.UnreadBatch{First: b.first, Last: b.last, Records: b.last - b.first + 1, Aborted: b.aborted, Message: "the test says so"}, text(letterBody))
	halts := w.cfg.OnInvalid == Halt || w.cfg.OnInvalid == Deliver
	if ok == (halts && !b.aborted && !finished) {
		w.Fatalf("batch of %d to %d: goes on is %v", b.first, b.last, ok)
	}
	for o := from; ok && (b.aborted || w.cfg.OnInvalid == Drop) && o <= b.last; o++ {
		p.done[o] = true
	}
	return ok
}

// offeredLetter holds a letter to the promises.
func (w *world) offeredLetter(p *partitionModel, d Delivery) {
	b := p.log[d.Offset].batch
	if b == nil || b.first != d.Offset || b.last != d.Last || b.aborted {
		w.Fatalf("a letter of %d to %d, which is no batch", d.Offset, d.Last)
	}
	var open int64
	for o := b.first; o <= b.last; o++ {
		if !p.done[o] {
			open++
		}
	}
	if d.Records != open || d.Last >= p.next || d.Target != graves || string(d.Body) != letterBody || w.sent[fmt.Sprint(p.epoch, d.Partition, d.Offset)] {
		w.Fatalf("letter %+v, where %d records are open", d, open)
	}
}
