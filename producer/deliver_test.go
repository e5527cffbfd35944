package producer

import (
	"bytes"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fixture is a producer and its brokers on a virtual network. Its topic has 3 partitions.
type fixture struct {
	*kafkatest.Cluster
	*Producer
	mu      sync.Mutex
	clients []string // suffixes of the clients that were made
}

func inBubble(t *testing.T, most int, f func(w *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &fixture{Cluster: kafkatest.StartVirtual(t, 1, kfake.SeedTopics(3, "ready"))}
		p, err := New(Config{
			Compression:   []kgo.CompressionCodec{kgo.NoCompression()},
			MaxBatchBytes: func(string) int32 { return 10_000 },
			MaxBuffered:   most,
			Options: func(suffix string) []kgo.Opt {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.clients = append(w.clients, suffix)
				return w.Options()
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		w.Producer = p
		defer p.Close()
		f(w)
	})
}

// made returns the suffixes of the clients that were made so far.
func (w *fixture) made() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.clients)
}

// deliver sends a record and returns its outcome. It fails the test where that comes twice.
func (w *fixture) deliver(r *kgo.Record, alone bool) error {
	w.Helper()
	outcome := make(chan error, 2)
	w.Deliver(r, alone, func(of *kgo.Record, err error) {
		if of != r {
			w.Errorf("the outcome is of %+v", of)
		}
		outcome <- err
	})
	err := <-outcome
	synctest.Wait()
	if len(outcome) > 0 {
		w.Errorf("a second outcome: %v", <-outcome)
	}
	return err
}

func record(partition int32, size int) *kgo.Record {
	value := make([]byte, size)
	rand.Read(value) // which no codec makes smaller
	return &kgo.Record{Topic: "ready", Partition: partition, Value: value}
}

// TestARecordGoesToItsPartitionByTheClientThatItNeeds: the client for records of any size is
// made when the first one comes, and once.
func TestARecordGoesToItsPartitionByTheClientThatItNeeds(t *testing.T) {
	inBubble(t, 100, func(w *fixture) {
		w.Refresh() // of one client
		for round := range 2 {
			if err := w.deliver(record(int32(round), 1000), false); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.made(); !slices.Equal(got, []string{""}) {
			t.Errorf("clients %q before a record is sent alone", got)
		}
		if err := w.deliver(record(2, 20_000), false); Classify(err) != TooLarge {
			t.Errorf("over the limit of a batch: %v", err)
		}
		for range 2 {
			if err := w.deliver(record(2, 20_000), true); err != nil {
				t.Errorf("alone: %v", err)
			}
		}
		if got := w.made(); !slices.Equal(got, []string{"", "-large"}) {
			t.Errorf("clients %q", got)
		}
		w.Refresh() // of both
		perPartition := make(map[int32]int)
		for _, r := range w.Records("ready") {
			perPartition[r.Partition]++
		}
		if perPartition[0] != 1 || perPartition[1] != 1 || perPartition[2] != 2 {
			t.Errorf("records by partition: %v", perPartition)
		}
	})
}

// TestEachRecordThatIsSentAloneHasABatchOfItsOwn, however many come at once, and the order of a partition is kept. One
// in flight at a time is not one for all partitions.
func TestEachRecordThatIsSentAloneHasABatchOfItsOwn(t *testing.T) {
	inBubble(t, 1000, func(w *fixture) {
		const each = 40
		var mu sync.Mutex
		var answered [2][]*kgo.Record
		var sent [2][]*kgo.Record
		w.Answer(kmsg.Produce, func(r kmsg.Request) kmsg.Response {
			for _, topic := range r.(*kmsg.ProduceRequest).Topics {
				for _, p := range topic.Partitions {
					var batch kmsg.RecordBatch
					if err := batch.ReadFrom(p.Records); err != nil || batch.NumRecords != 1 {
						w.Errorf("a batch of %d records, %v", batch.NumRecords, err)
					}
				}
			}
			return nil
		})
		for i := range 2 * each {
			r := record(int32(i%2), 20_000)
			sent[i%2] = append(sent[i%2], r)
			w.Deliver(r, true, func(r *kgo.Record, err error) {
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					w.Error(err)
				}
				p := r.Partition
				answered[p] = append(answered[p], r)
				*r = kgo.Record{Partition: 7} // from its answer on a record is its caller's, which makes the next of it
			})
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		for p := range sent {
			if !slices.Equal(answered[p], sent[p]) {
				w.Errorf("partition %d has %d answers in some order, want %d in that of the records", p, len(answered[p]), each)
			}
		}
		w.Producer.mu.Lock()
		defer w.Producer.mu.Unlock()
		if len(w.waiting) > 0 {
			w.Errorf("%d partitions have a record in flight after all answers", len(w.waiting))
		}
	})
}

// TestAPartitionThatIsSilentKeepsNoOtherFromHavingRecordsAlone, and a producer that is closed answers all that wait.
func TestAPartitionThatIsSilentKeepsNoOtherFromHavingRecordsAlone(t *testing.T) {
	inBubble(t, 1000, func(w *fixture) {
		var mu sync.Mutex
		outcomes := make(map[int32][]error)
		w.Refuse(kmsg.Produce, kfake.Fault{Topic: "ready", Partitions: []int32{0}, Err: kerr.NotEnoughReplicas})
		for i := range 20 {
			w.Deliver(record(int32(i%2), 20_000), true, func(r *kgo.Record, err error) {
				mu.Lock()
				defer mu.Unlock()
				outcomes[r.Partition] = append(outcomes[r.Partition], err)
			})
		}
		time.Sleep(10 * time.Second)
		mu.Lock()
		if n := len(outcomes[1]); n != 10 {
			w.Errorf("%d of 10 are answered beside a partition that is silent", n)
		}
		if n := len(outcomes[0]); n != 0 {
			w.Errorf("%d are answered of the silent one", n)
		}
		mu.Unlock()
		w.Producer.Close()
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if len(outcomes[0]) != 10 || slices.Contains(outcomes[0], nil) {
			w.Errorf("after the end the silent one has the outcomes %v", outcomes[0])
		}
	})
}

// TestARecordThatIsSentAloneIsCompressedAsWellAsItCanBe: it has to fit as it did before.
func TestARecordThatIsSentAloneIsCompressedAsWellAsItCanBe(t *testing.T) {
	inBubble(t, 100, func(w *fixture) {
		sent := w.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Count: -1, Observe: true})
		var largest atomic.Int64
		w.Answer(kmsg.Produce, func(r kmsg.Request) kmsg.Response {
			for _, topic := range r.(*kmsg.ProduceRequest).Topics {
				for _, p := range topic.Partitions {
					largest.Store(max(largest.Load(), int64(len(p.Records))))
				}
			}
			return nil
		})
		r := &kgo.Record{Topic: "ready", Value: bytes.Repeat([]byte("0123456789"), 100_000)}
		if err := w.deliver(r, true); err != nil {
			t.Fatal(err)
		}
		if sent.Hits() != 1 || largest.Load() == 0 || largest.Load() > 2000 {
			t.Errorf("%d requests, the largest batch of %d bytes", sent.Hits(), largest.Load())
		}
	})
}

