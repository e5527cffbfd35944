package delay

// parseExpiry completes d with the instant from which on the record is not handed out. An
// instant up to the deadline is valid: the record expires when it is read.
func (r *Rules) parseExpiry(c *control, d *Decision) *Invalid {
	switch {
	case c.has(kindExpireAt):
		return d.expire(HeaderExpireAt, c.value(kindExpireAt))
	case c.other(roleExpiry) != nil:
		o := c.other(roleExpiry)
		return d.expire(c.word(o).name, c.text(o))
	case r.ExpireAfter > 0:
		if ms := addSat(d.DeadlineMs, ceilMs(r.ExpireAfter)); ms > d.DeadlineMs { // else no clock ever gets there
			d.Expires, d.ExpireMs = true, ms
		}
	}
	return nil
}

// ExpiresUnsent says whether the record expires before it could be delivered, so that it ends
// when it is read. Then its deadline may be however far ahead: nothing waits for that, and
// the clock never makes such a record valid or invalid.
func (d *Decision) ExpiresUnsent() bool { return d.Expires && d.ExpireMs <= d.DeadlineMs }

// expire completes d with the instant in a header.
func (d *Decision) expire(name string, value []byte) *Invalid {
	ms, f := parseInstant(value, down)
	if f != fine {
		return malformed(ReasonMalformedExpireAt, name, value, f)
	}
	d.Expires, d.ExpireMs = true, ms
	return nil
}
