package purgatory

import (
	"fmt"
	"slices"
	"testing"

	"layover/verify/long"
)

// wave ends deliveries as the client does for a broker that refuses each batch with a bad record: all of them fail with
// it. It returns the class that they got.
func (r *rig) wave(ds []Delivery, bad func(offset int64) bool) Class {
	r.Helper()
	class := Delivered
	if slices.ContainsFunc(ds, func(d Delivery) bool { return bad(d.Offset) }) {
		class = Rejected
	}
	r.end(class, ds...)
	return class
}

// beside ends letters as taken, and the others as a wave.
func (r *rig) beside(ds []Delivery, bad func(offset int64) bool) {
	r.Helper()
	letters := slices.DeleteFunc(slices.Clone(ds), func(d Delivery) bool { return !d.DeadLettered })
	r.end(Delivered, letters...)
	r.wave(slices.DeleteFunc(ds, func(d Delivery) bool { return d.DeadLettered }), bad)
}

// broker answers all that is on offer, and returns in how many waves.
func (r *rig) broker(bad func(offset int64) bool) (waves int) {
	r.Helper()
	for ds := r.offer(); len(ds) > 0; ds = r.offer() {
		waves++
		r.beside(ds, bad)
		r.audit()
	}
	return waves
}

// TestOneRecordThatIsRejectedTakesNoOtherWithIt: waves are halved until it is alone, and then grow again.
func TestOneRecordThatIsRejectedTakesNoOtherWithIt(t *testing.T) {
	const n = 1024
	for _, bad := range []int64{0, 1, 500, n - 1} {
		r := newRig(t, func(c *Config) { c.MaxInFlight, c.MaxBuffered, c.MaxInFlightBytes = n, 8*n, 1<<30 })
		r.assign(0, 1, 0)
		for o := range int64(n) {
			r.mustTake(0, 1, 0, o)
		}
		r.pass(1)
		waves := r.broker(func(offset int64) bool { return offset == bad })
		if low := r.parts.list[0].Window.Low(); low != n || r.stats.DeadLettered[TopicReason{ingress, reasonRejected}] != 1 || waves > 35 {
			t.Errorf("%d is bad: the low offset is %d, dead letters are %v, %d waves", bad, low, r.stats.DeadLettered, waves)
		}
	}
}

// TestFewRejectedRecordsCostFewWaves: one in a hundred, of ten thousand.
func TestFewRejectedRecordsCostFewWaves(t *testing.T) {
	long.Only(t)
	const n = 10_000
	r := newRig(t, func(c *Config) { c.MaxInFlight, c.MaxBuffered, c.MaxInFlightBytes = 1000, 8*n, 1<<30 })
	r.assign(0, 1, 0)
	for o := range int64(n) {
		r.mustTake(0, 1, 0, o)
	}
	r.pass(1)
	waves := r.broker(func(offset int64) bool { return offset%100 == 50 })
	if dead := r.stats.DeadLettered[TopicReason{ingress, reasonRejected}]; dead != n/100 || waves > 25*n/100 {
		t.Errorf("%d dead letters, want %d, in %d waves", dead, n/100, waves)
	}
}

// TestAPartitionThatRejectsAllDoesNotFillTheMemoryOfOthers: what waits for it takes its share, and then ends at the
// first refusal. Once less waits, each is tried alone again.
func TestAPartitionThatRejectsAllDoesNotFillTheMemoryOfOthers(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlight, c.MaxBuffered, c.HeldShare = 100, 4000, 60_000 })
	r.assign(0, 1, 0)
	next, most := int64(0), int64(0)
	for round := range 600 { // a wave in 100 ms
		for range 8 {
			r.mustTake(0, 1, 0, next)
			next++
		}
		r.pass(100)
		r.beside(r.offer(), func(int64) bool { return true })
		if round%50 == 0 {
			r.audit()
		}
		bytes := r.out.dir.targetOf(ingress, egress, egress).waiting()
		if most = max(most, bytes); bytes > 3*r.cfg.HeldShare {
			t.Fatalf("round %d: %d bytes wait, the share is %d", round, bytes, r.cfg.HeldShare)
		}
	}
	if most < r.cfg.HeldShare {
		t.Errorf("%d bytes waited at most: this is not the situation", most)
	}
	r.broker(func(int64) bool { return false })
	d := r.out.dir.targetOf(ingress, egress, egress).dests[0]
	if low := r.parts.list[0].Window.Low(); low != next || d.limit != 0 || d.hurried {
		t.Errorf("the low offset is %d of %d, the limit %d, hurried %t", low, next, d.limit, d.hurried)
	}
}

