package purgatory

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"layover/offsets"
)

// What the model believes about ids, commands, expiries and events. It knows nothing of
// queues: a record waits, is in flight, is bound for the dead-letter topic, or has ended.

// lifeModel is a record that was read and has not ended.
type lifeModel struct {
	id       string
	doubtful bool           // an attempt may have been written
	pending  []commandModel // they wait for its answer
	missed   []int64        // commands that came when it was bound for the dead-letter topic
}

type commandModel struct {
	by              int64
	cancel, counted bool
	copied          bool
}

// owedModel is an event that has not been said, and the offsets that its end finishes.
type owedModel struct {
	finishes []int64
	pair     int64 // the command whose record it finishes, -1 for none
}

// idModel is what one assignment knows of ids.
type idModel struct {
	lives   map[int64]*lifeModel // with an id
	expires map[int64]bool       // of those without one, those that expire: doubtful or not
	newest  map[string]int64     // by id
	owed    map[string]owedModel // events by key
	said    map[string]bool
}

func newIDModel() idModel {
	return idModel{lives: map[int64]*lifeModel{}, expires: map[int64]bool{}, newest: map[string]int64{}, owed: map[string]owedModel{}, said: map[string]bool{}}
}

// barrierModel is whether nothing with an id is offered.
type barrierModel struct {
	shut    bool
	idle    bool // that is why it is open
	stopped bool
	readMs  int64
}

// eventText is the body of an event: to partition 0.
func eventText(e *Event) Body {
	return text(fmt.Sprintf("0%s %s %d by %d, due %d at %d", e.Kind, e.ID, e.Offset, e.By, e.DueMs, e.AtMs))
}

func eventKey(epoch uint64, d Delivery) string {
	body, _, _ := strings.Cut(string(d.Body), ",")
	return fmt.Sprint(epoch, body)
}

// identify gives some records an id, and makes some of those commands.
func (w *world) identify(rec *logged) {
	switch n := w.dice.roll(16); {
	case n < 8:
		rec.id = []string{"a", "bb", strings.Repeat("c", 200), "a"}[n%4]
		rec.cancel = n >= 5
		rec.copied = n == 7
		rec.idAt = len(rec.body)
		rec.body += string(binary.AppendUvarint(nil, uint64(len(rec.id)+1))) + rec.id
	}
	if n := w.dice.roll(12); n < 3 && !rec.cancel {
		rec.expires, rec.expireMs = true, []int64{0, 30, 5000}[n]-int64(w.dice.roll(10))
	}
}

// describe says in an arrival what the record has beside a deadline.
func (w *world) describe(a *Arrival, rec *logged) {
	w.expiring = w.expiring || rec.expires
	a.Cancel = rec.cancel
	a.Expires, a.ExpireMs = rec.expires, rec.expireMs
	if rec.id != "" {
		a.ID, a.IDAt, a.Copied = []byte(rec.id), rec.idAt, rec.copied
	}
}

// taken notes a record that was read.
func (w *world) taken(p *partitionModel, o int64, a *Arrival) {
	rec := &p.log[o]
	if a.Control || a.Reason != "" {
		if a.Reason != "" && a.Cancel && w.cfg.DeadLetterTopic == "" {
			p.done[o] = true
		}
		return
	}
	no := 0
	for &w.parts[no] != p {
		no++
	}
	if rec.id == "" {
		if rec.expires {
			p.ids.expires[o] = false
		}
		return
	}
	w.command(no, rec.id, commandModel{by: o, cancel: rec.cancel, copied: rec.copied})
	if !rec.cancel {
		p.ids.lives[o] = &lifeModel{id: rec.id}
		p.ids.newest[rec.id] = o
	}
}

// command is the table of what happens to the victim of a command.
func (w *world) command(no int, id string, cmd commandModel) {
	p := &w.parts[no]
	victim, ok := p.ids.newest[id]
	switch life := p.ids.lives[victim]; {
	case !ok:
		w.miss(no, id, cmd)
	case w.bound(no, victim):
		life.missed = append(life.missed, cmd.by)
		// Its barrier was open, or it would not have got there before the command.
		p.called[victim] = slices.DeleteFunc(p.called[victim], func(by int64) bool { return by == cmd.by })
		w.miss(no, id, cmd)
	case w.sent[fmt.Sprint(p.epoch, no, victim)] || life.doubtful:
		life.pending = append(life.pending, cmd)
	default:
		w.end(no, victim, cmd)
	}
}

