package purgatory

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"layover/offsets"
)

// BenchmarkPassThrough asks what the core costs a record from its reading to its
// finish, in batches of 500 that are due within a second.
func BenchmarkPassThrough(b *testing.B) {
	passThrough(b, nil, 0)
}

// BenchmarkCatchUp asks the same with a rate of catch-up. It passes records that are on
// time, and late ones, each of which is put back once.
func BenchmarkCatchUp(b *testing.B) {
	b.Run("no rate, on time", func(b *testing.B) { passThrough(b, nil, 0) })
	b.Run("on time", func(b *testing.B) { passThrough(b, NewCatchUp(1000), 0) })
	b.Run("no rate, late", func(b *testing.B) { passThrough(b, nil, 3_600_000) })
	b.Run("late", func(b *testing.B) { passThrough(b, NewCatchUp(1000), 3_600_000) })
}

// passThrough passes records through a core that were due so long ago.
func passThrough(b *testing.B, rate Pacer, agoMs int64) {
	r := newRig(b, func(c *Config) { c.MaxInFlight = 1000; c.MaxInFlightBytes, c.CatchUp = 1<<30, rate })
	r.assign(0, 1, 0)
	reader, _ := r.Reader(partitionOf(0), 1)
	body := Body(text(fmt.Sprintf("0%0200d", 0)))
	var out []Delivery
	var results []Result
	offset := int64(0)
	for b.Loop() {
		a := Arrival{Offset: offset, DeadlineMs: r.at.WallMs + offset%1000 - agoMs, Target: egress, Label: egress, Body: body}
		reader.Wants(offset, 0)
		reader.Read(&a)
		if offset++; offset%500 > 0 {
			continue
		}
		r.at.WallMs += 500
		r.at.MonotonicMs += 500
		for r.Tick(r.at, 1000) {
		}
		out, results = r.Offer(out[:0], 1000), results[:0]
		for i := range out {
			results = append(results, Result{ID: out[i].ID})
		}
		r.Outcomes(r.at, results)
	}
	if r.stats.Parked > 2000 {
		b.Fatalf("%d records parked: the core has fallen behind", r.stats.Parked)
	}
}

// BenchmarkIdleTurn asks what one turn of the loop costs while nothing happens. A
// number of targets, each of its own name, are held or have parked records.
func BenchmarkIdleTurn(b *testing.B) {
	for _, held := range []bool{false, true} {
		for _, targets := range []int{1, 1000, 20_000} {
			b.Run(fmt.Sprintf("held=%v/targets=%d", held, targets), func(b *testing.B) {
				r := newRig(b, func(c *Config) { c.DeadLetterTopic = ""; c.HeldShare = 1 << 30 })
				r.assign(0, 1, 0)
				for o := range int64(targets) {
					a := r.arrival(o, 1<<40, "0")
					if held {
						a.DeadlineMs = r.at.WallMs
					}
					a.Target, a.Label = fmt.Sprintf("audit-%d", o), "audit-*"
					r.router[a.Target] = Missing
					r.take(0, 1, a)
				}
				r.pass(1)
				out := r.Offer(nil, 1000)
				for b.Loop() {
					r.at.WallMs++
					r.at.AnsweredMs++
					r.Tick(r.at, 1000)
					out = r.Offer(out[:0], 1000)
					r.Bytes()
					r.Pauses()
					r.Unsettled()
				}
			})
		}
	}
}

// BenchmarkRevoke asks how long the loop stands still for one revoked partition
// that has nothing parked while a million records of another one stay.
func BenchmarkRevoke(b *testing.B) {
	r := newRig(b, nil)
	r.assign(0, 1, 0)
	for o := range int64(1_000_000) {
		r.take(0, 1, r.arrival(o, 60_000+o, "0 a record"))
	}
	for epoch := uint64(2); b.Loop(); epoch++ {
		r.assign(1, epoch, 0)
		r.Sweep(offsets.Assignment{TopicPartition: partitionOf(1), Epoch: epoch})
	}
}

// BenchmarkClockStep asks how long the loop stands still when the clock is stepped
// back with a million records parked.
func BenchmarkClockStep(b *testing.B) {
	r := newRig(b, nil)
	r.assign(0, 1, 0)
	for o := range int64(1_000_000) {
		r.take(0, 1, r.arrival(o, 60_000+o*7919%1_000_000, "0 a record"))
	}
	for b.Loop() {
		r.step(-2000)
	}
}

// timer makes records with ids of 20 bytes, and cancels of them, without allocating.
type timer struct {
	body    []byte
	arrival Arrival
}

func newTimer() *timer { return &timer{body: append([]byte("0\x15"), make([]byte, 120)...)} }

func (b *timer) Size() int      { return len(b.body) }
func (b *timer) Put(dst []byte) { copy(dst, b.body) }

