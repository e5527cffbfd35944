package journal

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"layover/cli/process"
	"layover/journal/facts"
	"layover/offsets"
)

// forResets is a fixture with a commit and a journal of partition 0, and a lost offset
// and a journal of partition 1. Both logs begin at 10.
func forResets(t *testing.T) *fixture {
	w := newFixture(t)
	for n := range int32(2) {
		w.fill(n, 1000)
		w.DeleteRecords(ingress, n, 10)
	}
	e := w.assignment(0, 0xa1)
	e.window.FinishRange(0, 30)
	e.finish(31, 600).commit()
	w.assignment(1, 0xb2).finish(1, 900)
	return w
}

// TestResetStartsAsTheSettingSays, deletes the journal's records, and a dry run neither.
func TestResetStartsAsTheSettingSays(t *testing.T) {
	const (
		head0, head1   = "delayed/0: forgets its journal\n", "delayed/1: forgets its journal\n"
		delete0        = "  deletes the records of delayed.layover-delayed/0 below 1: 1 record, 451 bytes, 1 complete snapshot\n"
		delete1        = "  deletes the records of delayed.layover-delayed/1 below 1: 1 record, 671 bytes, 1 complete snapshot\n"
		done, doneNone = "  done: the offset is committed\n  done: the records are deleted\n", "  done: the records are deleted\n"
	)
	for start, test := range map[string]struct {
		plan0, plan1 string
		done, idle2  string
		at0, at1     int64
	}{
		"earliest": {
			"  commits offset 10, the start of its log, without metadata; in place of 30\n  finished offsets of its log that are forgotten, and delivered again: 210 of 210\n",
			"  commits offset 10, the start of its log, without metadata; it has none now\n  finished offsets of its log that are forgotten, and delivered again: 297 of 297\n",
			done, "", 10, 10,
		},
		"latest": {
			"  commits offset 1000, the end of its log, without metadata; in place of 30\n  finished offsets of its log that are forgotten, and delivered again: 0 of 210\n" +
				"  offsets of its log that are not finished, and never delivered: 780\n",
			"  commits offset 1000, the end of its log, without metadata; it has none now\n  finished offsets of its log that are forgotten, and delivered again: 0 of 297\n" +
				"  offsets of its log that are not finished, and never delivered: 693\n",
			done, "", 1000, 1000,
		},
		"none": {
			"  commits nothing, as LAYOVER_START_OFFSET is none: offset 30 stays, with its metadata\n  finished offsets of its log that the journal alone has, and that are forgotten: 190 of 210\n",
			"  commits nothing, as LAYOVER_START_OFFSET is none: the group's offset of this partition has to be set before Layover starts\n" +
				"  finished offsets of its log that the journal alone has, and that are forgotten: 297 of 297\n",
			doneNone, "delayed/2: LAYOVER_START_OFFSET is none, and its journal is empty: nothing to do\n", 30, -1,
		},
	} {
		t.Run(start, func(t *testing.T) {
			w := forResets(t)
			before := *w.committed(0)
			idle := test.idle2
			resets := 2
			if idle == "" {
				resets = 3
				edge := map[string]string{"earliest": "start", "latest": "end"}[start]
				idle = "delayed/2: forgets its journal\n  commits offset 0, the " + edge + " of its log, without metadata; it has none now\n" +
					"  finished offsets of its log that are forgotten, and delivered again: 0 of 0\n"
			}
			w.is(w.do("reset", "LAYOVER_START_OFFSET="+start), head0+test.plan0+delete0+head1+test.plan1+delete1+idle+
				"Dry run: nothing was done. With --execute it resets "+count(int64(resets), "partition")+".\n")
			if *w.committed(0) != before || w.committed(1) != nil || w.committed(2) != nil || w.records(0) != 1 || w.records(1) != 1 {
				t.Fatal("a dry run did something")
			}
			if test.idle2 == "" {
				idle += "  done: the offset is committed\n"
			}
			w.is(w.do("reset --execute", "LAYOVER_START_OFFSET="+start), head0+test.plan0+delete0+test.done+head1+test.plan1+delete1+test.done+idle+
				"Reset: "+count(int64(resets), "partition")+".\n")
			if w.records(0) != 0 || w.records(1) != 0 {
				t.Error("records are left")
			}
			if test.at1 < 0 {
				if *w.committed(0) != before || w.committed(1) != nil || w.committed(2) != nil {
					t.Error("something was committed")
				}
				return
			}
			for n, at := range []int64{test.at0, test.at1, 0} {
				if was := w.committed(int32(n)); was == nil || *was != (offsets.Committed{Offset: at, LeaderEpoch: -1}) {
					t.Errorf("partition %d: %+v", n, was)
				}
			}
		})
	}
}

// TestAfterAResetNoRecordOfTheJournalCounts, also where none could be deleted.
func TestAfterAResetNoRecordOfTheJournalCounts(t *testing.T) {
	w := forResets(t)
	w.Refuse(kmsg.DeleteRecords, kfake.Fault{Topic: name, Err: kerr.TopicAuthorizationFailed})
	got := w.do("reset --execute --partition 0")
	const want = "  done: the offset is committed\n  not deleted: deleting the records of delayed.layover-delayed/0: TOPIC_AUTHORIZATION_FAILED: Not authorized to access topics: [Topic authorization failed.]; " +
		"allow Delete on topic delayed.layover-delayed; none of them counts any more all the same\nReset: 1 partition.\n"
	if got.code != process.ExitOK || got.stderr != "" || !strings.HasSuffix(got.stdout, want) || w.records(0) != 1 {
		t.Errorf("%+v", got)
	}
	id := w.id(0, 0)
	start, err := offsets.Resume(*w.committed(0), id.Identity, offsets.Bounds{Start: 10, End: 1000})
	if err != nil || start.Foreign != nil || start.Incarnation != 0 || start.Window.Low() != 10 || start.Window.Above() != 0 {
		t.Errorf("%+v, %v", start, err)
	}
	got = w.do("reset --execute --partition 1", "LAYOVER_START_OFFSET=none")
	if got.code != process.ExitRuntime || !strings.HasSuffix(got.stderr, "; allow Delete on topic delayed.layover-delayed\n") {
		t.Errorf("%+v", got)
	}
}

