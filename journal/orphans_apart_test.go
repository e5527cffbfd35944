package journal

import (
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// orphan writes records to a partition of the runs topic.
func (w *runsFixture) orphan(partition int32, records int) {
	w.Helper()
	for range records {
		w.Produce(&kgo.Record{Topic: runsName, Partition: partition, Value: []byte("x")})
	}
}

// again deletes the ingress topic, and makes it with so many partitions.
func (w *runsFixture) again(partitions int32) {
	w.Helper()
	w.DeleteTopic(ingress)
	w.CreateTopic(ingress, partitions, nil)
}

// orphans waits until the orphans are those.
func (w *runsFixture) orphans(what string, ingress int32, asked bool, records int64, partitions ...int32) Orphans {
	w.Helper()
	var o Orphans
	w.Until(90*time.Second, what, func() bool {
		o = w.view().Orphans
		return o.Ingress == ingress && o.Asked == asked && o.Records == records && slices.Equal(o.Partitions, partitions)
	})
	return o
}

// TestAnOrphanThatNobodyTellsHidesNoOther: one partition has no leader, and copies wait in another.
func TestAnOrphanThatNobodyTellsHidesNoOther(t *testing.T) {
	inBubbleWithRuns(t, func(w *runsFixture) {
		w.run()
		w.used()
		w.orphan(1, 2)
		w.orphan(2, 4)
		no := w.Refuse(kmsg.ListOffsets, kfake.Fault{Topic: runsName, Partitions: []int32{1}, Err: kerr.UnknownServerError})
		w.again(1)
		w.orphans("one of two tells", 1, false, 4, 2)
		no.Remove()
		found := w.orphans("both tell", 1, true, 6, 1, 2)
		no = w.Refuse(kmsg.ListOffsets, kfake.Fault{Topic: runsName, Partitions: []int32{2}, Err: kerr.UnknownServerError})
		defer no.Remove()
		w.DeleteRecords(runsName, 1, 1)
		w.DeleteRecords(runsName, 2, 4)
		if still := w.orphans("what the other told last stands", 1, true, 5, 1, 2); !still.Since.Equal(found.Since) {
			t.Errorf("since %v, and %v", found.Since, still.Since)
		}
	})
}

// TestOrphansBehindAnOpenTransactionAreFound: others have begun one, and may never end it.
func TestOrphansBehindAnOpenTransactionAreFound(t *testing.T) {
	inBubbleWithRuns(t, func(w *runsFixture) {
		w.run()
		w.used()
		other := w.kafka(kgo.TransactionalID("other"), kgo.TransactionTimeout(15*time.Minute))
		if err := other.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		if err := other.ProduceSync(w.Context(), &kgo.Record{Topic: runsName, Partition: 2, Value: []byte("x")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		w.orphan(2, 3)
		w.again(1)
		w.orphans("copies stand behind an open transaction", 1, true, 4, 2)
	})
}

// TestOneAnswerWithoutTheIngressTopicHidesNoOrphans: it is of a broker that has just started.
func TestOneAnswerWithoutTheIngressTopicHidesNoOrphans(t *testing.T) {
	inBubbleWithRuns(t, func(w *runsFixture) {
		w.run()
		w.used()
		w.orphan(2, 4)
		w.again(1)
		found := w.orphans("copies wait", 1, true, 4, 2)
		w.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: ingress, Err: kerr.UnknownTopicOrPartition})
		for range 50 {
			time.Sleep(100 * time.Millisecond)
			if o := w.view().Orphans; o.Ingress != 1 || o.Records != 4 || !o.Since.Equal(found.Since) {
				t.Fatalf("%+v, and %+v before", o, found)
			}
		}
	})
}

// TestOrphansThatWereGivenBackAreForgotten: their partitions were assigned meanwhile, and what was found there is gone.
func TestOrphansThatWereGivenBackAreForgotten(t *testing.T) {
	inBubbleWithRuns(t, func(w *runsFixture) {
		w.run()
		w.used()
		w.orphan(2, 4)
		w.again(2)
		w.orphans("copies wait", 2, true, 4, 2)
		w.grow(3)
		w.orphans("all partitions", 3, true, 0)
		w.DeleteRecords(runsName, 2, 4)
		no := w.Refuse(kmsg.ListOffsets, kfake.Fault{Topic: runsName, Err: kerr.UnknownServerError})
		w.again(2)
		w.orphans("nobody tells", 2, false, 0)
		no.Remove()
		w.orphans("nothing waits", 2, true, 0)
	})
}
