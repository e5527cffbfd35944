package measure

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"layover/bench/cputime"
	"layover/bench/rival"
)

// budget is how many records one call may hand out.
const budget = 1024

// patience is how long a structure may take over a passage that is cut short
// for those that would take minutes.
func (b *bench) patience() time.Duration {
	return min(100*time.Millisecond+time.Duration(b.n)*time.Microsecond, 2*time.Second)
}

// expire passes through the deadlines of n records again and again. It does so
// as fast as it goes, with each call timed, and in one jump of the clock.
func (b *bench) expire() error {
	if b.kind.ByItself {
		return b.expireByItself(b.kind.New(startMs, 0).(rival.RealClock))
	}
	deadlinesMs := b.deadlines()
	if err := b.timeExpiry(deadlinesMs); err != nil {
		return err
	}
	b.timeAdvances(deadlinesMs)
	if b.kind.Name == rival.Layover {
		return b.timeJumps(deadlinesMs)
	}
	return nil
}

// full returns a structure with these records, whose clock is at nowMs.
func (b *bench) full(nowMs int64, deadlinesMs []int64) rival.Advancer {
	r := b.kind.New(nowMs, 0).(rival.Advancer)
	for _, deadlineMs := range deadlinesMs {
		r.Add(0, deadlineMs, payload(deadlineMs))
	}
	return r
}

// timeExpiry is the figure for passing through everything.
//
// One that scans would take minutes and is cut short. Its cost is that of reading
// each record once a turn. So the share of all readings that were done stands for
// as many records.
func (b *bench) timeExpiry(deadlinesMs []int64) error {
	limit := time.Duration(math.MaxInt64)
	if b.kind.Scans {
		limit = b.patience()
	}
	r := b.full(startMs, deadlinesMs)
	runtime.GC()
	var p passage
	b.stopwatch(Expiry, func() int {
		p.run(r, startMs, limit)
		if b.kind.Scans {
			return int(float64(b.n) * shareRead(deadlinesMs, p.nowMs))
		}
		return p.fired
	})
	if p.fired != b.n && !b.kind.Scans {
		return fmt.Errorf("%d of %d expired", p.fired, b.n)
	}
	b.result[Early], b.result[EarlyOf] = float64(p.early), float64(p.fired)
	return nil
}

// shareRead is the share of a whole passage's readings that a hashed wheel
// has done when its clock is at nowMs. A record is read when the clock is a
// whole number of turns before its deadline, and at its deadline for the last
// time.
func shareRead(deadlinesMs []int64, nowMs int64) float64 {
	const turn = rival.HashedWheelSlots
	done, all := int64(0), int64(0)
	for _, deadlineMs := range deadlinesMs {
		readings := (deadlineMs-startMs-1)/turn + 1
		all += readings
		done += readings
		if left := deadlineMs - nowMs; left > 0 {
			done -= (left-1)/turn + 1
		}
	}
	return float64(done) / float64(all)
}

// A passage moves the clock millisecond by millisecond until nothing is parked.
// It leaves out the milliseconds before the instant that the structure itself
// said is next, as a loop that sleeps would.
type passage struct {
	nowMs        int64 // of the last call
	fired, early int
	due          []uint64
}

func (p *passage) run(r rival.Advancer, nowMs int64, limit time.Duration) {
	p.due = make([]uint64, 0, 2*budget)
	began, calls := time.Now(), 0
	for nowMs++; nowMs != rival.Never; calls++ {
		if calls%1024 == 0 && time.Since(began) > limit {
			return
		}
		nowMs = p.step(r, nowMs)
	}
}

// step is one call, and returns when the next is.
func (p *passage) step(r rival.Advancer, nowMs int64) int64 {
	p.nowMs = nowMs
	due, nextMs, more := r.Advance(nowMs, budget, p.due[:0])
	p.fired += len(due)
	for _, deadlineMs := range due {
		if int64(deadlineMs) > nowMs {
			p.early++
		}
	}
	p.due = due
	if more {
		return nowMs
	}
	return max(nowMs+1, nextMs)
}

// timeAdvances times each call by itself. All but ours are cut short: their
// longest calls are at the beginning, when most is parked.
func (b *bench) timeAdvances(deadlinesMs []int64) {
	limit := b.patience()
	if b.kind.Name == rival.Layover {
		limit = math.MaxInt64
	}
	r := b.full(startMs, deadlinesMs)
	runtime.GC()
	p := passage{due: make([]uint64, 0, 2*budget)}
	var walls []time.Duration
	longestCPU := time.Duration(0)
	began := time.Now()
	for nowMs := int64(startMs + 1); nowMs != rival.Never; {
		own, wall := cputime.Thread(), time.Now()
		if wall.Sub(began) > limit {
			break
		}
		nowMs = p.step(r, nowMs)
		took := time.Since(wall)
		// A hypervisor that takes the processor away may have it counted.
		longestCPU = max(longestCPU, min(took, cputime.Thread()-own))
		walls = append(walls, took)
	}
	slices.Sort(walls)
	b.result[P999] = walls[len(walls)*999/1000].Seconds() * 1e6
	b.result[Longest] = walls[len(walls)-1].Seconds() * 1e6
	b.result[LongestCPU] = longestCPU.Seconds() * 1e6
}

// timeJumps makes all records due at once: those with these deadlines, and as
// many with one and the same. It is for our wheel, which has an account of its
// memory; a heap takes them out one by one however they become due.
func (b *bench) timeJumps(deadlinesMs []int64) error {
	if err := b.timeJump(deadlinesMs, func(f Figure) Figure { return f }); err != nil {
		return err
	}
	for i := range deadlinesMs {
		deadlinesMs[i] = startMs + constantDelayMs
	}
	return b.timeJump(deadlinesMs, Figure.Same)
}

func (b *bench) timeJump(deadlinesMs []int64, name func(Figure) Figure) error {
	r := b.full(startMs, deadlinesMs)
	size := r.(rival.Sizer).Bytes
	runtime.GC()
	before := size()
	most, fired, due := before, 0, make([]uint64, 0, 2*budget)
	untilMs := slices.Max(deadlinesMs)
	own := cputime.Thread()
	for more := true; more; {
		due, _, more = r.Advance(untilMs, budget, due[:0])
		fired += len(due)
		most = max(most, size())
	}
	own = cputime.Thread() - own
	if fired != b.n {
		return fmt.Errorf("%d of %d expired in one jump", fired, b.n)
	}
	b.result[name(JumpRate)] = float64(fired) / own.Seconds()
	b.result[name(JumpBefore)], b.result[name(JumpMost)] = float64(before), float64(most)
	b.result[name(JumpAfter)] = float64(size())
	return nil
}
