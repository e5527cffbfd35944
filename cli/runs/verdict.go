package runs

import (
	"fmt"
	"strings"
	"time"

	"layover/cli/process"
)

// verdict sums up the partitions, and judges whether an older release may take over: one that
// knows no runs, and so would deliver no copy.
type verdict struct {
	all    bool     // all partitions of the settings' topics were to be looked at
	left   []string // topics of the group that the settings do not have, of which copies may wait
	failed int      // topics and partitions that were not, because of an error

	partitions                      int
	copies, bytes, finished, runs   int64
	foreign, newer                  int64
	exact                           bool
	latestMs                        int64
	waiting, undeleted, held, blind int64 // partitions: with copies that wait, with others, that only the commit holds, not known
	orphans                         int64 // of waiting: partitions that the ingress topic does not have
}

// add adds a partition.
func (v *verdict) add(p *partition, f *findings) {
	v.exact = f.exact && (v.exact || v.partitions == 0)
	v.partitions++
	v.copies, v.bytes, v.runs = v.copies+f.copies, v.bytes+f.bytes, v.runs+int64(len(f.runs))
	v.finished, v.foreign, v.newer = v.finished+f.finished, v.foreign+f.foreign, v.newer+f.newer
	v.latestMs = max(v.latestMs, f.latestMs)
	switch {
	case f.copies > 0:
		v.waiting++
		if p.orphan {
			v.orphans++
		}
	case f.foreign+f.newer > 0:
	case f.unread != nil || f.hidden() > 0 || p.unknown():
		v.blind++
	case f.finished > 0 && !p.orphan: // of which nobody deletes any, and no release reads them
		v.undeleted++
	case p.said.Holds:
		v.held++
	}
}

// missing returns what stands in the way of a downgrade.
func (v *verdict) missing() (all []string) {
	add := func(n int64, format string, args ...any) {
		if n > 0 {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	most := "at most "
	if v.exact {
		most = ""
	}
	add(v.waiting, "%s%s, in %s, the last one due at %s", most, waiting(v.copies), partitions(v.waiting), instant(v.latestMs))
	add(v.orphans, "nobody is assigned %s of these, which the ingress topic does not have: it needs as many partitions as its runs topic", partitions(v.orphans))
	add(v.undeleted, "finished copies are not deleted in %s", partitions(v.undeleted))
	add(v.held, "the last commit still forbids it for %s", partitions(v.held))
	add(v.newer, "copies of a newer release: %s", process.Grouped(v.newer))
	add(v.foreign, "copies that are not of this group and release: %s", process.Grouped(v.foreign))
	return all
}

// unknown returns what was not looked at.
func (v *verdict) unknown() (all []string) {
	if v.blind > 0 {
		all = append(all, "what was not read, of "+partitions(v.blind))
	}
	if v.failed > 0 {
		all = append(all, fmt.Sprintf("what failed: see the %s on stderr", noun(v.failed, "error")))
	}
	if !v.all {
		all = append(all, "the partitions that were not asked for")
	}
	for _, name := range v.left {
		all = append(all, fmt.Sprintf("topic %s, which LAYOVER_INGRESS_TOPICS does not have: layover runs show --topic %s", name, name))
	}
	return all
}

func partitions(n int64) string { return process.Count(n, "partition") }

func noun(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// text says whether a downgrade is safe, what is missing and what to do.
func (v *verdict) text(now time.Time) string {
	var b strings.Builder
	missing, unknown := v.missing(), v.unknown()
	list := func(head string, lines []string) {
		b.WriteString(head + "\n")
		for _, line := range lines {
			b.WriteString("  " + line + "\n")
		}
	}
	switch {
	case len(missing) > 0:
		list("A downgrade is not safe, to a release that knows no runs:", missing)
		if len(unknown) > 0 {
			list("Not known is:", unknown)
		}
		b.WriteString(v.advice(now))
	case len(unknown) > 0:
		list("Whether a downgrade is safe is not known. Missing is:", unknown)
	default:
		b.WriteString("A downgrade is safe, to a release that knows no runs: no copy waits, and nothing is left to delete.\nIt stays so with LAYOVER_RUNS=off.\n")
	}
	return b.String()
}

// advice says what to do before a downgrade.
func (v *verdict) advice(now time.Time) string {
	text := "Set LAYOVER_RUNS=off on all instances: nothing more is moved then. Let them run"
	switch {
	case v.waiting == 0:
		text += " for a minute"
	case v.latestMs > now.UnixMilli():
		text += " until " + instant(v.latestMs)
	default:
		text += ": all is due"
	}
	text += ". Then ask again.\n"
	if v.foreign+v.newer > 0 {
		text += "Copies of a newer release are delivered by that one. Those of others stay until somebody deletes them.\n"
	}
	return text
}
