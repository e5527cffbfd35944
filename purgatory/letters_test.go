package purgatory

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"layover/offsets"
)

func TestTheLastTenDeadLettersAreKeptAndTheLatestIsFirst(t *testing.T) {
	var l letters
	if got := l.last(); got != nil {
		t.Errorf("%v before the first", got)
	}
	for i := range int64(23) {
		e := entry{from: &source{}, failure: &failure{reason: "rejected", message: fmt.Sprint("number ", i)}}
		e.from.Topic, e.from.Partition = "delayed", 3
		l.note(&e, 100+i, 5000+i)
		kept := l.last()
		if want := min(int(i)+1, LastLetters); len(kept) != want {
			t.Fatalf("%d kept after %d, want %d", len(kept), i+1, want)
		}
		for j, k := range kept {
			n := i - int64(j)
			if k.Offset != 100+n || k.AtMs != 5000+n || k.Message != fmt.Sprint("number ", n) || k.Reason != "rejected" || k.Topic != "delayed" || k.Partition != 3 {
				t.Fatalf("after %d, %d is %+v", i+1, j, k)
			}
		}
	}
}

func TestAMessageThatIsKeptIsCut(t *testing.T) {
	if short := strings.Repeat("x", maxLetterMessage); cutMessage(short) != short {
		t.Error("a message that fits is changed")
	}
	cut := cutMessage(strings.Repeat("ä", 10_000))
	if len(cut) > maxLetterMessage+len("…") || !utf8.ValidString(cut) || !strings.HasSuffix(cut, "ä…") {
		t.Errorf("%d bytes: %q", len(cut), cut)
	}
}

// drive lets time go by, with a dead-letter topic that refuses letters below an offset. It returns when the wanted
// letter was taken, 0 where it was not.
func (r *rig) drive(ms int64, refusedBelow, wanted int64) (takenMs int64) {
	for range ms / 10 {
		r.pass(10)
		for ds := r.offer(); len(ds) > 0; ds = r.offer() {
			there := slices.ContainsFunc(ds, func(d Delivery) bool { return d.Offset == wanted })
			if r.wave(ds, func(offset int64) bool { return offset < refusedBelow }) == Delivered && there {
				takenMs = r.at.WallMs
			}
		}
		if takenMs > 0 {
			return takenMs
		}
	}
	return 0
}

// buryRefused has so many letters wait that the topic has refused, from offset 0 on.
func (r *rig) buryRefused(n int64) {
	r.Helper()
	for o := range n {
		r.bury(o, "0")
	}
	r.drive(120_000, n, -1)
}

// TestALetterDoesNotWaitForAllThatAreRefused: those are tried now and then, and what comes is tried at once.
func TestALetterDoesNotWaitForAllThatAreRefused(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	const n = 300
	r.buryRefused(n)
	at := r.at.WallMs
	r.bury(n, "0") // of a parked record
	taken := r.drive(3_600_000, n, n)
	if taken-at > 1000 || taken == 0 {
		t.Errorf("a letter that the topic takes waited for %d ms behind %d refused ones", taken-at, n)
	}
}

// TestTheHoldOfADeadLetterTopicEndsWithItsLastLetter: it is handed over.
func TestTheHoldOfADeadLetterTopicEndsWithItsLastLetter(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.bury(0, "0")
	r.pass(1)
	r.rejected()
	r.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1})
	for range 10 {
		r.pass(1000)
		r.offer()
	}
	if held := r.Snapshot().Held; len(held) > 0 {
		t.Errorf("the dead-letter topic is held without a letter: %+v", held)
	}
}

// TestLettersGoTogetherOnceNoneThatWasRefusedWaits: its partition was handed over, and others wait.
func TestLettersGoTogetherOnceNoneThatWasRefusedWaits(t *testing.T) {
	const n = 2000
	r := newRig(t, func(c *Config) { c.MaxInFlight, c.MaxBuffered, c.HeldShare = 1000, 8000, 1<<30 })
	r.assign(0, 1, 0)
	r.assign(1, 1, 0)
	r.bury(0, "0")
	r.pass(1)
	r.rejected()
	for o := range int64(n) {
		a := r.arrival(o, 0, "0")
		a.Reason, a.Message = "malformed_delay", "x"
		r.take(1, 1, a)
	}
	r.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1})
	r.pass(holdMaxMs)
	waves := r.broker(func(int64) bool { return false })
	if low := r.parts.list[1].Window.Low(); low != n || waves > 20 {
		t.Errorf("the low offset is %d of %d, in %d waves", low, n, waves)
	}
}

