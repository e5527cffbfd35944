package lane

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestMemoryIsForRecordsNotForWhatHasLeft: a flush takes the farthest records out of all chunks, which count until
// their last one has left. What stays is carried together, or flush after flush would move what there is room for.
func TestMemoryIsForRecordsNotForWhatHasLeft(t *testing.T) {
	const share, size = 8 << 20, 1000
	dice := rand.New(rand.NewPCG(1, 2))
	edit := func(c *Config) { c.Core.LargestChunk = share / 64 }
	shelved(t, edit, func(s *shelf) { s.share = share }, func(r *rig, s *shelf) {
		for i := range int64(120) {
			var some []*kgo.Record
			for n := range int64(200) {
				rec := r.record(200*i+n, 2*time.Hour+time.Duration(dice.Int64N(int64(20*time.Hour))))
				rec.Value = make([]byte, size)
				some = append(some, rec)
			}
			r.fetched(assignment(0, 1), some...)
			time.Sleep(time.Second)
			live, all := r.Snapshot().Parked*size, r.Bytes()
			if all > share*3/4 || r.moved(s) > 0 && live < share/5 {
				r.Fatalf("after %d s %d bytes are in use, %d of them by records, of a share of %d", i+1, all, live, share)
			}
		}
	})
}
