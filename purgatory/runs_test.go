package purgatory

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"layover/journal/facts"
	"layover/journal/runs"
	"layover/offsets"
	"layover/purgatory/far"
	"layover/verify/long"
)

// copied is a record of a runs partition: the copy of a record of ingress, or a directory.
type copied struct {
	far.Found
	origin int64 // offset in ingress; -1: it is a directory
	body   string
}

// ways is one ingress partition, its runs partition, and one owner after the other.
type ways struct {
	*rig
	dice   *rand.Rand
	epoch  uint64
	due    []int64 // deadline of each record of ingress, by offset
	there  []copied
	flying []Move // not written yet, in order
	landed []Answer
	sent   []Delivery

	index     *far.Index
	committed *offsets.Window // what a restart finds
	finished  *offsets.Window // the same of the runs partition
	said      far.Said
	dir       *runs.Directory
	dirAt     int64 // its offset

	delivered map[int64]int // by offset in ingress
	usable    bool
	loaded    int64
	squeezed  int // times
}

const aheadMs = 5_000

func newWays(t *testing.T, seed uint64) *ways {
	w := &ways{
		dice: rand.New(rand.NewPCG(seed, 21)), delivered: make(map[int64]int), usable: true,
		committed: offsets.NewWindow(0), finished: offsets.NewWindow(0),
		rig: newRig(t, func(c *Config) { c.MaxInFlightBytes = 1 << 14 }),
	}
	w.store.largest = 512 // so that there are many
	w.begin()
	return w
}

func (w *ways) a() offsets.Assignment {
	return offsets.Assignment{TopicPartition: partitionOf(0), Epoch: w.epoch}
}

func cloneWindow(w *offsets.Window) *offsets.Window {
	out := offsets.NewWindow(w.Low())
	w.Each(func(from, to int64) bool { out.FinishRange(from, to); return true })
	return out
}

// begin assigns the partition with what the last owner has left behind.
func (w *ways) begin() {
	w.epoch++
	window := cloneWindow(w.committed)
	w.Assign(facts.Assigned{Assignment: w.a(), Window: window, Next: window.Low(), Committed: true})
	finished := cloneWindow(w.finished)
	if w.dice.IntN(5) == 0 { // the journal is gone
		finished = offsets.NewWindow(0)
	}
	w.index = far.New(far.Beginning{Writer: w.epoch, Window: finished, Said: w.said})
	if w.dir != nil && w.dice.IntN(2) == 0 {
		w.index.Adopt(w.dir, w.dirAt)
	}
	w.Runs().Begin(w.a(), offsets.TopicID{}, w.index, 0)
	w.Runs().Usable(ingress, w.usable)
	w.visit(w.index.Known(), int64(len(w.there)))
	w.index.Seal()
}

// end ends the assignment, perhaps with all that is in flight.
func (w *ways) end() {
	if w.dice.IntN(2) == 0 {
		w.save()
	}
	w.Revoke(partitionOf(0), w.epoch)
	if w.dice.IntN(2) == 0 {
		w.land(len(w.flying))
		w.hear(len(w.landed))
	}
	w.Sweep(w.a())
	w.land(w.dice.IntN(len(w.flying) + 1)) // a zombie's
	w.audit()
	for _, m := range w.flying {
		w.landed = append(w.landed, Answer{ID: m.ID})
	}
	w.flying = nil
	w.hear(len(w.landed))
	w.answer(len(w.sent))
	w.audit()
	w.begin()
}

// save keeps what a commit and the journal keep.
func (w *ways) save() {
	for _, c := range w.Commits(nil, true) {
		w.Committed(offsets.CommitResult{Commit: c})
	}
	p := w.parts.byTopic[partitionOf(0)]
	w.committed, w.finished = cloneWindow(p.Window), offsets.NewWindow(0)
	for o := range int64(len(w.there)) {
		if w.index.Finished(o) {
			w.finished.Finish(o)
		}
	}
	w.gap()
	w.said = far.Said{Known: w.index.Known(), DueMs: w.index.DueMs()}
	if d, err := w.index.Directory(); err == nil && w.dice.IntN(2) == 0 {
		w.there = append(w.there, copied{Found: far.Found{Offset: int64(len(w.there))}, origin: -1})
		w.dir, w.dirAt = &d, int64(len(w.there))-1
	}
}

// gap reads what others have written.
func (w *ways) gap() {
	for {
		from, to, ok := w.index.Gap()
		if !ok {
			return
		}
		w.visit(from, to)
	}
}

