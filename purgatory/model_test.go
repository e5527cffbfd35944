package purgatory

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"layover/offsets"
)

// dice are the choices of a run: bytes, so that a fuzzer can make them. When they
// have run out the run is over.
type dice struct{ left []byte }

func (d *dice) roll(n int) int {
	if len(d.left) == 0 {
		return 0
	}
	b := d.left[0]
	d.left = d.left[1:]
	return int(b) % n
}

func (d *dice) over() bool { return len(d.left) == 0 }

// logged is one offset of the ingress log.
type logged struct {
	there    bool // else compacted away
	control  bool
	invalid  bool
	delayMs  int64
	target   string
	body     string
	passed   bool
	deadline int64 // set when it is first read
	batch    *batchModel

	id       string // "": none
	idAt     int    // in body
	cancel   bool
	copied   bool
	expires  bool
	expireMs int64 // after the deadline, until it is first read; an instant from then on
}

const (
	modelTopics = 3
	logLength   = 60
)

// partitionModel is what a dumb reader of the rules believes about one partition.
type partitionModel struct {
	log      []logged
	assigned bool
	revoked  bool
	epoch    uint64
	next     int64          // the reader's position
	done     map[int64]bool // finished in this assignment, or known from the last commit
	start    int64          // of the log
	commit   offsets.Commit // the last that the coordinator took
	narrow   bool           // batches are too large to read in this assignment

	again     int64 // finished commands count again from here on
	stableEnd int64
	ids       idModel
	barrier   barrierModel
	called    map[int64][]int64 // by offset: the commands that ended the record, in any assignment
}

// flightModel is a delivery whose outcome is owed.
type flightModel struct {
	no    int
	epoch uint64
	d     Delivery
}

// world is a core, the dumb model beside it, and a broker that is all faults.
type world struct {
	*rig
	dice   *dice
	parts  [modelTopics]partitionModel
	flying []flightModel
	asked  []offsets.Commit // commits without an answer
	sent   map[string]bool  // epoch and offset of what is in flight
	epochs uint64
	healed bool
	paused bool  // reading is
	unsaid int64 // events that were given up
}

var modelID = offsets.Identity{ClusterID: "c", TopicID: offsets.TopicID{1}}

func newWorld(t testing.TB, d *dice) *world {
	policy := Policy(d.roll(4))
	dead := policy == DeadLetter || d.roll(2) == 0
	w := &world{dice: d, sent: map[string]bool{}}
	w.rig = newRig(t, func(c *Config) {
		c.OnInvalid = policy
		if !dead {
			c.DeadLetterTopic = ""
		}
		c.MaxInFlight = 1 + d.roll(8)
		c.MaxBuffered = 8 + 8*d.roll(8)
		c.MaxInFlightBytes = int64(100 + 100*d.roll(20))
		c.HeldShare = int64(200 + 200*d.roll(20))
		c.Patience = time.Duration(1+d.roll(40)) * time.Second
		c.LargestChunk = minChunk << d.roll(4)
		c.OnExpired = []Policy{DeadLetter, Drop}[d.roll(2)]
		if d.roll(2) == 0 {
			c.EventsTopic, c.Event = events, eventText
		}
		if d.roll(3) == 1 {
			c.CatchUp = NewCatchUp(1 + d.roll(50))
		}
	})
	for no := range w.parts {
		p := &w.parts[no]
		p.commit, p.called = offsets.Commit{Low: 0}, map[int64][]int64{}
		p.log = make([]logged, logLength)
		for o := range p.log {
			p.log[o] = w.newRecord(no, o)
		}
		w.pack(p)
	}
	return w
}

func (w *world) newRecord(no, o int) logged {
	rec := logged{there: w.dice.roll(8) > 0, control: w.dice.roll(12) == 0, invalid: w.dice.roll(10) == 0, target: egress}
	switch w.dice.roll(8) {
	case 0:
		rec.passed = true
	case 1:
		rec.delayMs = int64(w.dice.roll(256)) * 1000
	default:
		rec.delayMs = int64(w.dice.roll(100))
	}
	if n := w.dice.roll(8); n > 4 {
		rec.target = fmt.Sprintf("%s-%d", other, n)
	}
	size := 1 + w.dice.roll(40)
	if w.dice.roll(25) == 0 {
		size *= 300
	}
	rec.body = fmt.Sprintf("%d %d@%d %0*d", w.dice.roll(3), no, o, size, o)
	w.identify(&rec)
	return rec
}

