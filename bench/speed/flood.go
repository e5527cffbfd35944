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
	partFlood  = "flood"
	floodRate  = 1000
	floodDelay = 5 * time.Second
	floodGoal  = 20 * time.Millisecond
	alone      = "before the flood"
	flooded    = "while it is delivered"
	// floodMost is how long the bare producer could go on: longer than any flood.
	floodMost = throughWithin
	// settled is until a producer's last records are in the log.
	settled = 500 * time.Millisecond
)

// flood measures the product, and a bare producer beside a bare loop.
func (s *site) flood(ctx context.Context) error {
	return s.inTurn(ctx, step{s.Product.Name, s.productFlood}, step{"bare produce", s.bareFlood})
}

// productFlood lets a flow and then a flood go through the product.
func (s *site) productFlood(ctx context.Context) error {
	return s.running(ctx, s.ways(product)[0], partFlood, func(sc *scene, _ *process.Child, snd *sender) error {
		return sc.receiving(ctx, func() error {
			var f spans
			err := snd.flowing(ctx, floodRate, floodDelay, true, func() error {
				if err := cluster.Pause(ctx, floodDelay+settle); err != nil {
					return err
				}
				return f.carryOut(ctx, sc)
			})
			if err := errors.Join(err, sc.await(ctx)); err != nil {
				return err
			}
			return s.noteFlood(sc, s.Product.Name, f)
		})
	})
}

// spans are from when to when the records are due that are looked at.
type spans struct{ began, floods, ends time.Time }

// carryOut lets the flow alone, and then beside a flood, until that is through.
func (f *spans) carryOut(ctx context.Context, sc *scene) error {
	f.began = time.Now()
	if err := cluster.Pause(ctx, sc.Watch); err != nil {
		return err
	}
	snd, err := sc.newSender(smallest)
	if err != nil {
		return err
	}
	defer snd.client.Close()
	f.floods = time.Now()
	for range sc.Flood {
		snd.send(time.Now(), sc.other, true)
	}
	if err := errors.Join(snd.flush(ctx), sc.until(ctx, sc.other, sc.Flood)); err != nil {
		return err
	}
	f.ends = time.Now()
	return nil
}

// bareFlood lets a bare produce to the target go on beside a loop that copies the flood.
func (s *site) bareFlood(ctx context.Context) error {
	return s.running(ctx, s.ways(bare)[0], partFlood, func(sc *scene, _ *process.Child, _ *sender) error {
		w, from := s.ways(timer)[0], time.Now().Add(2*time.Second)
		c, err := sc.startTimer(ctx, w, floodRate, from, s.Watch+floodMost)
		if err != nil {
			return err
		}
		defer kill(c)
		var f spans
		err = sc.receiving(ctx, func() error {
			if err := cluster.Pause(ctx, time.Until(from.Add(settle))); err != nil {
				return err
			}
			if err := f.carryOut(ctx, sc); err != nil {
				return err
			}
			if err := end(c); err != nil {
				return err
			}
			cut := time.Now()
			if err := cluster.Pause(ctx, settled); err != nil {
				return err
			}
			sc.books.cut(cut.Add(-settled).UnixMilli())
			return sc.await(ctx)
		})
		if err != nil {
			return err
		}
		return s.noteFlood(sc, w.name, f)
	})
}

// noteFlood keeps the latenesses of the spans.
func (s *site) noteFlood(sc *scene, way string, f spans) error {
	s.note(partFlood, alone, way, sc.books.account(within(f.began, f.floods)))
	a := sc.books.account(within(f.floods, f.ends))
	s.note(partFlood, flooded, way, a)
	s.add(partFlood, flooded, way, whatRate, "records/s", float64(s.Flood)/f.ends.Sub(f.floods).Seconds())
	return sc.books.fault(a)
}

// floodRows sets the product beside the bare producer.
func (s *site) floodRows() (rows []row.Row) {
	for _, w := range s.ways(product, timer) {
		for _, of := range []string{alone, flooded} {
			text, p99 := s.three(partFlood, of, w.name, byBroker)
			r := row.Plain(fmt.Sprintf("%s: lateness at %d/s %s, %s", w.name, floodRate, of, byBroker), "%s", text)
			if w.kind == product && of == flooded {
				r = r.Aim(p99 <= floodGoal, "p99 %s", row.MS(floodGoal))
			}
			text, _ = s.three(partFlood, of, w.name, byConsumer)
			rows = append(rows, r, row.Plain(fmt.Sprintf("%s: lateness at %d/s %s, %s", w.name, floodRate, of, byConsumer), "%s", text))
		}
		rate, _ := s.get(partFlood, flooded, w.name, whatRate)
		by := w.name
		if w.kind == timer {
			by = s.ways(bare)[0].name
		}
		rows = append(rows, row.Plain(by+": the flood, its writing included", "%.3f million/s", rate/1e6))
	}
	return rows
}
