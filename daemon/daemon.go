package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"layover/cluster"
	"layover/cluster/connect"
	"layover/config"
	"layover/consumer"
	"layover/delay"
	"layover/journal"
	"layover/journal/copies"
	"layover/lane"
	"layover/producer"
	"layover/purgatory"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Options is what the process gives beside the settings.
type Options struct {
	Log               *slog.Logger
	Version, Revision string
	// Ready is called with the address once HTTP serves; may be nil.
	Ready func(httpAddr string)
	// Kafka are further options of every Kafka client, such as a hook.
	Kafka []kgo.Opt
	// Dial connects to brokers, below TLS; nil: TCP.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Resolve looks hosts up for the preflight; nil: the system does.
	Resolve func(ctx context.Context, host string) ([]string, error)
	// Listen and ListenControl open LAYOVER_HTTP_ADDR and LAYOVER_ADMIN_ADDR; nil: TCP.
	Listen, ListenControl func(addr string) (net.Listener, error)
	// Wall is what the wall clock of deadlines shows at an instant; nil: what the instant says.
	Wall func(time.Time) time.Time
	// Warnings are those of config.Load, for the preflight.
	Warnings []string
	// Level is the level of Log, for operators to change; needed with LAYOVER_ADMIN_ADDR.
	Level *slog.LevelVar
}

// Daemon is one Layover process.
type Daemon struct {
	cfg     *config.Config
	opts    Options
	log     *slog.Logger
	started time.Time

	registry     *prometheus.Registry
	connection   *connect.Connection
	asking       *kgo.Client // for questions about the cluster, no data
	watcher      *cluster.Watcher
	consumer     *consumer.Consumer
	packer       *producer.Packer
	producers    []*producer.Producer
	journal      *journal.Journal
	copies       *copies.Copies
	lanes        []*lane.Lane
	targets      []*delay.Targets // of each ingress topic, the same in all lanes
	router       *router
	backpressure *backpressure
	held         holdings
	replay       replay
	drops        dropSummary
	sick         sickLog
	preflight    *preflight
	loops        loops

	background sync.WaitGroup // goroutines that end when the watcher is told to

	draining atomic.Bool
	ready    atomic.Bool // never taken back, but by draining
}

// New makes the parts. It opens no port and joins no group.
func New(cfg *config.Config, o Options) (*Daemon, error) {
	d := &Daemon{cfg: cfg, opts: o, log: o.Log, started: time.Now(), registry: prometheus.NewRegistry(), replay: replay{log: o.Log}}
	d.drops = dropSummary{log: d.log, counts: d.lost, lookedAt: d.started}
	d.sick = d.newSickLog()
	d.preflight = d.newPreflight()
	d.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	connection, err := connect.New(connect.Config{Kafka: cfg.Kafka, DialTimeout: 5 * time.Second, Dial: o.Dial, Log: d.log})
	if err != nil {
		return nil, err
	}
	d.connection = connection
	kafka := d.kafkaOptions()
	asking, err := kgo.NewClient(kafka("watch")...)
	if err != nil {
		return nil, fmt.Errorf("kafka client: %w", err)
	}
	d.asking = asking
	sizes := sizesFor(cfg.MaxParkedBytes, cfg.Lanes)
	d.watcher = cluster.New(cluster.Config{
		Ingress: cfg.IngressTopics, Targets: d.namedTargets(), MaxDelay: cfg.MaxDelay, Runs: cfg.HasRuns, Names: sizes.names,
		Refused: d.refused, Heard: connection.Heard, Quiet: cfg.Preflight != config.PreflightOff, Changed: d.topicsChanged, Log: d.log,
	}, asking)
	d.packer = producer.NewPacker(cfg.MaxParkedBytes / packShare)
	d.router = newRouter(cfg.Lanes)
	d.held = holdings{bytes: make(map[purgatory.TargetName][]purgatory.ShareBytes), lanes: cfg.Lanes}
	d.backpressure = &backpressure{limit: func() int64 { return sizes.pauseAt(d.watcher.Brokers()) }, names: d.nameBytes, holding: lane.NewHolding(), log: d.log, runs: cfg.RunsOn()}
	if err := d.makeJournal(kafka); err != nil {
		return nil, err
	}
	if err := d.makeRuns(sizes, kafka); err != nil {
		return nil, err
	}
	if err := d.makeLanes(sizes, kafka); err != nil {
		return nil, err
	}
	d.consumer, err = consumer.New(consumer.Config{
		Topics: cfg.IngressTopics, Group: cfg.GroupID, InstanceID: cfg.GroupInstanceID,
		SessionTimeout: cfg.SessionTimeout, StartOffset: string(cfg.StartOffset),
		FetchMaxBytes: sizes.fetch, ReadingBudget: sizes.reading, MaxDecompress: sizes.decompress,
		Refused: d.refused, Asking: asking, Journal: d.journal, Options: func() []kgo.Opt { return kafka("consumer", connection.Waiting(), kgo.Rack(cfg.Kafka.Rack)) }, Log: d.log,
	}, d.router)
	if err != nil {
		return nil, err
	}
	d.router.start(d.lanes, d.consumer)
	d.backpressure.start(d.lanes, d.consumer)
	return d, nil
}

