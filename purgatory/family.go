package purgatory

// family is the targets that one glob allows, or those of one name where targets are apart by ingress topic. They have
// one share of memory together for what is held, and one for what waits behind refusals. Whoever writes headers can
// invent any number of targets, and the shares of all would be more memory than there is.
type family struct {
	own       ShareBytes // of this core; Held with heldTargetSize for each target that holds any
	limit     int64      // of own.Held, as of the last look
	elsewhere ShareBytes // of other cores, as of the last Elsewhere
	shared    bool       // Shares has told of own
}

// heldTargetSize is a target's part of its family's share beside its records, in bytes:
// itself, its queue and its first chunk.
const heldTargetSize = 1 << 10

// families are the families for which something waits, by label.
type families map[string]*family

// addUp adds up the bytes that wait here for each family.
func (fs families) addUp(busy []*target, dead *target, nowMs int64) {
	for _, f := range fs {
		f.own = ShareBytes{}
	}
	for _, t := range busy {
		if t.label == t.name && t.key.Ingress == "" || t == dead {
			continue
		}
		if n, bytes := t.held(); n > 0 {
			fs.of(t.label).own.Held += bytes + heldTargetSize
		}
		if bytes := t.rejected(nowMs); bytes > 0 {
			fs.of(t.label).own.Rejected += bytes
		}
	}
}

// weigh compares the bytes that each family holds, in all cores, with the share. A family
// over it comes down to its part here: no core alone gives up the excess of all.
func (fs families) weigh(share int64) {
	for label, f := range fs {
		f.limit = partOf(share, f.own.Held, f.elsewhere.Held)
		if f.own == (ShareBytes{}) && !f.shared {
			delete(fs, label)
		}
	}
}

// of returns the family of a glob, and makes it where it is new.
func (fs families) of(label string) *family {
	f := fs[label]
	if f == nil {
		f = new(family)
		fs[label] = f
	}
	return f
}

// shed notes that a held record was given up, and how many its target has left.
func (f *family) shed(bytes int64, left int) {
	if f == nil {
		return
	}
	f.own.Held -= bytes
	if left == 0 {
		f.own.Held -= heldTargetSize
	}
}
