package daemon

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"layover/verify"
	"layover/verify/kafkatest"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kgo"
)

// failing is a consumer that fails at each attempt, and writes the record back as it came.
type failing struct {
	name    string
	topic   string // that it writes back to
	headers []kgo.RecordHeader
	keeps   bool // the timestamp that the record had at first
	first   time.Time

	waiting *kgo.Record // the record that it wrote last
	id      string      // of the ledger
	due     time.Time
}

// the default of LAYOVER_BACKOFF, as the documents have it.
var byDefault = verify.Backoff{First: time.Second, Last: time.Hour, Factor: 200, Jitter: 20, Max: 16}

// write writes what came, and notes when it will be due for the nth time.
func (f *failing) write(w *fixture, l *verify.Ledger, n int64, came []kgo.RecordHeader) {
	w.Helper()
	f.id = fmt.Sprintf("%s, attempt %d", f.name, n)
	headers := append([]kgo.RecordHeader{header(verify.IDHeader, f.id)}, f.headers...)
	from := time.Now()
	if f.keeps {
		if f.first.IsZero() {
			f.first = from
		}
		from = f.first
	}
	r := &kgo.Record{Topic: f.topic, Key: []byte(f.name), Value: []byte(f.name), Timestamp: from}
	for _, h := range came {
		if h.Key == "layover-due" {
			if due, err := time.Parse(time.RFC3339, string(h.Value)); err == nil && due.After(from) {
				from = due
			}
		}
		if h.Key != verify.IDHeader {
			headers = append(headers, h)
		}
	}
	r.Headers = headers
	l.Enter(verify.Sent{ID: f.id, To: egress, Backoff: byDefault, Record: kafkatest.Arrived(r)})
	w.Produce(r)
	l.Acked(f.id, r.Partition, r.Offset)
	f.waiting, f.due = r, from.Add(byDefault.Wait(n, r.Topic, r.Partition, r.Offset))
}

// came returns what has the id that the consumer wrote last.
func (f *failing) came(w *fixture, topic string) *kgo.Record {
	w.Helper()
	for _, r := range w.Records(topic) {
		if get(r, verify.IDHeader) == f.id {
			return r
		}
	}
	w.Fatalf("%s is not in %s, %v after it was due", f.id, topic, time.Since(f.due))
	return nil
}

// TestAConsumerThatAlwaysFailsGetsSixteenAttempts, through kills and hand-overs while it
// waits. Each has its deadline, which no reader changes, and the seventeenth is a dead letter.
func TestAConsumerThatAlwaysFailsGetsSixteenAttempts(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		w.createTopics(1, "retry")
		settings := []string{"LAYOVER_INGRESS_TOPICS=delayed,retry", "LAYOVER_TOPIC_DELAYS=retry=auto"}
		in := w.start(settings...)
		in.ready()
		l := verify.NewLedger(dlq)
		consumers := []*failing{
			{name: "keeps timestamps", topic: "retry", keeps: true},
			{name: "has new timestamps", topic: "retry"},
			{name: "asks by a header", topic: ingress, headers: []kgo.RecordHeader{header("x-delay", "auto")}},
		}
		for _, f := range consumers {
			f.write(w, l, 1, nil)
		}
		for n := int64(1); n <= 16; n++ {
			time.Sleep(400 * time.Millisecond) // all are read, and none is due
			switch n % 3 {
			case 1:
				in.kill()
				in = w.start(settings...)
			case 2:
				next := w.start(settings...)
				next.ready()
				in.stop()
				in = next
			}
			for _, f := range consumers {
				time.Sleep(time.Until(f.due.Add(20 * time.Second))) // a killed member's partitions are given away after ten
				r := f.came(w, egress)
				if got := get(r, "x-delay-attempt"); got != fmt.Sprint(n) || get(r, "layover-due") != f.due.UTC().Format("2006-01-02T15:04:05.000Z") {
					t.Fatalf("attempt %q was due at %s, want attempt %d at %v", got, get(r, "layover-due"), n, f.due)
				}
				f.write(w, l, n+1, r.Headers)
			}
		}
		time.Sleep(5 * time.Second)
		for _, f := range consumers {
			letter := f.came(w, dlq)
			if get(letter, "layover.errors.reason") != "attempts_exhausted" || get(letter, "x-delay-attempt") != "16" {
				t.Errorf("the seventeenth is %v", letter.Headers)
			}
		}
		in.stop()
		var all []verify.Record
		for _, topic := range []string{egress, dlq} {
			for _, r := range w.Records(topic) {
				all = append(all, kafkatest.Arrived(r))
			}
		}
		if err := verify.Check(l, all).Err(); err != nil {
			t.Error(err)
		}
	})
}

