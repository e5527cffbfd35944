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
	partLanes  = "lanes and cores"
	partParked = "beside parked"
	// flat is how much more a record may cost beside the most that wait than beside the fewest.
	flat = 1.5
	// farOff is when those are due that only wait.
	farOff = 24 * time.Hour
	// roomForParked is a bound that holds all of them, in bytes.
	roomForParked = 8 << 30
)

func laneCase(lanes, cores int) string { return fmt.Sprintf("lanes: %d, cores: %d", lanes, cores) }

// lanesAndCores measures records already due with some numbers of lanes and of cores.
func (s *site) lanesAndCores(ctx context.Context) (err error) {
	size, partitions := smallest, s.partitions()
	loaded, err := s.loaded(ctx, size, partitions)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, loaded.close(ctx)) }()
	var steps []step
	for _, cores := range s.Cores {
		for _, lanes := range s.Lanes {
			w := s.ways(product)[0]
			of := laneCase(lanes, cores)
			w.settings = []string{fmt.Sprintf("LAYOVER_LANES=%d", lanes), fmt.Sprintf("GOMAXPROCS=%d", cores)}
			steps = append(steps, step{of, func(ctx context.Context) error {
				return s.copied(ctx, w, loaded, size, partitions, func(what, unit string, v float64) { s.add(partLanes, of, w.name, what, unit, v) })
			}})
		}
	}
	return s.inTurn(ctx, steps...)
}

// laneRows sets each number of lanes beside one lane on as many cores.
func (s *site) laneRows() (rows []row.Row) {
	name := s.ways(product)[0].name
	for _, cores := range s.Cores {
		one, _ := s.get(partLanes, laneCase(s.Lanes[0], cores), name, whatRate)
		for _, lanes := range s.Lanes {
			rate, _ := s.get(partLanes, laneCase(lanes, cores), name, whatRate)
			us, _ := s.get(partLanes, laneCase(lanes, cores), name, whatCPU)
			rows = append(rows, row.Plain(laneCase(lanes, cores), "%.3f million/s, CPU %.2f us a record, %.2f of the fewest lanes", rate/1e6, us, rate/one))
		}
	}
	return rows
}

func parkedCase(n int) string { return fmt.Sprintf("%d parked", n) }

// besideParked measures what a record that is already due costs while many wait in memory.
func (s *site) besideParked(ctx context.Context) error {
	var steps []step
	for _, n := range s.Parked {
		w := s.ways(product)[0]
		w.settings = []string{"LAYOVER_RUNS=off", fmt.Sprintf("LAYOVER_MAX_PARKED_BYTES=%d", int64(roomForParked)), "LAYOVER_MAX_DELAY=" + (2 * farOff).String()}
		steps = append(steps, step{parkedCase(n), func(ctx context.Context) error {
			return s.running(ctx, w, fmt.Sprintf("parked-%d", n), func(sc *scene, c *process.Child, snd *sender) error {
				return sc.beside(ctx, c, snd, n)
			})
		}})
	}
	return s.inTurn(ctx, steps...)
}

// beside parks n records, and measures others that are due at once.
func (s *scene) beside(ctx context.Context, c *process.Child, snd *sender, n int) error {
	for range n {
		snd.send(time.Now().Add(farOff), s.target, false)
	}
	for range s.partitions() { // behind them in each partition: what comes through says that they were read
		snd.send(time.Now(), s.target, true)
	}
	arrived := 2 * s.partitions()
	if err := errors.Join(snd.flush(ctx), s.until(ctx, s.target, arrived)); err != nil {
		return err
	}
	from, err := ask(c)
	if err != nil {
		return err
	}
	for range s.Beside {
		snd.send(time.Now(), s.target, true)
	}
	if err := errors.Join(snd.flush(ctx), s.until(ctx, s.target, arrived+s.Beside)); err != nil {
		return err
	}
	to, err := ask(c)
	if err := errors.Join(err, s.audit(ctx)); err != nil {
		return err
	}
	s.add(partParked, parkedCase(n), s.Product.Name, whatCPU, "us/record", (to.CPU-from.CPU).Seconds()*1e6/float64(s.Beside))
	return s.books.fault(s.books.account(since(0)))
}

// parkedRows sets each number beside the fewest.
func (s *site) parkedRows() (rows []row.Row) {
	least, _ := s.get(partParked, parkedCase(s.Parked[0]), s.Product.Name, whatCPU)
	for i, n := range s.Parked {
		us, _ := s.get(partParked, parkedCase(n), s.Product.Name, whatCPU)
		r := row.Plain(parkedCase(n), "CPU %.2f us a record", us)
		if i > 0 {
			r = r.Aim(us <= flat*least, "%.1f times that of %d; it is %.2f", flat, s.Parked[0], us/least)
		}
		rows = append(rows, r)
	}
	return rows
}
