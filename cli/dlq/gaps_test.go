package dlq

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/cli/process"
	"layover/verify/kafkatest"
)

// TestWhatAnOpenTransactionHidesIsSaid: letters that the brokers have acknowledged lie behind a
// transaction that hangs. No reader of committed records finds them.
func TestWhatAnOpenTransactionHidesIsSaid(t *testing.T) {
	w := newFixture(t)
	w.fill(2)
	tx := w.NewClient(kgo.TransactionalID("tx"))
	if err := kafkatest.Transaction(t.Context(), tx, w.dead(0, 0, "rejected")); err != nil {
		t.Fatal(err)
	}
	w.fill(4) // two of them behind the transaction
	const note = graves + "/0: the offsets 1 to 3 are behind an open transaction, and are left out\n"
	if got := w.do("list"); got.Code != process.ExitOK || !strings.Contains(got.Stderr, note) {
		t.Errorf("list: code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	if got := w.do("show 0-2"); got.Code != process.ExitRuntime || !strings.Contains(got.Stderr, "it is behind an open transaction, and can be read when that has ended") {
		t.Errorf("show: code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	got := w.do("redrive --execute")
	if n := len(w.sent()); got.Code != process.ExitOK || n != 4 || !strings.Contains(got.Stderr, note) ||
		!strings.Contains(got.Stdout, "All of it is done but what is behind an open transaction: when that has ended, the same command with --offsets 0:1-3\n") {
		t.Errorf("redrive: code %d, %d sent\n%s%s", got.Code, n, got.Stdout, got.Stderr)
	}
	if got := w.do("redrive --execute --offsets 0:1-3"); got.Code != process.ExitRuntime || !strings.Contains(got.Stderr, "from 1 on are behind an open transaction: go on when that has ended") {
		t.Errorf("too early: code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	if err := tx.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	got = w.do("redrive --execute --offsets 0:1-3")
	if n := len(w.sent()); got.Code != process.ExitOK || n != 7 || !strings.Contains(got.Stdout, "All of it is done. ") {
		t.Errorf("behind it: code %d, %d sent\n%s%s", got.Code, n, got.Stdout, got.Stderr)
	}
}

// TestADeletionWhileItReadsIsGoneOver, as one before the start is, also where nothing is left.
func TestADeletionWhileItReadsIsGoneOver(t *testing.T) {
	for verb, test := range map[string]struct {
		deleted int64
		want    int
		note    string
	}{
		"redrive --execute":                 {4, 16, "the offsets 0 to 3 are deleted, and are left out\n"},
		"redrive --execute --offsets 0:2-8": {10, 0, "the offsets 2 to 8 are deleted, and are left out\n"},
	} {
		w := newFixture(t)
		w.fill(20)
		first := &hook{f: func() { w.DeleteRecords(graves, 0, test.deleted) }} // after the ends were asked for, and before anything is read
		w.stderr = first
		got := w.do(verb)
		if n := len(w.sent()); got.Code != process.ExitOK || n != test.want || !strings.Contains(first.said.String(), graves+"/0: "+test.note) {
			t.Errorf("%s: code %d, %d sent\n%s%s", verb, got.Code, n, got.Stdout, first.said.String())
		}
	}
}
