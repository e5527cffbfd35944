package sim

// Shrink returns a shorter run that breaks the same promise, of which no single
// action can be left out.
func (r Run) Shrink(b *Broken) Run {
	for size := len(r.Trace) / 2; size > 0; {
		if shorter, ok := r.without(size, b); ok {
			r = shorter
			size = min(size, max(len(r.Trace)/2, 1))
			continue
		}
		size /= 2
	}
	return r.simpler(b)
}

// without leaves out parts of the given size, wherever that still breaks something.
func (r Run) without(size int, b *Broken) (Run, bool) {
	shorter := false
	for at := 0; at < len(r.Trace); {
		end := min(at+size, len(r.Trace))
		try := Run{r.Config, append(append([]Action(nil), r.Trace[:at]...), r.Trace[end:]...)}
		if try.breaks(b) {
			r, shorter = try, true
		} else {
			at = end
		}
	}
	return r, shorter
}

// simpler replaces numbers by small ones.
func (r Run) simpler(b *Broken) Run {
	trace := append([]Action(nil), r.Trace...)
	for i := range trace {
		for _, n := range []int{0, 1} {
			was := trace[i].N
			if was <= n {
				break
			}
			trace[i].N = n
			if (Run{r.Config, trace}).breaks(b) {
				break
			}
			trace[i].N = was
		}
	}
	return Run{r.Config, trace}
}

// breaks says whether the run breaks the promise that b did.
func (r Run) breaks(b *Broken) bool {
	got := r.Play()
	return got != nil && got.Promise == b.Promise
}
