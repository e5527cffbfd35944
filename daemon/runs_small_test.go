package daemon

import (
	"testing"
	"time"

	"layover/verify/long"
)

// TestSmallFarRecordsMakeWayForANearOne: what moves thousands of them at a time does not take the
// memory that they make room in.
func TestSmallFarRecordsMakeWayForANearOne(t *testing.T) {
	long.Only(t)
	const burst = 5000
	for bound, records := range map[string]int{"2Mi": 30_000, "4Mi": 100_000, "8Mi": 200_000, "16Mi": 200_000} { // each has ten times what memory holds
		t.Run(bound, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				in := w.start("LAYOVER_MAX_PARKED_BYTES=" + bound)
				time.Sleep(5 * time.Second)
				w.far(0, burst, 10, func(int) time.Duration { return 3 * time.Second }) // a thousand in flight take half a mebibyte
				time.Sleep(20 * time.Second)
				for i, l := range in.daemon.Sample().Lanes {
					// With 2Mi, a lane's queues, chunk and wheel without a record take nearly all of its share.
					if bound != "2Mi" && l.Pace.HorizonMs != time.Hour.Milliseconds() {
						t.Errorf("behind the burst the horizon of lane %d is %d ms", i, l.Pace.HorizonMs)
					}
				}
				w.far(burst, records, 10, func(i int) time.Duration { return 3*time.Hour + time.Duration(i%1800)*time.Second })
				w.far(burst+records, 1, 10, func(int) time.Duration { return 30 * time.Second })
				time.Sleep(30*time.Second + 100*time.Millisecond)
				moved, _, _, _ := in.runsCount()
				s := in.daemon.Sample()
				if got := len(w.Records(egress)); got != burst+1 {
					t.Errorf("%d records are delivered 100 ms after the near one was due, want the %d of a burst and it; %d moved; memory %+v; %v", got, burst, moved, s.Memory, s.Pauses)
				}
				in.kill()
			})
		})
	}
}
