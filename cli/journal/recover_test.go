package journal

import (
	"bufio"
	"io"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"layover/cli/process"
	"layover/config"
	"layover/journal/facts"
	"layover/offsets"
)

// TestRecoverGoesOnFromTheJournal: a restart, and the one after it, find what the assignment
// knew that wrote the journal, and of which no commit is left.
func TestRecoverGoesOnFromTheJournal(t *testing.T) {
	w := newFixture(t)
	w.fill(0, 20_000)
	w.fill(2, 10)
	e := w.assignment(0, 0xa1)
	e.window.FinishRange(0, 50)
	e.finish(51, 15_000).finish(15_001, 15_100)
	e.window.FinishRange(15_103, 15_203)
	e.ledger.Note(15_103, 15_203)
	e.finish(15_205, 15_206)
	w.commit(1, 0, 0, "")
	plan := `
delayed/0: goes on from its journal
  commits offset 50, leader epoch 0, incarnation 00000000000000a1, the journal's records from 0 to 2, and 1500 of the offsets finished above
  low offset 50, 5117 finished above it up to 15205
  of its log 19950 offsets are read again, 50-19999: 5117 count as finished, and 14833 are delivered when they are due
  that is of 3 records, 10251 bytes, the last one of 2026-01-01T12:00:03.000Z: offsets finished later are not in it, and are delivered again
`
	others := `delayed/1: has an offset, 0: left alone
delayed/2: has no offset, and its journal no record of it: nothing to recover; "layover journal reset" gives it an offset
`
	asked := w.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetForLeaderEpoch}, Count: -1, Observe: true})
	w.is(w.do("recover"), plan+others+"Dry run: nothing was done. With --execute it commits the offset of 1 partition.\n")
	if asked.Hits() != 1 {
		t.Errorf("where the log of one leader epoch ends was asked %d times", asked.Hits())
	}
	if w.committed(0) != nil || w.records(0) != 3 {
		t.Error("a dry run did something")
	}
	w.is(w.do("recover --execute"), plan+"  done: the offset is committed\n"+others+"The offset was committed of 1 partition.\n")
	if was := w.committed(1); was.Offset != 0 || was.Metadata != "" || w.committed(2) != nil || w.records(0) != 3 {
		t.Errorf("something else was done: %+v", was)
	}

	ask, answer := w.begin(0)
	w.same(ask.Window, e.window)
	if ask.ID.Incarnation != 0xa1 || answer.LeaderEpoch != w.epoch {
		t.Errorf("incarnation %x, leader epoch %d", ask.ID.Incarnation, answer.LeaderEpoch)
	}
	next := &assignment{w: w, epoch: w.epoch, id: ask.ID, window: ask.Window, ledger: facts.NewWriter(ask.ID, 77, answer.Restored, ask.Window)}
	next.ledger.Use(w.Broker.TopicInfo(name).TopicID, 1<<20)
	next.finish(16_000, 16_100).commit()
	again, _ := w.begin(0)
	w.same(again.Window, next.window)
	w.is(w.do("recover --partition 0"), "delayed/0: has an offset, 50: left alone\nNothing to recover.\n")
}

// TestRecoverTakesTheLastLifeInTheJournal and nothing of others, nor of strangers.
func TestRecoverTakesTheLastLifeInTheJournal(t *testing.T) {
	w := newFixture(t)
	w.fill(0, 2000)
	w.assignment(0, 0xa1).finish(1, 900)
	e := w.assignment(0, 0xb2)
	e.finish(2, 900)
	w.append(name, 0, []byte("hello"), []byte("LJ\x01\x01"))
	other := w.assignmentOf(facts.Identity{Identity: e.id.Identity, Group: "other", Incarnation: 0xc3})
	other.finish(1, 1500)
	got := w.do("recover --execute --partition 0")
	if got.code != 0 || !strings.Contains(got.stdout, "incarnation 00000000000000b2, the journal's records from 0 to 1,") ||
		!strings.Contains(got.stdout, "\n  damaged records of the journal, whose offsets are delivered again: 1\n") ||
		!strings.Contains(got.stdout, "\n  that is of 1 record, 671 bytes, ") || strings.Contains(got.stdout, "do not count") {
		t.Errorf("%+v", got)
	}
	ask, answer := w.restore(0) // which complains of damage, and of nothing else
	if answer.Err != nil || answer.Damaged != 1 || answer.Complaint.Error() != "1 records of the journal are damaged" {
		t.Errorf("%v, %v", answer.Err, answer.Complaint)
	}
	w.same(ask.Window, e.window)
}

