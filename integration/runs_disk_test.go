package integration

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/testcontainers/testcontainers-go"
	"github.com/twmb/franz-go/pkg/kadm"
)

// eager makes a broker look every second for what it may delete. By default it does every five
// minutes.
func eager(_ *broker, r *testcontainers.ContainerRequest) {
	r.Env["KAFKA_LOG_RETENTION_CHECK_INTERVAL_MS"] = "1000"
	r.Env["KAFKA_LOG_INITIAL_TASK_DELAY_MS"] = "1000"
}

// TestRunsOnABrokerThatDeletes: ingress keeps records for less than they wait, and what was
// delivered from runs makes room on the disk.
func TestRunsOnABrokerThatDeletes(t *testing.T) {
	long(t)
	t.Parallel()
	need(t, shared.broker)
	need(t, shared.binary)
	b := need(t, func() (*broker, error) { return startBroker(shared, eager) })
	t.Cleanup(func() {
		if err := b.terminate(); err != nil {
			t.Error(err)
		}
	})
	for name, test := range map[string]func(*fixture){
		"due soon after ingress has forgotten them": (*fixture).outlivesIngress,
		"due long after ingress has forgotten them": (*fixture).leavesIngressInTime,
		"disk is freed": (*fixture).freesDisk,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(emptyFixture(t, b))
		})
	}
}

// withTopics makes the fixture's topics, ingress with a configuration.
func (f *fixture) withTopics(ingress map[string]string) {
	f.Helper()
	f.createTopic(f.ingress, 2, ingress)
	f.createTopic(f.egress, 2, nil)
	f.createTopic(f.deadLetters, 1, nil)
}

// outlivesIngress: memory is full of near records, so that all that are due in over a minute are
// moved. Ingress keeps them for half a minute. Then the process is killed.
func (f *fixture) outlivesIngress() {
	const far, near = 3_000, 40_000
	f.withTopics(map[string]string{"retention.ms": "30000"})
	settings := []string{"LAYOVER_GROUP_INSTANCE_ID=" + f.group + "-0", "LAYOVER_MAX_PARKED_BYTES=8Mi", "LAYOVER_LANES=1"} // each lane has a horizon of its own
	p := f.layover(settings...)
	p.usesRuns()
	out, l := f.collect(f.egress), f.newLedger()
	f.produce(l.within("far", far, 95*time.Second, 110*time.Second)...)
	f.produce(l.within("near", near, 20*time.Second, 22*time.Second)...)
	eventually(f.T, 15*time.Second, "all that are far off are moved", func() bool { return p.status().Runs.Moved >= far })
	out.await(near, time.Minute)
	f.emptied(f.ingress, time.Minute)
	if all, again := out.count(); all-again != near {
		f.Fatalf("%d are delivered when ingress is empty, want the %d near ones", all-again, near)
	}
	bound := int(p.status().Duplicates.Total)
	p.kill()
	p = f.layover(settings...)
	out.await(far+near, 2*time.Minute)
	f.reachesEnd(20 * time.Second)
	p.terminate()
	out.settle()
	l.judge(out.all(), bound)
	stamped, _ := l.lateness(out.all(), "far")
	f.Logf("lateness of what was moved, by the delivery's timestamp: %v", stamped)
}

// leavesIngressInTime: memory has room, and records are due in hours. They are moved before they
// are a quarter of the 40 s old for which ingress keeps them, the second lot as the first.
func (f *fixture) leavesIngressInTime() {
	const lot, quarter = 300, 10 * time.Second
	f.withTopics(map[string]string{"retention.ms": "40000"})
	settings := "LAYOVER_GROUP_INSTANCE_ID=" + f.group + "-0"
	p := f.layover(settings)
	p.usesRuns()
	l := f.newLedger()
	for n := range int64(2) {
		f.produce(l.within([]string{"first", "second"}[n], lot, 2*time.Hour, 3*time.Hour)...)
		began := time.Now()
		eventually(f.T, 3*quarter, "all are moved", func() bool { return p.status().Runs.Moved == (n+1)*lot })
		took := time.Since(began)
		f.Logf("moved within %v", took.Round(time.Millisecond))
		if most := quarter + 2*time.Second; took > most { // and what the move takes
			f.Errorf("lot %d was moved after %v, want %v at most", n, took, most)
		}
	}
	f.emptied(f.ingress, 90*time.Second)
	p.kill()
	p = f.layover(settings)
	var said struct {
		Type   string
		Copies int64
	}
	eventually(f.T, 20*time.Second, "runs show has all copies, and nothing else", func() bool {
		lines := strings.Split(strings.TrimSpace(f.verb("runs", "show", "--exact", "-o", "json")), "\n")
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &said); err != nil {
			f.Fatal(err, lines)
		}
		return said.Type == "total" && said.Copies == 2*lot
	})
	if s := p.status(); s.Runs.Lost != 0 || s.Counters.Unaccounted != 0 {
		f.Errorf("%d lost from runs, %d unaccounted for", s.Runs.Lost, s.Counters.Unaccounted)
	}
	p.terminate()
}

// freesDisk: the segments of a runs topic that hold nothing but what was delivered are deleted.
func (f *fixture) freesDisk() {
	const records, segment = 40_000, 1 << 20 // Kafka's smallest
	f.withTopics(nil)
	p := f.layover("LAYOVER_MAX_PARKED_BYTES=8Mi", "LAYOVER_LANES=1", "LAYOVER_COMPRESSION=none")
	p.usesRuns()
	value := "1048576"
	if _, err := f.admin.AlterTopicConfigs(f.Context(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "segment.bytes", Value: &value}}, f.runs()); err != nil {
		f.Fatal(err)
	}
	out, l := f.collect(f.egress), f.newLedger()
	f.produce(l.within("far", records, 110*time.Second, 125*time.Second)...)
	most, moved := int64(0), int64(0)
	eventually(f.T, time.Minute, "four segments of copies", func() bool {
		most, moved = f.bytesOf(f.runs()), p.status().Runs.Moved
		return most > 4*segment
	})
	f.Logf("%d moved take %d bytes", moved, most)
	out.await(records, 3*time.Minute)
	f.emptied(f.runs(), 30*time.Second)
	size := int64(0)
	eventually(f.T, 30*time.Second, "one segment is left of each partition at most", func() bool {
		most, size = max(most, size), f.bytesOf(f.runs())
		return size <= 2*segment
	})
	f.Logf("of %d bytes at most %d are left, in segments of %d", most, size, segment)
	f.reachesEnd(20 * time.Second)
	p.terminate()
	out.settle()
	l.judge(out.all(), 0)
}
