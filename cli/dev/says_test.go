package dev

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/cli/clitest"
	"layover/cli/process"
	"layover/cli/send"
	"layover/delay"
	"layover/verify/long"
)

func TestDevSaysAtOnceWhatIsWrongAndWhatWouldBeRight(t *testing.T) {
	d := start(t, "--addr", "127.0.0.1:0", "--data-dir", t.TempDir())
	addr := d.until(`broker  (127\.0\.0\.1:\d+), `)[1]
	d.until("Parked 5 records")
	produce(t, addr, &kgo.Record{Topic: ingressTopic, Value: []byte("soon\x1b[2J"), Headers: []kgo.RecordHeader{{Key: "x-delay", Value: []byte("soon")}}})
	d.until(`^  delayed-\d-\d+  dead letter, malformed_delay  "soon\\x1b\[2J"$`)
	d.until(`^      delayed/\d@\d+: header x-delay "soon": want milliseconds, `)
	d.until(`^      right would be: x-delay=30s`)

	d.send(addr, "--delay", "31d", "a month")
	d.until(`dead letter, delay_too_long  "a month"$`)
	d.until(`header x-delay "31d": want at most 30d \(LAYOVER_MAX_DELAY\) after `)
	d.until(`right would be: at most x-delay=30d, or dev with a longer LAYOVER_MAX_DELAY$`)

	d.send(addr, "--delay", "5", "hurry")
	d.until(`^  delayed-\d-\d+  note: x-delay is 5 ms; write 5s for seconds$`)
	d.until(`lateness \d+ ms  "hurry"$`)
	d.send(addr, "--at", "2020-01-01T00:00:00Z", "long ago")
	d.until(`due 00:00:00\.000  lateness \d+ ms  "long ago"$`) // not summed up: it was written now
	d.stop()
	for d.lines.Scan() { // or it could not end
	}
	if code := <-d.code; code != process.ExitOK || !strings.Contains(d.stderr.String(), "delay_too_long=1,delayed/malformed_delay=1") {
		t.Errorf("ended with code %d, stderr %q", code, d.stderr)
	}
}

func (d *running) send(addr string, args ...string) {
	d.t.Helper()
	var out bytes.Buffer
	args = append([]string{"--brokers", addr, "--topic", ingressTopic}, args...)
	if code := clitest.Run(d.t.Context(), &process.Process{Args: args, Stdout: &out, Stderr: &out}, send.Command); code != process.ExitOK {
		d.t.Fatalf("send %q: code %d, %s", args, code, &out)
	}
}