// TestRecoverTakesNothingThatTheLogHasNot: what is beyond the end of a leader epoch's
// log was written anew, and nobody has delivered it.
func TestRecoverTakesNothingThatTheLogHasNot(t *testing.T) {
	w := newFixture(t)
	w.fill(0, 500)
	e := w.assignment(0, 0xa1).finish(1, 600)
	w.truncate(0, 300)
	w.DeleteRecords(ingress, 0, 100)
	w.is(w.do("recover --execute --partition 0"), `
delayed/0: goes on from its journal
  commits offset 0, leader epoch 0, incarnation 00000000000000a1, the journal's records from 0 to 0, and 167 of the offsets finished above
  low offset 0, 167 finished above it up to 499
  of its log 700 offsets are read again, 100-799: 134 count as finished, and 566 are delivered when they are due
  its log starts at 100: 100 offsets from the low offset on were deleted, delivered or not
  33 offsets that the journal calls finished do not count: the log was truncated there
  that is of 1 record, 471 bytes, the last one of 2026-01-01T12:00:01.000Z: offsets finished later are not in it, and are delivered again
  done: the offset is committed
The offset was committed of 1 partition.
`)
	e.window.ClipAbove(500)
	ask, _ := w.begin(0)
	w.same(ask.Window, e.window)
}

// TestRecoverSaysWhatMayBeMissing: a journal whose beginning is gone.
func TestRecoverSaysWhatMayBeMissing(t *testing.T) {
	w := newFixture(t)
	w.fill(0, 1000)
	w.assignment(0, 0xa1).finish(1, 600).finish(601, 700)
	w.DeleteRecords(name, 0, 1)
	got := w.do("recover --execute --partition 0")
	const want = "\n  the journal has no complete snapshot: offsets finished before its first record may be missing, and are delivered again\n"
	if got.code != 0 || !strings.Contains(got.stdout, want) || !strings.Contains(got.stdout, "the journal's records from 1 to 1,") {
		t.Errorf("%+v", got)
	}
	ask, _ := w.begin(0)
	set := offsets.NewWindow(0)
	for o := int64(601); o < 700; o += 3 {
		set.Finish(o)
	}
	w.same(ask.Window, set)
}

// TestWhileThereAreMembersNothingIsDone, and a dry run says so, too.
func TestWhileThereAreMembersNothingIsDone(t *testing.T) {
	w := newFixture(t)
	w.fill(0, 1000)
	w.assignment(0, 0xa1).finish(1, 600)
	leave := w.join()
	const why = "layover journal: group layover-delayed has 1 member: stop all Layover processes of the group first; one that was killed counts until its session has timed out\n"
	for _, action := range []string{"recover", "reset"} {
		got := w.do(action + " --execute --partition 0")
		w.fails(got, why)
		if got.stdout != "" || w.committed(0) != nil || w.records(0) != 1 {
			t.Errorf("%s did something: %+v", action, got)
		}
		got = w.do(action + " --partition 0")
		w.fails(got, why)
		if !strings.Contains(got.stdout, "commits offset 0") || !strings.Contains(got.stdout, "Dry run: nothing was done.") {
			t.Errorf("%s says nothing of what it would do: %+v", action, got)
		}
	}
	if got := w.do("show --partition 0"); got.code != 0 {
		t.Errorf("%+v", got)
	}
	leave()
	if got := w.do("recover --execute --partition 0"); got.code != 0 || w.committed(0) == nil {
		t.Errorf("%+v", got)
	}
}

