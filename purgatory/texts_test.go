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
