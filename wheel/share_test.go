package wheel

import "testing"

// TestABucketMovesDownInEvenShares: until its last tick all has gone, in shares that are no
// larger and no more than they have to be.
func TestABucketMovesDownInEvenShares(t *testing.T) {
	for _, chunks := range []int64{1, 2, 7, 8, 9, 63, 64, 100, 1000, 12_345} {
		for _, ticks := range []int64{0, 1, 2, 3, 10, 99, 512, 4096} {
			for _, least := range []int64{1, 8} {
				const start = 1000
				o := openBucket{chunks: chunks, next: start, last: start + ticks}
				largest, shares := int64(0), int64(0)
				for tick := o.next; o.chunks > 0; tick = o.next {
					if tick > start+ticks || shares > 0 && tick <= start {
						t.Fatalf("%d chunks in %d ticks: a share is due at %d", chunks, ticks, tick-start)
					}
					n := o.share(tick, least)
					if n < 1 || n > o.chunks || tick == o.last && n != o.chunks {
						t.Fatalf("%d chunks in %d ticks: a share of %d of %d at %d", chunks, ticks, n, o.chunks, tick-start)
					}
					largest, shares = max(largest, n), shares+1
					o.chunks -= n
					// Rounding makes the time between shares down to half of what it should be, where a
					// chunk has a tick at least.
					if gone, most := chunks-o.chunks, 2*(chunks*(tick-start+1)/max(1, ticks)+max(least, chunks/max(1, ticks)+1)); chunks <= ticks && gone > most {
						t.Fatalf("%d chunks in %d ticks, %d at least: %d have gone at %d", chunks, ticks, least, gone, tick-start)
					}
					o.schedule(tick, least)
				}
				if o != (openBucket{}) {
					t.Fatalf("%d chunks in %d ticks: the end is %+v", chunks, ticks, o)
				}
				if even := chunks/max(1, ticks) + 2; largest > max(least, even) { // two for rounding: of the share, and of its tick
					t.Errorf("%d chunks in %d ticks, %d at least: a share of %d", chunks, ticks, least, largest)
				}
				if most := min(ticks+1, (chunks+least-1)/least); shares > most {
					t.Errorf("%d chunks in %d ticks, %d at least: %d shares, want %d at most", chunks, ticks, least, shares, most)
				}
			}
		}
	}
}

// TestShareOfALateBucketIsAllOfIt: its last tick has passed.
func TestShareOfALateBucketIsAllOfIt(t *testing.T) {
	o := openBucket{chunks: 50, next: 10, last: 10}
	for _, tick := range []int64{10, 11, 1000} {
		if n := o.share(tick, 8); n != 50 {
			t.Errorf("at %d: %d chunks, want all 50", tick, n)
		}
	}
}
