package dlq

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"layover/cli/clitest"
	"layover/cli/process"
)

func TestWithoutExecuteRedriveOnlyCounts(t *testing.T) {
	w := newFixture(t)
	w.mixed()
	want := `dead-letters: 5 records read, 3 dead letters to write

  to ingress topic
            3  delayed

  by reason
            2  target_unavailable
            1  too_large

  passed over
            1  not dead letters of Layover
            1  of a topic that LAYOVER_INGRESS_TOPICS does not have

Dry run: nothing was written. With --execute these are, in 1s at the rate of 1,000 a second.
To redrive these and none that come meanwhile, add --offsets 0:0-1,1:0-2
`
	if got := w.do("redrive"); got != (clitest.Result{Stdout: want}) {
		t.Errorf("code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	got := w.object("redrive --reason too_large")
	if got["read"] != 5.0 || got["written"] != 0.0 || got["chosen"] != 1.0 || got["filtered"] != 3.0 || got["executed"] != false || got["offsets"] != "0:0-1,1:0-2" {
		t.Errorf("%v", got)
	}
	if len(w.sent()) != 0 {
		t.Errorf("written %v", w.sent())
	}
}

func TestEachLetterGoesBackToWhereItCameFrom(t *testing.T) {
	w := newFixture(t)
	before := time.Now().Truncate(time.Millisecond)
	w.Produce(
		w.dead(0, 2, "target_unavailable", pairs("trace", "1", "x-delay", "5s", "x-delay-id", "order-17", "x-expire-at", "2031-01-01T00:00:00Z", "layover-id", "delayed-0-0")...),
		w.dead(1, 1, "expired", pairs("x-expire-at", "2026-01-01T00:00:00Z")...),
	)
	got := w.do("redrive --execute")
	if got.Code != process.ExitOK || got.Stderr != "redriving --offsets 0:0-0,1:0-0\n" ||
		!strings.HasPrefix(got.Stdout, "dead-letters: 2 records read, 2 written\n") ||
		!strings.HasSuffix(got.Stdout, "\nAll of it is done. The letters stay in dead-letters: what is redriven again is sent twice.\n") {
		t.Fatalf("%+v", got)
	}
	want := map[int32]struct {
		key, value string
		headers    []kgo.RecordHeader
	}{
		2: {"secret-key-1", "secret-value-1", pairs("trace", "1", "x-delay", "5s", "x-expire-at", "2031-01-01T00:00:00Z", "layover-id", "delayed-0-0", "layover-redriven", "dead-letters-0-0")},
		1: {"secret-key-2", "secret-value-2", pairs("layover-redriven", "dead-letters-1-0")},
	}
	records := w.Records(ingress)
	if len(records) != 2 {
		t.Fatalf("%d records", len(records))
	}
	for _, r := range records {
		is := want[r.Partition]
		if string(r.Key) != is.key || string(r.Value) != is.value || !reflect.DeepEqual(r.Headers, is.headers) || r.Timestamp.Before(before) {
			t.Errorf("partition %d: key %s, value %s at %v, headers %q\nwant %+v", r.Partition, r.Key, r.Value, r.Timestamp, r.Headers, is)
		}
	}
}

func TestRedriveKeepsIdsAndChangesDelaysWhereItIsTold(t *testing.T) {
	w := newFixture(t)
	w.Produce(w.dead(0, 0, "delay_too_long", pairs("x-delay", "5000d", "x-deliver-at", "2090-01-01T00:00:00Z", "x-delay-id", "order-17")...))
	w.fine("redrive --execute --keep-id --delay 1h30m")
	if got, want := w.Records(ingress)[0].Headers, pairs("x-delay-id", "order-17", "x-delay", "1h30m", "layover-redriven", "dead-letters-0-0"); !reflect.DeepEqual(got, want) {
		t.Errorf("headers %q, want %q", got, want)
	}
}

// TestALetterWithoutItsValueIsNeverSentAsANull: in a compacted target it would delete.
func TestALetterWithoutItsValueIsNeverSentAsANull(t *testing.T) {
	w := newFixture(t)
	dropped, null := w.dead(0, 0, "rejected", pairs("layover.errors.value", "dropped")...), w.dead(0, 1, "rejected")
	dropped.Value, null.Value = nil, nil
	w.Produce(dropped, null, w.dead(1, 2, "skipped", pairs("x-delay-id", "a", "x-delay-cancel", "true")...),
		w.dead(1, 2, "unreadable", pairs("layover.errors.last_offset", "9", "layover.errors.records", "2")...))
	got := w.object("redrive --execute")
	want := map[string]any{"foreign": 0.0, "other_group": 0.0, "other_topic": 0.0, "cancel": 1.0, "batch": 1.0, "no_value": 1.0}
	if got["written"] != 1.0 || got["offsets"] != "" || got["executed"] != true || !reflect.DeepEqual(got["passed_over"], want) {
		t.Errorf("%v", got)
	}
	if r := w.Records(ingress); len(r) != 1 || r[0].Partition != 1 || r[0].Value != nil {
		t.Errorf("%d records, the first %+v", len(r), r[0])
	}
}

func TestLettersOfAnotherGroupAreTakenWhereThatIsSaid(t *testing.T) {
	w := newFixture(t)
	w.fill(2)
	if got := w.fine("redrive --execute", "LAYOVER_GROUP_ID=other"); !strings.Contains(got, "2 records read, 0 written") || !strings.Contains(got, "2  of another group: --any-group takes them") {
		t.Errorf("%s", got)
	}
	w.fine("redrive --execute --any-group", "LAYOVER_GROUP_ID=other")
	w.hasOnce(1, 2)
}

// TestRedriveDoesNotFollowItsOwnDeadLetters: what comes into the topic after the start is
// left for another call.
func TestRedriveDoesNotFollowItsOwnDeadLetters(t *testing.T) {
	w := newFixture(t)
	w.fill(6)
	w.stderr = &hook{f: func() { w.fill(6) }} // after the ends were asked for, and before anything is read
	if got := w.fine("redrive --execute"); !strings.Contains(got, "6 records read, 6 written") || !strings.Contains(got, "All of it is done") {
		t.Errorf("%s", got)
	}
	w.hasOnce(upTo(6)...)
}

func TestOffsetsAreTheEndOfTheFirstCall(t *testing.T) {
	w := newFixture(t)
	w.fill(20) // ten in each partition
	if got := w.fine("redrive --execute --offsets 0:3-5,1:9"); !strings.Contains(got, "4 records read, 4 written") {
		t.Errorf("%s", got)
	}
	w.hasOnce(7, 9, 11, 20)
	w.DeleteRecords(graves, 0, 7)
	got := w.do("redrive --execute --offsets 0:5-8")
	if got.Code != process.ExitOK || !strings.Contains(got.Stderr, "dead-letters/0: the offsets 5 to 6 are deleted, and are left out\n") {
		t.Errorf("%+v", got)
	}
	w.hasOnce(7, 9, 11, 20, 15, 17)
	if got := w.do("redrive --execute --offsets 0:5-6"); got.Code != process.ExitOK || !strings.Contains(got.Stdout, "0 records read") {
		t.Errorf("of nothing but deleted ones: %+v", got)
	}
	for offsets, want := range map[string]string{"0:3-10": "partition 0 of \"dead-letters\" ends below 10", "2:0-1": `has no partition 2`} {
		if got := w.do("redrive --execute --offsets " + offsets); got.Code != process.ExitRuntime || !strings.Contains(got.Stderr, want) {
			t.Errorf("%s: %+v, want %q", offsets, got, want)
		}
	}
}

func TestLimitStopsAndSaysHowToGoOn(t *testing.T) {
	w := newFixture(t)
	w.fill(10)
	offsets, calls := "", 0
	for offsets = "0:0-4,1:0-4"; offsets != ""; calls++ {
		got := w.object("redrive --execute --limit 4 --offsets " + offsets)
		if offsets = got["offsets"].(string); got["written"].(float64) > 4 || calls > 3 {
			t.Fatalf("%v", got)
		}
	}
	w.hasOnce(upTo(10)...)
	if calls != 3 {
		t.Errorf("%d calls", calls)
	}
	if got := w.fine("redrive --limit 3"); !strings.Contains(got, "3 dead letters to write") {
		t.Errorf("%s", got)
	}
}

func TestTheRateIsKept(t *testing.T) {
	w := newFixture(t)
	w.fill(40)
	began := time.Now()
	w.fine("redrive --execute --rate 80")
	if took := time.Since(began); took < 450*time.Millisecond { // 39 pauses of 12.5 ms, less what may be made up for
		t.Errorf("40 records at 80 a second took %v", took)
	}
	w.hasOnce(upTo(40)...)
}

// TestALetterLargerThanABatchGoesAlone: the client compares before it compresses, and the
// broker after.
func TestALetterLargerThanABatchGoesAlone(t *testing.T) {
	w := newFixture(t)
	limit := "3000"
	if _, err := w.Admin().AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "max.message.bytes", Value: &limit}}, ingress); err != nil {
		t.Fatal(err)
	}
	soft := w.dead(0, 0, "too_large")
	soft.Value = []byte(strings.Repeat("x", 50_000))
	w.Produce(w.dead(0, 0, "too_large"), soft, w.dead(0, 0, "too_large"))
	if got := w.fine("redrive --execute"); !strings.Contains(got, "3 written") {
		t.Errorf("%s", got)
	}
	if got := w.sent(); len(got) != 3 || got[string(soft.Value)] != 1 {
		t.Errorf("%d values", len(got))
	}
	noise := make([]byte, 5000)
	for i, random := 0, rand.New(rand.NewPCG(1, 2)); i < len(noise); i++ {
		noise[i] = byte(random.Uint32()) // incompressible
	}
	hard := w.dead(1, 0, "too_large")
	hard.Value = noise
	w.Produce(w.dead(1, 0, "too_large"), hard, w.dead(1, 0, "too_large"))
	got := w.do("redrive --execute --offsets 1:0-2")
	if got.Code != process.ExitRuntime || !strings.Contains(got.Stderr, "layover dlq: dead-letters-1-1 to delayed/0: refused as too large: MESSAGE_TOO_LARGE") ||
		!strings.Contains(got.Stderr, "raise max.message.bytes of delayed, or leave this letter out: begin --offsets of partition 1 behind 1") ||
		!strings.Contains(got.Stdout, "To go on, the same command with --offsets 1:1-2\n") {
		t.Errorf("%+v", got)
	}
}

