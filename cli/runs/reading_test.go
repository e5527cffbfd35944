package runs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"layover/offsets"
	"layover/verify/kafkatest"
)

// TestWhatNobodyHasCommittedIsNotRead: neither an aborted copy, nor what is behind an open
// transaction.
func TestWhatNobodyHasCommittedIsNotRead(t *testing.T) {
	w := newFixture(t)
	m := w.member(0, 0xa1).move(days(1)...)
	cl := w.NewClient(kgo.TransactionalID("x"))
	defer cl.Close()
	begin := func() {
		t.Helper()
		if err := kafkatest.Transaction(t.Context(), cl, m.copied(m.id(), farOff)); err != nil {
			t.Fatal(err)
		}
	}
	abort := func() {
		t.Helper()
		if err := cl.EndTransaction(t.Context(), kgo.TryAbort); err != nil {
			t.Fatal(err)
		}
	}
	begin()
	abort()
	if got := w.do("show"); got.code != 0 || !strings.Contains(got.stdout, "\n  1 copy waits: ") || strings.Contains(got.stdout, "transaction") {
		t.Errorf("%+v", got)
	}
	begin()
	end := w.Broker.PartitionInfo(runsTopic, 0)
	got := w.do("show")
	want := fmt.Sprintf("\n  behind an open transaction, and not read: 1 offset from %d on\n", end.LastStableOffset)
	if got.code != 0 || !strings.Contains(got.stdout, "\n  1 copy waits: ") || !strings.Contains(got.stdout, want) {
		t.Errorf("%+v\nwant %s", got, want)
	}
	abort()
}

// TestCopiesThatAreDeletedWhileTheyAreReadAreAskedForAnew: members go on.
func TestCopiesThatAreDeletedWhileTheyAreReadAreAskedForAnew(t *testing.T) {
	w := newFixture(t)
	w.member(0, 0xa1).move(days(1, 2, 3)...).commit()
	gone := w.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: runsTopic, Err: kerr.OffsetOutOfRange, Count: 1})
	if got := w.do("show"); got.code != 0 || !strings.Contains(got.stdout, "\n  3 copies wait: ") || gone.Hits() != 1 {
		t.Errorf("%d refusals: %+v", gone.Hits(), got)
	}
	w.Refuse(kmsg.Fetch, kfake.Fault{Topic: runsTopic, Err: kerr.OffsetOutOfRange})
	w.fails(w.do("show"), "layover runs: delayed/0: "+errBusy.Error()+"\n")
}

// TestACommitThatIsOlderThanTheLogIsAskedForAnew: what was deleted after it is no loss.
func TestACommitThatIsOlderThanTheLogIsAskedForAnew(t *testing.T) {
	w := newFixture(t)
	m := w.member(0, 0xa1).move(days(1, 2, 3)...).commit()
	old, _ := w.Committed(group, ingress, 0)
	m.finish(0, 1).commit().delete()
	w.DeleteTopic(journalTopic)
	w.CreateTopic(journalTopic, 3, nil)
	asked := 0
	w.Answer(kmsg.OffsetFetch, func(r kmsg.Request) kmsg.Response {
		if asked++; asked > 1 {
			return nil
		}
		return stale(r.(*kmsg.OffsetFetchRequest), w.id(0).TopicID, old)
	})
	got := w.do("show")
	if got.code != 0 || strings.Contains(got.stdout, "gone, and not finished") || !strings.Contains(got.stdout, "\n  1 copy waits: ") || asked != 2 {
		t.Errorf("the commits were asked for %d times: %+v", asked, got)
	}
}

// stale answers with one commit.
func stale(r *kmsg.OffsetFetchRequest, id offsets.TopicID, o kadm.Offset) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.OffsetFetchResponse)
	p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
	p.Partition, p.Offset, p.Metadata = o.Partition, o.At, &o.Metadata
	topic := kmsg.NewOffsetFetchResponseGroupTopic()
	topic.Topic, topic.TopicID, topic.Partitions = o.Topic, id, append(topic.Partitions, p)
	g := kmsg.NewOffsetFetchResponseGroup()
	g.Group, g.Topics = group, append(g.Topics, topic)
	resp.Groups = append(resp.Groups, g)
	return resp
}

// TestAllOfALongLogIsRead, in more parts than one.
func TestAllOfALongLogIsRead(t *testing.T) {
	w := newFixture(t)
	m := w.member(2, 0xa1)
	for range 3 {
		m.move(days(make([]int, together)...)...)
	}
	m.commit()
	if got := w.do("show --partition 2"); got.code != 0 || !strings.Contains(got.stdout, "\n  12,288 copies wait: ") || !strings.Contains(got.stdout, " in 3 runs of 1 writer, ") {
		t.Errorf("%+v", got)
	}
}

// TestABatchThatCannotBeReadIsAnError, and what stands in front of it counts.
func TestABatchThatCannotBeReadIsAnError(t *testing.T) {
	w := newFixture(t)
	w.member(0, 0xa1).move(days(1, 2)...).commit()
	w.ProduceBatch(runsTopic, kafkatest.Batch(func(*kmsg.RecordBatch) {}))
	got := w.do("show")
	if got.code != 1 || !strings.Contains(got.stdout, "\n  2 copies wait: ") || !strings.HasPrefix(got.stderr, "layover runs: delayed/0: reading its runs: ") || strings.Count(got.stderr, "\n") != 1 {
		t.Errorf("%+v", got)
	}
}
