package batches

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Decompressor decompresses batches up to a limit in bytes, one at a time for all callers.
// Meanwhile it takes at most one and a half times the limit, and a little.
// It implements kgo.Decompressor and is safe for concurrent use.
//
// The client's own decompressor has a limit, too. But its buffers double, so that it takes
// two to three times the limit, once for each broker. This one begins with a buffer of the size
// that a batch names, or with a small one. While the batch does not fit, it begins again with one
// four times as large. That decompresses at most a third more bytes.
type Decompressor struct {
	limit    int
	together bool // the limit is also for all batches between two calls of Taken; see Parked

	mu      sync.Mutex // held while a batch is decompressed
	waiting int        // bytes decompressed since Taken
	large   bool       // one of them is a batch of more than half the limit
	parking bool       // such a batch is taken, and not parked yet
}

// engine is what decompressing needs beside a batch. Each answer of a broker may have a Decompressor of its own,
// and a megabyte for each is much more than the batches of most.
type engine struct {
	scratch []byte // for batches that do not say their size, and fit into it, which are nearly all
	source  bytes.Reader
	gzip    gzip.Reader
	lz4     *lz4.Reader
	zstd    *zstd.Decoder
}

// engines are those that nobody uses, until the next collections.
var engines = sync.Pool{New: func() any {
	e := &engine{scratch: make([]byte, scratchBytes), lz4: lz4.NewReader(nil)}
	e.zstd, _ = zstd.NewReader(nil, zstd.WithDecoderLowmem(true), zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true)) // errors are of options
	return e
}}

// Share is the part of the memory bound that one batch may take decompressed.
const Share = 8

// Bounds of Limit, in bytes. The least is a batch of Kafka's default size that compresses
// eightfold: below a memory bound of 64 MiB that is more than its share.
const (
	least = 8 << 20
	most  = 1 << 30
)

// Limit returns how many bytes one batch may take decompressed, for a memory bound in
// bytes.
func Limit(bound int64) int { return int(max(least, min(bound/Share, most))) }

// scratchBytes is Kafka's default of the largest batch, before it is decompressed.
const scratchBytes = 1 << 20

// growth is how much larger each buffer is than the one before.
const growth = 4

// NewDecompressor returns a Decompressor that refuses batches over a limit in bytes. With
// together it also puts off batches that have no room beside others, until Taken is called.
func NewDecompressor(limit int, together bool) *Decompressor {
	return &Decompressor{limit: limit, together: together}
}

// errNoRoom is a batch that does not fit into a buffer.
var errNoRoom = errors.New("no room")

// TooLarge is the error of a batch over the limit. It is not kgo.ErrMaxDecompress, after
// which the client would fetch no more of the partition. It would also lose the error with
// a fetch that a pause or another partition's jump makes it throw away.
type TooLarge struct {
	Compressed int // bytes of the batch's records
}

func (e *TooLarge) Error() string {
	return fmt.Sprintf("%d bytes decompress to more than the limit", e.Compressed)
}

// ErrLater is the error of a batch for which there is room once the batches that were
// decompressed before have been taken.
var ErrLater = errors.New("the batches decompressed before are not taken yet")

// errEmpty is a batch that ends before its records do.
var errEmpty = errors.New("the compressed records are cut short")

// Taken says that the client has handed out all batches that were decompressed before.
func (d *Decompressor) Taken() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting = 0
	d.parking, d.large = d.parking || d.large, false
}

// Parked says that the batches that were taken are parked. Parking copies records: for
// that moment a large batch is in memory twice, and a second one is not to be there.
func (d *Decompressor) Parked() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.parking = false
}

// Decompress implements kgo.Decompressor. A batch over the limit is [TooLarge]. A batch
// that has no room beside others, which are not taken yet, is [ErrLater]. A response may
// have hundreds of batches, and all are decompressed before any is taken. A batch of more
// than half the limit is ErrLater, too, while another such one is not parked.
func (d *Decompressor) Decompress(src []byte, codec kgo.CompressionCodecType) ([]byte, error) {
	out, err := d.decompress(src, codec)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // the client would take these for the network's
		err = errEmpty
	}
	return out, err
}