func TestATerminalHasAMeterAndNothingIsLeftOfIt(t *testing.T) {
	w := newFixture(t)
	w.fill(60)
	got := clitest.Call{Args: strings.Fields("redrive --execute --rate 100"), Environ: w.environ, OnATerminal: true}.Do(t, Command)
	if got.Code != process.ExitOK || !strings.Contains(got.Stderr, "\r\x1b[Kread ") || !strings.HasSuffix(got.Stderr, eraseLine) {
		t.Errorf("code %d, stderr %q", got.Code, got.Stderr)
	}
	var read, of, written int
	last := got.Stderr[strings.LastIndex(got.Stderr, "read "):]
	if n, _ := fmt.Sscanf(last, "read %d of %d offsets, written %d", &read, &of, &written); n != 3 || of != 60 || written == 0 || written > read || read > of {
		t.Errorf("the last sight is %q", last)
	}
}

// TestWhatIsOnlyCountedIsSeenToo: a topic of millions takes a while to read.
func TestWhatIsOnlyCountedIsSeenToo(t *testing.T) {
	w := newFixture(t)
	w.fill(6)
	for line, want := range map[string]string{"redrive": " to write", "list": "\r\x1b[Kread "} {
		got := clitest.Call{Args: strings.Fields(line), Environ: w.environ, OnATerminal: true}.Do(t, Command)
		if got.Code != process.ExitOK || !strings.Contains(got.Stderr, want) || !strings.HasSuffix(got.Stderr, eraseLine) {
			t.Errorf("%s: code %d, stderr %q", line, got.Code, got.Stderr)
		}
	}
}
