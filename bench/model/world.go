package model

import (
	"fmt"
	"math/rand/v2"

	"layover/journal/facts"
	"layover/journal/runs"
	"layover/offsets"
	"layover/purgatory"
	"layover/purgatory/far"
	"layover/wheel"
)

const (
	startMs = 1_772_370_000_000

	// bodySize is what the core keeps of a record: key of 16 bytes, value of 100, a delay.
	bodySize = 138
	// copyBytes is what it takes in the runs topic before compression, and addedBytes is what of it
	// the header of copies is.
	copyBytes, addedBytes = bodySize + addedBytes, 55
	segmentBytes          = 64 << 20
	thrice                = 3
	answerBytes           = 1 << 20
	stepMs                = 60_000
)

// written is a copy in the log; a directory has no origin.
type written struct {
	deadlineMs int64
	origin     int64 // offset in ingress, -1 of a directory
	run        uint64
}

// world is one partition, its owner, and its runs partition.
type world struct {
	policy
	at     offsets.Assignment
	index  *far.Index
	reader purgatory.Reader
	body   body
	dice   *rand.Rand

	now  int64
	next int64 // offset in ingress
	base int64 // offset of log[0]
	log  []written
	dir  directory

	count  Count
	live   int64 // copies that are not finished
	moves  []purgatory.Move
	sent   []purgatory.Delivery
	wanted []purgatory.Visit
	taken  []int
	err    error // the first
}

// directory is the last one in the log.
type directory struct {
	purgatory.Listing
	at int64
}

// Count is what has happened.
type Count struct {
	Read, Delivered int64
	Moved, Again    int64 // copies written, and those of them that were moved again
	Fetches, Visits int64
	Loaded          int64
	MostRuns        int // at a time
	// MostLog is the log where it was largest beside three times the live bytes, and ItsLive are the
	// live bytes. Segments is by how many segments of 64 MiB it was larger.
	MostLog, ItsLive  int64
	Segments          float64
	Stopped           bool    // there were so many runs that nothing more was moved
	Waiting, LogBytes int64   // of the end: copies, bytes
	Seconds           float64 // of virtual time that were counted
	Runs              int     // of the end
	Memory            int64   // of the end, as the core accounts for it
	Directory         int     // bytes of the last one
}

type body []byte

func (b *body) Size() int      { return len(*b) }
func (b *body) Put(dst []byte) { copy(dst, *b) }

// newWorld returns a partition that may have so many bytes of memory, beside others of its lane.
func newWorld(share, others int64, seed uint64) *world {
	w := &world{at: offsets.Assignment{TopicPartition: offsets.TopicPartition{Topic: "delayed"}, Epoch: 1}, now: startMs,
		body: make(body, bodySize), dice: rand.New(rand.NewPCG(seed, 3))}
	core := purgatory.New(purgatory.Config{Geometry: wheel.DefaultGeometry(), HeldShare: 1 << 40, MaxInFlight: 1000, MaxInFlightBytes: 1 << 20,
		LargestChunk: int(min(256<<10, share/64))}, w.clock())
	w.policy = policy{core: core, share: share, lane: share * (1 + others), ahead: leastAhead}
	core.Assign(facts.Assigned{Assignment: w.at, Window: offsets.NewWindow(0), Committed: true})
	w.reader, _ = core.Reader(w.at.TopicPartition, w.at.Epoch)
	w.index = far.New(far.Beginning{Writer: 1, Window: offsets.NewWindow(0)})
	core.Runs().Begin(w.at, offsets.TopicID{1}, w.index, 0)
	core.Runs().Usable("delayed", true)
	return w
}

func (w *world) clock() purgatory.Clock {
	return purgatory.Clock{WallMs: w.now, MonotonicMs: w.now - startMs, AnsweredMs: w.now - startMs}
}

// arrive reads a record that is due after a delay.
func (w *world) arrive(delayMs int64) {
	a := purgatory.Arrival{Offset: w.next, TimestampMs: w.now, DeadlineMs: w.now + delayMs, Target: "ready", Label: "ready", Body: &w.body}
	w.next++
	w.count.Read++
	if w.reader.Wants(a.Offset, 0) != purgatory.Whole || !w.reader.Read(&a) {
		w.fail("the core did not take offset %d", a.Offset)
	}
}

