package speed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"layover/bench/process"
	"layover/bench/row"
	"layover/cluster"
)

const (
	partBurst = "burst"
	whatLast  = "last"
	whatProbe = "another target"
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

// wave is over how long a burst is due.
type wave struct {
	name string
	over time.Duration
}

func waves() []wave { return []wave{{"due at one instant", 0}, {"due within one second", time.Second}} }

// probe is when a record for another target is due, after the first of the burst: after the last of it.
func (v wave) probe() time.Duration { return v.over + 100*time.Millisecond }

// burst measures the product and a bare producer.
func (s *site) burst(ctx context.Context) error {
	for _, v := range waves() {
		err := s.inTurn(ctx,
			step{s.Product.Name, func(ctx context.Context) error { return s.productBurst(ctx, v) }},
			step{"bare produce", func(ctx context.Context) error { return s.bareBurst(ctx, v) }})
		if err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
	}
	return nil
}

// productBurst parks the burst and waits for it.
func (s *site) productBurst(ctx context.Context, v wave) error {
	return s.running(ctx, s.ways(product)[0], partBurst, func(sc *scene, _ *process.Child, snd *sender) error {
		at := time.Now().Add(burstLead + time.Duration(s.Burst)*time.Second/burstRead).Truncate(time.Second)
		from := sc.books.count()
		order := timerOrder{N: s.Burst, FromMs: at.UnixMilli(), Every: v.over / time.Duration(s.Burst)}
		for i := range s.Burst {
			snd.send(time.UnixMilli(order.dueMs(i)), sc.target, true)
		}
		if sc.other != "" {
			snd.send(at.Add(v.probe()), sc.other, true)
		}
		if err := snd.flush(ctx); err != nil {
			return err
		}
		if late := time.Since(at); late > 0 {
			return fmt.Errorf("writing took %v longer than there was", late)
		}
		return s.burstThrough(ctx, sc, v, s.Product.Name, from, at)
	})
}

// bareBurst lets a producer write the same when it is due.
func (s *site) bareBurst(ctx context.Context, v wave) (err error) {
	w := s.ways(timer)[0]
	sc, err := s.newScene(ctx, w, s.partitions(), "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sc.close(ctx)) }()
	at := time.Now().Add(burstLead).Truncate(time.Second)
	o := timerOrder{Brokers: s.broker.Addrs, To: sc.target, Tag: sc.books.tag, Value: smallest, N: s.Burst,
		FromMs: at.UnixMilli(), Every: v.over / time.Duration(s.Burst), Probe: sc.other, ProbesMs: []int64{at.Add(v.probe()).UnixMilli()}}
	for i := range o.N {
		sc.books.enter(entry{dueMs: o.dueMs(i)})
	}
	sc.books.enter(entry{dueMs: o.ProbesMs[0], aside: true})
	c, err := sc.child(ctx, timerChild, o)
	if err != nil {
		return err
	}
	defer kill(c)
	if err := s.burstThrough(ctx, sc, v, w.name, 0, at); err != nil {
		return err
	}
	return end(c)
}

// burstThrough waits for the burst, whose first record has a number, and notes what came of it.
func (s *site) burstThrough(ctx context.Context, sc *scene, v wave, way string, from int, at time.Time) error {
	if err := cluster.Pause(ctx, time.Until(at.Add(v.probe()))); err != nil {
		return err
	}
	if err := sc.until(ctx, sc.target, from+s.Burst); err != nil {
		return err
	}
	if sc.other != "" {
		if err := sc.until(ctx, sc.other, 1); err != nil {
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
	add := func(what string, d time.Duration) { s.add(partBurst, v.name, way, what, "ms", float64(d)/1e6) }
	add(whatLast, time.Duration(a.last-at.Add(v.over).UnixMilli())*time.Millisecond)
	add(whatP50, a.stamped.At(500))
	add(whatP99, a.stamped.At(990))
	if sc.other != "" {
		probe := sc.books.account(func(n int, _ *entry) bool { return n == from+s.Burst })
		add(whatProbe, probe.stamped.At(1000))
	}
	return nil
}

// burstRows sets the product beside the bare producer.
func (s *site) burstRows() (rows []row.Row) {
	for _, v := range waves() {
		for _, w := range s.ways(product, timer) {
			rows = append(rows, s.burstRow(v, w)...)
		}
	}
	return rows
}

func (s *site) burstRow(v wave, w way) []row.Row {
	ms := func(what string) time.Duration {
		value, _ := s.get(partBurst, v.name, w.name, what)
		return time.Duration(value * 1e6)
	}
	aimed := func(r row.Row, d, goal time.Duration) row.Row {
		if w.kind != product {
			return r
		}
		return r.Aim(d <= goal, "%s", row.MS(goal))
	}
	name := v.name + ": " + w.name + ": "
	rows := []row.Row{
		aimed(row.Plain(name+"the last one, after the last deadline", "%s", row.MS(ms(whatLast))), ms(whatLast), lastGoal),
		row.Plain(name+"lateness", "p50 %s, p99 %s", row.MS(ms(whatP50)), row.MS(ms(whatP99))),
	}
	if s.find(partBurst, v.name, w.name, whatProbe) != nil {
		r := row.Plain(name+"one for another target, due 100 ms after the last deadline", "%s late", row.MS(ms(whatProbe)))
		rows = append(rows, aimed(r, ms(whatProbe), probeGoal))
	}
	return rows
}