// play makes one random move.
func (w *world) play() {
	no := w.dice.roll(modelTopics)
	p := &w.parts[no]
	switch w.dice.roll(17) {
	case 16:
		w.disturb(p, no)
	case 0, 1, 2:
		w.read(no, 1+w.dice.roll(12))
	case 3, 4:
		w.elapse(int64(w.dice.roll(50)))
	case 5:
		w.elapse(int64(w.dice.roll(256)) * 100)
	case 6:
		w.step([]int64{-10, -900, -3000, -100_000, 40, 5000, 100_000, -300}[w.dice.roll(8)])
		w.ticked()
	case 7, 8:
		w.offered(1 + w.dice.roll(12))
	case 9, 10:
		w.answer(1 + w.dice.roll(6))
	case 11:
		w.ask()
	case 12:
		w.coordinate(w.dice.roll(5))
	case 13:
		w.move(no, w.dice.roll(3))
	case 14:
		name := []string{egress, graves, other + "-5", other + "-6", other + "-7", events}[w.dice.roll(6)]
		w.router[name] = []Verdict{Usable, Usable, Pending, Missing, Forbidden}[w.dice.roll(5)]
	default:
		switch w.dice.roll(4) {
		case 0:
			w.Suspend()
		case 1:
			w.Trim()
		case 2:
			w.logStart(p, p.start+int64(w.dice.roll(20)))
		default:
			w.Tick(w.at, w.dice.roll(5))
			w.ticked()
		}
	}
	w.reconcile()
}

// read is a consumer: it presents what the log holds from its position on.
func (w *world) read(no, n int) {
	p := &w.parts[no]
	tp := partitionOf(int32(no))
	for o := max(p.next, p.start); p.assigned && n > 0 && o < int64(len(p.log)); o++ {
		rec := &p.log[o]
		if !rec.there {
			continue
		}
		n--
		reader, ok := w.Reader(tp, p.epoch)
		if !ok {
			return
		}
		if rec.batch != nil && p.narrow {
			if !w.presentBatch(reader, p, rec.batch) {
				return
			}
			o = rec.batch.last
			w.follow()
			continue
		}
		want := reader.Wants(o, 0)
		w.wasRead(p)
		for gap := p.next; gap < o; gap++ {
			p.done[gap] = true
		}
		p.next = o
		if (want == Whole) == p.done[o] {
			w.Fatalf("%d@%d: wanted is %v, finished is %v", no, o, want, p.done[o])
		}
		if jumps := w.effects.Jumps; want != Whole && len(jumps) == 0 && (want == Commanded) != (len(p.ids.lives) > 0 && o >= p.again) {
			w.Fatalf("%d@%d: wanted is %v with %d that have ids, and commands count from %d on", no, o, want, len(p.ids.lives), p.again)
		}
		if want == Whole && !w.present(reader, p, o, rec) {
			return
		}
		if want == Commanded && rec.id != "" && !rec.invalid && !rec.control {
			reader.Command(&Arrival{Offset: o, ID: []byte(rec.id), Cancel: rec.cancel, DeadlineMs: rec.deadline})
			w.command(no, rec.id, commandModel{by: o, cancel: rec.cancel, counted: true})
		}
		p.next++
		w.follow()
		o = p.next - 1 // a jump goes on behind what is finished
	}
}

// present reads one record into the core; false when the partition stops there.
func (w *world) present(reader Reader, p *partitionModel, o int64, rec *logged) bool {
	a := Arrival{Offset: o, TimestampMs: startMs, Control: rec.control, Body: text(rec.body), Target: rec.target, Label: rec.target[:5]}
	if rec.deadline == 0 {
		rec.deadline = w.at.WallMs + rec.delayMs
		rec.expireMs += rec.deadline
	}
	a.DeadlineMs = rec.deadline
	if rec.passed {
		a.Outcome = Passed
	}
	if rec.invalid && !rec.control {
		a.Reason, a.Message = "malformed_delay", "the test says so"
	}
	w.describe(&a, rec)
	ok := reader.Read(&a)
	w.taken(p, o, &a)
	if rec.control || a.Reason != "" && w.cfg.OnInvalid == Drop && !a.Cancel {
		p.done[o] = true
	}
	return ok
}

