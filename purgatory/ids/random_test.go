package ids

import (
	"math/rand/v2"
	"testing"
)

// hashesOf returns a source of hashes. All of a kind but the random ones fold apart.
func hashesOf(kind string) func(r *rand.Rand) uint64 {
	return map[string]func(r *rand.Rand) uint64{
		"random":        func(r *rand.Rand) uint64 { return r.Uint64() },
		"one":           func(*rand.Rand) uint64 { return 0x0123456789abcdef },
		"zero":          func(*rand.Rand) uint64 { return 0 },
		"highest":       func(*rand.Rand) uint64 { return 0xffffffff },
		"few":           func(r *rand.Rand) uint64 { return uint64(r.IntN(8)) * 0x20000000 },
		"around an end": func(r *rand.Rand) uint64 { return uint64(uint32(r.IntN(64) - 32)) },
		"one shard":     func(r *rand.Rand) uint64 { return uint64(r.Uint32()) << 12 & 0xffffffff },
		"one home":      func(r *rand.Rand) uint64 { return 0xabc00000 + uint64(r.IntN(1<<20)) },
	}[kind]
}

var kinds = []string{"random", "one", "zero", "highest", "few", "around an end", "one shard", "one home"}

func TestATableAnswersAsAMapDoes(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 7))
			hash := hashesOf(kind)
			m := newTableModel(t)
			for step := range 8000 {
				grow := 3 // of 4: in turn it grows and shrinks
				if step/2000%2 == 1 {
					grow = 1
				}
				switch n := len(m.entries); {
				case n == 0 || r.IntN(4) < grow:
					m.add(pair{hash(r), r.Uint32N(1 << 31)})
				case r.IntN(4) == 0:
					m.replace(r.IntN(n), r.Uint32N(1<<31))
				case r.IntN(16) == 0:
					m.add(m.entries[r.IntN(n)]) // twice the same
				default:
					m.remove(r.IntN(n))
				}
				if step%8 == 0 {
					m.miss(pair{hash(r), 1<<31 + 5})
				}
				if step%500 == 0 {
					m.check()
				}
			}
			for len(m.entries) > 0 {
				m.remove(r.IntN(len(m.entries)))
			}
			m.check()
		})
	}
}

// A shard is split and merged while it has entries of every kind.
func TestATableGrowsAndShrinksByShards(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 7))
	m := newTableModel(t)
	for slot := range uint32(70_000) {
		m.add(pair{r.Uint64(), slot})
	}
	if m.table.shards < 64 {
		t.Fatalf("%d shards for 70,000 entries", m.table.shards)
	}
	m.check()
	r.Shuffle(len(m.entries), func(i, j int) { m.entries[i], m.entries[j] = m.entries[j], m.entries[i] })
	for len(m.entries) > 0 {
		m.remove(len(m.entries) - 1)
		if len(m.entries)%10_000 == 0 {
			m.check()
		}
	}
	if m.table.shards != 1 || len(m.table.groups) != 1 {
		t.Errorf("an empty table has %d shards in %d groups", m.table.shards, len(m.table.groups))
	}
}

func TestSlotsAnswerAsAMapDoes(t *testing.T) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 7))
		m := newSlotsModel(t)
		for step := range 60_000 {
			grow := 7
			if step/10_000%2 == 1 {
				grow = 1 // in turn it grows and shrinks
			}
			switch n := len(m.used); {
			case n == 0 || r.IntN(8) < grow:
				m.add()
			case r.IntN(4) == 0:
				m.set(r.IntN(n))
			default:
				m.remove(r.IntN(n))
			}
			if step%4000 == 0 {
				m.check()
			}
		}
		for len(m.used) > 0 {
			m.remove(r.IntN(len(m.used)))
		}
		m.check()
	}
}

// Each byte is an operation on one of few pages, or on many at once.
func FuzzSlots(f *testing.F) {
	f.Add([]byte("aaaaAAAzzzZZZ\x00\x10\xff\xf0\x41"))
	f.Add([]byte{0xff, 0xff, 0x80, 0x81, 0xc0, 0xff, 0xc1, 0xfe, 0, 1, 2, 0xc5})
	f.Fuzz(func(t *testing.T, ops []byte) {
		m := newSlotsModel(t)
		for _, op := range ops[:min(len(ops), 200)] {
			at := int(op & 0x3f)
			switch {
			case op < 0x40:
				m.add()
			case op < 0x80:
				for range at * 40 {
					m.add()
				}
			case op < 0xc0:
				if n := len(m.used); n > 0 {
					m.set(at % n)
					m.remove(at % n)
				}
			default:
				for i := range at * 40 {
					if n := len(m.used); n > 0 {
						m.remove(i * (at + 1) % n)
					}
				}
			}
		}
		m.check()
	})
}

// Two bytes are an operation: what and on which of a few hashes.
func FuzzTable(f *testing.F) {
	f.Add([]byte("0102030405060708"), uint8(3))
	f.Add([]byte{0x3f, 1, 0x3f, 2, 0x7f, 3, 0xff, 1, 0xbf, 9, 0xc0, 4}, uint8(31))
	f.Fuzz(func(t *testing.T, ops []byte, shift uint8) {
		m := newTableModel(t)
		for ; len(ops) > 1 && len(m.entries) < 5000; ops = ops[2:] {
			op, what := ops[0]>>6, int(ops[0]&0x3f)
			p := pair{uint64(ops[1]) << (shift % 32) & 0xffffffff, uint32(what)}
			switch n := len(m.entries); {
			case op == 0 || n == 0:
				for i := range what {
					p.slot += uint32(i)
					m.add(p)
				}
			case op == 1:
				m.replace(what%n, p.slot)
			case op == 2:
				for i := range min(n, what) {
					m.remove((i * 7) % len(m.entries))
				}
			default:
				m.miss(p)
			}
		}
		m.check()
	})
}