// visit reads offsets of the runs partition, and loads what is given out.
func (w *ways) visit(from, to int64) {
	var found []far.Found
	for _, c := range w.there[min(from, to):to] {
		if c.origin >= 0 {
			found = append(found, c.Found)
		}
	}
	ahead := int64(aheadMs)
	if w.dice.IntN(10) == 0 { // to be moved again
		ahead = 1_000_000
	}
	v := Visit{Assignment: w.a(), From: from, To: to, index: w.index}
	take, _ := w.Runs().Take(&Visited{Visit: v, Until: to, Found: found}, ahead, 200+w.dice.Int64N(2000), nil)
	for _, i := range take {
		c := w.there[found[i].Offset]
		a := Arrival{Offset: c.origin, TimestampMs: startMs, DeadlineMs: c.DeadlineMs, Target: egress, Label: egress, Body: text(c.body)}
		r, ok := w.Loader(w.a())
		if !ok {
			w.Fatal("no loader")
		}
		r.Load(c.Offset, &a)
		w.loaded++
	}
}

func (w *ways) read() {
	for range w.dice.IntN(20) {
		delay := w.dice.Int64N(3000)
		if w.dice.IntN(3) > 0 {
			delay = 40_000 + w.dice.Int64N(400_000)
		}
		w.due = append(w.due, w.at.WallMs+delay)
	}
	w.readOn()
}

// readOn reads what is in ingress.
func (w *ways) readOn() {
	p := w.parts.byTopic[partitionOf(0)]
	for o := p.next; o < int64(len(w.due)); o++ {
		a := w.arrival(o, 0, fmt.Sprintf("0 record %d %0*d", o, w.dice.IntN(60), 0))
		a.DeadlineMs = w.due[o]
		w.take(0, w.epoch, a)
	}
}

func (w *ways) gather() {
	w.Runs().Gather(w.at.WallMs+60_000, w.dice.Int64N(3000)+1, 1+w.dice.IntN(200))
	w.flying = w.Runs().Offer(w.flying, w.dice.IntN(60))
}

// squeeze carries what is parked together.
func (w *ways) squeeze() {
	if w.Runs().Squeeze(w.dice.Int64N(500)) {
		w.squeezed++
		for budget := 1 + w.dice.IntN(100); w.Runs().SqueezeOn(budget); { // no audit: it sweeps the wheel
		}
	}
}

// land writes copies, in order; some answers get lost.
func (w *ways) land(n int) {
	for _, m := range w.flying[:n] {
		answer := Answer{ID: m.ID}
		if w.dice.IntN(10) > 0 {
			o := int64(len(w.there))
			f := far.Found{Offset: o, DeadlineMs: m.DeadlineMs, Bytes: int64(len(m.Body)), Origin: m.Offset, Writer: m.Writer, Run: m.Run}
			w.there = append(w.there, copied{f, m.Offset, string(m.Body)})
			answer = Answer{ID: m.ID, Acked: w.dice.IntN(10) > 0, Offset: o, Bytes: f.Bytes}
		}
		w.landed = append(w.landed, answer)
	}
	w.flying = w.flying[n:]
}

// hear takes answers of copies.
func (w *ways) hear(n int) {
	w.Runs().Moved(w.at, w.landed[:n])
	w.landed = w.landed[n:]
}

func (w *ways) deliver() {
	for _, v := range w.Runs().Visits(nil, aheadMs, aheadMs) {
		w.visit(v.From, v.To)
	}
	w.sent = append(w.sent, w.offer()...)
	w.answer(w.dice.IntN(len(w.sent) + 1))
}

func (w *ways) answer(n int) {
	for _, d := range w.sent[:n] {
		class := Delivered
		if w.dice.IntN(15) == 0 {
			class = Unknown
		} else {
			w.delivered[d.Offset]++
			if w.at.WallMs < w.due[d.Offset] {
				w.Fatalf("%d, due at %d, was delivered at %d", d.Offset, w.due[d.Offset], w.at.WallMs)
			}
		}
		w.Outcomes(w.at, []Result{{ID: d.ID, Class: class}})
	}
	w.sent = w.sent[n:]
}

// drain ends all: everything has been delivered.
func (w *ways) drain() {
	w.land(len(w.flying))
	w.hear(len(w.landed))
	for range 400 {
		w.pass(2000)
		w.readOn()
		w.flying = w.Runs().Offer(w.flying, 100)
		w.land(len(w.flying))
		w.hear(len(w.landed))
		for range 20 {
			for _, v := range w.Runs().Visits(nil, aheadMs, aheadMs) {
				w.visit(v.From, v.To)
			}
		}
		for range 20 {
			w.sent = append(w.sent, w.offer()...)
			w.answer(len(w.sent))
		}
		w.audit()
	}
}

