// Package ids measures what it costs the core to find records by their ids, and what
// memory comes back when most of them are cancelled.
//
// The core is driven as a lane drives it, without a lane: nothing here waits for a clock,
// a broker or another goroutine. Its rivals are itself: the same records without an id, and
// a core that has only what the cancels left.
package ids

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"layover/bench/row"
	"layover/journal/facts"
	"layover/offsets"
	"layover/purgatory"
	"layover/wheel"
)

const (
	idSize    = 20
	bodySize  = 120 // of a record, its id included
	startMs   = 1_772_370_000_000
	aheadMs   = 1_800_000 // to the first deadline
	spreadMs  = 3_600_000 // from the first deadline to the last
	mostPerID = 32        // bytes beside record and wheel
	mostRatio = 2         // of accounted bytes to live ones, beside slack
	slack     = 1 << 20   // bytes

	// mostAllocations are those of a cancel: none of its own, and a part of a chunk's.
	mostAllocations = 0.01
)

// Options says how much is measured.
type Options struct {
	Records int       // parked
	Runs    int       // how often; figures are medians
	Log     io.Writer // takes progress
}

// figures are of one run.
type figures struct {
	plainNs, parkNs, cancelNs float64
	perID, ratio, allocations float64
}

// Measure parks Records records with an id and cancels percent of them at random. A record
// or a cancel that the core does not take is an error. It takes some ten seconds a run for
// a million.
func Measure(ctx context.Context, o Options, percent int) ([]row.Row, error) {
	var all []figures
	for run := range o.Runs {
		f, err := o.run(uint64(run), percent)
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return nil, err
		}
		all = append(all, f)
		fmt.Fprintf(o.Log, "run %d: %+v\n", run+1, f)
	}
	median := func(of func(*figures) float64) float64 {
		values := make([]float64, len(all))
		for i := range all {
			values[i] = of(&all[i])
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	perID, ratio := median(func(f *figures) float64 { return f.perID }), median(func(f *figures) float64 { return f.ratio })
	allocations := median(func(f *figures) float64 { return f.allocations })
	return []row.Row{
		line("parking a record without an id", "%.0f ns", median(func(f *figures) float64 { return f.plainNs })),
		line("parking a record with an id", "%.0f ns", median(func(f *figures) float64 { return f.parkNs })),
		line("a cancel", "%.0f ns", median(func(f *figures) float64 { return f.cancelNs })),
		goal(line("allocations a cancel, chunks that records move into among them", "%.3f", allocations), fmt.Sprintf("at most %.2f", mostAllocations), allocations <= mostAllocations),
		goal(line("accounted bytes of an id beside record and wheel", "%.1f B", perID), fmt.Sprintf("at most %d B", mostPerID), perID <= mostPerID),
		goal(line("accounted bytes, less 1 MiB, to those of a core that has only what is left", "%.2f", ratio), fmt.Sprintf("at most %d", mostRatio), ratio <= mostRatio),
	}, nil
}

func line(name, format string, value float64) row.Row {
	return row.Row{Name: name, Value: fmt.Sprintf(format, value)}
}

func goal(r row.Row, want string, met bool) row.Row {
	r.Goal, r.Met = want, &met
	return r
}

// run measures once, with deadlines and an order of cancels that follow from seed.
func (o Options) run(seed uint64, percent int) (f figures, err error) {
	cancelled := rand.New(rand.NewPCG(seed, 1)).Perm(o.Records)[:o.Records*percent/100]
	plain := newCore(seed)
	f.plainNs = plain.parkAll(o.Records, nil)
	plainBytes := plain.bytes()
	plain = nil

	left := newCore(seed)
	gone := make([]bool, o.Records)
	for _, n := range cancelled {
		gone[n] = true
	}
	left.parkAll(o.Records, func(n int) (bool, []byte) { return !gone[n], left.id(n) })
	leftBytes := left.bytes()
	err = left.err
	left = nil

	c := newCore(seed)
	f.parkNs = c.parkAll(o.Records, func(n int) (bool, []byte) { return true, c.id(n) })
	f.perID = float64(c.bytes()-plainBytes) / float64(o.Records)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	for _, n := range cancelled {
		c.cancel(n)
	}
	f.cancelNs = float64(time.Since(began).Nanoseconds()) / float64(len(cancelled))
	runtime.ReadMemStats(&after)
	f.allocations = float64(after.Mallocs-before.Mallocs) / float64(len(cancelled))
	f.ratio = float64(c.bytes()-slack) / float64(leftBytes)
	if ids := c.Snapshot().IDs; err == nil && c.err == nil && ids != o.Records-len(cancelled) {
		err = fmt.Errorf("%d of %d ids are left after %d cancels", ids, o.Records, len(cancelled))
	}
	if err == nil {
		err = c.err
	}
	return f, err
}

// core is a core with one partition, and makes the records that it reads.
type core struct {
	*purgatory.Core
	reader purgatory.Reader
	body   body
	next   int64 // offset
	dues   *rand.Rand
	err    error // the first
}

func newCore(seed uint64) *core {
	at := offsets.Assignment{TopicPartition: offsets.TopicPartition{Topic: "delayed"}, Epoch: 1}
	c := &core{body: make(body, bodySize), dues: rand.New(rand.NewPCG(seed, 2))}
	c.Core = purgatory.New(purgatory.Config{Geometry: wheel.DefaultGeometry(), HeldShare: 1 << 30, MaxInFlight: 1000, MaxInFlightBytes: 1 << 20}, purgatory.Clock{WallMs: startMs})
	c.Assign(facts.Assigned{Assignment: at, Window: offsets.NewWindow(0), Committed: true})
	c.reader, _ = c.Reader(at.TopicPartition, at.Epoch)
	return c
}

// body is a record's bytes.
type body []byte

func (b *body) Size() int      { return len(*b) }
func (b *body) Put(dst []byte) { copy(dst, *b) }

// id gives the next record, or the next cancel, the id of that number.
func (c *core) id(n int) []byte {
	c.body[0] = idSize + 1 // a length as the core reads it
	id := c.body[1 : 1+idSize]
	copy(id, "timer-------")
	binary.BigEndian.PutUint64(id[idSize-8:], uint64(n))
	return id
}

// parkAll reads n records and returns the nanoseconds of each. which says whether a record
// is read at all, and its id; nil: all are, without one.
func (c *core) parkAll(n int, which func(n int) (bool, []byte)) float64 {
	runtime.GC()
	began := time.Now()
	for i := range n {
		due := int64(startMs + aheadMs + c.dues.IntN(spreadMs))
		a := purgatory.Arrival{TimestampMs: startMs, DeadlineMs: due, Target: "ready", Label: "ready"}
		if which != nil {
			wanted, id := which(i)
			if !wanted {
				continue
			}
			a.ID = id // with IDAt 0
		}
		c.read(a)
	}
	return float64(time.Since(began).Nanoseconds()) / float64(n)
}

func (c *core) cancel(n int) {
	c.read(purgatory.Arrival{TimestampMs: startMs, ID: c.id(n), Cancel: true})
}

// read gives the core the next record of its partition.
func (c *core) read(a purgatory.Arrival) {
	a.Offset, a.Body = c.next, &c.body
	c.next++
	if (c.reader.Wants(a.Offset, 0) != purgatory.Whole || !c.reader.Read(&a)) && c.err == nil {
		c.err = fmt.Errorf("the core did not take offset %d", a.Offset)
	}
}

// bytes is what the core accounts for.
func (c *core) bytes() int64 { return c.Snapshot().Bytes }
