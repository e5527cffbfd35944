package cluster

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// unusable returns configured topics that cannot be used, by name. Callers hold mu.
func (w *Watcher) unusable() (out []Topic) {
	for _, t := range w.topics {
		if t.State == Missing || t.State == Forbidden {
			out = append(out, *t)
		}
	}
	slices.SortFunc(out, func(a, b Topic) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// missing returns a text for each topic that cannot be used. Read and Write imply Describe.
func (w *Watcher) missing(unusable []Topic) (out []string) {
	for i := range unusable {
		t := &unusable[i]
		text := fmt.Sprintf("topic %s is %s", t.Name, t.State)
		switch {
		case t.State != Forbidden:
		case slices.Contains(w.cfg.Ingress, t.Name):
			text += "; allow Read on topic " + t.Name
		default:
			text += "; allow Write on topic " + t.Name
		}
		out = append(out, text)
	}
	return out
}

// say logs trouble once, when it begins or changes, and once when it is over. Trouble that
// comes and goes gives a line every 30 s at most.
func (w *Watcher) say(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sayNames(now)
	if w.err != nil && (w.wasRefused || w.refused()) {
		return
	}
	var about, problem string // about is the same as long as it lasts: an error names another broker each time
	switch missing := w.missing(w.unusable()); {
	case w.err != nil:
		about = "no broker answers"
		if w.othersAnswer {
			about = "no broker says which topics there are"
		}
		problem = fmt.Sprintf("%s: %v", about, w.err)
	case len(missing) > 0:
		problem = strings.Join(missing, ", ")
		about = problem
	}
	switch {
	case about == "":
		if w.about != "" {
			w.cfg.Log.Info("brokers answer and all configured topics are there", "waited", now.Sub(w.began).Round(time.Second).String())
		}
		w.about, w.began = "", time.Time{}
		return
	case w.began.IsZero():
		w.began = now
	}
	if about != w.about && now.Sub(w.said) >= sayEvery {
		w.said, w.about = now, about
		w.cfg.Log.Warn("waiting for Kafka", "missing", problem)
	}
}

// refused reports whether brokers refuse the connection, which others log.
func (w *Watcher) refused() bool { return w.cfg.Refused != nil && w.cfg.Refused() }

// sayNames logs once that headers choose too many names, and once that it is over. It
// logs none of the names: producers choose them freely. Callers hold mu.
func (w *Watcher) sayNames(now time.Time) {
	switch full := w.names.full; {
	case full.IsZero() == w.crowded.IsZero():
	case full.IsZero():
		w.cfg.Log.Info("headers choose no more target names than fit", "limit", w.names.limit, "waited", now.Sub(w.crowded).Round(time.Second).String())
		w.crowded = time.Time{}
	default:
		w.cfg.Log.Warn("headers choose too many target names, and records for names without room are held", "limit", w.names.limit)
		w.crowded = full
	}
}
