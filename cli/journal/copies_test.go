package journal

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"layover/cli/clitest"
	"layover/cli/process"
	"layover/journal/facts"
	"layover/offsets"
)

const runsName = name + ".runs"

// copied is the ledger of the finished copies of a partition. Its runs partition has records
// at the offsets from 0 to size-1.
type copied struct {
	w      *fixture
	id     facts.Identity
	window *offsets.Window
	ledger *facts.Writer
}

func (w *fixture) copies(partition int32, size int) *copied {
	w.Helper()
	if w.Broker.TopicInfo(runsName) == nil {
		w.CreateTopic(runsName, 3, nil)
	}
	records := make([]*kgo.Record, size)
	for i := range records {
		records[i] = &kgo.Record{Topic: runsName, Partition: partition}
	}
	w.Produce(records...)
	c := &copied{w: w, id: w.id(partition, 0), window: offsets.NewWindow(0)}
	c.id.TopicID = w.Broker.TopicInfo(runsName).TopicID
	c.ledger = facts.NewJournalOnly(c.id, 9, facts.Restored{}, c.window)
	c.ledger.Use(w.Broker.TopicInfo(name).TopicID, 1<<20)
	return c
}

// finish finishes copies and writes that to the journal.
func (c *copied) finish(from, to int64) *copied {
	c.w.Helper()
	c.window.FinishRange(from, to)
	c.ledger.Note(from, to)
	for now := int64(1); ; now++ {
		cut := c.ledger.Cut(nil, c.w.epoch, true, now)
		for c.ledger.WantsPart() {
			cut = c.ledger.CutPart(cut, c.w.epoch)
		}
		if len(cut) == 0 {
			return c
		}
		for _, write := range cut {
			c.ledger.Written(facts.Result{Seq: write.Seq, Offset: c.w.append(name, c.id.Partition, write.Value)}, now)
		}
	}
}

// said is what a commit says of it.
func (c *copied) said() offsets.RunsState {
	return offsets.RunsState{TopicID: c.id.TopicID, Low: c.window.Low(), Known: 20, DueMs: 1, LeaderEpoch: c.w.epoch, Journal: c.ledger.Named(), Holds: true}
}

// TestShowSumsUpFactsAboutCopiesApart, which are nothing strange, and of no incarnation.
func TestShowSumsUpFactsAboutCopiesApart(t *testing.T) {
	w := newFixture(t)
	w.fill(0, 1000)
	c := w.copies(0, 20).finish(3, 5)
	e := w.assignment(0, 0xa1).finish(1, 600)
	c.finish(0, 1).finish(7, 8)
	enc, _ := e.ledger.Encode(512, 256, 0, c.said())
	w.commit(0, 0, w.epoch, enc.Metadata)
	got := w.do("show --partition 0")
	for _, want := range []string{
		"  @0 2026-01-01T12:00:01.000Z snapshot end incarnation=0000000000000000 writer=0000000000000009 epoch=0 low=0 above=2 runs=1 range=3-4 bytes=73 (of copies in runs)\n",
		"\n  4 records, 688 bytes, 1 complete snapshot, 3 of copies in runs\n",
		"\n  incarnation 00000000000000a1: low offset 0, 200 finished above it up to 598, of 1 record; the commit is of it, and a restart finds all that it names\n" +
			"  copies in runs: low offset 1, 3 finished above it up to 7, of 3 records; a restart finds all that the commit names\n",
	} {
		if got.code != process.ExitOK || !strings.Contains(got.stdout, want) {
			t.Errorf("no %q in:\n%+v", want, got)
		}
	}
	all := clitest.Objects(t, w.do("show --partition 0 -o json").stdout)
	holds(t, all[1], map[string]any{"type": "record", "about": "copies", "of": nil})
	holds(t, all[2], map[string]any{"type": "record", "about": nil})
	holds(t, all[5], map[string]any{"type": "total", "records": 4.0, "copies": 3.0, "others": 0.0})
	holds(t, all[7], map[string]any{"type": "copies", "records": 3.0, "low": 1.0, "above": 3.0, "summary": "copies in runs: low offset 1, 3 finished above it up to 7, of 3 records; a restart finds all that the commit names"})

	w.DeleteRecords(name, 0, 1)
	if got := w.do("show --partition 0"); !strings.Contains(got.stdout, "  copies in runs: low offset 1, 1 finished above it up to 7, of 2 records; a restart misses some of what the commit names: the journal begins at 1 ") {
		t.Errorf("%+v", got)
	}
	w.commit(0, 0, w.epoch, e.encode().Metadata)
	if got := w.do("show --partition 0"); !strings.Contains(got.stdout, ", of 2 records; the commit names none of them\n") {
		t.Errorf("%+v", got)
	}
	w.DeleteTopic(runsName)
	want := fmt.Sprintf(" (of a runs topic with id %x, not of this one)\n", c.id.TopicID)
	if got := w.do("show --partition 0"); !strings.Contains(got.stdout, want) || !strings.Contains(got.stdout, ", 2 of others\n") || strings.Contains(got.stdout, "copies in runs") {
		t.Errorf("%+v", got)
	}
}

