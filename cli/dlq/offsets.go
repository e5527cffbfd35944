package dlq

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// stretch is offsets of one partition, from first to last, both in it.
type stretch struct{ first, last int64 }

// toEnd is the last offset of a stretch whose end nobody knows yet. Its text is end.
const toEnd = math.MaxInt64

// stretches are offsets to read, by partition: the value of --offsets. A partition that
// they do not have is done.
type stretches map[int32]stretch

// String returns the text that parseStretches reads: 0:12-90,1:0-end.
func (s stretches) String() string {
	var parts []string
	for _, n := range slices.Sorted(maps.Keys(s)) {
		last := strconv.FormatInt(s[n].last, 10)
		if s[n].last == toEnd {
			last = "end"
		}
		parts = append(parts, fmt.Sprintf("%d:%d-%s", n, s[n].first, last))
	}
	return strings.Join(parts, ",")
}

// and returns both: no partition is in more than one.
func (s stretches) and(more stretches) stretches {
	all := maps.Clone(s)
	maps.Copy(all, more)
	return all
}

// parseStretches reads PARTITION:FIRST-LAST, or PARTITION:OFFSET for one, with commas
// between partitions. Each partition is there once, and none is empty. LAST may be end.
func parseStretches(text string) (stretches, error) {
	all := make(stretches)
	for part := range strings.SplitSeq(text, ",") {
		number, rest, ok := strings.Cut(part, ":")
		first, last, ranged := strings.Cut(rest, "-")
		if !ranged {
			last = first
		}
		n, ok1 := parseNumber(number, 32)
		from, ok2 := parseNumber(first, 64)
		to, ok3 := parseNumber(last, 64)
		if ranged && last == "end" {
			to, ok3 = toEnd, true
		}
		if !ok || !ok1 || !ok2 || !ok3 {
			return nil, fmt.Errorf("%q: want PARTITION:FIRST-LAST, such as 0:12-90,1:7-40", part)
		}
		if from > to {
			return nil, fmt.Errorf("%q: the last offset is below the first", part)
		}
		if _, again := all[int32(n)]; again {
			return nil, fmt.Errorf("%q: partition %d is there twice", part, n)
		}
		all[int32(n)] = stretch{from, to}
	}
	return all, nil
}

// parseNumber reads digits alone: no sign, no blank.
func parseNumber(text string, bits int) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, bits)
	return n, err == nil && text[0] >= '0' && text[0] <= '9'
}

// position is how far one partition is done. Letters are acknowledged in any order, and
// only those of the acknowledged prefix are done.
type position struct {
	last    int64    // the last offset that is wanted
	next    int64    // the first offset that was not looked at
	flights []flight // letters behind the first one without an answer, in the order of their offsets
}

// flight is a letter that was sent.
type flight struct {
	offset       int64
	acknowledged bool
}

// passed says that offsets below next need no answer of their own.
func (p *position) passed(next int64) { p.next = max(p.next, next) }

// sent says that the letter at the offset is on its way. It is the highest so far.
func (p *position) sent(offset int64) {
	p.flights = append(p.flights, flight{offset: offset})
	p.next = offset + 1
}

// acknowledged says that all in-sync replicas have the record of the letter at the offset,
// which was sent.
func (p *position) acknowledged(offset int64) {
	i, _ := slices.BinarySearchFunc(p.flights, offset, func(f flight, o int64) int { return cmp.Compare(f.offset, o) })
	p.flights[i].acknowledged = true
	done := 0
	for done < len(p.flights) && p.flights[done].acknowledged {
		done++
	}
	p.flights = p.flights[done:]
}

// undone returns the first offset that is not done.
func (p *position) undone() int64 {
	if len(p.flights) > 0 {
		return p.flights[0].offset
	}
	return p.next
}

// positions are those of all partitions of a call.
type positions map[int32]*position

// newPositions begins at the first offsets.
func newPositions(all stretches) positions {
	p := make(positions, len(all))
	for n, s := range all {
		p[n] = &position{last: s.last, next: s.first}
	}
	return p
}

// left returns what is not done, for --offsets.
func (p positions) left() stretches {
	all := make(stretches)
	for n, at := range p {
		if from := at.undone(); from <= at.last {
			all[n] = stretch{from, at.last}
		}
	}
	return all
}
