package daemon

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// minimalBytes is ms as java.math.BigInteger.toByteArray has it, for an instant of this century.
func minimalBytes(ms int64) string { return string(binary.BigEndian.AppendUint64(nil, uint64(ms))[2:]) }

// TestEachPresetIsReadFromItsBytesToTheDelivery, to the millisecond and without what it mapped.
func TestEachPresetIsReadFromItsBytesToTheDelivery(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.createTopics(2, "orders")
		in := w.start("LAYOVER_HEADERS=spring,etf1,timebridge,watermill,http,amqp,cloudevents", "LAYOVER_HEADER_MAP=X-Wait-Ms=be32_ms,X-Run-At=epoch_s,X-Where=target", "LAYOVER_TARGETS_ALLOWED=orders")
		in.ready()
		began := time.Now().Truncate(time.Second)
		time.Sleep(time.Until(began.Add(time.Second)))
		began = time.Now()
		at := func(d time.Duration) time.Time { return began.Add(d).UTC() }
		seconds := func(d time.Duration) string { return strconv.FormatInt(at(d).Unix(), 10) }
		tests := map[string]struct {
			wait    time.Duration
			topic   string
			headers []kgo.RecordHeader
		}{
			"spring":            {61500 * time.Millisecond, egress, []kgo.RecordHeader{header("retry_topic-backoff-timestamp", minimalBytes(at(61500*time.Millisecond).UnixMilli()))}},
			"etf1":              {time.Minute, "orders", []kgo.RecordHeader{header("scheduler-epoch", seconds(time.Minute)), header("scheduler-target-topic", "orders"), header("scheduler-target-key", "vid1")}},
			"timebridge":        {2 * time.Minute, "orders", []kgo.RecordHeader{header("X-Timebridge-When", at(2*time.Minute).Format(time.RFC3339)), header("X-Timebridge-Where", "orders")}},
			"watermill":         {3 * time.Minute, egress, []kgo.RecordHeader{header("_watermill_delayed_until", at(3*time.Minute).Format(time.RFC3339)), header("_watermill_delayed_for", "3m0s")}},
			"watermill for":     {90 * time.Second, egress, []kgo.RecordHeader{header("_watermill_delayed_for", "1m30s")}},
			"http seconds":      {120 * time.Second, egress, []kgo.RecordHeader{header("Retry-After", "120")}},
			"http date":         {4 * time.Minute, egress, []kgo.RecordHeader{header("retry-after", at(4*time.Minute).Format("Mon, 02 Jan 2006 15:04:05 GMT"))}},
			"http RFC 850":      {5 * time.Minute, egress, []kgo.RecordHeader{header("retry-after", at(5*time.Minute).Format("Monday, 02-Jan-06 15:04:05 GMT"))}},
			"http asctime":      {6 * time.Minute, egress, []kgo.RecordHeader{header("retry-after", at(6*time.Minute).Format("Mon Jan _2 15:04:05 2006"))}},
			"amqp time":         {7500 * time.Millisecond, egress, []kgo.RecordHeader{header("x-opt-delivery-time", strconv.FormatInt(at(7500*time.Millisecond).UnixMilli(), 10))}},
			"amqp delay":        {8 * time.Second, egress, []kgo.RecordHeader{header("x-opt-delivery-delay", "8000")}},
			"map, four bytes":   {9250 * time.Millisecond, "orders", []kgo.RecordHeader{header("x-wait-ms", "\x00\x00\x24\x22"), header("x-where", "orders")}},
			"map over a preset": {10 * time.Second, egress, []kgo.RecordHeader{header("x-run-at", seconds(10*time.Second)), header("retry-after", "3600")}},
			"native over all":   {11 * time.Second, egress, []kgo.RecordHeader{header("x-delay", "11s"), header("x-run-at", seconds(time.Hour)), header("retry-after", "1")}},
		}
		for name, test := range tests {
			w.send(0, name, append(test.headers, header("trace", "t"))...)
		}
		w.arrives("orders", 3, 10*time.Minute)
		w.arrives(egress, len(tests)-3, 10*time.Minute)
		for _, r := range slices.Concat(w.Records(egress), w.Records("orders")) {
			test := tests[string(r.Value)]
			if r.Topic != test.topic {
				t.Errorf("%s was delivered to %s", r.Value, r.Topic)
			}
			if late := r.Timestamp.Sub(began.Add(test.wait)); late < 0 || late > 3*time.Millisecond {
				t.Errorf("%s is %v late", r.Value, late)
			}
			var names []string
			for _, h := range r.Headers {
				names = append(names, h.Key)
			}
			if want := []string{"trace", "layover-id", "layover-due", "layover-original-timestamp"}; !slices.Equal(names, want) {
				t.Errorf("%s was delivered with %q", r.Value, names)
			}
			if want := map[bool]string{true: "vid1", false: "key-" + string(r.Value)}[string(r.Value) == "etf1"]; string(r.Key) != want {
				t.Errorf("%s was delivered with the key %s", r.Value, r.Key)
			}
		}
		if n := in.metric("layover_ambiguous_records_total{"); n != 3 {
			t.Errorf("%v records are ambiguous, want watermill's two headers, the map over a preset and the native one over all", n)
		}
		in.stop()
	})
}

