package container

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// The container's memory, swap included, of which Layover gives parked records
	// one half by default.
	floodMemory = 128 << 20
	// How many records come, which is several times of what fits.
	floodRecords = 1_000_000
	// The first of them are due soon, while all the others wait.
	floodPrompt = 3_000
	// The bytes of a value.
	floodValue = 200
)

// flood is what the test knows about its records: the id of each is its key, and
// its number here.
type flood struct {
	begin   time.Time
	due     []int64 // Unix ms, by number; not changed once it is made
	bulkDue time.Time

	mu     sync.Mutex
	came   []uint8 // how often, by number
	all    int     // arrivals
	first  int     // different records
	prompt int     // of those that are due soon
	wrong  []string
}

// newFlood decides when each record is due. The prompt ones are due from 3 to 23 s
// from now. The bulk is due in random order within 20 s that begin when the prompt
// ones should be through.
func newFlood() *flood {
	f := &flood{begin: time.Now(), due: make([]int64, floodRecords), came: make([]uint8, floodRecords)}
	f.bulkDue = f.begin.Add(40 * time.Second)
	for i := range f.due {
		at := f.bulkDue.Add(rand.N(20 * time.Second))
		if i < floodPrompt {
			at = f.begin.Add(3*time.Second + time.Duration(i)*20*time.Second/floodPrompt)
		}
		f.due[i] = at.UnixMilli()
	}
	return f
}

// record makes a record by its number.
func (f *flood) record(i int, value []byte) *kgo.Record {
	return &kgo.Record{
		Topic: "delayed", Key: strconv.AppendInt(nil, int64(i), 10), Value: value,
		Headers: []kgo.RecordHeader{{Key: "x-deliver-at", Value: strconv.AppendInt(nil, f.due[i], 10)}},
	}
}

// take enters what was delivered. By the delivery's timestamp as by this process's
// clock nothing may have come before it was due.
func (f *flood) take(fetches kgo.Fetches) {
	now := time.Now().UnixMilli()
	f.mu.Lock()
	defer f.mu.Unlock()
	fetches.EachRecord(func(r *kgo.Record) {
		i, err := strconv.Atoi(string(r.Key))
		if err != nil || i < 0 || i >= len(f.due) {
			f.wrong = append(f.wrong, fmt.Sprintf("a key that was never sent: %q", r.Key))
			return
		}
		if r.Timestamp.UnixMilli() < f.due[i] || now < f.due[i] {
			f.wrong = append(f.wrong, fmt.Sprintf("%d is early: due %d, stamped %d, received %d", i, f.due[i], r.Timestamp.UnixMilli(), now))
		}
		if len(r.Value) != floodValue || binary.BigEndian.Uint64(r.Value) != uint64(i) {
			f.wrong = append(f.wrong, fmt.Sprintf("%d has another value", i))
		}
		f.all++
		if f.came[i]++; f.came[i] == 1 {
			f.first++
			if i < floodPrompt {
				f.prompt++
			}
		}
	})
}

// counts returns how many arrivals there were, of how many different records, and
// of how many of the prompt ones.
func (f *flood) counts() (all, first, prompt int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.all, f.first, f.prompt
}