// number gives the next record its id.
func (b *timer) number(n int64) []byte {
	id := b.body[2:22]
	copy(id, "timer-------")
	binary.BigEndian.PutUint64(id[12:], uint64(n))
	return id
}

// park reads a record at an offset, whose id is of that offset.
func (b *timer) park(tb testing.TB, r *rig, offset, deadlineMs int64) {
	b.arrival = Arrival{Offset: offset, TimestampMs: r.at.WallMs, DeadlineMs: deadlineMs, Target: egress, Label: egress, Body: b, ID: b.number(offset), IDAt: 1}
	b.read(tb, r)
}

// cancel reads a cancel of the record before it.
func (b *timer) cancel(tb testing.TB, r *rig, offset int64) { b.cancelOf(tb, r, offset, offset-1) }

func (b *timer) cancelOf(tb testing.TB, r *rig, offset, of int64) {
	b.arrival = Arrival{Offset: offset, TimestampMs: r.at.WallMs, Body: b, ID: b.number(of), Cancel: true}
	b.read(tb, r)
}

func (b *timer) read(tb testing.TB, r *rig) {
	reader, _ := r.Reader(partitionOf(0), 1)
	if reader.Wants(b.arrival.Offset, 0) != Whole || !reader.Read(&b.arrival) {
		tb.Fatalf("offset %d was not taken", b.arrival.Offset)
	}
}

// BenchmarkTimers asks what a million records with an id cost, of which a part is cancelled
// at random. It reports the time of a record and of a cancel, and the bytes of an id beside
// record and wheel at the most. It also reports the accounted bytes beside those of the
// records that are left.
func BenchmarkTimers(b *testing.B) {
	const n = 1_000_000
	for _, percent := range []int64{90, 99} {
		b.Run(fmt.Sprintf("cancelled=%d%%", percent), func(b *testing.B) {
			order := rand.New(rand.NewPCG(1, 2)).Perm(n)
			var parkNs, cancelNs, idBytes, ratio float64
			for b.Loop() {
				r := newRig(b, nil)
				r.assign(0, 1, 0)
				timer := newTimer()
				began := b.Elapsed()
				for o := range int64(n) {
					timer.park(b, r, o, startMs+1_800_000+o%1000)
				}
				parked := b.Elapsed()
				idBytes = float64(r.commands.index.bytes()+(spotBytes+2)*n) / n // a spot, marks and the id's place in each header
				for i, o := range order[:n*percent/100] {
					timer.cancelOf(b, r, n+int64(i), int64(o))
				}
				parkNs, cancelNs = float64(parked-began)/n, float64(b.Elapsed()-parked)/float64(n*percent/100)
				left := n - n*percent/100
				s := r.Snapshot()
				live := s.LiveBytes + left*(24+32) // with wheel and index
				ratio = (float64(s.Bytes) - 1<<20) / float64(live)
			}
			b.ReportMetric(parkNs, "ns/record")
			b.ReportMetric(cancelNs, "ns/cancel")
			b.ReportMetric(idBytes, "B/id")
			b.ReportMetric(ratio, "bytes/live")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkGiveUp asks what a record costs that is given up because its patience is used up. They are held for one silent
// partition of a target, or for many, each since an instant of its own.
func BenchmarkGiveUp(b *testing.B) {
	const records = 16_000
	for _, partitions := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprintf("partitions=%d", partitions), func(b *testing.B) {
			var ns float64
			for b.Loop() {
				r := newRig(b, func(c *Config) {
					c.MaxInFlight, c.HeldShare = 1, 1<<30
					c.Place = func(_ *TargetState, _ offsets.TopicPartition, body []byte) Route {
						return Route{Partition: int32(binary.BigEndian.Uint16(body))}
					}
				})
				r.router[graves] = Missing
				r.assign(0, 1, 0)
				next := 0
				give := func() {
					body := binary.BigEndian.AppendUint16(nil, uint16(next%partitions))
					r.take(0, 1, r.arrival(int64(next), 0, string(body)))
					next++
				}
				for range partitions {
					give()
				}
				r.pass(1)
				r.offer() // never answered
				r.pass(stallMs)
				for range records {
					give()
					r.pass(1)
					r.offer()
				}
				r.pass(r.cfg.Patience.Milliseconds() - records)
				letters := func() int { return r.out.dir.dead.queue.count }
				r.at.WallMs += records
				r.at.AnsweredMs += records
				before, began := letters(), b.Elapsed()
				r.Tick(r.at, 1)
				given := letters() - before
				if ns = float64(b.Elapsed()-began) / float64(given); given < records/2 {
					b.Fatalf("%d records are given up", given)
				}
			}
			b.ReportMetric(ns, "ns/letter")
			b.ReportMetric(0, "ns/op")
		})
	}
}
