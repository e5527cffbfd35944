package daemon

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"layover/verify"
)

// repeats finds the ids of what was repeated in a report.
var repeats = regexp.MustCompile(`(\S+), of \S+, (?:came \d+ times|has \d+ events)`)

// judge compares what arrived with what was sent.
func (r *rig) judge() {
	var all []arrival
	all = append(all, r.archive...)
	for _, topic := range []string{egress, other, late, small, dlq, events} {
		all = append(all, r.read(topic)...)
	}
	r.judgeStamps(all)
	everything := all
	all, said := r.splitEvents(all)
	r.readComplaints()
	r.retracted()
	r.mu.Lock()
	r.allowRepeats(all)
	r.mu.Unlock()
	r.judgeTimers(all, said)
	records := make([]verify.Record, len(everything))
	for i, a := range everything {
		records[i] = a.Record
		records[i].Offered, records[i].Timestamp = r.happened(&everything[i]), r.decided(&everything[i])
	}
	if !r.plan.roomy() { // what lies beyond the part of a set that fits is not committed
		r.ledger.MayRepeatAny(len(records))
	}
	if !r.recreated { // a partition and an offset name no single record then
		r.premature(all, said)
		r.saidBefore(all)
		r.unsaid(all)
	}
	report := verify.Check(r.ledger, records)
	r.sum.take(report, time.Since(r.begun))
	if report.Err() == nil && len(r.faults) == 0 {
		r.Logf("%v\n%v\n%v", r.plan, report, r.sum)
		return
	}
	r.Errorf("%v\n%s\n%v\n%s", r.plan, strings.Join(r.timeline, "\n"), report, strings.Join(r.faults, "\n"))
	for _, repeated := range repeats.FindAllStringSubmatch(report.String(), -1) {
		r.Log(r.historyOf(repeated[1], everything, said))
	}
}

// arrival is a record of a target or dead-letter topic with the topic's id.
type arrival struct {
	verify.Record
	topic   [16]byte
	offered time.Time // see judgeStamps
}

// delivery returns what the rig saw of an arrival's delivery, nil for nothing. Callers
// hold mu.
func (r *rig) delivery(a *arrival) *made { return r.made[logPlace{a.topic, a.Partition, a.Offset}] }

// assignment returns the one in which a record was offered, nil where that is not known.
func (m *made) assignment(partition int32, offered time.Time) (in *assignment) {
	if m == nil {
		return nil
	}
	for _, own := range m.by.assignments[partition] {
		if !own.begun.Truncate(time.Millisecond).After(offered) { // which is in whole milliseconds
			in = own
		}
	}
	return in
}

// taken returns when the last of n different commits was sent that say what was heard.
// Only commits that were taken count. The time is zero where there are fewer. The first
// commit may have been built before, and the second queued behind the first by the end of
// the assignment.
func (own *assignment) taken(heard time.Time, n int) time.Time {
	last := ""
	for _, c := range own.commits {
		if c.sent.After(heard) && c.content != last {
			if n--; n == 0 {
				return c.sent
			}
			last = c.content
		}
	}
	return time.Time{}
}

// allowRepeats tells the ledger which records may have come more than once. Some have a
// delivery that nobody can have committed. Others are delivered by a partition that was
// begun without all of its journal. Callers hold mu.
func (r *rig) allowRepeats(all []arrival) {
	if r.plan.quiet {
		return
	}
	copied := r.firstCopies()
	for i := range all {
		o := origin(all[i].Record)
		switch isCopied := !copied[o].IsZero(); {
		case !r.settled(&all[i], o) || isCopied && !r.settledAsCopy(&all[i], o):
			r.ledger.MayRepeat(o.id, 1)
		case isCopied:
			r.sum.settled++
		}
	}
	r.allowCopies()
}

// settled says whether everybody who came after an arrival knew that it had finished a
// record. Callers hold mu.
func (r *rig) settled(a *arrival, o source) bool {
	m := r.delivery(a)
	in := m.assignment(o.partition, a.offered)
	switch {
	case in == nil || m.heard.IsZero() || in.complained || r.begunStale(o.partition, m.heard):
		return false
	case r.plan.metadata == 0 && !r.plan.dense: // whatever is finished fits into the commits
		return !in.taken(m.heard, 3).IsZero()
	case r.recreated || r.truncations.ambiguous(o.partition, o.offset): // partition and offset do not tell of which topic
		return false
	}
	return !in.taken(m.heard, 1).IsZero() && r.keptSaid(o, a.offered)
}

// keptSaid says whether all assignments that began after a delivery could know of it.
// Callers hold mu.
func (r *rig) keptSaid(o source, offered time.Time) bool {
	said := r.said[logPlace{topic: r.ingressID, partition: o.partition}]
	for _, own := range r.assignments[o.partition] {
		if own.begun.After(offered) && !said.at(o.offset, own.asked) {
			return false
		}
	}
	return true
}

// saidBefore finds records that came although the commit that their assignment began with,
// and the journal, said that they had.
func (r *rig) saidBefore(all []arrival) {
	r.mu.Lock()
	copied := r.firstCopies()
	r.mu.Unlock()
	for i := range all {
		a := &all[i]
		o := origin(a.Record)
		if from := copied[o]; !from.IsZero() && from.Before(a.offered) { // a copy finishes the record, and is delivered
			continue
		}
		r.mu.Lock()
		in := r.delivery(a).assignment(o.partition, a.offered)
		again := in != nil && !in.complained && !r.truncations.ambiguous(o.partition, o.offset) && !r.stale(o.partition, in.asked) && r.said[logPlace{topic: r.ingressID, partition: o.partition}].at(o.offset, in.asked)
		r.mu.Unlock()
		if again {
			r.fault("offset %d of partition %d, %s, came at %v in an assignment that began at %v, when it was said to be finished",
				o.offset, o.partition, o.id, a.offered.Sub(r.begun), in.asked.Sub(r.begun))
		}
	}
}

