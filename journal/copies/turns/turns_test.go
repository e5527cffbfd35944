package turns

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// visit asks a broker, which takes so long.
func (t *Turns) visit(broker int32, took time.Duration) (waited time.Duration, err error) {
	asked := time.Now()
	one, err := t.Await(context.Background(), broker)
	if waited = time.Since(asked); err != nil {
		return waited, err
	}
	if err = one.Asks(broker); err == nil {
		time.Sleep(took)
	}
	one.End(broker, took, err)
	return waited, err
}

// asking is visits of a broker, one after the other.
type asking struct {
	now, most atomic.Int64 // that read at a time
	running   sync.WaitGroup
	end       func()
}

// keepsAsking has so many visits of a broker at a time until stop, of which each takes so long.
func (t *Turns) keepsAsking(broker int32, visits int, took time.Duration) *asking {
	a := new(asking)
	ctx, cancel := context.WithCancel(context.Background())
	a.end = cancel
	for range visits {
		a.running.Go(func() {
			for ctx.Err() == nil {
				one, err := t.Await(ctx, broker)
				if err != nil {
					return
				}
				a.most.Store(max(a.most.Load(), a.now.Add(1)))
				time.Sleep(took)
				a.now.Add(-1)
				one.End(broker, took, nil)
			}
		})
	}
	return a
}

func (a *asking) stop() {
	a.end()
	a.running.Wait()
}

// TestASlowBrokerLeavesATurnToOthers, whose visits wait for each other alone, however few turns there are.
func TestASlowBrokerLeavesATurnToOthers(t *testing.T) {
	for visits := 1; visits <= 4; visits++ {
		synctest.Test(t, func(t *testing.T) {
			turns := New(visits)
			sick := turns.keepsAsking(1, 11, 3*time.Second)
			time.Sleep(4 * time.Second) // nobody knew it before
			sick.most.Store(0)
			for range 20 {
				if waited, err := turns.visit(2, 20*time.Millisecond); waited > 0 || err != nil {
					t.Errorf("with %d turns a quick broker's visit waits for %v: %v", visits, waited, err)
				}
				time.Sleep(700 * time.Millisecond)
			}
			sick.stop()
			if n := sick.most.Load(); n != int64(visits) {
				t.Errorf("with %d turns %d visits of a slow broker read at a time", visits, n)
			}
		})
	}
}

// TestABrokerThatIsSlowNowAndThenKeepsNoTurn: its quick visits in between are not believed for a minute.
func TestABrokerThatIsSlowNowAndThenKeepsNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := New(2)
		for _, took := range []time.Duration{20 * time.Millisecond, leastSlow, 20 * time.Millisecond} {
			turns.visit(1, took)
		}
		if got := turns.pace(1); got != slow {
			t.Errorf("it is %d after a quick visit behind a slow one, want slow", got)
		}
		time.Sleep(slowFor)
		if got := turns.pace(1); got != quick {
			t.Errorf("it is %d a minute later, want quick", got)
		}
		if turns.visit(1, 0); len(turns.brokers) != 0 {
			t.Errorf("of a quick broker %+v is kept", turns.brokers)
		}
	})
}

// TestAVisitWaitsAgainWhereItsBrokerIsAnotherOne that is slow, and nobody knew: the turn that it has is for quick ones.
func TestAVisitWaitsAgainWhereItsBrokerIsAnotherOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := New(1)
		turns.visit(1, leastSlow)
		one, err := turns.Await(t.Context(), -1)
		if err != nil {
			t.Fatal(err)
		}
		if err = one.Asks(1); !errors.Is(err, ErrSlow) {
			t.Errorf("a slow broker is asked in a turn of quick ones: %v", err)
		}
		one.End(1, 0, err)
		if one, err = turns.Await(t.Context(), 1); err != nil || one.Asks(1) != nil {
			t.Errorf("behind that: %v, %v", err, one.Asks(1))
		}
		if waited, err := turns.visit(2, 0); waited > 0 || err != nil {
			t.Errorf("a quick one waits %v meanwhile: %v", waited, err)
		}
		one.End(1, 0, nil)
	})
}

// TestSilentBrokersHaveOneTurn, which is not that of slow ones: otherwise nobody would find that they answer again.
func TestSilentBrokersHaveOneTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := New(1)
		for broker := range int32(2) {
			one, _ := turns.Await(t.Context(), broker)
			if !one.End(broker, leastSilence, errors.New("no answer")) {
				t.Errorf("broker %d is not silent", broker)
			}
		}
		turns.visit(3, leastSlow)
		sick := turns.keepsAsking(3, 5, 3*time.Second)
		time.Sleep(time.Second)
		one, err := turns.Await(t.Context(), 0)
		if err != nil {
			t.Fatalf("nobody asks a silent broker: %v", err)
		}
		if waited, err := turns.visit(1, 0); !errors.Is(err, ErrSilent) || waited > 0 {
			t.Errorf("another one is asked as well, after %v: %v", waited, err)
		}
		if one.End(0, 0, nil) || turns.pace(0) != slow {
			t.Error("a broker that answers again is not slow, or silent")
		}
		sick.stop()
	})
}

// TestAVisitThatEndsWhileItWaitsKeepsNoTurn, whatever it waits for.
func TestAVisitThatEndsWhileItWaitsKeepsNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := New(2)
		turns.visit(1, leastSlow)
		var held []*Turn
		for range 2 { // of quick ones
			one, _ := turns.Await(t.Context(), 2)
			held = append(held, one)
		}
		one, _ := turns.Await(t.Context(), 1) // the one beside
		for range 2 {                         // one waits for a quick one's turn, the other for a slow one's
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if _, err := turns.Await(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("there is a turn: %v", err)
				}
			}()
		}
		time.Sleep(2 * time.Second)
		for _, one := range append(held, one) {
			one.End(-1, 0, nil)
		}
		if n := len(turns.all) + len(turns.slow) + len(turns.beside) + len(turns.silent); n != 0 {
			t.Errorf("%d tokens are kept", n)
		}
	})
}