// follow carries out jumps: what is jumped over is finished, says the core.
func (w *world) follow() {
	for _, j := range w.Take().Jumps {
		p := &w.parts[j.Partition]
		if !p.assigned || p.epoch != j.Epoch {
			continue
		}
		for o := p.next; o < j.To; o++ {
			if !p.done[o] && !j.Beyond {
				w.Fatalf("jump over %d@%d, which is not finished", j.Partition, o)
			}
			if len(p.ids.lives) > 0 && o >= p.again && !j.Beyond {
				w.Fatalf("jump over %d@%d, where commands count again from %d on", j.Partition, o, p.again)
			}
		}
		p.next = max(p.next, j.To)
	}
}

// offered takes deliveries and holds each to the promises.
func (w *world) offered(limit int) {
	for _, d := range w.Offer(nil, limit) {
		no := int(d.Partition)
		p := &w.parts[no]
		rec := p.log[d.Offset]
		key := fmt.Sprint(p.epoch, no, d.Offset)
		if d.Event {
			key = w.offeredEvent(p, d)
		}
		switch {
		case d.Event:
		case !p.assigned || p.revoked || !w.Core.parts.byTopic[partitionOf(d.Partition)].src.confirmed:
			w.Fatalf("%d@%d offered, but its partition may not deliver", no, d.Offset)
		case d.Records > 0:
			w.offeredLetter(p, d)
		case p.done[d.Offset] || d.Offset >= p.next:
			w.Fatalf("%d@%d offered, but it is finished or was not read", no, d.Offset)
		case w.sent[key]:
			w.Fatalf("%d@%d offered twice at a time", no, d.Offset)
		case d.Reason == "" && !rec.passed && rec.deadline > w.at.WallMs:
			w.Fatalf("%d@%d offered %d ms early", no, d.Offset, rec.deadline-w.at.WallMs)
		case string(d.Body) != rec.body:
			w.Fatalf("%d@%d has body %q, want %q", no, d.Offset, d.Body, rec.body)
		case d.Reason == "" && d.Target != rec.target || d.DeadLettered != (d.Target == graves):
			w.Fatalf("%d@%d offered to %s, want %s", no, d.Offset, d.Target, rec.target)
		}
		if !d.Event && d.Records == 0 {
			w.offeredWithID(p, &rec, d)
		}
		w.sent[key] = true
		w.flying = append(w.flying, flightModel{no, p.epoch, d})
	}
	w.reconcile()
}

// answer ends some deliveries, one way or the other.
func (w *world) answer(n int) {
	var results []Result
	for ; n > 0 && len(w.flying) > 0; n-- {
		at := w.dice.roll(len(w.flying))
		f := w.flying[at]
		w.flying = slices.Delete(w.flying, at, at+1)
		p := &w.parts[f.no]
		key := fmt.Sprint(f.epoch, f.no, f.d.Offset)
		if f.d.Event {
			key = eventKey(f.epoch, f.d)
		}
		delete(w.sent, key)
		r := Result{ID: f.d.ID, Detail: "fault"}
		if !w.healed {
			r.Class = []Class{Delivered, Delivered, Delivered, Delivered, TooLarge, Rejected, Unavailable, Unknown, NoRoom}[w.dice.roll(9)]
			r.Verdict = Missing
		}
		switch {
		case !p.assigned || p.epoch != f.epoch:
		case f.d.Event:
			w.answeredEvent(p, key, r.Class == Delivered, r.Class == Rejected && (f.d.Alone || f.d.Hurried) || r.Class == TooLarge && f.d.Bare)
		case w.answeredWithID(f.no, f.d, r.Class):
		default:
			refused := r.Class == Rejected && (f.d.Alone || f.d.Hurried) || r.Class == TooLarge && f.d.Bare
			if r.Class == Delivered || refused && !f.d.DeadLettered && w.cfg.DeadLetterTopic == "" && w.cfg.OnInvalid == Drop {
				p.done[f.d.Offset] = true
				for o := f.d.Offset; f.d.Records > 0 && o <= f.d.Last; o++ {
					p.done[o] = true
				}
			}
			if r.Class == Delivered || refused && !f.d.DeadLettered && w.cfg.DeadLetterTopic == "" {
				w.over(p, f.d.Offset)
			}
		}
		results = append(results, r)
	}
	w.Outcomes(w.at, results)
	w.reconcile()
}
