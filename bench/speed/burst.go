package speed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"layover/bench/process"
	"layover/bench/row"
)

const (
	partBurst = "burst"
	whatLast  = "last"
	whatP50   = "p50"
	whatP90   = "p90"
	whatP99   = "p99"
	whatP999  = "p99.9"
	// burstLead is from the first record's writing to its deadline, and burstRead the records a second
	// that the product has to read at least meanwhile.
	burstLead = 4 * time.Second
	burstRead = 50_000
	lastGoal  = time.Second
	probeGoal = 50 * time.Millisecond
)

// probes are when records for another target are due, after the first of the burst.
func probes() []time.Duration {
	return []time.Duration{100 * time.Millisecond, 1100 * time.Millisecond}
}

func whatProbe(after time.Duration) string {
	return fmt.Sprintf("due %d ms after the first", after.Milliseconds())
}

// burst measures the product and a bare producer.
func (s *site) burst(ctx context.Context) error {
	return s.inTurn(ctx, step{s.Product.Name, s.productBurst}, step{"bare produce", s.bareBurst})
}

// productBurst parks the burst and waits for it.
func (s *site) productBurst(ctx context.Context) error {
	return s.running(ctx, s.ways(product)[0], partBurst, func(sc *scene, _ *process.Child, snd *sender) error {
		at := time.Now().Add(burstLead + time.Duration(s.Burst)*time.Second/burstRead).Truncate(time.Second)
		from := sc.books.count()
		order := timerOrder{N: s.Burst, FromMs: at.UnixMilli(), Every: time.Second / time.Duration(s.Burst)}
		for i := range s.Burst {
			snd.send(time.UnixMilli(order.dueMs(i)), sc.target, true)
		}
		if sc.other != "" {
			for _, after := range probes() {
				snd.send(at.Add(after), sc.other, true)
			}
		}
		if err := snd.flush(ctx); err != nil {
			return err
		}
		if late := time.Since(at); late > 0 {
			return fmt.Errorf("writing took %v longer than there was", late)
		}
		return s.burstThrough(ctx, sc, s.Product.Name, from, at)
	})
}

// bareBurst lets a producer write the same when it is due.
func (s *site) bareBurst(ctx context.Context) (err error) {
	w := s.ways(timer)[0]
	sc, err := s.newScene(ctx, w, s.partitions(), "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sc.close(ctx)) }()
	at := time.Now().Add(burstLead).Truncate(time.Second)
	o := timerOrder{Brokers: s.broker.Addrs, To: sc.target, Tag: sc.books.tag, Value: smallest, N: s.Burst,
		FromMs: at.UnixMilli(), Every: time.Second / time.Duration(s.Burst), Probe: sc.other}
	for i := range o.N {
		sc.books.enter(entry{dueMs: o.dueMs(i)})
	}
	for _, after := range probes() {
		o.ProbesMs = append(o.ProbesMs, at.Add(after).UnixMilli())
		sc.books.enter(entry{dueMs: at.Add(after).UnixMilli(), aside: true})
	}
	c, err := sc.child(ctx, timerChild, o)
	if err != nil {
		return err
	}
	defer kill(c)
	if err := s.burstThrough(ctx, sc, w.name, 0, at); err != nil {
		return err
	}
	return end(c)
}

// burstThrough waits for the burst, whose first record has a number, and notes what came of it.
func (s *site) burstThrough(ctx context.Context, sc *scene, way string, from int, at time.Time) error {
	if err := process.Pause(ctx, time.Until(at.Add(probes()[len(probes())-1]))); err != nil {
		return err
	}
	if err := sc.until(ctx, sc.target, from+s.Burst); err != nil {
		return err
	}
	if sc.other != "" {
		if err := sc.until(ctx, sc.other, len(probes())); err != nil {
			return err
		}
	}
	if err := sc.audit(ctx); err != nil {
		return err
	}
	a := sc.books.account(func(n int, _ *entry) bool { return n >= from && n < from+s.Burst })
	if err := sc.books.fault(a); err != nil {
		return err
	}
	add := func(what string, d time.Duration) { s.add(partBurst, "", way, what, "ms", float64(d)/1e6) }
	add(whatLast, time.Duration(a.last-at.Add(time.Second).UnixMilli())*time.Millisecond)
	add(whatP50, a.stamped.At(500))
	add(whatP99, a.stamped.At(990))
	for i, after := range probes() {
		if sc.other != "" {
			a := sc.books.account(func(n int, _ *entry) bool { return n == from+s.Burst+i })
			add(whatProbe(after), a.stamped.At(1000))
		}
	}
	return nil
}

// burstRows sets the product beside the bare producer.
func (s *site) burstRows() (rows []row.Row) {
	for _, w := range s.ways(product, timer) {
		ms := func(what string) time.Duration {
			v, _ := s.get(partBurst, "", w.name, what)
			return time.Duration(v * 1e6)
		}
		last := row.Plain(w.name+": the last one, after that second", "%s", row.MS(ms(whatLast)))
		if w.kind == product {
			last = last.Aim(ms(whatLast) <= lastGoal, "%s", row.MS(lastGoal))
		}
		rows = append(rows, last, row.Plain(w.name+": lateness", "p50 %s, p99 %s", row.MS(ms(whatP50)), row.MS(ms(whatP99))))
		for _, after := range probes() {
			if s.find(partBurst, "", w.name, whatProbe(after)) == nil {
				continue
			}
			r := row.Plain(w.name+": a record for another target, "+whatProbe(after), "%s late", row.MS(ms(whatProbe(after))))
			if w.kind == product {
				r = r.Aim(ms(whatProbe(after)) <= probeGoal, "%s", row.MS(probeGoal))
			}
			rows = append(rows, r)
		}
	}
	return rows
}
