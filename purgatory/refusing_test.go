package purgatory

import (
	"slices"
	"testing"

	"layover/offsets"
)

// refuseBatches ends deliveries as a compacted topic does: a batch with one of those offsets is
// refused whole, and others are taken. It returns the offsets that were taken.
func (r *rig) refuseBatches(ds []Delivery, refused ...int64) (out []int64) {
	batches := make(map[int32]bool) // by partition: it has one of those
	for _, d := range ds {
		batches[d.TargetPartition] = batches[d.TargetPartition] || slices.Contains(refused, d.Offset)
	}
	results := make([]Result, len(ds))
	for i, d := range ds {
		if results[i] = (Result{ID: d.ID, Class: Rejected, Detail: "said the broker"}); !batches[d.TargetPartition] {
			results[i].Class = Delivered
			out = append(out, d.Offset)
		}
	}
	r.Outcomes(r.at, results)
	return out
}

// TestLettersThatAreRefusedForTheirContentStopNoOther, and reading pauses from the first refusal
// until one of those is taken, or none is there any more.
func TestLettersThatAreRefusedForTheirContentStopNoOther(t *testing.T) {
	for name, end := range map[string]func(*rig){
		"one is taken": func(r *rig) {
			for range 4 { // another letter may be in front of it
				r.pass(holdMaxMs)
				r.end(Delivered, r.offer()...)
			}
		},
		"they are handed over": func(r *rig) {
			r.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1})
			r.assign(0, 2, 400)
			bad := r.arrival(400, 0, "0")
			bad.Reason = "no_target"
			r.take(0, 2, bad)
			r.pass(holdMaxMs)
			r.one(Delivered)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			r.assign(0, 1, 0)
			for o := range int64(10) {
				r.bury(o, string('0'+byte(o%3)))
			}
			r.pass(1)
			taken := r.refuseBatches(r.offer(), 3, 7)
			for range 10 { // each of them alone
				taken = append(taken, r.refuseBatches(r.offer(), 3, 7)...)
			}
			since := r.at.WallMs
			for next := int64(10); next < 300; next++ {
				if next%10 == 0 { // what is parked goes on
					r.bury(next, "0")
				}
				r.pass(100)
				for range 5 {
					taken = append(taken, r.refuseBatches(r.offer(), 3, 7)...)
				}
				if h := r.heldView(); h.SinceMs != since || h.Verdict != Rejecting || h.Detail != "said the broker" || len(r.Pauses()) != 1 {
					t.Fatalf("after %d ms: held %+v, pauses %v; want one hold, all the time", r.at.WallMs-since, h, r.Pauses())
				}
				r.audit()
			}
			if slices.Sort(taken); len(taken) < 35 {
				t.Errorf("taken %v, want nearly all", taken)
			}
			if n := len(r.Take().Holds); n != 1 {
				t.Errorf("%d notices, want one", n)
			}
			if end(r); len(r.Pauses()) > 0 || len(r.Snapshot().Held) > 0 || len(r.offer()) > 0 {
				t.Errorf("pauses %v, held %+v", r.Pauses(), r.Snapshot().Held)
			}
			r.audit()
		})
	}
}

// TestARefusedLetterIsTriedAgainBesideThoseThatAreTaken, at its interval, whether they come all the while or wait.
func TestARefusedLetterIsTriedAgainBesideThoseThatAreTaken(t *testing.T) {
	for name, test := range map[string]struct{ waiting, every int64 }{"they come": {0, 5}, "they wait": {20_000, 1 << 30}} {
		for _, refused := range []int64{1, 3} {
			r := newRig(t, func(c *Config) { c.HeldShare = 1 << 30 })
			r.assign(0, 1, 0)
			next := int64(0)
			bury := func(n int64) {
				for range n {
					r.bury(next, "0")
					next++
				}
			}
			bury(refused)
			r.drive(5000, refused, -1)
			bury(test.waiting)
			taken, tries := 0, make([]int, refused)
			trip := func(refusedBelow int64) {
				if r.at.WallMs%test.every == 0 {
					bury(1)
				}
				r.pass(5)
				ds := r.offer()
				for _, d := range ds {
					if d.Offset < refused {
						tries[d.Offset]++
					}
				}
				if r.wave(ds, func(offset int64) bool { return offset < refusedBelow }) == Delivered {
					taken += len(ds)
				}
			}
			for range 60_000 / 5 {
				trip(refused)
			}
			all := 0
			for _, n := range tries {
				if all += n; n < 30/int(refused)-2 {
					t.Errorf("%s: of %d letters that were refused one is tried again %d times in a minute: %v", name, refused, n, tries)
				}
			}
			if all > 31 || taken < 11_900 || taken > 12_000 {
				t.Errorf("%s: %d tries in a minute of %d letters that were refused, want one in two seconds; %d others are taken", name, all, refused, taken)
			}
			for range (holdMaxMs + 100) / 5 {
				trip(0)
			}
			if len(r.Pauses()) > 0 || len(r.Snapshot().Held) > 0 {
				t.Errorf("%s: the topic takes all, and pauses are %v, held %+v", name, r.Pauses(), r.Snapshot().Held)
			}
			r.audit()
		}
	}
}

// TestARefusedLetterIsTriedAgainAfterAnotherAnswer, which was not about the letter, beside those that are taken. Without room
// nothing is known anew, and the hold goes on.
func TestARefusedLetterIsTriedAgainAfterAnotherAnswer(t *testing.T) {
	for _, class := range []Class{NoRoom, Unknown} {
		r := newRig(t, func(c *Config) { c.HeldShare = 1 << 30 })
		r.assign(0, 1, 0)
		r.bury(0, "0")
		r.drive(5000, 1, -1)
		for o := int64(1); o < 5000; o++ {
			r.bury(o, "0")
		}
		r.Take()
		tries := 0
		for range 20_000 / 10 {
			r.pass(10)
			ds := r.offer()
			if len(ds) == 1 && ds[0].Offset == 0 {
				if tries++; tries == 1 {
					r.end(class, ds...)
					continue
				}
			}
			r.wave(ds, func(offset int64) bool { return offset == 0 })
		}
		if tries < 5 {
			t.Errorf("class %d: a letter that was refused is tried again %d times in twenty seconds", class, tries)
		}
		if h := r.Take().Holds; class == NoRoom && len(h) > 0 {
			t.Errorf("notices %+v, and a letter is refused all the while", h)
		}
		r.audit()
	}
}

// TestARefusedLetterIsTriedAgainBehindManyForASilentPartition: those are more than a look looks at, and were refused as
// well before their partition fell silent.
func TestARefusedLetterIsTriedAgainBehindManyForASilentPartition(t *testing.T) {
	const many = 2*trialLook + 10
	r := newRig(t, func(c *Config) { c.HeldShare = 1 << 30 })
	r.assign(0, 1, 0)
	for o := range int64(many) {
		r.bury(o, "1")
	}
	r.drive(10_000, many, -1)
	r.bury(many, "0")
	next, tries, silent := int64(many+1), 0, false
	for range 60_000 / 10 {
		r.bury(next, "0")
		next++
		for range 2 {
			r.pass(5)
			for _, d := range r.offer() {
				switch {
				case d.TargetPartition == 1:
					silent = true
				case d.Offset == many:
					tries++
					r.end(Rejected, d)
				default:
					r.end(Delivered, d)
				}
			}
		}
	}
	if !silent || tries < 20 {
		t.Errorf("it is tried %d times in a minute; another partition is silent: %t", tries, silent)
	}
	r.audit()
}
