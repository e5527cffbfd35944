package producer

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestAFailureThatIsToldLateForgetsNoTopic that was written to in between. A client tells of failures one after the
// other. The first has the topic forgotten. A record is written to the new one before the second is told. Forgotten once
// more, the topic would have the next record acknowledged and not written.
func TestAFailureThatIsToldLateForgetsNoTopic(t *testing.T) {
	for name, alone := range map[string]bool{"in batches": false, "alone": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 100, func(w *fixture) {
				for p := range int32(2) {
					if err := w.deliver(record(p, 10), alone); err != nil {
						t.Fatal(err)
					}
				}
				for round := range 2 {
					w.DeleteTopic("ready")
					w.CreateTopic("ready", 3, nil)
					told, goOn := make(chan error, 2), make(chan struct{})
					for p := range int32(2) {
						w.Deliver(record(p, 10), alone, func(_ *kgo.Record, err error) {
							told <- err
							<-goOn
						})
					}
					if err := <-told; !isStale(err) {
						t.Fatalf("round %d: %v", round, err)
					}
					synctest.Wait()
					between := make(chan error, 1)
					w.Deliver(record(2, 10), alone, func(_ *kgo.Record, err error) { between <- err })
					time.Sleep(time.Second)
					close(goOn)
					if err := <-told; !isStale(err) {
						t.Fatalf("round %d: %v", round, err)
					}
					written := 0
					count := func(err error) {
						if err == nil {
							written++
						}
					}
					count(<-between)
					for range 3 {
						count(w.deliver(record(2, 10), alone))
					}
					if n := len(w.Records("ready")); n != 4 || written != n {
						t.Errorf("round %d: %d records of %d that were acknowledged, want 4 of 4", round, n, written)
					}
				}
			})
		})
	}
}
