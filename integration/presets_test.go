package integration

import (
	"bytes"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// withoutNUL is an instant of about now+d whose six bytes an argument of a command can hold.
func withoutNUL(d time.Duration) (at time.Time, minimal string) {
	for at = time.Now().Add(d).Truncate(time.Millisecond); ; at = at.Add(time.Millisecond) {
		if minimal = bigEndian(at.UnixMilli(), 6); !strings.Contains(minimal, "\x00") {
			return at, minimal
		}
	}
}

// writes writes one record with a key, a value, and headers as NAME=VALUE, to the ingress topic.
// An empty value is a null.
func (f *fixture) writes(key, value string, headers ...string) {
	f.Helper()
	args := []string{"-P", "-t", f.ingress, "-K", "\t", "-Z"}
	for _, h := range headers {
		args = append(args, "-H", h)
	}
	f.kcat(key+"\t"+value+"\n", args...)
}

// TestEachPresetFromTheBytesThatKcatWritesToTheDelivery: each is delivered when its product
// says, to the target that it names, and without the headers that said so.
func TestEachPresetFromTheBytesThatKcatWritesToTheDelivery(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("kcat"); err != nil {
		t.Skip("skipped: the records are written with kcat, which is not installed")
	}
	f := onSharedBroker(t, 3)
	orders := f.egress + ".orders"
	f.createTopic(orders, 6, nil)
	p := f.layover("LAYOVER_HEADERS=spring,etf1,timebridge,watermill,http,amqp,cloudevents", "LAYOVER_HEADER_MAP=X-Wait=s,X-Where=target",
		"LAYOVER_TARGETS_ALLOWED="+orders)
	out, dead := f.collect(f.egress, orders), f.collect(f.deadLetters)

	type expected struct {
		at    time.Time     // an instant
		wait  time.Duration // or after the record's timestamp
		topic string
		kept  []string // headers beside what is stamped
	}
	second := func(d time.Duration) time.Time { return time.Now().Add(d).Truncate(time.Second).UTC() }
	want := make(map[string]expected)
	send := func(key string, e expected, headers ...string) {
		t.Helper()
		if e.topic == "" {
			e.topic = f.egress
		}
		want[key] = e
		f.writes(key, "value of "+key, headers...)
	}

	at, minimal := withoutNUL(5 * time.Second)
	send("spring", expected{at: at, kept: []string{"retry_topic-attempts"}}, "retry_topic-backoff-timestamp="+minimal, "retry_topic-attempts=\x01")
	when := second(5 * time.Second)
	send("timebridge", expected{at: when, topic: orders}, "X-Timebridge-When="+when.Format(time.RFC3339), "X-Timebridge-Where="+orders)
	send("watermill", expected{at: when}, "_watermill_delayed_until="+when.Format(time.RFC3339), "_watermill_delayed_for=5s")
	send("watermill-for", expected{wait: 1500 * time.Millisecond}, "_watermill_delayed_for=1.5s")
	send("http-seconds", expected{wait: 3 * time.Second}, "Retry-After=3")
	send("http-date", expected{at: when}, "Retry-After="+when.Format("Mon, 02 Jan 2006 15:04:05 GMT"))
	send("http-850", expected{at: when}, "Retry-After="+when.Format("Monday, 02-Jan-06 15:04:05 GMT"))
	send("http-asctime", expected{at: when}, "Retry-After="+when.Format("Mon Jan _2 15:04:05 2006"))
	send("amqp-time", expected{at: when}, "x-opt-delivery-time="+strconv.FormatInt(when.UnixMilli(), 10))
	send("amqp-delay", expected{wait: 2500 * time.Millisecond}, "x-opt-delivery-delay=2500")
	send("cloudevents", expected{wait: time.Second, kept: []string{"ce_expirytime", "ce_id"}}, "x-delay=1s", "ce_expirytime="+second(time.Hour).Format(time.RFC3339), "ce_id=1")
	send("map", expected{wait: 2 * time.Second, topic: orders}, "x-wait=2", "X-WHERE="+orders, "Retry-After=3600")
	send("plain", expected{kept: []string{"trace"}}, "trace=t")

	epoch := strconv.FormatInt(when.Unix(), 10)
	want["foobar"] = expected{at: when, topic: orders, kept: []string{"customer"}}
	f.writes("etf1", "value of foobar", "scheduler-epoch="+epoch, "scheduler-target-topic="+orders, "scheduler-target-key=foobar", "customer=c")
	f.writes("cancelled", "never", "scheduler-epoch="+epoch)
	f.writes("replaced", "never", "scheduler-epoch="+epoch)
	want["replaced"] = expected{at: when.Add(time.Second), topic: f.egress}
	f.writes("replaced", "value of replaced", "scheduler-epoch="+strconv.FormatInt(when.Unix()+1, 10))
	f.writes("cancelled", "")
	f.writes("bad", "value", "scheduler-epoch=soon", "scheduler-target-key=other")
	f.writes("expires", "value", "x-delay=1h", "ce_expirytime="+time.Now().Add(time.Second).UTC().Format(time.RFC3339))

	out.await(len(want), 40*time.Second)
	out.settle()
	if all, again := out.count(); all != len(want) || again != 0 {
		t.Errorf("%d records came, %d of them again, want %d", all, again, len(want))
	}
	for _, a := range out.all() {
		e, ok := want[string(a.Key)]
		if !ok || a.Topic != e.topic || string(a.Value) != "value of "+string(a.Key) {
			t.Errorf("%s=%q came to %s, want %+v", a.Key, a.Value, a.Topic, e)
			continue
		}
		sent, _ := lookup(t, a.Record, "layover-original-timestamp")
		due, err := time.Parse(instant, sent)
		if err != nil {
			t.Fatal(err)
		}
		if due = due.Add(e.wait); !e.at.IsZero() {
			due = e.at
		}
		if stamped, _ := lookup(t, a.Record, "layover-due"); stamped != due.UTC().Format(instant) {
			t.Errorf("%s was due %s, want %s", a.Key, stamped, due.UTC().Format(instant))
		}
		if late := a.Timestamp.Sub(due); late < 0 || late > 5*time.Second {
			t.Errorf("%s came %v late", a.Key, late)
		}
		var kept []string
		for _, h := range a.Headers {
			if !strings.HasPrefix(h.Key, "layover-") {
				kept = append(kept, h.Key)
			}
		}
		slices.Sort(kept)
		if !slices.Equal(kept, e.kept) {
			t.Errorf("%s came with %q, want %q", a.Key, kept, e.kept)
		}
		// The hash is that of Kafka's own test of murmur2, modulo 6.
		if partition := int32((-790332482 & 0x7fffffff) % 6); string(a.Key) == "foobar" && a.Partition != partition {
			t.Errorf("foobar is in partition %d, want %d", a.Partition, partition)
		}
	}
	dead.await(2, 30*time.Second)
	for _, a := range dead.all() {
		reason, _ := lookup(t, a.Record, "layover.errors.reason")
		message, _ := lookup(t, a.Record, "layover.errors.message")
		switch string(a.Key) {
		case "bad":
			if epoch, _ := lookup(t, a.Record, "scheduler-epoch"); reason != "malformed_deliver_at" || epoch != "soon" || !strings.Contains(message, `header scheduler-epoch "soon": want Unix seconds`) {
				t.Errorf("bad: %s: %s; %v", reason, message, a.Headers)
			}
		case "expires":
			if reason != "expired" {
				t.Errorf("expires: %s: %s", reason, message)
			}
		default:
			t.Errorf("the dead letter %s=%s: %s: %s", a.Key, a.Value, reason, message)
		}
	}
	if _, metrics := p.get("/metrics"); !strings.Contains(metrics, `layover_cancels_total{result="cancelled",topic="`+f.ingress+`"} 1`) ||
		!strings.Contains(metrics, fmt.Sprintf(`layover_ambiguous_records_total{topic="%s"} 2`, f.ingress)) {
		t.Errorf("one was cancelled, and two had two headers that say when:\n%s", linesWith(metrics, "layover_cancels_total", "layover_ambiguous"))
	}
	if logs := p.log(); !strings.Contains(logs, "headers=spring,etf1,timebridge,watermill,http,amqp,cloudevents") && !strings.Contains(logs, `"headers":"spring,etf1,timebridge`) {
		t.Errorf("the start line does not have the presets:\n%s", logs)
	}
}

// linesWith are the lines of a text that have one of the words.
func linesWith(text string, words ...string) string {
	var b bytes.Buffer
	for line := range strings.Lines(text) {
		if slices.ContainsFunc(words, func(word string) bool { return strings.Contains(line, word) }) {
			b.WriteString(line)
		}
	}
	return b.String()
}
