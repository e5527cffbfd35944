package daemon

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
)

// outgoing are the topics that Layover writes to.
var outgoing = []string{egress, "spare", "jobs.a", dlq}

// written is how many offsets these have, by one request: reading them takes seconds at times.
func (k *truth) written() (n int64) {
	k.w.Helper()
	ends, err := k.w.Admin().ListEndOffsets(context.Background(), outgoing...)
	if err != nil {
		k.w.Fatal(err)
	}
	ends.Each(func(o kadm.ListedOffset) { n += o.Offset })
	return n
}

// fly sends a record that a broker keeps; land lets it take it.
func (k *truth) fly(silent *kfake.FaultHandle, topic string, partition int32, all ...asks) (land func()) {
	k.w.Helper()
	r := k.send(topic, partition, all...)
	r.handed = r.dueBy()
	k.flying[r.value] = true
	return func() {
		k.w.Helper()
		before := k.written()
		silent.Remove()
		for deadline := time.Now().Add(10 * time.Second); r.answered.IsZero() && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
			now, written := time.Now(), k.written()
			if written == before {
				continue
			}
			if _, there := k.arrived()[r.value]; there {
				r.answered = now
			}
			before = written
		}
		delete(k.flying, r.value)
	}
}
