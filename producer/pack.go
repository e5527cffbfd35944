package producer

import (
	"bytes"
	"math/bits"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// batchHead is more than a batch takes beside its packed record.
	batchHead = 128
	// leastWindow is that of kgo's own zstd. Within mostWindow every client has to be able to unpack.
	leastWindow, mostWindow = 64 << 10, 8 << 20
	// bestTakes is what an encoder of the best level takes with mostWindow, as measured: 43 MiB, of which 35 are
	// tables, whatever the window. One of the level below takes 13 MiB, and 5 of them.
	bestTakes = 43 << 20
)

// Packer packs the records that are sent alone. All producers of a process share one, as one record at a time is packed
// with more than a little memory. Its encoders are not kept.
type Packer struct {
	quick  kgo.Compressor // 1.6 MiB for each that is at work
	levels []zstd.EncoderLevel
	mu     sync.Mutex // of the one record
}

// NewPacker returns a packer that takes room bytes for a record at most, or 13 MiB.
func NewPacker(room int64) *Packer {
	quick, err := kgo.DefaultCompressor(kgo.ZstdCompression(), kgo.SnappyCompression())
	if err != nil {
		panic(err) // these are codecs
	}
	p := &Packer{quick: quick, levels: []zstd.EncoderLevel{zstd.SpeedBetterCompression}}
	if room >= bestTakes {
		p.levels = append(p.levels, zstd.SpeedBestCompression)
	}
	return p
}

// pack packs src as kgo does, with a window of 64 KiB, which takes no time. Where that is too large it tries what takes
// more, until the result fits: windows that reach over all of src, up to mostWindow. It returns the smallest. Brokers
// that are too old for zstd get what kgo gives them.
func (p *Packer) pack(dst *bytes.Buffer, src []byte, fits int, flags ...kgo.CompressFlag) ([]byte, kgo.CompressionCodecType) {
	out, codec := p.quick.Compress(dst, src, flags...)
	if codec != kgo.CodecZstd || len(out) <= fits {
		return out, codec
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	window := min(max(1<<bits.Len(uint(len(src)-1)), leastWindow), mostWindow)
	for _, level := range p.levels {
		z, err := zstd.NewWriter(nil, zstd.WithWindowSize(window), zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithZeroFrames(true))
		if err != nil {
			panic(err) // these are options
		}
		if more := z.EncodeAll(src, make([]byte, 0, len(out))); len(more) < len(out) {
			out = more
		}
		if len(out) <= fits {
			break
		}
	}
	return out, codec
}

// packing has the records that one producer sends alone packed until they fit.
type packing struct{ *Producer }

// Compress implements kgo.Compressor.
func (p packing) Compress(dst *bytes.Buffer, src []byte, flags ...kgo.CompressFlag) ([]byte, kgo.CompressionCodecType) {
	return p.cfg.Packer.pack(dst, src, p.fits(len(src)), flags...)
}

// fits returns the size below which a packed record of so many bytes fits into its topic. The client does not say of
// which topic a batch is. So it is that of the least topic that has a record of this size in flight.
func (p *Producer) fits(size int) int {
	p.mu.Lock()
	topics := make(map[string]bool)
	for at, t := range p.waiting {
		if t.least <= size && size <= t.most {
			topics[at.Topic] = true
		}
	}
	p.mu.Unlock()
	least := largestBatch
	for topic := range topics {
		least = min(least, int(p.cfg.MaxAloneBytes(topic)))
	}
	return least - batchHead
}
