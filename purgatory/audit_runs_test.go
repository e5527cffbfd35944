package purgatory

// auditRuns recounts what is on its way to the runs topics, and returns how many records it is.
func (r *rig) auditRuns(n *census) (all int64) {
	r.Helper()
	moving, alone, bytes, gathered := map[*source]int{}, map[*source]int{}, map[*source]int64{}, int64(0)
	silent := silence{} // as far as it counts among what is gathered
	for id, c := range r.runs.flying {
		if c.from == nil {
			continue
		}
		if c.size > AloneBytes {
			alone[c.from]++
		}
		if moving[c.from]++; c.given { // whoever has the record now counts it
			bytes[c.from] += c.size
			if size := r.store.retained[c.loc]; size > 0 {
				n.live[int(c.loc>>locationBits)]++
				n.ids.used[int(c.loc>>locationBits)] += int32(size)
				n.used += int64(size)
			}
			continue
		}
		h := n.note(r.Core, c.loc)
		if c.size != int64(h.total()) {
			r.Errorf("move %d counts %d bytes, has %d", id, c.size, h.total())
		}
		bytes[c.from] += c.size
		gathered += c.size
		all++
		if m := &r.parts.list[c.from.slot].moved; r.now.MonotonicMs >= min(m.answeredMs, m.gatheredMs)+silentMs {
			silent.records++
			silent.bytes += c.size
		}
	}
	for _, p := range r.parts.list {
		if p == nil {
			continue
		}
		before, waits := int64(0), silence{}
		for _, list := range p.moved.gathered {
			if len(list) == 0 {
				r.Errorf("partition %d has gathered an empty list", p.Partition)
			}
			before = 0
			for _, w := range list {
				if h := n.note(r.Core, w.loc); h.deadlineMs != w.deadlineMs || h.deadlineMs < before || r.parts.list[h.slot] != p {
					r.Errorf("partition %d has gathered %+v behind %d, whose header is %+v", p.Partition, w, before, h)
				}
				h := readHeader(r.store.at(w.loc))
				before = w.deadlineMs
				gathered += int64(h.total())
				waits.records, waits.bytes = waits.records+1, waits.bytes+int64(h.total())
				all++
			}
		}
		if p.moved.gatheredBytes != waits.bytes {
			r.Errorf("partition %d counts %d bytes gathered, recount %d", p.Partition, p.moved.gatheredBytes, waits.bytes)
		}
		if r.now.MonotonicMs >= p.moved.gatheredMs+silentMs || p.src.moving > 0 && r.now.MonotonicMs >= p.moved.answeredMs+silentMs {
			silent.records, silent.bytes = silent.records+waits.records, silent.bytes+waits.bytes
		}
		if n := alone[p.src]; p.moved.flyingAlone != n || n > aloneInFlight {
			r.Errorf("partition %d counts %d large copies in flight, recount %d", p.Partition, p.moved.flyingAlone, n)
		}
		if p.src.moving != moving[p.src] || p.moved.flyingBytes != bytes[p.src] {
			r.Errorf("partition %d counts %d moves of %d bytes, recount %d of %d", p.Partition, p.src.moving, p.moved.flyingBytes, moving[p.src], bytes[p.src])
		}
	}
	if got := r.runs.MovingBytes(); r.stats.Gathered != all || got != gathered-silent.bytes {
		r.Errorf("%d gathered of %d bytes, recount %d of %d, silent %+v", r.stats.Gathered, got, all, gathered, silent)
	}
	if got := r.runs.Moving(); got != (all > silent.records) {
		r.Errorf("moving %t, of %d gathered %d are silent", got, all, silent.records)
	}
	return all
}
