package sim

// Shrink returns a shorter run that breaks what this one does, as breaks says, of
// which no single action can be left out. It asks at most tries times: what is
// shorter by then is what it returns.
func (r Run) Shrink(tries int, ask func(Run) bool) Run {
	breaks := func(r Run) bool {
		tries--
		return tries >= 0 && ask(r)
	}
	for size := len(r.Trace) / 2; size > 0; {
		if shorter, ok := r.without(size, breaks); ok {
			r = shorter
			size = min(size, max(len(r.Trace)/2, 1))
			continue
		}
		size /= 2
	}
	return r.simpler(breaks)
}

// without leaves out parts of the given size, wherever that still breaks it.
func (r Run) without(size int, breaks func(Run) bool) (Run, bool) {
	shorter := false
	for at := 0; at < len(r.Trace); {
		end := min(at+size, len(r.Trace))
		try := Run{r.Config, append(append([]Action(nil), r.Trace[:at]...), r.Trace[end:]...)}
		if breaks(try) {
			r, shorter = try, true
		} else {
			at = end
		}
	}
	return r, shorter
}

// simpler replaces numbers by small ones.
func (r Run) simpler(breaks func(Run) bool) Run {
	trace := append([]Action(nil), r.Trace...)
	for i := range trace {
		was := trace[i].N
		for n := range min(was, 2) {
			if trace[i].N = n; breaks(Run{r.Config, trace}) {
				break
			}
			trace[i].N = was
		}
	}
	return Run{r.Config, trace}
}

// Breaks returns what Shrink asks: whether a run breaks the promise that b did.
func Breaks(b *Broken) func(Run) bool {
	return func(r Run) bool {
		got := r.Play()
		return got != nil && got.Promise == b.Promise
	}
}
