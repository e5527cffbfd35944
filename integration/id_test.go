package integration

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// written are the records of the ingress topic by their place, once there are n.
func (f *fixture) written(n int) map[string]*kgo.Record {
	f.Helper()
	records := make(map[string]*kgo.Record)
	c := f.kafka(kgo.ConsumeTopics(f.ingress), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	for len(records) < n {
		fetches := c.PollFetches(f.Context())
		if err := fetches.Err(); err != nil {
			f.Fatalf("%d of %d records: %v", len(records), n, err)
		}
		fetches.EachRecord(func(r *kgo.Record) { records[fmt.Sprintf("%s-%d-%d", r.Topic, r.Partition, r.Offset)] = r })
	}
	return records
}

// TestAnIDIsMetByASecondRecordAndByCancels: nothing reads the topic meanwhile, so that what
// is written is all that there is to see.
func TestAnIDIsMetByASecondRecordAndByCancels(t *testing.T) {
	t.Parallel()
	f := onSharedBroker(t, 6)
	settings := []string{"KAFKA_BROKERS=" + f.broker.addr, "LAYOVER_INGRESS_TOPICS=" + f.ingress}
	run := func(args ...string) []string {
		t.Helper()
		code, stdout, stderr := command(t, settings, "", args...)
		if code != 0 || stderr != "" {
			t.Fatalf("%q: exit code %d\n%s%s", args, code, stdout, stderr)
		}
		return strings.Fields(stdout)
	}
	// The hashes are those of Kafka's own test of murmur2, modulo 6.
	for id, partition := range map[string]int32{"abc": 479470107 % 6, "foobar": (-790332482 & 0x7fffffff) % 6} {
		for offset := range 2 {
			got := run("send", "--delay", "1h", "--id", id, "--expire-at", "2099-01-01T00:00:00.0009Z", "v")
			if want := fmt.Sprintf("%s-%d-%d", f.ingress, partition, offset); got[0] != want {
				t.Errorf("record %d of id %s is %s, want %s", offset, id, got[0], want)
			}
		}
	}
	everywhere, one, byKey := run("cancel", "abc"), run("cancel", "abc", "--partition", "4"), run("cancel", "--key", "abc", "abc")
	if len(everywhere) != 6 || len(one) != 1 || len(byKey) != 1 {
		t.Fatalf("cancels are %q, %q and %q", everywhere, one, byKey)
	}

	if code, stdout, stderr := command(t, settings, "", "cancel", "--partition", "6", "abc"); code != 1 || stdout != "" || !strings.Contains(stderr, "has the partitions 0 to 5") {
		t.Errorf("a partition that is not there: exit code %d\n%s%s", code, stdout, stderr)
	}

	records := f.written(4 + 8)
	all := make(map[int32]bool)
	for _, id := range everywhere {
		r := records[id]
		if r == nil || r.Value != nil || r.Key != nil || !reflect.DeepEqual(textOf(r), []string{"x-delay-id=abc", "x-delay-cancel=true", "layover-cancel-of=abc/6"}) {
			t.Fatalf("the cancel %s is %+v", id, r)
		}
		all[r.Partition] = true
	}
	if len(all) != 6 {
		t.Errorf("cancels are in the partitions %v, want all six", all)
	}
	for id, partition := range map[string]int32{one[0]: 4, byKey[0]: 479470107 % 6} {
		if r := records[id]; r == nil || r.Partition != partition || !reflect.DeepEqual(textOf(r), []string{"x-delay-id=abc", "x-delay-cancel=true"}) {
			t.Errorf("the cancel %s is %+v, want it in partition %d", id, r, partition)
		}
	}
	first := records[fmt.Sprintf("%s-%d-0", f.ingress, 479470107%6)]
	if want := []string{"x-delay=1h", "x-delay-id=abc", "x-expire-at=2099-01-01T00:00:00.000Z"}; first == nil || first.Key != nil || !reflect.DeepEqual(textOf(first), want) {
		t.Errorf("the record is %+v, want headers %q", first, want)
	}
}

// textOf are a record's headers as text, in their order.
func textOf(r *kgo.Record) (out []string) {
	for _, h := range r.Headers {
		out = append(out, h.Key+"="+string(h.Value))
	}
	return out
}

// TestAPartitionWithoutALeaderKeepsNoOtherFromItsCancel: one of three brokers is stopped, and
// nothing is replicated.
func TestAPartitionWithoutALeaderKeepsNoOtherFromItsCancel(t *testing.T) {
	long(t)
	t.Parallel()
	brokers := trio(t)
	f := emptyFixture(t, brokers[0])
	f.ledBy(f.ingress, 1, 3, 1)
	if err := brokers[2].stop(); err != nil {
		t.Fatal(err)
	}
	eventually(t, time.Minute, "the partition has no leader", func() bool {
		topics, err := f.admin.ListTopics(f.Context(), f.ingress)
		return err == nil && topics[f.ingress].Partitions[1].Leader < 0
	})
	code, stdout, stderr := command(t, []string{"KAFKA_BROKERS=" + f.broker.addr, "LAYOVER_INGRESS_TOPICS=" + f.ingress}, "", "cancel", "a")
	if want := fmt.Sprintf("%[1]s-0-0\n%[1]s-2-0\n", f.ingress); code != 1 || stdout != want ||
		!strings.Contains(stderr, "the cancel to partition 1 was not written, of 3; those that are printed were: ") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
}
