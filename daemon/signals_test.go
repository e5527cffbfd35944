package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"layover/verify/kafkatest"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kgo"
)

// at follows a path of names and indexes into /status.
func (in *instance) at(path ...any) any {
	in.w.Helper()
	var at any = in.status()
	for _, step := range path {
		switch step := step.(type) {
		case int:
			at = at.([]any)[step]
		case string:
			at = at.(map[string]any)[step]
		}
	}
	return at
}

// TestHalfOfAllRecordsDeadLetteredIsNotGreen: everything else is well.
func TestHalfOfAllRecordsDeadLetteredIsNotGreen(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		const n = 40
		for p := range int32(2) {
			w.sendMany(p, 0, n, func(i int) []kgo.RecordHeader {
				return []kgo.RecordHeader{header("x-delay", map[bool]string{true: "soon", false: "1s"}[i%2 == 0])}
			})
		}
		w.arrives(dlq, n, 10*time.Second)
		w.arrives(egress, n, 10*time.Second)
		time.Sleep(2 * time.Second)
		letters := in.at("dead_letters").(map[string]any)
		if letters["total"] != float64(n) || fmt.Sprint(letters["by_reason"]) != fmt.Sprintf("map[malformed_delay:%d]", n) || letters["coming"] != true {
			t.Errorf("%v", letters)
		}
		last := letters["last"].([]any)
		if len(last) != 10 {
			t.Fatalf("the last are %v", last)
		}
		for _, one := range last {
			l := one.(map[string]any)
			offset := int(l["offset"].(float64))
			if l["topic"] != ingress || offset%2 != 0 || offset < n-20 || l["reason"] != "malformed_delay" || !strings.Contains(l["message"].(string), `header x-delay "soon"`) || l["at"] == nil {
				t.Errorf("dead letter %v", l)
			}
		}
		if code, body := in.get("/readyz"); code != 200 || !strings.HasPrefix(body, "degraded: dead letters come: 40 since the start") || in.at("state") != "degraded" {
			t.Errorf("/readyz: %d %s, state %v", code, body, in.at("state"))
		}
		_, page := in.get("/status?format=html")
		for _, want := range []string{`class="state warn"`, "<b>malformed_delay</b> 40", "delayed/0@38", "x-delay &#34;soon&#34;"} {
			if !strings.Contains(page, want) {
				t.Errorf("the page lacks %s", want)
			}
		}
		time.Sleep(5 * time.Minute)
		if code, body := in.get("/readyz"); code != 200 || body != "ready\n" || in.at("dead_letters", "total") != float64(n) {
			t.Errorf("five minutes later: %d %s", code, body)
		}
		in.stop()
	})
}

// TestShortDelaysBehindAPauseAreSaidToBeLate: nothing is overdue, for nobody has read them.
func TestShortDelaysBehindAPauseAreSaidToBeLate(t *testing.T) {
	long.InChecks(t)
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_MAX_PARKED_BYTES=4Mi", "LAYOVER_RUNS=off")
		in.ready()
		long := []kgo.RecordHeader{header("x-delay", "10m"), header("padding", strings.Repeat("x", 1000))}
		for i := range 5 {
			w.sendMany(0, i*1000, 1000, func(int) []kgo.RecordHeader { return long })
			time.Sleep(time.Second)
		}
		w.Until(time.Minute, "reading is paused", func() bool { return in.pausedFor() == "bytes" })
		written := time.Now()
		w.send(1, "short", header("x-delay", "1s"))
		read := int64(in.at("assignments", 0, "read_offset").(float64))
		time.Sleep(time.Minute)
		if w.count(egress) != 0 || in.at("overdue") != 0.0 || in.at("state") != "paused" {
			t.Fatalf("%d delivered, overdue %v, state %v: this is not the situation", w.count(egress), in.at("overdue"), in.at("state"))
		}
		p := in.at("paused").(map[string]any)
		unread := 5000 - read + 1
		oldest, err := time.Parse(time.RFC3339, p["oldest_unread"].(string))
		if err != nil || oldest.After(written) || oldest.Before(written.Add(-time.Minute)) {
			t.Errorf("the oldest unread record is of %v, the short one was written at %v", p["oldest_unread"], written)
		}
		if late := p["late_by_at_least_seconds"].(float64); p["unread_records"] != float64(unread) || late < 59 || p["threshold_bytes"] != in.at("parked", "pause_at") || p["reason"] != "bytes" {
			t.Errorf("%v, want %d unread", p, unread)
		}
		if code, body := in.get("/readyz"); code != 200 || !strings.HasPrefix(body, "degraded: reading is paused: bytes, ") || !strings.Contains(body, "late by at least 1 min") {
			t.Errorf("/readyz: %d %s", code, body)
		}
		if age, since := in.metric("layover_oldest_unread_age_seconds "), in.metric("layover_paused_seconds "); age < 60 || since < 60 {
			t.Errorf("the metrics: age %v, paused %v", age, since)
		}
		_, page := in.get("/status?format=html")
		for _, want := range []string{"<strong>Paused</strong>", `class="state warn"`, "late by at least", "Reading is paused: bytes."} {
			if !strings.Contains(page, want) {
				t.Errorf("the page lacks %s", want)
			}
		}
		w.Until(2*time.Hour, "all are delivered", func() bool { return w.count(egress) == 5001 })
		w.Until(time.Minute, "reading goes on", func() bool { return in.at("paused") == nil && in.metric("layover_oldest_unread_age_seconds ") == 0 })
		in.stop()
	})
}

