package daemon

import (
	"math/rand/v2"
	"sync"
	"time"

	"layover/cluster"
	"layover/cluster/batches"
	"layover/config"
	"layover/delay"
	"layover/lane"
	"layover/purgatory"
	"layover/wheel"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/plugin/kprom"
	"github.com/twmb/franz-go/plugin/kslog"
)

// sizes are the bounds that follow from the memory bound, in bytes. They are
// shares of it, within limits that keep a small bound usable and a large one
// from being spent on buffers.
type sizes struct {
	fetch      int32 // one fetch response
	reading    int64 // fetched and not yet parked
	flight     int64 // in flight, per lane
	held       int64 // held for one target
	chunk      int   // one payload chunk
	decompress int   // one fetched batch
	names      int   // target names that headers chose
	visits     int   // visits to runs topics that read at a time
	bound      int64 // of all of it
	geometry   wheel.Geometry
}

// fetchShare is the part of the memory bound that one fetch response may have on the
// wire. A broker counts compressed bytes: records of 200 bytes that compress tenfold take
// some 26 times of them once they are read. Two responses are there at a time, so 1/256
// on the wire is up to a fifth of the bound.
const fetchShare = 256

// nameBytes is what a long name that a header chose takes, with some partitions. The
// names have an eighth of the bound, so that they alone do not make reading pause.
const nameBytes = 640

// packShare divides the memory bound: packing one record may take that much beside it, where the record fits into its
// topic in no other way.
const packShare = 4

// usualBatch is Kafka's default of the largest batch with what its records take
// once they are read, in bytes.
const usualBatch = 5 << 18

func sizesFor(bound int64, lanes int) sizes {
	n := int64(lanes)
	s := sizes{
		fetch:      int32(clamp(bound/fetchShare, 64<<10, 8<<20)),
		reading:    clamp(bound/16, 64<<10, 32<<20),
		flight:     clamp(bound/8/n, 64<<10, 64<<20),
		held:       bound / 4,
		chunk:      int(clamp(bound/n/64, 4<<10, 256<<10)),
		decompress: batches.Limit(bound),
		names:      int(clamp(bound/8/nameBytes, 100, cluster.MaxNames)),
		visits:     int(clamp(bound/visitShare, 1, mostVisits)),
		bound:      bound,
		geometry:   wheel.DefaultGeometry(),
	}
	if bound < 64<<20 { // a wheel of the usual size would be a large share of it
		s.geometry.Slots, s.geometry.Factor = 256, 128
		s.geometry.Levels = 7
	}
	return s
}

// pauseAt is the used memory at which reading pauses: the bound less what may be on
// its way until reading has come to a stand. That is one response handed over, one ready
// in the client for each broker, the records that the lanes have still to take, and one
// batch that is being decompressed. A broker sends at least one batch, whatever its size.
func (s sizes) pauseAt(brokers int) int64 {
	onTheWay := int64(brokers+1)*max(int64(s.fetch), usualBatch) + s.reading + min(int64(s.decompress), s.bound/batches.Share)
	return max(s.bound-onTheWay, s.bound/4)
}

func clamp(n, low, high int64) int64 { return max(low, min(n, high)) }

func (d *Daemon) coreConfig(s sizes, names *delay.Names) purgatory.Config {
	policy := map[config.OnInvalid]purgatory.Policy{
		config.OnInvalidDLQ: purgatory.DeadLetter, config.OnInvalidDeliver: purgatory.Deliver,
		config.OnInvalidDrop: purgatory.Drop, config.OnInvalidHalt: purgatory.Halt,
	}
	expired := map[config.OnExpired]purgatory.Policy{config.OnExpiredDLQ: purgatory.DeadLetter, config.OnExpiredDrop: purgatory.Drop}
	place := byKey(d.cfg.DLQTopic, d.cfg.EventsTopic, names)
	if d.cfg.Partition == config.PartitionSame {
		place = samePartition(d.cfg.DLQTopic, d.cfg.EventsTopic)
	}
	return purgatory.Config{
		OnInvalid: policy[d.cfg.OnInvalid], DeadLetterTopic: d.cfg.DLQTopic,
		OnExpired: expired[d.cfg.OnExpired], EventsTopic: d.cfg.EventsTopic, Event: lane.EventBody,
		Patience: d.cfg.TargetPatience, PatienceText: config.FormatDuration(d.cfg.TargetPatience), HeldShare: s.held,
		Place: place, ApartByIngress: d.cfg.Partition == config.PartitionSame,
		MaxInFlight: d.inFlight(), MaxBuffered: maxBuffered, MaxInFlightBytes: s.flight, LargestChunk: s.chunk,
		JumpOver: purgatory.JumpOver, ClockSlack: purgatory.ClockSlack, Geometry: s.geometry,
	}
}

