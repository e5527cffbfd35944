package endtoend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"layover/bench/broker"
	"layover/bench/process"
	"layover/cluster"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// endsWithin bounds each wait for a daemon.
const endsWithin = 10 * time.Minute

// held is a daemon that is held to a memory and two cores, with records that come and go beside
// what it parks.
type held struct {
	scene
	memory int64 // 0: what the settings say
	daemon *process.Child
	http   string
	starts int
	sender *kgo.Client // of what is parked; the flow has one of its own
	ledger *ledger     // of the flow
	dues   *dues       // of what is parked
	wrote  int64       // of what is parked
	pauses bool        // reading may pause while it is written: all delays are longer than that
	last   status      // of until
}

// newHeld returns a daemon that is not started, with a name for its topics.
func newHeld(o Options, k *broker.Broker, c *clients, name string, partitions int) *held {
	h := &held{scene: scene{Options: o, kafka: k, admin: c.admin, partitions: partitions, name: name}, memory: int64(o.Memory), dues: new(dues)}
	h.ledger = &ledger{topic: h.egress()}
	return h
}

// start starts the daemon, in a container where that can be had.
func (h *held) start(ctx context.Context, settings ...string) (err error) {
	settings = append([]string{
		"KAFKA_BROKERS=" + strings.Join(h.kafka.Addrs, ","), "LAYOVER_INGRESS_TOPICS=" + h.ingress(), "LAYOVER_EGRESS_TOPIC=" + h.egress(),
		"LAYOVER_DLQ_TOPIC=" + h.dead(), "LAYOVER_GROUP_ID=" + h.name, "LAYOVER_GROUP_INSTANCE_ID=" + h.name + "-0",
		"LAYOVER_HTTP_ADDR=127.0.0.1:0", "LAYOVER_LOG_LEVEL=warn", "LAYOVER_MAX_DELAY=31d",
	}, settings...)
	h.starts++
	switch {
	case h.memory == 0:
		h.daemon, err = process.Start(ctx, process.Daemon, h.Log, settings)
	case h.kafka.Contained:
		h.daemon, err = startContained(ctx, fmt.Sprintf("%s-%d", h.name, h.starts), h.memory, h.Log, settings)
	default:
		h.daemon, err = process.Start(ctx, process.Daemon, h.Log, append(settings,
			"LAYOVER_MAX_PARKED_BYTES="+strconv.FormatInt(h.memory/2, 10), "LAYOVER_GOMEMLIMIT="+strconv.FormatInt(h.memory/10*9, 10)))
	}
	if err != nil {
		return err
	}
	var hello process.Greeting
	if err := h.daemon.Hear(&hello); err != nil {
		return err
	}
	h.http = hello.HTTP
	return nil
}

// run makes the topics, starts the daemon, and runs body while what comes out is entered in the books.
func (h *held) run(ctx context.Context, settings []string, body func(context.Context) error) (err error) {
	if err := h.make(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.forget(ctx)) }()
	if h.sender, err = newSender(h.kafka.Addrs, h.ingress()); err != nil {
		return err
	}
	defer h.sender.Close()
	receiver, err := newReceiver(h.kafka.Addrs, h.egress(), h.dead())
	if err != nil {
		return err
	}
	defer receiver.Close()
	if err := h.start(ctx, settings...); err != nil {
		return err
	}
	defer func() { h.daemon.Kill() }()
	if err := h.until(ctx, "ready", func(s *status) bool { return s.Ready }); err != nil {
		return err
	}
	receiving, stop := context.WithCancel(ctx)
	received := make(chan error, 1)
	go func() { received <- receiveBoth(receiving, receiver, h.ledger, h.dues) }() // ended by stop
	err = body(ctx)
	stop()
	return errors.Join(err, <-received, h.ledger.stray())
}

// flowing runs f while records with short delays flow, and returns the error of either.
func (h *held) flowing(ctx context.Context, f func() error) error {
	sender, err := newSender(h.kafka.Addrs, h.ingress())
	if err != nil {
		return err
	}
	defer sender.Close()
	sending, stop := context.WithCancel(ctx)
	sent := make(chan error, 1)
	go func() { sent <- flow(sending, sender, h.ledger, h.PerSecond) }() // ended by stop
	err = cluster.Pause(ctx, warmUp+lead)
	if err == nil {
		err = f()
	}
	stop()
	if err := errors.Join(err, <-sent); err != nil {
		return err
	}
	return h.ledger.await(ctx)
}