// TestManyThatAreDueAtOnceDoNotDieForOneThatIsRejected: they take more than the share for a moment. One that is rejected
// each second has kept the partition's waves small for long.
func TestManyThatAreDueAtOnceDoNotDieForOneThatIsRejected(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlight, c.MaxBuffered, c.HeldShare = 1000, 8000, 20_000 })
	r.assign(0, 1, 0)
	next := int64(0)
	bad := func(offset int64) bool { return offset%50 == 7 }
	for range 60 {
		for range 50 {
			r.mustTake(0, 1, 0, next)
			next++
		}
		r.pass(1000)
		r.broker(bad)
	}
	d := r.out.dir.targetOf(ingress, egress, egress).dests[0]
	if d.limit == 0 {
		t.Fatal("the waves are large: this is not the situation")
	}
	for range 3000 {
		r.mustTake(0, 1, 0, next)
		next++
	}
	r.pass(1)
	if bytes := d.target.waiting(); bytes < 2*r.cfg.HeldShare {
		t.Fatalf("%d bytes wait: this is not the situation", bytes)
	}
	r.broker(bad)
	if dead := r.stats.DeadLettered[TopicReason{ingress, reasonRejected}]; dead != next/50 {
		t.Errorf("%d dead letters, want %d", dead, next/50)
	}
}

// TestOthersHearOfWhatIsBehindRefusals, also where all of it has just been refused and nothing is in flight.
func TestOthersHearOfWhatIsBehindRefusals(t *testing.T) {
	const n = 10
	r := newRig(t, nil)
	heard := ShareBytes{}
	r.elsewhere = func(_ TargetName, own ShareBytes) ShareBytes {
		heard = own
		return ShareBytes{}
	}
	r.assign(0, 1, 0)
	for o := range int64(n) {
		r.mustTake(0, 1, 0, o)
	}
	r.pass(1)
	for range 2 { // all of them, then half
		r.end(Rejected, r.offer()...)
		heard = ShareBytes{}
		r.pass(checkEveryMs)
		if bytes := r.out.dir.targetOf(ingress, egress, egress).waiting(); heard != (ShareBytes{Rejected: bytes}) || bytes == 0 {
			t.Errorf("others hear of %+v, and %d wait", heard, bytes)
		}
	}
}

// TestHurryEndsWithTheBacklog: of a wave that is refused long after it, the one record ends that was refused.
func TestHurryEndsWithTheBacklog(t *testing.T) {
	r := newRig(t, nil)
	elsewhere := ShareBytes{Rejected: 2 * r.cfg.HeldShare}
	r.elsewhere = func(TargetName, ShareBytes) ShareBytes { return elsewhere }
	r.assign(0, 1, 0)
	next := int64(0)
	target := r.out.dir.targetOf(ingress, egress, egress)
	take := func(n int) {
		for range n {
			r.mustTake(0, 1, 0, next)
			next++
		}
	}
	for round := 0; len(target.dests) == 0 || !target.dests[0].hurried; round++ {
		if round == 600 {
			t.Fatal("nothing is hurried: this is not the situation")
		}
		take(2)
		r.pass(100)
		r.beside(r.offer(), func(int64) bool { return true })
	}
	elsewhere = ShareBytes{}
	r.broker(func(int64) bool { return false }) // the target is well again, and takes all that waits
	dead := r.stats.DeadLettered[TopicReason{ingress, reasonRejected}]
	if low := r.parts.list[0].Window.Low(); low != next || target.waiting() > 0 {
		t.Fatalf("the low offset is %d of %d", low, next)
	}
	for range 3600 {
		r.pass(1000)
	}
	const n = 20
	bad := next + 10
	take(n)
	r.pass(1)
	r.broker(func(offset int64) bool { return offset == bad })
	if got := r.stats.DeadLettered[TopicReason{ingress, reasonRejected}] - dead; got != 1 {
		t.Errorf("%d of %d records are dead letters as one was refused, an hour after the refusal before it, want 1", got, n)
	}
	r.audit()
}

// TestNothingIsHurriedInTheFirstTenSeconds of a process that is started in front of a backlog.
func TestNothingIsHurriedInTheFirstTenSeconds(t *testing.T) {
	for _, start := range []int64{8000, 20_000} {
		r := newRig(t, func(c *Config) { c.MaxInFlight, c.MaxBuffered, c.HeldShare = 1000, 16_000, 20_000 })
		r.pass(start)
		r.assign(0, 1, 0)
		const n = 20_000
		for o := range int64(n) {
			if !r.take(0, 1, r.arrival(o, 0, fmt.Sprintf("%d record %d", o%2, o))) {
				t.Fatal("not taken")
			}
		}
		r.pass(1)
		for range 250 { // round trips of 20 ms
			r.pass(20)
			for no, ds := range r.byPartition(r.offer()) {
				r.beside(ds, func(offset int64) bool { return offset%100 == 6+int64(no) })
			}
		}
		if dead := r.stats.DeadLettered[TopicReason{ingress, reasonRejected}]; dead == 0 || dead > n/50 {
			t.Errorf("from %d ms on: %d dead letters after five seconds, and %d records are refused", start, dead, n/50)
		}
	}
}

// byPartition parts deliveries by the partition of their target.
func (r *rig) byPartition(ds []Delivery) map[int32][]Delivery {
	out := make(map[int32][]Delivery)
	for _, d := range ds {
		out[d.TargetPartition] = append(out[d.TargetPartition], d)
	}
	return out
}