func (w *world) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

// turn does all that is to be done at an instant.
func (w *world) turn(now int64) {
	w.now = now
	for w.core.Tick(w.clock(), 1<<14) {
		w.deliver()
	}
	w.deliver()
	w.flush()
	w.visit()
	w.clean()
	for _, d := range w.core.Runs().Deletions(nil) {
		w.delete(d)
	}
	w.commit()
	w.look()
}

// deliver delivers what is due.
func (w *world) deliver() {
	for {
		for _, t := range w.core.Wanted(nil) {
			w.core.Targets([]purgatory.TargetState{{TargetName: t, Verdict: purgatory.Usable, Partitions: 1}})
		}
		if w.sent = w.core.Offer(w.sent[:0], 1024); len(w.sent) == 0 {
			return
		}
		results := make([]purgatory.Result, len(w.sent))
		for i, d := range w.sent {
			results[i] = purgatory.Result{ID: d.ID, Class: purgatory.Delivered}
			w.count.Delivered++
			if d.Copy > 0 {
				w.live--
			}
			if d.DeadlineMs > w.now {
				w.fail("offset %d is early", d.Offset)
			}
		}
		w.core.Outcomes(w.clock(), results)
	}
}

// flush moves as much as the policy says.
func (w *world) flush() {
	r := w.core.Runs()
	for !r.Moving() && w.begins(w.now) {
		for more := true; more; {
			size := w.used() - w.goal
			switch more = false; {
			case w.kept:
				more = r.GatherKept(w.now+w.horizon, w.now+shortestMs, gatherBudget)
			case w.copies:
				more = r.GatherCopies(w.now+w.horizon, gatherBudget)
			case size > 0:
				_, more = r.Gather(w.now+w.horizon, size, gatherBudget)
			}
		}
		if !r.Moving() {
			w.rested = w.now + 1000
			break
		}
		for r.Moving() {
			before := w.count.Moved
			w.move()
			w.commit()
			if w.count.Moved == before && r.Moving() && !w.asked() { // too near by now, and parked again
				break
			}
		}
		w.list()
	}
	w.count.Stopped = w.count.Stopped || w.index.Full()
}

// asked has the log asked whether it is still the same, and reports whether that was wanted. After so many
// copies nothing more is moved before the log was asked.
func (w *world) asked() (asked bool) {
	w.wanted = w.core.Runs().Visits(w.wanted[:0], w.soon(), w.ahead)
	for _, v := range w.wanted {
		asked = asked || v.From == v.To
		w.read(v)
	}
	return asked
}

// move writes copies, whose answers come at once.
func (w *world) move() {
	w.moves = w.core.Runs().Offer(w.moves[:0], copyBudget)
	answers := make([]purgatory.Answer, len(w.moves))
	for i, m := range w.moves {
		answers[i] = purgatory.Answer{ID: m.ID, Acked: true, Offset: w.end(), Bytes: copyBytes}
		w.log = append(w.log, written{m.DeadlineMs, m.Offset, m.Run})
		w.count.Moved++
		w.live++
		if m.Copy > 0 {
			w.count.Again++
			w.live--
		}
	}
	w.core.Runs().Moved(w.clock(), answers)
}

func (w *world) end() int64 { return w.base + int64(len(w.log)) }

// list writes the directory of a flush.
func (w *world) list() {
	for _, l := range w.core.Runs().Listings(nil) {
		w.dir = directory{l, w.end()}
		w.log = append(w.log, written{origin: -1})
		w.core.Runs().Listed(&l, true, w.dir.at)
	}
}

// commit has every commit accepted. There is no journal, which would tell the index as well.
func (w *world) commit() {
	for _, c := range w.core.Commits(nil, false) {
		w.core.Committed(offsets.CommitResult{Commit: c})
		w.index.Committed(c.Runs.Low)
	}
}

