package sim

// ailment is why a runs partition does not do what it should.
type ailment uint8

const (
	fit      ailment = iota
	mute             // its broker answers nothing: neither copies nor visits
	refusing         // it takes no copies
	failing          // visits fail
	slow             // visits are answered after seconds
	former           // a leader of former times is asked: its log ends early, and it takes no copies
	blocked          // a transaction of others is open: nothing is read behind its beginning
	ailments
)

func (a ailment) String() string {
	return [...]string{"fit", "mute", "refusing copies", "failing visits", "slow", "led by a former leader", "blocked by a transaction"}[a]
}

// answersCopies says whether copies are answered, be it with a refusal.
func (a ailment) answersCopies() bool { return a != mute && a != former }

// answersVisits says whether what is asked for is read, as far as it is shown.
func (a ailment) answersVisits() bool { return a != mute && a != failing && a != slow }

// ailing is the state of a runs partition that may ail, and since when its copies can be read.
type ailing struct {
	ails     ailment
	ends     int64 // of what is shown, where the ailment hides the rest
	patience int64 // milliseconds until a slow partition answers a visit, or one refuses a copy

	sinceMs    int64 // when it fell ill
	deafMs     int64 // when visits were last not answered
	hiddenMs   int64 // when its end was last hidden
	hiddenFrom int64 // from where on
}

// shown is what a reader of a runs log gets to see.
type shown struct {
	until int64 // it reads up to here
	end   int64 // where the log ends, it hears
	epoch int32 // and its leader epoch
}

// shown returns what a reader of the log gets to see now.
func (l *runsLog) shown() shown {
	switch l.ails {
	case former:
		return shown{l.ends, l.ends, l.epoch - 1}
	case blocked:
		return shown{min(l.ends, l.end()), l.end(), l.epoch}
	}
	return shown{l.end(), l.end(), l.epoch}
}

// ail makes a runs partition ill, or fit again. False: it is so already, or cannot be. What a leader of former times
// lacks was written in the present leader epoch.
func (l *runsLog) ail(as ailment, n, nowMs int64) bool {
	if (l.ails == fit) == (as == fit) {
		return false
	}
	switch as {
	case former:
		if l.ends = l.endOf(l.epoch - 1); l.epoch == 0 || l.ends == l.end() {
			return false
		}
	case blocked:
		l.ends = max(l.start, l.end()-n)
	case slow, refusing:
		l.patience = 1000 * (n % 9)
	}
	l.ails, l.sinceMs = as, nowMs
	return true
}

// feel notes since when the log can be read.
func (l *runsLog) feel(nowMs int64) {
	if !l.ails.answersVisits() {
		l.deafMs = nowMs
	}
	if l.ails == former || l.ails == blocked {
		if nowMs-l.hiddenMs > lateMs || l.ends < l.hiddenFrom {
			l.hiddenFrom = l.ends
		}
		l.hiddenMs = nowMs
	}
}

// readableMs returns since when what stands at an offset can be read; never says that it cannot be now.
func (l *runsLog) readableMs(offset int64) (ms int64, never bool) {
	c := l.entries[offset]
	if c.broken || !l.ails.answersVisits() || offset >= l.shown().until {
		return 0, true
	}
	if ms = max(c.atMs, l.deafMs); offset >= l.hiddenFrom {
		ms = max(ms, l.hiddenMs)
	}
	return ms, false
}
