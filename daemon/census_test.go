//go:build !race

// The census reads a daemon's memory while its goroutines wait. The race detector knows
// that they have come to rest, and not that they go on behind it.

package daemon

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"layover/verify/long"
	"layover/verify/reach"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// census is what a daemon holds at one moment.
type census struct {
	sizes      map[string]int // elements of its maps, slices and channels, by the way to them
	goroutines map[string]int // by the function that started them
	series     []string       // metrics, with their labels
	bytes      int64          // of its lanes
	chunks     int64          // of those, in chunks of records
}

// count takes a census of an instance that is idle.
func (in *instance) count() (c census) {
	in.w.Helper()
	in.get("/metrics") // twice: what asking leaves behind is no matter
	_, metrics := in.get("/metrics")
	synctest.Wait()
	c.sizes = reach.Sizes(in.daemon, func(t reflect.Type) bool {
		pkg := t.PkgPath()
		if t.Kind() == reflect.Pointer {
			pkg = t.Elem().PkgPath()
		}
		return pkg != "" && !strings.HasPrefix(pkg, "layover/") && !strings.HasPrefix(pkg, "sync")
	})
	c.goroutines = inThisBubble()
	for line := range strings.Lines(metrics) {
		if name, _, ok := strings.Cut(line, " "); ok && strings.HasPrefix(name, "layover_") {
			c.series = append(c.series, name)
		}
	}
	for _, l := range in.daemon.lanes {
		c.bytes += l.Bytes()
		c.chunks += l.Snapshot().ChunkBytes
	}
	return c
}

// reused are the structures that grow to the most that there ever was at once, and are used
// again. They are tables of slots with their free lists, rings of queues, and scratch memory.
// spoken is by names of settings and codes, and bounded as they are. remembered are the last of something, up to a
// bound that another test holds.
var (
	reused = []string{".out.dir.list", ".out.dir.free", ".queue.buf", ".flights.list", ".flights.free", ".out.slots", ".parking.wheel.", ".core.store.chunks", ".core.store.free",
		".decompressor.scratch", ".out.results", ".out.scratch", ".out.shares.oldest", knownTargets}
	spoken     = []string{".core.out.stats.", ".drops.dead", ".loader.committed"} // the last by ingress partition
	remembered = []string{".core.handovers"}
)

// knownTargets are the targets that lanes know. One of the settings is kept for a while, and any
// other goes with its last record: see mostTargets.
const knownTargets = ".consumer.handler.lanes[].core.out.dir.byKey"

// mostTargets is how many they may know: each that the settings name, and dead letters'.
const mostTargets = 2 * 3

// mostReused is how many bytes of a lane's that may be, with the load of the test.
const mostReused = 1 << 20

// hardship is a fault of the census, with the records that meet it. It ends what it began.
type hardship struct {
	name string
	do   func(w *fixture, in *instance)
}

// during refuses requests for a while, in which f is called.
func (w *fixture) during(for_ time.Duration, key kmsg.Key, fault kfake.Fault, f func()) {
	handle := w.Refuse(key, fault)
	f()
	time.Sleep(for_)
	handle.Remove()
}

// to sends a record for a target to each partition.
func (w *fixture) to(target string) {
	for p := range int32(2) {
		w.send(p, target, header("x-deliver-to", target))
	}
}

// requestHardships are refusals of requests, each about something else, and a target that is made again.
func requestHardships() []hardship {
	refused := func(name, topic string, err *kerr.Error, for_ time.Duration, key kmsg.Key) hardship {
		return hardship{name, func(w *fixture, _ *instance) {
			w.during(for_, key, kfake.Fault{Topic: topic, Err: err}, func() { w.to("spare") })
		}}
	}
	return []hardship{
		{"a target is made again", func(w *fixture, _ *instance) {
			w.DeleteTopic("spare")
			w.to("spare")
			time.Sleep(20 * time.Second)
			w.CreateTopic("spare", 2, nil)
		}},
		refused("a target is forbidden", "spare", kerr.TopicAuthorizationFailed, 20*time.Second, kmsg.Produce),
		refused("a target does not answer", "spare", kerr.NotEnoughReplicas, 40*time.Second, kmsg.Produce),
		refused("one broken replica", "spare", kerr.CorruptMessage, 5*time.Second, kmsg.Produce),
		refused("no fetch is answered well", ingress, kerr.UnknownServerError, 10*time.Second, kmsg.Fetch),
		refused("no commit is taken", "", kerr.CoordinatorNotAvailable, 10*time.Second, kmsg.OffsetCommit),
		refused("no metadata of a topic", ingress, kerr.LeaderNotAvailable, 10*time.Second, kmsg.Metadata),
		refused("the journal takes nothing", journalTopic, kerr.KafkaStorageError, 20*time.Second, kmsg.Produce),
	}
}

