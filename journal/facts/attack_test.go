package facts

import (
	"testing"

	"layover/offsets"
	"layover/verify/long"
)

// TestAttackAQuietLedgerDoesNotKeepTheJournal: the finished copies have had one snapshot, and no
// copy is finished for a month; the ingress ledger writes 400 snapshots meanwhile.
func TestAttackAQuietLedgerDoesNotKeepTheJournal(t *testing.T) {
	long.Only(t)
	copies := offsets.NewWindow(0)
	quiet := NewJournalOnly(testID, 1, Restored{}, copies)
	quiet.Use(testTopic, 1<<20)
	w := offsets.NewWindow(0)
	busy := NewWriter(testID, 1, Restored{}, w)
	busy.Use(testTopic, 1<<20)
	end, below, now := int64(0), int64(0), int64(1)
	cut := func(l *Writer) {
		for {
			owed := l.Cut(nil, 5, true, now)
			for l.WantsPart() {
				owed = l.CutPart(owed, 5)
			}
			if len(owed) == 0 {
				return
			}
			for _, c := range owed {
				l.Written(Result{Seq: c.Seq, Offset: end}, now)
				end++
			}
		}
	}
	if copies.Finish(7) {
		quiet.Note(7, 8)
	}
	snapshots := busy.Status().Stats.Snapshots
	for round := int64(0); round < 100_000 && snapshots < 400; round++ {
		for o := round * 1000; o < round*1000+1000; o += 2 {
			if w.Finish(o + 100) {
				busy.Note(o+100, o+101)
			}
		}
		if round > 10 {
			low := w.Low()
			if w.FinishRange(low, (round-10)*1000) > 0 {
				busy.Note(low, (round-10)*1000)
			}
		}
		cut(busy)
		cut(quiet)
		_, named := busy.Encode(4096, 4096, 0, offsets.RunsState{})
		needed := quiet.Needed(quiet.Named())
		quiet.KeepUp(needed, busy.Last())
		if b := busy.Committed(named, needed, now); b >= 0 {
			below = b
			busy.Deleted(b, nil, now)
		}
		now += 1000
		snapshots = busy.Status().Stats.Snapshots
	}
	if kept := end - below; below < 100 {
		t.Errorf("the journal keeps %d records, from %d on; the ingress ledger needs those from %d on (%d snapshots)", kept, below, busy.Named().From, snapshots)
	}
}

// TestAttackTheLastSnapshotIsKept: it is for a late older commit, see leave.
func TestAttackTheLastSnapshotIsKept(t *testing.T) {
	w := offsets.NewWindow(0)
	l := NewWriter(testID, 1, Restored{}, w)
	l.Use(testTopic, 1<<20)
	end, now := int64(0), int64(1)
	commit := func(beside int64) (named offsets.JournalRange, below int64) {
		for _, c := range cutAll(l, 5, true, now) {
			l.Written(Result{Seq: c.Seq, Offset: end}, now)
			end++
		}
		_, named = l.Encode(4096, 400, 0, offsets.RunsState{})
		below = l.Committed(named, beside, now)
		if below >= 0 {
			l.Deleted(below, nil, now)
		}
		now += 1000
		return named, below
	}
	for o := int64(1); o < 2000; o += 3 {
		note(l, w, o)
	}
	commit(0)
	commit(0)
	older, _ := commit(0)
	if older.IsZero() || l.Status().Mode != InJournal {
		t.Fatal("not in the journal")
	}
	for o := int64(0); o < 1990; o++ {
		note(l, w, o)
	}
	for range 5 {
		commit(0)
	}
	if l.Status().Mode != InMetadata {
		t.Fatalf("mode %v", l.Status().Mode)
	}
	last := end // its last snapshot is below
	if _, below := commit(last); below >= last {
		t.Errorf("deleted is below %d, the last snapshot with it; a late commit that names %+v finds nothing", below, older)
	}
}

// TestAttackACommitWithRunsNeverSaysLessThanTheOneBefore: what it says of runs takes room, too.
func TestAttackACommitWithRunsNeverSaysLessThanTheOneBefore(t *testing.T) {
	const limit = 300
	runs := offsets.RunsState{TopicID: offsets.TopicID{8}, Low: 1 << 40, Known: 1<<40 + 1<<30, DueMs: 1 << 41, DirectoryEnd: 1<<40 + 1<<30, LeaderEpoch: 7, Holds: true,
		Journal: offsets.JournalRange{TopicID: testTopic, From: 1 << 30, To: 1<<30 + 5, Sum: 1}}
	for _, said := range []offsets.RunsState{{}, runs} {
		p := newPen(t, &log{}, Restored{}, offsets.NewWindow(0))
		for o := int64(100); o < 100_000; o += 300 {
			p.finish(o, o+1)
			p.write(true)
			enc, _ := p.l.Encode(limit, limit, 0, said)
			if !enc.Complete && p.l.Status().Mode != InJournal || enc.Left > 0 {
				t.Errorf("runs %v: the commit after offset %d leaves out %d, complete %v, mode %v, %d characters", !said.IsZero(), o, enc.Left, enc.Complete, p.l.Status().Mode, len(enc.Metadata))
				break
			}
		}
	}
}
