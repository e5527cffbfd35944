package consumer

import "sync/atomic"

// turns counts the turns of a consumer's loops; that of the poll loop is with it.
type turns struct{ ends, committer, loading atomic.Int64 }

// Turns is how often the loops of a Consumer have turned.
type Turns struct {
	Poll      int64 // of Run
	Ends      int64 // of WatchEnds
	Committer int64
	Loading   int64 // of all loadings together
}

// Turns returns how often the loops have turned, from any goroutine.
func (c *Consumer) Turns() Turns {
	t := &c.turns
	return Turns{Poll: c.poll.turns.Load(), Ends: t.ends.Load(), Committer: t.committer.Load(), Loading: t.loading.Load()}
}
