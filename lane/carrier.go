package lane

import (
	"cmp"
	"fmt"

	"layover/journal/facts"
	"layover/purgatory"
)

// carrier carries out the core's effects.
type carrier struct {
	core    *purgatory.Core
	reading Reading
	box     *mailbox
	cfg     *Config
	visible bool // it has carried out something that is to be seen from outside
}

// carryOut carries out the effects since the last call.
func (c *carrier) carryOut() {
	e := c.core.Take()
	for _, w := range e.Writes {
		c.cfg.Journal.Write(w.TopicPartition, w.Write, func(r facts.Result) { c.box.order(written{w.Assignment, r}) })
	}
	for _, d := range e.Deletes {
		c.cfg.Journal.Delete(d.TopicPartition, d.Below, func(err error) { c.box.order(deleted{d, err}) })
	}
	for _, j := range e.Jumps {
		c.reading.Jump(j)
	}
	for i := range e.Halts {
		c.sayHalt(&e.Halts[i])
		c.reading.Halt(e.Halts[i])
	}
	for i := range e.Holds {
		c.cfg.Holding.note(&e.Holds[i])
	}
	c.visible = c.visible || len(e.Jumps)+len(e.Halts)+len(e.Holds) > 0
}

// news says whether something was carried out since the last call that is to be seen
// from outside.
func (c *carrier) news() bool {
	was := c.visible
	c.visible = false
	return was
}

// sayHalt logs that a partition stops reading, and the operator's next step.
func (c *carrier) sayHalt(h *purgatory.HaltNotice) {
	line := []any{"topic", h.Topic, "partition", h.Partition, "offset", h.Offset, "err", cmp.Or(h.Code, h.Reason)}
	command := fmt.Sprintf("layover skip %s/%d@%d", h.Topic, h.Partition, h.Offset)
	switch {
	case h.Truncated:
		c.cfg.Log.Error("partition stops reading", line...)
	case h.Copied:
		c.cfg.Log.Error("partition stops reading at a record of its runs topic; a restart with another LAYOVER_ON_INVALID goes on, "+
			"or with settings that allow the record", line...)
	case h.Unreadable:
		c.cfg.Log.Error("partition stops reading; with all instances stopped this command leaves out what stands there", append(line, "command", command)...)
	default:
		c.cfg.Log.Error("partition stops reading; /status has the reason, and a restart with another LAYOVER_ON_INVALID goes on, "+
			"or with all instances stopped this command, which leaves out what stands there", append(line, "command", command)...)
	}
}
