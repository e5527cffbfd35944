package endtoend

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"layover/bench/process"
	"layover/bench/row"
	"layover/cluster"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// parkWithin is how long writing and reading the parked records may take.
	parkWithin = 5 * time.Minute
	// warmUp is for connections and code that runs for the first time, before
	// anything is measured: those cost the same however much is parked.
	warmUp = 2 * time.Second
	// lead is until the flow comes out as fast as it goes in.
	lead = shortFrom + shortSpread

	// boundPerRecord is LAYOVER_MAX_PARKED_BYTES for each parked record. It
	// is more than twice what one takes, because this measures what records
	// take and not how reading pauses at the bound.
	boundPerRecord = 512
	leastBound     = 256 << 20 // Layover's own default on a machine without a limit
)

// bound is LAYOVER_MAX_PARKED_BYTES in bytes.
func (o Options) bound() int { return max(o.Records*boundPerRecord, leastBound) }

// bench is one measurement under way.
type bench struct {
	Options
	daemon   *process.Child
	http     string
	sender   *kgo.Client
	receiver *kgo.Client
	ledger   *ledger
}

// EndToEnd measures the whole daemon. A record that is lost, early or not
// accounted for is an error, and there are no rows then. ctx's end kills what
// was started; the cost is some o.Idle + o.Flow and half a minute.
func EndToEnd(ctx context.Context, o Options) ([]row.Row, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b := &bench{Options: o.filled(), ledger: new(ledger)}
	broker, err := startBroker()
	if err != nil {
		return nil, err
	}
	defer broker.Close()
	if b.sender, err = newSender(broker.ListenAddrs(), ingress); err != nil {
		return nil, err
	}
	defer b.sender.Close()
	if b.receiver, err = newReceiver(broker.ListenAddrs(), egress, dlq); err != nil {
		return nil, err
	}
	defer b.receiver.Close()
	if err := b.startDaemon(ctx, broker.ListenAddrs()); err != nil {
		return nil, err
	}
	receiving, stop := context.WithCancel(ctx)
	received := make(chan error, 1)
	go func() { received <- receive(receiving, b.receiver, b.ledger) }() // ended by stop
	rows, err := b.measure(ctx)
	stop()
	if err := errors.Join(err, <-received); err != nil {
		cancel() // kills the daemon, whose end says nothing new then
		b.daemon.End()
		return nil, err
	}
	if err := b.daemon.End(); err != nil {
		return nil, err
	}
	return rows, nil
}

// startDaemon starts a Layover with the settings that a user would begin with,
// but for the bound and the port.
func (b *bench) startDaemon(ctx context.Context, brokers []string) (err error) {
	b.daemon, err = process.Start(ctx, process.Daemon, b.Log, []string{
		"KAFKA_BROKERS=" + strings.Join(brokers, ","), "LAYOVER_INGRESS_TOPICS=" + ingress, "LAYOVER_EGRESS_TOPIC=" + egress,
		"LAYOVER_DLQ_TOPIC=" + dlq, "LAYOVER_HTTP_ADDR=127.0.0.1:0", "LAYOVER_LOG_LEVEL=warn",
		"LAYOVER_MAX_PARKED_BYTES=" + strconv.Itoa(b.bound()),
	})
	if err != nil {
		return err
	}
	var hello process.Greeting
	if err := b.daemon.Hear(&hello); err != nil {
		return errors.Join(err, b.daemon.End())
	}
	b.http = hello.HTTP
	return nil
}

// measure is the measurement from its beginning to its end.
func (b *bench) measure(ctx context.Context) ([]row.Row, error) {
	var f figures
	var err error
	fmt.Fprintf(b.Log, "end to end: %d records of %d B and a key of %d B, LAYOVER_MAX_PARKED_BYTES %d\n", b.Records, valueSize, keySize, b.bound())
	if err := b.flowing(ctx, func() error { return cluster.Pause(ctx, warmUp) }); err != nil {
		return nil, err
	}
	if f.empty, err = b.settled(ctx); err != nil {
		return nil, err
	}
	if err := b.park(ctx, &f); err != nil {
		return nil, err
	}
	if err := b.idle(ctx, &f); err != nil {
		return nil, err
	}
	if err := b.through(ctx, &f); err != nil {
		return nil, err
	}
	if f.account.fault() != nil || b.ledger.stray() != nil {
		return nil, errors.Join(f.account.fault(), b.ledger.stray())
	}
	if err := b.agree(ctx, f.account); err != nil {
		return nil, err
	}
	return f.rows(b.Options), nil
}

