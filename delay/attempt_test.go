package delay

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// The draws were worked out by a program of a few lines in another language, from the
// definitions of FNV-1a and SplitMix64. The first waits of 1s..1h were, too.
func TestJitterOfAPlaceNeverChanges(t *testing.T) {
	b := backoffOf(t, "1s..1h")
	for _, place := range []struct {
		topic     string
		partition int32
		offset    int64
		draw      uint64
		firstMs   int64
	}{
		{"retry", 0, 0, 0xc5c7e46b93e6, 996},
		{"retry", 0, 1, 0x8e65d5a1c9f03, 945},
		{"retry", 0, 2, 0x168fcc4ceb01c9, 859},
		{"retry", 1, 0, 0x18f6e074e6c5e5, 844},
		{"retry", 11, 0, 0x112488d1ffb653, 893},
		{"retry", 1, 10, 0x10d22344ba519f, 895},
		{"delayed", 3, 42, 0x1d96feac2756a5, 816},
		{"a-b", 2147483647, 9223372036854775807, 0x1dbb037a517cbd, 815},
		{"orders.retry_5", 12, 1_000_000, 0x1df1a845b7647a, 813},
	} {
		if got := draw(place.topic, place.partition, place.offset); got != place.draw || b.Wait(1, got) != place.firstMs {
			t.Errorf("%+v: got %#x, %d ms", place, got, b.Wait(1, got))
		}
		r := retries(t)
		d, inv := r.Parse(&kgo.Record{Topic: place.topic, Partition: place.partition, Offset: place.offset, Timestamp: time.UnixMilli(noon)}, noon)
		if inv != nil || d.DeadlineMs != noon+place.firstMs {
			t.Errorf("%+v: due %d ms after its timestamp, %v", place, d.DeadlineMs-noon, inv)
		}
	}
}

func TestJitterFillsTenBinsEvenlyWithAThousandOffsets(t *testing.T) {
	for _, topic := range []string{"retry", "orders.retry", "x"} {
		for _, start := range []int64{0, 990, 123_456, 1 << 40} {
			var bins [10]int
			for offset := start; offset < start+1000; offset++ {
				bins[draw(topic, 3, offset)*10>>drawBits]++
			}
			for i, n := range bins {
				if n < 60 || n > 140 {
					t.Errorf("%s from %d: bin %d has %d of a thousand: %v", topic, start, i, n, bins)
				}
			}
		}
	}
}

// retries are rules of a topic whose records all have the back-off 1s..1h.
func retries(t testing.TB) *Rules {
	r := testRules(t)
	r.Backoff = backoffOf(t, "10s..10m x3 jitter=0% max=3")
	r.TopicBackoff = backoffOf(t, "1s..1h")
	return r
}

func TestARecordThatIsReadLaterOrElsewhereHasTheSameDeadline(t *testing.T) {
	record := &kgo.Record{Topic: "retry", Partition: 2, Offset: 17, Timestamp: time.UnixMilli(noon),
		Headers: headers("x-delay-attempt", "4", "layover-id", "other-0-1", "layover-due", FormatTime(noon-1))}
	first, inv := retries(t).Parse(record, noon)
	if inv != nil || first.Attempt != 5 || !first.Delayed {
		t.Fatal(first, inv)
	}
	if waits := first.DeadlineMs - noon; waits < 12_800 || waits > 16_000 {
		t.Errorf("attempt 5 waits %d ms, want 16 s less up to a fifth", waits)
	}
	for _, later := range []int64{-time.Hour.Milliseconds(), 1, time.Hour.Milliseconds(), 100 * day.Milliseconds()} {
		again := *record
		again.Headers = headers("a", "b", "X-Delay-Attempt", "4", "layover-id", fmt.Sprint("another-", later), "layover-hops", "7")
		if d, inv := retries(t).Parse(&again, noon+later); inv != nil || d.DeadlineMs != first.DeadlineMs || d.Attempt != 5 {
			t.Errorf("%d ms later: %+v, %v, at first %+v", later, d, inv, first)
		}
	}
	record.Offset++
	if d, _ := retries(t).Parse(record, noon); d.DeadlineMs == first.DeadlineMs {
		t.Error("the next record has the same share of jitter")
	}
}

