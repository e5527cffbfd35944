package purgatory

import (
	"fmt"
	"slices"
	"testing"

	"layover/offsets"
)

// auditCatchUp holds the counts of records that were put back to a recount.
func (r *rig) auditCatchUp(n *census) {
	r.Helper()
	c := &r.parking.catching
	if len(c.labels) != len(n.putBack) {
		r.Errorf("records of %d labels are put back, recount %v", len(c.labels), n.putBack)
	}
	for label, u := range c.labels {
		if u.records != n.putBack[label] {
			r.Errorf("%d records for %s are put back, recount %d", u.records, label, n.putBack[label])
		}
	}
	if all, ok := r.cfg.CatchUp.(*CatchUp); ok {
		for label, p := range all.labels {
			if p.waiting != n.putBack[label] {
				r.Errorf("%d records for %s wait for their instant, recount %d", p.waiting, label, n.putBack[label])
			}
		}
	}
}

// paced returns a rig with a rate of catch-up.
func paced(t testing.TB, rate int, edit func(*Config)) *rig {
	return newRig(t, func(c *Config) {
		c.CatchUp = NewCatchUp(rate)
		if edit != nil {
			edit(c)
		}
	})
}

// overdue is a valid record whose deadline was so long ago.
func (r *rig) overdue(offset, agoMs int64) Arrival {
	a := r.arrival(offset, -agoMs, fmt.Sprintf("0 record %d", offset))
	a.TimestampMs, a.Outcome = a.DeadlineMs-1000, PastDue
	return a
}

// late reads records that were due an hour ago.
func (r *rig) late(no int32, epoch uint64, offsets ...int64) {
	r.Helper()
	for _, o := range offsets {
		if !r.take(no, epoch, r.overdue(o, 3_600_000)) {
			r.Fatalf("offset %d was not taken", o)
		}
	}
}

// left passes time in steps of a millisecond, and returns the offsets that left and after
// how many of them each did.
func (r *rig) left(ms int64) (offsets, at []int64) {
	for i := range ms + 1 {
		if i > 0 {
			r.pass(1)
		}
		ds := r.offer()
		for _, d := range ds {
			offsets, at = append(offsets, d.Offset), append(at, i)
		}
		r.end(Delivered, ds...)
		if i%100 == 0 {
			r.audit()
		}
	}
	return offsets, at
}

func (r *rig) wantLeft(ms int64, offsets, at []int64) {
	r.Helper()
	gotOffsets, gotAt := r.left(ms)
	if !slices.Equal(gotOffsets, offsets) || !slices.Equal(gotAt, at) {
		r.Errorf("offsets %v left after %v ms, want %v after %v", gotOffsets, gotAt, offsets, at)
	}
}

func (r *rig) wantCatchingUp(records int, inMs int64) {
	r.Helper()
	s := r.Snapshot()
	if records == 0 && len(s.CatchingUp) == 0 {
		return
	}
	want := []CatchingUp{{egress, records, r.at.WallMs + inMs}}
	if !slices.Equal(s.CatchingUp, want) {
		r.Errorf("catching up: %+v, want %+v", s.CatchingUp, want)
	}
}

func TestLateRecordsLeaveAtTheRateInTheirOrder(t *testing.T) {
	r := paced(t, 10, nil)
	r.assign(0, 1, 0)
	r.late(0, 1, 0, 1, 2, 3)
	r.pass(0)
	r.want(r.offer(), 0)
	r.wantCatchingUp(3, 300)
	r.wantLeft(400, []int64{1, 2, 3}, []int64{100, 200, 300})
	r.wantCatchingUp(0, 0)
}