func (w *world) miss(no int, id string, cmd commandModel) {
	switch p := &w.parts[no]; {
	case !cmd.cancel || cmd.counted:
	case cmd.copied:
		p.done[cmd.by] = true
	default:
		w.say(p, CancelMiss, id, -1, cmd.by, cmd.by)
	}
}

// end ends a record that a command is about.
func (w *world) end(no int, victim int64, cmd commandModel) {
	p := &w.parts[no]
	id := p.ids.lives[victim].id
	p.called[victim] = append(p.called[victim], cmd.by)
	if w.over(p, victim); cmd.cancel {
		w.say(p, Cancelled, id, victim, cmd.by, victim, cmd.by)
	} else {
		w.say(p, Replaced, id, victim, cmd.by, victim)
	}
}

// over forgets a record that has ended.
func (w *world) over(p *partitionModel, o int64) {
	if life := p.ids.lives[o]; life != nil && p.ids.newest[life.id] == o {
		delete(p.ids.newest, life.id)
	}
	delete(p.ids.lives, o)
	delete(p.ids.expires, o)
}

// say expects an event. Where there is no topic for events its offsets are finished at once.
func (w *world) say(p *partitionModel, kind EventKind, id string, o, by int64, finishes ...int64) {
	if w.cfg.EventsTopic == "" {
		for _, o := range finishes {
			p.done[o] = true
		}
		return
	}
	key := fmt.Sprintf("%d0%s %s %d by %d", p.epoch, kind, id, o, by)
	if p.ids.said[key] {
		w.Fatalf("event %s twice", key)
	}
	pair := int64(-1)
	if kind == Cancelled || kind == Replaced {
		pair = by
	}
	p.ids.said[key], p.ids.owed[key] = true, owedModel{finishes, pair}
}

// offeredEvent holds an event to what is owed, and returns its key.
func (w *world) offeredEvent(p *partitionModel, d Delivery) string {
	key := eventKey(p.epoch, d)
	if _, owed := p.ids.owed[key]; !owed || w.sent[key] || d.Target != events || d.Reason != "" || d.DeadLettered {
		w.Fatalf("event %q to %s: owed is %v, in flight is %v", d.Body, d.Target, owed, w.sent[key])
	}
	if !p.assigned || p.revoked || !w.Core.parts.byTopic[partitionOf(d.Partition)].src.confirmed {
		w.Fatalf("event %q, but its partition may not deliver", d.Body)
	}
	return key
}

func (w *world) answeredEvent(p *partitionModel, key string, taken, givenUp bool) {
	if givenUp {
		w.unsaid++
	}
	if taken || givenUp {
		for _, o := range p.ids.owed[key].finishes {
			p.done[o] = true
		}
		delete(p.ids.owed, key)
	}
}

// offeredWithID holds a record with an id, or with an expiry, to the promises.
func (w *world) offeredWithID(p *partitionModel, rec *logged, d Delivery) {
	life := p.ids.lives[d.Offset]
	doubtful := p.ids.expires[d.Offset] || life != nil && life.doubtful
	if d.Reason == "" && rec.expires && !doubtful && rec.expireMs <= max(w.at.WallMs, rec.deadline) {
		w.Fatalf("%d@%d offered %d ms after its expiry", d.Partition, d.Offset, w.at.WallMs-rec.expireMs)
	}
	if d.Reason == reasonExpired && (!rec.expires || doubtful) {
		w.Fatalf("%d@%d is dead-lettered as expired", d.Partition, d.Offset)
	}
	if rec.invalid || rec.id == "" {
		return
	}
	if rec.cancel || life == nil {
		w.Fatalf("%d@%d offered, but it is a cancel, or has ended", d.Partition, d.Offset)
	}
	if p.barrier.shut {
		w.Fatalf("%d@%d offered before its barrier", d.Partition, d.Offset)
	}
	if d.Reason == "" && len(life.pending) > 0 && !life.doubtful {
		w.Fatalf("%d@%d offered, though a command about it was read", d.Partition, d.Offset)
	}
	for _, by := range p.called[d.Offset] {
		if p.next > by && p.reads(by) && !life.doubtful && !slices.Contains(life.missed, by) && !slices.ContainsFunc(life.pending, func(cmd commandModel) bool { return cmd.by == by }) {
			w.Fatalf("%d@%d offered as %q, though the command at %d has ended it: %+v", d.Partition, d.Offset, d.Reason, by, life)
		}
	}
}