func TestWhichBackoffApplies(t *testing.T) {
	tests := map[string]struct {
		in      []kgo.RecordHeader
		waitMs  int64
		attempt int64
		carries string // x-delay-attempt of the delivery; "-": none
	}{
		"the header's own":           {headers("x-delay", "20s..1h x1.5 jitter=0%", "x-delay-attempt", "1"), 30_000, 2, "2"},
		"the setting's by auto":      {headers("x-delay", "auto"), 10_000, 1, "1"},
		"the last attempt":           {headers("x-delay", "auto", "x-delay-attempt", "2"), 90_000, 3, "3"},
		"the last header of a name":  {headers("x-delay", "5s", "x-delay-attempt", "x", "X-DELAY", "auto", "X-Delay-Attempt", "1"), 30_000, 2, "2"},
		"zeros in front":             {headers("x-delay", "auto", "x-delay-attempt", "001"), 30_000, 2, "2"},
		"none beside an instant":     {headers("x-delay", "auto", "x-deliver-at", FormatTime(noon+5), "x-delay-attempt", "x"), 5, 0, "x"},
		"none beside another delay":  {headers("x-delay", "5s", "x-delay-attempt", "9000000"), 5000, 0, "9000000"},
		"no end":                     {headers("x-delay", "1s..2s jitter=0% max=0", "x-delay-attempt", "999999"), 2000, 1_000_000, "1000000"},
		"no end, and the count ends": {headers("x-delay", "1s..2s jitter=0% max=0", "x-delay-attempt", "1000000"), 2000, 1_000_000, "1000000"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := retries(t)
			d, inv := r.parse(test.in, noon, noon)
			if inv != nil || d.DeadlineMs != noon+test.waitMs || d.Attempt != test.attempt || !d.Delayed || d.Exhausted {
				t.Errorf("%+v, %v", d, inv)
			}
			delivered := r.AppendDelivered(nil, test.in, origin, d.DeadlineMs, Whole, nil)
			carries := "-"
			for _, h := range delivered {
				if strings.EqualFold(h.Key, HeaderAttempt) {
					carries = string(h.Value)
				}
			}
			if carries != test.carries {
				t.Errorf("carries %q: %q", carries, delivered)
			}
		})
	}
	if d, inv := testRules(t).parse(headers("x-delay-attempt", "x"), noon, noon); inv != nil || d.Attempt != 0 || d.Delayed {
		t.Errorf("without a back-off: %+v, %v", d, inv)
	}
}

func TestTheWaitCountsFromTheTimestampOrTheDeadlineBefore(t *testing.T) {
	const hour = 3_600_000
	auto := func(due string) []kgo.RecordHeader { return headers("x-delay", "auto", "layover-due", due) }
	tests := map[string]struct {
		in        []kgo.RecordHeader
		timestamp int64
		due       int64
	}{
		"the timestamp is later":      {auto(FormatTime(noon - 1)), noon, noon + 10_000},
		"a client keeps timestamps":   {auto(FormatTime(noon)), noon - hour, noon + 10_000},
		"no timestamp":                {auto(FormatTime(noon)), -1, noon + 10_000},
		"a malformed one is ignored":  {auto("soon"), noon, noon + 10_000},
		"the last of two":             {append(auto(FormatTime(noon)), headers("Layover-Due", FormatTime(noon+7))...), noon, noon + 10_007},
		"an hour ahead of the clock":  {auto(FormatTime(noon + hour)), noon, noon + hour + 10_000},
		"only a back-off looks at it": {headers("x-delay", "10s", "layover-due", FormatTime(noon+hour)), noon, noon + 10_000},
	}
	for name, test := range tests {
		if d, inv := retries(t).parse(test.in, test.timestamp, noon); inv != nil || d.DeadlineMs != test.due {
			t.Errorf("%s: due %d after noon, want %d, %v", name, d.DeadlineMs-noon, test.due-noon, inv)
		}
	}
}

