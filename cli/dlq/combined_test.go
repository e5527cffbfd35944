package dlq

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/delay"
	"layover/verify/long"
)

// TestTheSameRecordIsSentAgainWhateverHeadersMeet: each choice among headers that matter to each
// other is read as Layover reads it, before and after. No record gets an id that it had not, none
// becomes a cancel, and its deadline, target and expiry are what they were.
func TestTheSameRecordIsSentAgainWhateverHeadersMeet(t *testing.T) {
	names, err := delay.NewNames([]delay.Mapping{{Name: "m-id", Format: delay.FormatID}, {Name: "m-wait", Format: delay.FormatS}, {Name: "m-try", Format: delay.FormatAttempt}},
		[]string{"etf1", "timebridge", "cloudevents"})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	rules := delay.Rules{Names: names, DefaultDelay: time.Second, MaxDelay: 240 * time.Hour, ExpireAfter: 10 * time.Second}
	rules.Targets, err = delay.NewTargets("ready", []string{"orders"}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	pool := pairs(
		"x-delay-id", "a", "m-id", "b", "x-delay", "5s", "m-wait", "7", "x-deliver-at", "2026-11-23T11:00:00Z", "scheduler-epoch", "1795435200",
		"X-Timebridge-When", "2026-11-23T13:00:00Z", "x-expire-at", "2026-11-24T00:00:00Z", "ce_expirytime", "2026-11-25T00:00:00Z",
		"m-try", "2", "x-delay-attempt", "3", "layover-hops", "4", "layover-id", "delayed-0-1", "scheduler-target-topic", "orders",
	)
	for chosen := 0; chosen < 1<<len(pool); chosen += long.Of(1, 7) {
		var was []kgo.RecordHeader
		for i, h := range pool {
			if chosen>>i&1 == 1 {
				was = append(was, h)
			}
		}
		for form := range 16 {
			w, reason := rewrite{names: names, keepID: form&1 > 0}, "rejected"
			if form&2 > 0 {
				reason = "expired"
			}
			if form&4 > 0 {
				w.delay = "9s"
			}
			old := &kgo.Record{Topic: "dead-letters", Key: []byte("k"), Value: []byte("v"), Timestamp: now, Headers: was}
			if form&8 > 0 {
				old.Value = nil
			}
			if fault := sameAgain(&rules, &w, old, reason, now); fault != "" {
				t.Fatalf("%q, %s, %+v, null %v: %s", was, reason, w, old.Value == nil, fault)
			}
		}
	}
}

// sameAgain returns a difference between a valid record and the one that is sent again from
// its letter, "" for none.
func sameAgain(rules *delay.Rules, w *rewrite, old *kgo.Record, reason string, now time.Time) string {
	before, inv := rules.Parse(old, now.UnixMilli())
	dead := *old
	dead.Headers = append(old.Headers[:len(old.Headers):len(old.Headers)], errata(reason)...)
	l, fault := read(&dead, w.names)
	if inv != nil || fault != "" {
		return fmt.Sprint(inv, fault)
	}
	if l.cancel() != before.Cancel {
		return fmt.Sprintf("cancel is %v, want %v", l.cancel(), before.Cancel)
	}
	if before.Cancel {
		return ""
	}
	record := w.record(&l, 4, now)
	again, inv := rules.Parse(record, now.UnixMilli())
	if inv != nil {
		return inv.Error()
	}
	want := before
	if !w.keepID {
		want.ID = nil
	}
	switch expired := reason == "expired"; {
	case w.delay != "":
		want.DeadlineMs = now.UnixMilli() + 9000
	case expired && before.PastDue:
		want.DeadlineMs = now.UnixMilli()
	}
	if byHeader := l.expires(); !byHeader || reason == "expired" {
		want.ExpireMs = want.DeadlineMs + 10_000
	}
	if again.Cancel || !bytes.Equal(again.ID, want.ID) || again.DeadlineMs != want.DeadlineMs || again.Target != want.Target || again.ExpireMs != want.ExpireMs {
		return fmt.Sprintf("sent again as %q: %+v\nwant %+v", record.Headers, again, want)
	}
	return ""
}

// expires reports whether the letter has an expiry of its own.
func (l *letter) expires() bool {
	for _, h := range l.Headers {
		if h.Key == "x-expire-at" || h.Key == "ce_expirytime" {
			return true
		}
	}
	return false
}