// send sends all records, and returns when they are acknowledged.
func (f *flood) send(ctx context.Context, client *kgo.Client, fill func([]byte)) error {
	var mu sync.Mutex
	var failure error
	for i := range f.due {
		value := make([]byte, floodValue)
		fill(value)
		binary.BigEndian.PutUint64(value, uint64(i))
		client.Produce(ctx, f.record(i, value), func(_ *kgo.Record, err error) {
			if err != nil {
				mu.Lock()
				failure = err
				mu.Unlock()
			}
		})
		if i == floodPrompt { // they stand in front of all others
			if err := client.Flush(ctx); err != nil {
				return err
			}
		}
	}
	if err := client.Flush(ctx); err != nil {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	return failure
}

func TestAContainerOf128MiBSurvivesAFloodOfAMillionRecords(t *testing.T) {
	long(t)
	for name, fill := range map[string]func([]byte){
		"values that do not compress": func(value []byte) {
			for i := 0; i+8 <= len(value); i += 8 {
				binary.BigEndian.PutUint64(value[i:], rand.Uint64())
			}
		},
		"values that compress well": func([]byte) {},
	} {
		t.Run(name, func(t *testing.T) { survives(t, fill) })
	}
}

func survives(t *testing.T, fill func([]byte)) {
	k := startKafka(t)
	k.createTopics(t, 4, "delayed", "ready")
	k.createTopics(t, 1, "dead-letters")
	l := k.layover(t, "--memory", strconv.Itoa(floodMemory), "--memory-swap", strconv.Itoa(floodMemory))
	f := newFlood()
	f.collect(t, k)

	sent := make(chan error, 1)
	go func() {
		sent <- f.send(t.Context(), k.kafka(t, kgo.ProducerBatchCompression(kgo.ZstdCompression())), fill)
	}()
	var waits string
	defer func() {
		all, first, prompt := f.counts()
		t.Logf("after %v: %d different records of %d came, %d of the prompt %d, %d again; %.1f MiB resident at most, of %.1f; paused: %s",
			time.Since(f.begin).Round(time.Second), first, floodRecords, prompt, floodPrompt, all-first, mebi(l.most()), mebi(floodMemory), waits)
	}()

	// Reading pauses, and what is parked goes on.
	eventually(t, 38*time.Second, "reading is paused", func() bool { return l.paused(t) })
	_, _, before := f.counts()
	s := l.status(t)
	waits = fmt.Sprintf("after %v with %d parked in %.1f MiB, %d prompt ones delivered", time.Since(f.begin).Round(time.Second), s.Parked.Records, mebi(s.Parked.Bytes), before)
	if before == floodPrompt {
		t.Error("all of the prompt records came before reading was paused: this says nothing")
	}
	eventually(t, time.Minute, "the prompt records", func() bool { _, _, n := f.counts(); return n == floodPrompt })
	if !l.paused(t) && time.Now().Before(f.bulkDue) {
		t.Error("reading goes on, and nothing has made room")
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}

	eventually(t, 3*time.Minute, "all records", func() bool { _, n, _ := f.counts(); return n == floodRecords })
	eventually(t, 20*time.Second, "reading is not paused", func() bool { return !l.paused(t) })
	f.judge(t, k)
	l.lives(t)
	if most := l.most(); most == 0 || most > floodMemory {
		t.Errorf("%d bytes resident at most, want more than 0 and at most %d", most, floodMemory)
	}
}

// collect counts what comes out of the target for as long as the test lasts.
func (f *flood) collect(t *testing.T, k *cluster) {
	client := k.kafka(t, kgo.ConsumeTopics("ready"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	go func() { // ends with the client
		for {
			fetches := client.PollFetches(context.Background())
			if fetches.IsClientClosed() {
				return
			}
			f.take(fetches)
		}
	}()
}

// judge asserts that everything in the target was seen, that all of it was right,
// and that nothing came twice: nobody was killed.
func (f *flood) judge(t *testing.T, k *cluster) {
	t.Helper()
	eventually(t, 20*time.Second, "all of the target is read", func() bool {
		all, _, _ := f.counts()
		return int64(all) == k.count(t, "ready")
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.wrong) > 0 {
		t.Errorf("%d records are wrong, such as %s", len(f.wrong), strings.Join(f.wrong[:min(5, len(f.wrong))], "; "))
	}
	if f.all != f.first {
		t.Errorf("%d records came again", f.all-f.first)
	}
	if dead := k.count(t, "dead-letters"); dead != 0 {
		t.Errorf("%d dead letters", dead)
	}
}

func mebi(n int64) float64 { return float64(n) / (1 << 20) }