// TestTwoLayoversThatDeliverToEachOtherEnd, as the record says how often it went around.
func TestTwoLayoversThatDeliverToEachOtherEnd(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.createTopics(1, "there", "back")
		a := w.start("LAYOVER_INGRESS_TOPICS=there", "LAYOVER_EGRESS_TOPIC=back")
		b := w.start("LAYOVER_INGRESS_TOPICS=back", "LAYOVER_EGRESS_TOPIC=there")
		a.ready()
		b.ready()
		w.sendTo("there", 0, "around", header("trace", "t"))
		letter := w.arrives(dlq, 1, time.Hour)[0]
		if get(letter, "layover.errors.reason") != "too_many_hops" || get(letter, "layover-hops") != "1000" || get(letter, "trace") != "t" {
			t.Errorf("the letter has %v", letter.Headers)
		}
		time.Sleep(time.Minute)
		if n := w.count("there") + w.count("back"); n != 1002 { // the first, its delivery, and a thousand hops
			t.Errorf("%d records, want 1002", n)
		}
		a.stop()
		b.stop()
	})
}

// TestWhereInvalidRecordsAreDeliveredAttemptsGoOnWithTheLongestWait, and say that they have
// ended: at once would be a loop without a pause.
func TestWhereInvalidRecordsAreDeliveredAttemptsGoOnWithTheLongestWait(t *testing.T) {
	inBubble(t, func(w *fixture) {
		settings := []string{"LAYOVER_DLQ_TOPIC=", "LAYOVER_ON_INVALID=deliver", "LAYOVER_BACKOFF=10s..1m jitter=0% max=2", "LAYOVER_MAX_HOPS=1"}
		in := w.start(settings...)
		in.ready()
		began := time.Now()
		headers := []kgo.RecordHeader{header("x-delay", "auto"), header("x-delay-id", "order-1")}
		for i, want := range []struct {
			wait           time.Duration
			attempt, error string
		}{
			{10 * time.Second, "1", ""}, {20 * time.Second, "2", ""}, {time.Minute, "2", "attempts_exhausted"}, {time.Minute, "2", "attempts_exhausted"},
		} {
			w.sendTo(ingress, 0, "again", headers...)
			sent := time.Now()
			if i == 2 { // who reads it anew knows that it waits
				time.Sleep(5 * time.Second)
				in.kill()
				in = w.start(settings...)
			}
			time.Sleep(time.Until(sent.Add(want.wait - 100*time.Millisecond)))
			if n := w.count(egress); n != i {
				t.Errorf("delivery %d came before %v, %v after the start", i+1, want.wait, time.Since(began))
			}
			r := w.arrives(egress, i+1, 5*time.Second)[i]
			if get(r, "x-delay-attempt") != want.attempt || get(r, "layover.errors.reason") != want.error || get(r, "x-delay-id") != "" {
				t.Errorf("delivery %d carries %v", i+1, r.Headers)
			}
			if message := get(r, "layover.errors.message"); want.error != "" && !strings.HasPrefix(message, fmt.Sprintf("delayed/0@%d: header x-delay-attempt %q: ", i, want.attempt)) {
				t.Errorf("delivery %d has the message %q", i+1, message)
			}
			headers = append(r.Headers, header("x-delay", "auto"), header("x-delay-id", "order-1"))
		}
		if got := in.at("counters", "invalid"); got != 2.0 {
			t.Errorf("%v records are counted as invalid, want 2", got)
		}
		if got := in.at("counters", "unaccounted"); got != 0.0 {
			t.Errorf("%v records are unaccounted for", got)
		}
		if got := in.metric("layover_attempts_count"); got != 0 { // since the start, by which two had ended
			t.Errorf("%v attempts are counted, want none", got)
		}
		in.stop()
	})
}