// TestADeliveryOfALateRecordIsAsItWouldHaveBeen: deadline and bytes stay, and so does its
// lateness.
func TestADeliveryOfALateRecordIsAsItWouldHaveBeen(t *testing.T) {
	r := paced(t, 1, nil)
	r.assign(0, 1, 0)
	r.late(0, 1, 0, 1)
	due := r.at.WallMs - 3_600_000
	r.pass(0)
	r.one(Delivered)
	r.pass(1000)
	d := r.one(Delivered)
	if d.Offset != 1 || d.DeadlineMs != due || d.TimestampMs != due-1000 || string(d.Body) != "0 record 1" || d.Reason != "" {
		t.Errorf("delivered is %+v", d)
	}
	if !slices.Contains(r.Snapshot().RecentMs, 3_601_000) {
		t.Errorf("lateness is %v, want 3601000 among them", r.Snapshot().RecentMs)
	}
	r.audit()
}

func TestWhatIsDueNowDoesNotWaitBehindLateRecords(t *testing.T) {
	r := paced(t, 1, nil)
	r.assign(0, 1, 0)
	late := make([]int64, 3000)
	for i := range late {
		late[i] = int64(i)
	}
	r.late(0, 1, late...)
	r.mustTake(0, 1, 500, 3000)
	r.mustTake(0, 1, -LateMs, 3001) // as late as a record may be that is not late
	r.pass(0)
	ds := r.offer()
	r.want(ds, 0, 3001)
	r.end(Delivered, ds...)
	r.pass(500)
	r.want(r.offer(), 3000)
}

// TestALateRecordGoesBackOnce, however long its target is away when its instant comes.
func TestALateRecordGoesBackOnce(t *testing.T) {
	r := paced(t, 10, nil)
	r.assign(0, 1, 0)
	r.late(0, 1, 0, 1, 2)
	r.pass(0)
	r.one(Delivered)
	r.router[egress] = Missing
	r.pass(200)
	r.want(r.offer())
	r.pass(30_000)
	r.router[egress] = Usable
	r.wantCatchingUp(0, 0)
	r.pass(3000)
	r.want(r.offer(), 1, 2)
	r.audit()
}

// TestARecordThatIsSentAgainIsNotPutBack: it has had its instant.
func TestARecordThatIsSentAgainIsNotPutBack(t *testing.T) {
	for _, class := range []Class{TooLarge, Unknown, NoRoom} {
		r := paced(t, 1, nil)
		r.assign(0, 1, 0)
		r.late(0, 1, 0)
		r.pass(0)
		r.one(class)
		r.wantCatchingUp(0, 0)
		r.pass(200)
		r.want(r.offer(), 0)
		r.audit()
	}
}

func TestWhatAHeldTargetKeptComesBackAtTheRate(t *testing.T) {
	r := paced(t, 10, nil)
	r.assign(0, 1, 0)
	r.router[egress] = Missing
	r.mustTake(0, 1, 0, 0, 1, 2, 3)
	r.pass(1)
	r.want(r.offer())
	r.pass(LateMs + 5000)
	r.mustTake(0, 1, 0, 4)
	r.router[egress] = Usable
	r.pass(0)
	r.wantLeft(310, []int64{0, 4, 1, 2, 3}, []int64{0, 0, 100, 200, 300})
}

func TestWhatWaitedBehindASilentPartitionLeavesAtTheRate(t *testing.T) {
	r := paced(t, 10, func(c *Config) { c.MaxInFlight = 1 })
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 0, 0, 1, 2)
	r.pass(1)
	ds := r.offer()
	r.want(ds, 0)
	r.pass(LateMs + 5000)
	r.want(r.offer())
	r.end(Delivered, ds...)
	r.pass(100)
	r.wantLeft(110, []int64{1, 2}, []int64{0, 100})
}

// TestWhatNobodyAskedToDelayIsNotLate, nor are letters and events.
func TestWhatNobodyAskedToDelayIsNotLate(t *testing.T) {
	r := paced(t, 1, func(c *Config) { c.EventsTopic, c.Event = events, eventText })
	r.assign(0, 1, 0)
	for o := range int64(6) {
		a := r.overdue(o, 3_600_000)
		switch o % 3 {
		case 0:
			a.Outcome = Passed
		case 1:
			a.Outcome = Immediate
		case 2:
			a.Reason, a.Message = "malformed_delay", "says the test"
		}
		r.take(0, 1, a)
	}
	a := r.overdue(6, 3_600_000)
	a.TimestampMs = r.at.WallMs // its producer asked for an instant in the past
	r.take(0, 1, a)
	r.take(0, 1, r.overdueCancel(7))
	r.pass(0)
	if ds := r.offer(); len(ds) != 8 {
		t.Errorf("%d of 8 are offered: %+v", len(ds), ds)
	}
}

