package runs

import "fmt"

// sixteenths is the number of parts of a run whose deadlines a directory knows.
const sixteenths = 16

const (
	// maxTotal bounds the copies and the bytes of a run: sums over a directory fit in int64.
	maxTotal = 1 << 50

	// maxOffset bounds the offsets of a run, so that sums of two do not wrap around.
	maxOffset = 1 << 62
)

// Run is the copies that one flush of one assignment wrote, sorted by deadline. Records
// of others may stand between them. Its numbers are those of all its copies, finished or
// not; only Position moves. It takes 208 bytes of memory.
type Run struct {
	Writer uint64 // with Number it names the run
	Number uint64

	First, Last int64 // offsets of the first and the last copy
	// Position is the offset of the first unfinished copy.
	// Invariant: First <= Position <= Last (TestDirectoriesThatNoReleaseWritesAreRefused).
	Position int64

	Count int64 // copies
	Bytes int64 // of all copies

	EarliestMs, LatestMs int64 // deadlines, in Unix milliseconds

	// steps yields the deadline with which the second sixteenth begins, and so on.
	steps [sixteenths - 1]step
	// foreign counts the offsets in front of the second sixteenth that are none of the
	// run's, and so on.
	foreign [sixteenths - 1]int64
}

// NewRun returns the run of count copies, at least one, that take size bytes. at returns
// a copy's offset and deadline in Unix milliseconds, by its index in the order of
// offsets. It is called for 17 copies at most.
//
// The error is a run that no directory can list: offsets or deadlines that do not ascend.
func NewRun(writer, number uint64, count, size int64, at func(i int64) (offset, deadlineMs int64)) (Run, error) {
	r := Run{Writer: writer, Number: number, Count: count, Bytes: size}
	if count < 1 || count > maxTotal {
		return Run{}, fmt.Errorf("run %d: %d copies, want 1 to %d", number, count, int64(maxTotal))
	}
	r.First, r.EarliestMs = at(0)
	r.Last, r.LatestMs = at(count - 1)
	r.Position = r.First
	base, before := r.EarliestMs, r.EarliestMs
	for i := 1; i < sixteenths; i++ {
		index := r.index(i)
		offset, deadline := at(index)
		if deadline < before || deadline > r.LatestMs {
			return Run{}, fmt.Errorf("run %d: copy %d is due at %d ms, want %d to %d, as copies ascend by deadline", number, index, deadline, before, r.LatestMs)
		}
		s := stepOf(uint64(deadline - base))
		r.steps[i-1], r.foreign[i-1] = s, offset-r.First-index
		base, before = base+int64(s.least()), deadline
	}
	if err := r.check(); err != nil {
		return Run{}, fmt.Errorf("run %d: %w", number, err)
	}
	return r, nil
}

// check returns the fault for which no directory can list the run.
func (r *Run) check() error {
	switch {
	case r.Count < 1 || r.Count > maxTotal:
		return fmt.Errorf("%d copies, want 1 to %d", r.Count, int64(maxTotal))
	case r.Bytes < 0 || r.Bytes > maxTotal:
		return fmt.Errorf("%d bytes, want 0 to %d", r.Bytes, int64(maxTotal))
	case r.First < 0 || r.Last < r.First || r.Last > maxOffset || r.Last-r.First < r.Count-1:
		return fmt.Errorf("%d copies at offsets %d to %d, want an offset for each, up to %d", r.Count, r.First, r.Last, int64(maxOffset))
	case r.Position < r.First || r.Position > r.Last:
		return fmt.Errorf("position %d, want %d to %d", r.Position, r.First, r.Last)
	case r.EarliestMs < 0 || r.LatestMs < r.EarliestMs:
		return fmt.Errorf("deadlines from %d to %d ms, want them to ascend from 0", r.EarliestMs, r.LatestMs)
	}
	return r.checkSixteenths()
}

func (r *Run) checkSixteenths() error {
	left := uint64(r.LatestMs - r.EarliestMs)
	for i, s := range r.steps {
		if s.least() > left {
			return fmt.Errorf("sixteenth %d begins after the latest deadline %d ms", i+1, r.LatestMs)
		}
		left -= s.least()
	}
	before, all := int64(0), r.others()
	for i, n := range r.foreign {
		if n < before || n > all || n > before && r.index(i) == r.index(i+1) {
			return fmt.Errorf("%d foreign offsets in front of sixteenth %d, want %d to %d, and no more where no copy is between", n, i+1, before, all)
		}
		before = n
	}
	return r.checkDeadlines()
}

// checkDeadlines checks sixteenths that begin with the same copy: it has one deadline.
func (r *Run) checkDeadlines() error {
	b := r.bounds()
	most := b.upper[0]
	for i := 1; i <= sixteenths; i++ {
		if min(r.index(i), r.Count-1) != r.index(i-1) {
			most = b.upper[i]
			continue
		}
		if b.lower[i] > most {
			return fmt.Errorf("one copy begins sixteenths %d and %d and is due at %d ms at most and at %d ms at least", i-1, i, most, b.lower[i])
		}
		most = min(most, b.upper[i])
	}
	return nil
}

// others returns how many offsets from the first to the last are none of the run's.
func (r *Run) others() int64 { return r.Last - r.First + 1 - r.Count }

// index returns the index of the copy with which sixteenth i begins; that of the
// sixteenth one behind the last is Count.
func (r *Run) index(i int) int64 {
	return r.Count/sixteenths*int64(i) + r.Count%sixteenths*int64(i)/sixteenths
}

// start returns the offset of that copy; behind the last, the one after Last.
func (r *Run) start(i int) int64 {
	switch i {
	case 0:
		return r.First
	case sixteenths:
		return r.Last + 1
	}
	return r.First + r.index(i) + r.foreign[i-1]
}
