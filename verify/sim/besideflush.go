package sim

import (
	"slices"

	"layover/purgatory"
	"layover/purgatory/far"
)

// flush is what a lane does to move records and to read copies, in short. There is one flush at a time, for memory or
// for what ingress has to keep, and a visit where one is due.
type flush struct {
	*besideRuns
	gathering bool
	kept      bool
	copies    bool  // it is for what was loaded to be moved again
	again     bool  // runs were loaded that are to be moved again
	target    int64 // bytes in use at which gathering ends
	restedMs  int64 // no flush for memory before
	lookedMs  int64 // no look for what ingress keeps before
	cleanedMs int64 // no look for runs to be moved again before
}

const (
	flushRestMs = 10_000
	keptEveryMs = 5000
	agedMs      = 60_000
	oldMs       = 80_000
	spanOffsets = 400
	cleanEvery  = 2000
)

// turn does what is due; busy says that something came of it.
func (f *flush) turn(in *instance) (busy bool) {
	r := in.core.Runs()
	begins := !f.gathering && !r.Moving() && f.begins(r)
	if begins {
		r.FromFarthest()
	}
	if begins || f.gathering {
		busy = f.gather(r)
	}
	if !f.gathering {
		busy = in.move(min(256, max(f.cfg.MaxBuffered-r.Answering(), 0))) || busy
	}
	busy = in.list() || busy
	busy = f.answerCopies(in) || busy
	f.clean(in)
	in.visit(r.Visits(nil, f.reads.soonMs, f.reads.aheadMs))
	return f.answerVisits(in) || busy
}

// begins says whether a flush begins, as lanes decide it.
func (f *flush) begins(r *purgatory.Runs) bool {
	used := f.used() - r.MovingBytes()
	switch {
	case f.nowMs >= f.lookedMs && f.keeps(r):
		f.kept = true
	case used > f.share/2 && f.nowMs >= f.restedMs || used > f.share*3/4:
		f.target, f.kept, f.copies, f.restedMs = f.share*3/8, false, false, f.nowMs+flushRestMs
	case f.again:
		f.copies, f.kept, f.again = true, false, false
	default:
		return false
	}
	return true
}

// keeps says whether ingress keeps something too long.
func (f *flush) keeps(r *purgatory.Runs) bool {
	f.lookedMs = f.nowMs + keptEveryMs
	k := r.Behind(func(string) purgatory.Limits { return purgatory.Limits{AgeMs: agedMs, OldMs: oldMs} }, spanOffsets)
	return k.Aged || k.Old || k.Long
}

func (f *flush) gather(r *purgatory.Runs) bool {
	f.gathering = false
	size, n := f.used()-r.MovingBytes()-f.target, int64(0)
	switch after := f.nowMs + horizonMs; {
	case f.kept:
		f.gathering = r.GatherKept(after, after, 64)
	case f.copies:
		f.gathering = r.GatherCopies(after, 64)
	case size > 0:
		n, f.gathering = r.Gather(after, size, 64)
	}
	return f.gathering || n > 0
}

// answerCopies lets the runs topic answer copies, where it does.
func (f *flush) answerCopies(in *instance) (busy bool) {
	for p, log := range f.runs.logs {
		for f.err == nil && f.answerCopy(in, p, log) {
			busy = true
		}
	}
	return busy
}

// answerCopy answers the oldest copy of a partition. False: there is none, or it is not answered.
func (f *flush) answerCopy(in *instance, p int, log *runsLog) bool {
	i := slices.IndexFunc(in.copies, func(c *copying) bool { return c.part == p })
	switch {
	case i < 0:
		return false
	case in.copies[i].topicID != f.runs.topicID:
		return f.Do(Action{Kind: Copied, P: p, N: 1})
	case log.ails == refusing:
		return f.nowMs-in.copies[i].sentMs >= log.patience && f.Do(Action{Kind: Copied, P: p, N: 1})
	case !log.ails.answersCopies(): // one may be written, though nobody hears of it
		if f.rng.IntN(8) == 0 {
			f.Do(Action{Kind: Copy, P: p})
		}
		return false
	}
	f.Do(Action{Kind: Copy, P: p})
	return f.Do(Action{Kind: Copied, P: p})
}

// visitFailsMs is how long a visit waits for a broker that does not answer.
const visitFailsMs = 10_000

// answerVisits lets the runs topic answer visits, where it does.
func (f *flush) answerVisits(in *instance) (busy bool) {
	for k := 0; k < len(in.visits) && f.err == nil; {
		v := in.visits[k]
		log := f.runs.logs[v.part]
		n := 0
		switch waited := f.nowMs - v.askedMs; log.ails {
		case mute:
			if n = 8; waited < visitFailsMs {
				n = -1
			}
		case failing:
			n = 8
		case slow:
			if waited < log.patience {
				n = -1
			}
		default:
			n = max(0, f.rng.IntN(20)-12)
		}
		if n < 0 {
			k++
			continue
		}
		f.room(in)
		f.Do(Action{Kind: Visited, N: 9*k + n})
		busy = busy || n < 8
	}
	return busy
}

// room sets how many bytes of copies may be read now, as lanes reckon it.
func (f *flush) room(in *instance) {
	r := in.core.Runs()
	loaded, late := r.LoadedBytes(), r.PutBackBytes()
	others, free := max(loaded-r.Stranded()-late, 0), f.share-f.used()
	most := max(min(f.share/4-others-late, free), min(f.share/4-others, free-f.share/4))
	f.reads.room = max(f.share/8-loaded, min(f.share/16-others-late, free+f.share/16), most)
}

// clean has runs loaded that are to be moved again, while none is and nothing is late.
func (f *flush) clean(in *instance) {
	r := in.core.Runs()
	if f.nowMs < f.cleanedMs || f.gathering || r.Moving() || f.share-f.used() < f.share/16 {
		return
	}
	f.cleanedMs = f.nowMs + cleanEvery
	wanted, _ := r.Cleanings(nil, far.Cleaning{Slack: 64 << 10, Small: 1000, Few: 8}, f.share/16, 100)
	in.visit(wanted)
	f.again = f.again || len(wanted) > 0
}