// makeLanes makes the lanes, each with its producer.
func (d *Daemon) makeLanes(s sizes, kafka func(string, ...kgo.Opt) []kgo.Opt) error {
	rules, err := d.rules()
	if err != nil {
		return err
	}
	names, err := d.cfg.Names()
	if err != nil {
		return err
	}
	catchUp := lane.NewCatchUp(d.cfg.CatchupRate)
	for i := range d.cfg.Lanes {
		p, err := producer.New(producer.Config{
			MaxBatchBytes: func(topic string) int32 {
				if topic == "" {
					return 1 << 20 // asked for once, to check the configuration
				}
				return d.watcher.MaxBatchBytes(topic)
			},
			MaxBuffered: maxBuffered, Compression: d.compression(), Packer: d.packer,
			Options: func(suffix string) []kgo.Opt { return kafka(fmt.Sprintf("lane-%d%s", i, suffix)) },
		})
		if err != nil {
			return err
		}
		d.producers = append(d.producers, p)
		d.lanes = append(d.lanes, lane.New(lane.Config{
			Core: d.coreConfig(s, names), Rules: rules, Group: d.cfg.GroupID, CommitInterval: d.cfg.CommitInterval, Journal: d.journal,
			OriginalTime: d.cfg.Timestamp == config.TimestampOriginal, Answered: d.watcher.Answered, Holding: d.backpressure.holding, CatchUp: catchUp,
			Elsewhere: func(t purgatory.TargetName, own purgatory.ShareBytes) purgatory.ShareBytes {
				return d.held.elsewhere(i, t, own)
			},
			Changed: d.backpressure.check, Runs: d.runsConfig(s), Wall: d.opts.Wall, Log: d.log,
		}, d.delivery(p), d.router, d.router))
	}
	return nil
}

// Run serves until the context ends or until going on makes no sense; then it
// stops gracefully, in LAYOVER_SHUTDOWN_TIMEOUT at most. The context's end is not
// an error.
func (d *Daemon) Run(ctx context.Context) error {
	http, err := listen(d.cfg, d.opts)
	if err != nil {
		d.closeClients(time.Now().Add(time.Second))
		return err
	}
	d.sayStart(http)
	if d.cfg.Preflight != config.PreflightFail { // or poll does it, behind the checks
		if err := d.consumer.Start(); err != nil {
			http.close()
			d.closeClients(time.Now().Add(time.Second))
			return err
		}
	}
	serving := make(chan error, 2)
	http.serve(d, d.registry, serving)
	if d.opts.Ready != nil {
		addr, _ := http.addresses()
		d.opts.Ready(addr)
	}

	watching, stopWatching := context.WithCancel(context.Background())
	d.watch(watching)
	d.background.Go(func() { http.remember(watching, &d.loops.history) })
	for _, l := range d.lanes {
		go l.Run() // ended by Stop; its Done is waited for
	}
	polling, stopPolling := context.WithCancel(context.Background())
	polled := make(chan error, 1)
	go func() { polled <- d.poll(polling) }()

	var fatal error
	select {
	case <-ctx.Done():
	case fatal = <-polled:
		polled <- nil
	case fatal = <-serving:
	}
	by := time.Now().Add(d.cfg.ShutdownTimeout)
	d.log.Info("stopping", "within", config.FormatDuration(d.cfg.ShutdownTimeout))
	d.draining.Store(true)
	stopPolling()
	d.stop(by, polled)
	stopWatching()
	d.drops.say(time.Now()) // the lanes have ended, so it is the last of them
	d.closeClients(by)
	shutdown, cancel := context.WithDeadline(context.Background(), by)
	defer cancel()
	http.shutdown(shutdown)
	waitUntil(by, d.background.Wait)
	waitUntil(by, d.journal.Wait)
	d.log.Info("stopped")
	return fatal
}

