package batches

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

var producers = map[string]kgo.CompressionCodec{
	"gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}

// compress is what the client's producer does.
func compress(t testing.TB, codec kgo.CompressionCodec, b []byte) ([]byte, kgo.CompressionCodecType) {
	t.Helper()
	c, err := kgo.DefaultCompressor(codec)
	if err != nil {
		t.Fatal(err)
	}
	out, used := c.Compress(new(bytes.Buffer), b)
	return bytes.Clone(out), used
}

// half is half zeros and half noise.
func half(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	r.Read(b[:n/2])
	return b
}

// framed is snappy as the Java client writes it, in blocks of that size.
func framed(t testing.TB, b []byte, block int) []byte {
	out := append([]byte(xerial), 0, 0, 0, 1, 0, 0, 0, 1)
	for len(b) > 0 {
		n := min(block, len(b))
		c, _ := compress(t, kgo.SnappyCompression(), b[:n])
		out = append(append(out, byte(len(c)>>24), byte(len(c)>>16), byte(len(c)>>8), byte(len(c))), c...)
		b = b[n:]
	}
	return out
}

func TestABatchIsDecompressedUpToTheLimitAndNotBeyond(t *testing.T) {
	const limit = 6<<20 + 1
	d := NewDecompressor(limit, false)
	for name, codec := range producers {
		for _, n := range []int{0, 1, 1000, scratchBytes - 1, scratchBytes, scratchBytes + 1, 3 << 20, growth * scratchBytes, growth*scratchBytes + 1, limit - 1, limit, limit + 1, 20 << 20} {
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				want := half(n)
				src, used := compress(t, codec, want)
				got, err := d.Decompress(src, used)
				if n > limit {
					if !isTooLarge(err) {
						t.Errorf("%d bytes, %v", len(got), err)
					}
					return
				}
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("%d bytes, %v", len(got), err)
				}
				if cap(got) > 2*n+64 {
					t.Errorf("%d bytes pin %d", n, cap(got))
				}
			})
		}
	}
}

// TestABatchIsLetGoOnceItIsDecompressed: it is part of an answer of many megabytes, and what decompressed it lives on.
func TestABatchIsLetGoOnceItIsDecompressed(t *testing.T) {
	d := NewDecompressor(1<<20, false)
	for name, codec := range producers {
		t.Run(name, func(t *testing.T) {
			gone := make(chan struct{})
			func() {
				src, used := compress(t, codec, half(1000))
				runtime.AddCleanup(&src[0], func(gone chan struct{}) { close(gone) }, gone)
				if _, err := d.Decompress(src, used); err != nil {
					t.Error(err)
				}
			}()
			runtime.GC() // with the second one a pool lets go of all it has
			select {
			case <-gone:
			case <-time.After(5 * time.Second):
				t.Error("it is reachable")
			}
		})
	}
}

func TestTheLimitIsAnEighthOfTheBoundWithinLimits(t *testing.T) {
	for bound, want := range map[int64]int{1 << 20: 8 << 20, 64 << 20: 8 << 20, 65 << 20: 65 << 17, 256 << 20: 32 << 20, 8 << 30: 1 << 30, 1 << 40: 1 << 30} {
		if got := Limit(bound); got != want {
			t.Errorf("bound %d: %d, want %d", bound, got, want)
		}
	}
}

func TestTheFramingOfTheJavaClientIsRead(t *testing.T) {
	d := NewDecompressor(5<<20, false)
	want := half(4<<20 + 77)
	if got, err := d.Decompress(framed(t, want, 32<<10), kgo.CodecSnappy); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, err := d.Decompress(framed(t, half(6<<20), 32<<10), kgo.CodecSnappy); !isTooLarge(err) {
		t.Error(err)
	}
	for _, cut := range []int{1, 3, 5} {
		whole := framed(t, want, 1<<20)
		if _, err := d.Decompress(whole[:len(whole)-cut], kgo.CodecSnappy); err == nil || isTooLarge(err) {
			t.Errorf("cut by %d bytes: %v", cut, err)
		}
	}
}

