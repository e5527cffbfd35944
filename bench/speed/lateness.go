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
	partLate  = "lateness"
	lateDelay = 2 * time.Second
	// behindBare is how much later than a bare produce p99 may be at a consumer.
	behindBare = 4 * time.Millisecond
)

// quantiles are those that are kept, in thousandths.
func quantiles() map[string]int {
	return map[string]int{whatP50: 500, whatP90: 900, whatP99: 990, whatP999: 999}
}

const (
	byBroker   = "by the broker's timestamp"
	byConsumer = "at the consumer"
)

// note keeps the quantiles of an account.
func (s *site) note(part, of, way string, a account) {
	for what, permille := range quantiles() {
		s.add(part, of, way, what+" "+byBroker, "ms", float64(a.stamped.At(permille))/1e6)
		s.add(part, of, way, what+" "+byConsumer, "ms", float64(a.received.At(permille))/1e6)
	}
	s.add(part, of, way, whatAgain, "records", float64(a.again))
}

// within picks what is due between two instants, but for what goes to the other target.
func within(from, to time.Time) func(int, *entry) bool {
	return func(_ int, e *entry) bool { return !e.aside && e.dueMs >= from.UnixMilli() && e.dueMs < to.UnixMilli() }
}

// lateness measures the product at each rate, a bare producer, and one beside as much that is read.
func (s *site) lateness(ctx context.Context) error {
	for _, rate := range s.LateRates {
		steps := []step{{s.Product.Name, func(ctx context.Context) error {
			return s.running(ctx, s.ways(product)[0], fmt.Sprintf("lateness-%d", rate), func(sc *scene, _ *process.Child, snd *sender) error {
				return sc.receiving(ctx, func() error { return s.lateAt(ctx, sc, snd, rate) })
			})
		}}}
		for _, w := range s.ways(timer, reading) {
			steps = append(steps, step{w.name, func(ctx context.Context) error { return s.bareAt(ctx, w, rate) }})
		}
		if err := s.inTurn(ctx, steps...); err != nil {
			return fmt.Errorf("%d/s: %w", rate, err)
		}
	}
	return nil
}

// lateAt measures the product at a rate.
func (s *site) lateAt(ctx context.Context, sc *scene, snd *sender, rate int) error {
	var from, to time.Time
	err := snd.flowing(ctx, rate, lateDelay, true, func() error {
		if err := cluster.Pause(ctx, lateDelay+settle); err != nil {
			return err
		}
		from = time.Now()
		to = from.Add(s.Watch)
		return cluster.Pause(ctx, s.Watch)
	})
	if err := errors.Join(err, sc.await(ctx)); err != nil {
		return err
	}
	a := sc.books.account(within(from, to))
	s.note(partLate, rateCase(rate, 0), s.Product.Name, a)
	return sc.books.fault(a)
}

// bareAt measures a bare producer at a rate.
func (s *site) bareAt(ctx context.Context, w way, rate int) (err error) {
	sc, err := s.newScene(ctx, w, s.partitions(), "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sc.close(ctx)) }()
	from := time.Now().Add(2 * time.Second)
	c, err := sc.startTimer(ctx, w, rate, from, settle+s.Watch)
	if err != nil {
		return err
	}
	defer kill(c)
	until := func() error { return cluster.Pause(ctx, time.Until(from.Add(settle+s.Watch))) }
	err = sc.receiving(ctx, func() error {
		if err := sc.asMuch(ctx, w, rate, until); err != nil {
			return err
		}
		return sc.await(ctx)
	})
	if err := errors.Join(err, end(c)); err != nil {
		return err
	}
	a := sc.books.account(within(from.Add(settle), from.Add(settle+s.Watch)))
	s.note(partLate, rateCase(rate, 0), w.name, a)
	return sc.books.fault(a)
}

// asMuch runs f. A bare producer that reads has as many records a second to read meanwhile as it writes: they
// stand in the ingress topic, are to wait like those of the product, and nobody copies them.
func (s *scene) asMuch(ctx context.Context, w way, rate int, f func() error) error {
	if w.kind != reading {
		return f()
	}
	snd, err := s.newSender(smallest)
	if err != nil {
		return err
	}
	defer snd.client.Close()
	return snd.flowing(ctx, rate, lateDelay, false, f)
}

// startTimer starts a bare producer to the target, and enters what it will write.
func (s *scene) startTimer(ctx context.Context, w way, rate int, from time.Time, lasts time.Duration) (*process.Child, error) {
	o := timerOrder{Brokers: s.broker.Addrs, To: s.target, Tag: s.books.tag, First: s.books.count(), Value: smallest,
		N: int(float64(rate) * lasts.Seconds()), FromMs: from.UnixMilli(), Every: time.Second / time.Duration(rate)}
	if w.kind == reading {
		o.Read = s.ingress
	}
	for i := range o.N {
		s.books.enter(entry{dueMs: o.dueMs(i)})
	}
	return s.child(ctx, timerChild, o)
}

// three are the quantiles in a row.
func (s *site) three(part, of, way, by string) (text string, p99 time.Duration) {
	get := func(what string) time.Duration {
		ms, _ := s.get(part, of, way, what+" "+by)
		return time.Duration(ms * 1e6)
	}
	return fmt.Sprintf("p50 %s, p99 %s, p99.9 %s", row.MS(get(whatP50)), row.MS(get(whatP99)), row.MS(get(whatP999))), get(whatP99)
}

// latenessRows sets the product beside the bare producer.
func (s *site) latenessRows() (rows []row.Row) {
	for _, rate := range s.LateRates {
		of := rateCase(rate, 0)
		_, beside := s.three(partLate, of, s.ways(timer)[0].name, byConsumer)
		for _, w := range s.ways(product, timer, reading) {
			text, _ := s.three(partLate, of, w.name, byBroker)
			again, _ := s.get(partLate, of, w.name, whatAgain)
			rows = append(rows, row.Plain(of+": "+w.name+", "+byBroker, "%s; %.0f again", text, again))
			text, p99 := s.three(partLate, of, w.name, byConsumer)
			r := row.Plain(of+": "+w.name+", "+byConsumer, "%s", text)
			if w.kind == product {
				r = r.Aim(p99 <= beside+behindBare, "p99 within %s of the bare produce; it is %s", row.MS(behindBare), row.MS(p99-beside))
			}
			rows = append(rows, r)
		}
	}
	return rows
}
