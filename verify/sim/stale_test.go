package sim

import "testing"

// soonRecord is the number of an Append of a record that is due in 80 s.
const soonRecord = 9*9 + 7

// moves reads a record and moves it; the runs topic answers.
func (s *script) moves(record int) {
	s.do(Append, record)
	s.read()
	s.again()
}

// again moves the farthest record.
func (s *script) again() {
	s.do(Gather, 0)
	s.do(Move, 0)
	s.do(Copy, 0)
	s.do(Copied, 0)
}

func (s *script) reads() {
	s.do(Visit, 0)
	s.do(Visited, 0)
}

// passes has time pass, and the loop hear of it.
func (s *script) passes(ms int) {
	s.do(Pass, ms)
	s.do(Turn, 1)
}

func (s *script) begins() {
	for range 3 {
		s.do(Open, 0)
	}
	s.do(RunsUsable, 1)
}

// TestSimulationOfALateCopyOfARecordWhoseLogWasCut: a record that was moved is in memory again, 38 s before it is due.
// Then its log is cut in front of its copy, and a directory that was on its way arrives there. The record is moved once
// more. That is answered late, while it waits for its delivery.
func TestSimulationOfALateCopyOfARecordWhoseLogWasCut(t *testing.T) {
	s := script{small(1)}
	s.Config.haveRuns()
	s.Config.Accidents = 1
	s.start()
	s.begins()
	s.moves(farRecord)
	s.moves(soonRecord) // its copy is at 1
	s.do(List, 0)
	s.passes(42_000)
	s.reads() // it is in memory
	s.do(RunsTruncate, 1)
	s.do(Copy, 0)
	s.do(Copied, 0)
	s.reads()
	s.begins()
	s.reads() // what stands at 1
	s.do(Gather, 0)
	s.do(Move, 0)
	s.do(Copy, 0)
	s.passes(36_500)
	s.do(Gather, 0) // it waits again
	s.do(Copied, 0)
	s.write()
	s.commit()
	s.keepsEveryPromise(t)
}
