package journal

import (
	"errors"
	"fmt"
	"strings"

	"layover/cli/process"
	"layover/journal/facts"
	"layover/offsets"
)

// count returns a number with its noun.
func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// span returns the range of two offsets, both in it.
func span(first, last int64) string {
	if first == last {
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d-%d", first, last)
}

// text returns the line of a record.
func (e *entry) text(runs bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "@%d %s ", e.Offset, process.Clock(e.Timestamp))
	if e.bad != nil {
		fmt.Fprintf(&b, "%s bytes=%d", badWord(e.bad), len(e.Value))
		return b.String()
	}
	r := &e.said
	fmt.Fprintf(&b, "%s incarnation=%016x writer=%016x epoch=%d low=%d above=%d runs=%d range=", r.Kind, r.Incarnation, r.Writer, r.LeaderEpoch, r.Low, e.above, e.runs)
	if e.runs == 0 {
		b.WriteString("-")
	} else {
		b.WriteString(span(e.first, e.last))
	}
	fmt.Fprintf(&b, " bytes=%d", len(e.Value))
	if runs && e.runs > 0 {
		sep := " finished="
		r.Each(func(from, to int64) { // it was read before
			b.WriteString(sep + span(from, to-1))
			sep = ","
		})
	}
	switch {
	case e.whose != "":
		fmt.Fprintf(&b, " (of %s)", e.whose)
	case e.copies:
		b.WriteString(" (of copies in runs)")
	}
	return b.String()
}

// badWord is why a record has no facts, its kind first.
func badWord(err error) string {
	for kind, sentinel := range map[string]error{"foreign": facts.ErrForeign, "damaged": facts.ErrDamaged, "newer": facts.ErrNewer} {
		if errors.Is(err, sentinel) {
			return fmt.Sprintf("%s (%s)", kind, strings.TrimSuffix(err.Error(), ": "+sentinel.Error()))
		}
	}
	return err.Error()
}

// text returns the counts, each with its noun.
func (t *tally) text() string {
	s := fmt.Sprintf("%s, %s, %s", count(t.records, "record"), count(t.bytes, "byte"), count(t.snapshots, "complete snapshot"))
	for _, part := range []struct {
		n    int64
		what string
	}{{t.copies, "of copies in runs"}, {t.others, "of others"}, {t.foreign, "foreign"}, {t.damaged, "damaged"}, {t.newer, "of a newer release"}} {
		if part.n > 0 {
			s += fmt.Sprintf(", %d %s", part.n, part.what)
		}
	}
	return s
}

// finished describes a window.
func finished(w *offsets.Window) string {
	if w.Above() == 0 {
		return fmt.Sprintf("low offset %d, nothing finished above it", w.Low())
	}
	return fmt.Sprintf("low offset %d, %d finished above it up to %d", w.Low(), w.Above(), w.Highest())
}
