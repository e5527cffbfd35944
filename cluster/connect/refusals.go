package connect

import (
	"cmp"
	"slices"
	"time"
)

const (
	// sayEvery is the time between two lines about refused connections.
	sayEvery = 30 * time.Second
	// lasts is how long after the last attempt a refusal is reported. A broker that is
	// tried at all is tried more often.
	lasts = 2 * time.Minute
)

// refuse notes a refusal, and says so. behind: it came behind the login.
func (c *Connection) refuse(addr string, cause Cause, behind bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.refusals[cause.Reason]++
	r := c.refused[addr]
	if r == nil {
		r = &Refusal{Broker: addr, Since: now}
		c.refused[addr] = r
	}
	r.Cause, r.last, r.behind = cause, now, behind
	if now.Sub(c.said) < sayEvery {
		return
	}
	c.said, r.said = now, true
	c.cfg.Log.Warn("Kafka refuses the connection", "broker", addr, "look_at", cause.LookAt, "reason", cause.Reason, "err", cause.Message,
		"since", r.Since.UTC().Format(time.RFC3339))
}

// accept notes that a broker takes a connection, or a request behind the login. Each ends
// a refusal of its own kind: connections from before go on while new ones are refused.
func (c *Connection) accept(addr string, behind bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if behind {
		c.answered, c.heard = true, time.Now()
	}
	r := c.refused[addr]
	if r == nil || r.behind != behind {
		return
	}
	delete(c.refused, addr)
	if r.said {
		c.cfg.Log.Info("Kafka takes the connection", "broker", addr, "refused_for", time.Since(r.Since).Round(time.Second).String())
	}
}

// lasting returns the refusals of brokers that are still tried, by broker. Callers hold
// mu.
func (c *Connection) lasting(now time.Time) []Refusal {
	var all []Refusal
	for addr, r := range c.refused {
		if now.Sub(r.last) > lasts {
			delete(c.refused, addr)
			continue
		}
		all = append(all, *r)
	}
	slices.SortFunc(all, func(a, b Refusal) int { return cmp.Compare(a.Broker, b.Broker) })
	return all
}
