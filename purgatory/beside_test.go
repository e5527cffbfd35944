package purgatory

import (
	"slices"
	"testing"
)

// besideRefusals is a dead-letter topic whose partition 0 refuses each letter for its content. What those of the other
// partitions answer that are ill is in ill.
type besideRefusals struct {
	*rig
	ill   map[int32]Class
	next  int64
	taken map[int64]int64 // by offset: when the letter was taken
	tries map[int32]int   // by partition

	slowMs int64
	owed   []owed
}

// owed is a letter whose answer is on its way, and the wall clock when it comes.
type owed struct {
	Delivery
	at int64
}

func newBesideRefusals(t *testing.T) *besideRefusals {
	b := &besideRefusals{rig: newRig(t, func(c *Config) { c.HeldShare = 1 << 30 }), ill: make(map[int32]Class), taken: make(map[int64]int64), tries: make(map[int32]int)}
	b.assign(0, 1, 0)
	return b
}

// besideARefusal returns one in which a letter is refused.
func besideARefusal(t *testing.T) *besideRefusals {
	b := newBesideRefusals(t)
	b.refusedLetter()
	return b
}

// refusedLetter has one letter that is refused for five seconds.
func (b *besideRefusals) refusedLetter() {
	b.Helper()
	b.letter("0")
	if b.run(5000); b.heldView().Verdict != Rejecting {
		b.Fatalf("held %+v: this is not the situation", b.heldView())
	}
}

// letter has one more record that is a letter for a partition, and returns its offset.
func (b *besideRefusals) letter(partition string) int64 {
	b.Helper()
	b.bury(b.next, partition)
	b.next++
	return b.next - 1
}

// answer is what the topic answers to a letter.
func (b *besideRefusals) answer(d *Delivery) Class {
	if class, ill := b.ill[d.TargetPartition]; ill {
		return class
	}
	if d.TargetPartition == 0 {
		return Rejected
	}
	return Delivered
}

// run lets time go by, with an answer every 10 ms. Partitions that are ill answer after slowMs.
func (b *besideRefusals) run(ms int64) {
	b.Helper()
	for range ms / 10 {
		b.pass(10)
		for _, d := range b.offer() {
			b.tries[d.TargetPartition]++
			at := b.at.WallMs
			if _, ill := b.ill[d.TargetPartition]; ill {
				at += b.slowMs
			}
			b.owed = append(b.owed, owed{d, at})
		}
		b.owed = slices.DeleteFunc(b.owed, func(o owed) bool {
			if o.at > b.at.WallMs {
				return false
			}
			class := b.answer(&o.Delivery)
			if class == Delivered {
				b.taken[o.Offset] = b.at.WallMs
			}
			b.end(class, o.Delivery)
			return true
		})
	}
	b.audit()
}

// TestAPartitionThatIsWellAgainGetsItsLettersBesideOneThatIsRefused: it failed, or denied its topic, for a while.
func TestAPartitionThatIsWellAgainGetsItsLettersBesideOneThatIsRefused(t *testing.T) {
	for _, class := range []Class{Unknown, Unavailable} {
		b := besideARefusal(t)
		b.ill[1] = class
		for range 3 {
			b.letter("1")
		}
		b.run(20_000)
		b.letter("1")
		delete(b.ill, 1)
		if b.run(3000); len(b.taken) != 4 {
			t.Errorf("class %d: %d of 4 letters are taken 3 s after their partition is well", class, len(b.taken))
		}
	}
}

// TestAFailingPartitionIsTriedBesideAFlood for another one: more letters than go beside one that is refused.
func TestAFailingPartitionIsTriedBesideAFlood(t *testing.T) {
	b := besideARefusal(t)
	b.ill[1] = Unknown
	waits := b.letter("1")
	flood := func(seconds int) {
		for range seconds * 10 {
			for range 12 {
				b.letter("2")
			}
			b.run(100)
		}
	}
	flood(20)
	delete(b.ill, 1)
	if flood(3); b.taken[waits] == 0 {
		t.Error("its letter is not taken 3 s after it is well")
	}
	if n := len(b.taken); n < 2200 {
		t.Errorf("%d letters are taken in 23 s, with an answer each 10 ms", n)
	}
}

