package lane

import (
	"testing"
	"testing/synctest"
	"time"

	"layover/purgatory"
)

// TestASlowTargetKeepsNothingFromBeingMoved: copies were held for a target that was away, which takes them slowly now. Beside
// them memory fills with records that are due in hours, which may be moved. "A flush begins where it has something to give".
func TestASlowTargetKeepsNothingFromBeingMoved(t *testing.T) {
	for name, back := range map[string]bool{"it stays away": false, "it is back, and slow": true} {
		t.Run(name, func(t *testing.T) {
			const away, share, process = 145, 3 << 20, 6 << 20
			plant := func(s *shelf) {
				s.share, s.process = share, process
				s.putBoth(away, 0, 10*time.Millisecond, 0, 1)
			}
			edit := func(c *Config) {
				toBoth(t, process/4)(c)
				c.Core.MaxInFlightBytes, c.Core.LargestChunk = share/8, 1<<16
			}
			shelved(t, edit, plant, func(r *rig, s *shelf) {
				r.kafka.set(func(k *kafka) { k.class, k.fails = purgatory.Unavailable, "absent" })
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				over := make(chan struct{})
				if back {
					r.kafka.set(func(k *kafka) { k.fails, k.mutes = "", func(topic string) bool { return topic == "absent" } })
					go func() { // it takes one in five seconds
						for {
							select {
							case <-over:
								return
							case <-time.After(5 * time.Second):
							}
							r.kafka.set(func(k *kafka) {
								if len(k.muted) > 0 {
									d := k.muted[0]
									k.muted = k.muted[1:]
									k.answers.Go(func() { d.done(nil) })
								}
							})
						}
					}()
				}
				time.Sleep(2 * time.Minute)
				s.set(func(s *shelf) { s.others = process - share })
				n := int64(0)
				for ; r.Bytes() < share*7/8 && n < 3000; n++ {
					r.fetched(assignment(0, 1), r.bunch(n, 1, 5*time.Hour)...)
					if n%20 == 0 {
						time.Sleep(time.Millisecond)
						synctest.Wait()
					}
				}
				time.Sleep(2 * time.Minute)
				if moved := r.moved(s); moved == 0 {
					r.Errorf("none of %d records of a kilobyte that are due in 5 h are moved within two minutes; %d bytes are used of a share of %d, %d of them by copies: reading pauses at seven eighths", n, r.Bytes(), share, r.Loaded())
				}
				close(over)
				r.kafka.set(func(k *kafka) {
					k.mutes, k.fails = nil, ""
					for _, d := range k.muted {
						k.answers.Go(func() { d.done(nil) })
					}
					k.muted = nil
				})
				time.Sleep(2 * time.Minute)
			})
		})
	}
}
