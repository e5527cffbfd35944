package purgatory

// heldQueue is one of the queues in which a target's records are held.
type heldQueue struct {
	since int64 // of its first record
	queue *queue
	of    *dest // nil: it is the target's own queue
}

// before reports whether a record of a is given up before those of b: the target's own queue, and then its partitions in
// their order, where both have been held since the same instant.
func (a *heldQueue) before(b *heldQueue) bool {
	switch {
	case a.since != b.since:
		return a.since < b.since
	case a.of == nil || b.of == nil:
		return a.of == nil
	}
	return a.of.no < b.of.no
}

// heldQueues is a binary heap of a target's queues that hold records: in front is the one whose first record has been held
// longest. It is built once for all that one look gives up, as a target may have thousands of partitions.
type heldQueues []heldQueue

// heldQueues returns the queues that hold a target's records, in the memory of hs.
func (t *target) heldQueues(hs heldQueues) heldQueues {
	hs = hs[:0]
	if t.hold.held && t.queue.count > 0 {
		hs = append(hs, heldQueue{t.queue.front().since, &t.queue, nil})
	}
	if t.overflow > 0 {
		for _, d := range t.dests {
			if d.stalled && d.overflow.count > 0 {
				hs = append(hs, heldQueue{d.overflow.front().since, &d.overflow, d})
			}
		}
	}
	for i := len(hs)/2 - 1; i >= 0; i-- {
		hs.sink(i)
	}
	return hs
}

// pop takes the record out that has been held longest.
func (hs *heldQueues) pop() entry {
	all := *hs
	e := all[0].queue.pop()
	if first := all[0].queue.front(); first != nil {
		all[0].since = first.since
	} else {
		last := len(all) - 1
		all[0], all[last] = all[last], heldQueue{}
		all = all[:last]
	}
	all.sink(0)
	*hs = all
	return e
}

// sink moves a queue behind those that are before it.
func (hs heldQueues) sink(i int) {
	for child := 2*i + 1; child < len(hs); child = 2*i + 1 {
		if child+1 < len(hs) && hs[child+1].before(&hs[child]) {
			child++
		}
		if hs[i].before(&hs[child]) {
			return
		}
		hs[i], hs[child] = hs[child], hs[i]
		i = child
	}
}
