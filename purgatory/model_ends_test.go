package purgatory

import "fmt"

// What the model asks the core itself: what is still there, and so what has ended without an
// answer.

// entries visits all that is parked, due or in flight; entry is nil for what is parked.
func (w *world) entries(visit func(l location, e *entry)) {
	w.parking.wheel.Sweep(func(payload uint64) bool {
		loc, _ := parked(payload)
		visit(loc, nil)
		return false
	})
	each := func(q *queue) { q.each(func(e *entry) { visit(e.loc, e) }) }
	for _, p := range w.Core.parts.list {
		if p != nil {
			each(&p.src.waiting)
			each(&p.src.behind)
		}
	}
	for _, t := range w.out.dir.list {
		if t != nil {
			each(&t.queue)
			for _, d := range t.dests {
				each(&d.overflow)
			}
		}
	}
	for i := range w.out.flights.list {
		if f := &w.out.flights.list[i]; f.busy {
			visit(f.entry.loc, &f.entry)
		}
	}
}

// bound says whether a record is bound for the dead-letter topic, which patience decides.
func (w *world) bound(no int, o int64) (bound bool) {
	slot := w.Core.parts.byTopic[partitionOf(int32(no))].src.slot
	w.entries(func(l location, e *entry) {
		if h := readHeader(w.store.at(l)); h.slot == slot && h.offset == o && h.marks&isEvent == 0 && e != nil && e.failure != nil {
			bound = true
		}
	})
	return bound
}

// reconcile finds the records and events that have ended without an answer, and asks why.
func (w *world) reconcile() {
	w.Helper()
	found := map[string]bool{}
	w.entries(func(l location, _ *entry) {
		h, body := w.store.read(l)
		if p := w.Core.parts.list[h.slot]; h.marks&isEvent != 0 {
			found[eventKey(p.Epoch, Delivery{Body: body})] = true
		} else {
			found[fmt.Sprint(p.Epoch, p.Partition, h.offset)] = true
		}
	})
	for no := range w.parts {
		p := &w.parts[no]
		for o := range p.log {
			o := int64(o)
			life := p.ids.lives[o]
			doubtful, expires := p.ids.expires[o]
			if life == nil && !expires || found[fmt.Sprint(p.epoch, no, o)] {
				continue
			}
			switch rec := &p.log[o]; {
			case life != nil && len(life.pending) > 0 && life.doubtful:
				w.withdrawn(no, o)
			case rec.expires && rec.expireMs <= max(w.at.WallMs, rec.deadline) && !doubtful && (life == nil || !life.doubtful):
				w.over(p, o)
				w.say(p, Expired, rec.id, o, -1, o)
			default:
				w.Fatalf("%d@%d is gone: %+v", no, o, life)
			}
		}
		for key := range p.ids.owed {
			if !found[key] {
				w.answeredEvent(p, key, false, true)
			}
		}
	}
	if got := w.stats.Events["given_up"]; got != w.unsaid {
		w.Fatalf("%d events are given up, want %d", got, w.unsaid)
	}
}

// empty holds a core without records to having no ids.
func (w *world) empty() {
	if c := &w.commands; len(c.pending) > 0 || c.index.table.Len() > 0 || w.store.slots.Len() > 0 || w.replays.barred > 0 {
		w.Fatalf("left: commands for %d records, %d ids, %d names, %d barriers", len(c.pending), c.index.table.Len(), w.store.slots.Len(), w.replays.barred)
	}
}