func (r *rig) overdueCancel(offset int64) Arrival {
	a := r.overdue(offset, 3_600_000)
	a.Body, a.ID, a.IDAt, a.Cancel, a.Outcome = text("0\x04abc"), []byte("abc"), 1, true, Cancel
	return a
}

func TestALateRecordExpiresWhereItWasPutBack(t *testing.T) {
	for name, test := range map[string]struct {
		expireMs int64 // from now
		wantMs   int64 // when it is a letter, -1: never
		back     int
	}{
		"before its instant": {40, 40, 0},
		"at its instant":     {100, 100, 0},
		"behind its instant": {101, -1, 1},
	} {
		r := paced(t, 10, nil)
		r.assign(0, 1, 0)
		a := r.overdue(1, 3_600_000)
		a.Expires, a.ExpireMs = true, r.at.WallMs+test.expireMs
		r.late(0, 1, 0)
		r.take(0, 1, a)
		r.late(0, 1, 2)
		r.pass(0)
		r.one(Delivered)
		r.audit()
		if all := r.Snapshot().CatchingUp; len(all) != 1 || all[0].Records != 1+test.back {
			t.Errorf("%s: catching up: %+v", name, all)
		}
		wantTwo := int64(100) // nobody took the instant of what expires before it
		if test.back == 1 {
			wantTwo = 200
		}
		for ms := range int64(250) {
			r.pass(1)
			for _, d := range append(r.offer(), r.offer()...) {
				r.end(Delivered, d)
				switch {
				case d.Offset == 2 && ms+1 == wantTwo:
				case d.Offset == 1 && d.Reason == reasonExpired && ms+1 == test.wantMs:
				case d.Offset == 1 && d.Reason == "" && ms+1 == 100 && test.wantMs < 0:
				default:
					t.Errorf("%s: after %d ms %+v left", name, ms+1, d)
				}
			}
		}
		r.audit()
		if n := r.Snapshot(); n.Parked+n.Due+n.InFlight > 0 {
			t.Errorf("%s: %d parked, %d due", name, n.Parked, n.Due)
		}
	}
}

func TestACancelEndsARecordThatWasPutBack(t *testing.T) {
	r := paced(t, 10, nil)
	r.assign(0, 1, 0)
	for o := range int64(3) {
		a := r.named(o, -3_600_000, string(rune('a'+o)))
		a.TimestampMs, a.Outcome = a.DeadlineMs-1000, PastDue
		r.must(a)
	}
	r.pass(0)
	r.one(Delivered)
	r.wantCatchingUp(2, 200)
	r.must(r.cancelOf(3, "b"))
	r.wantCatchingUp(1, 200)
	r.audit()
	r.pass(150)
	for _, d := range r.offer() {
		if !d.Event {
			t.Errorf("%+v left", d)
		}
	}
	r.pass(50)
	r.want(r.offer(), 2)
	r.audit()
}

// TestInstantsOfAPartitionThatWentAwayAreFreeAgain, once nobody waits for one: what is read
// again does not wait until they have all passed.
func TestInstantsOfAPartitionThatWentAwayAreFreeAgain(t *testing.T) {
	r := paced(t, 10, nil)
	r.assign(0, 1, 0)
	all := []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	r.late(0, 1, all...)
	r.pass(0)
	r.one(Unknown)
	r.wantCatchingUp(9, 900)
	r.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1})
	r.wantCatchingUp(0, 0)
	r.audit()
	r.assign(0, 2, 0)
	r.late(0, 2, 0, 1)
	r.pass(0)
	r.wantLeft(300, []int64{0, 1}, []int64{100, 200})
}
