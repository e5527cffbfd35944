package dev

import (
	"fmt"
	"io"
	"time"
)

// missedQuiet is how long nothing has to come for the missed records to be all.
const missedQuiet = 300 * time.Millisecond

// missed sums up the records that were due while dev was stopped: they all come at once.
type missed struct {
	records     int
	first, last time.Time // due
}

func (m *missed) add(due time.Time) {
	if m.records == 0 || due.Before(m.first) {
		m.first = due
	}
	if m.records == 0 || due.After(m.last) {
		m.last = due
	}
	m.records++
}

// print writes one line, if there is anything to say, and begins anew.
func (m *missed) print(w io.Writer) {
	const format = "2006-01-02 15:04:05"
	switch {
	case m.records == 0:
		return
	case m.records == 1:
		fmt.Fprintf(w, "  1 record was due while dev was stopped, at %s UTC: delivered now\n", m.first.UTC().Format(format))
	default:
		fmt.Fprintf(w, "  %d records were due while dev was stopped, from %s to %s UTC: delivered now\n",
			m.records, m.first.UTC().Format(format), m.last.UTC().Format(format))
	}
	*m = missed{}
}
