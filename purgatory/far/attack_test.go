package far

import (
	"testing"

	"layover/journal/facts"
	"layover/offsets"
)

// TestAttackAVisitGetsPastForeignCopies: fetches answer at most 500 offsets, and 1000 copies of
// others, due much later, stand between two copies of a run.
func TestAttackAVisitGetsPastForeignCopies(t *testing.T) {
	x := New(Beginning{Writer: 9, Window: offsets.NewWindow(0)})
	log := []Found{{Offset: 0, DeadlineMs: 10, Bytes: 1, Writer: 1, Run: 1}}
	for o := int64(1); o <= 1000; o++ {
		log = append(log, Found{Offset: o, DeadlineMs: 1_000_000 + o, Bytes: 1, Writer: 7, Run: 1})
	}
	log = append(log, Found{Offset: 1001, DeadlineMs: 20, Bytes: 1, Writer: 1, Run: 1})
	x.Read(0, 1002, log, 0, 1000, nil) // at the beginning: nothing is due
	x.Seal()
	for range 10_000 {
		v, ok := x.Next(100)
		if !ok {
			t.Fatal("nothing to visit")
		}
		until := min(v.To, v.From+500)
		for _, i := range x.Read(v.From, until, log[v.From:until], 100, 1000, nil) {
			if log[v.From:until][i].Offset == 1001 {
				return
			}
		}
	}
	v, _ := x.Next(100)
	t.Errorf("after 10000 visits the copy at 1001, due at 20, is not taken; the next visit is %+v once more", v)
}

// TestAttackAnElectionIsNoTruncation: epoch 4 began at 100, and own copies landed in it, of
// which acknowledgements tell no epoch. Nothing was cut off.
func TestAttackAnElectionIsNoTruncation(t *testing.T) {
	x := New(Beginning{Writer: 1, Window: offsets.NewWindow(0), LeaderEpoch: 3})
	for o := range int64(110) {
		if !x.Acked(Found{Offset: o, DeadlineMs: 1000 + o, Bytes: 1, Run: 1}) {
			t.Fatal(o)
		}
	}
	if lost, truncated := x.Raise(4, 100); truncated || lost > 0 {
		t.Errorf("an election counts as a truncation, with %d lost", lost)
	}
}

// TestAttackARestartAfterAnElectionLosesNothing: the commit said epoch 3, and copies had landed in 4.
func TestAttackARestartAfterAnElectionLosesNothing(t *testing.T) {
	topic := offsets.TopicID{1}
	x := New(Beginning{Writer: 1, Window: offsets.NewWindow(0), LeaderEpoch: 3})
	for o := range int64(110) {
		x.Acked(Found{Offset: o, DeadlineMs: 1000 + o, Bytes: 1, Run: 1})
	}
	said := x.State()
	said.TopicID = topic
	w := Finished(&said, 100)
	_, lost := Open(&Opening{Writer: 2, TopicID: topic, LeaderEpoch: 4, Log: offsets.Bounds{End: 110}, Said: said, SaidEnd: 100, Window: w})
	if lost > 0 {
		t.Errorf("%d are lost, and the log has them all", lost)
	}
}

// TestAttackWhatOthersWroteBelowAnOwnDirectoryIsRead: 2 and 3 were never heard of.
func TestAttackWhatOthersWroteBelowAnOwnDirectoryIsRead(t *testing.T) {
	x := New(Beginning{Writer: 1, Window: offsets.NewWindow(0)})
	x.Log(offsets.Bounds{})
	x.Acked(Found{Offset: 0, DeadlineMs: 10, Bytes: 1, Run: 1})
	x.Acked(Found{Offset: 1, DeadlineMs: 11, Bytes: 1, Run: 1})
	if _, err := x.Directory(); err != nil {
		t.Fatal(err)
	}
	x.Listed(x.epoch, 4) // two copies of a zombie came first
	x.Read(0, 2, []Found{{Offset: 0, DeadlineMs: 10, Bytes: 1, Writer: 1}, {Offset: 1, DeadlineMs: 11, Bytes: 1, Writer: 1}}, 100, 100, nil)
	x.Finish(0)
	x.Finish(1)
	x.Committed(2)
	if below, ok := x.Delete(); ok {
		x.Deleted(below, nil)
	}
	if _, _, ok := x.Gap(); !ok {
		t.Error("2 to 3 are not asked for, though 4 was acknowledged")
	}
	if s := x.State(); !s.Holds {
		t.Errorf("%+v: an older release may read the partition", s)
	}
}