// settled collects and waits until the runtime is done giving memory back.
func (b *bench) settled(ctx context.Context) (process.Reading, error) {
	if _, err := b.daemon.Ask(process.OrderCollect); err != nil {
		return process.Reading{}, err
	}
	if err := cluster.Pause(ctx, b.Settle); err != nil {
		return process.Reading{}, err
	}
	return b.daemon.Ask(process.OrderCollect)
}

// park fills the daemon and weighs it, before and after a collection.
func (b *bench) park(ctx context.Context, f *figures) (err error) {
	began := time.Now()
	if err := park(ctx, b.sender, b.Records); err != nil {
		return err
	}
	wrote := time.Since(began)
	s, err := b.untilParked(ctx)
	if err != nil {
		return err
	}
	f.accounted = s.Parked.Bytes
	fmt.Fprintf(b.Log, "written in %v, all parked after %v\n", wrote.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	if f.filled, err = b.daemon.Ask(process.OrderRead); err != nil {
		return err
	}
	if f.parked, err = b.settled(ctx); err != nil {
		return err
	}
	if b.Profiles != "" {
		_, err = b.daemon.Ask(process.OrderHeap + filepath.Join(b.Profiles, "heap.pprof"))
	}
	return err
}

// untilParked waits until the daemon has parked everything.
func (b *bench) untilParked(ctx context.Context) (status, error) {
	for by := time.Now().Add(parkWithin); ; {
		s, err := b.status(ctx)
		if err != nil {
			return status{}, err
		}
		if len(s.Pauses) > 0 {
			return status{}, fmt.Errorf("reading pauses at %d parked records: %+v", s.Parked.Records, s.Pauses)
		}
		if s.Parked.Records == int64(b.Records) {
			return s, nil
		}
		if time.Now().After(by) {
			return status{}, fmt.Errorf("%d of %d records parked after %v", s.Parked.Records, b.Records, parkWithin)
		}
		if err := cluster.Pause(ctx, 200*time.Millisecond); err != nil {
			return status{}, err
		}
	}
}

// idle watches the daemon while nothing happens.
func (b *bench) idle(ctx context.Context, f *figures) (err error) {
	fmt.Fprintf(b.Log, "idle for %v\n", b.Idle)
	if err := cluster.Pause(ctx, b.Settle); err != nil {
		return err
	}
	return b.profiled("idle", func() error {
		if f.idle.From, err = b.daemon.Ask(process.OrderRead); err != nil {
			return err
		}
		if err := cluster.Pause(ctx, b.Idle); err != nil {
			return err
		}
		f.idle.To, err = b.daemon.Ask(process.OrderRead)
		return err
	})
}

// through lets short delays go through beside what is parked.
func (b *bench) through(ctx context.Context, f *figures) error {
	fmt.Fprintf(b.Log, "%d/s for %v\n", b.PerSecond, b.Flow)
	var first, last int
	err := b.flowing(ctx, func() (err error) {
		if err := cluster.Pause(ctx, lead); err != nil {
			return err
		}
		return b.profiled("flow", func() error {
			if f.flow.From, err = b.daemon.Ask(process.OrderCollect); err != nil {
				return err
			}
			first = b.ledger.count()
			if err := cluster.Pause(ctx, b.Flow); err != nil {
				return err
			}
			last = b.ledger.count()
			f.flow.To, err = b.daemon.Ask(process.OrderRead)
			return err
		})
	})
	if err != nil {
		return err
	}
	f.account = b.ledger.account(first, last)
	f.after, err = b.daemon.Ask(process.OrderCollect)
	return err
}

// flowing runs f while records with short delays flow, and waits until all that
// were sent have come out.
func (b *bench) flowing(ctx context.Context, f func() error) error {
	sending, stop := context.WithCancel(ctx)
	sent := make(chan error, 1)
	go func() { sent <- flow(sending, b.sender, b.ledger, b.PerSecond) }() // ended by stop
	err := f()
	stop()
	if err := errors.Join(err, <-sent); err != nil {
		return err
	}
	return b.ledger.await(ctx)
}

// profiled runs f with a CPU profile of the daemon, if profiles are wanted.
func (b *bench) profiled(name string, f func() error) error {
	if b.Profiles == "" {
		return f()
	}
	if _, err := b.daemon.Ask(process.OrderCPU + filepath.Join(b.Profiles, name+".pprof")); err != nil {
		return err
	}
	err := f()
	_, errStop := b.daemon.Ask(process.OrderCPUStop)
	return errors.Join(err, errStop)
}
