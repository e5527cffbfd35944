package batches

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/verify/long"
)

// TestDecompressorsThatShareEnginesReadWhatIsWhole, however broken the batches between are, and what was read stays.
func TestDecompressorsThatShareEnginesReadWhatIsWhole(t *testing.T) {
	type whole struct {
		src  []byte
		used kgo.CompressionCodecType
		want []byte
	}
	var all []whole
	for _, codec := range producers {
		for _, n := range []int{0, 1, 5, 1000, 70_000, 300_000, scratchBytes + 5} {
			src, used := compress(t, codec, half(n))
			all = append(all, whole{src, used, half(n)})
		}
	}
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			dice := rand.New(rand.NewPCG(uint64(g), rand.Uint64()))
			var kept []struct {
				got []byte
				of  *whole
			}
			for range long.Of(1500, 300) {
				w := &all[dice.IntN(len(all))]
				d := NewDecompressor(4<<20, dice.IntN(2) == 0)
				if dice.IntN(2) == 0 {
					bad := bytes.Clone(w.src)
					for range 1 + dice.IntN(3) {
						if len(bad) > 0 {
							bad[dice.IntN(min(len(bad), 1+dice.IntN(60)))] ^= byte(1 + dice.IntN(255))
						}
					}
					if dice.IntN(3) == 0 && len(bad) > 0 {
						bad = bad[:dice.IntN(len(bad))]
					}
					func() {
						defer func() {
							if p := recover(); p != nil {
								t.Errorf("panic: %v", p)
							}
						}()
						_, _ = d.Decompress(bad, w.used)
					}()
				}
				got, err := NewDecompressor(4<<20, false).Decompress(w.src, w.used)
				if err != nil || !bytes.Equal(got, w.want) {
					t.Errorf("codec %d: %d bytes, %v, want %d", w.used, len(got), err, len(w.want))
					return
				}
				kept = append(kept, struct {
					got []byte
					of  *whole
				}{got, w})
				if len(kept) > 20 {
					for _, k := range kept {
						if !bytes.Equal(k.got, k.of.want) {
							t.Errorf("codec %d: what was read has changed", k.of.used)
							return
						}
						if cap(k.got) > len(k.got) { // nobody else's
							clear(k.got[len(k.got):cap(k.got)])
						}
						clear(k.got)
					}
					kept = kept[:0]
				}
			}
		})
	}
	group.Wait()
}