// TestAPauseEndsWhenNothingIsLeftThatCouldFreeMemory: what a small bound has for queues
// and names may be above the mark at which reading goes on.
func TestAPauseEndsWhenNothingIsLeftThatCouldFreeMemory(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_MAX_PARKED_BYTES=1Mi", "LAYOVER_LANES=4", "LAYOVER_TARGETS_ALLOWED=shop-*")
		in.ready()
		padding := header("padding", strings.Repeat("x", 700))
		for i := range 15 {
			w.sendMany(0, 100*i, 100, func(int) []kgo.RecordHeader { return []kgo.RecordHeader{header("x-delay", "5m"), padding} })
		}
		w.Until(time.Minute, "reading is paused", func() bool { return in.pausedFor() == "bytes" })
		w.Until(2*time.Hour, "all are delivered", func() bool { return w.count(egress) == 1500 })
		in.stop()
	})
}

// TestASmallBoundDoesNotPauseForEachRecord: what an empty process needs for the wheels of its lanes is above the mark.
func TestASmallBoundDoesNotPauseForEachRecord(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_MAX_PARKED_BYTES=1Mi", "LAYOVER_LANES=20")
		in.ready()
		burst := []kgo.RecordHeader{header("x-delay", "5s"), header("padding", strings.Repeat("x", 700))}
		w.sendMany(0, 0, 3000, func(int) []kgo.RecordHeader { return burst })
		w.Until(20*time.Minute, "the burst is delivered", func() bool { return w.count(egress) == 3000 })
		time.Sleep(10 * time.Second)
		before := in.memoryPauses()
		if used, mark := in.at("parked", "memory").(float64), in.at("parked", "pause_at").(float64); used <= mark {
			t.Fatalf("%v of %v bytes are used: this is not the situation", used, mark)
		}
		for i := range 200 {
			w.send(int32(i%2), "x", header("x-delay", "200ms"))
			time.Sleep(100 * time.Millisecond)
		}
		w.arrives(egress, 3200, 10*time.Second)
		if n := in.memoryPauses() - before; n > 3 {
			t.Errorf("reading paused %d times for 10 records a second", n)
		}
		in.stop()
	})
}

// memoryPauses returns how often memory has paused reading: the log has a line in 30 s, with how often that was.
func (in *instance) memoryPauses() (n int) {
	for _, line := range linesWith(in.logs.String(), "reading pauses, what is parked goes on") {
		_, times, several := strings.Cut(line, "times=")
		if one, err := strconv.Atoi(strings.TrimSpace(times)); several && err == nil {
			n += one
		} else {
			n++
		}
	}
	b := in.daemon.backpressure
	b.mu.Lock()
	defer b.mu.Unlock()
	return n + b.unsaid
}

func TestAPauseKnowsTheOldestUnreadRecordOfAllPartitions(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_DLQ_TOPIC=absent")
		in.ready()
		w.send(0, "bad", header("x-delay", "soon"))
		w.Until(time.Minute, "reading is paused", func() bool { return in.pausedFor() == "dead_letter" })
		time.Sleep(5 * time.Second) // fetches from before are over
		first := time.Now()
		for p := range int32(2) {
			w.send(p, "unread", header("x-delay", "1s"))
			time.Sleep(time.Second)
		}
		time.Sleep(time.Minute)
		oldest, err := time.Parse(time.RFC3339, in.at("paused", "oldest_unread").(string))
		if err != nil || oldest.Sub(first).Abs() > 5*time.Millisecond || in.at("paused", "unread_records") != 2.0 {
			t.Errorf("%v, want %v: %v", in.at("paused"), first, err)
		}
		w.createTopics(1, "absent")
		w.arrives(egress, 2, 10*time.Second)
		w.Until(time.Minute, "reading goes on", func() bool { return in.at("paused") == nil })
		in.stop()
	})
}

