package consumer

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

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

func TestTheReadingBudgetHoldsThePollLoopWhileTooMuchIsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(100)
		if !b.take(t.Context(), 100) {
			t.Fatal("held at its limit")
		}
		through := make(chan bool, 1)
		go func() { through <- b.take(context.Background(), 50) }()
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
		if b.take(ended, 1) {
			t.Error("went on after the end")
		}
	})
}