// TestAFullClientSaysSoAtOnce, and takes records again when others are answered.
func TestAFullClientSaysSoAtOnce(t *testing.T) {
	inBubble(t, 2, func(w *fixture) {
		release := make(chan struct{})
		w.Answer(kmsg.Produce, func(kmsg.Request) kmsg.Response {
			w.Broker.SleepControl(func() { <-release })
			return nil
		})
		answers := make(chan error, 2)
		for p := range int32(2) {
			w.Deliver(record(p, 10), false, func(_ *kgo.Record, err error) { answers <- err })
		}
		for range 3 {
			began := time.Now()
			if err := w.deliver(record(2, 10), false); Classify(err) != NoRoom || time.Since(began) > 0 {
				t.Errorf("%v after %v", err, time.Since(began))
			}
		}
		close(release)
		for range 2 {
			if err := <-answers; err != nil {
				t.Error(err)
			}
		}
	})
}

// TestARefreshAsksForTheTopicsOfEachClient, each time.
func TestARefreshAsksForTheTopicsOfEachClient(t *testing.T) {
	inBubble(t, 100, func(w *fixture) {
		asked := w.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Count: -1, Observe: true})
		for clients, alone := range []bool{false, true} {
			for range 2 {
				if err := w.deliver(record(0, 10), alone); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute / 2) // far from what clients ask by themselves
				before := asked.Hits()
				w.Refresh()
				time.Sleep(time.Second)
				if n := asked.Hits() - before; n != clients+1 {
					t.Errorf("%d questions by %d clients", n, clients+1)
				}
			}
		}
	})
}

