package consumer

// Turns is how often the loops of a Consumer have turned.
type Turns struct {
	Poll      int64 // of Run
	Ends      int64 // of WatchEnds
	Committer int64
	Loading   int64 // of all loadings together
}

// Turns returns how often the loops have turned, from any goroutine.
func (c *Consumer) Turns() Turns {
	t := Turns{Poll: c.poll.turns.Load(), Ends: c.endTurns.Load()}
	if c.begun() {
		t.Committer, t.Loading = c.committer.turns.Load(), c.loader.turns.Load()
	}
	return t
}
