package purgatory

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"layover/journal/facts"
	"layover/offsets"
)

// Large records are for silent partitions, and a few of them take all the room in bytes.
// Where stuck ones are most of it, a part of the room stays for targets that answer.
func TestLargeStuckRecordsStarveNoHealthyTarget(t *testing.T) {
	for _, size := range []int{250, 500, 1000, 2000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			r := newRig(t, func(c *Config) { c.MaxInFlightBytes, c.Patience = 4000, time.Hour })
			r.assign(0, 1, 0)
			offset := int64(0)
			for range 2 {
				for p := range 40 {
					a := r.arrival(offset, 0, fmt.Sprintf("%c%0*d", '0'+p, size, offset))
					a.Target, a.Label = other, other
					r.take(0, 1, a)
					offset++
				}
			}
			due := map[int64]int64{}
			worst := int64(0)
			for range 1200 { // two minutes of ten small records a second
				r.give(offset, healthy, 0)
				due[offset] = r.at.WallMs
				offset++
				r.pass(100)
				for range 20 { // a round trip is 5 ms
					for _, d := range r.offer() {
						if d.Target == healthy {
							r.end(Delivered, d)
							worst = max(worst, r.at.WallMs-due[d.Offset])
							delete(due, d.Offset)
						}
					}
				}
			}
			for _, ms := range due {
				worst = max(worst, r.at.WallMs-ms)
			}
			if worst > 5000 {
				t.Errorf("a healthy record is %d ms late, %d of 1200 wait; %d bytes are stuck of %d that may be in flight", worst, len(due), r.out.flights.stuckBytes, r.cfg.MaxInFlightBytes)
			}
		})
	}
}

// kafka-delete-records moves the log's start into a batch: its first offset is then below
// the read position, as it should be.
func TestABatchThatTheLogStartsWithinIsNoTruncation(t *testing.T) {
	r := newRig(t, nil)
	w := offsets.NewWindow(3)
	r.Assign(facts.Assigned{Assignment: offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}, Window: w, Next: 3, LeaderEpoch: 1, Committed: true})
	r.LogStart(partitionOf(0), 1, 5)
	reader, ok := r.Reader(partitionOf(0), 1)
	if !ok {
		t.Fatal("no reader")
	}
	reader.Unread(&offsets.UnreadBatch{First: 3, Last: 9, Records: 7, LeaderEpoch: 2, Message: "too large"}, text("0"))
	if h := r.Take().Halts; len(h) != 0 {
		t.Errorf("the partition stops: %+v", h)
	}
}

// A trial whose partition falls silent is answered, with an error, when its target has
// been healthy for long. The target's patience does not count from the hold that is over.
func TestATrialThatEndsLateBeginsAHoldWithAllItsPatience(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlight = 1 })
	r.forbid(2, '0')
	r.take(0, 1, r.arrival(2, 0, "1 of a silent partition"))
	r.pass(100)
	trial := r.offer()
	r.want(trial, 2)
	r.pass(stuckMs + 200)
	r.one(Delivered)
	r.one(Delivered)
	if h := r.Snapshot().Held; len(h) != 0 {
		t.Fatalf("held %+v", h)
	}
	r.pass(2 * time.Minute.Milliseconds()) // healthy for longer than its patience of a minute
	r.refuse(Forbidden, trial...)
	r.pass(100)
	for _, d := range r.offer() {
		if d.DeadLettered {
			t.Errorf("dead-lettered 100 ms after the target began to be held: %s", d.Message)
		}
	}
}

// What an answer said only another answer takes back, says DESIGN.md.
func TestMetadataDoesNotTakeBackWhatAnAnswerSaid(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	for o := range int64(50) {
		r.take(0, 1, r.arrival(o, 0, "0"))
	}
	r.pass(1)
	r.refuse(Forbidden, r.offer()...)
	r.Take()
	flights, letters := 0, -1
	for i := range 120 { // two minutes, with a patience of one
		r.router[egress] = []Verdict{Usable, Usable, Missing}[i%3]
		r.pass(1000)
		ds := r.offer()
		if slices.ContainsFunc(ds, func(d Delivery) bool { return d.DeadLettered }) {
			letters = i
			break
		}
		flights = max(flights, len(ds))
		r.refuse(Forbidden, ds...)
	}
	if flights > 1 {
		t.Errorf("%d records at once are sent to a target that an answer has called forbidden", flights)
	}
	if letters < 58 || letters > 62 {
		t.Errorf("records are dead-lettered after %d s, want their patience of a minute; -1 is never", letters)
	}
}

// The dead-letter topic is held as metadata called it missing. It is back, and the letter in
// front goes to a partition that does not answer. Nothing else is tried.
func TestDeadLettersGoPastOneForASilentPartition(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.bury(0, "0")
	r.pass(1)
	r.want(r.offer(), 0) // never answered
	r.pass(stuckMs + 200)
	r.router[graves] = Missing
	r.bury(1, "0")
	r.bury(2, "1 of a healthy partition")
	r.pass(1)
	r.want(r.offer())
	r.router[graves] = Usable
	for range 600 {
		r.pass(100)
		for _, d := range r.offer() {
			if d.TargetPartition == 1 {
				return
			}
		}
	}
	t.Error("the dead letter of a healthy partition is not tried in a minute")
}

// A quarter of the buffer is stuck, and a partition answers all the time. It counts as proven
// also where nothing of it is in flight, and gets more than one record a round trip.
func TestAWaryCoreGivesAHealthyPartitionMoreThanARecordARoundTrip(t *testing.T) {
	for name, sick := range map[string]int{"nothing is stuck": 0, "a quarter is stuck": 20} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(c *Config) { c.MaxInFlight, c.MaxBuffered, c.Patience = 100, 4096, time.Hour })
			r.assign(0, 1, 0)
			offset := int64(0)
			for p := range sick {
				for range 100 {
					r.give(offset, other, p)
					offset++
				}
			}
			for range 50 {
				r.pass(100)
				r.offer()
			}
			stuck := r.out.flights.stuck
			due, worst, n := map[int64]int64{}, int64(0), 0
			var flying []Delivery
			for range 6000 { // a minute; a round trip is 10 ms, and each brings 5 records
				for range 5 {
					r.give(offset, healthy, 0)
					due[offset] = r.at.WallMs
					offset++
					n++
				}
				r.pass(10)
				r.end(Delivered, flying...)
				for _, d := range flying {
					worst = max(worst, r.at.WallMs-due[d.Offset])
					delete(due, d.Offset)
				}
				flying = flying[:0]
				for _, d := range r.offer() {
					if d.Target == healthy {
						flying = append(flying, d)
					}
				}
			}
			t.Logf("%d stuck of %d: %d of %d healthy records delivered, the worst %d ms late", stuck, r.cfg.MaxBuffered, n-len(due), n, worst)
			if len(due) > 100 || worst > 5000 {
				t.Error("a healthy target is starved")
			}
		})
	}
}
