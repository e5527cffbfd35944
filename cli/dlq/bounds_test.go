package dlq

import (
	"io"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"layover/cli/process"
	"layover/verify/kafkatest"
)

// withoutLeader takes the leader of a partition away, and returns the function that gives it back.
func (w *fixture) withoutLeader(partition int32) (elect func()) {
	return w.Refuse(kmsg.Metadata, kfake.Fault{Topic: graves, Partitions: []int32{partition}, Err: kerr.LeaderNotAvailable}).Remove
}

// TestAPartitionWhoseBoundsNobodyTellsIsNoEmptyOne: its letters are not counted and not sent again, so it is no success.
func TestAPartitionWhoseBoundsNobodyTellsIsNoEmptyOne(t *testing.T) {
	ofBroker := func(hangs func(*kmsg.ListOffsetsRequest) bool) func(w *fixture) {
		return func(w *fixture) {
			for n := range int32(2) { // each on a broker of its own
				if err := w.Broker.MoveTopicPartition(graves, n, n); err != nil {
					w.Fatal(err)
				}
			}
			w.Broker.ControlKey(int16(kmsg.ListOffsets), func(r kmsg.Request) (kmsg.Response, error, bool) {
				w.Broker.KeepControl()
				req := r.(*kmsg.ListOffsetsRequest)
				if t := &req.Topics[0]; t.Topic == graves && t.Partitions[0].Partition == 1 && hangs(req) {
					return nil, io.ErrUnexpectedEOF, true
				}
				return nil, nil, false
			})
		}
	}
	for name, breaks := range map[string]func(w *fixture){
		"its broker is gone": ofBroker(func(*kmsg.ListOffsetsRequest) bool { return true }),
		"its end is not told": ofBroker(func(r *kmsg.ListOffsetsRequest) bool {
			return r.Topics[0].Partitions[0].Timestamp == -1 && r.IsolationLevel == 0
		}),
		"its stable end is not told": ofBroker(func(r *kmsg.ListOffsetsRequest) bool {
			return r.Topics[0].Partitions[0].Timestamp == -1 && r.IsolationLevel == 1
		}),
		"its last replica is down": func(w *fixture) { w.withoutLeader(1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // the client waits before each try
			w := newFixture(t)
			w.fill(6)
			breaks(w)
			for _, line := range []string{"list", "redrive --execute"} {
				got := w.do(line)
				if got.Code != process.ExitRuntime || !strings.Contains(got.Stderr, "left out are the letters of dead-letters/1: ") || !strings.HasSuffix(got.Stderr, "layover dlq: 1 partition is left out\n") {
					t.Errorf("%s: %+v", line, got)
				}
			}
			w.hasOnce(1, 3, 5)
			if got := w.do("show 1-0"); got.Code != process.ExitRuntime || !strings.HasPrefix(got.Stderr, "layover dlq: dead-letters/1: ") {
				t.Errorf("show: %+v", got)
			}
			if got := w.do("show 0-0"); got.Code != process.ExitOK || got.Stderr != "" {
				t.Errorf("show: %+v", got)
			}
		})
	}
}

// TestWhatIsLeftOutIsRedrivenLater, by the offsets that are printed, and what was sent before is not sent again.
func TestWhatIsLeftOutIsRedrivenLater(t *testing.T) {
	w := newFixture(t)
	w.fill(6)
	elect := w.withoutLeader(1)
	const rest = "To go on, the same command with --offsets 1:0-end\nPartitions that are not named are done. What is redriven again is sent twice.\n"
	got := w.do("redrive --execute")
	if got.Code != process.ExitRuntime || !strings.HasSuffix(got.Stdout, rest) || !strings.Contains(got.Stderr, "redriving --offsets 0:0-2,1:0-end\n") {
		t.Errorf("%+v", got)
	}
	if got := w.do("redrive --execute -o json --offsets 0:0-2,1:0-end --reason expired"); !strings.Contains(got.Stdout, `"offsets":"1:0-end"`) {
		t.Errorf("%+v", got)
	}
	for line, want := range map[string]string{
		"redrive": "add --offsets 0:0-2\n", "redrive -o json": `"offsets":"0:0-2,1:0-end"`, "redrive --reason expired": "\nNothing to redrive in the other partitions.\n",
		"redrive --offsets 0:0-2,1:1-2 -o json": `"offsets":"0:0-2,1:1-2"`,
	} {
		if got := w.do(line); got.Code != process.ExitRuntime || !strings.Contains(got.Stdout, want) {
			t.Errorf("%s: %+v", line, got)
		}
	}
	if got := w.do("redrive --execute --offsets 1:0-end"); got.Code != process.ExitRuntime || got.Stdout != "" {
		t.Errorf("nothing but what is left out: %+v", got)
	}
	if got := w.do("redrive --execute --offsets 0:3-end"); got.Code != process.ExitOK {
		t.Errorf("what is left out was not asked for: %+v", got)
	}
	w.hasOnce(1, 3, 5)
	elect()
	if got := w.fine("redrive --execute --offsets 1:0-end"); !strings.Contains(got, "\nAll of it is done. ") {
		t.Errorf("%s", got)
	}
	w.hasOnce(upTo(6)...)
}

// TestAStretchToTheEndEndsWhereTheLogDoes, and begins where that does. What an open transaction hides is said.
func TestAStretchToTheEndEndsWhereTheLogDoes(t *testing.T) {
	w := newFixture(t)
	w.fill(6)
	w.DeleteRecords(graves, 1, 1)
	if got := w.do("redrive --offsets 0:1-end,1:0-end -o json"); got.Code != process.ExitOK || got.Stderr != "" || !strings.Contains(got.Stdout, `"offsets":"0:1-2,1:1-2"`) {
		t.Errorf("%+v", got)
	}
	if got := w.do("redrive --offsets 0:4-end"); got.Code != process.ExitRuntime || !strings.Contains(got.Stderr, "--offsets: partition 0 of \"dead-letters\" ends below 3: ") {
		t.Errorf("behind the end: %+v", got)
	}
	tx := w.NewClient(kgo.TransactionalID("tx"))
	if err := kafkatest.Transaction(t.Context(), tx, w.dead(1, 0, "rejected")); err != nil {
		t.Fatal(err)
	}
	const hidden = "when that has ended, the same command with --offsets 1:3-3\n"
	for line, want := range map[string]string{
		"--offsets 1:0-end":           "All of it is done but what is behind an open transaction: " + hidden,
		"--offsets 1:0-end --limit 1": "To go on, the same command with --offsets 1:2-2\nWhat is behind an open transaction is not done either: " + hidden,
	} {
		if got := w.do("redrive --execute " + line); got.Code != process.ExitOK || !strings.Contains(got.Stdout, want) {
			t.Errorf("%s: %+v", line, got)
		}
	}
}
