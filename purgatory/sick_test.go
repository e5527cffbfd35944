package purgatory

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"layover/offsets"
)

// bury reads an invalid record, whose dead letter goes to the partition that the
// body's first byte names.
func (r *rig) bury(offset int64, body string) {
	r.Helper()
	a := r.arrival(offset, 0, body)
	a.Reason = "no_target"
	if !r.take(0, 1, a) {
		r.Fatalf("offset %d was not taken", offset)
	}
}

func TestADeadLetterPartitionThatDoesNotAnswerPausesReading(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.bury(0, "0")
	r.bury(1, "1")
	r.pass(1)
	ds := r.offer()
	r.want(ds, 0, 1)
	r.end(Delivered, ds[1])
	r.pass(stallMs - 1)
	if p := r.Pauses(); len(p) != 0 {
		t.Errorf("pauses %v before the time", p)
	}
	r.pass(200)
	if p := r.Pauses(); !slices.Equal(p, []Pause{{"dead_letter", graves, graves}}) {
		t.Errorf("pauses %v, want one for dead letters", p)
	}
	h := r.Snapshot().Held
	if len(h) != 1 || h[0].Target != graves || h[0].Verdict != Unreachable || !slices.Equal(numbersOf(h[0]), []int32{0}) || h[0].SinceMs != r.at.WallMs || h[0].Detail == "" {
		t.Errorf("held %+v, want partition 0 of the dead-letter topic since now, with what is wrong", h)
	}
	r.mustTake(0, 1, 0, 2) // was on its way
	r.bury(3, "0")
	r.pass(1)
	r.want(r.offer(), 2)
	r.end(Delivered, ds[0])
	if p := r.Pauses(); len(p) != 0 {
		t.Errorf("pauses %v after an answer", p)
	}
	r.want(r.offer(), 3)
	r.audit()
}

func TestDeadLettersThatWaitPauseReadingBeforeTheyTakeMoreThanTheirShare(t *testing.T) {
	const share = 2000
	r := newRig(t, func(c *Config) { c.HeldShare, c.MaxInFlight = share, 1 })
	r.assign(0, 1, 0)
	size := int64(0)
	offset := int64(0)
	for ; len(r.Pauses()) == 0; offset++ {
		r.bury(offset, "0 of many")
		r.pass(0) // a turn of the loop, in which no time goes by
		if size += sizeOf(r.arrival(offset, 0, "0 of many")) + failureSize; size > 2*share {
			t.Fatalf("%d bytes of dead letters wait, and reading goes on", size)
		}
	}
	if size < share/2 {
		t.Errorf("reading pauses at %d bytes of %d", size, share)
	}
	for left := size; len(r.Pauses()) > 0; left = r.out.dir.letters() {
		r.one(Delivered)
		if r.pass(1); left < share/4 {
			t.Fatalf("reading pauses, and %d bytes wait", left)
		}
	}
	if left := r.out.dir.letters(); left > share/2 {
		t.Errorf("reading goes on while %d bytes wait: it would pause again at once", left)
	}
	r.audit()
}

func TestATargetNamesThePartitionsThatHoldRecordsAndSinceWhen(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlight = 1 })
	r.assign(0, 1, 0)
	for o, body := range []string{"0", "0", "1", "2"} {
		r.take(0, 1, r.arrival(int64(o), 0, body))
	}
	r.pass(1)
	ds := r.offer()
	r.end(Delivered, ds[1]) // of partition 1
	r.pass(stallMs)
	since := r.at.WallMs
	r.pass(5000)
	h := r.Snapshot().Held
	if len(h) != 1 || h[0].SinceMs != since || !slices.Equal(numbersOf(h[0]), []int32{0, 2}) || h[0].Records != 1 {
		t.Errorf("held %+v, want one record of partitions 0 and 2 since %d", h, since)
	}
}

// healthy is the target that answers in tests of sick ones.
const healthy = "healthy"

// give reads one record for a partition of a target.
func (r *rig) give(offset int64, target string, partition int) {
	r.Helper()
	a := r.arrival(offset, 0, fmt.Sprintf("%c record %d", '0'+partition, offset))
	a.Target, a.Label = target, target
	if !r.take(0, 1, a) {
		r.Fatalf("offset %d was not taken", offset)
	}
}

// TestWhatIsStuckAndWhatIsInFlightFitsTheBuffer has the partitions of some targets
// fall silent, all at once and one after the other, with and without having answered
// before. The healthy target's records go within stuckMs and a look all the same.
func TestWhatIsStuckAndWhatIsInFlightFitsTheBuffer(t *testing.T) {
	tests := map[string]struct {
		targets, partitions, each int
		answers                   int // of each partition before it falls silent
		apart                     int64
	}{
		"all at once":                  {4, 20, 40, 0, 0},
		"one target after the other":   {4, 20, 40, 0, 3 * stuckMs},
		"having answered":              {4, 20, 40, 3, 3 * stuckMs},
		"more partitions than records": {20, 40, 2, 0, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(c *Config) { c.MaxInFlight, c.MaxBuffered, c.Patience = 16, 1024, time.Hour })
			r.assign(0, 1, 0)
			offset, answered := int64(0), map[string]int{}
			due := map[int64]int64{} // of the healthy target's records
			turn := func() {
				r.give(offset, healthy, 0)
				due[offset] = r.at.WallMs
				offset++
				for r.pass(100); ; {
					ds := r.offer()
					if r.out.flights.count > r.cfg.MaxBuffered {
						t.Fatalf("%d in flight, the client has room for %d", r.out.flights.count, r.cfg.MaxBuffered)
					}
					for _, d := range ds {
						key := fmt.Sprint(d.Target, d.TargetPartition)
						if answered[key]++; d.Target == healthy || answered[key] <= test.answers {
							r.end(Delivered, d)
							delete(due, d.Offset)
						}
					}
					if len(ds) == 0 {
						break
					}
				}
				for o, ms := range due {
					if late := r.at.WallMs - ms; late > stuckMs+500 {
						t.Fatalf("%d is %d ms late beside %d stuck records", o, late, r.out.flights.stuck)
					}
				}
			}
			for n := range test.targets {
				for range test.each {
					for p := range test.partitions {
						r.give(offset, fmt.Sprint("sick-", n), p)
						offset++
					}
				}
				for from := r.at.WallMs; r.at.WallMs < from+test.apart; {
					turn()
				}
			}
			for range 300 {
				turn()
			}
			r.audit()
			if r.out.flights.stuck < test.targets*test.partitions {
				t.Errorf("%d records are stuck, want one for each silent partition at least", r.out.flights.stuck)
			}
		})
	}
}