// TestARecordExpiresByTheHeaderOfCloudEvents, which stays on what is delivered.
func TestARecordExpiresByTheHeaderOfCloudEvents(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_HEADERS=cloudevents")
		in.ready()
		w.send(0, "expires", header("x-delay", "1m"), header("ce_expirytime", time.Now().Add(30*time.Second).UTC().Format(time.RFC3339)))
		w.send(0, "in time", header("x-delay", "1m"), header("ce_expirytime", time.Now().Add(2*time.Minute).UTC().Format(time.RFC3339)))
		letter := w.arrives(dlq, 1, 2*time.Minute)[0]
		if string(letter.Value) != "expires" || get(letter, "layover.errors.reason") != "expired" || get(letter, "ce_expirytime") == "" {
			t.Errorf("%s: %v", letter.Value, letter.Headers)
		}
		r := w.arrives(egress, 1, 2*time.Minute)[0]
		if string(r.Value) != "in time" || get(r, "ce_expirytime") == "" {
			t.Errorf("%s: %v", r.Value, r.Headers)
		}
		in.stop()
	})
}

// schedule produces a record as etf1's clients do; a null value is its tombstone.
func (w *fixture) schedule(partition int32, key string, value []byte, headers ...kgo.RecordHeader) int64 {
	w.Helper()
	return w.Produce(&kgo.Record{Topic: ingress, Partition: partition, Key: []byte(key), Value: value, Headers: headers, Timestamp: time.Now()})
}

// TestAScheduleIsReplacedAndCancelledByItsKey, also while nothing runs, and the tombstone is
// never delivered.
func TestAScheduleIsReplacedAndCancelledByItsKey(t *testing.T) {
	withEvents(t, func(w *fixture) {
		settings := []string{"LAYOVER_HEADERS=etf1", "LAYOVER_EVENTS_TOPIC=" + events}
		in := w.start(settings...)
		in.ready()
		epoch := func(d time.Duration) kgo.RecordHeader {
			return header("scheduler-epoch", strconv.FormatInt(time.Now().Add(d).Unix(), 10))
		}
		w.schedule(0, "replaced", []byte("first"), epoch(time.Minute))
		w.schedule(0, "replaced", []byte("second"), epoch(2*time.Minute))
		w.schedule(0, "cancelled", []byte("never"), epoch(time.Minute))
		w.schedule(0, "cancelled", nil)
		w.schedule(0, "cancelled while down", []byte("never"), epoch(time.Minute))
		w.schedule(1, "cancelled", []byte("of another partition"), epoch(time.Minute))
		w.saysOnly("replaced replaced 0@0 1", "cancelled cancelled 0@2 3")
		in.kill()
		w.schedule(0, "cancelled while down", nil, epoch(time.Minute), header("scheduler-target-topic", "elsewhere")) // as etf1 writes it
		w.schedule(0, "nobody", nil)
		time.Sleep(10 * time.Minute)
		in = w.start(settings...)
		in.ready()
		w.arrives(egress, 2, time.Minute)
		time.Sleep(time.Minute)
		if all := w.values(egress); len(all) != 2 || all["second"] != 1 || all["of another partition"] != 1 {
			t.Errorf("delivered %v", all)
		}
		if n := w.count(dlq); n != 0 {
			t.Errorf("%d dead letters", n)
		}
		for _, want := range []string{"cancelled cancelled while down 0@4 5", "cancel_miss nobody 0@null 6"} {
			if all := w.said(); !slices.Contains(all, want) {
				t.Errorf("no event %q in %q", want, all)
			}
		}
		w.commits(0, 7)
		in.stop()
	})
}

