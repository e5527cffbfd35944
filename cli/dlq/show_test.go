package dlq

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/cli/clitest"
	"layover/cli/process"
)

func TestShowSaysWhatTheErrorHeadersSay(t *testing.T) {
	w := newFixture(t)
	w.fill(2)
	w.Produce(w.dead(0, 2, "too_large", pairs("x-deliver-to", "orders", "layover.errors.value", "dropped")...))
	got := w.fine("show 0-1")
	_, got, _ = strings.Cut(got, "\n") // when it was written
	if want := `  was        delayed/2@3, layover-id delayed-2-3
  for        orders
  group      layover-delayed
  died       2026-11-23T00:00:01.000Z
  reason     too_large: the target refuses a record of this size; raise its max.message.bytes
  message    message 3
  value      dropped: dead-letters takes the letter only without it
  redrive    passes it over, as the value is missing: the whole record is in the ingress topic alone
  payload    key 12 bytes, value 14 bytes, 9 headers; --payload prints them
`; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if same := w.fine("show dead-letters-0-1"); !strings.Contains(same, got) {
		t.Errorf("with the topic before it:\n%s", same)
	}
	if got := w.fine("show 1-0"); !strings.Contains(got, "  redrive    writes it to delayed/1 again\n") || !strings.Contains(got, "  for        ready\n") {
		t.Errorf("%s", got)
	}
}

func TestShowSaysWhyALetterIsPassedOver(t *testing.T) {
	w := newFixture(t)
	other, gone := w.dead(0, 0, "expired"), w.dead(0, 0, "expired")
	other.Headers = append(other.Headers, pairs("layover.errors.group", "other\x1b[2J")...)
	gone.Headers = append(gone.Headers, pairs("layover.errors.topic", "retry")...)
	w.Produce(other, gone, w.dead(0, 0, "skipped", pairs("x-delay-cancel", "true")...),
		w.dead(0, 0, "unreadable", pairs("layover.errors.last_offset", "7", "layover.errors.records", "3")...),
		&kgo.Record{Topic: graves, Headers: pairs("a", "b")})
	for place, test := range map[string]struct{ word, want string }{
		"0-0": {"other_group", "as it is of another group; --any-group takes it"},
		"0-1": {"other_topic", "LAYOVER_INGRESS_TOPICS does not have its topic"},
		"0-2": {"cancel", "as it is a cancel"},
		"0-3": {"batch", "  stands for 3 records without an outcome, of the batch of the offsets 4 to 7\n"},
		"0-4": {"foreign", "  problem    no dead letter of Layover: it has no header layover.errors.topic\n"},
	} {
		if got := w.fine("show " + place); !strings.Contains(got, test.want) || strings.Contains(got, "\x1b") {
			t.Errorf("%s: %s\nwant %q", place, got, test.want)
		}
		if got := w.object("show " + place); got["passed_over"] != test.word {
			t.Errorf("%s: %v, want %q", place, got, test.word)
		}
	}
	if got := w.object("show 0-3"); got["last_offset"] != 7.0 || got["records"] != 3.0 {
		t.Errorf("of a batch: %v", got)
	}
}

// hostile is what moves the cursor, clears a screen or turns a line round on some terminal.
const hostile = "a\x1b[2J\r\b\u009b1mb\u202ec\x00\xff\n"

func TestThePayloadCannotMoveTheCursor(t *testing.T) {
	w := newFixture(t)
	r := w.dead(0, 0, "rejected", append(pairs(hostile, hostile, "ünïcode", "ok"), kgo.RecordHeader{Key: "null"})...)
	r.Key, r.Value = []byte(hostile), []byte(hostile)
	foreign := &kgo.Record{Topic: graves, Key: nil, Value: []byte(hostile), Headers: pairs("layover.errors.topic", hostile, hostile, hostile)}
	w.Produce(r, foreign)
	for _, line := range []string{"show 0-0", "show 0-1", "show 0-0 --payload", "show 0-1 --payload", "show 0-0 --payload -o json", "show 0-1 --payload -o json", "list", "list -o json"} {
		got := w.fine(line)
		if i := strings.IndexFunc(got, func(c rune) bool { return c < ' ' && c != '\n' || c >= 0x7f && c < 0xa0 || c == 0x202e || c == 0xfffd }); i >= 0 {
			t.Errorf("%s: %q in %q", line, got[i:min(i+8, len(got))], got)
		}
	}
	const quoted = `"a\x1b[2J\r\b\u009b1mb\u202ec\x00\xff\n"`
	got := w.fine("show 0-0 --payload")
	for _, want := range []string{
		"  key        " + quoted + "\n", "  value      " + quoted + "\n", "  header     " + quoted + ": " + quoted + "\n", `  header     "ünïcode": "ok"` + "\n", `  header     "null": null` + "\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %s", got, want)
		}
	}
	if strings.Contains(got, `"layover.errors.`) {
		t.Errorf("error headers are said twice:\n%s", got)
	}
	if got := w.fine("show 0-1 --payload"); !strings.Contains(got, `  header     "layover.errors.topic": `+quoted) || !strings.Contains(got, "  key        null\n") {
		t.Errorf("%s", got)
	}
}

func TestThePayloadForMachinesIsExact(t *testing.T) {
	w := newFixture(t)
	r := w.dead(0, 0, "rejected", append(pairs("plain", "two\nlines", "bytes", hostile), kgo.RecordHeader{Key: "null"})...)
	r.Key = nil
	w.Produce(r)
	if got := w.object("show 0-0"); got["payload"] != nil {
		t.Errorf("without --payload: %v", got)
	}
	payload := w.object("show 0-0 --payload")["payload"].(map[string]any)
	headers := payload["headers"].([]any)
	value := func(i int) any { return headers[i].(map[string]any)["value"] }
	if payload["key"] != nil || payload["value"].(map[string]any)["text"] != "secret-value-1" || len(headers) != 3 || value(2) != nil {
		t.Errorf("%v", payload)
	}
	if value(0).(map[string]any)["text"] != "two\nlines" || value(1).(map[string]any)["base64"] != base64.StdEncoding.EncodeToString([]byte(hostile)) {
		t.Errorf("%v", headers)
	}
}

func TestShowSaysWhereNothingIs(t *testing.T) {
	w := newFixture(t)
	w.fill(4)
	w.DeleteRecords(graves, 0, 1)
	for place, want := range map[string]string{
		"0-0":              "dead-letters-0-0: partition 0 has the offsets from 1 on, below 2",
		"0-2":              "partition 0 has the offsets from 1 on, below 2",
		"2-0":              `topic "dead-letters" has the partitions 0 to 1`,
		"elsewhere-0-0":    "choose the other with --from",
		"dead-letters-9-1": "has the partitions 0 to 1",
	} {
		if got := w.do("show " + place); got.Code != process.ExitRuntime || !strings.Contains(got.Stderr, want) {
			t.Errorf("%s: %+v, want %q", place, got, want)
		}
	}
	if got := w.do("show a-b"); got.Code != process.ExitUsage || got == (clitest.Result{}) {
		t.Errorf("%+v", got)
	}
}