func TestAttemptsThatAreInvalid(t *testing.T) {
	far := FormatTime(noon + 10*day.Milliseconds())
	tests := map[string]struct {
		in        []kgo.RecordHeader
		timestamp int64
		reason    Reason
		message   string
	}{
		"no attempt left": {headers("x-delay", "auto", "x-delay-attempt", "3"), noon, ReasonAttemptsExhausted,
			`header x-delay-attempt "3": back-off 10s..10m x3 jitter=0% max=3 ends with attempt 3`},
		"the default of 16": {headers("x-delay-attempt", "16"), noon, ReasonAttemptsExhausted,
			`header x-delay-attempt "16": back-off 1s..1h x2 jitter=20% max=16 ends with attempt 16`},
		"one attempt alone": {headers("x-delay", "1s..1s max=1", "x-delay-attempt", "1"), noon, ReasonAttemptsExhausted, ""},
		"the highest end":   {headers("x-delay", "1s..1s max=1000000", "x-delay-attempt", "1000000"), noon, ReasonAttemptsExhausted, ""},
		"words":             {headers("x-delay-attempt", "three"), noon, ReasonMalformedAttempt, `header x-delay-attempt "three": want digits, at most 1000000`},
		"nothing":           {headers("x-delay-attempt", ""), noon, ReasonMalformedAttempt, ""},
		"null":              {[]kgo.RecordHeader{{Key: "x-delay-attempt"}}, noon, ReasonMalformedAttempt, `header x-delay-attempt null: want digits, at most 1000000`},
		"a sign":            {headers("x-delay-attempt", "-1"), noon, ReasonMalformedAttempt, ""},
		"blanks":            {headers("x-delay-attempt", " 1"), noon, ReasonMalformedAttempt, ""},
		"binary":            {headers("x-delay-attempt", "\x00\x00\x00\x01"), noon, ReasonMalformedAttempt, ""},
		"too many":          {headers("x-delay-attempt", "1000001"), noon, ReasonMalformedAttempt, ""},
		"overflow":          {headers("x-delay-attempt", "99999999999999999999"), noon, ReasonMalformedAttempt, ""},
		"no instant at all": {headers("x-delay", "auto"), -1, ReasonNoTimestamp, `header x-delay "auto": want a record timestamp to count from, or x-deliver-at`},
		"of a topic":        {headers("layover-due", "x"), 0, ReasonNoTimestamp, `back-off 1s..1h x2 jitter=20% max=16: want a record timestamp to count from, or x-deliver-at`},
		"a last wait above the maximum": {headers("x-delay", "1s..6d1ns"), noon, ReasonDelayTooLong,
			`header x-delay "1s..6d1ns": want at most 6d (LAYOVER_MAX_DELAY) after 2026-03-01T13:00:00.000Z`},
		"a deadline before from next week": {headers("x-delay", "1s..1h jitter=0%", "layover-due", far), noon, ReasonFutureTimestamp,
			`header x-delay "1s..1h jitter=0%": due 2026-03-11T13:00:01.000Z by its layover-due 2026-03-11T13:00:00.000Z, want at most 6d (LAYOVER_MAX_DELAY) and one hour after the clock's 2026-03-01T13:00:00.000Z`},
		"malformed":              {headers("x-delay", "1h..1s"), noon, ReasonMalformedDelay, `header x-delay "1h..1s": ` + string(faultBackoffLast)},
		"auto in capitals":       {headers("x-delay", "AUTO"), noon, ReasonMalformedDelay, `header x-delay "AUTO": ` + wantDelay},
		"malformed, and a count": {headers("x-delay", "1s..", "x-delay-attempt", "x"), noon, ReasonMalformedDelay, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := retries(t)
			d, inv := r.parse(test.in, test.timestamp, noon)
			if inv == nil || inv.Reason != test.reason || test.message != "" && inv.Message != test.message {
				t.Fatalf("%+v, %v", d, inv)
			}
			if d.Attempt != 0 || d.Delayed {
				t.Errorf("an invalid record asks for %+v", d)
			}
			delivered := r.AppendDelivered(nil, test.in, origin, noon, Refused|Bare, nil)
			if want := without(test.in, "x-delay", "layover-due"); !reflect.DeepEqual(delivered, want) {
				t.Errorf("delivered with %q, want %q", delivered, want)
			}
		})
	}
	if _, inv := testRules(t).parse(headers("x-delay", "auto"), noon, noon); inv == nil || inv.Reason != ReasonMalformedDelay {
		t.Errorf("auto without a setting: %v", inv)
	}
}

