package runs

import (
	"fmt"
	"math"
	"strings"
	"time"

	"layover/cli/process"
	"layover/offsets"
)

// instant returns Unix milliseconds as an instant.
func instant(ms int64) string { return process.Clock(time.UnixMilli(ms)) }

// text describes a partition.
func (p *partition) text(f *findings) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, "  "+format+"\n", args...) }
	switch {
	case f.absent != nil:
		fmt.Fprintf(&b, "%s: no runs: %v; %s\n", p, f.absent, p.commit(f))
	case f.empty():
		fmt.Fprintf(&b, "%s: runs %s/%d is empty, log end %d; %s\n", p, p.runs.Topic, p.Partition, f.log.End, p.commit(f))
	default:
		fmt.Fprintf(&b, "%s: runs %s/%d, log start %d, end %d\n  %s\n", p, p.runs.Topic, p.Partition, f.log.Start, f.log.End, p.commit(f))
		f.sayWaiting(line)
		p.sayOrphan(f, line)
	}
	f.sayFaults(line)
	return b.String()
}

// sayWaiting says what waits, and what is finished.
func (f *findings) sayWaiting(line func(string, ...any)) {
	most := ""
	if !f.exact {
		most = "at most "
	}
	switch {
	case f.copies > 0:
		line("%s%s: %s in %s of %s, due from %s to %s", most, waiting(f.copies), process.Count(f.bytes, "byte"),
			process.Count(int64(len(f.runs)), "run"), process.Count(int64(f.writers()), "writer"), instant(f.earliestMs), instant(f.latestMs))
		line("due within an hour: %s%s, a day: %s, a week: %s", most, process.Grouped(f.within[0]), process.Grouped(f.within[1]), process.Grouped(f.within[2]))
	case f.unread == nil:
		line("no copy waits")
	}
	if f.finished > 0 {
		line("finished and not deleted: %s", process.Count(f.finished, "offset"))
	}
}

// sayOrphan says that nobody is assigned what waits, and what to do.
func (p *partition) sayOrphan(f *findings, line func(string, ...any)) {
	switch {
	case !p.orphan, f.copies == 0 && f.unread == nil:
	case p.ingressHas == 0:
		line("the ingress topic does not exist: after a rejoin or a restart nobody is assigned these, and they wait until it is made again")
	default:
		line("the ingress topic has %s: nobody is assigned these, and they wait until it has %d: kafka-topics.sh --bootstrap-server $KAFKA_BROKERS --alter --topic %s --partitions %d",
			partitions(int64(p.ingressHas)), p.Partition+1, p.Topic, p.Partition+1)
	}
}

// sayFaults says what is not as it should be.
func (f *findings) sayFaults(line func(string, ...any)) {
	if f.lost > 0 {
		line("gone, and not finished: %s, each of which may have been a copy", process.Count(f.lost, "offset"))
	}
	if f.directory != nil {
		line("the directory that the commit names is not used, and all is read instead: %v", f.directory)
	}
	if f.journal != nil {
		line("the journal misses finished copies, which may count as waiting: %v", f.journal)
	}
	if n := f.hidden(); n > 0 {
		line("behind an open transaction, and not read: %s from %d on", process.Count(n, "offset"), f.stable)
	}
	for _, kind := range []struct {
		n    int64
		what string
	}{
		{f.foreign, "copies of another group, topic or cluster, or of a newer release, which never become due here: %s"},
		{f.newer, "copies of a newer release, which that one delivers: %s"},
		{f.damaged, "damaged records, which count as lost: %s"},
		{f.strange, "records of strangers, which do not matter: %s"},
	} {
		if kind.n > 0 {
			line(kind.what, process.Grouped(kind.n))
		}
	}
}

// waiting is a number of copies that wait.
func waiting(n int64) string {
	if n == 1 {
		return "1 copy waits"
	}
	return process.Grouped(n) + " copies wait"
}

// commit describes what the group's commit says of runs.
func (p *partition) commit(f *findings) string {
	switch {
	case p.committed == nil:
		return "commit: none"
	case p.unsaid != nil:
		return fmt.Sprintf("commit: offset %d, metadata that does not count: %v", p.committed.Offset, p.unsaid)
	case p.said.IsZero():
		return "commit: says nothing of runs"
	}
	text := "commit: " + p.saying(f)
	if p.said.Holds {
		text += "; an older release must not read the partition"
	}
	return text
}

// dueBy returns the instant by which all copies below the known end are finished, "" for all of
// them that ever become due.
func dueBy(r *offsets.RunsState) string {
	if r.DueMs >= math.MaxInt64-1 || r.Low == r.Known {
		return ""
	}
	return instant(r.DueMs)
}

// saying describes the state of runs in a commit.
func (p *partition) saying(f *findings) string {
	r := &p.said
	if r.TopicID == (offsets.TopicID{}) {
		return "what it says of runs cannot be read"
	}
	text := fmt.Sprintf("low offset %d, known end %d", r.Low, r.Known)
	if by := dueBy(r); by != "" {
		text += ", below which all is finished that is due by " + by
	} else if r.Low < r.Known {
		text += ", below which all is finished that ever becomes due"
	}
	if r.DirectoryEnd > 0 {
		text += fmt.Sprintf(", directory at %d", r.DirectoryEnd-1)
	} else {
		text += ", no directory"
	}
	text += fmt.Sprintf(", leader epoch %d", r.LeaderEpoch)
	if f.absent == nil && r.TopicID != f.topic {
		text += fmt.Sprintf(", of a runs topic that is gone, with id %x", r.TopicID)
	}
	return text
}
