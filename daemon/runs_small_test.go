package daemon

import (
	"testing"
	"time"

	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kgo"
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
					// With 2Mi, a lane's queues, chunk and wheel without a record take nearly all of its share. With 4Mi they take
					// half. The room that one more empty queue keeps, 48 KiB, makes 23 minutes of the hour; the slots of a burst
					// would make a minute of it.
					if bound != "2Mi" && l.Pace.HorizonMs < 20*time.Minute.Milliseconds() {
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

// TestASmallMemoryFullOfRunsGoesOnReading: what is known of runs takes nearly all of 2 MiB, and small records come that are far off.
func TestASmallMemoryFullOfRunsGoesOnReading(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_MAX_PARKED_BYTES=2Mi")
		in.ready()
		time.Sleep(5 * time.Second)
		client := w.NewClient(kgo.RecordPartitioner(kgo.ManualPartitioner()))
		send := func(partition, size int, delay time.Duration) {
			r := &kgo.Record{Topic: ingress, Partition: int32(partition), Value: make([]byte, size), Timestamp: time.Now(), Headers: []kgo.RecordHeader{header("x-delay", delay.String())}}
			client.Produce(w.Context(), r, nil)
		}
		used := func() int64 { return in.daemon.Sample().Memory.Used }
		for i := 0; i < 2500 && used() < 440<<10; i++ { // each is a run
			send(i%2, 70<<10, 15*time.Hour+time.Duration(i)*time.Second)
			time.Sleep(250 * time.Millisecond)
		}
		time.Sleep(20 * time.Second)
		longest, now := 0, 0
		for i := range 900 {
			for k := range 20 {
				for range 2 * (1 - min(1, i%20/2)) { // a burst now and then
					send(k%2, 3000, 10*time.Hour)
				}
				send(k%2, 60, 10*time.Hour)
				time.Sleep(50 * time.Millisecond)
			}
			s := in.daemon.Sample()
			if now++; len(s.Pauses) == 0 {
				now = 0
			}
			longest = max(longest, now)
		}
		if longest > 30 {
			w.Errorf("reading is paused for %d s without a rest", longest)
		}
		in.kill()
	})
}
