package lane

import (
	"math"
	"time"

	"layover/purgatory/far"
)

const (
	// cleanSlack is the bytes that a log may take beside three times what waits in it: deletion
	// frees whole closed segments alone, of 64 MiB.
	cleanSlack = 128 << 20
	// fewSmall is the number of small runs that become one: a quarter of those that a partition may have. Each
	// of their copies is written once more for it: with 64, nearly all of a small flow were. Where so many of each
	// partition would take more than fewShare of the share, it is what takes that, but leastFew at least.
	fewSmall = 1024
	leastFew = 32
	fewShare = 8
	// cleanLate is how long something has to be overdue before nothing is moved again: a second, and two that the last
	// look may be old. A delivery that is under way is overdue until it is answered, and beside a flow one always is.
	cleanLate = time.Second + 2*maxSleep
	// cleanRest is how long nothing is looked for that is to be moved again, once that was moved.
	cleanRest = 10 * time.Second
	// cleanWait is how long a visit that loads a run keeps others from beginning: its leader may not answer.
	cleanWait = time.Second
	// cleanLong is how long something has to be overdue until a run at a time is moved again all the same. A target that
	// takes less than falls due may make it late for days, and all the while the logs would grow.
	cleanLong = 10 * time.Minute
	// cleanPart is the part of the share that has to be free for runs that are loaded.
	cleanPart = 32
	// cleanSpare is the part of the share that others may load beside copies that an earlier flush has left, where memory
	// has it: their partition may take none for long.
	cleanSpare = 16
	// cleanStay is how long what was loaded last waits for other runs: visits that fail by turns would never be over.
	// It is twice what a visit takes at most.
	cleanStay = time.Minute
)

// clean has runs loaded that are to be moved again, while nothing is late by cleanLate and there is room. With something
// late for cleanLong it is a run at a time. It returns true when all of them are there, or those that are have waited
// for cleanStay. What is there of an earlier time is to be moved as well: a lease had run out, or no answer came.
func (v *visits) clean(now time.Time, topic topicOf) (loaded bool) {
	if now.Before(v.cleaned) || v.loads(now) {
		return false
	}
	if v.loaded.IsZero() {
		v.spare = max(v.pressure.share()/cleanSpare-v.pressure.roomAgain(), 0)
		if !now.Before(v.stays) && v.core.Runs().AgainBytes() > 0 {
			v.loaded, v.stays = now, now.Add(cleanStay)
		}
	}
	stay := v.loaded.IsZero() || now.Sub(v.loaded) < cleanStay
	late, long := v.lateFor(now)
	if late && stay {
		v.cleaned = now.Add(runsLook)
		return false
	}
	share, room, more, most := v.pressure.share(), v.roomAgain(), false, math.MaxInt
	if long {
		most = 1
	}
	if !late && room >= share/cleanPart {
		v.wanted, more = v.core.Runs().Cleanings(v.wanted[:0], far.Cleaning{Slack: cleanSlack, Small: share / 64, Few: v.few(share)}, room, most)
		v.begin(topic)
		if stay && (more || len(v.wanted)+len(v.whole) > 0) { // what is moved before becomes small runs again
			v.cleaned = now.Add(runsLook)
			return false
		}
	}
	loaded = !v.loaded.IsZero()
	v.loaded, v.cleaned = time.Time{}, now.Add(cleanRest)
	return loaded
}

// roomAgain is how many bytes of copies may be loaded to be moved again.
func (v *visits) roomAgain() int64 {
	return min(v.pressure.roomAgain()+v.spare, v.pressure.roomAhead())
}

// few returns how many small runs of a partition become one.
func (v *visits) few(share int64) int {
	most := share / fewShare / far.RunSize / int64(max(v.core.Runs().Known(), 1))
	return int(max(leastFew, min(most, fewSmall)))
}

// lateFor reports whether something is late. It does so for cleanLong at most; long: it has been for longer.
func (v *visits) lateFor(now time.Time) (late, long bool) {
	if !v.late(now) {
		v.lateSince = time.Time{}
		return false, false
	}
	if v.lateSince.IsZero() {
		v.lateSince = now
	}
	long = now.Sub(v.lateSince) >= cleanLong
	return !long, long
}

// late reports whether the last look has found something that is overdue by cleanLate, and is not held.
func (v *visits) late(now time.Time) bool {
	oldestMs := v.published.outlook.OldestLateMs
	return oldestMs != 0 && v.cfg.Wall(now).UnixMilli()-oldestMs >= cleanLate.Milliseconds()
}

// loads reports whether a visit that loads a run may soon be answered.
func (v *visits) loads(now time.Time) bool {
	for _, began := range v.whole {
		if now.Sub(began) < cleanWait {
			return true
		}
	}
	return false
}