// answeredWithID takes the answer to a record with an id, or with an expiry; false where it is
// that of any other record.
func (w *world) answeredWithID(no int, d Delivery, class Class) bool {
	p := &w.parts[no]
	life := p.ids.lives[d.Offset]
	if d.Reason != "" || life == nil {
		if doubtful, ok := p.ids.expires[d.Offset]; ok && d.Reason == "" {
			p.ids.expires[d.Offset] = doubtful || class == Unknown
		}
		return false
	}
	if class == Unknown {
		life.doubtful = true
	}
	aboutIt := d.Alone && (class == Rejected || class == TooLarge)
	switch {
	case len(life.pending) == 0:
		return false
	case class == Unknown || class != Delivered && life.doubtful && !aboutIt:
		return true // sent again, and its commands wait on
	case class == Delivered:
		w.over(p, d.Offset)
		p.done[d.Offset] = true
		for _, cmd := range life.pending {
			if cmd.cancel {
				w.say(p, TooLate, life.id, d.Offset, cmd.by, cmd.by)
			}
		}
	default:
		w.withdrawn(no, d.Offset)
	}
	return true
}

// withdrawn ends a record that no target has by the first command that waits for it.
func (w *world) withdrawn(no int, o int64) {
	life := w.parts[no].ids.lives[o]
	w.end(no, o, life.pending[0])
	for _, cmd := range life.pending[1:] {
		w.miss(no, life.id, cmd)
	}
}

// coversPairs holds a commit to the promise that a restart finds each command whose record it
// finds unfinished, or that the command counts again.
func (w *world) coversPairs(p *partitionModel, set *offsets.Window, again int64) {
	check := func(o, by int64) {
		if !set.Finished(o) && set.Finished(by) && by < again {
			w.Fatalf("a restart finds %d without the command at %d: commands count from %d on", o, by, again)
		}
	}
	for o, life := range p.ids.lives {
		for _, cmd := range life.pending {
			check(o, cmd.by)
		}
	}
	for o, all := range p.called {
		for _, by := range all {
			if by < p.next && p.reads(o) && p.reads(by) && (p.ids.lives[o] == nil || !slices.Contains(p.ids.lives[o].missed, by)) {
				check(o, by)
			}
		}
	}
}

// reads reports whether every assignment reads a record as such: no letter stands for it in
// any, and the log has not lost it.
func (p *partitionModel) reads(o int64) bool { return p.log[o].batch == nil && o >= p.start }

// elapse lets time go by.
func (w *world) elapse(ms int64) {
	w.pass(ms)
	w.ticked()
}

// ticked notes what a tick does to the barriers.
func (w *world) ticked() {
	for no := range w.parts {
		p := &w.parts[no]
		switch {
		case !p.assigned:
		case p.next >= p.stableEnd:
			p.barrier.shut, p.barrier.idle, p.stableEnd = false, false, 0 // for good
		default:
			open := w.paused || p.barrier.stopped || w.Core.parts.byTopic[partitionOf(int32(no))].halted != nil
			p.barrier.idle = !open && w.at.AnsweredMs-p.barrier.readMs >= 30_000
			p.barrier.shut = !open && !p.barrier.idle
		}
	}
}

// wasRead notes that something of a partition is read: it is not idle any more.
func (w *world) wasRead(p *partitionModel) {
	p.barrier.readMs = w.at.AnsweredMs
	if p.barrier.idle {
		p.barrier.shut, p.barrier.idle = true, false
	}
}

// disturb changes what opens a barrier.
func (w *world) disturb(p *partitionModel, no int) {
	switch w.dice.roll(3) {
	case 0:
		w.paused = !w.paused
		w.Replays().Reading(w.paused)
	case 1:
		if p.assigned && w.dice.roll(3) == 0 {
			p.barrier.stopped = true
			w.Replays().Stopped(partitionOf(int32(no)), p.epoch)
		}
	default:
		w.elapse(15_000)
	}
}
