package model

import (
	"cmp"
	"math"
	"math/rand/v2"

	"layover/offsets"
	"layover/purgatory/far"
)

const (
	second = int64(1000)
	hour   = 3600 * second
	day    = 24 * hour
	month  = 30 * day
)

// dice are what delays are chosen by.
type dice = *rand.Rand

// A Delay is a kind of delays.
type Delay struct {
	Name string
	Mean float64 // ms
	Most int64   // ms
	of   func(dice) int64
}

// Delays are the kinds that are modelled.
func Delays() []Delay {
	return []Delay{
		{"uniform, up to 30 days", float64(month) / 2, month, func(r dice) int64 { return r.Int64N(month) }},
		{"constant, 10 days", 10 * float64(day), 10 * day, func(dice) int64 { return 10 * day }},
		{"exponential, 3 days on average, up to 30", 3 * float64(day), month, func(r dice) int64 {
			return min(int64(r.ExpFloat64()*3*float64(day)), month)
		}},
		{"99 % an hour, 1 % 30 days", 0.99*float64(hour) + 0.01*float64(month), month, func(r dice) int64 {
			if r.IntN(100) == 0 {
				return month
			}
			return hour
		}},
	}
}

// Steady lets records arrive for the longest delay and so many days more, at the rate at which so many wait
// at a time. It counts in those days, for one partition with a share of memory.
func Steady(d Delay, waiting, share, days int64) (Count, error) {
	var before Count
	w, err := steady(d, waiting, share, days, func(c Count) { before = c })
	if err != nil {
		return Count{}, err
	}
	c, err := w.finish()
	c.Read, c.Delivered, c.Moved, c.Again = c.Read-before.Read, c.Delivered-before.Delivered, c.Moved-before.Moved, c.Again-before.Again
	c.Fetches, c.Visits, c.Loaded = c.Fetches-before.Fetches, c.Visits-before.Visits, c.Loaded-before.Loaded
	c.Seconds = float64(days * day / second)
	return c, err
}

// steady calls begins with the count when the longest delay has passed.
func steady(d Delay, waiting, share, days int64, begins func(Count)) (*world, error) {
	w := newWorld(share, 0, 1)
	w.every(stepMs)
	rate := float64(waiting) / d.Mean // a ms
	owed := 0.0
	for now := int64(0); now < d.Most+days*day && w.err == nil; now += stepMs {
		if now == d.Most/stepMs*stepMs && begins != nil {
			begins(w.count)
		}
		for owed += rate * stepMs; owed >= 1; owed-- {
			w.arrive(d.of(w.dice))
		}
		w.turn(startMs + now)
	}
	return w, w.err
}

// Full is a partition that was filled, and what a restart reads of it.
type Full struct {
	Count
	Restart Count
	// Later is a restart two hours after.
	Later Count
}

// atATime is how many records are read in one turn while a partition is filled.
const atATime = 512

// Fill parks n records that are due within from to to, so many a second.
func Fill(n, share, others, from, to int64, perSecond float64) (f Full, err error) {
	w := newWorld(share, others, 2)
	now := int64(0)
	w.every(max(int64(atATime/perSecond*float64(second)), 1))
	for ; w.count.Read < n && w.err == nil; now += w.step {
		for range atATime {
			w.arrive(from + w.dice.Int64N(to-from))
		}
		w.turn(startMs + now)
	}
	w.every(stepMs)
	for end := now + 30*second; now < end && w.err == nil; now += second {
		w.turn(startMs + now)
	}
	if f.Count, err = w.finish(); err != nil {
		return f, err
	}
	if f.Restart, err = w.restart(now); err != nil {
		return f, err
	}
	for end := now + 2*hour; now < end && w.err == nil; now += stepMs {
		w.turn(startMs + now)
	}
	if w.err == nil {
		f.Later, err = w.restart(now)
	}
	return f, cmp.Or(err, w.err)
}

// restart counts what another owner reads of the runs before it is ready.
func (w *world) restart(now int64) (Count, error) {
	next := newWorld(w.share, w.lane/w.share-1, 3)
	next.now, next.log, next.base = startMs+now, w.log, w.base
	said := w.index.State()
	said.TopicID = offsets.TopicID{1}
	opening := far.Opening{Writer: 2, TopicID: said.TopicID, Log: offsets.Bounds{Start: w.base, End: w.end()}, Said: said, SaidEnd: math.MaxInt64,
		Window: w.index.Left(w.end()), Directory: &w.dir.Directory, DirectoryEnd: math.MaxInt64}
	index, lost := far.Open(&opening)
	if lost > 0 {
		w.fail("%d offsets are lost at a restart", lost)
	}
	next.index = index
	next.core.Tick(next.clock(), 1)
	next.core.Runs().Begin(next.at, said.TopicID, index, 0)
	next.visit()
	c := next.count
	c.Runs = len(w.dir.Runs)
	return c, next.err
}
