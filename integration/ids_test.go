package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// ofPartition is a record of one partition with headers.
func ofPartition(partition int32, value string, headers ...kgo.RecordHeader) *kgo.Record {
	return &kgo.Record{Partition: partition, Key: []byte(fmt.Sprint(partition, value)), Value: []byte(value), Headers: headers}
}

// TestTimersThatAreCancelledWhileNothingRunsNeverFire: 20,000 fall due and are cancelled
// after a kill, and the next start reads all before it delivers any.
func TestTimersThatAreCancelledWhileNothingRunsNeverFire(t *testing.T) {
	long(t)
	const timers = 20_000
	f := onSharedBroker(t, 2)
	f.createTopic(f.ingress+".events", 1, nil)
	to := f.kafka(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	settings := "LAYOVER_EVENTS_TOPIC=" + f.ingress + ".events"
	p := f.layover(settings)
	out := f.collect(f.egress)

	due := time.Now().Add(12 * time.Second).UTC().Format(time.RFC3339Nano)
	var records, cancels []*kgo.Record
	for i := range timers {
		id := header("x-delay-id", fmt.Sprintf("timer-%d", i))
		records = append(records, ofPartition(int32(i%2), fmt.Sprintf("timer %d", i), id, header("x-deliver-at", due)))
		cancels = append(cancels, ofPartition(int32(i%2), "", id, header("x-delay-cancel", "true")))
	}
	f.produceWith(to, records...)
	p.parks(timers, 30*time.Second)
	p.kill()
	eventually(t, 30*time.Second, "all are due", func() bool { return time.Now().UTC().Format(time.RFC3339Nano) > due })
	f.produceWith(to, cancels...)
	f.produceWith(to, ofPartition(0, "last", header("x-delay-id", "last")), ofPartition(1, "last", header("x-delay-id", "last")))

	p = f.layover(settings)
	out.await(2, 60*time.Second)
	f.reachesEnd(30 * time.Second)
	out.settle()
	if records := out.all(); len(records) != 2 {
		t.Errorf("%d records were delivered, want the two that nobody cancelled", len(records))
	}
	events := f.collect(f.ingress + ".events")
	events.await(timers, 30*time.Second)
	if s := p.status(); s.Counters.Unaccounted != 0 {
		t.Errorf("%d records unaccounted for", s.Counters.Unaccounted)
	}
	p.terminate()
}

// TestAMillionTimersThatAreNearlyAllCancelledNeverPauseReading in a process that could not
// hold all of them.
func TestAMillionTimersThatAreNearlyAllCancelledNeverPauseReading(t *testing.T) {
	long(t)
	const (
		timers = 1_000_000
		wave   = 20_000
	)
	f := onSharedBroker(t, 2)
	to := f.kafka(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(5*time.Millisecond))
	p := f.layover("LAYOVER_MAX_PARKED_BYTES=64Mi", "LAYOVER_GOMEMLIMIT=104Mi") // of a container of 128 MiB
	for first := 0; first < timers; first += wave {
		var records []*kgo.Record
		for i := first; i < first+wave; i++ {
			id := header("x-delay-id", fmt.Sprintf("order-%d", i))
			records = append(records, ofPartition(int32(i%2), "0123456789012345678901234567890123456789", id, header("x-delay", "30m")))
			if i%100 != 0 {
				records = append(records, ofPartition(int32(i%2), "", id, header("x-delay-cancel", "true")))
			}
		}
		f.produceWith(to, records...)
	}
	eventually(t, 3*time.Minute, "all is read", func() bool { return p.status().Counters.Consumed == 2*timers-timers/100 })
	s := p.status()
	if s.Parked.Records != timers/100 || s.Counters.Unaccounted != 0 {
		t.Errorf("%d parked, %d unaccounted for", s.Parked.Records, s.Counters.Unaccounted)
	}
	if strings.Contains(p.log(), `"msg":"reading pauses`) {
		t.Error("reading paused")
	}
	if peak, _ := p.resident(); peak > 128<<20 {
		t.Errorf("the process took %d MiB at its peak", peak>>20)
	} else {
		t.Logf("%d MiB at the peak", peak>>20)
	}
	p.terminate()
}
