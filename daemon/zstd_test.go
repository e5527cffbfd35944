package daemon

import (
	"bytes"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	_ "unsafe" // for go:linkname

	"layover/cluster/batches"

	"github.com/twmb/franz-go/pkg/kgo"
)

// outside runs what must not be of a bubble: a zstd decoder has a channel, which only the bubble
// that made it may use. It also has a finalizer, which is in no bubble.
var outside = &helper{do: make(chan func()), done: make(chan struct{})}

// helper runs functions on a goroutine that is in no bubble.
type helper struct {
	mu   sync.Mutex // one at a time
	do   chan func()
	done chan struct{}
	kgo  kgo.Decompressor
}

func (h *helper) run(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.do <- f
	<-h.done
}

// Decompress implements kgo.Decompressor, for the clients of tests in bubbles.
func (h *helper) Decompress(src []byte, codec kgo.CompressionCodecType) (dst []byte, err error) {
	h.run(func() { dst, err = h.kgo.Decompress(src, codec) })
	return dst, err
}

// engines are the decompressors of all daemons of this process. Each test's is in a bubble of its own.
//
//go:linkname engines layover/cluster/batches.engines
var engines sync.Pool

func TestMain(m *testing.M) {
	go func() {
		outside.kgo = kgo.DefaultDecompressor()
		for f := range outside.do {
			f()
			outside.done <- struct{}{}
		}
	}()
	made := engines.New
	engines.New = func() (engine any) {
		outside.run(func() { engine = made() })
		return engine
	}
	os.Exit(m.Run())
}

// Otherwise the runtime ends the process: a receive from outside the bubble.
func TestBubblesShareDecompressors(t *testing.T) {
	c, err := kgo.DefaultCompressor(kgo.ZstdCompression())
	if err != nil {
		t.Fatal(err)
	}
	packed, codec := c.Compress(new(bytes.Buffer), []byte("as it was"))
	for range 3 { // with the race detector a pool forgets some of what it is given
		synctest.Test(t, func(t *testing.T) {
			if got, err := batches.NewDecompressor(1<<20, false).Decompress(packed, codec); err != nil || string(got) != "as it was" {
				t.Fatalf("%q, %v", got, err)
			}
		})
	}
}
