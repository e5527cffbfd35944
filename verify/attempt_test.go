package verify

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

var backoff = Backoff{First: time.Second, Last: time.Hour, Factor: 200, Jitter: 20, Max: 3}

// The waits were worked out by a program in another language.
func TestAWaitIsThatOfItsPlace(t *testing.T) {
	if got := backoff.Wait(1, "retry", 0, 0); got != 996*time.Millisecond {
		t.Errorf("got %v", got)
	}
	if got := backoff.Wait(1, "a-b", 2147483647, 9223372036854775807); got != 815*time.Millisecond {
		t.Errorf("got %v", got)
	}
	plain := Backoff{First: time.Second, Last: time.Hour, Factor: 150}
	for n, ms := range map[int64]int64{1: 1000, 2: 1500, 5: 5063, 20: 2_216_838, 100: 3_600_000} {
		if got := plain.Wait(n, "retry", 0, 0).Milliseconds(); got != ms {
			t.Errorf("attempt %d waits %d ms, want %d", n, got, ms)
		}
	}
}

// retry is a record whose delivery failed twice, as its consumer writes it back: with the
// timestamp and all headers of the delivery.
func retry(attempt string, more ...Header) Sent {
	return Sent{ID: "r", To: ready, Backoff: backoff, Record: Record{Topic: "retry", Timestamp: sentAt, Headers: append([]Header{
		{IDHeader, []byte("r")}, {"x-delay-attempt", []byte(attempt)}, {"layover-id", []byte("retry-0-7")}, {"layover-hops", []byte("1")},
		{"layover-due", []byte("2030-01-02T03:05:00.000Z")}, {"layover-original-timestamp", []byte("2030-01-02T03:04:00.000Z")},
	}, more...)}}
}

func TestTheLedgerKnowsAttempts(t *testing.T) {
	wait := backoff.Wait(3, "retry", 1, 5)
	due := time.Date(2030, 1, 2, 3, 5, 0, 0, time.UTC).Add(wait)
	delivered := func(attempt, hops string, at time.Time) Record {
		return Record{Topic: ready, Timestamp: at, Headers: []Header{
			{IDHeader, []byte("r")}, {"x-delay-attempt", []byte(attempt)}, {"layover-hops", []byte(hops)}, {"layover-id", []byte("retry-1-5")},
			{"layover-due", []byte(formatted(due))}, {"layover-original-timestamp", []byte(formatted(sentAt))},
		}}
	}
	buried := func(attempt, reason string) Record {
		headers := slices.Clone(retry(attempt).Record.Headers)
		for _, h := range []string{"topic=retry", "partition=1", "offset=5", "group=g", "reason=" + reason, "message=why", "timestamp=2030-01-02T03:05:05.006Z"} {
			name, value, _ := strings.Cut(h, "=")
			headers = append(headers, Header{"layover.errors." + name, []byte(value)})
		}
		return Record{Topic: dead, Timestamp: sentAt, Headers: headers}
	}
	tests := map[string]struct {
		sent    Sent
		arrived Record
		fault   string // a part; "" for none
	}{
		"raised by one":            {retry("2"), delivered("3", "2", due), ""},
		"not raised":               {retry("2"), delivered("2", "2", due), `x-delay-attempt is "2", want "3"`},
		"hops that stand still":    {retry("2"), delivered("3", "1", due), `layover-hops is "1", want "2"`},
		"a share too early":        {retry("2"), delivered("3", "2", due.Add(-time.Millisecond)), "1ms before it is due"},
		"one attempt too many":     {retry("3"), delivered("4", "2", due), "which belongs to dead letters as attempts_exhausted"},
		"none left":                {retry("3"), buried("3", "attempts_exhausted"), ""},
		"none left, and counted":   {retry("3"), buried("4", "attempts_exhausted"), "x-delay-attempt"},
		"buried before its end":    {retry("2"), buried("2", "attempts_exhausted"), "want one of"},
		"none left by another due": {retry("3"), buried("3", "delay_too_long"), "want one of"},
	}
	for name, test := range tests {
		l := NewLedger(dead)
		l.Enter(test.sent)
		l.Acked("r", 1, 5)
		r := Check(l, []Record{test.arrived})
		if text := fmt.Sprint(r); (test.fault == "") != (r.Err() == nil) || !strings.Contains(text, test.fault) {
			t.Errorf("%s: want %q in\n%s", name, test.fault, text)
		}
	}
}