// TestAPartitionThatDeniedItsTopicBeforeAnotherRefusedALetterGetsItsLetters: the hold began with the denial.
func TestAPartitionThatDeniedItsTopicBeforeAnotherRefusedALetterGetsItsLetters(t *testing.T) {
	b := newBesideRefusals(t)
	b.ill[1] = Unavailable
	waits := b.letter("1")
	b.run(10)
	first := b.heldView()
	if first.Verdict != Missing {
		t.Fatalf("held %+v: this is not the situation", first)
	}
	b.run(5000)
	b.refusedLetter()
	b.run(10_000)
	if h := b.heldView(); h.Verdict != Rejecting || !slices.Equal(numbersOf(h), []int32{1}) || h.Partitions[0].SinceMs != first.SinceMs {
		t.Fatalf("held %+v, want the refusal, and partition 1 beside it since %d", h, first.SinceMs)
	}
	delete(b.ill, 1)
	if b.run(3000); b.taken[waits] == 0 {
		t.Error("the letter is not taken 3 s after its partition is well")
	}
}

// TestAHoldForARefusalGoesOnBesideAPartitionThatFails: it neither ends nor gets another reason. The letter that was refused
// is tried every two seconds, and so is one of the partition.
func TestAHoldForARefusalGoesOnBesideAPartitionThatFails(t *testing.T) {
	for _, class := range []Class{Unknown, Unavailable} {
		b := besideARefusal(t)
		b.Take()
		b.ill[1] = class
		b.letter("1")
		b.run(10_000)
		clear(b.tries)
		for range 600 {
			b.letter("2")
			b.run(100)
			if h := b.heldView(); h.Verdict != Rejecting || !slices.Equal(numbersOf(h), []int32{1}) || h.Partitions[0].Detail != "partition 1: said the broker" {
				t.Fatalf("class %d: held %+v, want the refusal, and partition 1 beside it", class, h)
			}
		}
		if h := b.Take().Holds; len(h) != 1 || !h[0].Held || h[0].Verdict != Unreachable {
			t.Errorf("class %d: notices %+v, want one of the partition", class, h)
		}
		for _, partition := range []int32{0, 1} {
			if n := b.tries[partition]; n < 26 || n > 31 {
				t.Errorf("class %d: partition %d is tried %d times in a minute, want once in two seconds", class, partition, n)
			}
		}
	}
}

// TestPartitionsThatFailSlowlyDelayNoneBesideALetterThatIsRefused: twenty of them take 1.5 s for each answer.
func TestPartitionsThatFailSlowlyDelayNoneBesideALetterThatIsRefused(t *testing.T) {
	b := besideARefusal(t)
	b.slowMs = 1500
	for p := range int32(20) {
		b.ill[10+p] = Unknown
		b.letter(string(rune('0' + 10 + p)))
		b.letter(string(rune('0' + 10 + p)))
	}
	b.run(40_000)
	for range 100 {
		o, at := b.letter("1"), b.at.WallMs
		if b.run(100); b.taken[o] == 0 {
			b.run(10_000)
			t.Fatalf("a letter for a partition that is well is taken after %d ms", b.taken[o]-at)
		}
	}
	clear(b.ill)
	if b.run(4000); len(b.taken) != int(b.next)-1 {
		t.Errorf("%d of %d letters are taken 4 s after all partitions are well", len(b.taken), b.next-1)
	}
}

// TestLettersOfALostMembershipLeaveBesideOneThatIsRefused: they leave while a look is for a partition that fails.
func TestLettersOfALostMembershipLeaveBesideOneThatIsRefused(t *testing.T) {
	b := besideARefusal(t)
	b.ill[1] = Unknown
	for range 4 {
		b.letter("1")
	}
	b.run(1000)
	b.pass(holdMaxMs) // it is time to try it
	b.Suspend()
	if ds := b.offer(); len(ds) > 0 {
		t.Errorf("offered %+v", ds)
	}
}
