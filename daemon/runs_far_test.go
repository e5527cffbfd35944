package daemon

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"layover/verify/kafkatest"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kfake"
)

// TestRecordsOfAMegabyteAreMovedAndDelivered unchanged.
func TestRecordsOfAMegabyteAreMovedAndDelivered(t *testing.T) {
	long.Only(t)
	synctest.Test(t, func(t *testing.T) {
		w := fixtureOf(kafkatest.StartVirtual(t, 1, kfake.SeedTopics(2, ingress), kfake.SeedTopics(1, dlq)))
		w.CreateTopic(egress, 2, map[string]string{"max.message.bytes": "1100000"})
		in := w.start("LAYOVER_MAX_PARKED_BYTES=32Mi")
		in.ready()
		time.Sleep(10 * time.Second)
		f := w.freight()
		f.filler = strings.Repeat("0123456789abcdef", 1<<16)
		const n = 40
		f.send(n, 990_000, func(i int) time.Duration { return 70*time.Minute + time.Duration(i)*time.Second })
		time.Sleep(time.Minute)
		moved, _, _, _ := in.runsCount()
		if moved < n/4 {
			t.Errorf("%d are moved", moved)
		}
		time.Sleep(75 * time.Minute)
		f.all(0).onTime(0, n, 200*time.Millisecond)
		_, loaded, lost, waiting := in.runsCount()
		t.Logf("%d moved, %d loaded", moved, loaded)
		if lost > 0 || waiting > 0 {
			t.Errorf("%d lost, %d wait", lost, waiting)
		}
		in.stop()
	})
}

// TestAFloodIsMovedWhateverTheBound: memory holds a small part of it, and all is read within minutes.
// What copies in flight take is given back, or reading would pause for it until they are due.
func TestAFloodIsMovedWhateverTheBound(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		const n = 20_000
		in := w.start("LAYOVER_MAX_PARKED_BYTES=4Mi")
		in.ready()
		time.Sleep(10 * time.Second)
		f := w.freight()
		f.send(n, 200, func(int) time.Duration { return time.Hour })
		first := f.send(2, 200, func(int) time.Duration { return 2 * time.Second })
		time.Sleep(3 * time.Minute)
		f.judge(0).onTime(first, f.next, 2*time.Minute)
		if moved, _, _, _ := in.runsCount(); moved < n*9/10 {
			t.Errorf("%d are moved", moved)
		}
		time.Sleep(70 * time.Minute)
		f.all(0)
		in.stop()
	})
}

// TestNothingIsMovedBesideAnOlderRelease, whose member lists another protocol of the group. Once it has
// left, records are moved.
func TestNothingIsMovedBesideAnOlderRelease(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		in := w.start(far8)
		in.ready()
		leave := w.older()
		time.Sleep(time.Minute)
		f := w.freight()
		f.send(2500, 1000, func(i int) time.Duration { return 70*time.Minute + time.Duration(i)*10*time.Millisecond })
		time.Sleep(5 * time.Minute)
		if moved, _, _, _ := in.runsCount(); moved > 0 || len(f.copies()) > 0 {
			t.Errorf("%d are moved beside a member of an older release", moved)
		}
		leave()
		time.Sleep(2 * time.Minute)
		if moved, _, _, _ := in.runsCount(); moved < 500 {
			t.Errorf("%d are moved after it has left", moved)
		}
		time.Sleep(70 * time.Minute)
		f.all(0).onTime(0, f.next, 100*time.Millisecond)
		in.stop()
	})
}
