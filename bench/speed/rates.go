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
	partRates = "cpu at low rates"
	whatCores = "cores"
	smallest  = 100 // bytes of a value where its size is not what is measured
	// thirdOfLoop is the goal, as nothing here is due within a second.
	thirdOfLoop = 1.0 / 3
	settle      = time.Second
	// eagerFor is how long a Layover reads at once behind a record that was due at once, as those are that
	// warm it. The cost of a steady rate is measured behind that.
	eagerFor = 10 * time.Second
)

// delays are those at which CPU is measured.
func delays() []time.Duration { return []time.Duration{2 * time.Second, time.Hour} }

func rateCase(rate int, delay time.Duration) string {
	if delay == 0 {
		return fmt.Sprintf("%d/s", rate)
	}
	return fmt.Sprintf("%d/s, delay %.0f s", rate, delay.Seconds())
}

// lowRates measures the CPU of the product with each of the delays, of the loops, and of a bare producer.
func (s *site) lowRates(ctx context.Context) error {
	for _, rate := range s.Rates {
		var steps []step
		add := func(w way, delay time.Duration) {
			steps = append(steps, step{rateCase(rate, delay) + ": " + w.name, func(ctx context.Context) error { return s.lowRate(ctx, w, rate, delay) }})
		}
		for _, delay := range delays() {
			add(s.ways(product)[0], delay)
		}
		for _, w := range s.ways(eager, bare) {
			add(w, 0)
		}
		steps = append(steps, step{"bare produce", func(ctx context.Context) error { return s.timedRate(ctx, rate) }})
		if err := s.inTurn(ctx, steps...); err != nil {
			return err
		}
	}
	return nil
}

// lowRate measures one way. What is due after the measurement must not come out.
func (s *site) lowRate(ctx context.Context, w way, rate int, delay time.Duration) error {
	return s.running(ctx, w, fmt.Sprintf("rate-%d-delay-%v", rate, delay), func(sc *scene, c *process.Child, snd *sender) error {
		comes := delay <= s.Watch+settle+arriveWithin
		var st process.Stretch
		err := snd.flowing(ctx, rate, delay, comes, func() (err error) {
			if err := cluster.Pause(ctx, eagerFor+settle); err != nil {
				return err
			}
			st, err = watch(ctx, c, s.Watch)
			return err
		})
		if err != nil {
			return err
		}
		if comes {
			if err := sc.until(ctx, sc.target, sc.books.count()); err != nil {
				return err
			}
		}
		if err := sc.audit(ctx); err != nil {
			return err
		}
		if err := sc.books.fault(sc.books.account(since(0))); err != nil {
			return err
		}
		if c != nil {
			s.add(partRates, rateCase(rate, delay), w.name, whatCores, "cores", st.Cores())
		}
		return nil
	})
}

// timedRate measures a bare producer, which writes each record when it is due, and reads nothing.
func (s *site) timedRate(ctx context.Context, rate int) (err error) {
	w := s.ways(timer)[0]
	sc, err := s.newScene(ctx, w, s.partitions(), "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sc.close(ctx)) }()
	from := time.Now().Add(settle)
	c, err := sc.startTimer(ctx, w, rate, from, settle+s.Watch)
	if err != nil {
		return err
	}
	defer kill(c)
	if err := cluster.Pause(ctx, time.Until(from.Add(settle/2))); err != nil {
		return err
	}
	st, err := watch(ctx, c, s.Watch)
	if err := errors.Join(err, sc.until(ctx, sc.target, sc.books.count()), sc.audit(ctx), end(c)); err != nil {
		return err
	}
	s.add(partRates, rateCase(rate, 0), w.name, whatCores, "cores", st.Cores())
	return sc.books.fault(sc.books.account(since(0)))
}

// running runs f while a way runs on topics of its own, with records through it already.
// label names it where it leaves a file.
func (s *site) running(ctx context.Context, w way, label string, f func(*scene, *process.Child, *sender) error) (err error) {
	sc, err := s.newScene(ctx, w, s.partitions(), "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sc.close(ctx)) }()
	c, err := sc.start(ctx, w)
	if err != nil {
		return err
	}
	defer kill(c)
	snd, err := sc.newSender(smallest)
	if err != nil {
		return err
	}
	defer snd.client.Close()
	if err := errors.Join(sc.warm(ctx, snd, s.partitions()), sc.profile(c, w, label)); err != nil {
		return err
	}
	if err := f(sc, c, snd); err != nil {
		return err
	}
	return end(c)
}

// lowRows sets each rate beside the loop that waits for nothing either.
func (s *site) lowRows() (rows []row.Row) {
	percent := func(of string, w way) (string, float64) {
		cores, ok := s.get(partRates, of, w.name, whatCores)
		if !ok {
			return "not ours to read", 0
		}
		return fmt.Sprintf("%.2f %% of a core", cores*100), cores
	}
	for _, rate := range s.Rates {
		loop := s.ways(eager)[0]
		_, beside := percent(rateCase(rate, 0), loop)
		for _, delay := range delays() {
			text, cores := percent(rateCase(rate, delay), s.ways(product)[0])
			r := row.Plain(rateCase(rate, delay)+": "+s.Product.Name, "%s", text)
			if cores > 0 {
				r = r.Aim(cores <= thirdOfLoop*beside, "a third of the %s; it is %.2f times that", loop.name, cores/beside)
			}
			rows = append(rows, r)
		}
		for _, w := range s.ways(eager, bare, timer) {
			text, _ := percent(rateCase(rate, 0), w)
			rows = append(rows, row.Plain(rateCase(rate, 0)+": "+w.name, "%s", text))
		}
	}
	return rows
}
