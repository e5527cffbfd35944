package producer

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestATopicThatIsMadeAgainAndAgainLosesNothing that was given for the last one and acknowledged. Seeds choose what is
// sent when, and which answers take the client long to tell.
func TestATopicThatIsMadeAgainAndAgainLosesNothing(t *testing.T) {
	for seed := range uint64(40) {
		inBubble(t, 1000, func(w *fixture) {
			dice := rand.New(rand.NewPCG(seed, 0))
			var mu sync.Mutex // guards taken
			taken := make(map[string]int)
			life, sent := 0, 0
			send := func(n int) {
				for range n {
					sent++
					born, key, pause := life, fmt.Sprint(sent), time.Duration(0)
					if dice.IntN(10) == 0 {
						pause = time.Duration(dice.IntN(300)) * time.Millisecond
					}
					r := &kgo.Record{Topic: "ready", Partition: dice.Int32N(3), Key: []byte(key)}
					w.Deliver(r, dice.IntN(3) == 0, func(_ *kgo.Record, err error) {
						if err == nil {
							mu.Lock()
							taken[key] = born
							mu.Unlock()
						}
						time.Sleep(pause)
					})
				}
			}
			for ; life < 6; life++ {
				for range 30 {
					send(dice.IntN(4))
					time.Sleep(time.Duration(dice.IntN(60)) * time.Millisecond)
				}
				w.DeleteTopic("ready")
				send(dice.IntN(5))
				time.Sleep(time.Duration(dice.IntN(3)) * 100 * time.Millisecond)
				w.CreateTopic("ready", 3, nil)
			}
			for range 30 {
				send(1)
				time.Sleep(100 * time.Millisecond)
			}
			time.Sleep(20 * time.Second)
			there := make(map[string]bool)
			for _, r := range w.Records("ready") {
				there[string(r.Key)] = true
			}
			mu.Lock()
			defer mu.Unlock()
			last := 0
			for key, born := range taken {
				if born == life {
					last++
					if !there[key] {
						t.Errorf("seed %d: record %s was acknowledged, and is not in the log", seed, key)
					}
				}
			}
			if last < 10 {
				t.Errorf("seed %d: %d records were acknowledged at the end", seed, last)
			}
		})
	}
}