// TestWhatIsNoBatchIsNotTooLarge: it stops its partition, where a batch that is too large
// does not.
func TestWhatIsNoBatchIsNotTooLarge(t *testing.T) {
	d := NewDecompressor(4<<20, false)
	for name, codec := range producers {
		src, used := compress(t, codec, half(2<<20))
		for _, bad := range [][]byte{src[:len(src)/2], src[:3], append([]byte("garbage"), src...), nil} {
			got, err := d.Decompress(bad, used)
			if err == nil && !(len(bad) == 0 && len(got) == 0) || isTooLarge(err) {
				t.Errorf("%s of %d bytes: %d bytes, %v", name, len(bad), len(got), err)
			}
		}
		if got, err := d.Decompress(src, used); err != nil || len(got) != 2<<20 { // nothing is left of the error
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	if _, err := d.Decompress([]byte("x"), 7); err == nil || isTooLarge(err) {
		t.Errorf("unknown codec: %v", err)
	}
}

// TestWhatIsTooLargeTakesNoMoreThanTheLimit, whatever the codec and however many ask.
func TestWhatIsTooLargeTakesNoMoreThanTheLimit(t *testing.T) {
	const limit = 8 << 20
	d := NewDecompressor(limit, false)
	for name, codec := range producers {
		src, used := compress(t, codec, make([]byte, 140<<20))
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := d.Decompress(src, used); !isTooLarge(err) {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		took := after.TotalAlloc - before.TotalAlloc
		t.Logf("%s: 140 MiB of zeros are %d bytes; refusing them allocates %.1f MiB", name, len(src), float64(took)/(1<<20))
		if most := uint64(limit + limit/2 + 6<<20); took > most && !raced { // buffers of lz4 have 4 MiB
			t.Errorf("%s: refusing it allocated %d bytes, want at most %d", name, took, most)
		}
	}
}

// TestASmallBatchTakesItsBytesAlone: each answer has a Decompressor of its own, and most have a batch or two.
func TestASmallBatchTakesItsBytesAlone(t *testing.T) {
	const n, rounds, beside = 64 << 10, 200, 8 << 20 // beside: what is kept for all of them, and lz4's buffers
	for name, codec := range producers {
		src, used := compress(t, codec, half(n))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range rounds {
			if got, err := NewDecompressor(8<<20, true).Decompress(src, used); err != nil || len(got) != n {
				t.Fatalf("%s: %d bytes, %v", name, len(got), err)
			}
		}
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > rounds*2*n+beside && !raced {
			t.Errorf("%s: %d batches of %d bytes allocated %d", name, rounds, n, took)
		}
	}
}

func FuzzTheDecompressorReadsWhatTheClientsDoes(f *testing.F) {
	for _, codec := range producers {
		src, used := compress(f, codec, half(5000))
		f.Add(src, int8(used))
	}
	f.Add(framed(f, half(5000), 999), int8(kgo.CodecSnappy))
	const limit = 64 << 10
	d, theirs := NewDecompressor(limit, false), kgo.DefaultDecompressor()
	f.Fuzz(func(t *testing.T, src []byte, codec int8) {
		if len(src) > limit {
			return
		}
		got, err := d.Decompress(src, kgo.CompressionCodecType(codec))
		if isTooLarge(err) {
			return // theirs would take gigabytes
		}
		want, err2 := theirs.Decompress(src, kgo.CompressionCodecType(codec))
		if (err == nil) != (err2 == nil) || err == nil && !bytes.Equal(got, want) {
			t.Errorf("codec %d: %d bytes, %v; want %d, %v", codec, len(got), err, len(want), err2)
		}
	})
}

func isTooLarge(err error) bool {
	var e *TooLarge
	return errors.As(err, &e)
}

// TestWhatIsNotTakenLeavesLessRoom: a response may have hundreds of batches, each below
// the limit. A large one is in memory twice while it is parked.
func TestWhatIsNotTakenLeavesLessRoom(t *testing.T) {
	d := NewDecompressor(4<<20, true)
	large, small := framed(t, half(3<<20), 32<<10), framed(t, half(3<<19), 32<<10)
	decompress := func(src []byte, when string, want error) {
		t.Helper()
		if _, err := d.Decompress(src, kgo.CodecSnappy); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", when, err, want)
		}
	}
	for range 3 {
		decompress(large, "with room", nil)
		decompress(small, "beside a large one that is not taken", ErrLater)
		d.Taken()
		decompress(large, "beside a large one that is not parked", ErrLater)
		decompress(small, "a small one beside one that is not parked", nil)
		decompress(small, "a second small one", nil)
		decompress(small, "a third small one", ErrLater)
		d.Taken()
		decompress(large, "beside a large one that is not parked yet", ErrLater)
		d.Parked()
	}
}