// TestResetCommitsBeforeItDeletes: a restart goes on after a crash between the two.
func TestResetCommitsBeforeItDeletes(t *testing.T) {
	w := forResets(t)
	deletions := w.Refuse(kmsg.DeleteRecords, kfake.Fault{Topic: name, Err: kerr.InvalidRequest})
	refused := w.Refuse(kmsg.OffsetCommit, kfake.Fault{Group: group, Err: kerr.GroupAuthorizationFailed})
	w.fails(w.do("reset --execute --partition 0"), "layover journal: delayed/0: commit: GROUP_AUTHORIZATION_FAILED: Not authorized to access group: Group authorization failed.; "+
		"allow Read on group layover-delayed and on topic delayed\n")
	if deletions.Hits() != 0 || w.records(0) != 1 || w.committed(0).Offset != 30 {
		t.Error("records were deleted before anything was committed")
	}
	refused.Remove()
	got := w.do("reset --execute --partition 0")
	if got.code != process.ExitRuntime || !strings.HasSuffix(got.stderr, "; the offset is committed, and none of the records counts any more\n") || w.committed(0).Offset != 10 {
		t.Errorf("%+v", got)
	}
}

// TestResetDeletesNothingOfOthers, who may share a journal, or have that topic for
// something else.
func TestResetDeletesNothingOfOthers(t *testing.T) {
	for what, test := range map[string]struct {
		write  func(w *fixture)
		keeper string
	}{
		"another group": {func(w *fixture) {
			id := w.id(0, 0xd4)
			id.Group = "other"
			w.assignmentOf(id).finish(1, 600)
		}, `of group "other"`},
		"anybody":         {func(w *fixture) { w.append(name, 0, []byte("hello")) }, "not a journal's"},
		"a newer release": {func(w *fixture) { w.append(name, 0, newer) }, "of a newer release"},
	} {
		t.Run(what, func(t *testing.T) {
			w := forResets(t)
			test.write(w)
			got := w.do("reset --execute --partition 0")
			if got.code != process.ExitOK || !strings.Contains(got.stdout, "  deletes nothing: of 2 records, 1 are not this group's to delete, the first one "+test.keeper+"\n") {
				t.Errorf("%+v", got)
			}
			if w.records(0) != 2 || w.committed(0).Offset != 10 {
				t.Errorf("%d records, %+v", w.records(0), w.committed(0))
			}
			w.fails(w.do("reset --execute --partition 0", "LAYOVER_START_OFFSET=none"),
				"layover journal: delayed/0: that is nothing at all: choose earliest or latest, or set the group's offset of this partition\n")
		})
	}
}

// TestResetDeletesWhatIsOfThisGroupAndOfNoUse: records of an older topic, and damaged ones.
func TestResetDeletesWhatIsOfThisGroupAndOfNoUse(t *testing.T) {
	w := forResets(t)
	w.assignmentOf(facts.Identity{Identity: offsets.Identity{ClusterID: "c", TopicID: offsets.TopicID{3}}, Group: group, Incarnation: 4}).finish(1, 600)
	w.append(name, 0, []byte("LJ\x01\x01"))
	if got := w.do("reset --execute --partition 0"); got.code != process.ExitOK || w.records(0) != 0 {
		t.Errorf("%d records, %+v", w.records(0), got)
	}
}

// TestResetIsTheWayOutOfWhatCannotBeRead: a commit beyond the log's end, and a journal
// that may not be read.
func TestResetIsTheWayOutOfWhatCannotBeRead(t *testing.T) {
	w := forResets(t)
	w.commit(0, 2000, 0, "")
	w.is(w.do("reset --execute --partition 0"), `
delayed/0: forgets its journal
  commits offset 10, the start of its log, without metadata; in place of 2000
  how much of its log is delivered again, or never, is not known: the committed offset lies above the end of the log: 2000, the log ends at 1000
  deletes the records of delayed.layover-delayed/0 below 1: 1 record, 451 bytes, 1 complete snapshot
  done: the offset is committed
  done: the records are deleted
Reset: 1 partition.
`)
	w.Refuse(kmsg.Fetch, kfake.Fault{Topic: name, Err: kerr.TopicAuthorizationFailed})
	w.is(w.do("reset --execute --partition 1"), `
delayed/1: forgets its journal
  commits offset 10, the start of its log, without metadata; it has none now
  how much of its log is delivered again, or never, is not known: the journal cannot be read
  deletes nothing, as it cannot tell whose records are there: reading its journal: delayed.layover-delayed/1@0: reading at 0: TOPIC_AUTHORIZATION_FAILED: Not authorized to access topics: [Topic authorization failed.]; allow Read on topic delayed.layover-delayed
  done: the offset is committed
Reset: 1 partition.
`)
	if w.records(0) != 0 || w.records(1) != 1 {
		t.Error("the wrong records are there")
	}
}
