package integration

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

// instant is how Layover writes an instant into a header.
const instant = "2006-01-02T15:04:05.000Z"

// bigEndian returns the last n bytes of ms in big-endian order.
func bigEndian(ms int64, n int) string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(ms))[8-n:])
}

// form is one way to ask for a delivery.
type form struct {
	headers []kgo.RecordHeader
	due     time.Time // where it is in the past: at once, with this in layover-due
	target  string    // "": the egress topic
}

// forms returns every form that a header may have, for records with the timestamp
// sent.
func forms(sent time.Time, target string) map[string]form {
	sentMs := sent.UnixMilli()
	in := func(d time.Duration) time.Time { return sent.Add(d) }
	delay := func(value string, d time.Duration) form {
		return form{headers: []kgo.RecordHeader{header("x-delay", value)}, due: in(d)}
	}
	at := func(value string, d time.Duration) form {
		return form{headers: []kgo.RecordHeader{header("x-deliver-at", value)}, due: in(d)}
	}
	both := func(d time.Duration, headers ...kgo.RecordHeader) form { return form{headers: headers, due: in(d)} }
	kolkata := time.FixedZone("", 5*3600+1800)
	return map[string]form{
		"ms":                delay("1500", 1500*time.Millisecond),
		"eight-bytes-text":  delay("1500.0ms", 1500*time.Millisecond),
		"go-duration":       delay("1s750ms", 1750*time.Millisecond),
		"below-a-ms":        delay("100us", time.Millisecond),
		"days":              delay("0.00002d", 1728*time.Millisecond),
		"weeks":             delay("0.000003w", 1815*time.Millisecond), // 1814.4, rounded up
		"iso-8601":          delay("PT1.5S", 1500*time.Millisecond),
		"iso-8601-days":     delay("P0DT2S", 2*time.Second),
		"delay-8-bytes":     delay(bigEndian(1600, 8), 1600*time.Millisecond),
		"zero":              delay("0", 0),
		"negative-text":     delay("-5s", 0),
		"rfc-3339-utc":      at(in(1900*time.Millisecond).UTC().Format(time.RFC3339Nano), 1900*time.Millisecond),
		"rfc-3339-offset":   at(in(2100*time.Millisecond).In(kolkata).Format(time.RFC3339Nano), 2100*time.Millisecond),
		"epoch-ms":          at(strconv.FormatInt(sentMs+2200, 10), 2200*time.Millisecond),
		"at-6-bytes":        at(bigEndian(sentMs+2300, 6), 2300*time.Millisecond),
		"at-7-bytes":        at(bigEndian(sentMs+2400, 7), 2400*time.Millisecond),
		"at-8-bytes":        at(bigEndian(sentMs+2500, 8), 2500*time.Millisecond),
		"past":              at("2020-02-02T02:02:02Z", time.Date(2020, 2, 2, 2, 2, 2, 0, time.UTC).Sub(sent)),
		"no-header":         both(0),
		"case":              both(time.Second, header("X-Delay", "1000")),
		"last-wins":         both(2*time.Second, header("x-delay", "1h"), header("x-delay", "2s")),
		"last-wins-by-case": both(2*time.Second, header("x-delay", "1h"), header("X-DELAY", "2s")),
		"at-wins":           both(2*time.Second, header("x-deliver-at", strconv.FormatInt(sentMs+2000, 10)), header("x-delay", "1h")),
		"target":            {headers: []kgo.RecordHeader{header("x-delay", "1s"), header("x-deliver-to", target)}, due: in(time.Second), target: target},
	}
}

