package delay

import (
	"math"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// script makes headers of one text. They end at a zero byte, a name ends at the
// first "=", and a header without "=" has a null value.
func script(text string) []kgo.RecordHeader {
	var in []kgo.RecordHeader
	for part := range strings.SplitSeq(text, "\x00") {
		name, value, ok := strings.Cut(part, "=")
		h := kgo.RecordHeader{Key: name}
		if ok {
			h.Value = []byte(value)
		}
		in = append(in, h)
	}
	return in
}

// without returns the headers whose name is none of names, whatever its case.
func without(in []kgo.RecordHeader, names ...string) []kgo.RecordHeader {
	var out []kgo.RecordHeader
	for _, h := range in {
		if !slices.Contains(names, asciiLower(h.Key)) {
			out = append(out, h)
		}
	}
	return out
}

// FuzzHeadersOfAnyNameAndNumber reads whole lists of headers: names in any case,
// repeated ones, nulls. The decision is the model's. A delivery and a dead letter
// carry the headers that were there without ours. A delivery that is read again
// asks for nothing, and a dead letter for what the record asked for.
func FuzzHeadersOfAnyNameAndNumber(f *testing.F) {
	for _, text := range []string{
		"", "x-delay", "x-delay=", "x-delay=30s", "X-DELAY=30s\x00x-delay=1s", "x-delay=1s\x00x-Delay", "x-deliver-at=2030-01-01T12:00:00Z\x00x-delay=bad",
		"x-delay=PT5M\x00x-deliver-to=orders", "x-deliver-to=orders\x00x-deliver-to=__x", "X-Deliver-To", "x-delay=6d1ms", "x-deliver-at=9999999999999",
		"x-deliver-at=1772370000", "a=1\x00layover-id=old\x00Layover-Due\x00layover-original-timestamp=\x00a=2\x00=b",
		"layover.errors.reason=old\x00LAYOVER.ERRORS.TOPIC=x\x00layover.errors.mine=kept\x00x-delay=0", "x-delay=P1M", "x\u212adelay=1s", "x-dela\u017f=1s",
	} {
		f.Add(text, noon, noon, int32(3), int64(42))
		f.Add(text, int64(-1), noon, int32(0), int64(0))
	}
	for _, text := range []string{
		"x-delay-id=order-1\x00x-delay=30m", "X-DELAY-ID=a\x00x-delay-id=b", "x-delay-id", "x-delay-id=", "x-delay-id=a\tb", "x-delay-id=\xff", "x-delay-id=\xc2\x85", "x-delay-id=\u00fc\u2028\ufffd",
		"x-delay-id=" + strings.Repeat("i", 256), "x-delay-id=" + strings.Repeat("i", 257), "x-delay-id=" + strings.Repeat("\u00fc", 129),
		"x-delay-id=a\x00x-delay-cancel=true", "x-delay-cancel=true", "x-delay-id=a\x00x-delay-cancel=True", "x-delay-id=a\x00x-delay-cancel", "x-delay-id=a\x00X-Delay-Cancel=true\x00layover-cancel-of=a/3",
		"x-delay-id=a\x00x-delay-cancel=true\x00x-delay=5s", "x-delay-id=a\x00x-delay-cancel=true\x00x-deliver-at=bad", "x-delay-id=a\x00x-delay-cancel=true\x00x-deliver-to=orders",
		"x-delay-id=a\x00x-delay-cancel=true\x00x-expire-at=0", "x-delay-id=\x01\x00x-delay-cancel=true", "x-delay-id=a\x00x-delay-cancel=false\x00x-delay-cancel=true",
		"x-expire-at=2026-03-01T14:00:00.0009Z", "X-Expire-At=1772370000\x00x-delay=5s", "x-expire-at", "x-expire-at=-9223372036854775808", "x-expire-at=9999999999999\x00x-delay-id=a\x00x-delay=bad",
		"a=1\x00layover-cancel-of=a/2\x00layover-id=x\x00x-delay-id=a\x00x-delay=1s", "layover.errors.reason=old\x00x-delay-id=a",
	} {
		f.Add(text, noon, noon, int32(3), int64(42))
		f.Add(text, int64(-1), noon, int32(0), int64(0))
	}
	for _, text := range []string{
		"x-delay=auto", "X-Delay=auto\x00x-delay-attempt=3", "x-delay=auto\x00x-delay-attempt=4", "x-delay=auto\x00x-delay-attempt=-1", "x-delay=Auto", "x-delay=auto\x00x-delay-attempt",
		"x-delay=1s..1h x2 max=0\x00x-delay-attempt=1000000", "x-delay=1s..1h\x00x-delay-attempt=1000001", "x-delay=1s..7d", "x-delay=1h..1s\x00x-delay-attempt=x",
		"x-delay=auto\x00layover-due=2026-03-01T14:00:00.000Z", "x-delay=auto\x00layover-due=tomorrow", "x-delay=auto\x00layover-due=9999-12-31T23:59:59.999Z", "layover-due=2026-03-01T14:00:00.000Z",
		"x-delay=5s\x00x-delay-attempt=3", "x-deliver-at=2026-03-01T14:00:00Z\x00x-delay=auto\x00x-delay-attempt=3", "X-Delay-Attempt=1\x00a=1\x00x-delay-attempt=02\x00a=2",
		"layover-id=a-0-1", "layover-id=a-0-1\x00layover-hops=4", "layover-id=a-0-1\x00layover-hops=5", "layover-hops=99999999999999999999", "layover-hops=-5", "layover-id\x00layover-hops=999999",
		"layover-id=a-0-1\x00layover-hops=4\x00x-delay=auto\x00x-delay-attempt=1\x00layover-due=2026-03-01T12:00:00.000Z", "layover-hops=5\x00x-delay-id=a\x00x-delay-cancel=true",
	} {
		for partition := range int32(4) {
			f.Add(text, noon, noon, partition, int64(42))
		}
		f.Add(text, int64(-1), noon, int32(1), int64(0))
	}
	f.Add("x-delay=1s", int64(math.MaxInt64), int64(math.MinInt64), int32(math.MinInt32), int64(math.MinInt64))
	f.Fuzz(func(t *testing.T, text string, ts, now int64, partition int32, offset int64) {
		in := script(text)
		r := &Rules{MaxDelay: 6 * day, Targets: mustTargets(t, "ready", []string{"orders", "eu.*"}, nil)}
		if offset%2 != 0 {
			r.ExpireAfter = time.Duration(offset & math.MaxInt32)
		}
		r.Backoff, r.MaxHops, r.DeliverInvalid = backoffOf(t, "1s..1h x3 max=4"), 5, partition%2 == 0
		if partition%3 == 0 {
			r.TopicBackoff = backoffOf(t, "5m..5m x1 jitter=50% max=0")
		}
		d, inv := r.parse(in, ts, now)
		want, reason := modelParse(r, in, ts, now)
		switch {
		case inv != nil && inv.Reason != ReasonTargetNotAllowed && inv.Reason != reason, inv == nil && reason != "":
			t.Fatalf("%q: got %v, want %q", in, inv, reason)
		case inv == nil && want.IsInt64() && want.Int64() != d.DeadlineMs:
			t.Fatalf("%q: due %d, want %v", in, d.DeadlineMs, want)
		}
		checkCommand(t, r, in, d, inv)

		o := Origin{Topic: "delayed", Partition: partition, Offset: offset, TimestampMs: ts}
		checkAttempt(t, r, in, d, inv)

		form := Whole
		if inv != nil {
			form = Refused
		}
		r.LeaveOut = Added(offset % 8 & 7) // all subsets of the three
		delivered := r.AppendDelivered(nil, in, o, d.DeadlineMs, form, nil)
		kept := without(in, append(slices.Clone(controlNames), stampedNames...)...)
		var ours []string
		last := modelLast(in)
		if n := modelRaised(r, last); n > 0 && inv == nil {
			kept, ours = without(kept, "x-delay-attempt"), append(ours, "x-delay-attempt")
			if got := modelLast(delivered)["x-delay-attempt"]; string(got) != strconv.FormatInt(n, 10) {
				t.Fatalf("%q: delivered as attempt %q, want %d", in, got, n)
			}
		}
		if n := modelHops(last); n > 0 || r.LeaveOut.Has(AddID) {
			ours = append(ours, "layover-hops")
			if got := modelLast(delivered)["layover-hops"]; string(got) != strconv.FormatInt(n, 10) {
				t.Fatalf("%q: delivered with %q hops, want %d", in, got, n)
			}
		}
		_, retried := modelPolicy(r, last)
		for name, is := range modelAdded(r.LeaveOut, retried, ts > 0) {
			if is {
				ours = append(ours, name)
			}
		}
		startsWith(t, delivered, kept, ours)
		r.TopicBackoff, r.MaxHops = Backoff{}, 0
		again, inv2 := r.parse(delivered, now, now)
		if badExpiry := inv2 != nil && inv2.Reason == ReasonMalformedExpireAt && inv != nil; again.Cancel || !badExpiry && (inv2 != nil || again.Delayed || again.Target != "ready" || again.ID != nil) {
			t.Fatalf("%q: what was delivered asks for %+v, %v", in, again, inv2)
		}

		if partition%3 == 0 {
			r.TopicBackoff = backoffOf(t, "5m..5m x1 jitter=50% max=0")
		}
		r.MaxHops = 5
		dead := AppendErrors(nil, in, o, "group", Invalid{Reason: ReasonMalformedDelay, Message: "bad"}, now)
		kept = without(in, errorNames...)
		startsWith(t, dead, kept, errorNames)
		d2, inv2 := r.parse(dead, ts, now)
		checkCommand(t, r, dead, d2, inv2)
		d.IDHeader, d2.IDHeader = 0, 0 // error headers before it are gone
		if !reflect.DeepEqual(d2, d) || !reflect.DeepEqual(inv2, inv) {
			t.Fatalf("%q: asks for %+v, %v, its dead letter for %+v, %v", in, d, inv, d2, inv2)
		}
	})
}

// checkAttempt holds what d says of the attempt against the headers.
func checkAttempt(t *testing.T, r *Rules, in []kgo.RecordHeader, d Decision, inv *Invalid) {
	t.Helper()
	last := modelLast(in)
	b, applies := modelPolicy(r, last)
	applies = applies && inv == nil && !d.Cancel
	had, _ := modelAttempts(last)
	want := int64(0)
	if applies {
		want = min(had+1, 1_000_000)
	}
	if d.Attempt != want || d.Exhausted != (applies && b.max > 0 && had >= b.max) {
		t.Fatalf("%q: attempt %d, ended %v, want %d of %d", in, d.Attempt, d.Exhausted, want, b.max)
	}
	if ended := r.Exhausted(in); inv == nil && !d.Cancel && (ended != nil) != d.Exhausted {
		t.Fatalf("%q: ended as %v, read as %v", in, ended, d.Exhausted)
	}
}

// checkCommand holds what d says of id, cancel and expiry against the headers.
func checkCommand(t *testing.T, r *Rules, in []kgo.RecordHeader, d Decision, inv *Invalid) {
	t.Helper()
	last := modelLast(in)
	_, cancels := last["x-delay-cancel"]
	if d.Cancel != cancels {
		t.Fatalf("%q: cancel is %v", in, d.Cancel)
	}
	if inv != nil {
		if want := (Decision{DeadlineMs: d.DeadlineMs, Cancel: cancels}); !reflect.DeepEqual(d, want) {
			t.Fatalf("%q: an invalid record asks for %+v", in, d)
		}
		return
	}
	id, named := last["x-delay-id"]
	if named != (d.ID != nil) || named && (string(d.ID) != string(id) || string(in[d.IDHeader].Value) != string(id) || asciiLower(in[d.IDHeader].Key) != "x-delay-id") {
		t.Fatalf("%q: id is %q of header %d", in, d.ID, d.IDHeader)
	}
	if _, copied := last["layover-cancel-of"]; d.CancelOf != (cancels && copied) {
		t.Fatalf("%q: one of several is %v", in, d.CancelOf)
	}
	if cancels {
		if d.Expires || d.Delayed || d.Target != "" || d.Label != "" || !named {
			t.Fatalf("%q: a cancel asks for %+v", in, d)
		}
		return
	}
	if want := modelExpiry(r, in, big.NewInt(d.DeadlineMs)); (want != nil) != d.Expires || want != nil && want.Int64() != d.ExpireMs {
		t.Fatalf("%q: due %d, expires %v at %d, want %v", in, d.DeadlineMs, d.Expires, d.ExpireMs, want)
	}
}

// startsWith checks that got is kept, byte for byte and with its nulls, and behind
// it one header of each name.
func startsWith(t *testing.T, got, kept []kgo.RecordHeader, names []string) {
	t.Helper()
	var behind []string
	for _, h := range got[min(len(kept), len(got)):] {
		behind = append(behind, h.Key)
	}
	if !slices.Equal(behind, names) || len(kept) > 0 && !reflect.DeepEqual(got[:len(kept)], kept) {
		t.Fatalf("got %q, want %q and behind it %q", got, kept, names)
	}
}

// A text that the command line takes is one that the header takes, and means the
// same. A text that only one of them takes is binary, or beyond a time.Duration.
func FuzzTextOnTheCommandLineIsTextInAHeader(f *testing.F) {
	for _, text := range append(delaySeeds(), instantSeeds()...) {
		f.Add(text)
	}
	f.Add("9223372036854")
	f.Add("9223372036855")
	f.Add("-9223372036855")
	f.Fuzz(func(t *testing.T, text string) {
		isBinary := text == "" || !modelText.MatchString(text)
		ms, ok := modelDelay([]byte(text))
		d, err := ParseDelay(text)
		beyond := modelInteger.MatchString(text) && !new(big.Int).Mul(big.NewInt(ms), big.NewInt(1e6)).IsInt64()
		if (err == nil) != (ok && !isBinary && !beyond) {
			t.Fatalf("%q: %v, %v, the header says %d %v", text, d, err, ms, ok)
		}
		if err == nil && ceilRat(new(big.Rat).SetFrac(big.NewInt(int64(d)), big.NewInt(1e6))).Int64() != ms {
			t.Fatalf("%q: %v, the header says %d ms", text, d, ms)
		}
		at, ok := modelInstant([]byte(text), true)
		floor, ok2 := modelInstant([]byte(text), false)
		if got, err := ParseExpiry(text); ok2 != ok || (err == nil) != (ok && !isBinary) || err == nil && got != max(floor, minInstantMs) {
			t.Fatalf("%q: expires at %d, %v, the header says %d %v", text, got, err, floor, ok)
		}
		if got, err := ParseInstant(text); (err == nil) != (ok && !isBinary) || err == nil && got != max(at, minInstantMs) {
			t.Fatalf("%q: %d, %v, the header says %d %v", text, got, err, at, ok)
		}
	})
}

// FuzzTargetsAgainstRegularExpressions asks twice, the second time from memory,
// for one name against one glob.
func FuzzTargetsAgainstRegularExpressions(f *testing.F) {
	for _, glob := range []string{"*", "eu.*", "eu.retry-?", "us.[a-c]*", "us.[^a-c]", "[a-", "[]a]", "a[", "a]", "^", "a^b", "[^]", "[--0]", `\*`, `a\`, "[z-a]", "{a,b}*", "orders", "__*", "..", ""} {
		for _, name := range []string{"eu.orders", "us.boston", "us.d", "", ".", "..", "__x", "__consumer_offsets", "eu.retry-1", "a", "ready", "denied", "a^b", "a]", strings.Repeat("x", 249), strings.Repeat("x", 250)} {
			f.Add(glob, []byte(name))
		}
	}
	legal := regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)
	f.Fuzz(func(t *testing.T, glob string, name []byte) {
		targets, err := NewTargets("ready", []string{glob}, []string{"denied"}, nil)
		if err != nil {
			if legal.MatchString(glob) && glob != "." && glob != ".." {
				t.Fatalf("%q refused: %v", glob, err)
			}
			return
		}
		want := string(name) == "ready"
		if legal.Match(name) && string(name) != "." && string(name) != ".." && !strings.HasPrefix(string(name), "__") && string(name) != "denied" {
			want = want || regexp.MustCompile(modelGlob(glob)).Match(name)
		}
		for range 2 {
			topic, label, ok := targets.Resolve(name)
			if ok != want || ok && (topic != string(name) || label != glob && label != "ready") {
				t.Fatalf("%q against %q: got %q %q %v, want %v", name, glob, topic, label, ok, want)
			}
		}
	})
}

// modelGlob is a valid glob as a regular expression.
func modelGlob(glob string) string {
	var b strings.Builder
	for glob != "" {
		c := glob[0]
		glob = glob[1:]
		switch c {
		case '\\':
			b.WriteString(regexp.QuoteMeta(glob[:1]))
			glob = glob[1:]
		case '[':
			var class string
			class, glob = modelClass(glob)
			b.WriteString(class)
		case '*':
			b.WriteString(".*")
		case '?':
			b.WriteByte('.')
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	return "^(?:" + b.String() + ")$"
}

// modelClass writes the class at the start of rest, behind its bracket, as all the
// letters of topics that are in it.
func modelClass(rest string) (class, behind string) {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
	next := func() byte {
		rest = strings.TrimPrefix(rest, "\\")
		c := rest[0]
		rest = rest[1:]
		return c
	}
	rest, negated := strings.CutPrefix(rest, "^")
	in := make(map[rune]bool)
	for rest[0] != ']' {
		low := next()
		high := low
		if rest[0] == '-' {
			rest = rest[1:]
			high = next()
		}
		for _, c := range letters {
			in[c] = in[c] || rune(low) <= c && c <= rune(high)
		}
	}
	for _, c := range letters {
		if in[c] != negated {
			class += regexp.QuoteMeta(string(c)) + "|"
		}
	}
	return "(?:" + class + "/)", rest[1:] // no topic has a slash
}