func (d *Decompressor) decompress(src []byte, codec kgo.CompressionCodecType) ([]byte, error) {
	if codec == kgo.CodecNone {
		return src, nil
	}
	known, err := size(src, codec)
	if err != nil {
		return nil, err
	}
	if known > uint64(d.limit) {
		return nil, &TooLarge{len(src)}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	room, over := d.limit, error(&TooLarge{len(src)})
	if d.together && (d.large || d.parking) {
		room, over = d.limit/2, ErrLater
	}
	e := engines.Get().(*engine)
	defer e.free(codec)
	out, err := e.within(src, codec, int(known), room, over)
	if err != nil {
		return nil, err
	}
	if d.together && d.waiting > 0 && d.waiting+len(out) > d.limit {
		return nil, ErrLater
	}
	d.waiting += len(out)
	d.large = d.large || len(out) > d.limit/2
	return out, nil
}

// free lets go of the batch, which is part of a whole answer, and leaves the engine to others. zstd keeps the block that
// it decoded last.
func (e *engine) free(codec kgo.CompressionCodecType) {
	e.source.Reset(nil)
	if codec == kgo.CodecZstd {
		_, _ = e.zstd.DecodeAll(zero, e.scratch[:0:1])
	}
	engines.Put(e)
}

// zero is a zstd frame of one byte as it is: RFC 8878, 3.1.1.
var zero = []byte{0x28, 0xb5, 0x2f, 0xfd, 0x20, 1, 9, 0, 0, 0}

// within decompresses a batch into room bytes at most; one that takes more is the error
// over. known is its size, 0 where nobody says.
func (e *engine) within(src []byte, codec kgo.CompressionCodecType, known, room int, over error) ([]byte, error) {
	first := min(len(e.scratch), room)
	buf, own := e.scratch[:first:first], false
	if 0 < known && known <= first {
		buf, own = make([]byte, known), true
	}
	for {
		n, err := e.into(buf, src, codec)
		switch {
		case err == nil && n > len(buf)/2 && own:
			return buf[:n:n], nil
		case err == nil:
			return slices.Clone(buf[:n]), nil
		case !errors.Is(err, errNoRoom):
			return nil, err
		case len(buf) == room:
			return nil, over
		}
		buf, own = make([]byte, min(max(growth*len(buf), known), room)), true
	}
}

// into decompresses a batch into a buffer, and returns the number of bytes.
func (e *engine) into(buf, src []byte, codec kgo.CompressionCodecType) (int, error) {
	switch codec {
	case kgo.CodecGzip:
		e.source.Reset(src)
		if err := e.gzip.Reset(&e.source); err != nil {
			return 0, err
		}
		return fill(buf, &e.gzip)
	case kgo.CodecLz4:
		e.source.Reset(src)
		e.lz4.Reset(&e.source)
		return fill(buf, e.lz4)
	case kgo.CodecZstd:
		out, err := e.zstd.DecodeAll(src, buf[:0])
		if errors.Is(err, zstd.ErrDecoderSizeExceeded) {
			err = errNoRoom
		}
		return len(out), err
	case kgo.CodecSnappy:
		n := 0
		err := eachBlock(src, func(block []byte, size int) error {
			if size > len(buf)-n {
				return errNoRoom
			}
			out, err := s2.Decode(buf[n:n+size], block)
			n += len(out)
			return err
		})
		return n, err
	}
	return 0, errors.New("unknown compression codec")
}

// fill reads all of r into buf.
func fill(buf []byte, r io.Reader) (n int, err error) {
	for n < len(buf) && err == nil {
		var m int
		m, err = r.Read(buf[n:]) // io.ReadFull does not tell a cut stream from one at its end
		n += m
	}
	if err == nil {
		var more [1]byte
		if _, err = io.ReadFull(r, more[:]); err == nil {
			return n, errNoRoom
		}
	}
	if err == io.EOF {
		err = nil
	}
	return n, err
}

// size returns how many bytes a batch decompresses to, 0 where it does not say.
func size(src []byte, codec kgo.CompressionCodecType) (uint64, error) {
	switch codec {
	case kgo.CodecSnappy:
		var all uint64
		err := eachBlock(src, func(_ []byte, size int) error {
			all += uint64(size)
			return nil
		})
		return all, err
	case kgo.CodecZstd:
		var h zstd.Header
		if h.Decode(src) == nil && h.HasFCS {
			return h.FrameContentSize, nil
		}
	}
	return 0, nil
}

// xerial begins the snappy of the Java client: 8 bytes of magic and two versions, then
// blocks behind their length. All other clients write a single block.
const (
	xerial       = "\x82SNAPPY\x00"
	xerialHeader = 16
)

var errXerial = errors.New("malformed framing of snappy")

// eachBlock calls f with each block of snappy, and the bytes that it decompresses to.
func eachBlock(src []byte, f func(block []byte, size int) error) error {
	if len(src) <= xerialHeader || string(src[:len(xerial)]) != xerial {
		n, err := s2.DecodedLen(src)
		if err != nil {
			return err
		}
		return f(src, n)
	}
	for src = src[xerialHeader:]; len(src) > 0; {
		if len(src) < 4 {
			return errXerial
		}
		length := int64(binary.BigEndian.Uint32(src))
		if src = src[4:]; length > int64(len(src)) {
			return errXerial
		}
		n, err := s2.DecodedLen(src[:length])
		if err != nil {
			return err
		}
		if err := f(src[:length], n); err != nil {
			return err
		}
		src = src[length:]
	}
	return nil
}
