package sim

import "testing"

// farRecord is the number of an Append of a record without an id that is due in an hour.
// secondCancel is that of a cancel of the second id, and secondTimer that of a record with
// it.
const (
	farRecord    = 9*9 + 8
	secondCancel = 9 * (2 + 16*40*8)
	secondTimer  = 9*(9+16*40*6) + 6
)

// TestSimulationOfACommandInALogThatWasWrittenAnew: a commit says that commands count again
// from where its reader stood. The log is truncated below that, and a cancel is written
// anew there. It is read, and before the next commit all ends but the journal's record that
// has it, without the one that has its victim.
func TestSimulationOfACommandInALogThatWasWrittenAnew(t *testing.T) {
	r := journalled(identified(small(1, farRecord, laterTimer)))
	r.Config.IDs, r.Config.JournalMax, r.Config.JumpOver, r.Config.Accidents = 2, 140, 1000, -1
	do := func(k Kind, p, n int) { r.Trace = append(r.Trace, Action{k, 0, p, n}) }
	for range 250 {
		do(Append, 0, plain)
	}
	do(Fetch, 0, 1000)
	do(Turn, 0, 1000)
	do(Turn, 0, 1000)
	for range 3 {
		do(Reply, 0, 0)
	}
	commit := func() {
		do(Build, 0, 0)
		do(Arrive, 0, 0)
		do(Answer, 0, 0)
	}
	commit() // which is too large for what the journal is there for
	do(Cut, 0, 1)
	do(JournalAppend, 0, 0)
	do(JournalAnswer, 0, 0)
	commit()
	do(Truncate, 0, 250) // the two that wait are left
	do(Crash, 0, 0)
	do(Expel, 0, 0)
	for range 90 {
		do(Append, 0, farRecord)
		do(Append, 0, secondCancel)
	}
	do(Append, 0, farRecord)
	do(Append, 0, cancel)
	do(Start, 0, 0)
	do(Sync, 0, 0)
	do(Assign, 0, 0)
	do(Fetch, 0, 1000)
	do(Turn, 0, 1000)
	do(Cut, 0, 1)
	do(Cut, 0, 1)
	do(Crash, 0, 0)
	do(Expel, 0, 0)
	do(JournalHaunt, 0, 1) // without the first
	if err := r.Play(); err != nil {
		t.Errorf("%v\n%s", err, r.Tell())
	}
}

// alternately appends records that stay open and cancels that find nothing, so that a set has many runs.
func alternately(do func(k Kind, n int)) {
	for range 75 {
		do(Append, farRecord)
		do(Append, secondCancel)
	}
}

// TestSimulationOfACommitThatLeavesOutWhatACommandEnded: a commit has no room for all that has
// finished. Then the journal gets a later part of a snapshot, with a cancel, and not the
// earlier one with its victim.
func TestSimulationOfACommitThatLeavesOutWhatACommandEnded(t *testing.T) {
	r := journalled(identified(small(1)))
	r.Config.IDs, r.Config.JournalMax, r.Config.MaxMetadata, r.Config.Accidents = 2, 140, 300, -1
	do := func(k Kind, n int) { r.Trace = append(r.Trace, Action{k, 0, 0, n}) }
	alternately(do)
	do(Append, laterTimer)
	alternately(do)
	do(Append, cancel)
	do(Append, secondTimer)
	do(Fetch, 1000)
	do(Turn, 1000)
	for range 3 { // the core learns how much the broker takes
		do(Build, 0)
		do(Arrive, 0)
		do(Answer, 0)
	}
	for range 4 {
		do(Cut, 1)
	}
	do(Crash, 0)
	do(Expel, 0)
	do(JournalHaunt, 2) // without those before
	if err := r.Play(); err != nil {
		t.Errorf("%v\n%s", err, r.Tell())
	}
}

// TestSimulationOfACommandBehindAnIncompleteJournal: a commit says that commands count again from where its reader
// stood. The journal loses what has their victim, and not what has a cancel. The next owner writes a snapshot of the
// rest, and ends before its first commit.
func TestSimulationOfACommandBehindAnIncompleteJournal(t *testing.T) {
	r := journalled(identified(small(1)))
	r.Config.IDs, r.Config.JournalMax, r.Config.MaxMetadata, r.Config.Accidents = 2, 140, 300, -1
	do := func(k Kind, n int) { r.Trace = append(r.Trace, Action{k, 0, 0, n}) }
	commit := func() {
		do(Build, 0)
		do(Arrive, 0)
		do(Answer, 0)
	}
	write := func() {
		for range 6 {
			do(Cut, 1)
			do(JournalAppend, 0)
			do(JournalAnswer, 0)
		}
	}
	read := func() {
		do(Fetch, 1000)
		do(Turn, 1000)
	}
	alternately(do)
	do(Append, laterTimer)
	alternately(do)
	do(Append, cancel)
	do(Append, secondTimer)
	read()
	for range 3 { // the core learns how much the broker takes
		commit()
	}
	write()
	commit()
	restart := func() {
		do(Crash, 0)
		do(Expel, 0)
		do(Start, 0)
		do(Sync, 0)
		do(Assign, 0)
	}
	do(JournalTrim, 3)
	restart()
	write()
	restart()
	read()
	if err := r.Play(); err != nil {
		t.Errorf("%v\n%s", err, r.Tell())
	}
}

// TestSimulationOfACommitThatPassesTheEndOfItsLog: a finished offset is truncated and written anew. The new record is
// compacted away, and the log begins there. The next owner passes it before it reads anything, and its commit still has
// the leader epoch of before. Whoever finds that commit sees a truncated log, and does not believe the snapshot that the
// journal has by then.
func TestSimulationOfACommitThatPassesTheEndOfItsLog(t *testing.T) {
	r := journalled(identified(small(1)))
	r.Config.IDs, r.Config.Accidents = 2, -1
	do := func(k Kind, n int) { r.Trace = append(r.Trace, Action{k, 0, 0, n}) }
	commit := func() {
		do(Build, 0)
		do(Arrive, 0)
		do(Answer, 0)
	}
	do(Append, farRecord)
	do(Append, secondCancel)
	do(Fetch, 1000)
	do(Turn, 1000)
	commit()
	do(Truncate, 1)
	do(Append, farRecord)
	alternately(do)
	do(Compact, 3)
	do(DeleteRecords, 3)
	do(Crash, 0)
	do(Expel, 0)
	do(Start, 0)
	do(Sync, 0)
	do(Assign, 0)
	do(Append, farRecord)
	commit()
	do(Fetch, 1000)
	do(Turn, 1000)
	do(Cut, 1)
	do(JournalAppend, 0)
	do(JournalAnswer, 0)
	if err := r.Play(); err != nil {
		t.Errorf("%v\n%s", err, r.Tell())
	}
}
