package daemon

import (
	"os"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// decoder decompresses for the clients in the bubbles on a goroutine that is in
// none: a zstd decoder ends with a finalizer, which must not meet a channel that
// was made in a bubble.
type decoder struct {
	mu  sync.Mutex // one at a time
	in  chan compressed
	out chan decompressed
}

type compressed struct {
	src   []byte
	codec kgo.CompressionCodecType
}

type decompressed struct {
	dst []byte
	err error
}

var outside = &decoder{in: make(chan compressed), out: make(chan decompressed)}

func TestMain(m *testing.M) {
	go func() {
		d := kgo.DefaultDecompressor()
		for c := range outside.in {
			dst, err := d.Decompress(c.src, c.codec)
			outside.out <- decompressed{dst, err}
		}
	}()
	os.Exit(m.Run())
}

// Decompress implements kgo.Decompressor.
func (d *decoder) Decompress(src []byte, codec kgo.CompressionCodecType) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.in <- compressed{src, codec}
	r := <-d.out
	return r.dst, r.err
}
