package endtoend

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"layover/bench/broker"
	"layover/bench/process"
	"layover/bench/row"
	"layover/cluster"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// watchEvery is how often a daemon that starts is looked at.
	watchEvery = 20 * time.Millisecond
	// settleKilled is until what a killed daemon had sent is in the log.
	settleKilled = 500 * time.Millisecond
	// throughWithin is how long all that was due may take after a start.
	throughWithin = 5 * time.Minute
)

// restart is a daemon that is killed with a large window, and started again.
type restart struct {
	scene
	journal string // LAYOVER_JOURNAL

	load   load
	daemon *process.Child
	http   string
	found  restarted
}

// restarted is what came of it. Times after the start are since the process was started.
type restarted struct {
	load    load
	written time.Duration   // from the first record on
	build   process.Stretch // up to the kill
	before  status          // at the kill

	assigned, loaded, ready, first, reread, through time.Duration

	restored  status          // when all was read again
	refilled  process.Reading // then
	end       status          // when all was through
	collected process.Reading // then, after a collection
	audit     audit
}

// Restart measures what a kill costs with o.Window offsets in so many partitions,
// with the journal, and with metadata alone. One offset in ten is parked far ahead,
// and the rest is delivered but for a trickle. A record that is lost, early or not
// accounted for is an error, and there are no rows then.
func Restart(ctx context.Context, o Options, partitions int) ([]row.Row, error) {
	o = o.filled()
	k, err := broker.Start(ctx, o.Log)
	if err != nil {
		return nil, err
	}
	defer k.Close()
	client, err := kgo.NewClient(kgo.SeedBrokers(k.Addrs...), kgo.RetryTimeout(30*time.Second))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	var found []restarted
	for _, journal := range []string{"auto", "off"} {
		r := &restart{journal: journal, scene: scene{Options: o, kafka: k, admin: kadm.NewClient(client), partitions: partitions,
			name: fmt.Sprintf("restart-%d-%s", partitions, journal)}}
		if err := r.run(ctx); err != nil {
			return nil, fmt.Errorf("LAYOVER_JOURNAL=%s: %w", journal, err)
		}
		found = append(found, r.found)
	}
	return restartRows(o, k.Name, partitions, found[0], found[1]), nil
}

// run measures, and leaves nothing behind in the cluster.
func (r *restart) run(ctx context.Context) (err error) {
	if err := r.make(ctx); err != nil {
		return err
	}
	defer func() {
		if r.daemon != nil {
			r.daemon.Kill()
		}
		err = errors.Join(err, r.forget(ctx))
	}()
	if err := r.build(ctx); err != nil {
		return err
	}
	r.daemon.Kill()
	if err := cluster.Pause(ctx, settleKilled); err != nil {
		return err
	}
	if err := r.again(ctx); err != nil {
		return err
	}
	r.found.audit, err = r.check(ctx)
	return err
}

// start starts a daemon, as bench.startDaemon does, with a name of its own in the group.
func (r *restart) start(ctx context.Context) (err error) {
	r.daemon, err = process.Start(ctx, process.Daemon, r.Log, []string{
		"KAFKA_BROKERS=" + strings.Join(r.kafka.Addrs, ","), "LAYOVER_INGRESS_TOPICS=" + r.ingress(), "LAYOVER_EGRESS_TOPIC=" + r.egress(),
		"LAYOVER_DLQ_TOPIC=" + r.dead(), "LAYOVER_GROUP_ID=" + r.name, "LAYOVER_GROUP_INSTANCE_ID=" + r.name + "-0", "LAYOVER_JOURNAL=" + r.journal,
		"LAYOVER_HTTP_ADDR=127.0.0.1:0", "LAYOVER_LOG_LEVEL=warn", "LAYOVER_MAX_PARKED_BYTES=" + strconv.Itoa(max(r.Window*boundPerRecord, leastBound)),
	})
	if err != nil {
		return err
	}
	var hello process.Greeting
	if err := r.daemon.Hear(&hello); err != nil {
		return err
	}
	r.http = hello.HTTP
	return nil
}