// foreign are headers that have to pass byte for byte: nulls, duplicates, order,
// binary, and those of tracing.
func foreign() []kgo.RecordHeader {
	return []kgo.RecordHeader{
		header("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
		{Key: "null", Value: nil},
		header("twice", "1"),
		{Key: "empty", Value: []byte{}},
		header("twice", "2"),
		header("binary", "\x00\xff\xfe\r\n"),
		header("", "no name"),
		header("x-delayed", "not ours"),
	}
}

func TestEveryHeaderFormIsDeliveredOnTimeAndEverythingElsePassesUnchanged(t *testing.T) {
	t.Parallel()
	f := onSharedBroker(t, 3)
	f.layover("LAYOVER_TARGETS_ALLOWED=" + f.egress + ".*")
	target := f.egress + ".other"
	f.createTopic(target, 1, nil)
	out := f.collect(f.egress, target)

	sent := time.Now().Truncate(time.Millisecond)
	want := forms(sent, target)
	ids := make(map[string]string) // layover-id by key
	var records []*kgo.Record
	for name, form := range want {
		// A record that was delivered before comes with what it got then.
		old := []kgo.RecordHeader{header("layover-id", "old-0-1"), header("Layover-Due", "old"), header("layover-original-timestamp", "old")}
		records = append(records, &kgo.Record{
			Key: []byte(name), Value: []byte("value of " + name), Timestamp: sent,
			Headers: slices.Concat(old, foreign()[:3], form.headers, foreign()[3:]),
		})
	}
	f.produce(records...)
	for _, r := range records {
		ids[string(r.Key)] = fmt.Sprintf("%s-%d-%d", f.ingress, r.Partition, r.Offset)
	}
	out.await(len(want), 30*time.Second)
	out.settle()
	if all, again := out.count(); again != 0 {
		t.Errorf("%d records came, %d of them again", all, again)
	}
	for _, a := range out.all() {
		name := string(a.Key)
		w := want[name]
		if w.target == "" {
			w.target = f.egress
		}
		t.Run(name, func(t *testing.T) { checkDelivered(t, a, w, ids[name], sent) })
	}
}

// checkDelivered compares a delivered record with what was asked for.
func checkDelivered(t *testing.T, a arrival, want form, id string, sent time.Time) {
	if a.Topic != want.target {
		t.Errorf("delivered to %s, want %s", a.Topic, want.target)
	}
	if string(a.Value) != "value of "+string(a.Key) {
		t.Errorf("value %q", a.Value)
	}
	at := want.due
	if at.Before(sent) {
		at = sent
	}
	if a.Timestamp.Before(at) || a.received.Before(at) {
		t.Errorf("stamped %v, received %v before it is due", at.Sub(a.Timestamp), at.Sub(a.received))
	}
	// Loose on purpose: a machine may be busy, but no form may be read as another.
	if late := a.Timestamp.Sub(at); late > 5*time.Second {
		t.Errorf("%v late", late)
	}
	for name, value := range map[string]string{
		"layover-id": id, "layover-due": want.due.UTC().Format(instant), "layover-original-timestamp": sent.UTC().Format(instant),
		"layover-hops": "1",
	} {
		if got, _ := lookup(t, a.Record, name); got != value {
			t.Errorf("header %s is %q, want %q", name, got, value)
		}
	}
	rest := slices.DeleteFunc(slices.Clone(a.Headers), func(h kgo.RecordHeader) bool {
		return strings.HasPrefix(strings.ToLower(h.Key), "layover-")
	})
	if !slices.EqualFunc(rest, foreign(), sameHeader) {
		t.Errorf("other headers are %q, want %q", rest, foreign())
	}
}

// sameHeader tells null from empty.
func sameHeader(a, b kgo.RecordHeader) bool {
	return a.Key == b.Key && string(a.Value) == string(b.Value) && (a.Value == nil) == (b.Value == nil)
}

func TestARecordWithoutKeyOrValueStaysOne(t *testing.T) {
	t.Parallel()
	f := onSharedBroker(t, 1)
	f.layover()
	out := f.collect(f.egress)
	sent := time.Now().Truncate(time.Millisecond)
	delay := []kgo.RecordHeader{header("x-delay", "500ms")}
	// One partition, one batch and one delay: they come in order.
	f.produce(
		&kgo.Record{Value: []byte("no key"), Headers: delay, Timestamp: sent},
		&kgo.Record{Key: []byte("no value"), Headers: delay, Timestamp: sent},
		&kgo.Record{Key: []byte{}, Value: []byte{}, Headers: delay, Timestamp: sent},
	)
	eventually(t, 15*time.Second, "three records", func() bool { all, _ := out.count(); return all == 3 })
	kinds := make(map[[2]bool]int)
	for _, a := range out.all() {
		kinds[[2]bool{a.Key == nil, a.Value == nil}]++
	}
	for _, kind := range [][2]bool{{true, false}, {false, true}, {false, false}} {
		if kinds[kind] != 1 {
			t.Errorf("%d records with key null: %v, value null: %v; want 1", kinds[kind], kind[0], kind[1])
		}
	}
}
