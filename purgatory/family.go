package purgatory

import "math"

// family is what is held for all targets that one glob allows. They have one share of
// memory together: whoever writes headers can invent any number of targets, and the
// shares of all would be more than there is.
type family struct {
	own    int64 // bytes held here, with heldTargetSize for each target that holds any
	most   int64 // of own, as of the last look at what other cores hold
	shared bool  // other cores were told of bytes held here
}

// heldTargetSize is what a target counts with in its family's share beside its records,
// in bytes: itself, its queue and its first chunk.
const heldTargetSize = 1 << 10

// weighFamilies adds up what each family holds, here and in other cores. A family over
// the share has to come down to its part of it here, so that not every core gives up
// what all are over by.
func (c *Core) weighFamilies() {
	for _, f := range c.families {
		f.own = 0
	}
	for _, t := range c.busy {
		if t.label == t.name || t == c.dead {
			continue
		}
		if n, bytes := t.held(); n > 0 {
			c.family(t.label).own += bytes + heldTargetSize
		}
	}
	for label, f := range c.families {
		var elsewhere int64
		if c.cfg.HeldElsewhere != nil && (f.own > 0 || f.shared) {
			f.shared = f.own > 0
			elsewhere = c.cfg.HeldElsewhere(label, "", f.own)
		}
		f.most = math.MaxInt64
		if all := f.own + elsewhere; all > c.cfg.HeldShare {
			f.most = int64(float64(c.cfg.HeldShare) * float64(f.own) / float64(all))
		}
		if f.own == 0 && !f.shared {
			delete(c.families, label)
		}
	}
}

func (c *Core) family(label string) *family {
	f := c.families[label]
	if f == nil {
		f = new(family)
		c.families[label] = f
	}
	return f
}

// shed notes that a held record was given up, and how many its target has left.
func (f *family) shed(bytes int64, left int) {
	if f == nil {
		return
	}
	f.own -= bytes
	if left == 0 {
		f.own -= heldTargetSize
	}
}
