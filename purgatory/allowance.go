package purgatory

const (
	// allowanceMs is the time whose answers a target partition may have in flight once more, while it answers
	// in time.
	allowanceMs = 50
	// queueMs is how much more than twice the quickest answer others may take. What takes longer waits in a pipe
	// that is full, and other records for its broker wait behind it.
	queueMs = 10
	// quickForMs is how long the quickest answer counts at least.
	quickForMs = 10_000
	// leastShare divides Config.MaxInFlight: one part of so many may be in flight however long answers take.
	leastShare = 4
)

// allowance bounds the records that a target partition has in flight. While it answers in time the bound grows,
// up to Config.MaxInFlight, or as many as it answered in allowanceMs. While it does not, they are as many as it
// answers in the time that is right, which by Little's law makes its answers take that long.
type allowance struct {
	records int // 0: Config.MaxInFlight

	answers int   // since sinceMs
	tookMs  int64 // all of those
	sinceMs int64 // monotonic clock

	quickestMs int64 // of the answers that no other record in flight can have made longer
	quickAtMs  int64 // monotonic clock; 0: there was none
}

// answered takes an answer, and how long it took. alone says that nothing else was in flight to the partition
// when its record was sent. most is Config.MaxInFlight.
func (a *allowance) answered(nowMs, tookMs int64, alone bool, most int) {
	if span := nowMs - a.sinceMs; span >= allowanceMs {
		a.adapt(span, most)
		a.answers, a.tookMs, a.sinceMs = 0, 0, nowMs
	}
	a.answers++
	a.tookMs += tookMs
	if alone && (a.quickAtMs == 0 || tookMs <= a.quickestMs || nowMs-a.quickAtMs >= quickForMs) {
		a.quickestMs, a.quickAtMs = tookMs, nowMs
	}
}

// adapt sets the bound by the answers of a span.
func (a *allowance) adapt(span int64, most int) {
	answers, right := int64(a.answers), 2*a.quickestMs+queueMs
	limit := max(int(answers*allowanceMs/span), most)
	if a.tookMs > answers*right {
		a.records = max(int(answers*right/span), most/leastShare, 1)
	} else {
		a.records = a.bound(most, true)
		a.records += a.records/8 + 1
	}
	a.records = min(a.records, limit)
}

// bound is how many records may be in flight. most is Config.MaxInFlight, and room says whether there is room
// for more.
func (a *allowance) bound(most int, room bool) int {
	if a.records == 0 || a.records > most && !room {
		return most
	}
	return a.records
}
