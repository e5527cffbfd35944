package wheel

import (
	"fmt"
	"math/bits"
)

// maxSlots bounds the slots of a level. So finding the next bucket of an almost empty
// level looks at no more than 16 summary words.
const maxSlots = 1 << 16

// maxNarrowShift bounds the width, as a power of two of ticks, of the buckets
// that keep only the low 32 bits of a deadline.
const maxNarrowShift = 32

// maxShift bounds the width of any bucket, so that instants fit 64 bits.
const maxShift = 62

// Geometry is the shape of a wheel. Slots and Factor are powers of two.
type Geometry struct {
	// TickMs is the tick of the lowest level in milliseconds, the grain to
	// which deadlines are rounded up. At least 1.
	TickMs int64

	// Slots is the number of buckets of each level, 2 to 65,536.
	Slots int

	// Factor is how many times coarser each level is than the one below it, 2
	// to Slots. With at most half of Slots neighbouring levels overlap. The
	// lower one reaches two buckets of the upper one ahead. So a bucket can move
	// down a little at a time before it is due. With more, all of it has to move
	// at the tick at which it is due. With three levels or more, Slots may be at
	// most Factor squared.
	Factor int

	// Levels is the number of levels, at least 1. Records beyond the reach of the
	// top one wait in a bucket of their own until the clock is near enough.
	Levels int
}

// DefaultGeometry is a millisecond tick with four levels of 4,096 slots, each
// 2,048 times coarser than the one below. They reach 4.1 seconds, 2.3 hours,
// 199 days and a thousand years. A record delayed by up to four seconds is
// never moved, and one delayed by up to two hours is moved once.
func DefaultGeometry() Geometry {
	return Geometry{TickMs: 1, Slots: 4096, Factor: 2048, Levels: 4}
}

// validate returns the reason for which no wheel can have this shape, or nil.
func (g Geometry) validate() error {
	switch {
	case g.TickMs < 1:
		return fmt.Errorf("geometry: tick %d ms: want at least 1", g.TickMs)
	case g.Slots < 2 || g.Slots > maxSlots || !powerOfTwo(g.Slots):
		return fmt.Errorf("geometry: %d slots: want a power of two from 2 to %d", g.Slots, maxSlots)
	case g.Factor < 2 || g.Factor > g.Slots || !powerOfTwo(g.Factor):
		return fmt.Errorf("geometry: factor %d: want a power of two from 2 to the %d slots", g.Factor, g.Slots)
	case g.Levels < 1:
		return fmt.Errorf("geometry: %d levels: want at least 1", g.Levels)
	case g.Levels > 2 && g.Slots > g.Factor*g.Factor:
		return fmt.Errorf("geometry: %d slots of factor %d: a level would reach past the one above, want at most %d slots",
			g.Slots, g.Factor, g.Factor*g.Factor)
	}
	if top := bits.TrailingZeros(uint(g.Factor)) * (min(g.Levels, 64) - 1); top > maxShift {
		return fmt.Errorf("geometry: %d levels of factor %d: a bucket of the top level would span 2^%d ticks, want at most 2^%d",
			g.Levels, g.Factor, top, maxShift)
	}
	return nil
}

// overlaps reports whether a level reaches all of a bucket of the level above as
// soon as the clock enters the slot before that bucket's.
func (g Geometry) overlaps() bool { return g.Slots >= 2*g.Factor }

func powerOfTwo(n int) bool { return n > 0 && n&(n-1) == 0 }
