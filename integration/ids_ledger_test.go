package integration

import (
	"fmt"
	"testing"
	"time"

	"layover/verify"
	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kgo"
)

// timer enters a record of an id, for a partition. Its deadline is a whole millisecond.
func (l *ledger) timer(partition int32, id, name string, delay time.Duration) *kgo.Record {
	sent := time.Now().Truncate(time.Millisecond)
	due := sent.Add(delay)
	return l.named(verify.Sent{ID: id, To: l.f.egress, Due: due, Timer: verify.Timer{Name: name}}, partition, sent,
		verify.Header{Name: "x-deliver-at", Value: fmt.Append(nil, due.UnixMilli())})
}

// cancel enters a cancel.
func (l *ledger) cancel(partition int32, id, name string) *kgo.Record {
	return l.named(verify.Sent{ID: id, Timer: verify.Timer{Name: name, Cancel: true}}, partition, time.Now().Truncate(time.Millisecond),
		verify.Header{Name: "x-delay-cancel", Value: []byte("true")})
}

func (l *ledger) named(s verify.Sent, partition int32, sent time.Time, h verify.Header) *kgo.Record {
	s.Record = verify.Record{Topic: l.f.ingress, Partition: partition, Timestamp: sent, Key: []byte(s.ID), Value: valueOf(s.ID), Headers: []verify.Header{
		h, {Name: "x-delay-id", Value: []byte(s.Timer.Name)}, {Name: verify.IDHeader, Value: []byte(s.ID)}}}
	l.Enter(s)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.due[s.ID], l.sent[s.ID] = s.Due, kafkatest.Entered(s.Record)
	return l.sent[s.ID]
}

// TestACancelledTimerDoesNotComeBackAcrossKillsAndHandOvers: two members, of which one is
// killed or stops in each round, while timers are cancelled, replaced, and due.
func TestACancelledTimerDoesNotComeBackAcrossKillsAndHandOvers(t *testing.T) {
	long(t)
	const (
		partitions = 4
		rounds     = 6
		timers     = 400 // of a round
	)
	f := onSharedBroker(t, partitions)
	told := f.ingress + ".events"
	f.createTopic(told, 1, nil)
	l := f.newLedger()
	l.Events(told)
	to := f.kafka(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	settings := "LAYOVER_EVENTS_TOPIC=" + told
	out, events := f.collect(f.egress), f.collect(told)
	members := []*process{f.layover(settings), f.layover(settings)}
	wanted := 0
	for round := range rounds {
		id := func(what string, i int) string { return fmt.Sprintf("%s-%d-%d", what, round, i) }
		var first, second, third []*kgo.Record
		for i := range timers {
			p, name := int32(i%partitions), id("timer", i)
			first = append(first, l.timer(p, id("first", i), name, 3*time.Second+time.Duration(i)*20*time.Millisecond))
			switch i / partitions % 4 {
			case 0: // is kept
				wanted++
			case 1:
				second = append(second, l.cancel(p, id("cancel", i), name))
			case 2:
				wanted++
				second = append(second, l.timer(p, id("newer", i), name, 10*time.Second-time.Duration(i)*20*time.Millisecond))
			default:
				second = append(second, l.timer(p, id("newer", i), name, 12*time.Second))
				third = append(third, l.cancel(p, id("cancel", i), name))
			}
		}
		f.produceWith(to, first...)
		f.produceWith(to, second...)
		time.Sleep(time.Duration(round) * 700 * time.Millisecond) // a different instant of the life each time
		if round%3 == 2 {
			members[0].terminate()
		} else {
			members[0].kill()
		}
		f.produceWith(to, third...)
		members = append(members[1:], f.layover(settings))
		members[1].owns(1, 30*time.Second)
	}
	out.await(wanted, time.Minute)
	f.reachesEnd(time.Minute)
	for _, p := range members {
		if n := p.status().Counters.Unaccounted; n != 0 {
			t.Errorf("%d records unaccounted for", n)
		}
		p.terminate()
	}
	out.settle()
	events.settle()
	l.MaySayAnyAgain(len(events.all())) // by kills
	l.judge(append(out.all(), events.all()...), rounds*timers/4)
}
