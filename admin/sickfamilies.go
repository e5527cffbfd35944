package admin

// sickFamilies count the sick things by kind. Names are no labels, because a header may
// have chosen them.
func sickFamilies() []family {
	return []family{
		gauge("layover_sick",
			"Things that do not work now, by kind: kafka, group, ingress_topic, partition (of an ingress topic), dead_letter, names, target (or a partition of one), events, runs, journal. /status names them under sick, each with its remedy.",
			[]string{"kind"}, func(v *view, out emit) {
				for _, kind := range sickKinds() {
					n, _ := v.sickOf(kind)
					out(float64(n), kind)
				}
			}),
		gauge("layover_sick_since_timestamp_seconds",
			"Start of the longest present sickness of a kind, in seconds since 1970; 0 when nothing is sick, or no start is known.",
			[]string{"kind"}, func(v *view, out emit) {
				for _, kind := range sickKinds() {
					_, sinceMs := v.sickOf(kind)
					out(float64(sinceMs)/1000, kind)
				}
			}),
	}
}

// sickOf counts the sick things of a kind, and returns the earliest start; 0 if that
// is not known.
func (v *view) sickOf(kind string) (n int, sinceMs int64) {
	for i := range v.sick {
		s := &v.sick[i]
		if s.Kind != kind {
			continue
		}
		n++
		if ms := s.Since.UnixMilli(); !s.Since.IsZero() && (sinceMs == 0 || ms < sinceMs) {
			sinceMs = ms
		}
	}
	if kind == SickTarget {
		n += v.total.heldRest
	}
	return n, sinceMs
}