// lifeHardships are those that no refusal of a request is.
func lifeHardships() []hardship {
	return []hardship{
		{"names that nobody knows", func(w *fixture, _ *instance) {
			for n := range 60 {
				w.send(int32(n%2), "lost", header("x-deliver-to", fmt.Sprintf("jobs.%d", n)))
			}
			time.Sleep(3 * time.Minute) // their patience is over
		}},
		{"the dead-letter topic is forbidden", func(w *fixture, _ *instance) {
			w.during(20*time.Second, kmsg.Produce, kfake.Fault{Topic: dlq, Err: kerr.TopicAuthorizationFailed}, func() {
				w.send(0, "invalid", header("x-delay", "tomorrow"))
			})
		}},
		{"a batch is too large to read", func(w *fixture, _ *instance) {
			w.bomb(1, 3)
			time.Sleep(10 * time.Second)
		}},
		{"a rebalance, and back", func(w *fixture, _ *instance) {
			other := w.start(censusSettings...)
			time.Sleep(20 * time.Second)
			other.stop()
			time.Sleep(20 * time.Second)
		}},
		{"the member is thrown out", func(w *fixture, _ *instance) {
			w.evicted()
			time.Sleep(30 * time.Second)
		}},
		{"records are deleted before they are read", func(w *fixture, _ *instance) {
			w.during(5*time.Second, kmsg.Fetch, kfake.Fault{Topic: ingress, Err: kerr.UnknownServerError}, func() {
				w.send(0, "gone")
				w.DeleteRecords(ingress, 0, w.Broker.PartitionInfos(ingress)[0].HighWatermark)
			})
			time.Sleep(10 * time.Second)
		}},
		{"the journal is made again", func(w *fixture, _ *instance) {
			w.sendMany(0, 0, 600, func(i int) []kgo.RecordHeader {
				return []kgo.RecordHeader{header("x-delay", []string{"0s", "90s"}[i%2])}
			})
			time.Sleep(20 * time.Second)
			w.DeleteTopic(journalTopic)
			time.Sleep(20 * time.Second)
		}},
		{"a second ingress topic is made again", func(w *fixture, _ *instance) {
			w.DeleteTopic("second")
			time.Sleep(20 * time.Second)
			w.CreateTopic("second", 1, nil)
			time.Sleep(30 * time.Second)
			w.Client.PurgeTopicsFromClient("second")
			w.Produce(&kgo.Record{Topic: "second", Value: []byte("again")})
		}},
	}
}

var censusSettings = []string{"LAYOVER_INGRESS_TOPICS=" + ingress + ",second", "LAYOVER_TARGETS_ALLOWED=spare,jobs.*", "LAYOVER_TARGET_PATIENCE=2m", narrow}

// censused starts an instance for a census.
func (w *fixture) censused() *instance {
	w.Helper()
	w.withoutFetchSessions()
	w.dial = slow(w.dial, time.Millisecond) // or a client that asks for a deleted topic keeps time from passing
	w.LimitMetadata(300)                    // so that small sets go to the journal
	w.createTopics(2, "spare")
	w.createTopics(1, "second")
	in := w.start(censusSettings...)
	in.ready()
	return in
}

// calm lets an instance live a healthy life for a while.
func (in *instance) calm(for_ time.Duration) {
	in.w.Helper()
	for p := range int32(2) { // of everything that a healthy life has
		in.w.send(p, "healthy")
		in.w.send(p, "parked", header("x-delay", "5s"))
		in.w.send(p, "spared", header("x-deliver-to", "spare"))
		in.w.send(p, "invalid", header("x-delay", "tomorrow"))
	}
	time.Sleep(for_)
	if s := in.status(); len(s["sick"].([]any)) > 0 {
		in.w.Fatalf("sick: %v", s["sick"])
	}
}

// suffers lets an instance live through every hardship.
func (in *instance) suffers() {
	in.w.Helper()
	for _, h := range slices.Concat(requestHardships(), lifeHardships()) {
		h.do(in.w, in)
		time.Sleep(10 * time.Second)
	}
}

// forgets is how long it takes until names are forgotten, and idle connections closed.
const forgets = 20 * time.Minute

// TestNothingStaysBehind: a daemon that has seen every fault, and is well again, holds what
// it held before. So it does after the same once more.
func TestNothingStaysBehind(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		in := w.censused()
		in.calm(forgets)
		before := in.count()
		var after []census
		for range 2 {
			in.suffers()
			in.calm(forgets)
			after = append(after, in.count())
		}
		for round, c := range after {
			if more := more(before.sizes, c.sizes, slices.Concat(reused, spoken, remembered)...); len(more) > 0 {
				t.Errorf("after round %d there is more of\n%s", round+1, strings.Join(more, "\n"))
			}
			if more := more(before.goroutines, c.goroutines, "kgo.(*broker"); len(more) > 0 {
				t.Errorf("after round %d, connections of the client's apart, there are more goroutines of\n%s", round+1, strings.Join(more, "\n"))
			}
			for _, s := range c.series {
				if !slices.Contains(before.series, s) && !strings.HasPrefix(s, "layover_kafka_") { // by broker and topic, also of errors
					t.Errorf("after round %d there is a series more: %s", round+1, s)
				}
			}
			if _, there := c.sizes[knownTargets]; !there || c.sizes[knownTargets] > mostTargets {
				t.Errorf("after round %d the lanes know %d targets, want %d at most", round+1, c.sizes[knownTargets], mostTargets)
			}
			if c.bytes > before.bytes+mostReused || c.chunks > before.chunks {
				t.Errorf("after round %d the lanes hold %d bytes, %d in chunks; before it was %d and %d", round+1, c.bytes, c.chunks, before.bytes, before.chunks)
			}
		}
		in.stop()
	})
}
