package sim

// copies lets an instance end its moves, and read what is due.
func (d drain) copies(in *instance) {
	if !d.cfg.Runs {
		return
	}
	for p := range d.logs {
		for in.open(p) {
		}
	}
	for range 100 {
		moved, listed := in.move(1000), in.list()
		for len(in.copies) > 0 && d.err == nil {
			c := in.copies[0]
			if !c.applied {
				d.land(c)
			}
			in.copies = in.copies[1:]
			in.copied(c, c.applied)
		}
		visits := d.apply(Action{Kind: Visit, I: in.no})
		for len(in.visits) > 0 && d.err == nil {
			in.visited(0, 0)
		}
		if !moved && !listed && !visits {
			break
		}
	}
	d.apply(Action{Kind: Clear, I: in.no})
	for len(d.runs.deletes) > 0 && d.err == nil {
		d.apply(Action{Kind: RunsDelete})
	}
}
