package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"layover/verify"
	played "layover/verify/long"

	"github.com/twmb/franz-go/pkg/kgo"
)

// kcatRecord is a record as kcat prints it.
type kcatRecord struct {
	Offset       int64
	Ts           int64 // Unix milliseconds
	Headers      []string
	Key, Payload string
}

// header returns the value of the last header of a name, "" for none.
func (r *kcatRecord) header(name string) (value string) {
	for i := 0; i < len(r.Headers); i += 2 {
		if r.Headers[i] == name {
			value = r.Headers[i+1]
		}
	}
	return value
}

// kcat runs kcat with an input, and returns its output.
func (f *fixture) kcat(input string, args ...string) []byte {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "kcat", append([]string{"-b", f.broker.addr}, args...)...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.Output()
	if err != nil {
		f.Fatalf("kcat %q: %v", args, err)
	}
	return out
}

// reads waits for the record of an offset of a topic's only partition.
func (f *fixture) reads(topic string, offset int64) (r kcatRecord) {
	f.Helper()
	out := f.kcat("", "-C", "-J", "-q", "-t", topic, "-p", "0", "-o", strconv.FormatInt(offset, 10), "-c", "1")
	if err := json.Unmarshal(out, &r); err != nil {
		f.Fatalf("kcat printed %q: %v", out, err)
	}
	return r
}

// writesBack writes a record to the ingress topic as it came, headers included.
func (f *fixture) writesBack(r kcatRecord) {
	f.Helper()
	args := []string{"-P", "-t", f.ingress, "-p", "0", "-k", r.Key}
	for i := 0; i < len(r.Headers); i += 2 {
		args = append(args, "-H", r.Headers[i]+"="+r.Headers[i+1])
	}
	f.kcat(r.Payload, args...)
}

// TestAConsumerThatAlwaysFailsGetsSixteenAttempts with kcat as the consumer, through a
// hand-over and a kill. The seventeenth is a dead letter.
func TestAConsumerThatAlwaysFailsGetsSixteenAttempts(t *testing.T) {
	played.InChecks(t)
	t.Parallel()
	if _, err := exec.LookPath("kcat"); err != nil {
		t.Skip("skipped: the consumer is kcat, which is not installed")
	}
	f := onSharedBroker(t, 1)
	policy := verify.Backoff{First: 200 * time.Millisecond, Last: time.Second, Factor: 150, Jitter: 20, Max: 16}
	setting := "LAYOVER_TOPIC_DELAYS=" + f.ingress + "=200ms..1s x1.5"
	p := f.layover(setting, "LAYOVER_COMMIT_INTERVAL=50ms")
	if log := p.log(); !strings.Contains(log, `"backoff":"1s..1h x2 jitter=20% max=16"`) {
		t.Errorf("the start line does not say what auto is: %s", log)
	}
	f.writesBack(kcatRecord{Key: "order-17", Payload: "always fails", Headers: []string{"trace", "a b=c"}})
	var last kcatRecord
	for n := int64(1); n <= 16; n++ {
		r := f.reads(f.egress, n-1)
		f.checkAttempt(policy, n, r, last)
		last = r
		switch n {
		case 5: // to another instance
			next := f.layover(setting, "LAYOVER_COMMIT_INTERVAL=50ms")
			f.writesBack(r)
			p.terminate()
			p = next
		case 10: // to one that comes after a kill
			eventually(t, 10*time.Second, "the tenth delivery is committed", func() bool {
				at, err := f.committed()
				return err == nil && at[0] == 10
			})
			f.writesBack(r)
			p.kill()
			p = f.layover(setting)
		default:
			f.writesBack(r)
		}
	}
	letter := f.reads(f.deadLetters, 0)
	if letter.header("layover.errors.reason") != "attempts_exhausted" || letter.header("x-delay-attempt") != "16" ||
		letter.header("layover.errors.offset") != "16" || letter.Payload != "always fails" || letter.Key != "order-17" {
		t.Errorf("the seventeenth is %+v", letter)
	}
	p.terminate()
	if ends, err := f.ends(f.egress); err != nil || ends[0] != 16 {
		t.Errorf("the egress topic ends at %v, %v, want 16", ends, err)
	}
}

// backoffText is a back-off as the documents write one.
var backoffText = regexp.MustCompile(`^(\w+)\.\.(\w+)(?: x(\d+))?(?: jitter=(\d+)%)?(?: max=(\d+))?$`)

// backoffIn reads a back-off, by itself.
func backoffIn(text string) (b verify.Backoff, ok bool) {
	m := backoffText.FindStringSubmatch(text)
	if m == nil {
		return b, false
	}
	first, err1 := time.ParseDuration(m[1])
	last, err2 := time.ParseDuration(m[2])
	b = verify.Backoff{First: first, Last: last, Factor: 200, Jitter: 20, Max: 16}
	for i, part := range []*int64{&b.Factor, &b.Jitter, &b.Max} {
		if n, err := strconv.ParseInt(m[3+i], 10, 64); err == nil {
			*part = n
		}
	}
	if m[3] != "" {
		b.Factor *= 100
	}
	return b, err1 == nil && err2 == nil
}

// retried is when a record is due that a back-off applies to, or why it is a dead letter.
func (s *shell) retried(r *kgo.Record, b verify.Backoff) (due time.Time, reason string) {
	s.Helper()
	count, _ := lookup(s.T, r, "x-delay-attempt")
	had, _ := strconv.ParseInt(count, 10, 64)
	if b.Max > 0 && had >= b.Max {
		return r.Timestamp, "attempts_exhausted"
	}
	due = r.Timestamp
	before, _ := lookup(s.T, r, "layover-due")
	if at, err := time.Parse(instant, before); err == nil && at.After(due) {
		due = at
	}
	return due.Add(b.Wait(had+1, r.Topic, r.Partition, r.Offset)), ""
}

// checkAttempt checks the nth delivery, which was the one before when it was written.
func (f *fixture) checkAttempt(policy verify.Backoff, n int64, r, before kcatRecord) {
	f.Helper()
	from, err := time.Parse(instant, r.header("layover-original-timestamp"))
	if due, err := time.Parse(instant, before.header("layover-due")); err == nil && due.After(from) {
		from = due
	}
	due := from.Add(policy.Wait(n, f.ingress, 0, n-1)).UTC()
	hops := ""
	if n > 1 {
		hops = strconv.FormatInt(n-1, 10)
	}
	switch {
	case err != nil:
		f.Fatal(err)
	case r.header("x-delay-attempt") != strconv.FormatInt(n, 10) || r.header("layover-hops") != hops || r.header("trace") != "a b=c":
		f.Fatalf("delivery %d carries %q", n, r.Headers)
	case r.header("layover-id") != fmt.Sprintf("%s-0-%d", f.ingress, n-1):
		f.Fatalf("delivery %d is of %s", n, r.header("layover-id"))
	case r.header("layover-due") != due.Format(instant) || r.Ts < due.UnixMilli():
		f.Fatalf("delivery %d was due at %s and came at %v, want %v", n, r.header("layover-due"), time.UnixMilli(r.Ts).UTC(), due)
	case r.Key != "order-17" || r.Payload != "always fails":
		f.Fatalf("delivery %d is %+v", n, r)
	}
}
