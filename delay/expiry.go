package delay

// parseExpiry completes d with the instant from which on the record is not handed out. An
// instant up to the deadline is valid: the record expires when it is read.
func (r *Rules) parseExpiry(c *control, d *Decision) *Invalid {
	switch {
	case c.has(kindExpireAt):
		value := c.value(kindExpireAt)
		ms, f := parseInstant(value, down)
		if f != fine {
			return malformed(ReasonMalformedExpireAt, HeaderExpireAt, value, f)
		}
		d.Expires, d.ExpireMs = true, ms
	case r.ExpireAfter > 0:
		d.Expires, d.ExpireMs = true, addSat(d.DeadlineMs, ceilMs(r.ExpireAfter))
	}
	return nil
}