// TestAPauseFindsTheOldestUnreadRecordBehindManyThatNobodyReads: each aborted transaction is
// a batch and a marker, and one look goes over three.
func TestAPauseFindsTheOldestUnreadRecordBehindManyThatNobodyReads(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_DLQ_TOPIC=absent")
		in.ready()
		w.send(0, "bad", header("x-delay", "soon"))
		w.Until(time.Minute, "reading is paused", func() bool { return in.pausedFor() == "dead_letter" })
		time.Sleep(5 * time.Second)
		tx := w.NewClient(kgo.TransactionalID("tx"))
		defer tx.Close()
		for range 6 {
			if err := kafkatest.Transaction(context.Background(), tx, &kgo.Record{Topic: ingress, Value: []byte("aborted")}); err != nil {
				t.Fatal(err)
			}
			if err := tx.EndTransaction(context.Background(), kgo.TryAbort); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(30 * time.Second) // all are gone over, and nothing is behind them
		written := time.Now()
		w.send(0, "unread", header("x-delay", "1s"))
		w.Until(time.Minute, "the oldest is known", func() bool { return in.at("paused", "oldest_unread") != nil })
		if oldest, err := time.Parse(time.RFC3339, in.at("paused", "oldest_unread").(string)); err != nil || oldest.Sub(written).Abs() > time.Second {
			t.Errorf("%v, want %v: %v", oldest, written, err)
		}
		in.stop()
	})
}

func TestWithoutKafkaNobodyKnowsWhatIsParked(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		w.send(0, "parked", header("x-delay", "1h"))
		w.Until(time.Minute, "it is parked", func() bool { return in.at("parked", "records") == 1.0 })
		in.wire.sever()
		w.Until(time.Minute, "Kafka is away", func() bool { return in.at("kafka", "answering") == false })
		if s := in.status(); (len(s["assignments"].([]any)) > 0) != (s["parked"].(map[string]any)["records"] == 1.0) {
			t.Errorf("parked is %v with the partitions %v", s["parked"], s["assignments"])
		}
		sick := make(map[string]bool)
		for range 120 {
			time.Sleep(time.Second)
			sick[strings.Join(in.sick(), ", ")] = true
		}
		if in.at("parked", "records") != nil || in.at("overdue") != nil {
			t.Errorf("parked %v, overdue %v, want null: the partitions are lost", in.at("parked", "records"), in.at("overdue"))
		}
		_, page := in.get("/status?format=html")
		if !strings.Contains(page, "unknown") || strings.Contains(page, "nothing is parked") || strings.Count(page, "<b class=\"bad\">Error:") != 0 {
			t.Error("the page says that nothing is parked, or the one outage more than once")
		}
		in.wire.mend()
		w.Until(time.Minute, "it is parked again", func() bool { return in.at("parked", "records") == 1.0 })
		for range 30 {
			time.Sleep(time.Second)
			sick[strings.Join(in.sick(), ", ")] = true
		}
		if delete(sick, ""); len(sick) != 1 || !sick["kafka  unreachable"] {
			t.Errorf("one outage was these findings: %v", sick)
		}
		in.stop()
		if lines := linesWith(in.logs.String(), "sick"); len(lines) != 1 {
			t.Errorf("the log has %q", lines)
		}
	})
}

func TestKafkaGoneFromTheStartIsUnknownAndNotEmpty(t *testing.T) {
	inBubble(t, func(w *fixture) {
		there := w.dial
		var up atomic.Bool
		in := w.startOver(func(ctx context.Context, network, addr string) (net.Conn, error) {
			if !up.Load() {
				return nil, errors.New("connection refused")
			}
			return there(ctx, network, addr)
		}, nil)
		for range 20 {
			time.Sleep(time.Second)
			if in.at("parked", "records") != nil || in.at("overdue") != nil || in.at("state") == "ready" {
				t.Fatalf("parked %v, overdue %v, state %v", in.at("parked", "records"), in.at("overdue"), in.at("state"))
			}
		}
		if got := strings.Join(in.sick(), ", "); got != "kafka  unreachable" {
			t.Errorf("sick: %s", got)
		}
		up.Store(true)
		w.Until(time.Minute, "all is well", func() bool { return in.at("state") == "ready" && in.at("parked", "records") == 0.0 })
		in.stop()
	})
}

