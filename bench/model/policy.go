package model

import (
	"math"

	"layover/purgatory"
)

// The numbers of package lane, in milliseconds and bytes.
const (
	flushRestMs = 10_000
	mostAgeMs   = 3_600_000
	mostSpan    = 5_000_000
	leastSpan   = 50_000
	longestMs   = 3_600_000
	shortestMs  = 60_000
	mostAheadMs = 600_000
	leastAhead  = 2_000
	leastSoon   = 1_400
	cleanSlack  = 128 << 20
	fewSmall    = 1024
	leastFew    = 32
	fewShare    = 8
	cleanPart   = 32
	cleanRestMs = 10_000
	runsLookMs  = 200

	gatherBudget = 4096
	copyBudget   = 256
	squeezeShare = 16
	leastFlush   = 16
	leastOfRun   = 1 << 10
)

// paceEvery is how often the read-ahead is adapted. The lane does it every second; an hour of virtual time
// would cost a second of real time with thousands of runs.
const paceEvery = 60_000

// policy is what the lane decides about the runs of a core.
type policy struct {
	core  *purgatory.Core
	share int64 // of the partition
	lane  int64 // of all partitions of its lane

	step          int64 // from one turn to the next, ms
	ahead         int64
	paced         int64
	rested, aged  int64 // no flush for memory, for age, before
	due           int64 // of the next look for visits
	cleaned       int64 // no look for what is to be moved again before
	cleaning      bool
	again         bool
	squeezed      bool  // carrying records out of thin chunks gave little, so a flush comes first
	kept          bool  // the flush that goes on is for what ingress keeps
	copies        bool  // it is for what was loaded to be moved again
	horizon, goal int64 // of it
}

func (p *policy) used() int64 {
	return p.core.Bytes() - p.core.Runs().MovingBytes()
}

func (p *policy) room() int64 {
	loaded, free := p.core.Runs().LoadedBytes(), p.share-p.core.Bytes()
	others := loaded - p.core.Runs().Stranded()
	return max(p.share/8-loaded, min(p.share/16-others, free+p.share/16), min(p.share/4-others, free))
}

// roomOf is how many bytes of copies an answer may bring. Those that are to be moved again leave some to what is due.
func (p *policy) roomOf(whole bool) int64 {
	if whole {
		return p.room() - p.share/16 - p.core.Runs().ReloadedBytes()
	}
	return p.room()
}

func (p *policy) horizonMs(used int64) int64 {
	part := (float64(used)/float64(p.share) - 0.5) / 0.375
	return int64(longestMs * math.Pow(shortestMs/float64(longestMs), max(0, min(part, 1))))
}

// begins says whether a flush begins.
func (p *policy) begins(now int64) bool {
	used := p.used()
	p.horizon = max(p.horizonMs(used), 2*leastAhead)
	full := used > p.share/2 && now >= p.rested
	least := p.share / leastFlush
	if used > p.share*3/4 {
		least = min(least, int64(p.core.Runs().Known())*leastOfRun)
	}
	gives := full && p.core.Runs().MovableBytes() > least
	p.kept, p.copies = p.keeps(now, gives), false
	switch {
	case p.kept:
	case full && !p.squeezed && p.squeeze(used):
		return p.begins(now)
	case gives:
		p.squeezed = false
		p.goal, p.rested = p.share*3/8, now+flushRestMs
		if used > p.share*3/4 {
			p.rested = now
		}
	case p.again:
		p.copies, p.again = true, false
	case full:
		p.squeezed, p.rested = false, now+flushRestMs
		return false
	default:
		return false
	}
	return true
}

// squeeze carries records out of chunks that are nearly empty. False: none are.
func (p *policy) squeeze(used int64) bool {
	r := p.core.Runs()
	if !r.Squeeze(p.share / squeezeShare) {
		return false
	}
	for more := true; more; {
		more = r.SqueezeOn(gatherBudget)
	}
	p.squeezed = used-p.used() < p.share/squeezeShare/2
	return true
}

// keeps says whether a flush begins for what ingress keeps, whose retention is without end.
func (p *policy) keeps(now int64, full bool) bool {
	limits := func(string) purgatory.Limits { return purgatory.Limits{AgeMs: mostAgeMs * 3 / 4} }
	kept := p.core.Runs().Behind(limits, max(mostSpan/(lanes*p.lane/p.share), leastSpan))
	switch {
	case kept.Aged && !full && now >= p.aged:
		p.aged = now + mostAgeMs/4
	case kept.Long:
		p.horizon = math.MaxInt64 / 2
	default:
		return false
	}
	return true
}

// every says how long a step is. A copy that a look finds due by the end of a step has to be within the
// read-ahead. Otherwise it would be looked for again and again, and never loaded.
func (p *policy) every(ms int64) { p.step, p.ahead = ms, max(p.ahead, ms) }

// pace adapts the read-ahead.
func (p *policy) pace(now int64) {
	if now < p.paced {
		return
	}
	p.paced = now + paceEvery
	most, quarter := min(int64(mostAheadMs), p.horizonMs(p.used())/2), p.share/4
	loaded := p.core.Runs().LoadedBytes() - p.core.Runs().Stranded()
	due := func(ahead int64) int64 { return loaded + p.core.Runs().DueBy(now+ahead).Bytes }
	for due(p.ahead) > quarter && p.ahead > max(leastAhead, p.step) {
		p.ahead = p.ahead * 2 / 3
	}
	for p.ahead < most && due(p.ahead*3/2) <= quarter {
		p.ahead = p.ahead * 3 / 2
	}
	p.ahead = max(min(p.ahead, most), leastAhead, p.step)
}

// soon is how long before it is due a copy is looked for: within the next step at least. Visits take no time here.
func (p *policy) soon() int64 { return max(leastSoon, p.ahead/4, p.step) }
