package purgatory

import (
	"fmt"
	"testing"
	"time"
)

// TestWhatOthersHeldOnceIsNotCountedWhenAPartitionGetsSilent: other cores held records for
// a target while this one did, and do not any more.
func TestWhatOthersHeldOnceIsNotCountedWhenAPartitionGetsSilent(t *testing.T) {
	const share = 64 << 10
	r := newRig(t, func(c *Config) { c.Patience, c.HeldShare, c.MaxInFlight = time.Hour, share, 1 })
	others := int64(share)
	r.elsewhere = func(TargetName, int64) int64 { return others }
	r.assign(0, 1, 0)
	r.router[egress] = Missing
	r.mustTake(0, 1, 0, 0)
	others = share / 2
	r.pass(100)
	r.want(r.offer())
	r.pass(100)
	r.router[egress] = Usable
	r.pass(holdMaxMs)
	r.one(Delivered)
	r.offer()
	others = share - 100
	r.pass(100) // tells that nothing is held here, and hears what others still hold
	others = 0
	r.pass(60_000)

	for o := range int64(10) {
		if !r.take(0, 1, r.arrival(1+o, 0, fmt.Sprintf("0%0100d", o))) {
			t.Fatal("not taken")
		}
	}
	r.pass(1)
	silent := r.offer()
	if len(silent) != 1 {
		t.Fatalf("%d in flight, want 1", len(silent))
	}
	for range stallMs/100 + 10 {
		r.pass(100)
		for _, d := range r.offer() {
			t.Fatalf("offset %d goes to %s: %s", d.Offset, d.Target, d.Message)
		}
	}
	r.audit()
}
