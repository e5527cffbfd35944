package lane

import (
	"errors"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"layover/delay"
	"layover/journal/facts"
	"layover/offsets"
	"layover/purgatory"
	"layover/wheel"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// delivery is what one record looked like when it was produced, and when.
type delivery struct {
	target, key, value string
	partition          int32
	alone              bool // in a batch of its own
	headers            map[string]string
	at                 time.Time
	done               func(error)
}

// kafka is what a lane sees of the outside: it answers as a test tells it to.
type kafka struct {
	mu         sync.Mutex
	silent     bool                       // no delivery is ever answered
	mute       bool                       // no commit is ever answered
	slow       time.Duration              // until a delivery is answered
	tardy      time.Duration              // of answers to commits
	fails      string                     // the target that every delivery fails to
	failsToo   string                     // the same of another one
	mutes      func(topic string) bool    // the targets that answer nothing
	muted      []delivery                 // to those
	refuse     error                      // every commit
	refusals   int                        // commits until refuse is over; 0: it stays
	answer     offsets.CommitResult       // of a refused commit: what else it says
	spares     func(partition int32) bool // the partitions whose commits are taken all the same; nil: none
	noLease    bool
	paused     bool              // reading is
	stopped    bool              // each partition has
	verdict    purgatory.Verdict // of every target
	class      purgatory.Class   // of every error of a delivery
	deliveries []delivery
	commits    []offsets.Commit
	committed  []time.Time
	turns      []time.Time
	consumed   int64
	jumps      []purgatory.Jump
	halts      []purgatory.HaltNotice
	delivering func(n int) // called with the number of deliveries so far
	turning    func()      // called at the end of a turn
	consuming  func()      // called before bytes of the reading budget are given back
	meeting    func()      // called by the loop wherever it calls the outside
	answers    sync.WaitGroup
}

// always returns the same rules for every ingress topic.
func always(r *delay.Rules) func(string) *delay.Rules { return func(string) *delay.Rules { return r } }

// meet is called by the loop, in the middle of a turn.
func (k *kafka) meet() {
	k.mu.Lock()
	meeting := k.meeting
	k.mu.Unlock()
	if meeting != nil {
		meeting()
	}
}

func (k *kafka) Lookup(name purgatory.TargetName) purgatory.TargetState {
	k.meet()
	k.mu.Lock()
	defer k.mu.Unlock()
	return purgatory.TargetState{TargetName: name, Verdict: k.verdict}
}

func (k *kafka) Deliver(r *kgo.Record, alone bool, done func(*kgo.Record, error)) {
	k.meet()
	k.mu.Lock()
	defer k.mu.Unlock()
	d := delivery{target: r.Topic, key: string(r.Key), value: string(r.Value), at: r.Timestamp, headers: map[string]string{}, partition: r.Partition, alone: alone}
	for _, h := range r.Headers {
		d.headers[string([]byte(h.Key))] = string(h.Value)
	}
	d.done = func(err error) { done(r, err) }
	k.deliveries = append(k.deliveries, d)
	if k.delivering != nil {
		k.delivering(len(k.deliveries))
	}
	if k.silent {
		return
	}
	if k.mutes != nil && k.mutes(r.Topic) {
		k.muted = append(k.muted, d)
		return
	}
	slow, err := k.slow, error(nil)
	if r.Topic == k.fails || k.failsToo != "" && r.Topic == k.failsToo {
		err = errors.New("not enough replicas")
	}
	k.answers.Go(func() {
		time.Sleep(slow) // in a bubble
		done(r, err)
	})
}

func (k *kafka) Classify(error) purgatory.Result {
	k.meet()
	k.mu.Lock()
	defer k.mu.Unlock()
	return purgatory.Result{Class: k.class, Detail: "fault"}
}

func (k *kafka) Commit(commits []offsets.Commit, done func([]offsets.CommitResult)) {
	k.meet()
	k.mu.Lock()
	defer k.mu.Unlock()
	var results []offsets.CommitResult
	for _, c := range commits {
		k.commits = append(k.commits, c)
		k.committed = append(k.committed, time.Now())
		r := offsets.CommitResult{}
		if k.refuse != nil {
			r = k.answer
		}
		if r.Commit, r.Err = c, k.refuse; k.spares != nil && k.spares(c.Partition) {
			r = offsets.CommitResult{Commit: c}
		}
		results = append(results, r)
	}
	if k.refusals--; k.refusals == 0 {
		k.refuse = nil
	}
	k.refusals = max(k.refusals, 0)
	if tardy := k.tardy; !k.mute {
		k.answers.Go(func() {
			time.Sleep(tardy) // in a bubble
			done(results)
		})
	}
}

func (k *kafka) Jump(j purgatory.Jump)       { k.jumps = append(k.jumps, j) }
func (k *kafka) Halt(h purgatory.HaltNotice) { k.halts = append(k.halts, h) }

func (k *kafka) Paused() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.paused
}

