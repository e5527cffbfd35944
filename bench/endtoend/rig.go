package endtoend

import (
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"layover/bench/row"
	"layover/delay"
	"layover/journal/facts"
	"layover/lane"
	"layover/offsets"
	"layover/purgatory"
	"layover/wheel"

	"github.com/twmb/franz-go/pkg/kgo"
)

// rig is a real lane whose Kafka does everything at once, without a network. It
// is the lane's Deliverer, Committer and Reading; what those are called with,
// they are called with by the loop.
type rig struct {
	*lane.Lane
	began time.Time
	next  int64 // offset of the next record; the hand that feeds it has it

	answers sync.WaitGroup

	mu      sync.Mutex
	late    row.Latenesses
	wanted  int           // len(late) at which enough is told
	enough  chan struct{} // capacity 1
	turns   []time.Time
	failure error
}

// startRig starts a lane as the daemon sets it up. There is one partition.
func startRig() (*rig, error) {
	targets, err := delay.NewTargets(egress, nil, []string{ingress}, nil)
	if err != nil {
		return nil, err
	}
	r := &rig{began: time.Now(), enough: make(chan struct{}, 1)}
	rules := &delay.Rules{MaxDelay: 24 * time.Hour, Targets: targets}
	r.Lane = lane.New(lane.Config{
		Core: purgatory.Config{
			OnInvalid: purgatory.Halt, Patience: 15 * time.Minute, HeldShare: 64 << 20,
			MaxInFlight: 1000, MaxInFlightBytes: 64 << 20, JumpOver: purgatory.JumpOver, Geometry: wheel.DefaultGeometry(),
		},
		Rules: func(string) *delay.Rules { return rules }, Group: "benchmark", CommitInterval: time.Second,
		Answered: func() time.Duration { return time.Since(r.began) },
		Changed:  r.turned, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}, r, r, r)
	go r.Lane.Run() // ended by stop
	r.Assign(facts.Assigned{Assignment: r.assignment(), Window: offsets.NewWindow(0)})
	return r, nil
}

// stop ends the loop and returns what went wrong in it.
func (r *rig) stop() error {
	r.Stop(time.Now().Add(5 * time.Second))
	<-r.Done()
	r.answers.Wait()
	return r.failure
}

func (r *rig) assignment() offsets.Assignment {
	return offsets.Assignment{TopicPartition: offsets.TopicPartition{Topic: ingress, Partition: 0}, Epoch: 1}
}

// hand gives the lane one record for each delay, in milliseconds. A record's key
// is its deadline as reckoned here.
func (r *rig) hand(delaysMs ...int64) {
	now := time.Now()
	records := make([]*kgo.Record, len(delaysMs))
	for i, ms := range delaysMs {
		records[i] = &kgo.Record{
			Topic: ingress, Offset: r.next, Timestamp: now, Key: binary.BigEndian.AppendUint64(nil, uint64(now.UnixMilli()+ms)),
			Headers: []kgo.RecordHeader{{Key: headerName, Value: strconv.AppendInt(nil, ms, 10)}},
		}
		r.next++
	}
	r.Fetched(r.assignment(), records, 0)
}

// handDue is hand, and returns when all of the records are delivered.
func (r *rig) handDue(delaysMs ...int64) {
	r.mu.Lock()
	r.wanted = len(r.late) + len(delaysMs)
	r.mu.Unlock()
	r.hand(delaysMs...)
	<-r.enough
}

// Lookup implements lane.Deliverer: every target is there.
func (r *rig) Lookup(name purgatory.TargetName) purgatory.TargetState {
	return purgatory.TargetState{TargetName: name}
}