// At once would be a loop without a pause.
func TestWhereInvalidRecordsAreDeliveredAttemptsHaveNoEnd(t *testing.T) {
	r := retries(t)
	r.DeliverInvalid = true
	for _, had := range []string{"3", "4", "1000000"} {
		in := headers("a", "b", "x-delay", "auto", "x-delay-attempt", had)
		d, inv := r.parse(in, noon, noon)
		if inv != nil || !d.Delayed || !d.Exhausted || d.DeadlineMs != noon+600_000 {
			t.Errorf("%s: %+v, %v", had, d, inv)
		}
		if got, want := r.AppendDelivered(nil, in, origin, d.DeadlineMs, Bare, nil), headers("a", "b", "x-delay-attempt", had); !reflect.DeepEqual(got, want) {
			t.Errorf("delivered with %q, want %q", got, want)
		}
		if ended := r.Exhausted(in); ended == nil || ended.Reason != ReasonAttemptsExhausted {
			t.Errorf("%s: %v", had, ended)
		}
	}
	for _, in := range [][]kgo.RecordHeader{headers("x-delay", "auto", "x-delay-attempt", "2"), headers("x-delay", "auto", "x-delay-attempt", "x"), headers("x-delay", "5s", "x-delay-attempt", "99")} {
		if ended := r.Exhausted(in); ended != nil {
			t.Errorf("%q: %v", in, ended)
		}
	}
	if d, inv := r.parse(headers("x-delay", "auto", "x-delay-attempt", "x"), noon, noon); inv == nil || d.Delayed {
		t.Errorf("a malformed count: %+v, %v", d, inv)
	}
}

func TestADeliveryReplacesEveryAttemptByOne(t *testing.T) {
	r := retries(t)
	in := headers("a", "1", "x-delay-attempt", "9", "b", "2", "X-Delay-Attempt", "3", "c", "3", "layover-id", "retry-0-1", "layover-hops", "3")
	want := headers("z", "0", "a", "1", "b", "2", "c", "3", "x-delay-attempt", "4", "layover-hops", "4",
		"layover-id", "delayed-3-42", "layover-due", "2026-03-01T13:00:05.000Z", "layover-original-timestamp", "2026-03-01T13:00:00.000Z")
	got := r.AppendDelivered(headers("z", "0"), in, origin, noon+5000, Whole, nil)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	for i := range got {
		if len(got[i].Value) > 1 && cap(got[i].Value) > len(got[i].Value) && got[i].Key == HeaderAttempt {
			t.Errorf("%s has room over the next value", got[i].Key)
		}
	}
	bare := r.AppendDelivered(nil, in, origin, noon+5000, Bare, nil)
	if want = headers("a", "1", "b", "2", "c", "3", "x-delay-attempt", "4", "layover-hops", "4"); !reflect.DeepEqual(bare, want) {
		t.Errorf("got  %q\nwant %q without ours", bare, want)
	}
}
