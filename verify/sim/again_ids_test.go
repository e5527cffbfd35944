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
	s := script{journalled(identified(small(1, farRecord, laterTimer)))}
	s.Config.IDs, s.Config.JournalMax, s.Config.JumpOver, s.Config.Accidents = 2, 140, 1000, -1
	for range 250 {
		s.do(Append, plain)
	}
	s.read()
	s.do(Turn, 1000)
	for range 3 {
		s.do(Reply, 0)
	}
	s.commit() // which is too large for what the journal is there for
	s.write()
	s.commit()
	s.do(Truncate, 250) // the two that wait are left
	s.crash()
	s.alternately(90)
	s.do(Append, farRecord)
	s.do(Append, cancel)
	s.start()
	s.read()
	s.do(Cut, 1)
	s.do(Cut, 1)
	s.crash()
	s.do(JournalHaunt, 1) // without the first
	s.keepsEveryPromise(t)
}

// farFromItsVictim has a cancel and its victim finished with many runs between, in a set for which a commit has no room.
func farFromItsVictim() script {
	s := script{journalled(identified(small(1)))}
	s.Config.IDs, s.Config.JournalMax, s.Config.MaxMetadata, s.Config.Accidents = 2, 140, 300, -1
	s.alternately(75)
	s.do(Append, laterTimer)
	s.alternately(75)
	s.do(Append, cancel)
	s.do(Append, secondTimer)
	s.read()
	for range 3 { // the core learns how much the broker takes
		s.commit()
	}
	return s
}

// TestSimulationOfACommitThatLeavesOutWhatACommandEnded: a commit has no room for all that has
// finished. Then the journal gets a later part of a snapshot, with a cancel, and not the
// earlier one with its victim.
func TestSimulationOfACommitThatLeavesOutWhatACommandEnded(t *testing.T) {
	s := farFromItsVictim()
	for range 4 {
		s.do(Cut, 1)
	}
	s.crash()
	s.do(JournalHaunt, 2) // without those before
	s.keepsEveryPromise(t)
}

// TestSimulationOfACommandBehindAnIncompleteJournal: a commit says that commands count again from where its reader
// stood. The journal loses what has their victim, and not what has a cancel. The next owner writes a snapshot of the
// rest, and ends before its first commit.
func TestSimulationOfACommandBehindAnIncompleteJournal(t *testing.T) {
	s := farFromItsVictim()
	for range 6 {
		s.write()
	}
	s.commit()
	s.do(JournalTrim, 3)
	s.restart()
	for range 6 {
		s.write()
	}
	s.restart()
	s.read()
	s.keepsEveryPromise(t)
}

// TestSimulationOfACommitThatPassesTheEndOfItsLog: a finished offset is truncated and written anew. The new record is
// compacted away, and the log begins there. The next owner passes it before it reads anything, and its commit still has
// the leader epoch of before. Whoever finds that commit sees a truncated log, and does not believe the snapshot that the
// journal has by then.
func TestSimulationOfACommitThatPassesTheEndOfItsLog(t *testing.T) {
	s := script{journalled(identified(small(1)))}
	s.Config.IDs, s.Config.Accidents = 2, -1
	s.do(Append, farRecord)
	s.do(Append, secondCancel)
	s.read()
	s.commit()
	s.do(Truncate, 1)
	s.do(Append, farRecord)
	s.alternately(75)
	s.do(Compact, 3)
	s.do(DeleteRecords, 3)
	s.restart()
	s.do(Append, farRecord)
	s.commit()
	s.read()
	s.write()
	s.keepsEveryPromise(t)
}