func TestStuckBytesLeaveRoomForOthers(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlightBytes, c.Patience = 4000, time.Hour })
	r.assign(0, 1, 0)
	offset := int64(0)
	for range 40 {
		for p := range 40 {
			a := r.arrival(offset, 0, fmt.Sprintf("%c%0200d", '0'+p, offset))
			a.Target, a.Label = other, other
			r.take(0, 1, a)
			offset++
		}
	}
	for range 300 {
		r.give(offset, healthy, 0)
		r.pass(100)
		for range 3 {
			for _, d := range r.offer() {
				if d.Target == healthy {
					r.end(Delivered, d)
				}
			}
		}
		offset++
	}
	r.audit()
	if got := r.Snapshot().Delivered[TopicTarget{ingress, healthy}]; got < 300-stuckMs/100-1 {
		t.Errorf("%d records of 300 got past %d bytes that are stuck", got, r.out.flights.stuckBytes)
	}
	if most := int64(roomShare*4000 + 40*250); r.out.flights.stuckBytes > most {
		t.Errorf("%d bytes are stuck, want at most %d", r.out.flights.stuckBytes, most)
	}
}

func TestPartitionsThatAnswerAgainComeBackAsThereIsRoom(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlight, c.MaxBuffered, c.Patience = 16, 64, time.Hour })
	r.assign(0, 1, 0)
	offset := int64(0)
	for p := range 8 {
		for range 32 {
			r.give(offset, other, p)
			offset++
		}
	}
	var silent []Delivery
	for range 200 {
		r.pass(100)
		silent = append(silent, r.offer()...)
	}
	stuck := r.out.flights.stuck
	for len(silent) > 0 { // each answer makes room for one at most
		r.end(Delivered, silent[0])
		silent = append(silent[1:], r.offer()...)
		if most := (r.cfg.MaxBuffered - r.out.flights.stuck) / roomShare; r.Occupying() > most {
			t.Fatalf("%d in flight beside %d stuck ones, want at most %d", r.Occupying(), r.out.flights.stuck, most)
		}
		r.audit()
	}
	if stuck == 0 || r.out.flights.stuck != 0 || r.Snapshot().Delivered[TopicTarget{ingress, other}] != offset {
		t.Errorf("%d were stuck, %d are; %v delivered of %d", stuck, r.out.flights.stuck, r.Snapshot().Delivered, offset)
	}
}

func TestNoRoomIsNobodysFault(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlight, c.Patience = 4, time.Second })
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 0, 0, 1, 2, 3, 4, 5)
	r.pass(1)
	for range 50 { // for longer than a target's patience
		ds := r.offer()
		r.want(ds, 0, 1, 2, 3)
		r.end(NoRoom, ds...)
		r.want(r.offer()) // or the loop would ask without end
		if !r.Unsettled() {
			t.Fatal("nothing tells that there is something to offer")
		}
		r.audit()
		r.pass(fullPauseMs)
	}
	if s := r.Snapshot(); len(s.Held) != 0 || total(s.ProduceErrors) != 0 || len(r.Take().Holds) != 0 {
		t.Errorf("held %+v, errors %v: want neither", s.Held, s.ProduceErrors)
	}
	ds := r.offer()
	r.want(ds, 0, 1, 2, 3)
	r.end(Delivered, ds...)
	r.want(r.offer(), 4, 5)
}

func TestNoRoomIsNoAnswerOfAPartition(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlight = 2 })
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 0, 0, 1)
	r.pass(1)
	ds := r.offer()
	for range stallMs / 1000 {
		r.pass(900)
		r.end(NoRoom, ds[1])
		r.pass(fullPauseMs)
		if ds = append(ds[:1], r.offer()...); len(ds) == 1 {
			break // the partition counts as stuck, so it gets no more
		}
	}
	r.pass(stallMs)
	if h := r.Snapshot().Held; len(h) != 1 || h[0].Records != 1 {
		t.Errorf("held %+v, want the record behind one that is not answered", h)
	}
	r.audit()
}

func TestTheFurthestDeadlineIsThatOfARecordThatIsParked(t *testing.T) {
	r := newRig(t, nil)
	at := func(want int64) {
		t.Helper()
		if got := r.Snapshot().Partitions[0].FurthestMs; got != want {
			t.Errorf("furthest deadline %d, want %d", got, want)
		}
		r.audit()
	}
	r.assign(0, 1, 0)
	at(0)
	r.mustTake(0, 1, 5000, 0)
	r.mustTake(0, 1, 9000, 1)
	r.mustTake(0, 1, 7000, 2)
	at(startMs + 9000)
	r.pass(8000)
	at(startMs + 9000)
	r.step(2000)
	at(0)
	r.step(-9000)
	r.offer() // what was due waits for its deadline once more
	at(startMs + 9000)
	r.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1})
	r.assign(0, 2, 0)
	at(0)
}