// until asks the daemon until something holds.
func (h *held) until(ctx context.Context, what string, holds func(*status) bool) error {
	return h.untilEvery(ctx, 500*time.Millisecond, what, holds)
}

func (h *held) untilEvery(ctx context.Context, every time.Duration, what string, holds func(*status) bool) error {
	for by := time.Now().Add(endsWithin); ; {
		s, err := askStatus(ctx, h.http)
		if err != nil {
			return fmt.Errorf("until %s: %w", what, err)
		}
		h.last = s
		if holds(&s) {
			return nil
		}
		if time.Now().After(by) {
			return fmt.Errorf("not %s within %v: %+v", what, endsWithin, s)
		}
		if err := cluster.Pause(ctx, every); err != nil {
			return err
		}
	}
}

// awaitReady watches a daemon that was started at an instant. It returns how long after that it had all
// partitions, and was ready.
func (h *held) awaitReady(ctx context.Context, began time.Time) (assigned, ready time.Duration, err error) {
	for ready == 0 {
		now, err := askStatus(ctx, h.http)
		if err != nil {
			return 0, 0, err
		}
		h.last = now
		if len(now.Assignments) == h.partitions && assigned == 0 {
			assigned = time.Since(began)
		}
		if now.Ready && assigned > 0 {
			ready = time.Since(began)
		}
		if time.Since(began) > throughWithin {
			return 0, 0, fmt.Errorf("not ready within %v after the start: %+v", throughWithin, now)
		}
		if err := cluster.Pause(ctx, watchEvery); err != nil {
			return 0, 0, err
		}
	}
	return assigned, ready, nil
}

// quiet waits until all is read, and nothing was moved for a while.
func (h *held) quiet(ctx context.Context) error {
	moved, since := int64(-1), time.Now()
	return h.until(ctx, "quiet", func(s *status) bool {
		if s.Runs.Moved != moved || s.Runs.Moving > 0 || s.read() < h.wrote {
			moved, since = s.Runs.Moved, time.Now()
		}
		return time.Since(since) > h.Quiet
	})
}

// fill writes records to be parked up to a number in all, each with a delay of its own. It is as fast as the
// daemon reads and moves them, and keeps clear of the mark at which reading pauses, unless h.pauses. What waits
// in ingress behind a pause is late, with runs and without.
func (h *held) fill(ctx context.Context, to int64, delay func(n int64) time.Duration) error {
	const (
		atATime, backlog = 5000, 20_000
		every            = 100 * time.Millisecond // an answer costs the daemon 1 to 3 ms where there are hundreds of runs
	)
	var failed broker.Failure
	for h.wrote < to {
		for range min(atATime, to-h.wrote) {
			now := time.Now()
			d := delay(h.wrote)
			h.sender.Produce(ctx, record(h.dues.key(h.wrote, now, d), d, now, h.dues.random()), failed.Note)
			h.wrote++
		}
		err := h.untilEvery(ctx, every, "read", func(s *status) bool {
			free := h.pauses || s.Parked.Memory < s.Parked.PauseAt*15/16
			return free && h.wrote+int64(h.ledger.count())-s.read() < backlog
		})
		if err := cmp.Or(err, failed.Get()); err != nil {
			return err
		}
	}
	if err := h.sender.Flush(ctx); err != nil {
		return err
	}
	return cmp.Or(failed.Get(), h.until(ctx, "read", func(s *status) bool { return s.read() >= h.wrote }))
}

// clients are those that all measurements share.
type clients struct {
	client *kgo.Client
	admin  *kadm.Client
}

// startAll starts a broker and the clients. stop ends them.
func startAll(ctx context.Context, o Options) (k *broker.Broker, c *clients, stop func(), err error) {
	if k, err = broker.Start(ctx, o.Log); err != nil {
		return nil, nil, nil, err
	}
	c = new(clients)
	if c.client, err = kgo.NewClient(kgo.SeedBrokers(k.Addrs...), kgo.RetryTimeout(30*time.Second)); err != nil {
		k.Close()
		return nil, nil, nil, err
	}
	c.admin = kadm.NewClient(c.client)
	return k, c, func() { c.client.Close(); k.Close() }, nil
}
