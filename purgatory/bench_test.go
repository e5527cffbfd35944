package purgatory

import (
	"fmt"
	"testing"

	"layover/offsets"
)

// BenchmarkPassThrough asks what the core costs a record from its reading to its
// finish, in batches of 500 that are due within a second.
func BenchmarkPassThrough(b *testing.B) {
	r := newRig(b, func(c *Config) { c.MaxInFlight = 1000; c.MaxInFlightBytes = 1 << 30 })
	r.assign(0, 1, 0)
	reader, _ := r.Reader(partitionOf(0), 1)
	body := Body(text(fmt.Sprintf("0%0200d", 0)))
	var out []Delivery
	var results []Result
	offset := int64(0)
	for b.Loop() {
		a := Arrival{Offset: offset, DeadlineMs: r.at.WallMs + offset%1000, Target: egress, Label: egress, Body: body}
		reader.Wants(offset, 0)
		reader.Read(&a)
		if offset++; offset%500 > 0 {
			continue
		}
		r.at.WallMs += 500
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

// BenchmarkIdleTurn asks what one turn of the loop costs while nothing happens but
// that a number of targets, each of its own name, are held or have parked records.
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
