package daemon

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"layover/verify/kafkatest"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kfake"
)

// TestWhatIsWrittenAnewIsDeliveredAfterEachTruncation: offsets that were finished in a log
// before it lost its end are those of other records now. Twice, with all well between.
func TestWhatIsWrittenAnewIsDeliveredAfterEachTruncation(t *testing.T) {
	long.Only(t)
	synctest.Test(t, func(t *testing.T) {
		w := fixtureOf(kafkatest.StartVirtualOnDisk(t, 1, kfake.SeedTopics(1, ingress), kfake.SeedTopics(1, egress), kfake.SeedTopics(1, dlq)))
		want := 0
		for round := range 2 {
			in := w.start()
			in.ready()
			w.send(0, "parked", header("x-delay", "10m"))
			keep := w.send(0, fmt.Sprint("kept ", round))
			lost := w.send(0, fmt.Sprint("truncated ", round))
			w.send(0, fmt.Sprint("truncated, too ", round))
			want += 3
			w.arrives(egress, want, time.Minute)
			time.Sleep(3 * time.Second) // it is committed
			if lost != keep+1 {
				t.Fatalf("offsets %d and %d", keep, lost)
			}
			in.stop()
			w.Truncate(ingress, 0, lost)
			if again := w.send(0, fmt.Sprint("anew ", round)); again != lost {
				t.Fatalf("the log goes on at %d, want %d", again, lost)
			}
			in = w.start()
			in.ready()
			want++
			w.arrives(egress, want, time.Minute)
			time.Sleep(15 * time.Minute) // what was parked below the truncation is there
			want++
			w.arrives(egress, want, time.Minute)
			in.stop()
		}
		seen := make(map[string]int)
		for _, k := range w.Records(egress) {
			seen[string(k.Value)]++
		}
		for round := range 2 {
			for value, n := range map[string]int{"kept ": 1, "truncated ": 1, "truncated, too ": 1, "anew ": 1} {
				if got := seen[value+fmt.Sprint(round)]; got != n {
					t.Errorf("%s%d came %d times, want %d: %v", value, round, got, n, seen)
				}
			}
		}
		if seen["parked"] != 2 {
			t.Errorf("parked records came %d times", seen["parked"])
		}
	})
}