// poll reads until the context ends. With LAYOVER_PREFLIGHT=fail it begins behind the checks,
// and returns their error where one fails.
func (d *Daemon) poll(ctx context.Context) error {
	if d.cfg.Preflight == config.PreflightFail {
		if err := d.passGate(ctx); err != nil || ctx.Err() != nil {
			return err
		}
	}
	return d.consumer.Run(ctx)
}

// watch starts what runs beside reading and delivering, until the context ends.
func (d *Daemon) watch(ctx context.Context) {
	d.background.Go(func() { d.connection.Run(ctx) })
	d.background.Go(func() { d.watcher.Run(ctx) })
	d.background.Go(func() { d.journal.Run(ctx) })
	d.background.Go(func() { d.consumer.WatchEnds(ctx) })
	d.background.Go(func() { d.becomeReady(ctx) })
	d.background.Go(func() { d.drops.run(ctx, &d.loops.drops) })
	d.background.Go(func() { d.sick.run(ctx, &d.loops.sick) })
	d.background.Go(func() { d.preflight.run(ctx, &d.loops.preflight) })
	d.background.Go(func() { d.replay.run(ctx, &d.loops.replay, d.left) })
}

// stop ends reading and delivering: lanes finish what is in flight and commit,
// then the member leaves the group. A third of the time is kept for leaving.
func (d *Daemon) stop(by time.Time, polled <-chan error) {
	lanesBy := time.Now().Add(time.Until(by) * 2 / 3)
	for _, l := range d.lanes {
		l.Stop(lanesBy)
	}
	for _, l := range d.lanes {
		<-l.Done() // its loop ends by lanesBy, whatever Kafka does
	}
	waitUntil(by, func() { <-d.preflight.passed }) // or a member may join behind Leave
	leave, cancel := context.WithDeadline(context.Background(), by.Add(-time.Until(by)/5))
	defer cancel()
	d.consumer.Leave(leave)
	waitUntil(by, func() { <-polled })
}

// closeClients closes what is left of the Kafka clients, as far as time allows.
func (d *Daemon) closeClients(by time.Time) {
	waitUntil(by, func() {
		d.copies.Close()
		for _, p := range d.producers {
			p.Close()
		}
		d.asking.Close()
	})
}

// waitUntil waits for f, but not beyond a time.
func waitUntil(by time.Time, f func()) {
	done := make(chan struct{})
	go func() {
		f()
		close(done)
	}()
	timer := time.NewTimer(time.Until(by))
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// topicsChanged passes on what the watcher saw in one answer.
func (d *Daemon) topicsChanged(changes []cluster.Change) {
	var usable []string
	for _, c := range changes {
		t := c.Topic
		if t.State == cluster.Usable {
			usable = append(usable, t.Name)
		}
		if slices.Contains(d.cfg.IngressTopics, t.Name) || slices.Contains(d.namedTargets(), t.Name) { // not what a header named
			d.log.Info("topic changed", "topic", t.Name, "state", t.State.String(), "partitions", t.Partitions)
		}
		if c.Renewed && slices.Contains(d.cfg.IngressTopics, t.Name) {
			for _, l := range d.lanes {
				l.MadeAgain(t.Name, t.ID, c.FormerUntil)
			}
			d.background.Go(func() { d.consumer.Rejoin(t.Name) }) // it waits for Kafka; the watcher must not
		}
	}
	if len(usable) > 0 { // or they would not know of partitions that were added, for up to a minute
		for _, p := range d.producers {
			p.Refresh()
		}
	}
	for _, l := range d.lanes {
		if len(usable) > 0 {
			l.Usable(usable)
		}
		l.Poke()
	}
}
