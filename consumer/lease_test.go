package consumer

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kgo"
)

func TestALeaseRunsFromTheLastProof(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lease{length: 8 * time.Second}
		if l.valid(time.Now()) || l.age(time.Now()) != l.length {
			t.Error("valid before the first proof")
		}
		sent := time.Now()
		time.Sleep(3 * time.Second)
		l.renew(sent)
		if got := l.age(time.Now()); got != 3*time.Second {
			t.Errorf("%v old, want 3s", got)
		}
		time.Sleep(5*time.Second - time.Millisecond)
		if !l.valid(time.Now()) {
			t.Error("over before its time")
		}
		time.Sleep(time.Millisecond)
		if l.valid(time.Now()) || l.age(time.Now()) != l.length {
			t.Error("valid after its time")
		}
		l.renew(time.Now())
		l.renew(time.Now().Add(-time.Hour))
		if !l.valid(time.Now()) {
			t.Error("an older answer took a newer one back")
		}
	})
}

// TestAnAnswerThatWaitedOutASuspensionRenewsNothing: the monotonic clock stands still while a machine is suspended, so
// that the answer seems to have come at once.
func TestAnAnswerThatWaitedOutASuspensionRenewsNothing(t *testing.T) {
	l := lease{length: 8 * time.Second}
	sent := time.Now()
	l.renew(sent)
	if !l.valid(sent) {
		t.Error("a proof does not renew")
	}
	if l.valid(sent.Round(0).Add(time.Minute)) { // without a monotonic clock, as the wall clock alone went on
		t.Error("an answer to what was sent a minute ago counts from now")
	}
}

// TestAnInstantThatIsYetToComeHoldsNoLease for long, by a clock that was stepped back since.
func TestAnInstantThatIsYetToComeHoldsNoLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lease{length: 8 * time.Second}
		l.renew(time.Now().Add(time.Hour))
		l.renew(time.Now())
		if time.Sleep(8 * time.Second); l.valid(time.Now()) {
			t.Error("an instant that is yet to come holds the lease")
		}
	})
}

func TestTheReadingBudgetHoldsThePollLoopWhileTooMuchIsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(100)
		b.take(100)
		if !b.wait(t.Context()) {
			t.Fatal("held at its limit")
		}
		through := make(chan bool, 1)
		b.take(50)
		go func() { through <- b.wait(context.Background()) }()
		synctest.Wait()
		b.give(49)
		synctest.Wait()
		select {
		case <-through:
			t.Error("let through over the limit")
		default:
		}
		b.give(1)
		if !<-through || b.taken() != 100 {
			t.Errorf("%d bytes out, want 100", b.taken())
		}
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		b.take(1)
		if b.wait(ended) {
			t.Error("went on after the end")
		}
	})
}

// atOnce is a handler that has consumed all when Fetched returns, as a lane may.
type atOnce struct {
	Handler
	c    *Consumer
	left int64 // out behind that
}

func (h *atOnce) Fetched(_ offsets.Assignment, _ []*kgo.Record, bytes int64) {
	h.c.Consumed(bytes)
	h.left = h.c.Unread()
}

// TestRecordsAreCountedBeforeTheyAreHandedOver: the memory bound adds up what is out and what
// was taken.
func TestRecordsAreCountedBeforeTheyAreHandedOver(t *testing.T) {
	h := &atOnce{left: -1}
	h.c = &Consumer{handler: h, table: unreadRows(5), budget: newBudget(100)}
	record := &kgo.Record{Topic: "delayed", Offset: 100, Value: make([]byte, 1000)}
	h.c.handOver(kgo.Fetches{{Topics: []kgo.FetchTopic{{Topic: "delayed", Partitions: []kgo.FetchPartition{{Records: []*kgo.Record{record}}}}}}})
	if h.left != 0 || h.c.Unread() != 0 {
		t.Errorf("%d bytes are out while all are consumed, and %d behind that", h.left, h.c.Unread())
	}
}
