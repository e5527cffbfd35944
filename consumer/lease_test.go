package consumer

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestALeaseRunsFromTheSendingOfTheLastAnsweredHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lease{length: 8 * time.Second}
		if l.valid(time.Now()) {
			t.Error("valid before the first heartbeat")
		}
		l.OnBrokerWrite(kgo.BrokerMetadata{}, int16(kmsg.Heartbeat), 0, 0, 0, nil)
		time.Sleep(3 * time.Second)
		l.OnBrokerE2E(kgo.BrokerMetadata{}, int16(kmsg.Heartbeat), kgo.BrokerE2E{ReadWait: 3 * time.Second})
		time.Sleep(5*time.Second - time.Millisecond)
		if !l.valid(time.Now()) {
			t.Error("over before its time")
		}
		l.OnBrokerE2E(kgo.BrokerMetadata{}, int16(kmsg.Heartbeat), kgo.BrokerE2E{ReadErr: errors.New("cut")})
		l.OnBrokerE2E(kgo.BrokerMetadata{}, int16(kmsg.Fetch), kgo.BrokerE2E{})
		time.Sleep(time.Millisecond)
		if l.valid(time.Now()) {
			t.Error("renewed by what was no answered heartbeat")
		}
		l.renew(time.Now())
		l.renew(time.Now().Add(-time.Hour))
		if !l.valid(time.Now()) {
			t.Error("an older answer took a newer one back")
		}
	})
}

// TestAnAnswerThatWaitedOutASuspensionRenewsNothing: the monotonic clock stands still while
// a machine is suspended, so that the answer seems to have come at once.
func TestAnAnswerThatWaitedOutASuspensionRenewsNothing(t *testing.T) {
	wall := time.Now().Round(0)
	l := lease{length: 8 * time.Second, now: func() time.Time { return wall }}
	heartbeat := func(suspended time.Duration) {
		l.OnBrokerWrite(kgo.BrokerMetadata{NodeID: 1}, int16(kmsg.Heartbeat), 0, 0, time.Millisecond, nil)
		wall = wall.Add(suspended)
		l.OnBrokerE2E(kgo.BrokerMetadata{NodeID: 1}, int16(kmsg.Heartbeat), kgo.BrokerE2E{ReadWait: time.Millisecond})
	}
	heartbeat(time.Minute)
	if l.valid(wall) {
		t.Error("an answer to what was sent a minute ago counts from now")
	}
	heartbeat(0)
	if !l.valid(wall) {
		t.Error("the next heartbeat does not renew")
	}
}

// TestALeaseIsRenewedByTheAnswersThatProveMembershipAlone, each to its own request.
func TestALeaseIsRenewedByTheAnswersThatProveMembershipAlone(t *testing.T) {
	cut := errors.New("cut")
	for name, test := range map[string]struct {
		wrote, answered kmsg.Key
		from            int32 // the broker that answers
		writing         error
		answer          kgo.BrokerE2E
		want            bool
	}{
		"a heartbeat":                    {kmsg.Heartbeat, kmsg.Heartbeat, 1, nil, kgo.BrokerE2E{}, true},
		"a sync":                         {kmsg.SyncGroup, kmsg.SyncGroup, 1, nil, kgo.BrokerE2E{}, true},
		"a join":                         {kmsg.JoinGroup, kmsg.JoinGroup, 1, nil, kgo.BrokerE2E{}, false},
		"an answer to another kind":      {kmsg.Heartbeat, kmsg.SyncGroup, 1, nil, kgo.BrokerE2E{}, false},
		"an answer of another broker":    {kmsg.Heartbeat, kmsg.Heartbeat, 2, nil, kgo.BrokerE2E{}, false},
		"one that was not written":       {kmsg.Heartbeat, kmsg.Heartbeat, 1, cut, kgo.BrokerE2E{}, false},
		"one that was written in part":   {kmsg.Heartbeat, kmsg.Heartbeat, 1, nil, kgo.BrokerE2E{WriteErr: cut}, false},
		"one whose answer was cut short": {kmsg.Heartbeat, kmsg.Heartbeat, 1, nil, kgo.BrokerE2E{ReadErr: cut}, false},
	} {
		l := lease{length: time.Minute}
		l.OnBrokerWrite(kgo.BrokerMetadata{NodeID: 1}, int16(test.wrote), 0, 0, 0, test.writing)
		l.OnBrokerE2E(kgo.BrokerMetadata{NodeID: test.from}, int16(test.answered), test.answer)
		if got := l.valid(time.Now()); got != test.want {
			t.Errorf("%s: valid is %v, want %v", name, got, test.want)
		}
	}
}

// TestALeaseEndsByEitherClock, and an instant that is yet to come renews nothing for long.
func TestALeaseEndsByEitherClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lease{length: 8 * time.Second}
		l.OnBrokerWrite(kgo.BrokerMetadata{}, int16(kmsg.Heartbeat), 0, 0, 3*time.Second, nil) // three seconds to write
		l.OnBrokerE2E(kgo.BrokerMetadata{}, int16(kmsg.Heartbeat), kgo.BrokerE2E{})
		if now := time.Now(); !l.valid(now.Add(5*time.Second-1)) || l.valid(now.Add(5*time.Second)) {
			t.Error("it does not run from the beginning of the request")
		}
		ahead := time.Now().Add(time.Hour)
		l.renew(ahead) // by a clock that was stepped back since
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