// TestATopicThatIsMadeAgainIsWrittenToEachTime by both clients: the first failure has them
// forget the old id, and nothing else makes them.
func TestATopicThatIsMadeAgainIsWrittenToEachTime(t *testing.T) {
	for name, alone := range map[string]bool{"in batches": false, "alone": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 100, func(w *fixture) {
				for round := range 3 {
					for range 3 {
						if err := w.deliver(record(0, 10), alone); err != nil {
							t.Fatalf("round %d: %v", round, err)
						}
					}
					refused := w.Refuse(kmsg.Produce, kfake.Fault{Topic: "ready", Err: kerr.InvalidRecord})
					for range 3 { // no reason to forget the topic
						if err := w.deliver(record(0, 10), alone); Classify(err) != Rejected {
							t.Errorf("round %d: %v", round, err)
						}
					}
					refused.Remove()
					w.DeleteTopic("ready")
					w.CreateTopic("ready", 3, nil)
					failed := 0
					for tries := 0; ; tries++ {
						err := w.deliver(record(0, 10), alone)
						if err == nil {
							break
						}
						if failed++; Classify(err) == Rejected || tries > 100 {
							t.Fatalf("round %d: %v after %d tries", round, err, tries)
						}
						time.Sleep(100 * time.Millisecond)
					}
					if n := len(w.Records("ready")); n != 1 {
						t.Errorf("round %d: %d records of one that was acknowledged", round, n)
					}
					synctest.Wait()
					w.Producer.mu.Lock()
					if n := len(w.stale); n != 0 {
						t.Errorf("round %d: %d topics are still being forgotten", round, n)
					}
					w.Producer.mu.Unlock()
				}
			})
		})
	}
}

// TestAClosedProducerFailsWhatIsInFlightAndWhatComesAlone, whichever client it is in.
func TestAClosedProducerFailsWhatIsInFlightAndWhatComesAlone(t *testing.T) {
	for name, alone := range map[string]bool{"in batches": false, "alone": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 100, func(w *fixture) {
				if err := w.deliver(record(0, 10), true); err != nil {
					t.Fatal(err)
				}
				w.Answer(kmsg.Produce, func(kmsg.Request) kmsg.Response {
					w.Broker.SleepControl(func() { time.Sleep(time.Minute) })
					return nil
				})
				answer := make(chan error, 2)
				w.Deliver(record(0, 10), alone, func(_ *kgo.Record, err error) { answer <- err })
				time.Sleep(time.Second)
				w.Close()
				if err := <-answer; err == nil {
					t.Error("a record in flight counts as delivered")
				}
				if err := w.deliver(record(0, 10), true); !errors.Is(err, kgo.ErrClientClosed) {
					t.Errorf("behind the end: %v", err)
				}
				w.Refresh() // does nothing
				if n := len(w.made()); n != 2 {
					t.Errorf("%d clients were made, want 2", n)
				}
				time.Sleep(5 * time.Minute)
			})
		})
	}
}

// TestAClosedProducerMakesNoClient for the first record that comes alone.
func TestAClosedProducerMakesNoClient(t *testing.T) {
	inBubble(t, 100, func(w *fixture) {
		w.Close()
		if err := w.deliver(record(0, 10), true); !errors.Is(err, kgo.ErrClientClosed) {
			t.Errorf("behind the end: %v", err)
		}
		if got := w.made(); len(got) != 1 {
			t.Errorf("clients %q", got)
		}
	})
}

// TestOptionsThatNoClientTakesAreRefused, also where only the client for large records gets
// them.
func TestOptionsThatNoClientTakesAreRefused(t *testing.T) {
	wrong := kgo.MaxBufferedRecords(-1)
	if p, err := New(Config{MaxBatchBytes: func(string) int32 { return 1000 }, MaxBuffered: 1, Options: func(string) []kgo.Opt { return []kgo.Opt{wrong} }}); err == nil || p != nil || !strings.Contains(err.Error(), "producer client") {
		t.Errorf("%v, %v", p, err)
	}
	p, err := New(Config{MaxBatchBytes: func(string) int32 { return 1000 }, MaxBuffered: 1, Options: func(suffix string) []kgo.Opt {
		if suffix != "" {
			return []kgo.Opt{wrong}
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	calls := 0
	p.Deliver(&kgo.Record{Topic: "ready"}, true, func(_ *kgo.Record, err error) {
		if calls++; err == nil {
			t.Error("no error")
		}
	})
	if calls != 1 {
		t.Errorf("%d outcomes, want 1", calls)
	}
}