// Deliver notes how late the record is: this is where a real one would leave.
func (r *rig) Deliver(record *kgo.Record, _ bool, done func(*kgo.Record, error)) {
	late := time.Since(time.UnixMilli(int64(binary.BigEndian.Uint64(record.Key))))
	r.mu.Lock()
	r.late = append(r.late, late)
	if late < 0 {
		r.failure = fmt.Errorf("a record was %v early", -late)
	}
	if len(r.late) == r.wanted {
		r.enough <- struct{}{}
	}
	r.mu.Unlock()
	done(record, nil)
}

// Classify implements lane.Deliverer; nothing fails.
func (r *rig) Classify(error) purgatory.Result { return purgatory.Result{} }

// Commit accepts everything.
func (r *rig) Commit(commits []offsets.Commit, done func([]offsets.CommitResult)) {
	results := make([]offsets.CommitResult, len(commits))
	for i, c := range commits {
		results[i] = offsets.CommitResult{Commit: c}
	}
	r.answers.Go(func() { done(results) })
}

// Jump implements lane.Reading.
func (r *rig) Jump(purgatory.Jump) {}

// Halt means that a record of ours was invalid.
func (r *rig) Halt(h purgatory.HaltNotice) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failure = fmt.Errorf("offset %d: %s", h.Offset, h.Reason)
}

// Paused implements lane.Reading.
func (r *rig) Paused() bool { return false }

// Stopped implements lane.Reading.
func (r *rig) Stopped(offsets.Assignment) bool { return false }

// LeaseValid implements lane.Reading.
func (r *rig) Waits(time.Duration) {}

func (r *rig) LeaseValid() bool { return true }

// Consumed implements lane.Reading.
func (r *rig) Consumed(int64) {}

// turned is called by the loop once in each of its turns.
func (r *rig) turned() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turns = append(r.turns, time.Now())
}

// wakeUps counts the turns a second of a loop with nothing to do, from the first
// turn in a stretch to the last. settle is for it to commit and publish before.
func (r *rig) wakeUps(settle, within time.Duration) float64 {
	time.Sleep(settle)
	r.mu.Lock()
	r.turns = nil
	r.mu.Unlock()
	time.Sleep(within)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.turns) < 2 {
		return 0
	}
	return float64(len(r.turns)-1) / r.turns[len(r.turns)-1].Sub(r.turns[0]).Seconds()
}

// row.Latenesses returns those since the last call.
func (r *rig) latenesses() row.Latenesses {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.late
	r.late = nil
	return l
}

// rounds hands in n records at a time, and waits until they are through. They are
// due within the second that follows, and long enough ahead to be in the wheel by
// then. In turn with each round a plain sleeper keeps the same deadlines: what is
// late there is none of the loop's doing.
func (r *rig) rounds(rounds, n int) (loop, bare row.Latenesses) {
	random := rand.New(rand.NewPCG(5, 6))
	delays := make([]int64, n)
	for range rounds {
		for i := range delays {
			delays[i] = 50 + random.Int64N(950)
		}
		r.handDue(delays...)
		bare = append(bare, sleepThrough(delays)...)
	}
	return r.latenesses(), bare
}

// sleepThrough sleeps until each of the delays from now, in milliseconds, and
// returns how late it woke. It sorts them.
func sleepThrough(delaysMs []int64) (late row.Latenesses) {
	slices.Sort(delaysMs)
	from := time.Now().UnixMilli()
	for _, ms := range delaysMs {
		due := time.UnixMilli(from + ms)
		if wait := time.Until(due); wait > 0 {
			time.Sleep(wait)
		}
		late = append(late, time.Since(due))
	}
	return late
}

// spin keeps n processors of the runtime busy until the returned function is called.
func spin(n int) (stop func()) {
	var stopped atomic.Bool
	var spinners sync.WaitGroup
	for range n {
		spinners.Go(func() {
			for !stopped.Load() {
			}
		})
	}
	return func() {
		stopped.Store(true)
		spinners.Wait()
	}
}

// procs sets GOMAXPROCS to the cores that the runtime counts and extra.
func procs(extra int) (cores int) {
	cores = runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(cores + extra)
	return cores
}