func (k *kafka) Stopped(offsets.Assignment) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.stopped
}

func (k *kafka) Waits(time.Duration) {}

func (k *kafka) LeaseValid() bool {
	k.meet()
	k.mu.Lock()
	defer k.mu.Unlock()
	return !k.noLease
}

func (k *kafka) Consumed(bytes int64) {
	k.meet()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.consuming != nil {
		k.consuming()
	}
	k.consumed += bytes
}

func (k *kafka) set(f func(*kafka)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f(k)
}

// rig is a lane in a bubble, with a made-up Kafka around it.
type rig struct {
	*testing.T
	*Lane
	kafka *kafka
	start time.Time
	given atomic.Int64 // bytes that were handed in
}

// inBubble runs f with a lane that runs, and stops the lane in the end.
func inBubble(t *testing.T, edit func(*Config), f func(*rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, kafka: &kafka{class: purgatory.Unknown}, start: time.Now()}
		targets, err := delay.NewTargets("ready", nil, []string{"delayed"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		cfg := Config{
			Core: purgatory.Config{
				OnInvalid: purgatory.Halt, Patience: time.Minute, HeldShare: 1 << 20, MaxInFlight: 10_000,
				MaxInFlightBytes: 1 << 30, JumpOver: 100, Geometry: wheel.Geometry{TickMs: 1, Slots: 64, Factor: 32, Levels: 5},
			},
			Rules: always(&delay.Rules{MaxDelay: 24 * time.Hour, Targets: targets}), Group: "g", CommitInterval: time.Second,
			Answered: func() time.Duration {
				r.kafka.meet()
				return time.Since(r.start)
			},
			Changed: func() {
				r.kafka.meet()
				var turning func()
				r.kafka.set(func(k *kafka) { k.turns, turning = append(k.turns, time.Now()), k.turning })
				if turning != nil {
					turning()
				}
			},
			Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		}
		if edit != nil {
			edit(&cfg)
		}
		r.Lane = New(cfg, r.kafka, r.kafka, r.kafka)
		go r.Lane.Run()
		defer func() {
			r.Stop(time.Now().Add(time.Minute))
			r.kafka.set(func(k *kafka) {
				if k.silent {
					for _, d := range k.deliveries {
						k.answers.Go(func() { d.done(errors.New("closed")) })
					}
				}
			})
			<-r.Done()
			r.kafka.answers.Wait()
			if r.kafka.consumed != r.given.Load() {
				t.Errorf("%d bytes of the reading budget given back, of %d", r.kafka.consumed, r.given.Load())
			}
		}()
		f(r)
	})
}

func assignment(partition int32, epoch uint64) offsets.Assignment {
	return offsets.Assignment{TopicPartition: offsets.TopicPartition{Topic: "delayed", Partition: partition}, Epoch: epoch}
}

func (r *rig) assign(partition int32, epoch uint64) {
	r.Assign(facts.Assigned{Assignment: assignment(partition, epoch), Window: offsets.NewWindow(0)})
}

// record makes a record of partition 0 that waits from now on.
func (r *rig) record(offset int64, wait time.Duration) *kgo.Record {
	return &kgo.Record{
		Topic: "delayed", Offset: offset, Timestamp: time.Now(), Key: []byte("key"), Value: []byte(strconv.FormatInt(offset, 10)),
		Headers: []kgo.RecordHeader{{Key: "x-delay", Value: []byte(wait.String())}, {Key: "trace", Value: []byte("t")}},
	}
}

// fetched hands records in, and keeps the account of the reading budget.
func (r *rig) fetched(a offsets.Assignment, records ...*kgo.Record) bool {
	bytes := int64(1000 + len(records))
	ok := r.Fetched(a, records, bytes)
	if ok {
		r.given.Add(bytes)
	}
	return ok
}

// values returns what was delivered so far, in order.
func (r *rig) values() (out []string) {
	synctest.Wait()
	r.kafka.set(func(k *kafka) {
		for _, d := range k.deliveries {
			out = append(out, d.value)
		}
	})
	return out
}

func (r *rig) want(values ...string) {
	r.Helper()
	if got := r.values(); !slices.Equal(got, values) {
		r.Fatalf("delivered %v, want %v", got, values)
	}
}

// seen returns what the lane did so far, for reading while it sleeps.
func (r *rig) seen() *kafka {
	synctest.Wait()
	return r.kafka
}

// lastCommit returns the low offset of the last commit and when it was sent.
func (r *rig) lastCommit() (low int64, at time.Time) {
	synctest.Wait()
	r.kafka.set(func(k *kafka) {
		if n := len(k.commits); n > 0 {
			low, at = k.commits[n-1].Low, k.committed[n-1]
		}
	})
	return low, at
}