// TestAMemberThatJoinsMeanwhileIsNotWrittenOver: it is the coordinator who knows.
func TestAMemberThatJoinsMeanwhileIsNotWrittenOver(t *testing.T) {
	w := newFixture(t)
	w.fill(0, 1000)
	w.assignment(0, 0xa1).finish(1, 600)
	w.Refuse(kmsg.OffsetCommit, kfake.Fault{Err: kerr.UnknownMemberID})
	const why = "layover journal: delayed/0: group layover-delayed has got members: stop all Layover processes of the group first; one that was killed counts until its session has timed out\n"
	for _, action := range []string{"recover", "reset"} {
		w.fails(w.do(action+" --execute --partition 0"), why)
		if w.records(0) != 1 {
			t.Errorf("%s has deleted records", action)
		}
	}
}

// TestAnOffsetThatCameMeanwhileIsLeftAlone, as the one who committed it may have gone.
func TestAnOffsetThatCameMeanwhileIsLeftAlone(t *testing.T) {
	w := newFixture(t)
	w.fill(0, 1000)
	w.assignment(0, 0xa1).finish(1, 600)
	cfg, _, err := config.Load(w.environ)
	if err != nil {
		t.Fatal(err)
	}
	b, err := connect(cfg.Kafka)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	c := &command{options: options{partition: 0, execute: true}, process: new(process.Process), cfg: cfg, brokers: b, out: bufio.NewWriter(io.Discard)}
	parts, problems, err := c.survey(t.Context())
	if err != nil || len(problems) > 0 || len(parts) != 1 {
		t.Fatal(parts, problems, err)
	}
	w.commit(0, 7, 0, "")
	if err := c.recover(t.Context(), parts[0]); err == nil || err.Error() != "it has got an offset meanwhile, 7: left alone" {
		t.Error(err)
	}
	if was := w.committed(0); was.Offset != 7 || was.Metadata != "" {
		t.Errorf("%+v", was)
	}
}

// TestRecoverNamesTheJournalWhateverMetadataTheBrokersTake: the set may stay out.
func TestRecoverNamesTheJournalWhateverMetadataTheBrokersTake(t *testing.T) {
	for limit, takes := range map[int]bool{4095: true, 150: true, 100: false} {
		w := newFixture(t)
		w.fill(0, 10_000)
		e := w.assignment(0, 0xa1).finish(1, 9_000)
		w.LimitMetadata(limit)
		got := w.do("recover --execute --partition 0")
		if !takes {
			w.fails(got, "layover journal: delayed/0: the brokers take too little metadata with an offset: raise offset.metadata.max.bytes to 4096, Kafka's default\n")
			continue
		}
		if got.code != 0 || !strings.Contains(got.stdout, "  done: the offset is committed, with ") {
			t.Errorf("limit %d: %+v", limit, got)
		}
		ask, _ := w.begin(0)
		w.same(ask.Window, e.window)
	}
}

// TestRecoverDoesNotGuessAtWhatANewerReleaseWrote, or where nothing of it can be read.
func TestRecoverDoesNotGuessAtWhatANewerReleaseWrote(t *testing.T) {
	w := newFixture(t)
	w.fill(0, 1000)
	w.assignment(0, 0xa1).finish(1, 600)
	w.append(name, 0, newer)
	w.append(name, 1, newer)
	w.append(name, 2, []byte("LJ\x01\x01"), []byte("hello"))
	got := w.do("recover --execute")
	w.fails(got, "layover journal: delayed/0: its journal has 1 record of a newer release: recover with that one\n"+
		"layover journal: delayed/1: its journal has 1 record of a newer release: recover with that one\n")
	const want = "delayed/2: has no offset, and its journal no record of it among 2 records, 9 bytes, 0 complete snapshots, 1 foreign, 1 damaged: " +
		"nothing to recover; \"layover journal reset\" gives it an offset\n"
	if got.stdout != want || w.committed(0) != nil || w.committed(1) != nil || w.committed(2) != nil {
		t.Errorf("%s", got.stdout)
	}
}
