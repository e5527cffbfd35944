package integration

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// bad is a record that cannot be delivered, and why.
type bad struct {
	headers []kgo.RecordHeader
	reason  string
	message string // a part of layover.errors.message
}

func badRecords(now time.Time, ingress string) map[string]bad {
	delay := func(value, message string) bad {
		return bad{[]kgo.RecordHeader{header("x-delay", value)}, "malformed_delay", message}
	}
	at := func(value, message string) bad {
		return bad{[]kgo.RecordHeader{header("x-deliver-at", value)}, "malformed_deliver_at", message}
	}
	to := func(topic string) bad {
		return bad{[]kgo.RecordHeader{header("x-deliver-to", topic)}, "target_not_allowed", "x-deliver-to"}
	}
	return map[string]bad{
		"word":             delay("tomorrow", `"tomorrow"`),
		"padded":           delay(" 5s", `" 5s"`),
		"empty":            delay("", "x-delay"),
		"null":             {[]kgo.RecordHeader{{Key: "x-delay"}}, "malformed_delay", "null"},
		"months":           delay("P1M", `"P1M"`),
		"small-iso":        delay("pt5s", `"pt5s"`),
		"overflow":         delay("99999999999999999999", "99999999999999999999"),
		"negative-binary":  delay(bigEndian(-5, 8), "x-delay"),
		"too-long-a-quote": delay(strings.Repeat("z", 5000), strings.Repeat("z", 100)),
		"seconds":          at(strconv.FormatInt(now.Unix()+5, 10), "seconds"),
		"microseconds":     at(strconv.FormatInt(now.UnixMicro(), 10), "x-deliver-at"),
		"nanoseconds":      at(strconv.FormatInt(now.UnixNano(), 10), "x-deliver-at"),
		"no-zone":          at("2030-01-01T00:00:00", "zone"),
		"seconds-binary":   at(bigEndian(now.Unix()+5, 6), "x-deliver-at"),
		"too-long":         {[]kgo.RecordHeader{header("x-delay", "31d")}, "delay_too_long", `"31d"`},
		"back-off":         delay("1h..1s", "below the first"),
		"long-back-off":    {[]kgo.RecordHeader{header("x-delay", "1s..31d")}, "delay_too_long", `"1s..31d"`},
		"attempt":          {[]kgo.RecordHeader{header("x-delay", "auto"), header("x-delay-attempt", "one")}, "malformed_attempt", `"one"`},
		"last-attempt":     {[]kgo.RecordHeader{header("x-delay", "auto"), header("x-delay-attempt", "16")}, "attempts_exhausted", "max=16"},
		"circle":           {[]kgo.RecordHeader{header("layover-hops", "1000")}, "too_many_hops", "LAYOVER_MAX_HOPS"},
		"foreign-target":   to("somewhere-else"),
		"ingress-target":   to(ingress),
		"internal-target":  to("__consumer_offsets"),
	}
}

func TestInvalidRecordsAreDeadLetteredWithTheReason(t *testing.T) {
	t.Parallel()
	f := onSharedBroker(t, 2)
	f.layover()
	dead := f.collect(f.deadLetters)
	delivered := f.collect(f.egress)

	sent := time.Now().Truncate(time.Millisecond)
	want := badRecords(sent, f.ingress)
	var records []*kgo.Record
	for name, b := range want {
		stale := header("layover.errors.reason", "stale")
		records = append(records, &kgo.Record{
			Key: []byte(name), Value: []byte("value of " + name), Timestamp: sent, Headers: slices.Concat(foreign(), b.headers, []kgo.RecordHeader{stale}),
		})
	}
	f.produce(records...)
	dead.await(len(want), 30*time.Second)
	dead.settle()
	delivered.settle()
	if all, _ := delivered.count(); all != 0 {
		t.Errorf("%d invalid records were delivered", all)
	}
	if all, again := dead.count(); again != 0 {
		t.Errorf("%d dead letters, %d of them again", all, again)
	}
	for _, r := range records {
		name := string(r.Key)
		i := slices.IndexFunc(dead.all(), func(a arrival) bool { return string(a.Key) == name })
		t.Run(name, func(t *testing.T) { f.checkDeadLetter(t, dead.all()[i].Record, r, want[name]) })
	}
}

