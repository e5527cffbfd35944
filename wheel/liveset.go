package wheel

import "unsafe"

const (
	pageBits = 12            // sequence numbers of a page, 512 B
	dirBits  = pageBits + 10 // sequence numbers of a directory, 1,024 pages
	pageMask = 1<<pageBits - 1
	dirPages = 1 << (dirBits - pageBits)

	// maxSparePages bounds the drained pages kept for reuse, 32 KiB.
	maxSparePages = 64
)

type livePage [1 << pageBits / 64]uint64

// liveDir is 1,024 consecutive pages.
type liveDir struct {
	pages [dirPages]*livePage

	// count of bits set in each page, at most 4,096.
	count [dirPages]uint16

	// used is how many pages are not nil.
	used int
}

// liveSet has one bit for each sequence number, set while the record can still
// fire. Cancelling and firing both clear it, and the one that finds it set owns the
// outcome. So a record is cancelled or fired once, never both.
//
// A sequence number is never used again, so a stale handle hits no other record.
// Pages go when their last bit is cleared. A record parked for months holds one page,
// one directory, and 8 bytes for every four million records that came after it.
type liveSet struct {
	// dirs are the directories from number base on; a drained one is nil.
	//
	// Invariant: dirs ends with the directory of next, and does not begin with
	// nil.
	dirs []*liveDir
	base uint64

	// next is the sequence number that add returns next. Its page, the open
	// page, exists even with no bit set.
	next uint64

	live  int // bits set
	pages int // pages in directories
	held  int // directories that are not nil
	spare []*livePage
}

// newLiveSet returns a set whose first sequence number is next.
func newLiveSet(next uint64) liveSet {
	s := liveSet{base: next >> dirBits, next: next}
	s.openPage()
	return s
}

// add sets the bit of the next sequence number and returns the number.
func (s *liveSet) add() uint64 {
	seq := s.next
	d := s.dirs[len(s.dirs)-1]
	i := seq >> pageBits & (dirPages - 1)
	d.pages[i][seq&pageMask>>6] |= 1 << (seq & 63)
	d.count[i]++
	s.live++
	s.next++
	if s.next&pageMask == 0 {
		s.openPage()
	}
	return seq
}

// openPage makes the page of next.
func (s *liveSet) openPage() {
	i := s.next>>dirBits - s.base
	if i == uint64(len(s.dirs)) {
		s.dirs = append(s.dirs, new(liveDir))
		s.held++
	}
	var p *livePage
	if n := len(s.spare); n > 0 {
		p, s.spare = s.spare[n-1], s.spare[:n-1]
	} else {
		p = new(livePage)
	}
	d := s.dirs[i]
	d.pages[s.next>>pageBits&(dirPages-1)] = p
	d.used++
	s.pages++
}

// find returns the directory and the page of seq, or nil if all of the page is
// cleared or was never set.
func (s *liveSet) find(seq uint64) (*liveDir, *livePage) {
	i := seq>>dirBits - s.base // wraps to a huge number below base
	if i >= uint64(len(s.dirs)) {
		return nil, nil
	}
	d := s.dirs[i]
	if d == nil {
		return nil, nil
	}
	return d, d.pages[seq>>pageBits&(dirPages-1)]
}

// has reports whether the bit of seq is set. Any number is a valid question.
func (s *liveSet) has(seq uint64) bool {
	_, p := s.find(seq)
	return p != nil && p[seq&pageMask>>6]&(1<<(seq&63)) != 0
}

// remove clears the bit of seq and reports whether it was set.
func (s *liveSet) remove(seq uint64) bool {
	d, p := s.find(seq)
	if p == nil {
		return false
	}
	word, bit := &p[seq&pageMask>>6], uint64(1)<<(seq&63)
	if *word&bit == 0 {
		return false
	}
	*word &^= bit
	s.live--
	count := &d.count[seq>>pageBits&(dirPages-1)]
	if *count--; *count == 0 {
		s.drop(seq)
	}
	return true
}

// drop releases the page of seq if it has no bit set and is not the open page, and the
// directories that this leaves empty.
func (s *liveSet) drop(seq uint64) {
	d, p := s.find(seq)
	i := seq >> pageBits & (dirPages - 1)
	if d.count[i] > 0 || seq>>pageBits == s.next>>pageBits {
		return
	}
	d.pages[i] = nil
	d.used--
	s.pages--
	if len(s.spare) < maxSparePages {
		s.spare = append(s.spare, p)
	}
	if d.used > 0 {
		return
	}
	s.dirs[seq>>dirBits-s.base] = nil
	s.held--
	// The open page keeps the last directory, so this stops before the end.
	drained := 0
	for s.dirs[drained] == nil {
		drained++
	}
	if drained > 0 {
		// Moving down instead of slicing keeps the capacity.
		n := copy(s.dirs, s.dirs[drained:])
		clear(s.dirs[n:])
		s.dirs = s.dirs[:n]
		s.base += uint64(drained)
	}
}

// bytes is the memory of the set.
func (s *liveSet) bytes() int64 {
	return int64(s.pages+len(s.spare))*int64(unsafe.Sizeof(livePage{})) +
		int64(s.held)*int64(unsafe.Sizeof(liveDir{})) +
		8*int64(cap(s.dirs)+cap(s.spare))
}
