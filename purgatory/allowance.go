package purgatory

// allowanceMs is the time whose answers a target partition may have in flight once more. It
// is the most by which a full pipe makes another record of its broker wait.
const allowanceMs = 50

// allowance is how many records a target partition may have in flight beyond
// Config.MaxInFlight: as many as it answered in allowanceMs. By Little's law its answers then
// take that long where the broker is the limit, and a slow partition gets no more for being slow.
type allowance struct {
	records int
	answers int   // since sinceMs
	sinceMs int64 // monotonic clock
}

// answered counts one answer.
func (a *allowance) answered(nowMs int64) {
	if span := nowMs - a.sinceMs; span >= allowanceMs {
		a.records = int(int64(a.answers) * allowanceMs / span)
		a.answers, a.sinceMs = 0, nowMs
	}
	a.answers++
}