// TestAttackTheLowOffsetIsNotAboveTheKnownEnd: RunsState says so, and is not readable otherwise.
func TestAttackTheLowOffsetIsNotAboveTheKnownEnd(t *testing.T) {
	w := offsets.NewWindow(0)
	w.FinishRange(2, 10) // of the journal
	x := New(Beginning{Writer: 1, Window: w})
	x.Log(offsets.Bounds{End: 20})
	x.Read(0, 2, nil, 0, 0, nil) // two directories; a part of the gap
	if s := x.State(); s.Low > s.Known {
		t.Errorf("low %d, known %d", s.Low, s.Known)
		s.TopicID = offsets.TopicID{1}
		id := offsets.Identity{ClusterID: "c", TopicID: offsets.TopicID{2}}
		enc := offsets.Encode(offsets.NewWindow(5), id, offsets.Extension{Incarnation: 1, Runs: s}, offsets.MaxMetadata)
		t.Logf("written is %d characters, complete %v", len(enc.Metadata), enc.Complete)
	}
}

// TestAttackTheWindowOfAnOpeningEndsWithTheLog: what is left of an index may reach beyond a log
// that was truncated once more.
func TestAttackTheWindowOfAnOpeningEndsWithTheLog(t *testing.T) {
	w := offsets.NewWindow(20)
	w.FinishRange(30, 36) // Left(40) of the index before
	x, _ := Open(&Opening{Writer: 2, LeaderEpoch: 5, Log: offsets.Bounds{End: 25}, Window: w})
	x.Read(20, 25, nil, 0, 0, nil)
	for o := int64(25); o < 40; o++ {
		if !x.Acked(Found{Offset: o, DeadlineMs: 100, Bytes: 1, Run: 1}) {
			t.Fatal(o)
		}
		if x.Finished(o) {
			t.Errorf("the copy that was acknowledged at %d just now counts as finished: lost", o)
		}
	}
}

// TestAttackFactsThatNoCommitNamedAreKept: facts of a set without a snapshot that a commit names.
func TestAttackFactsThatNoCommitNamedAreKept(t *testing.T) {
	id := facts.Identity{Identity: offsets.Identity{ClusterID: "c", TopicID: offsets.TopicID{5}}, Group: "g"}
	journal := offsets.TopicID{9}
	// The first owner has finished 7, the record is acknowledged, and it dies before a commit.
	w := offsets.NewWindow(0)
	a := New(Beginning{Writer: 1, Window: w, Facts: facts.NewJournalOnly(id, 1, facts.Restored{}, w)})
	a.Facts().Use(journal, 1<<20)
	a.Finish(7)
	var log [][]byte
	for _, c := range cutAll(a.Facts()) {
		a.Facts().Written(facts.Result{Seq: c.Seq, Offset: int64(len(log))}, 1)
		log = append(log, c.Value)
	}
	// The second one reads it.
	w = offsets.NewWindow(0)
	u := facts.NewReader(id, w, 0, 10, offsets.JournalRange{})
	for at, v := range log {
		if err := u.Add(int64(at), v, func(int32) (int64, error) { return 10, nil }); err != nil {
			t.Fatal(err)
		}
	}
	if !w.Finished(7) {
		t.Fatal("7 is not read as finished")
	}
	b := facts.NewJournalOnly(id, 2, u.Restored(true, 0, nil), w)
	b.Use(journal, 1<<20)
	if cut := cutAll(b); len(cut) > 0 {
		return // a snapshot of its own
	}
	// Its commits name nothing for the copies; the ingress ledger is at 50 with its snapshot.
	ingress := offsets.NewWindow(0)
	l := facts.NewWriter(facts.Identity{Identity: offsets.Identity{ClusterID: "c", TopicID: offsets.TopicID{4}}, Group: "g"}, 2,
		facts.Restored{Named: offsets.JournalRange{TopicID: journal, From: 50, To: 50}, Whole: true}, ingress)
	l.Use(journal, 1<<20)
	below := l.Committed(offsets.JournalRange{TopicID: journal, From: 50, To: 50}, b.Needed(b.Named()), 1)
	if below > 0 {
		t.Errorf("records below %d are deleted, and the only ones that call the copy at 7 finished are at 0 to %d", below, len(log)-1)
	}
}

func cutAll(w *facts.Writer) (out []facts.Write) {
	out = w.Cut(nil, 0, true, 1)
	for w.WantsPart() {
		out = w.CutPart(out, 0)
	}
	return out
}
