package copies

import (
	"context"
	"sync"

	"layover/cluster"
	"layover/journal/runs"
	"layover/purgatory/far"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Looked is the result of a look at a runs partition.
type Looked struct {
	Opening *far.Opening   // what Open would find; nil: Err says why not
	Bounds  cluster.Bounds // of the runs partition; its zero value where nobody answered
	// Journal names the finished copies that the journal misses. They count as unfinished.
	Journal error
	// Directory is why the directory that the commit names is not used; nil where it is, or
	// where none is named.
	Directory error
	Err       error
}

// Look finds out what Open would, for somebody who shows it: it asks once, and returns an
// answer for each ask, in their order. It writes nothing, and logs what Open would. No two
// asks may be of one partition.
func (c *Copies) Look(ctx context.Context, asks []far.Ask) []Looked {
	all, round := make([]Looked, len(asks)), make([]*opening, len(asks))
	var looking sync.WaitGroup
	for i, ask := range asks {
		looking.Add(1)
		round[i] = &opening{ask: ask, at: c.at(ask.TopicPartition), over: ctx.Done(), look: &all[i], done: func(found *far.Opening) {
			all[i].Opening = found
			if found == nil && all[i].Err == nil {
				all[i].Err = context.Cause(ctx)
			}
			looking.Done()
		}}
	}
	if len(round) > 0 {
		c.round(round)
	}
	looking.Wait()
	return all
}

// unusable notes why the directory that the commit names is not used.
func (o *opening) unusable(why error) {
	if o.look != nil {
		o.look.Directory = why
	}
}

// Find reads a record as a visit does. The error is that of [runs.ReadCopy]. With ErrNoCopy and
// ErrDamaged it is no copy; with ErrForeign and ErrNewer it is one that is never due.
func Find(id runs.Identity, rec *kgo.Record) (far.Found, error) {
	f, _, _, err := find(id, rec)
	return f, err
}
