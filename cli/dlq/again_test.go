package dlq

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/delay"
)

func TestARecordIsSentAgainWithWhatItHad(t *testing.T) {
	was := pairs(
		"trace", "1", "x-delay", "5s", "X-Deliver-At", "2026-01-01T00:00:00Z", "x-deliver-to", "orders", "X-Delay-ID", "order-17",
		"x-expire-at", "2030-01-01T00:00:00Z", "x-delay-attempt", "3", "Layover-Hops", "4", "layover-id", "delayed-0-1", "layover-due", "2026-01-01T00:00:00.000Z",
		"layover-redriven", "dead-letters-0-1", "trace", "2", "layover.errors.custom", "mine",
	)
	without := func(names ...string) []kgo.RecordHeader {
		return slices.DeleteFunc(slices.Clone(was), func(h kgo.RecordHeader) bool { return slices.Contains(names, h.Key) })
	}
	counted := []string{"x-delay-attempt", "Layover-Hops", "layover-redriven"}
	for name, test := range map[string]struct {
		rewrite
		reason string
		want   []kgo.RecordHeader
	}{
		"as it was":        {rewrite{}, "target_unavailable", without(append(counted, "X-Delay-ID")...)},
		"with its id":      {rewrite{keepID: true}, "target_unavailable", without(counted...)},
		"when expired":     {rewrite{}, "expired", append(without(append(counted, "X-Delay-ID", "x-expire-at", "x-delay", "X-Deliver-At")...), pairs("x-delay", "0")...)},
		"with a new delay": {rewrite{delay: "1h"}, "delay_too_long", append(without(append(counted, "X-Delay-ID", "x-delay", "X-Deliver-At")...), pairs("x-delay", "1h")...)},
	} {
		t.Run(name, func(t *testing.T) {
			l := letterWith(t, append(slices.Clone(was), errata(test.reason)...))
			now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
			r := test.record(&l, 4, now)
			want := append(test.want, pairs("layover-redriven", "dead-letters-2-7")...)
			if !reflect.DeepEqual(r.Headers, want) {
				t.Errorf("headers %q\nwant    %q", r.Headers, want)
			}
			if r.Topic != "delayed" || r.Partition != 1 || string(r.Key) != "k" || string(r.Value) != "v" || !r.Timestamp.Equal(now) {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestHeadersOfOthersAreTakenOffLikeOurs: what another product's header stands for decides, and a
// schedule of etf1 is sent again without the id that its key was.
func TestHeadersOfOthersAreTakenOffLikeOurs(t *testing.T) {
	names, err := delay.NewNames([]delay.Mapping{{Name: "m-try", Format: delay.FormatAttempt}, {Name: "m-id", Format: delay.FormatID}, {Name: "m-wait", Format: delay.FormatS}}, []string{"etf1", "cloudevents"})
	if err != nil {
		t.Fatal(err)
	}
	epoch, at := pairs("scheduler-epoch", "1772373600"), pairs("x-deliver-at", "2026-03-01T14:00:00.000Z")
	key := pairs("Scheduler-Target-Key", "k2")
	ahead := pairs("scheduler-epoch", "4102444800")
	for name, test := range map[string]struct {
		rewrite
		reason string
		was    []kgo.RecordHeader
		want   []kgo.RecordHeader
	}{
		"a count and an id":         {rewrite{}, "rejected", pairs("M-Try", "16", "m-id", "a", "m-wait", "5", "ce_expirytime", "0"), pairs("m-wait", "5", "ce_expirytime", "0")},
		"an id that is kept":        {rewrite{keepID: true}, "rejected", pairs("m-id", "a"), pairs("m-id", "a")},
		"an expiry that has come":   {rewrite{}, "expired", pairs("ce_expirytime", "0", "x-delay", "5s"), pairs("x-delay", "5s")},
		"another delay":             {rewrite{delay: "auto"}, "rejected", slices.Concat(pairs("m-wait", "5"), epoch, at), pairs("x-delay", "auto")},
		"a schedule":                {rewrite{}, "rejected", append(slices.Clone(key), epoch...), append(slices.Clone(key), at...)},
		"a schedule that is kept":   {rewrite{keepID: true}, "rejected", epoch, epoch},
		"a schedule with a delay":   {rewrite{delay: "1h"}, "rejected", epoch, pairs("x-delay", "1h")},
		"a schedule that is none":   {rewrite{}, "malformed_deliver_at", pairs("scheduler-epoch", "soon"), pairs("scheduler-epoch", "soon")},
		"an instant beside another": {rewrite{}, "rejected", slices.Concat(epoch, at), slices.Concat(epoch, at)},

		// What else redrive takes off must make no schedule of a record that was none.
		"a schedule by ours alone":        {rewrite{}, "rejected", slices.Concat(epoch, pairs("x-delay-id", "a")), at},
		"a retry that counts anew":        {rewrite{keepID: true}, "rejected", slices.Concat(epoch, pairs("x-delay-attempt", "3")), at},
		"a schedule by ours that expired": {rewrite{}, "expired", slices.Concat(ahead, pairs("x-expire-at", "0")), pairs("x-deliver-at", "2100-01-01T00:00:00.000Z")},
		"an id and a delay":               {rewrite{keepID: true, delay: "1h"}, "rejected", epoch, pairs("x-delay", "1h", "x-delay-id", "k")},
		"an id of its own and a delay":    {rewrite{keepID: true, delay: "1h"}, "rejected", slices.Concat(pairs("m-id", "a"), epoch), pairs("m-id", "a", "x-delay", "1h")},

		// An instant that has passed would let LAYOVER_EXPIRE_AFTER end the record again.
		"expired after its instant":   {rewrite{}, "expired", at, pairs("x-delay", "0")},
		"expired after its schedule":  {rewrite{}, "expired", epoch, pairs("x-delay", "0")},
		"expired before its instant":  {rewrite{}, "expired", pairs("X-Deliver-At", "2100-01-01T00:00:00Z"), pairs("X-Deliver-At", "2100-01-01T00:00:00Z")},
		"expired, to wait once more":  {rewrite{delay: "5s"}, "expired", at, pairs("x-delay", "5s")},
		"expired after a delay":       {rewrite{}, "expired", pairs("x-delay", "5s"), pairs("x-delay", "5s")},
		"expired with no such header": {rewrite{}, "expired", nil, nil},
		"a delay of ours over theirs": {rewrite{}, "expired", slices.Concat(epoch, pairs("x-delay", "5s")), slices.Concat(epoch, pairs("x-delay", "5s"))},
	} {
		test.names = names
		r := &kgo.Record{Topic: "dead-letters", Partition: 2, Offset: 7, Key: []byte("k"), Value: []byte("v"), Headers: append(test.was, errata(test.reason)...)}
		l, fault := read(r, names)
		if fault != "" {
			t.Fatal(fault)
		}
		again := test.record(&l, 4, time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC))
		if want := append(test.want, pairs("layover-redriven", "dead-letters-2-7")...); !reflect.DeepEqual(again.Headers, want) {
			t.Errorf("%s: headers %q\nwant    %q", name, again.Headers, want)
		}
	}
}

// TestANullOfEtf1IsACancelUnlessItsValueWasDropped: and without the preset it is a record.
func TestANullOfEtf1IsACancelUnlessItsValueWasDropped(t *testing.T) {
	etf1, err := delay.NewNames(nil, []string{"etf1"})
	if err != nil {
		t.Fatal(err)
	}
	dropped := pairs("layover.errors.value", "dropped")
	for name, test := range map[string]struct {
		names   *delay.Names
		headers []kgo.RecordHeader
		want    obstacle
	}{
		"a null":             {etf1, nil, cancels},
		"a dropped value":    {etf1, dropped, valueless},
		"a delay of ours":    {etf1, pairs("x-delay", "5s"), none},
		"written back":       {etf1, pairs("layover-id", "delayed-0-1"), none},
		"without the preset": {nil, nil, none},
		"our own cancel":     {nil, append(pairs("x-delay-cancel", "true"), dropped...), cancels},
	} {
		l, fault := read(&kgo.Record{Key: []byte("k"), Headers: append(test.headers, errata("rejected")...)}, test.names)
		if got := new(routes).obstacle(&l); fault != "" || got != test.want {
			t.Errorf("%s: %q %s, want %q", name, got, fault, test.want)
		}
	}
}

// TestANullIsSentAgainAsNoCancel: one header of ours, an id, a count or an expiry, kept a null
// from being a cancel of etf1. It is still none when that header is taken off.
func TestANullIsSentAgainAsNoCancel(t *testing.T) {
	etf1, err := delay.NewNames(nil, []string{"etf1"})
	if err != nil {
		t.Fatal(err)
	}
	rules := delay.Rules{Names: etf1, DefaultDelay: time.Minute, MaxDelay: time.Hour, Targets: new(delay.Targets)}
	for name, was := range map[string][]kgo.RecordHeader{
		"an id":            pairs("x-delay-id", "order-17"),
		"a malformed id":   pairs("x-delay-id", ""),
		"a count":          pairs("x-delay-attempt", "3"),
		"hops":             pairs("layover-hops", "3"),
		"an expiry":        pairs("x-expire-at", "0"),
		"an id, an epoch":  pairs("x-delay-id", "order-17", "scheduler-epoch", "1772373600"),
		"a malformed one":  pairs("x-delay-id", "order-17", "scheduler-epoch", "soon"),
		"an id of another": pairs("x-delay-id", "order-17", "layover-id", "delayed-0-1"),
	} {
		l, fault := read(&kgo.Record{Topic: "dead-letters", Key: []byte("k"), Headers: append(was, errata("expired")...)}, etf1)
		if why := new(routes).obstacle(&l); fault != "" || why != none {
			t.Fatalf("%s: %q %s", name, why, fault)
		}
		w := rewrite{names: etf1}
		again := w.record(&l, 4, time.Now())
		if d, _ := rules.Parse(again, time.Now().UnixMilli()); d.Cancel || d.ID != nil {
			t.Errorf("%s: sent again as %q, which ends the record of id %q", name, again.Headers, d.ID)
		}
	}
}

// TestARecordThatIsSentAgainHasMemoryOfItsOwn: it would keep all that its letter was fetched
// with while it waits for its answer, also the letters that filters leave out.
func TestARecordThatIsSentAgainHasMemoryOfItsOwn(t *testing.T) {
	l := letterWith(t, append(pairs("trace", "1", "null", ""), errata("rejected")...))
	l.Key, l.Value, l.Headers[1].Value = []byte("key"), []byte("value"), nil
	r := new(rewrite).record(&l, 4, time.Now())
	want := fmt.Sprint(r)
	copy(l.Key, "xxx")
	copy(l.Value, "xxxxx")
	copy(l.Headers[0].Value, "x")
	if got := fmt.Sprint(r); got != want || r.Headers[1].Value != nil {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got, want := sizeOf(r), int64(len("key"+"value"+"trace"+"1"+"null"+"layover-redriven"+"dead-letters-2-7")); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
}

func TestANullValueThatTheRecordHadStaysNull(t *testing.T) {
	l := letterWith(t, errata("rejected"))
	l.Key, l.Value = nil, nil
	if r := new(rewrite).record(&l, 4, time.Now()); r.Key != nil || r.Value != nil {
		t.Errorf("key %q, value %q", r.Key, r.Value)
	}
}

// The hashes are those in the tests of the Java client; the partition is what is left of
// one without its sign.
func TestTheKeyChoosesWhereThePartitionIsGone(t *testing.T) {
	for key, hash := range map[string]int32{"21": -973932308, "foobar": -790332482, "abc": 479470107, "a-little-bit-long-string": -985981536} {
		want := hash & 0x7fffffff % 10
		l := letterWith(t, errata("rejected"))
		l.Key, l.origin.Partition = []byte(key), 10
		if r := new(rewrite).record(&l, 10, time.Now()); r.Partition != want {
			t.Errorf("%s: partition %d, want %d", key, r.Partition, want)
		}
		l.origin.Partition = 9
		if r := new(rewrite).record(&l, 10, time.Now()); r.Partition != 9 {
			t.Errorf("%s: partition %d though its own is there", key, r.Partition)
		}
	}
	l := letterWith(t, errata("rejected"))
	l.Key, l.origin.Partition = nil, 10
	if r := new(rewrite).record(&l, 1, time.Now()); r.Partition != 0 {
		t.Errorf("without a key: partition %d", r.Partition)
	}
}