// TestRecoverSaysWhatWaitsInRuns, and its commit holds older releases off.
func TestRecoverSaysWhatWaitsInRuns(t *testing.T) {
	w := newFixture(t)
	w.fill(0, 1000)
	w.copies(0, 20).finish(0, 5).finish(7, 9)
	w.copies(1, 1)
	w.assignment(0, 0xa1).finish(1, 600)
	const line = "\n  runs: at most 13 copies wait in delayed.layover-delayed.runs/0, and are delivered all the same; records that were moved there from offset 0 on may come twice\n"
	const none = "\n  runs: at most 1 copy waits in delayed.layover-delayed.runs/1, and is delivered all the same\n"
	for _, action := range []string{"recover", "recover --execute"} {
		if got := w.do(action); got.code != process.ExitOK || !strings.Contains(got.stdout, line) || !strings.Contains(got.stdout, none) || strings.Count(got.stdout, "runs: ") != 2 {
			t.Errorf("%s: %+v", action, got)
		}
	}
	ask, _ := w.restore(0)
	_, ext, err := offsets.DecodeAll(w.committed(0).Metadata, ask.ID.Identity, 0)
	if err != nil || !ext.Runs.Holds || ext.Incarnation != 0xa1 {
		t.Errorf("%+v, %v", ext, err)
	}
	if end := w.Broker.PartitionInfo(runsName, 0); end.LogStartOffset != 0 || w.records(0) != 3 {
		t.Errorf("something was dropped: %+v, %d records in the journal", end, w.records(0))
	}
}

// TestResetSaysWhatWaitsInRuns, and keeps the facts that say which copies are finished.
func TestResetSaysWhatWaitsInRuns(t *testing.T) {
	const (
		waits = "  runs: at most 13 copies wait in delayed.layover-delayed.runs/0, and are delivered all the same"
		keeps = "  deletes the records of delayed.layover-delayed/0 below 1, of 3 records, 617 bytes, 1 complete snapshot, 2 of copies in runs\n  keeps those from 1 on; of them about finished copies in runs: 2\n"
	)
	for start, test := range map[string]struct{ twice, commits string }{
		"earliest": {"; records that were moved there from offset 0 on may come twice\n", "  commits offset 0, the start of its log, and that an older release must not read the partition; in place of 0\n"},
		"latest":   {"\n", "  commits offset 1000, the end of its log, and that an older release must not read the partition; in place of 0\n"},
		"none":     {"; records that were moved there from offset 0 on may come twice\n", "  commits nothing, as LAYOVER_START_OFFSET is none: offset 0 stays, with its metadata\n"},
	} {
		t.Run(start, func(t *testing.T) {
			w := newFixture(t)
			w.fill(0, 1000)
			e := w.assignment(0, 0xa1).finish(1, 600)
			c := w.copies(0, 20).finish(2, 5).finish(7, 9)
			c.window.FinishRange(0, 2) // the commit alone has it
			enc, _ := e.ledger.Encode(512, 256, 0, c.said())
			w.commit(0, 0, w.epoch, enc.Metadata)
			got := w.do("reset --partition 0 --execute", "LAYOVER_START_OFFSET="+start)
			if got.code != process.ExitOK || !strings.Contains(got.stdout, test.commits) || !strings.Contains(got.stdout, keeps+waits+test.twice) {
				t.Fatalf("%+v", got)
			}
			if w.records(0) != 2 || w.Broker.PartitionInfo(runsName, 0).LogStartOffset != 0 {
				t.Errorf("%d records are left in the journal", w.records(0))
			}
			was := w.committed(0)
			window, ext, err := offsets.DecodeAll(was.Metadata, w.id(0, 0).Identity, was.Offset)
			if err != nil || !ext.Runs.Holds || start != "none" && (ext.Incarnation != 0 || window.Above() != 0) {
				t.Errorf("%+v, %v", ext, err)
			}
			if got := w.do("reset --partition 0 --execute", "LAYOVER_START_OFFSET=none"); got.code != process.ExitRuntime || w.records(0) != 2 ||
				!strings.HasSuffix(got.stderr, "that is nothing at all: choose earliest or latest, or set the group's offset of this partition\n") {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestResetDeletesFactsAboutCopiesWhereNoneAreLeft.
func TestResetDeletesFactsAboutCopiesWhereNoneAreLeft(t *testing.T) {
	w := newFixture(t)
	w.fill(0, 1000)
	w.copies(0, 20).finish(2, 5)
	w.DeleteRecords(runsName, 0, 20)
	got := w.do("reset --partition 0 --execute", "LAYOVER_START_OFFSET=earliest")
	if got.code != process.ExitOK || strings.Contains(got.stdout, "runs: ") || w.records(0) != 0 || w.committed(0).Metadata != "" {
		t.Errorf("%+v", got)
	}
}

// TestWhatWaitsIsNotGuessedAt: neither where the runs topic is forbidden, nor where its log was
// truncated below what the commit says.
func TestWhatWaitsIsNotGuessedAt(t *testing.T) {
	w := newFixture(t)
	w.fill(0, 1000)
	e := w.assignment(0, 0xa1).finish(1, 600)
	w.copies(0, 20).finish(2, 5)
	e.commit()
	w.Refuse(kmsg.Metadata, kfake.Fault{Topic: runsName, Err: kerr.TopicAuthorizationFailed})
	got := w.do("reset --partition 0", "LAYOVER_START_OFFSET=latest")
	const want = "\n  runs: what waits in delayed.layover-delayed.runs/0 is not known, and is delivered all the same: runs topic \"delayed.layover-delayed.runs\": TOPIC_AUTHORIZATION_FAILED: " +
		"Not authorized to access topics: [Topic authorization failed.]; allow Describe on topic delayed.layover-delayed.runs\n"
	if got.code != process.ExitOK || !strings.Contains(got.stdout, want) || !strings.Contains(got.stdout, "and that an older release must not read the partition") ||
		!strings.Contains(got.stdout, "  keeps those from 1 on; ") {
		t.Errorf("%+v", got)
	}
}
