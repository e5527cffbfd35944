package send

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/cli/process"
	"layover/delay"
)

// FuzzSendCommandLine reads command lines of any arguments, which end at zero
// bytes. What is accepted is a record that the server accepts too, due when send
// says, with the headers that were asked for in their order.
func FuzzSendCommandLine(f *testing.F) {
	for _, line := range []string{
		"hello --delay 30s", "--delay 5s -- -v", "-", "--delay 1h30m --at 2030-01-01T12:00:00Z v", "--at 2030-01-01T12:00:00Z v", "--at 1893456000000 v", "--at 1893456000 v",
		"--delay -5s v", "--delay=P1DT2H v --to orders", "--delay 0 v --header a=b --header a= --header a=b=c", "--delay 0 v --header =b", "--delay 0 v --header X-Delay=1",
		"--delay 0 v --key k --key ~", "--delay 9223372036854 v", "--delay 9223372036855 v", "--delay 9223372036854775807ns v", "--at 9999-12-31T23:59:59.9999Z v",
		"--at -9223372036854775808 v", "--at 9223372036854775807 v", "--delay 0 --brokers [::1]:9092,b:1 --topic t v", "--delay 0 --topic a,b v", "--delay 0 --topic __x v",
		"--delay 0 --to __x v", "--delay 0 --to . v", "--help", "-h v", "--delay", "--delay 5s a b", "---delay 5s v", "--delay 5s --nope v", "--delay 5s --id order-1 v", "--delay 5s --id order-1 -", "--delay 5s --id ~ v", "--delay 5s --id order-1 --key k v", "--delay 5s --expire-at 2030-01-01T12:00:00.0009Z v",
		"--at 0 --expire-at 0 --id a v", "--delay 0 v --header x-delay-cancel=true", "--delay 0 v --header X-Expire-At=0", "--delay 0 v --id a --expire-at bad", "--delay 100us v", "--delay 1.0000000001ms v", "--delay auto v", "--delay 1s..1h v", "--delay 1h..1s v", "--delay auto v --header x-delay-attempt=99 --header layover-due=2040-01-01T00:00:00.000Z", "--delay Auto v",
	} {
		f.Add(strings.ReplaceAll(strings.ReplaceAll(line, " ", "\x00"), "~", ""), "kafka:9092", "first,second")
	}
	f.Add("v\x00--delay\x005s", "user:pass@kafka:9092", "")
	f.Add("v\x00--delay\x005s", "", "a/b")
	f.Fuzz(func(t *testing.T, line, brokers, topics string) {
		args := strings.Split(line, "\x00")
		if strings.Contains(line, "env-file") {
			t.Skip("what it accepts depends on the files of this machine")
		}
		o, err := parse(&process.Process{Args: args, Environ: []string{"KAFKA_BROKERS=" + brokers, "LAYOVER_INGRESS_TOPICS=" + topics, "LAYOVER_LANES=none"}})
		if err != nil {
			if err.Error() == "" {
				t.Fatalf("%q: refused without a word", args)
			}
			return
		}
		if len(o.kafka.Brokers) == 0 || o.topic == "" || set(o.delay)+set(o.atMs)+set(o.backoff) != 1 || o.lines != (o.value == "-") {
			t.Fatalf("%q: got %+v", args, o)
		}
		checkServer(t, args, o)
		checkHeaders(t, args, o.headers)
	})
}

// set counts a field that is there.
func set[T any](field *T) int {
	if field == nil {
		return 0
	}
	return 1
}

// checkServer reads the record as the server will.
func checkServer(t *testing.T, args []string, o *options) {
	t.Helper()
	targets, err := delay.NewTargets("ready", []string{"*"}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	const longest = 1<<63 - 1
	now := time.UnixMilli(1_772_370_000_123)
	r := o.record([]byte(o.value), now)
	d, inv := (&delay.Rules{MaxDelay: longest, Targets: targets, Backoff: o.refusal.auto, DeliverInvalid: true}).Parse(r, now.UnixMilli())
	switch {
	case inv != nil && inv.Reason == delay.ReasonMalformedAttempt: // a header of the user's
	case inv != nil && inv.Reason != delay.ReasonDelayTooLong && inv.Reason != delay.ReasonFutureTimestamp:
		t.Fatalf("%q: the server refuses the record: %v", args, inv)
	case inv != nil && o.dueMs(r)-now.UnixMilli() <= longest/1_000_000:
		t.Fatalf("%q: due in %d ms is too long for the server: %v", args, o.dueMs(r)-now.UnixMilli(), inv)
	case inv == nil && d.DeadlineMs != o.dueMs(r):
		t.Fatalf("%q: due at %d for the server, printed is %d", args, d.DeadlineMs, o.dueMs(r))
	case inv == nil && (string(d.ID) != o.id || d.Cancel):
		t.Fatalf("%q: id %q for the server, want %q", args, d.ID, o.id)
	case r.Topic != o.topic || string(r.Value) != o.value:
		t.Fatalf("%q: got record %+v", args, r)
	}
}

// checkHeaders checks that each --header of args is there, in their order and before
// ours.
func checkHeaders(t *testing.T, args []string, headers []kgo.RecordHeader) {
	t.Helper()
	for len(headers) > 0 && (delay.IsControl(headers[len(headers)-1].Key) || delay.IsExpireAt(headers[len(headers)-1].Key)) {
		headers = headers[:len(headers)-1]
	}
	for _, h := range headers {
		pair := h.Key + "=" + string(h.Value)
		at := slices.IndexFunc(args, func(arg string) bool { return arg == pair || strings.HasSuffix(arg, "-header="+pair) })
		if at < 0 || delay.IsControl(h.Key) || delay.IsExpireAt(h.Key) || h.Key == "" {
			t.Fatalf("%q: header %q", args, h)
		}
		args = args[at+1:]
	}
}

// FuzzLinesAgainstSplit reads lines in pieces of any size and compares them with
// the text split at its line feeds.
func FuzzLinesAgainstSplit(f *testing.F) {
	for _, text := range []string{"", "\n", "a", "a\n", "a\r\n", "a\r\r\n", "\r", "a\rb\n", "a\n\n", "a\nb", "1234\n", "12345\n", "1234\r\n", "12345\r\n", "123456", "1234\r", "a\n12345678\nb\n"} {
		f.Add([]byte(text), uint8(4), false)
		f.Add([]byte(text), uint8(4), true)
	}
	f.Fuzz(func(t *testing.T, text []byte, most uint8, inBytes bool) {
		limit := int(most) + 1
		var in io.Reader = bytes.NewReader(text)
		if inBytes {
			in = iotest.OneByteReader(in)
		}
		next := linesOf(in, limit)
		lines := bytes.Split(text, []byte("\n"))
		if last := len(lines) - 1; len(lines[last]) == 0 {
			lines = lines[:last]
		}
		for i, want := range lines {
			want = bytes.TrimSuffix(want, []byte("\r"))
			got, err := next()
			if len(want) > limit {
				if err == nil || err == io.EOF {
					t.Fatalf("line %d of %q, of %d bytes, is read as %q, %v", i, text, len(want), got, err)
				}
				return
			}
			if err != nil || !bytes.Equal(got, want) || got == nil {
				t.Fatalf("line %d of %q with at most %d: got %q, %v, want %q", i, text, limit, got, err, want)
			}
		}
		if got, err := next(); err != io.EOF {
			t.Fatalf("behind %q: %q, %v", text, got, err)
		}
	})
}
