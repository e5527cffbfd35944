package sim

import "testing"

// script is a run that a test writes down, of one instance and one partition.
type script struct{ Run }

func (s *script) do(k Kind, n int) { s.Trace = append(s.Trace, Action{k, 0, 0, n}) }

// alternately appends records that stay open and cancels that find nothing, so that a set has many runs.
func (s *script) alternately(times int) {
	for range times {
		s.do(Append, farRecord)
		s.do(Append, secondCancel)
	}
}

func (s *script) read() {
	s.do(Fetch, 1000)
	s.do(Turn, 1000)
}

func (s *script) commit() {
	s.do(Build, 0)
	s.do(Arrive, 0)
	s.do(Answer, 0)
}

// write has the journal get a record.
func (s *script) write() {
	s.do(Cut, 1)
	s.do(JournalAppend, 0)
	s.do(JournalAnswer, 0)
}

func (s *script) crash() {
	s.do(Crash, 0)
	s.do(Expel, 0)
}

func (s *script) start() {
	s.do(Start, 0)
	s.do(Sync, 0)
	s.do(Assign, 0)
}

func (s *script) restart() {
	s.crash()
	s.start()
}

// keepsEveryPromise plays the script.
func (s *script) keepsEveryPromise(t *testing.T) {
	t.Helper()
	if err := s.Play(); err != nil {
		t.Errorf("%v\n%s", err, s.Tell())
	}
}
