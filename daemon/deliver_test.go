package daemon

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestADelayOfSixHoursIsKeptToTheMillisecond(t *testing.T) {
	long.WholeOnly(t)
	t.Parallel()
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		sent := time.Now()
		w.send(0, "a", header("x-delay", "6h"), header("trace", "t"))
		time.Sleep(6*time.Hour - time.Millisecond)
		if n := w.count(egress); n != 0 {
			t.Fatalf("%d records before their time", n)
		}
		r := w.arrives(egress, 1, time.Second)[0]
		w.notEarly([]*kgo.Record{r})
		if late := r.Timestamp.Sub(sent.Add(6 * time.Hour)); late > 2*time.Millisecond {
			t.Errorf("%v late on an idle machine with virtual time", late)
		}
		if get(r, "x-delay") != "" || get(r, "trace") != "t" || get(r, "layover-id") == "" {
			t.Errorf("headers %v", r.Headers)
		}
		in.stop()
	})
}

func TestKeyValueAndHeadersPassByteForByte(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		given := []kgo.RecordHeader{
			{Key: "dup", Value: []byte("1")}, {Key: "null"}, {Key: "X-Delay", Value: []byte("1s")},
			{Key: "empty", Value: []byte{}}, {Key: "dup", Value: []byte{0, 0xff}}, {Key: "layover-id", Value: []byte("old")},
		}
		records := []*kgo.Record{
			{Topic: ingress, Key: nil, Value: nil, Headers: given},
			{Topic: ingress, Key: []byte{}, Value: []byte{}, Headers: given},
			{Topic: ingress, Key: []byte{0, 1}, Value: bytes.Repeat([]byte("v"), 900_000), Headers: given},
		}
		w.Produce(records...)
		got := map[string]*kgo.Record{}
		for _, r := range w.arrives(egress, 3, time.Minute) {
			got[get(r, "layover-id")] = r
		}
		for _, want := range records {
			r := got[fmt.Sprintf("%s-0-%d", ingress, want.Offset)]
			if r == nil {
				t.Fatalf("record %d is not there", want.Offset)
			}
			if !bytes.Equal(r.Key, want.Key) || (r.Key == nil) != (want.Key == nil) || !bytes.Equal(r.Value, want.Value) || (r.Value == nil) != (want.Value == nil) {
				t.Errorf("record %d: key or value changed", want.Offset)
			}
			kept := []kgo.RecordHeader{given[0], given[1], given[3], given[4]}
			for i, h := range kept {
				g := r.Headers[i]
				if g.Key != h.Key || !bytes.Equal(g.Value, h.Value) || (g.Value == nil) != (h.Value == nil) {
					t.Errorf("record %d header %d: %v, want %v", want.Offset, i, g, h)
				}
			}
			if len(r.Headers) != len(kept)+4 || get(r, "layover-hops") != "1" {
				t.Errorf("record %d: headers %v", want.Offset, r.Headers)
			}
		}
		in.stop()
	})
}

func TestBadInputGoesToTheDeadLetterTopicWithItsReason(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		offset := w.send(1, "bad", header("x-delay", "tomorrow"), header("layover.errors.reason", "old"))
		w.send(1, "forbidden", header("x-deliver-to", "elsewhere"))
		w.send(1, "loop", header("x-deliver-to", ingress))
		w.send(1, "good")
		dead := map[string]*kgo.Record{}
		for _, r := range w.arrives(dlq, 3, time.Minute) {
			dead[string(r.Value)] = r
		}
		r := dead["bad"]
		for name, want := range map[string]string{
			"x-delay": "tomorrow", "layover.errors.topic": ingress, "layover.errors.partition": "1", "layover.errors.offset": fmt.Sprint(offset),
			"layover.errors.group": "layover-" + ingress, "layover.errors.reason": "malformed_delay",
		} {
			if got := get(r, name); got != want {
				t.Errorf("%s = %q, want %q", name, got, want)
			}
		}
		if n := strings.Count(fmt.Sprint(r.Headers), "layover.errors.reason"); n != 1 {
			t.Errorf("%d reasons: %v", n, r.Headers)
		}
		for _, v := range []string{"forbidden", "loop"} {
			if got := get(dead[v], "layover.errors.reason"); got != "target_not_allowed" {
				t.Errorf("%s: reason %q", v, got)
			}
		}
		if got := w.arrives(egress, 1, time.Minute); string(got[0].Value) != "good" {
			t.Errorf("delivered %s", got[0].Value)
		}
		in.stop()
	})
}