// checkDeadLetter compares a dead letter with the record that it was.
func (f *fixture) checkDeadLetter(t *testing.T, got, was *kgo.Record, want bad) {
	if string(got.Value) != string(was.Value) {
		t.Errorf("value %q, want %q", got.Value, was.Value)
	}
	for name, value := range map[string]string{
		"layover.errors.topic": f.ingress, "layover.errors.partition": fmt.Sprint(was.Partition), "layover.errors.offset": fmt.Sprint(was.Offset),
		"layover.errors.group": f.group, "layover.errors.reason": want.reason,
	} {
		if v, _ := lookup(t, got, name); v != value {
			t.Errorf("header %s is %q, want %q", name, v, value)
		}
	}
	message, _ := lookup(t, got, "layover.errors.message")
	if !strings.Contains(message, want.message) || len(message) > 400 {
		t.Errorf("message %q, want one with %q", message, want.message)
	}
	stamp, _ := lookup(t, got, "layover.errors.timestamp")
	if at, err := time.Parse(instant, stamp); err != nil || at.Before(was.Timestamp) {
		t.Errorf("layover.errors.timestamp %q (%v), sent %v", stamp, err, was.Timestamp)
	}
	rest := slices.DeleteFunc(slices.Clone(got.Headers), func(h kgo.RecordHeader) bool { return strings.HasPrefix(h.Key, "layover.errors.") })
	if kept := was.Headers[:len(was.Headers)-1]; !slices.EqualFunc(rest, kept, sameHeader) {
		t.Errorf("other headers are %q, want those that it had: %q", rest, kept)
	}
}

func TestADeadLetterThatIsMendedIsDelivered(t *testing.T) {
	t.Parallel()
	f := onSharedBroker(t, 1)
	f.layover()
	dead, delivered := f.collect(f.deadLetters), f.collect(f.egress)
	f.produce(&kgo.Record{Key: []byte("a"), Value: []byte("v"), Headers: []kgo.RecordHeader{header("x-delay", "soon")}})
	dead.await(1, 20*time.Second)
	r := dead.all()[0].Record
	// What a person would do: the headers as they are, and the right one behind.
	f.produce(&kgo.Record{Key: r.Key, Value: r.Value, Headers: append(r.Headers, header("x-delay", "1s"))})
	delivered.await(1, 20*time.Second)
	if _, found := lookup(t, delivered.all()[0].Record, "x-delay"); found {
		t.Error("a control header was delivered")
	}
}

// TestARecordThatACompactedTargetRefusesDiesAlone: a broker refuses a batch as a whole, and says nothing of the others.
func TestARecordThatACompactedTargetRefusesDiesAlone(t *testing.T) {
	t.Parallel()
	f := onSharedBroker(t, 1)
	f.alter(f.egress, "cleanup.policy", "compact")
	f.layover()
	dead, delivered := f.collect(f.deadLetters), f.collect(f.egress)
	const n, bad = 500, 250
	at := strconv.FormatInt(time.Now().Add(3*time.Second).UnixMilli(), 10)
	var records []*kgo.Record
	for i := range n {
		r := &kgo.Record{Key: fmt.Append(nil, i), Value: []byte("v"), Headers: []kgo.RecordHeader{header("x-deliver-at", at)}}
		if i == bad {
			r.Key = nil
		}
		records = append(records, r)
	}
	f.produce(records...)
	delivered.await(n-1, 30*time.Second)
	dead.await(1, 30*time.Second)
	dead.settle()
	if all := dead.all(); len(all) != 1 || all[0].Key != nil {
		t.Errorf("%d dead letters, want the record without a key alone", len(all))
	}
}
