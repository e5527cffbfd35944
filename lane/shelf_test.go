package lane

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"layover/journal/runs"
	"layover/offsets"
	"layover/purgatory"
	"layover/purgatory/far"

	"github.com/twmb/franz-go/pkg/kgo"
)

// shelf is the runs topic of "delayed" with one partition, 0 unless a test sets another. It answers as a test tells it to.
type shelf struct {
	mu        sync.Mutex
	topic     offsets.TopicID
	partition int32
	broker    int32         // of shelves
	log       []*kgo.Record // by offset
	silent    bool          // no opening is answered before its context ends
	refuse    func(r *kgo.Record) error
	slow      time.Duration                       // until a visit is answered
	waits     func(purgatory.Visit) time.Duration // until a visit begins; nil: none waits
	fails     func(purgatory.Visit) bool          // a visit; nil: none does
	takes     time.Duration                       // of a copy, behind those before

	openings []far.Ask
	waiting  int // openings that are not answered
	copied   []time.Time
	visits   []purgatory.Visit
	owed     []func() // answers to copies, in their order
	answers  sync.WaitGroup
	over     chan struct{} // closed at the end of a test

	share      int64
	process    int64 // the bytes that this lane may take where no other takes any; at least share
	others     int64 // of which other lanes have taken so many
	used       func() int64
	retention  time.Duration
	partitions int  // of the process
	older      bool // a member of an older release is in the group
}

func (s *shelf) set(f func(*shelf)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s)
}

// id names the shelf's partition.
func (s *shelf) id() runs.Identity {
	return runs.Identity{Owner: runs.OwnerOf("", "g", "delayed"), Partition: s.partition}
}

func (s *shelf) Open(ctx context.Context, ask far.Ask, done func(*far.Opening)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.openings = append(s.openings, ask)
	s.waiting++
	silent := s.silent
	s.answers.Go(func() {
		if silent {
			select {
			case <-ctx.Done():
			case <-s.over:
			}
			s.set(func(s *shelf) { s.waiting-- })
			done(nil)
			return
		}
		var found *far.Opening
		s.set(func(s *shelf) {
			s.waiting--
			found = &far.Opening{Writer: uint64(len(s.openings)), TopicID: s.topic, Log: offsets.Bounds{End: int64(len(s.log))}, Window: offsets.NewWindow(0)}
		})
		if ask.Left != nil {
			if found.Window = ask.Left(ctx, found.TopicID, found.Log.End); found.Window == nil {
				found = nil
			}
		}
		done(found)
	})
}

