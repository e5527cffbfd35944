package wheel

import "math/bits"

// bitset is a set of small integers that finds its next member with a few
// trailing-zero counts. As the queue of a level it is Kafka's DelayQueue of
// non-empty buckets. Offering and taking a bucket are bit operations, and an
// empty wheel has nothing to wake anyone for.
type bitset struct {
	words []uint64

	// summary has one bit for each word.
	//
	// Invariant: the bit is set exactly when the word is not zero.
	summary []uint64
}

// grow makes room for the integers below n. It never shrinks.
func (b *bitset) grow(n int) {
	for len(b.words)*64 < n {
		b.words = append(b.words, 0)
	}
	for len(b.summary)*64 < len(b.words) {
		b.summary = append(b.summary, 0)
	}
}

func (b *bitset) has(i int) bool { return b.words[i>>6]&(1<<(i&63)) != 0 }

func (b *bitset) set(i int) {
	b.words[i>>6] |= 1 << (i & 63)
	b.summary[i>>12] |= 1 << (i >> 6 & 63)
}

func (b *bitset) clear(i int) {
	b.words[i>>6] &^= 1 << (i & 63)
	if b.words[i>>6] == 0 {
		b.summary[i>>12] &^= 1 << (i >> 6 & 63)
	}
}

// next returns the first member at or after from, or -1.
func (b *bitset) next(from int) int {
	word := from >> 6
	if word >= len(b.words) {
		return -1
	}
	if rest := b.words[word] >> (from & 63); rest != 0 {
		return from + bits.TrailingZeros64(rest)
	}
	word++
	group := word >> 6
	if group >= len(b.summary) {
		return -1
	}
	rest := b.summary[group] >> (word & 63) << (word & 63)
	for rest == 0 {
		if group++; group >= len(b.summary) {
			return -1
		}
		rest = b.summary[group]
	}
	word = group<<6 + bits.TrailingZeros64(rest)
	return word<<6 + bits.TrailingZeros64(b.words[word])
}

// prev returns the last member at or before from, or -1. There must be room for from.
func (b *bitset) prev(from int) int {
	word := from >> 6
	if rest := b.words[word] << (63 - from&63); rest != 0 {
		return from - bits.LeadingZeros64(rest)
	}
	if word--; word < 0 {
		return -1
	}
	group := word >> 6
	rest := b.summary[group] << (63 - word&63) >> (63 - word&63)
	for rest == 0 {
		if group--; group < 0 {
			return -1
		}
		rest = b.summary[group]
	}
	word = group<<6 + 63 - bits.LeadingZeros64(rest)
	return word<<6 + 63 - bits.LeadingZeros64(b.words[word])
}

// bytes is the memory of the set.
func (b *bitset) bytes() int64 {
	return 8 * int64(cap(b.words)+cap(b.summary))
}