// unsaid finds records whose delivery nothing says, though all was calm and many commits
// of the assignment were taken.
func (r *rig) unsaid(all []arrival) {
	const commits = 6
	if !r.plan.roomy() {
		return
	}
	for i := range all {
		a := &all[i]
		o := origin(a.Record)
		r.mu.Lock()
		m := r.delivery(a)
		in := m.assignment(o.partition, a.offered)
		missed := false
		if in != nil && !m.heard.IsZero() && !r.truncations.ambiguous(o.partition, o.offset) {
			by := in.taken(m.heard, commits)
			if !by.IsZero() && r.calm(m.heard.Add(-recovery), by) {
				r.sum.journal.calm++
				missed = !r.said[logPlace{topic: r.ingressID, partition: o.partition}].by(o.offset, by.Add(time.Second))
			}
		}
		r.mu.Unlock()
		if missed {
			r.fault("offset %d of partition %d, %s, was delivered at %v, and after %d commits nothing said so", o.offset, o.partition, o.id, m.heard.Sub(r.begun), commits)
		}
	}
}

// premature finds records that were said to be finished before any broker had them
// anywhere: a kill in between would have lost them.
func (r *rig) premature(all []arrival, said []saidEvent) {
	r.mu.Lock()
	var found []string
	for o, at := range r.firstSeen(append(slices.Clone(all), r.copiesThere()...), said) {
		if r.truncations.ambiguous(o.partition, o.offset) || o.offset < r.gone[o.partition] { // what the log has lost may be gone over
			continue
		}
		place := logPlace{topic: r.ingressID, partition: o.partition}
		for _, c := range r.passed[place] {
			if c.low > o.offset {
				if c.at.Before(at) {
					found = append(found, fmt.Sprintf("offset %d of partition %d, %s, was committed %v before it was delivered", o.offset, o.partition, o.id, at.Sub(c.at)))
				}
				break
			}
		}
		if early := at.Add(-1); r.said[place].by(o.offset, early) {
			found = append(found, fmt.Sprintf("offset %d of partition %d, %s, was said to be finished at %v, before it was delivered at %v", o.offset, o.partition, o.id, r.said[place].first[o.offset].Sub(r.begun), at.Sub(r.begun)))
		}
	}
	r.mu.Unlock()
	for _, text := range found {
		r.fault("%s", text)
	}
}

// source is where a record that arrived says it comes from, and the ledger's id of it.
type source struct {
	id        string
	partition int32
	offset    int64
}

// origin returns where a record that arrived comes from.
func origin(a verify.Record) (o source) {
	for _, h := range a.Headers {
		n, _ := strconv.ParseInt(string(h.Value), 10, 64)
		switch h.Name {
		case verify.IDHeader:
			o.id = string(h.Value)
		case "layover-id":
			if parts := strings.Split(string(h.Value), "-"); len(parts) >= 3 {
				n, _ = strconv.ParseInt(parts[len(parts)-2], 10, 32)
				o.partition = int32(n)
				o.offset, _ = strconv.ParseInt(parts[len(parts)-1], 10, 64)
			}
		case "layover.errors.partition":
			o.partition = int32(n)
		case "layover.errors.offset":
			o.offset = n
		}
	}
	return o
}

// readComplaints notes which assignments began without all of their journal, by what their
// instances said. Without a reason that the rig knows of it is a fault.
func (r *rig) readComplaints() {
	for _, p := range r.everyone {
		for line := range strings.Lines(p.logs.String()) {
			if !strings.Contains(line, `msg="journal is incomplete`) {
				continue
			}
			at, err := time.Parse(time.RFC3339Nano, field(line, "time"))
			n, err2 := strconv.ParseInt(field(line, "partition"), 10, 32)
			if err != nil || err2 != nil {
				r.fault("cannot read %q", line)
				continue
			}
			r.complain(p, int32(n), at, line)
		}
	}
}

// retracted finds what was said, and was not any more, though every assignment had begun
// with all of its journal.
func (r *rig) retracted() {
	r.mu.Lock()
	found := slices.Clone(r.retractions)
	r.mu.Unlock()
	for _, x := range found {
		if !slices.ContainsFunc(r.complaints[x.partition], func(at time.Time) bool { return at.Before(x.at) }) {
			r.fault("%s", x.text)
		}
	}
}

// complain notes one complaint.
func (r *rig) complain(p *party, partition int32, at time.Time, line string) {
	r.mu.Lock()
	r.sum.journal.complaints++
	r.complaints[partition] = append(r.complaints[partition], at)
	for i, own := range p.assignments[partition] {
		if last := i+1 == len(p.assignments[partition]); !own.begun.Truncate(time.Millisecond).After(at) && (last || p.assignments[partition][i+1].begun.After(at)) {
			own.complained = true
		}
	}
	fine := r.harms > 0 || r.garbled.Load() || !r.calm(at.Add(-40*time.Second), at)
	r.mu.Unlock()
	if !fine {
		r.fault("there was no reason to complain: %s", line)
	}
}

// field returns the value of a key in a line of a log.
func field(line, key string) string {
	_, rest, _ := strings.Cut(line, key+"=")
	value, _, _ := strings.Cut(rest, " ")
	return value
}
