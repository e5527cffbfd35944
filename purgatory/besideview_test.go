package purgatory

import (
	"slices"
	"testing"

	"layover/offsets"
)

// TestAPartitionFailsSinceItDoesBesideALetterThatIsRefused: the topic has refused that for long.
func TestAPartitionFailsSinceItDoesBesideALetterThatIsRefused(t *testing.T) {
	b := besideARefusal(t)
	b.run(60_000)
	b.ill[1] = Unknown
	b.letter("1")
	at := b.at.WallMs
	b.run(1000)
	h := b.heldView()
	if !slices.Equal(numbersOf(h), []int32{1}) {
		t.Fatalf("held %+v: this is not the situation", h)
	}
	if since := h.Partitions[0].SinceMs; since < at {
		t.Errorf("partition 1 fails since %d ms before its first letter", at-since)
	}
}

// TestALetterThatIsTakenEndsNoHoldWhileOneThatWasRefusedIsInFlight: its partition failed before, and answers slowly.
func TestALetterThatIsTakenEndsNoHoldWhileOneThatWasRefusedIsInFlight(t *testing.T) {
	b := besideARefusal(t)
	b.ill[1] = Unknown
	b.letter("1")
	b.run(5000)
	since := b.heldView().SinceMs
	flying := map[int32]Delivery{}
	for range 1000 {
		b.pass(10)
		for _, d := range b.offer() {
			flying[d.TargetPartition] = d
		}
		if refused, ok := flying[0]; ok && len(flying) == 1 {
			b.end(Rejected, refused)
			delete(flying, 0)
		}
		if len(flying) == 2 {
			break
		}
	}
	if len(flying) != 2 {
		t.Fatalf("in flight %+v: this is not the situation", flying)
	}
	b.end(Delivered, flying[1])
	if h := b.heldView(); h.Verdict != Rejecting {
		t.Errorf("held %+v while the refused letter is in flight", h)
	}
	b.end(Rejected, flying[0])
	if h := b.heldView(); h.SinceMs != since {
		t.Errorf("held since %d, want %d still", h.SinceMs, since)
	}
}

// TestAPartitionWithoutALetterDoesNotFailForEverBesideOneThatIsRefused: nothing would ever try it.
func TestAPartitionWithoutALetterDoesNotFailForEverBesideOneThatIsRefused(t *testing.T) {
	b := besideARefusal(t)
	b.ill[1] = Unknown
	b.assign(1, 1, 0)
	a := b.arrival(0, 0, "1")
	a.Reason = "no_target"
	b.take(1, 1, a)
	if b.run(5000); !slices.Equal(numbersOf(b.heldView()), []int32{1}) {
		t.Fatalf("held %+v: this is not the situation", b.heldView())
	}
	b.run(2 * idleFaultMs)
	if !slices.Equal(numbersOf(b.heldView()), []int32{1}) {
		t.Errorf("held %+v, want partition 1 as long as its letter is tried", b.heldView())
	}
	delete(b.ill, 1)
	b.Sweep(offsets.Assignment{TopicPartition: partitionOf(1), Epoch: 1})
	if b.run(idleFaultMs + 5000); len(b.heldView().Partitions) > 0 {
		t.Errorf("held %+v, and partition 1 has no letter", b.heldView())
	}
}