func TestWithoutADeadLetterTopicThePolicyDecides(t *testing.T) {
	settings := func(policy string) []string { return []string{"LAYOVER_DLQ_TOPIC=", "LAYOVER_ON_INVALID=" + policy} }
	t.Run("deliver", func(t *testing.T) {
		inBubble(t, func(w *fixture) {
			in := w.start(settings("deliver")...)
			in.ready()
			w.send(0, "bad", header("x-delay", "tomorrow"))
			r := w.arrives(egress, 1, time.Minute)[0]
			if get(r, "layover.errors.reason") != "malformed_delay" || get(r, "layover-id") == "" || get(r, "x-delay") != "" {
				t.Errorf("headers %v", r.Headers)
			}
			in.stop()
		})
	})
	t.Run("drop", func(t *testing.T) {
		inBubble(t, func(w *fixture) {
			in := w.start(settings("drop")...)
			in.ready()
			w.send(0, "bad", header("x-delay", "tomorrow"))
			w.send(0, "good")
			w.arrives(egress, 1, time.Minute)
			in.stop()
			w.committed(0, 2)
		})
	})
	t.Run("halt", func(t *testing.T) {
		inBubble(t, func(w *fixture) {
			in := w.start(settings("halt")...)
			in.ready()
			w.send(0, "parked", header("x-delay", "1m"))
			w.send(0, "bad", header("x-delay", "tomorrow"))
			w.send(0, "behind")
			w.send(1, "other partition")
			time.Sleep(2 * time.Minute)
			if got := w.values(egress); got["parked"] != 1 || got["other partition"] != 1 || got["behind"] != 0 {
				t.Errorf("delivered %v", got)
			}
			if _, body := in.get("/status"); !strings.Contains(body, "malformed_delay") || !strings.Contains(body, "LAYOVER_ON_INVALID") {
				t.Errorf("status does not say why: %s", body)
			}
			in.stop()
			in = w.start(settings("drop")...)
			w.Until(time.Minute, "the record behind is delivered", func() bool { return w.values(egress)["behind"] == 1 })
			in.stop()
		})
	})
}

func TestAForbiddenTargetHoldsOnlyItsOwnRecords(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.CreateTopic("secret", 1, nil)
		refusal := w.Refuse(kmsg.Produce, kfake.Fault{Topic: "secret", Err: kerr.TopicAuthorizationFailed})
		in := w.start("LAYOVER_TARGETS_ALLOWED=secret", "LAYOVER_TARGET_PATIENCE=1h")
		in.ready()
		w.sendMany(0, 0, 50, func(i int) []kgo.RecordHeader {
			if i%2 == 0 {
				return []kgo.RecordHeader{header("x-deliver-to", "secret")}
			}
			return nil
		})
		w.arrives(egress, 25, 10*time.Second)
		time.Sleep(time.Minute)
		if n := w.count("secret") + w.count(dlq); n != 0 {
			t.Fatalf("%d records went somewhere", n)
		}
		if _, body := in.get("/status"); !strings.Contains(body, "secret") || !strings.Contains(body, "forbidden") {
			t.Errorf("status does not name the held target: %s", body)
		}
		refusal.Remove()
		w.arrives("secret", 25, 5*time.Second)
		in.stop()
	})
}

func TestPatienceEndsInTheDeadLetterTopic(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_TARGETS_ALLOWED=missing-*", "LAYOVER_TARGET_PATIENCE=10m")
		in.ready()
		w.send(0, "held", header("x-deliver-to", "missing-1"))
		w.send(0, "fine")
		w.arrives(egress, 1, 10*time.Second)
		time.Sleep(9 * time.Minute)
		if n := w.count(dlq); n != 0 {
			t.Fatal("dead-lettered before patience was used up")
		}
		r := w.arrives(dlq, 1, 2*time.Minute)[0]
		if get(r, "layover.errors.reason") != "target_unavailable" || get(r, "x-deliver-to") != "missing-1" {
			t.Errorf("headers %v", r.Headers)
		}
		const want = "target missing-1 is missing, and the record was held for LAYOVER_TARGET_PATIENCE (10m)"
		if said := get(r, "layover.errors.message"); !strings.Contains(said, want) {
			t.Errorf("message %q, want %q", said, want)
		}
		in.stop()
	})
}