func TestAHeldTargetCountsDownToItsDeadLetters(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_EGRESS_TOPIC=absent", "LAYOVER_TARGET_PATIENCE=2m")
		in.ready()
		w.send(0, "a")
		time.Sleep(30 * time.Second)
		w.send(1, "b")
		time.Sleep(30 * time.Second)
		held := in.at("held", 0).(map[string]any)
		if left := held["patience_left_seconds"].(float64); left < 57 || left > 61 || held["records"] != 2.0 || held["dead_lettered"] != 0.0 {
			t.Errorf("a minute before: %v", held)
		}
		if text := held["text"].(string); !strings.Contains(text, "goes to the dead-letter topic") || !strings.Contains(text, "--create --topic absent") {
			t.Errorf("%s", text)
		}
		w.arrives(dlq, 1, 70*time.Second)
		time.Sleep(2 * time.Second)
		held = in.at("held", 0).(map[string]any)
		if left := held["patience_left_seconds"].(float64); left < 20 || left > 31 || held["records"] != 1.0 || held["dead_lettered"] != 1.0 {
			t.Errorf("behind the first dead letter: %v", held)
		}
		last := in.at("dead_letters", "last", 0).(map[string]any)
		if last["reason"] != "target_unavailable" || !strings.Contains(last["message"].(string), "target absent is missing") {
			t.Errorf("%v", last)
		}
		in.stop()
	})
}

// TestALateStartIsExplainedAsOne: what was due while nothing ran is late, what is due
// afterwards is not, and the difference is said.
func TestALateStartIsExplainedAsOne(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		due := time.Now().Add(10 * time.Minute)
		w.send(0, "due in the downtime", header("x-delay", "10m"))
		w.send(1, "due much later", header("x-delay", "2h"))
		time.Sleep(5 * time.Second)
		if in.at("late_start") != nil {
			t.Errorf("%v before any", in.at("late_start"))
		}
		in.stop()
		time.Sleep(time.Hour)
		began := time.Now()
		in = w.start()
		in.ready()
		w.arrives(egress, 1, 10*time.Second)
		w.Until(time.Minute, "the late start is explained", func() bool { return in.at("late_start") != nil })
		late := in.at("late_start").(map[string]any)
		at := func(name string) time.Time {
			v, err := time.Parse(time.RFC3339, late[name].(string))
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		if late["records"] != 1.0 || at("earliest_due").Sub(due).Abs() > time.Second || at("assigned").Before(began) || at("assigned").After(began.Add(10*time.Second)) {
			t.Errorf("%v: due at %v, begun at %v", late, due, began)
		}
		if most := time.Duration(late["most_late_ms"].(float64)) * time.Millisecond; (most - began.Sub(due)).Abs() > 10*time.Second {
			t.Errorf("%v late at most", most)
		}
		if _, page := in.get("/status?format=html"); !strings.Contains(page, "as in a downtime") {
			t.Error("the page does not explain it")
		}
		time.Sleep(16 * time.Minute)
		if in.at("late_start") != nil || in.at("state") != "ready" {
			t.Errorf("%v, %v a quarter of an hour later", in.at("late_start"), in.at("state"))
		}
		time.Sleep(2 * time.Hour)
		if in.at("late_start") != nil || w.count(egress) != 2 {
			t.Errorf("the record that was due later counts: %v", in.at("late_start"))
		}
		in.stop()
	})
}

func TestMissingTopicsAreNamesAndSentencesAreFaults(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.createTopics(1, "narrow")
		in := w.start("LAYOVER_DLQ_TOPIC=absent", "LAYOVER_PARTITION=same", "LAYOVER_EGRESS_TOPIC=narrow")
		w.Until(time.Minute, "the faults are known", func() bool { return len(in.at("kafka", "topic_faults").([]any)) == 2 })
		if missing := fmt.Sprint(in.at("kafka", "missing_topics")); missing != "[absent]" {
			t.Errorf("missing_topics is %s", missing)
		}
		faults := fmt.Sprint(in.at("kafka", "topic_faults"))
		if !strings.Contains(faults, "topic absent is missing") || !strings.Contains(faults, "narrow has 1 partitions and delayed has 2") {
			t.Errorf("topic_faults is %s", faults)
		}
		in.stop()
	})
}
