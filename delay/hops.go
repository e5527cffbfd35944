package delay

import "strconv"

// maxHopsCounted is where the count of hops stands still: LAYOVER_MAX_HOPS is at most that.
const maxHopsCounted = 1_000_000

// hops returns how often a record was delivered, with the delivery that it waits for; 0 for
// one that never was. A delivery may have layover-hops without layover-id, where it was
// too large with both.
func (c *control) hops() int64 { return min(c.passes(), maxHopsCounted) }

// passes is hops before the count stands still.
func (c *control) passes() int64 {
	if !c.has(kindID) && !c.has(kindHops) {
		return 0
	}
	var came int64
	if c.has(kindHops) {
		came = parseHops(c.value(kindHops))
	}
	return came + 1
}

// parseHops reads the digits of layover-hops. A malformed count is 0: the header is a safeguard,
// and no reason to refuse a record.
func parseHops(value []byte) int64 {
	n, _, ok, overflow := parseInteger(value)
	switch {
	case !ok || len(value) > 0 && value[0] == '-':
		return 0
	case overflow:
		return maxHopsCounted
	}
	return min(n, maxHopsCounted)
}

// checkHops refuses a record that goes in a circle. Where invalid records are delivered,
// refusing would only make the circle faster.
func (r *Rules) checkHops(c *control) *Invalid {
	if r.MaxHops <= 0 || r.DeliverInvalid || c.passes() <= r.MaxHops {
		return nil
	}
	var came []byte
	if c.has(kindHops) {
		came = c.value(kindHops)
	}
	return malformed(ReasonTooManyHops, HeaderHops, came, faultHops+fault(strconv.FormatInt(r.MaxHops, 10))+" with this delivery (LAYOVER_MAX_HOPS)")
}