// TestALetterThatWaitedForAMembershipDoesNotWaitForAllThatAreRefused: the lease ran out while its record was in flight.
func TestALetterThatWaitedForAMembershipDoesNotWaitForAllThatAreRefused(t *testing.T) {
	for _, suspended := range []bool{false, true} {
		r := newRig(t, nil)
		r.assign(0, 1, 0)
		r.assign(1, 1, 0)
		const n = 300
		r.buryRefused(n)
		r.mustTake(1, 1, 0, n) // a record like others, that its target refuses
		r.pass(1)
		flying := r.offer()
		r.end(Rejected, flying...)
		for flying = r.offer(); len(flying) > 0 && flying[0].DeadLettered; flying = r.offer() {
			r.end(Rejected, flying...)
		}
		r.want(flying, n)
		if suspended {
			r.Suspend()
		}
		r.end(Rejected, flying...) // it is a letter
		if suspended {
			r.commitLow(1)
		}
		at := r.at.WallMs
		if taken := r.drive(3_600_000, n, n); taken-at > 1000 || taken == 0 {
			t.Errorf("suspended %t: a letter that the topic takes waited for %d ms behind %d refused ones", suspended, taken-at, n)
		}
	}
}

// TestALetterThatCameWhileTheTopicWasSilentDoesNotWaitForAllThatAreRefused: one answer was lost in between, or one of
// those that were refused was taken.
func TestALetterThatCameWhileTheTopicWasSilentDoesNotWaitForAllThatAreRefused(t *testing.T) {
	for class, left := range map[Class]int{Rejected: 300, Unknown: 300, Delivered: 299} {
		r := newRig(t, nil)
		r.assign(0, 1, 0)
		const n = 300
		r.buryRefused(n)
		var ds []Delivery
		for len(ds) == 0 {
			r.pass(10)
			ds = r.offer()
		}
		r.end(class, ds...)
		r.bury(n, "0") // of a parked record
		at := r.at.WallMs
		if taken := r.drive(3_600_000, n, n); taken-at > 3000 || taken == 0 {
			t.Errorf("class %d: a letter that the topic takes waited for %d ms behind %d refused ones", class, taken-at, n)
		}
		if waiting := r.out.dir.dead.queue.count + r.out.dir.dead.inFlight; waiting != left {
			t.Errorf("class %d: %d refused letters wait, want %d", class, waiting, left)
		}
		r.audit()
	}
}

// TestARefusedLetterDoesNotSpinBesideASilentPartition: one for that is in front of it, and cannot be tried.
func TestARefusedLetterDoesNotSpinBesideASilentPartition(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.bury(0, "1 silent")
	r.pass(1)
	r.want(r.offer(), 0)
	r.pass(stallMs)
	r.want(r.offer())
	r.bury(1, "1 behind it")
	r.bury(2, "0 refused")
	tries := 0
	for range 10_000 { // round trips of a millisecond
		r.pass(1)
		for _, d := range r.offer() {
			tries++
			r.end(Rejected, d)
		}
	}
	if tries < 5 || tries > 120 {
		t.Errorf("it is tried %d times in ten seconds", tries)
	}
}

// TestLettersAreTriedBehindManyForASilentPartition, while more of those come: a letter was refused, so they go one by one.
func TestLettersAreTriedBehindManyForASilentPartition(t *testing.T) {
	for _, flow := range []bool{false, true} {
		r := newRig(t, func(c *Config) { c.HeldShare, c.MaxInFlight = 1<<30, 10 })
		r.assign(0, 1, 0)
		next := int64(0)
		bury := func(n int, body string) {
			for range n {
				r.bury(next, body)
				next++
			}
		}
		bury(1500, "1")
		r.pass(1)
		r.want(r.offer(), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) // never answered
		r.pass(stallMs)
		refused := next
		bury(1, "0")
		for range 2 { // with others, and then alone
			r.pass(1)
			r.one(Rejected)
		}
		bury(100, "0")
		bury(1500, "1")
		taken, began := 0, r.at.WallMs
		for taken < 100 {
			r.pass(50)
			if flow {
				bury(1, "1")
			}
			for ds := r.offer(); len(ds) > 0; ds = r.offer() {
				if r.wave(ds, func(offset int64) bool { return offset == refused }) == Delivered {
					taken += len(ds)
				}
			}
			if r.at.WallMs-began > 2000 {
				t.Fatalf("flow %t: %d of 100 letters that the topic takes are written after two seconds", flow, taken)
			}
		}
		r.audit()
	}
}
