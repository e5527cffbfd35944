package purgatory

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestWhatLettersSayCountsAsMemory until their topic has taken them. Each invalid record has a text of its own.
func TestWhatLettersSayCountsAsMemory(t *testing.T) {
	const n = 1000
	text := strings.Repeat("what was wrong, where, and what would be right; ", 10)
	r := newRig(t, func(c *Config) { c.HeldShare = 1 << 30 })
	r.router[graves] = Missing
	r.assign(0, 1, 0)
	before := r.Bytes()
	for o := range int64(n) {
		a := r.arrival(o, 0, "0")
		a.Reason, a.Message = "malformed_delay", fmt.Sprint(text, o)
		r.take(0, 1, a)
	}
	r.pass(1)
	r.want(r.offer())
	r.audit()
	if grown := r.Bytes() - before; grown < n*int64(len(text)) {
		t.Errorf("%d letters of %d bytes of text each take %d bytes", n, len(text), grown)
	}
	if own := r.out.dir.letters(); own < n*int64(len(text)) {
		t.Errorf("%d bytes of them count against the share of the dead-letter topic", own)
	}
	r.router[graves] = Usable
	for range 100 {
		r.pass(holdMaxMs)
		r.end(Delivered, r.offer()...)
	}
	if left := r.out.dir.texts; left != 0 {
		t.Errorf("%d bytes of texts are counted with no letter left", left)
	}
	r.audit()
}

// TestRecordsThatAreGivenUpTogetherHaveOneText.
func TestRecordsThatAreGivenUpTogetherHaveOneText(t *testing.T) {
	const n = 1000
	r := newRig(t, func(c *Config) { c.Patience = time.Minute })
	r.router[egress], r.router[graves] = Missing, Missing
	r.assign(0, 1, 0)
	for o := range int64(n) {
		r.mustTake(0, 1, 0, o)
	}
	r.pass(1)
	r.want(r.offer())
	r.pass(61_000)
	texts := map[*failure]bool{}
	r.out.dir.dead.queue.each(func(e *entry) { texts[e.failure] = true })
	if waiting := r.out.dir.dead.queue.count; waiting != n || len(texts) != 1 {
		t.Errorf("%d letters with %d texts, want %d with one", waiting, len(texts), n)
	}
	r.audit()
}

// malformed is a record that cannot be understood, with a text of its own.
func (r *rig) malformed(offset int64) Arrival {
	a := r.arrival(offset, 0, "0 tiny")
	a.Reason, a.Message = "malformed_delay", fmt.Sprintf(`delayed/0@%d: x-delay is "in a while": want a duration such as 1500ms, 30s, 2h45m or 3d, or milliseconds as digits`, offset)
	return a
}

// TestWhatIsHeldKeepsToItsShareOfMemory, also where the records are small beside what each takes in a queue, and where
// each has a text: the target gets what cannot be understood.
func TestWhatIsHeldKeepsToItsShareOfMemory(t *testing.T) {
	const share = 1 << 20
	for name, test := range map[string]struct {
		record func(*rig, int64) Arrival
		most   int64
	}{
		"small":   {func(r *rig, o int64) Arrival { return r.arrival(o, 0, "0 tiny") }, share * 5 / 2}, // a queue has room for twice as many
		"invalid": {(*rig).malformed, share * 2},
	} {
		r := newRig(t, func(c *Config) { c.HeldShare, c.OnInvalid, c.Patience = share, Deliver, time.Hour })
		r.router[egress] = Missing
		r.assign(0, 1, 0)
		before := r.Bytes()
		for o := range int64(50_000) {
			r.take(0, 1, test.record(r, o))
			if o%1000 > 0 {
				continue
			}
			r.pass(checkEveryMs)
			for ds := r.offer(); len(ds) > 0; ds = r.offer() {
				r.end(Delivered, ds...) // the letters
			}
		}
		h := r.heldView()
		if grown := r.Bytes() - before; grown > test.most || grown < share/2 || h.GivenUp == 0 {
			t.Errorf("%s: a held target takes %d bytes of memory, its share is %d: %+v", name, grown, share, h)
		}
		r.audit()
	}
}

// TestWhatInvalidRecordsSayCountsForTheirTargetAlone: they wait for a missing egress topic. The dead-letter topic is well,
// and has its fill in flight.
func TestWhatInvalidRecordsSayCountsForTheirTargetAlone(t *testing.T) {
	r := newRig(t, func(c *Config) { c.HeldShare, c.OnInvalid, c.Patience = 100_000, Deliver, time.Hour })
	r.router[egress] = Missing
	r.assign(0, 1, 0)
	for o := range int64(300) {
		r.take(0, 1, r.malformed(o))
	}
	r.pass(1)
	r.want(r.offer())
	for o := int64(300); o < 450; o++ { // letters
		a := r.arrival(o, 0, "0")
		a.Target, a.Label = other, other
		a.Expires, a.ExpireMs = true, a.DeadlineMs-1
		r.take(0, 1, a)
	}
	for range 3 {
		r.pass(checkEveryMs)
		r.offer()
	}
	if waiting, texts := r.out.dir.dead.queue.count+r.out.dir.dead.overflow, r.out.dir.texts; waiting != 50 || texts < 60_000 {
		t.Fatalf("%d letters wait, all texts are %d bytes: this is not the situation", waiting, texts)
	}
	if own := r.out.dir.letters(); own > 20_000 {
		t.Errorf("50 letters of a byte each take %d bytes", own)
	}
	if p := r.Pauses(); len(p) > 0 {
		t.Errorf("reading pauses: %+v", p)
	}
	r.audit()
}