// TestATombstoneThatNamesNoScheduleIsADeadLetter: no consumer expects it, whatever the policy.
func TestATombstoneThatNamesNoScheduleIsADeadLetter(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_HEADERS=etf1", "LAYOVER_ON_INVALID=deliver")
		in.ready()
		w.Produce(&kgo.Record{Topic: ingress, Headers: []kgo.RecordHeader{header("scheduler-key", "a")}, Timestamp: time.Now()})
		r := w.arrives(dlq, 1, time.Minute)[0]
		if get(r, "layover.errors.reason") != "malformed_cancel" || !strings.Contains(get(r, "layover.errors.message"), "a null value without a key") {
			t.Errorf("%v", r.Headers)
		}
		w.schedule(0, "SECRET\tkey", nil)
		r = w.arrives(dlq, 2, time.Minute)[1]
		if message := get(r, "layover.errors.message"); get(r, "layover.errors.reason") != "malformed_id" || strings.Contains(message, "SECRET") {
			t.Errorf("%s", message)
		}
		if n := w.count(egress); n != 0 {
			t.Errorf("%d delivered", n)
		}
		in.stop()
	})
}

// TestAChosenKeyChoosesThePartitionOfTheDeliveryAndNotOfTheDeadLetter: both are where the Java
// client puts their keys, and a dead letter is as its record came.
func TestAChosenKeyChoosesThePartitionOfTheDeliveryAndNotOfTheDeadLetter(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.createTopics(6, "wide", "wide-dead")
		in := w.start("LAYOVER_HEADERS=etf1,cloudevents", "LAYOVER_EGRESS_TOPIC=wide", "LAYOVER_DLQ_TOPIC=wide-dead")
		in.ready()
		// The hashes are those of Kafka's own test of murmur2, modulo 6.
		abc, foobar := int32(479470107%6), int32((-790332482&0x7fffffff)%6)
		for i := range 3 { // each has an id of its own, so that none replaces another
			w.schedule(0, fmt.Sprint(i), []byte(fmt.Sprint(i)), header("scheduler-epoch", strconv.FormatInt(time.Now().Unix(), 10)), header("scheduler-target-key", "foobar"))
		}
		for _, r := range w.arrives("wide", 3, time.Minute) {
			if string(r.Key) != "foobar" || r.Partition != foobar {
				t.Errorf("%s has the key %s in partition %d, want foobar in %d", r.Value, r.Key, r.Partition, foobar)
			}
		}
		w.schedule(0, "abc", []byte("bad"), header("scheduler-epoch", "soon"), header("scheduler-target-key", "foobar"))
		w.schedule(0, "abc", []byte("expired"), header("scheduler-epoch", strconv.FormatInt(time.Now().Add(time.Minute).Unix(), 10)), header("scheduler-target-key", "foobar"), header("ce_expirytime", time.Now().UTC().Format(time.RFC3339)))
		for _, r := range w.arrives("wide-dead", 2, 2*time.Minute) {
			if string(r.Key) != "abc" || r.Partition != abc || get(r, "scheduler-target-key") != "foobar" || get(r, "scheduler-epoch") == "" {
				t.Errorf("%s has the key %s in partition %d, want abc in %d: %v", r.Value, r.Key, r.Partition, abc, r.Headers)
			}
		}
		in.stop()
	})
}

// TestABadRecordThatIsDeliveredAllTheSameHasNoMappedHeader: it would wait again elsewhere.
func TestABadRecordThatIsDeliveredAllTheSameHasNoMappedHeader(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_HEADERS=spring", "LAYOVER_ON_INVALID=deliver")
		in.ready()
		w.send(0, "bad", header("retry_topic-backoff-timestamp", ""), header("trace", "t"))
		r := w.arrives(egress, 1, time.Minute)[0]
		if get(r, "layover.errors.reason") != "malformed_deliver_at" || !strings.Contains(get(r, "layover.errors.message"), "header retry_topic-backoff-timestamp") || len(r.Headers) != 1+3+7 {
			t.Errorf("%v", r.Headers)
		}
		in.stop()
	})
}