// build lets a daemon make the window, up to the moment of the kill.
func (r *restart) build(ctx context.Context) (err error) {
	if err := r.start(ctx); err != nil {
		return err
	}
	if err := r.until(ctx, broker.ServeWithin, "ready", func(s status) bool { return s.Ready }); err != nil {
		return err
	}
	if r.found.build.From, err = r.daemon.Ask(process.OrderRead); err != nil {
		return err
	}
	began := time.Now()
	kill := began.Add(r.Build)
	r.load = plan(r.Window, kill, r.Around, min(maxScatter, r.Build/3))
	fmt.Fprintf(r.Log, "%s: %d records, of which %d stay parked and %d are due around the kill\n", r.name, r.Window, r.load.far, r.load.around)
	if err := r.load.write(ctx, r.kafka.Addrs, r.ingress()); err != nil {
		return err
	}
	r.found.written = time.Since(began)
	fmt.Fprintf(r.Log, "%s: written within %v\n", r.name, r.found.written.Round(time.Millisecond))
	if err := cluster.Pause(ctx, time.Until(kill.Add(-r.Around))); err != nil {
		return err
	}
	// All but what is due from now on has to be through: it is the set that is measured.
	if s, err := askStatus(ctx, r.http); err != nil || s.Counters.Delivered < int64(r.Window-r.load.far-r.load.around) {
		return errors.Join(err, fmt.Errorf("%d of %d records delivered %v before the kill: too few for a window like that",
			s.Counters.Delivered, r.Window-r.load.far-r.load.around, r.Around))
	}
	if err := cluster.Pause(ctx, time.Until(kill)); err != nil {
		return err
	}
	if r.found.build.To, err = r.daemon.Ask(process.OrderRead); err != nil {
		return err
	}
	r.found.before, err = askStatus(ctx, r.http)
	r.found.load = r.load
	return err
}

// again starts the daemon again and watches it until all that is due is through.
func (r *restart) again(ctx context.Context) (err error) {
	first, err := r.awaitFirst(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := r.start(ctx); err != nil {
		return err
	}
	f := &r.found
	note := func(at *time.Duration, holds bool) {
		if holds && *at == 0 {
			*at = time.Since(began)
		}
	}
	end := began.Add(throughWithin)
	for f.through == 0 {
		s, err := askStatus(ctx, r.http)
		if err != nil {
			return err
		}
		loaded, read := 0, int64(0)
		for _, a := range s.Assignments {
			if a.Loaded {
				loaded, read = loaded+1, read+a.Read
			}
		}
		note(&f.assigned, len(s.Assignments) == r.partitions)
		note(&f.loaded, loaded == r.partitions)
		note(&f.ready, s.Ready)
		if read >= int64(r.Window) && f.reread == 0 {
			note(&f.reread, true)
			f.restored = s
			if f.refilled, err = r.daemon.Ask(process.OrderRead); err != nil {
				return err
			}
		}
		f.end = s
		note(&f.through, f.reread > 0 && s.InFlight == 0 && s.Parked.Records == int64(r.load.far))
		if time.Now().After(end) {
			return fmt.Errorf("not through within %v after the start: %+v", throughWithin, s)
		}
		if err := cluster.Pause(ctx, watchEvery); err != nil {
			return err
		}
	}
	f.first = (<-first).Sub(began)
	f.collected, err = r.daemon.Ask(process.OrderCollect)
	return err
}

// until asks the daemon until something holds.
func (r *restart) until(ctx context.Context, within time.Duration, what string, holds func(status) bool) error {
	for by := time.Now().Add(within); ; {
		s, err := askStatus(ctx, r.http)
		if err != nil {
			return err
		}
		if holds(s) {
			return nil
		}
		if time.Now().After(by) {
			return fmt.Errorf("not %s within %v: %+v", what, within, s)
		}
		if err := cluster.Pause(ctx, watchEvery); err != nil {
			return err
		}
	}
}