// TestWhatIsMovedIsDeliveredAtItsDeadline plays owners that move records, lose answers, and
// leave copies behind. Everything is delivered in the end, nothing early.
func TestWhatIsMovedIsDeliveredAtItsDeadline(t *testing.T) {
	long.Only(t)
	seeds := uint64(40)
	if testing.Short() {
		seeds = 8
	}
	var moved, loaded int64
	squeezed := 0
	for seed := range seeds {
		w := newWays(t, seed)
		steps := []func(){w.read, w.gather, w.gather, func() { w.land(w.dice.IntN(len(w.flying) + 1)) },
			func() { w.hear(w.dice.IntN(len(w.landed) + 1)) }, w.deliver, w.deliver, func() { w.pass(w.dice.Int64N(20_000)) },
			func() { w.save() }, func() { w.Runs().Offer(nil, 0) }, w.squeeze}
		for range 400 {
			switch n := w.dice.IntN(len(steps)*20 + 10); {
			case n < len(steps)*20:
				steps[n/20]()
			case n < len(steps)*20+5:
				w.end()
			default:
				w.usable = !w.usable
				w.Runs().Usable(ingress, w.usable)
			}
			w.audit()
		}
		w.drain()
		for o := range w.due {
			if w.delivered[int64(o)] == 0 {
				t.Fatalf("seed %d: %d, due at %d, was never delivered; it is %d", seed, o, w.due[o], w.at.WallMs)
			}
		}
		for _, c := range w.there {
			if c.origin >= 0 && c.Offset < w.index.Known() && !w.index.Finished(c.Offset) {
				t.Errorf("seed %d: the copy at offset %d has no outcome", seed, c.Offset)
			}
		}
		moved, loaded, squeezed = moved+w.stats.Moved, loaded+w.loaded, squeezed+w.squeezed
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d moved, %d loaded, squeezed %d times", moved, loaded, squeezed)
	if moved < 100*int64(seeds) || loaded < 100*int64(seeds) || squeezed < int(seeds) {
		t.Errorf("%d moved and %d loaded, squeezed %d times in %d runs: want more", moved, loaded, squeezed, seeds)
	}
}

func TestWhatIsGatheredAndNotMovedGoesBackBeforeItsDeadline(t *testing.T) {
	w := newWays(t, 1)
	w.mustTake(0, 1, 70_000, 0, 1)
	w.mustTake(0, 1, 300_000, 2)
	if n, more := w.Runs().Gather(w.at.WallMs+60_000, 1<<20, 100); n == 0 || more || w.stats.Gathered != 3 {
		t.Fatalf("%d bytes, more %v, %d records", n, more, w.stats.Gathered)
	}
	w.pass(39_000)
	if w.Runs().Offer(nil, 0); w.stats.Gathered != 3 {
		t.Errorf("%d are left, want all", w.stats.Gathered)
	}
	w.pass(1000)
	if w.Runs().Offer(nil, 0); w.stats.Gathered != 1 || w.stats.Parked != 2 {
		t.Errorf("%d are left, %d parked, want the last alone", w.stats.Gathered, w.stats.Parked)
	}
	w.Runs().Usable(ingress, false)
	if w.audit(); w.stats.Gathered != 0 || w.stats.Parked != 3 {
		t.Errorf("%d are left, %d parked, want none", w.stats.Gathered, w.stats.Parked)
	}
	w.pass(260_000)
	w.want(w.offer(), 0, 1, 2)
}

func TestARefusedCopyIsParkedAgainAndNothingIsMovedForASecond(t *testing.T) {
	w := newWays(t, 1)
	w.mustTake(0, 1, 300_000, 0, 1)
	w.Runs().Gather(0, 1<<20, 100)
	moves := w.Runs().Offer(nil, 1)
	w.Runs().Moved(w.at, []Answer{{ID: moves[0].ID}})
	if len(w.Runs().Offer(nil, 1)) != 0 || w.stats.Parked != 1 {
		t.Errorf("%d parked, and another copy is offered", w.stats.Parked)
	}
	w.pass(999)
	if n, _ := w.Runs().Gather(0, 1<<20, 100); n != 0 {
		t.Errorf("%d bytes are gathered", n)
	}
	w.pass(1)
	n, _ := w.Runs().Gather(0, 1<<20, 100)
	if moves = w.Runs().Offer(nil, 9); n == 0 || len(moves) != 1 {
		t.Fatalf("%d bytes are gathered, %d copies are offered before one is taken again", n, len(moves))
	}
	w.Runs().Moved(w.at, []Answer{{ID: moves[0].ID, Acked: true, Bytes: 9}})
	if got := len(w.Runs().Offer(nil, 9)); got != 1 {
		t.Errorf("%d copies are offered after one was taken, want the other", got)
	}
	w.audit()
}