// visit reads what is due soon.
func (w *world) visit() {
	w.pace(w.now)
	if w.now < w.due {
		return
	}
	for {
		w.wanted = w.core.Runs().Visits(w.wanted[:0], w.soon(), w.ahead)
		if len(w.wanted) == 0 {
			break
		}
		for _, v := range w.wanted {
			w.read(v)
		}
	}
	w.due = w.now + paceEvery
	if ms, ok := w.core.Runs().NextVisit(w.soon()); ok {
		w.due = min(w.due, max(ms, w.now+1))
	}
}

// read answers a visit, and parks what it brings. It returns how many those are.
func (w *world) read(v purgatory.Visit) {
	until := min(v.To, max(v.From+purgatory.MostVisit/copyBytes, v.From+1), w.end())
	answer := purgatory.Visited{Visit: v, Until: until, Highest: -1, Ended: until == v.From, LogEnd: w.end()}
	for o := max(v.From, w.base); o < until; o++ {
		if c := &w.log[o-w.base]; c.origin >= 0 {
			answer.Found = append(answer.Found, far.Found{Offset: o, DeadlineMs: c.deadlineMs, Bytes: copyBytes, Writer: w.index.Writer(), Run: c.run})
		}
	}
	w.count.Visits++
	w.count.Fetches += max(1, (until-v.From)*copyBytes/answerBytes)
	w.taken, _ = w.core.Runs().Take(&answer, w.ahead, w.roomOf(v.Whole), w.taken[:0])
	loader, ok := w.core.Loader(w.at)
	if !ok {
		w.fail("no loader")
		return
	}
	for _, i := range w.taken {
		f := &answer.Found[i]
		w.count.Loaded++
		loader.Load(f.Offset, &purgatory.Arrival{Offset: w.log[f.Offset-w.base].origin, TimestampMs: startMs, DeadlineMs: f.DeadlineMs,
			Target: "ready", Label: "ready", Reloaded: v.Whole, Body: &w.body})
	}
}

// few returns how many small runs become one.
func (w *world) few() int {
	most := w.lane / fewShare / far.RunSize / (w.lane / w.share)
	return int(max(leastFew, min(most, fewSmall)))
}

// clean loads what is to be moved again.
func (w *world) clean() {
	if w.now < w.cleaned {
		return
	}
	for w.roomOf(true) >= w.share/cleanPart {
		if w.wanted, _ = w.core.Runs().Cleanings(w.wanted[:0], far.Cleaning{Slack: cleanSlack, Small: w.lane / 64, Few: w.few()}, w.roomOf(true), 1); len(w.wanted) == 0 {
			break
		}
		w.cleaning = true
		w.read(w.wanted[0])
	}
	w.again = w.again || w.cleaning
	w.cleaning, w.cleaned = false, w.now+cleanRestMs
}

func (w *world) delete(d purgatory.RunsDelete) {
	if n := d.Below - w.base; n > 0 {
		w.log = w.log[n:]
		w.base = d.Below
		if cap(w.log) > 4*len(w.log)+1024 {
			w.log = append(make([]written, 0, 2*len(w.log)), w.log...)
		}
	}
	w.core.Runs().Deleted(d, nil)
}

// look notes the extremes.
func (w *world) look() {
	_, runs := w.index.Waiting()
	w.count.MostRuns = max(w.count.MostRuns, runs)
	disk, live := w.diskBytes(), w.live*copyBytes
	if beside := float64(disk-thrice*live) / segmentBytes; beside > w.count.Segments {
		w.count.Segments, w.count.MostLog, w.count.ItsLive = beside, disk, live
	}
}

// diskBytes is what the log takes: whole closed segments are freed.
func (w *world) diskBytes() int64 {
	const each = segmentBytes / copyBytes // offsets of a segment
	return (w.end() - w.base/each*each) * copyBytes
}

// loaded is how many copies are in memory.
func (w *world) loaded() (n int64) {
	w.index.Taken(func(int64) bool { n++; return true })
	return n
}

// finish completes the count.
func (w *world) finish() (Count, error) {
	c := w.count
	_, c.Runs = w.index.Waiting()
	c.Waiting, c.LogBytes, c.Memory = w.live, w.diskBytes(), w.core.Bytes()
	if value, err := runs.AppendDirectory(nil, runs.Identity{}, &w.dir.Directory); err != nil {
		w.fail("directory: %v", err)
	} else {
		c.Directory = len(value)
	}
	return c, w.err
}