// maxBuffered is how many records a lane's producer may have unanswered. A quarter of
// them are enough to keep brokers busy; the rest is for records that get stuck.
const maxBuffered = 1 << 16

// inFlight is each lane's share of the 1,000 records that may be in flight to a slow
// partition of a target. Where records keep their partition number, a lane counts those of
// each ingress topic apart, and each topic has its share of that.
func (d *Daemon) inFlight() int {
	n := 1000 / d.cfg.Lanes
	if d.cfg.Partition == config.PartitionSame {
		n /= len(d.cfg.IngressTopics)
	}
	return max(n, 1)
}

// holdings is the bytes that wait in each lane for targets that do not take all their records at the
// moment. The share of memory that one target may take counts for all lanes together.
type holdings struct {
	mu    sync.Mutex
	bytes map[purgatory.TargetName][]purgatory.ShareBytes // then by lane; only of what something waits for
	lanes int
}

// elsewhere takes the bytes that wait in a lane for a target, and returns those of the others.
func (h *holdings) elsewhere(lane int, target purgatory.TargetName, own purgatory.ShareBytes) (others purgatory.ShareBytes) {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.bytes[target]
	if all == nil {
		all = make([]purgatory.ShareBytes, h.lanes)
		h.bytes[target] = all
	}
	all[lane] = own
	for i, b := range all {
		if i != lane {
			others.Held += b.Held
			others.Rejected += b.Rejected
		}
	}
	if own == (purgatory.ShareBytes{}) && others == own {
		delete(h.bytes, target)
	}
	return others
}

const (
	firstBackOff = 100 * time.Millisecond
	maxBackOff   = 2 * time.Second
)

// backOff doubles, with jitter, so that records flow again within seconds of Kafka's
// return and a crowd of clients does not come at once.
func backOff(fails int) time.Duration {
	d := min(firstBackOff<<min(fails, 5), maxBackOff)
	return d - time.Duration(rand.Int64N(int64(d)/5))
}

// clientOptions returns the options of every Kafka client.
func (d *Daemon) clientOptions() []kgo.Opt { return d.optionsWith() }

// optionsWith returns these with more, which Options.Kafka may override as well.
func (d *Daemon) optionsWith(more ...kgo.Opt) []kgo.Opt {
	opts := append(d.connection.Options(),
		kgo.RetryBackoffFn(backOff),
		kgo.MetadataMinAge(250*time.Millisecond),
		kgo.MetadataMaxAge(time.Minute),
		// The client takes a connection that ends at its first answer for wrong settings, and
		// gives up membership and records at once. A proxy that takes connections before a
		// broker that restarts does looks the same. Wrong settings are connection's to find.
		kgo.AlwaysRetryEOF(),
		kgo.DisableClientMetrics(),
	)
	opts = append(opts, kgo.WithLogger(clientLog{kslog.New(d.log)}))
	return append(append(opts, more...), d.opts.Kafka...)
}

// clientLog is the log of the Kafka clients: all of it at debug, nothing otherwise. They
// ask for the level before each line, and it may have changed.
type clientLog struct{ *kslog.Logger }

// Level implements kgo.Logger.
func (l clientLog) Level() kgo.LogLevel {
	if level := l.Logger.Level(); level == kgo.LogLevelDebug {
		return level
	}
	return kgo.LogLevelNone
}

// kafkaOptions returns the options of the Kafka clients that live as long as the
// process, by the client's name in the metrics.
func (d *Daemon) kafkaOptions() func(name string, more ...kgo.Opt) []kgo.Opt {
	reg := prometheus.Registerer(d.registry)
	return func(name string, more ...kgo.Opt) []kgo.Opt {
		metrics := kprom.NewMetrics("layover_kafka", kprom.Registerer(prometheus.WrapRegistererWith(prometheus.Labels{"client": name}, reg)))
		return append([]kgo.Opt{kgo.WithHooks(metrics)}, d.optionsWith(more...)...)
	}
}
