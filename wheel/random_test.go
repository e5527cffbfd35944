package wheel

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"layover/verify/long"
)

// decoder reads an endless script of small decisions: fuzz input first, then
// zeros, at which point the run ends.
type decoder struct{ data []byte }

func (d *decoder) done() bool { return len(d.data) == 0 }

func (d *decoder) byte() byte {
	if d.done() {
		return 0
	}
	b := d.data[0]
	d.data = d.data[1:]
	return b
}

func (d *decoder) int64() int64 {
	var b [8]byte
	for i := range b {
		b[i] = d.byte()
	}
	return int64(binary.LittleEndian.Uint64(b[:]))
}

// instant picks an instant near now, near a power of two away from it, or
// anywhere.
func (d *decoder) instant(nowMs int64) int64 {
	kind := d.byte()
	near := int64(int8(d.byte()))
	switch {
	case kind < 100:
		return saturatedSum(nowMs, near)
	case kind < 240:
		// Mostly small powers, so that clocks do not soon reach the end of time.
		return saturatedSum(nowMs, saturatedSum(1<<(min(kind-100, (kind-100)&31)), near))
	case kind < 250:
		return saturatedSum(nowMs, saturatedSum(1<<(d.byte()%63), near))
	default:
		return d.int64()
	}
}

func saturatedSum(a, b int64) int64 {
	switch sum := a + b; {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && sum >= 0:
		return math.MinInt64
	default:
		return sum
	}
}

// play does what the script says to a wheel and the model.
func play(t testing.TB, script []byte, startMs int64, g Geometry, first uint64, p pace) {
	m := newPacedModel(t, startMs, g, first, p)
	d := &decoder{script}
	budgets := []int{1, 2, 3, 7, 31, 100, math.MaxInt, 0, -1}
	for steps := 0; !d.done(); steps++ {
		switch op := d.byte(); {
		case op < 100:
			m.add(d.instant(m.w.NowMs()))
		case op < 120:
			at := d.instant(m.w.NowMs())
			for range d.byte() % 80 {
				m.add(at)
				if d.byte() < 128 {
					at = d.instant(m.w.NowMs())
				}
			}
		case op < 145:
			if n := len(m.parked); n > 0 {
				m.cancel(int(d.byte()) * n / 256)
			}
			if n := len(m.gone); n > 0 {
				m.cancelGone(int(d.byte()) * n / 256)
			}
		case op < 165:
			m.takeFarthest(d.instant(m.w.NowMs()), budgets[int(d.byte())%len(budgets)], uint64(d.byte()%6))
		case op < 167:
			m.rewindFarthest()
		case op < 200:
			m.advance(d.instant(m.w.NowMs()), budgets[int(d.byte())%len(budgets)])
		case op < 205:
			if n := len(m.parked); n > 0 { // a run of neighbours, so that chunks are left nearly empty
				at := int(d.byte()) * n / 256
				for range min(int(d.byte()), n-at) {
					m.cancel(at)
				}
			}
		case op < 230:
			m.advanceAll(saturatedSum(m.w.NowMs(), int64(d.byte())), budgets[int(d.byte())%7])
		case op < 240:
			if ms, ok := m.w.NextDeadline(); ok {
				m.checkIdleUntil(ms)
			}
		case op < 250:
			k := uint64(d.byte()%5 + 1)
			m.sweep(func(payload uint64) bool { return payload%k == 0 })
		case op < 253:
			m.drain()
		default:
			checkMemory(t, m.w)
		}
		m.check()
	}
	checkMemory(t, m.w)
	m.drain()
	m.check()
	checkMemory(t, m.w)
}

// checkIdleUntil checks that there is nothing to do before ms, and something at
// ms.
func (m *model) checkIdleUntil(ms int64) {
	m.t.Helper()
	if ms > m.w.NowMs() && m.advance(ms-1, 0) {
		m.t.Fatalf("NextDeadline is %d, but there is work before", ms)
	}
	// The last tick may begin after the last millisecond.
	if !m.advance(ms, 0) && ms < math.MaxInt64 {
		m.t.Fatalf("NextDeadline is %d, but there is no work then", ms)
	}
}

// seeds is how many random runs a test makes: a third of them, all with
// LAYOVER_TEST_LONG, or a quarter with -short. The race detector takes ten times as long.
func seeds(all uint64) uint64 {
	if testing.Short() {
		return all / 4
	}
	return uint64(long.Of(int(all), int(all/3)))
}

// paces are those of the random tests: with the usual one little data is never
// divided, with the finest one all of it is.
var paces = []pace{finestPace, usualPace}

func TestTimingWheelAgreesWithModelUnderRandomOperations(t *testing.T) {
	for name, g := range geometries {
		t.Run(name, func(t *testing.T) {
			for seed := range seeds(20) {
				script := make([]byte, 3000)
				r := rand.NewChaCha8([32]byte{byte(seed), byte(g.Slots), byte(g.Levels)})
				_, _ = r.Read(script)
				play(t, script, int64(seed)*1_000_003-5_000_000, g, 1<<32-1000, paces[seed%2])
			}
		})
	}
}

func FuzzTimingWheelAgreesWithModel(f *testing.F) {
	shapes := []Geometry{
		tiny,
		geometries["five overlapping"],
		geometries["tiny with overlap"],
		geometries["one level"],
		geometries["coarse tick"],
		DefaultGeometry(),
	}
	for seed := range byte(24) {
		script := make([]byte, 600)
		_, _ = rand.NewChaCha8([32]byte{seed}).Read(script)
		f.Add(script, int64(seed)<<(2*seed), seed, uint64(1)<<(32+seed%3)-200)
	}
	f.Fuzz(func(t *testing.T, script []byte, startMs int64, shape byte, first uint64) {
		if len(script) > 4000 {
			t.Skip("longer scripts find nothing new")
		}
		play(t, script, startMs, shapes[int(shape)%len(shapes)], max(first>>1, 1), paces[first%2])
	})
}

// FuzzDeadlineNearPowersOfTwo parks one record near a power of two away from a
// clock near another, and looks one millisecond before it is due and then.
func FuzzDeadlineNearPowersOfTwo(f *testing.F) {
	for power := range 63 {
		for near := int64(-1); near <= 1; near++ {
			f.Add(int64(1)<<power+near, int64(1)<<(62-power)+near, int64(1)<<(power/2))
			f.Add(int64(1)<<32+near, int64(1)<<power+near, int64(1))
			f.Add(-int64(1)<<power+near, int64(1)<<power-near, int64(7))
			f.Add(near, int64(math.MaxInt64)-near-1, int64(1)<<power)
		}
	}
	f.Fuzz(func(t *testing.T, nowMs, delayMs, stepMs int64) {
		for _, g := range []Geometry{tiny, geometries["tiny with overlap"], DefaultGeometry()} {
			deadlineMs := saturatedSum(nowMs, delayMs)
			m := newModel(t, nowMs, g, 1)
			m.add(deadlineMs)
			m.check()
			m.advanceAll(saturatedSum(nowMs, max(stepMs, 0)), 1)
			m.check()
			if deadlineMs > math.MinInt64 {
				m.advanceAll(deadlineMs-1, 2)
				m.check()
			}
			m.advanceAll(deadlineMs, 3)
			m.advanceAll(math.MaxInt64, 3)
			if m.w.Len() != 0 {
				t.Fatal("the record never came out")
			}
		}
	})
}