func TestATargetThatAppearsGetsItsRecords(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_TARGETS_ALLOWED=late")
		in.ready()
		w.send(0, "held", header("x-deliver-to", "late"))
		time.Sleep(time.Minute)
		w.CreateTopic("late", 3, nil)
		w.arrives("late", 1, 10*time.Second)
		in.stop()
		w.committed(0, 1)
	})
}

func TestWithTheDeadLetterTopicGoneNothingIsFinishedAndReadingPauses(t *testing.T) {
	inBubble(t, func(w *fixture) {
		fault := w.Refuse(kmsg.Produce, kfake.Fault{Topic: dlq, Err: kerr.TopicAuthorizationFailed})
		in := w.start()
		in.ready()
		w.send(0, "parked", header("x-delay", "1m"))
		w.send(0, "bad", header("x-delay", "tomorrow"))
		time.Sleep(10 * time.Second)
		w.send(0, "unread")
		time.Sleep(2 * time.Minute)
		if got := w.values(egress); got["parked"] != 1 || got["unread"] != 0 {
			t.Errorf("delivered %v", got)
		}
		if _, body := in.get("/status"); !strings.Contains(body, `"dead_letter"`) {
			t.Errorf("status does not say why reading pauses: %s", body)
		}
		fault.Remove()
		w.arrives(dlq, 1, 10*time.Second)
		w.Until(10*time.Second, "reading goes on", func() bool { return w.values(egress)["unread"] == 1 })
		in.stop()
		if lines := linesWith(in.logs.String(), "reading goes on"); len(lines) != 1 || strings.Contains(lines[0], "used=") {
			t.Errorf("want one line, and nothing of memory: %q", lines)
		}
		w.committed(0, 3)
	})
}

func TestARecordThatTheTargetCallsTooLargeIsDeadLettered(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.CreateTopic("small", 1, map[string]string{"max.message.bytes": "2000"})
		in := w.start("LAYOVER_TARGETS_ALLOWED=small")
		in.ready()
		noise := make([]byte, 5000)
		for i, random := 0, rand.New(rand.NewPCG(1, 2)); i < len(noise); i++ {
			noise[i] = byte(random.Uint32()) // incompressible
		}
		to := header("x-deliver-to", "small")
		w.send(0, "fits", to)
		w.send(0, string(noise), to)
		w.send(0, "fits too", to)
		w.arrives("small", 2, 10*time.Second)
		r := w.arrives(dlq, 1, 10*time.Second)[0]
		if get(r, "layover.errors.reason") != "too_large" || len(r.Value) != 5000 {
			t.Errorf("%d bytes, headers %v", len(r.Value), r.Headers)
		}
		in.stop()
		w.committed(0, 3)
	})
}

// TestALetterThatIsTooLargeGoesWithoutItsValueAndSaysSo: without the header nobody could
// tell it from the letter of a record whose value is null.
func TestALetterThatIsTooLargeGoesWithoutItsValueAndSaysSo(t *testing.T) {
	inBubble(t, func(w *fixture) {
		limit := "2000"
		if _, err := w.Admin().AlterTopicConfigs(w.Context(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "max.message.bytes", Value: &limit}}, dlq); err != nil {
			w.Fatal(err)
		}
		in := w.start()
		in.ready()
		noise := make([]byte, 5000)
		for i, random := 0, rand.New(rand.NewPCG(1, 2)); i < len(noise); i++ {
			noise[i] = byte(random.Uint32()) // incompressible
		}
		w.sendTo(ingress, 0, string(noise), header("x-delay", "soon"))
		w.sendTo(ingress, 0, "short", header("x-delay", "soon"))
		for _, r := range w.arrives(dlq, 2, 10*time.Second) {
			large := get(r, "layover.errors.offset") == "0"
			if said := get(r, "layover.errors.value"); large != (said == "dropped") || large != (r.Value == nil) {
				w.Errorf("the letter of offset %s says %q of its value, which has %d bytes", get(r, "layover.errors.offset"), said, len(r.Value))
			}
		}
		in.stop()
	})
}