func (s *shelf) Copy(_ offsets.TopicPartition, r *kgo.Record, done func(int64, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse != nil {
		if err := s.refuse(r); err != nil {
			s.answer(func() { done(-1, err) })
			return
		}
	}
	at := s.put(r)
	s.answer(func() { done(at, nil) })
}

// answer gives an answer behind those before, as a client does.
func (s *shelf) answer(f func()) {
	if s.owed = append(s.owed, f); len(s.owed) > 1 {
		return
	}
	takes := s.takes
	s.answers.Go(func() {
		for next := f; next != nil; {
			if takes > 0 {
				time.Sleep(takes) // in a bubble
			}
			next()
			s.set(func(s *shelf) {
				s.owed, next = s.owed[1:], nil
				if len(s.owed) > 0 {
					next = s.owed[0]
				}
			})
		}
	})
}

// put appends a record to the log. Its bytes are kept, as a broker's are.
func (s *shelf) put(r *kgo.Record) int64 {
	kept := &kgo.Record{Offset: int64(len(s.log)), Timestamp: r.Timestamp, Key: clone(r.Key), Value: clone(r.Value)}
	for _, h := range r.Headers {
		kept.Headers = append(kept.Headers, kgo.RecordHeader{Key: strings.Clone(h.Key), Value: clone(h.Value)})
	}
	s.log = append(s.log, kept)
	if len(r.Headers) > 0 {
		s.copied = append(s.copied, time.Now())
	}
	return kept.Offset
}

func clone(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append([]byte{}, b...)
}

func (s *shelf) Visit(v purgatory.Visit, topic offsets.TopicID, done func(purgatory.Visited, []*kgo.Record)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.visits = append(s.visits, v)
	slow, turn, failed := s.slow, time.Duration(0), s.fails != nil && s.fails(v)
	if s.waits != nil {
		turn = s.waits(v)
	}
	s.answers.Go(func() {
		time.Sleep(turn + slow) // in a bubble
		s.mu.Lock()
		a := purgatory.Visited{Visit: v, Until: min(v.To, int64(len(s.log))), Highest: -1, Took: slow, Waited: turn}
		if failed {
			s.mu.Unlock()
			a.Until, a.Err = v.From, errors.New("not the leader")
			done(a, nil)
			return
		}
		var records []*kgo.Record
		if topic != s.topic {
			a.TopicID, a.Until = s.topic, v.From
		}
		read, most := int64(0), int64(purgatory.MostVisit)
		if v.Most > 0 {
			most = min(most, v.Most)
		}
		for at := v.From; at < a.Until; at++ {
			r := s.log[at]
			if read += int64(len(r.Value) + 100); read >= most {
				a.Until = at + 1
			}
			c, own, err := runs.ReadCopy(s.id(), r.Key, r.Value, r.Headers)
			if errors.Is(err, runs.ErrNoCopy) {
				continue
			}
			f := far.Found{Offset: at, DeadlineMs: c.DeadlineMs, Bytes: int64(len(r.Value) + 100), Origin: c.Offset, Writer: c.Writer, Run: c.Run}
			if err != nil {
				f.DeadlineMs = math.MaxInt64
			}
			a.Found = append(a.Found, f)
			records = append(records, &kgo.Record{Topic: v.Topic, Partition: v.Partition, Offset: c.Offset, Timestamp: time.UnixMilli(c.TimestampMs), Key: r.Key, Value: r.Value, Headers: own})
		}
		s.mu.Unlock()
		done(a, records)
	})
}

func (s *shelf) Delete(_ offsets.TopicPartition, _ offsets.TopicID, _ int32, _ int64, done func(error)) {
	s.answers.Go(func() { done(nil) })
}

// plant appends copies that another owner wrote: run names each one's run, wait says when it is due.
func (s *shelf) plant(n int, size int, run func(i int) uint64, wait func(i int) time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range n {
		value := fmt.Appendf(nil, "planted %d%s", i, strings.Repeat(".", size))
		c := runs.Copy{Origin: runs.Origin{Offset: int64(1000 + i), TimestampMs: time.Now().UnixMilli()}, DeadlineMs: time.Now().Add(wait(i)).UnixMilli(), Writer: 77, Run: run(i)}
		headers, _ := runs.AppendCopy(nil, nil, s.id(), &c, nil, value)
		s.put(&kgo.Record{Value: value, Headers: headers, Timestamp: time.Now()})
	}
	s.copied = nil
}

// latest returns how many deliveries there were, and how late the latest is.
func (r *rig) latest() (n int, late time.Duration) { return r.latestOf("") }

// latestOf is latest of those whose layover-id has a prefix.
func (r *rig) latestOf(prefix string) (n int, late time.Duration) {
	synctest.Wait()
	r.kafka.set(func(k *kafka) {
		for _, d := range k.deliveries {
			if !strings.HasPrefix(d.headers["layover-id"], prefix) {
				continue
			}
			due, _ := time.Parse(time.RFC3339, d.headers["layover-due"])
			n, late = n+1, max(late, d.at.Sub(due))
		}
	})
	return n, late
}

// moved returns how many copies the lane has written.
func (r *rig) moved(s *shelf) (n int) {
	synctest.Wait()
	s.set(func(s *shelf) { n = len(s.copied) })
	return n
}

// shelved runs f with a lane that moves records to a shelf. What is planted before is there when
// partition 0 begins.
func shelved(t *testing.T, edit func(*Config), plant func(*shelf), f func(r *rig, s *shelf)) {
	t.Helper()
	s := &shelf{topic: offsets.TopicID{9}, share: 1 << 20, used: func() int64 { return 1 << 40 }, over: make(chan struct{})}
	config := func(c *Config) {
		c.Runs = RunsConfig{
			Runs: s, Beside: 1, InFlight: 1 << 16,
			Share: func() (n int64) { s.set(func(s *shelf) { n = s.share }); return n },
			Left: func() (n int64) {
				s.set(func(s *shelf) { n = max(s.process, s.share) - s.used() - s.others })
				return n
			},
			Full: func() (is bool) {
				s.set(func(s *shelf) { is = s.used()+s.others > max(s.process, s.share)*7/8 })
				return is
			},
			Retention:  func(string) (d time.Duration) { s.set(func(s *shelf) { d = s.retention }); return d },
			Partitions: func() (n int) { s.set(func(s *shelf) { n = s.partitions }); return n },
			Uniform:    func() (is bool) { s.set(func(s *shelf) { is = !s.older }); return is },
		}
		c.Core.OnInvalid, c.Core.DeadLetterTopic = purgatory.DeadLetter, "graves"
		if edit != nil {
			edit(c)
		}
	}
	inBubble(t, config, func(r *rig) {
		s.over = make(chan struct{}) // of the bubble
		s.set(func(s *shelf) { s.used = r.Bytes })
		if plant != nil {
			plant(s)
		}
		r.RunsChanged("delayed", RunsTopic{TopicID: s.topic, Usable: true})
		r.assign(0, 1)
		time.Sleep(2 * time.Second)
		f(r, s)
		over := make(chan struct{})
		r.Lost(assignment(0, 1), func() { close(over) })
		<-over
		time.Sleep(time.Minute)
		close(s.over)
		s.answers.Wait()
	})
}

// fill hands in a bunch, a record at a time.
func (r *rig) fill(from int64, n int, wait time.Duration, headers ...kgo.RecordHeader) {
	r.Helper()
	for _, rec := range r.bunch(from, n, wait, headers...) {
		if !r.fetched(assignment(0, 1), rec) {
			r.Fatalf("%d was not taken", rec.Offset)
		}
	}
	time.Sleep(5 * time.Second)
	synctest.Wait()
}

// bunch returns n records of a kilobyte from an offset on. The first waits for so long, and each other
// one for 50 ms more than the one before. Records due in one instant have no room in the share of
// read-back copies.
func (r *rig) bunch(from int64, n int, wait time.Duration, headers ...kgo.RecordHeader) (bunch []*kgo.Record) {
	for i := range int64(n) {
		rec := r.record(from+i, wait+time.Duration(i)*50*time.Millisecond)
		rec.Value, rec.Headers = fmt.Appendf(nil, "%d %s", from+i, strings.Repeat("x", 1000)), append(rec.Headers, headers...)
		bunch = append(bunch, rec)
	}
	return bunch
}
