package daemon

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// addedOf returns the names of the headers of a record that Layover has, sorted.
func addedOf(r *kgo.Record) []string {
	names := map[string]bool{}
	for _, h := range r.Headers {
		if strings.HasPrefix(h.Key, "layover") || strings.HasPrefix(h.Key, "x-delay") {
			names[h.Key] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// TestDeliveriesHaveTheAddedHeadersThatTheSettingNames, records that pass once, that come back,
// and that have a back-off. Dead letters have all that they ever have.
func TestDeliveriesHaveTheAddedHeadersThatTheSettingNames(t *testing.T) {
	const id, due, original, hops, attempt = "layover-id", "layover-due", "layover-original-timestamp", "layover-hops", "x-delay-attempt"
	for setting, want := range map[string]struct{ once, again, retry []string }{
		"":       {[]string{due, id, original}, []string{due, hops, id, original}, []string{due, id, original, attempt}},
		"id":     {[]string{id}, []string{hops, id}, []string{due, id, attempt}},
		"due":    {[]string{due, hops}, []string{due, hops}, []string{due, hops, attempt}},
		"Due,ID": {[]string{due, id}, []string{due, hops, id}, []string{due, id, attempt}},
		"none":   {[]string{hops}, []string{hops}, []string{due, hops, attempt}},
	} {
		t.Run(setting, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				in := w.start("LAYOVER_ADDED_HEADERS=" + setting)
				in.ready()
				w.send(0, "once", header("x-delay", "1s"))
				w.send(0, "again", header(id, "delayed-0-77"), header(due, "2020-01-01T00:00:00.000Z"), header("x-delay", "1s"))
				w.send(0, "retry", header("x-delay", "auto"))
				w.send(0, "bad", header(id, "delayed-0-77"), header(hops, "3"), header("x-delay", "soon"))
				got := map[string]*kgo.Record{}
				for _, r := range w.arrives(egress, 3, 10*time.Second) {
					got[string(r.Value)] = r
				}
				for value, names := range map[string][]string{"once": want.once, "again": want.again, "retry": want.retry} {
					if have := addedOf(got[value]); !slices.Equal(have, names) {
						t.Errorf("%s has %v, want %v", value, have, names)
					}
				}
				if n := get(got["once"], hops); n != "" && n != "0" {
					t.Errorf("a record that was never delivered has %s hops", n)
				}
				if n := get(got["again"], hops); n != "1" {
					t.Errorf("a record that was delivered has %q hops", n)
				}
				letter := w.arrives(dlq, 1, 10*time.Second)[0]
				all := []string{hops, id, "layover.errors.group", "layover.errors.message", "layover.errors.offset",
					"layover.errors.partition", "layover.errors.reason", "layover.errors.timestamp", "layover.errors.topic", "x-delay"}
				if have := addedOf(letter); !slices.Equal(have, all) || get(letter, id) != "delayed-0-77" {
					t.Errorf("the letter has %v, want %v", letter.Headers, all)
				}
				in.stop()
			})
		})
	}
}

// TestWithoutAddedHeadersTwoLayoversThatDeliverToEachOtherEnd, also where one of them adds all.
// The delay lets time pass in a circle that does not end.
func TestWithoutAddedHeadersTwoLayoversThatDeliverToEachOtherEnd(t *testing.T) {
	for _, other := range []string{"none", "id,due,original-timestamp"} {
		inBubble(t, func(w *fixture) {
			w.createTopics(1, "there", "back")
			a := w.start("LAYOVER_INGRESS_TOPICS=there", "LAYOVER_EGRESS_TOPIC=back", "LAYOVER_MAX_HOPS=20", "LAYOVER_DEFAULT_DELAY=100ms", "LAYOVER_ADDED_HEADERS=none")
			b := w.start("LAYOVER_INGRESS_TOPICS=back", "LAYOVER_EGRESS_TOPIC=there", "LAYOVER_MAX_HOPS=20", "LAYOVER_DEFAULT_DELAY=100ms", "LAYOVER_ADDED_HEADERS="+other)
			a.ready()
			b.ready()
			w.sendTo("there", 0, "around", header("trace", "t"))
			letter := w.arrives(dlq, 1, 10*time.Second)[0]
			if get(letter, "layover.errors.reason") != "too_many_hops" || get(letter, "layover-hops") != "20" || get(letter, "trace") != "t" {
				t.Errorf("beside %s the letter has %v", other, letter.Headers)
			}
			time.Sleep(time.Second)
			if n := w.count("there") + w.count("back"); n != 22 { // the first, its delivery, and twenty hops
				t.Errorf("beside %s: %d records, want 22", other, n)
			}
			a.stop()
			b.stop()
		})
	}
}

// TestWithoutAddedHeadersAClientThatKeepsTimestampsWaitsBetweenItsAttempts: from the timestamp
// alone its second attempt would be due before it is written.
func TestWithoutAddedHeadersAClientThatKeepsTimestampsWaitsBetweenItsAttempts(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_ADDED_HEADERS=none", "LAYOVER_BACKOFF=1m..1m jitter=0%")
		in.ready()
		first := time.Now()
		headers := []kgo.RecordHeader{header("x-delay", "auto")}
		for n := 1; n <= 4; n++ {
			w.Produce(&kgo.Record{Topic: ingress, Key: []byte("again"), Value: []byte("again"), Timestamp: first, Headers: headers})
			time.Sleep(time.Until(first.Add(time.Duration(n)*time.Minute - time.Second)))
			if got := w.count(egress); got != n-1 {
				t.Fatalf("%d deliveries before attempt %d is due", got, n)
			}
			r := w.arrives(egress, n, 5*time.Second)[n-1]
			headers = append(r.Headers, header("x-delay", "auto"))
		}
		in.stop()
	})
}