func produce(t *testing.T, addr string, records ...*kgo.Record) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ProducerLinger(0))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := createTopics(ctx, cl, ingressTopics(nil)); err != nil {
		t.Fatal(err)
	}
	if err := cl.ProduceSync(ctx, records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func TestWhatWasDueWhileDevWasStoppedIsOneLine(t *testing.T) {
	dir := t.TempDir()
	h, err := openHome(dir)
	if err != nil {
		t.Fatal(err)
	}
	l, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	broker, err := startBroker(l, h.brokerDir())
	if err != nil {
		t.Fatal(err)
	}
	var records []*kgo.Record
	for i := range 300 { // more than wait to be printed
		written := time.Now().Add(-time.Hour)
		records = append(records, &kgo.Record{
			Topic: ingressTopic, Key: []byte{byte(i)}, Value: []byte("while it was stopped"), Timestamp: written,
			Headers: []kgo.RecordHeader{{Key: "x-delay", Value: []byte("10m")}},
		})
	}
	records[0].Timestamp = records[0].Timestamp.Add(-time.Hour)
	produce(t, l.Addr().String(), records...)
	broker.Close()
	h.Close()

	d := start(t, "--addr", "127.0.0.1:0", "--data-dir", dir)
	at := records[0].Timestamp.Add(10 * time.Minute).UTC().Format("2006-01-02 15:04:05")
	d.until(`^  300 records were due while dev was stopped, from ` + at + ` to \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC: delivered now$`)
	if rest := d.end(); strings.Contains(rest, "while it was stopped") || strings.Contains(rest, "while dev was stopped") {
		t.Errorf("they came again: %q", rest)
	}
}

func TestOneRecordThatWasDueIsSummedUpAsOne(t *testing.T) {
	var m missed
	var b strings.Builder
	m.print(&b)
	m.add(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	m.print(&b)
	m.print(&b)
	if want := "  1 record was due while dev was stopped, at 2026-01-01 12:00:00 UTC: delivered now\n"; b.String() != want {
		t.Errorf("got %q, want %q", &b, want)
	}
}

func TestEveryReasonHasARemedy(t *testing.T) {
	for _, reason := range delay.Reasons() {
		if remedy(reason, "orders", time.Hour, time.Now()) == "" {
			t.Errorf("%s: nothing would be right", reason)
		}
	}
	for to, want := range map[string]string{"orders": "LAYOVER_TARGETS_ALLOWED=orders", "delayed": "x-deliver-to=ready", "dead-letters": "x-deliver-to=ready", "a b": "x-deliver-to=ready", "__x": "x-deliver-to=ready"} {
		if got := remedy(delay.ReasonTargetNotAllowed, to, time.Hour, time.Now()); !strings.HasSuffix(got, want) {
			t.Errorf("%s: %q, want %q", to, got, want)
		}
	}
}

// TestOfAMappedHeaderNoHeaderOfOursWouldBeRight: the message has what it wants.
func TestOfAMappedHeaderNoHeaderOfOursWouldBeRight(t *testing.T) {
	letter := func(reason, message string) string {
		return deadLetter(&kgo.Record{Headers: []kgo.RecordHeader{{Key: "layover.errors.reason", Value: []byte(reason)}, {Key: "layover.errors.message", Value: []byte(message)}}}, time.Hour, time.Now())
	}
	for reason, message := range map[string]string{
		"malformed_deliver_at": `delayed/0@1: header scheduler-epoch "soon": want Unix seconds as text`,
		"malformed_delay":      `delayed/0@1: header retry-after "soon": want seconds, or an HTTP date`,
		"target_not_allowed":   `delayed/0@1: header X-Timebridge-Where "x": not an allowed target`,
		"malformed_expire_at":  `delayed/0@1: header ce_expirytime "x": want RFC 3339 with a zone`,
		"malformed_id":         `delayed/0@1: the record's key, of 300 bytes, as the id of a schedule: too long`,
		"malformed_attempt":    `delayed/0@1: header X-Try "two": want digits, at most 1000000`,
		"attempts_exhausted":   `delayed/0@1: header X-Try "16": back-off 1s..1h x2 jitter=20% max=16 ends with attempt 16`,
		"malformed_cancel":     `delayed/0@1: a null value without a key: want the key of the schedule to cancel`,
	} {
		if text := letter(reason, message); strings.Contains(text, "right would be") || !strings.Contains(text, message) {
			t.Errorf("%s", text)
		}
	}
	for reason, message := range map[string]string{
		"malformed_delay": `delayed/0@1: header x-delay "soon": want milliseconds`, "malformed_expire_at": `delayed/0@1: header x-expire-at "x": want RFC 3339`,
		"malformed_attempt": `delayed/0@1: header x-delay-attempt "two": want digits`, "attempts_exhausted": `delayed/0@1: header x-delay-attempt "3": back-off`,
		"delay_too_long": `delayed/0@1: header scheduler-epoch "9": want at most 1h`,
	} {
		if text := letter(reason, message); !strings.Contains(text, "right would be") {
			t.Errorf("%s", text)
		}
	}
}

// Anybody may write to the topic of dead letters, and what is printed goes to a terminal.
func TestADeadLetterCannotSteerTheTerminal(t *testing.T) {
	headers := []kgo.RecordHeader{{Key: "layover.errors.reason", Value: []byte("\x1b[2Jreason\n")}, {Key: "layover.errors.message", Value: bytes.Repeat([]byte("\xff\r"), 5000)}}
	for _, text := range []string{deadLetter(&kgo.Record{Value: []byte("\x1b[2J"), Headers: headers}, time.Hour, time.Now()), deadLetter(&kgo.Record{Value: []byte("\x1b[2J")}, time.Hour, time.Now())} {
		if strings.ContainsAny(text, "\x1b\r") || len(text) > 1000 || strings.Count(text, "\n") > 1 {
			t.Errorf("printed is %q", text)
		}
	}
	a := newArrival(&kgo.Record{Headers: []kgo.RecordHeader{{Key: "layover-id", Value: []byte("\x1b[2J")}}}, time.Now(), time.Now())
	if strings.Contains(a.id, "\x1b") {
		t.Errorf("id %q", a.id)
	}
}

// TestDevWithoutAddedHeaders says what it cannot show, and prints the commands without waiting
// for samples that it would not know.
func TestDevWithoutAddedHeaders(t *testing.T) {
	long.Only(t)
	d := startWith(t, []string{"LAYOVER_ADDED_HEADERS=none"}, "--addr", "127.0.0.1:0", "--data-dir", t.TempDir())
	d.until("^  note    with LAYOVER_ADDED_HEADERS=none dev cannot show ids, lateness, ")
	d.until(`^Parked 5 records in delayed, due in 1 to 5 s. Out of ready:$`)
	d.until("^Try next")
	for i := range 5 {
		d.until(`^  "sample ` + strconv.Itoa(i+1) + ` of 5`)
	}
	if rest := d.end(); strings.TrimSpace(rest) != "" {
		t.Errorf("more came out: %q", rest)
	}
}
