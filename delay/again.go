package delay

import "github.com/twmb/franz-go/pkg/kgo"

// ParseAgain decides about a record that was valid when it was first read, and that waits until
// deadlineMs, in Unix milliseconds. Expiry, target and hops count as the rules are now; the
// deadline and its bounds do not, and neither does an id. An invalid record has the deadline alone.
//
// A record that was read from a runs topic is judged so. The cost is that of Parse.
func (r *Rules) ParseAgain(record *kgo.Record, deadlineMs int64) (d Decision, inv *Invalid) {
	var m mapped
	c := r.controls(record, &m)
	d.DeadlineMs, d.Delayed = deadlineMs, true
	if inv = r.parseExpiry(&c, &d); inv == nil {
		inv = r.parseTarget(&c, &d)
	}
	if inv == nil {
		inv = r.checkHops(&c)
	}
	if inv != nil {
		return Decision{DeadlineMs: deadlineMs}, inv
	}
	return d, nil
}
