package endtoend

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"layover/bench/process"
	"layover/bench/row"
)

const (
	// perRound is how many records are due within a second: few enough that the
	// loop goes to sleep between most of them.
	perRound = 200

	// parkedAhead is how many records the sleeping loop has, an hour ahead.
	parkedAhead = 10_000

	// A record is due so soon, and the loop is left to fall asleep again for so
	// long before the next.
	wakeMs    = 5
	wakeEvery = 100 * time.Millisecond
	// wakesPerRound is how many such records there are for each round of others.
	wakesPerRound = 5

	// ceiling is the most turns a second of a loop with nothing to do.
	ceiling = 1.0
	// awake is how late all but one in a hundred may be of the records that came
	// to a sleeping loop. It is far below the second that it would sleep on
	// otherwise. A pause of the machine is not a missed wake-up, so the maximum
	// has no goal.
	awake = 20 * time.Millisecond
)

// The goals of the loop's lateness.
const (
	idleP50, idleP99 = 700 * time.Microsecond, 1200 * time.Microsecond
	busyP50, busyP99 = time.Millisecond, 5 * time.Millisecond
)

// loopOrder is what a loop's process is to do, in this order.
type loopOrder struct {
	Extra  int           // GOMAXPROCS is the cores and this
	Settle time.Duration // before turns are counted
	Watch  time.Duration // count turns for so long, with nothing parked and then with records an hour ahead; 0: not
	Wakes  int           // then wake the sleeping loop so often
	Rounds int           // of perRound records each
	Busy   bool          // with all cores busy
}

// loopFound is what came of it.
type loopFound struct {
	Cores, GOMAXPROCS int
	Empty, Ahead      float64        // turns a second
	Woken             row.Latenesses // of records handed to a sleeping loop
	Rounds, Bare      row.Latenesses // of the loop, and of a plain sleeper in its place
}

// carryOut is what the loop's process does.
func (o loopOrder) carryOut() (f loopFound, err error) {
	f.Cores = procs(o.Extra)
	f.GOMAXPROCS = f.Cores + o.Extra
	r, err := startRig()
	if err != nil {
		return f, err
	}
	if o.Watch > 0 {
		f.Empty = r.wakeUps(o.Settle, o.Watch)
		ahead := make([]int64, parkedAhead)
		for i := range ahead {
			ahead[i] = parkedFrom.Milliseconds() + rand.Int64N(parkedSpread.Milliseconds())
		}
		r.hand(ahead...)
		f.Ahead = r.wakeUps(o.Settle, o.Watch)
	}
	for range o.Wakes {
		time.Sleep(wakeEvery)
		r.handDue(wakeMs)
	}
	f.Woken = r.latenesses()
	if o.Busy {
		stop := spin(f.Cores)
		defer stop()
	}
	f.Rounds, f.Bare = r.rounds(o.Rounds, perRound)
	return f, r.stop()
}

// Loop measures how late a sleeping loop wakes and how often it does, each in a
// fresh process and one after the other. A record that is early is an error. The
// cost is some ten times o.LoopRounds seconds and twice o.LoopWatch and o.Settle.
func Loop(ctx context.Context, o Options) ([]row.Row, error) {
	o = o.filled()
	fmt.Fprintf(o.Log, "loop: wake-ups over %v, then %d rounds of %d records\n", o.LoopWatch, o.LoopRounds, perRound)
	watched, err := inProcess(ctx, o.Log, loopOrder{Extra: 1, Settle: o.Settle, Watch: o.LoopWatch, Wakes: wakesPerRound * o.LoopRounds})
	if err != nil {
		return nil, err
	}
	rows := []row.Row{
		row.Plain("wake-ups, nothing parked", "%.3f/s", watched.Empty).Aim(watched.Empty <= ceiling, "at most %.0f/s", ceiling),
		row.Plain(fmt.Sprintf("wake-ups, %d parked an hour ahead", parkedAhead), "%.3f/s", watched.Ahead).Aim(watched.Ahead <= ceiling, "at most %.0f/s", ceiling),
		row.Plain(fmt.Sprintf("an earlier deadline, %d ms ahead, wakes the sleeper", wakeMs), "%s", watched.Woken).
			Aim(watched.Woken.At(990) < awake, "p99 %s", row.MS(awake)),
	}
	for _, busy := range []bool{false, true} {
		for _, extra := range []int{0, 1} {
			found, err := inProcess(ctx, o.Log, loopOrder{Extra: extra, Rounds: o.LoopRounds, Busy: busy})
			if err != nil {
				return nil, err
			}
			rows = append(rows, found.rows(extra, busy)...)
		}
	}
	return rows, nil
}

// inProcess lets a process of its own carry the order out.
func inProcess(ctx context.Context, log io.Writer, o loopOrder) (f loopFound, err error) {
	c, err := process.Start(ctx, loopChild, log, nil, "GOMAXPROCS")
	if err != nil {
		return f, err
	}
	if err := c.Tell(o); err != nil {
		return f, err
	}
	if err := c.Hear(&f); err != nil {
		return f, err
	}
	return f, c.End()
}

// rows says a lateness of the loop and one to compare with. Without a processor
// more than cores both are only there to compare with.
func (f loopFound) rows(extra int, busy bool) []row.Row {
	where, p50, p99 := "idle", idleP50, idleP99
	if busy {
		where, p50, p99 = "all cores busy", busyP50, busyP99
	}
	where = fmt.Sprintf("%s, GOMAXPROCS %d = cores + %d", where, f.GOMAXPROCS, extra)
	loop := row.Plain("lateness of the loop, "+where, "%s", f.Rounds)
	if extra > 0 {
		met := f.Rounds.At(500) <= p50 && f.Rounds.At(990) <= p99
		loop = loop.Aim(met, "p50 %s, p99 %s", row.MS(p50), row.MS(p99))
	}
	return []row.Row{loop, row.Plain("of a plain sleeper, "+where, "%s", f.Bare)}
}

// loopChild is the kind of process that [Loop] measures in.
const loopChild = "loop"

// Children are the kinds of process that this package starts beside the daemon's.
func Children() map[string]process.Serve { return map[string]process.Serve{loopChild: serveLoop} }

// serveLoop answers one order with what the loop did.
func serveLoop(in, out *os.File) error {
	var order loopOrder
	if err := json.NewDecoder(in).Decode(&order); err != nil {
		return fmt.Errorf("order: %w", err)
	}
	found, err := order.carryOut()
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(found)
}
