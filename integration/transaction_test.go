package integration

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func TestAbortedRecordsAreNeverDelivered(t *testing.T) {
	t.Parallel()
	const transactions, each = 12, 50
	f := onSharedBroker(t, 2)
	p := f.layover()
	out := f.collect(f.egress)
	committed, aborted := f.newLedger(), f.newLedger()
	producer := f.kafka(kgo.TransactionalID(f.group))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for n := range transactions {
		if err := producer.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		to, end := committed, kgo.TryCommit
		if n%2 == 1 { // the last one, so that the topic ends in an aborted one
			to, end = aborted, kgo.TryAbort
		}
		var records []*kgo.Record
		for i := range each {
			// Some are due at once, so that they would be delivered while the transaction
			// is open if it were read uncommitted.
			records = append(records, to.delayed(fmt.Sprintf("%d-%d", n, i), time.Duration(i%5)*500*time.Millisecond))
		}
		f.produceWith(producer, records...)
		if err := producer.EndTransaction(ctx, end); err != nil {
			t.Fatal(err)
		}
	}
	out.await(committed.Len(), 30*time.Second)
	// The group's offset comes to the end although the last records are transaction
	// markers and records that nobody sees.
	f.reachesEnd(15 * time.Second)
	p.terminate()
	out.settle()
	committed.judge(out.all(), 0)
}

func TestAnOpenTransactionHoldsBackNothingThatWasCommittedBefore(t *testing.T) {
	t.Parallel()
	f := onSharedBroker(t, 1)
	out := f.collect(f.egress)
	l := f.newLedger()
	f.produce(l.delayed("before", 0))
	producer := f.kafka(kgo.TransactionalID(f.group))
	if err := producer.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	f.produceWith(producer, l.delayed("open", 0))
	f.layover() // ready at the last stable offset, not at the end of the log
	out.await(1, 15*time.Second)
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	if err := producer.EndTransaction(ctx, kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	out.await(2, 15*time.Second)
	f.reachesEnd(10 * time.Second)
	l.judge(out.all(), 0)
}
