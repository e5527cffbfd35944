package purgatory

import (
	"math/rand/v2"
	"testing"
)

func TestTheLeaderEpochOfARecordIsKnown(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 0))
		var e epochs
		told := make(map[int64]int32) // by offset: the model
		order := []int32{}
		next, epoch := int64(rng.IntN(5)), int32(rng.IntN(3))
		for range rng.IntN(60) {
			switch rng.IntN(4) {
			case 0:
				epoch += 1 + int32(rng.IntN(3))
				next = max(0, next-int64(rng.IntN(4))) // what is above was truncated
				for o := range told {
					if o >= next {
						delete(told, o)
					}
				}
			default:
				e.read(next, epoch)
				if told[next] = epoch; len(order) == 0 || order[len(order)-1] != epoch {
					order = append(order, epoch)
				}
				next += 1 + int64(rng.IntN(3))
			}
		}
		for o, want := range told {
			if got := e.of(o); got != want && (got >= 0 || len(order) <= len(e.begins)) {
				t.Fatalf("seed %d: offset %d is of epoch %d, want %d", seed, o, got, want)
			}
		}
	}
}

func TestACopyKeepsThePlaceOfItsOrigin(t *testing.T) {
	for _, epoch := range []int32{-1, 0, 1, 127, 1 << 20} {
		in := header{slot: 1, offset: 42, deadlineMs: 7, marks: isCopy, copyAt: 300, epoch: epoch}
		var b [maxHeader]byte
		if got := readHeader(in.encode(&b)); got != in {
			t.Errorf("got %+v, want %+v", got, in)
		}
	}
}
