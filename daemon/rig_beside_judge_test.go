package daemon

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"layover/verify"
	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kgo"
)

// delivered is one delivery of a record, or its dead letter.
type delivered struct {
	at   thing
	seen time.Time // when a broker was first seen to have it
	said time.Time // its own timestamp
}

// judge reads what Kafka holds in the end.
func (b *beside) judge() {
	b.mu.Lock()
	defer b.mu.Unlock()
	byValue := make(map[string]*wanted)
	for _, w := range b.sent {
		byValue[w.value] = w
	}
	var arrived []verify.Record
	for _, topic := range slices.Concat(sickTargets(), wideTargets(), []string{egress, dlq}) {
		for _, k := range b.Records(topic) {
			x, a := thing{topic, k.Partition}, kafkatest.Arrived(k)
			if b.plan.bad && get(k, "layover.errors.reason") == "too_large_to_read" { // of the batch that cannot be read
				continue
			}
			a.Received = b.seen(x, k)
			arrived = append(arrived, a)
			if w := byValue[string(k.Value)]; w != nil {
				w.delivered = append(w.delivered, delivered{at: x, seen: a.Received, said: k.Timestamp})
			}
		}
	}
	b.ledger.MayRepeatAny(len(arrived)) // kills and evictions have no bound here
	if err := verify.Check(b.ledger, arrived).Err(); err != nil {
		b.fault("%v", err)
	}
	for _, w := range b.sent {
		b.sum.records++
		b.judgeOne(w)
	}
}

// seen returns when a record was first seen in a target.
func (b *beside) seen(x thing, k *kgo.Record) time.Time {
	for _, e := range b.ends[x] {
		if e.end > k.Offset {
			return e.at
		}
	}
	return time.Now()
}

func (b *beside) judgeOne(w *wanted) {
	if w.acked.IsZero() || w.gone || w.unread(b.plan) {
		if w.healthy() {
			b.fault("%s could not be sent to %v, which is healthy", w.value, w.from)
		}
		b.sum.excused++
		return
	}
	if len(w.delivered) == 0 {
		return // it is lost, as the checker says
	}
	first := w.delivered[0].seen
	for _, d := range w.delivered {
		if d.at != w.to {
			b.fault("%s from %v came to %v, want %v", w.value, w.from, d.at, w.to)
		}
		if d.seen.Before(first) {
			first = d.seen
		}
	}
	b.judgeTime(w, first)
}

// judgeTime: a record is delivered within five seconds of its deadline, and of the time
// from which on it could be delivered. From then on nothing that it needs is sick, and
// its ingress partition has an owner.
//
// Reading and delivering have a time each. A parked record needs its target and its owner
// alone. It needs to be read when it was sent, and whenever its partition has another
// owner.
func (b *beside) judgeTime(w *wanted, came time.Time) {
	lapses := b.shares.lapses[w.from]
	reading := slices.Concat(lapses, b.spells(w.from), b.spells(whole(w.from.topic)), b.spells(whole(dlq)), b.shares.changed)
	delivering := slices.Concat(b.spells(w.to), b.spells(whole(w.to.topic)))
	read := past(w.acked, reading)
	at := later(w.due, read)
	for again := true; again; {
		var l period
		at = past(at, delivering)
		if l, again = lapsedWithin(lapses, read, at.Add(promised)); again {
			read = past(l.to, reading)
			at = later(at, read)
		}
	}
	late := came.Sub(at)
	excused := at.After(later(w.due, w.acked))
	switch {
	case w.healthy():
		b.sum.judge(&b.sum.healthy, late, excused)
	default:
		b.sum.judge(&b.sum.others, late, excused)
	}
	if late > promised+besideTick {
		b.fault("%s from %v to %v came at %v, says %v, due at %v, sent at %v: %v after it could have been, at %v", w.value, w.from, w.to,
			came.Sub(b.begun), w.delivered[0].said.Sub(b.begun), w.due.Sub(b.begun), w.acked.Sub(b.begun), late, at.Sub(b.begun))
	}
}

// past returns the end of the last period that what takes up to five seconds, and begins
// anew when it is disturbed, runs into.
func past(at time.Time, periods []period) time.Time {
	for {
		p, is := overdue(at, periods)
		if !is {
			return at
		}
		at = p.to
	}
}

// lapsedWithin returns the first of some periods that has not ended at a time, and begins
// before another.
func lapsedWithin(lapses []period, from, to time.Time) (period, bool) {
	i := slices.IndexFunc(lapses, func(l period) bool { return l.to.After(from) && l.from.Before(to) })
	if i < 0 {
		return period{}, false
	}
	return lapses[i], true
}

// besideSums is what happened in a run, or in several.
type besideSums struct {
	virtual, real                            time.Duration
	starts, stops, kills, unplugged, evicted int
	records, excused                         int
	healthy, others                          lateness
	probes, degraded, paused                 int
	ills                                     map[string]int
}

// lateness is how late records were, and how many of them were excused for a while.
type lateness struct {
	records, excused int
	worst            time.Duration
}

func (s *besideSums) judge(l *lateness, late time.Duration, excused bool) {
	l.records++
	l.worst = max(l.worst, late)
	if excused {
		l.excused++
	}
}

func (s *besideSums) ill(name string) {
	if s.ills == nil {
		s.ills = make(map[string]int)
	}
	s.ills[name]++
}

func (s *besideSums) add(o *besideSums) {
	s.virtual += o.virtual
	s.real += o.real
	s.starts, s.stops, s.kills, s.unplugged, s.evicted = s.starts+o.starts, s.stops+o.stops, s.kills+o.kills, s.unplugged+o.unplugged, s.evicted+o.evicted
	s.records, s.excused = s.records+o.records, s.excused+o.excused
	s.probes, s.degraded, s.paused = s.probes+o.probes, s.degraded+o.degraded, s.paused+o.paused
	for _, of := range []struct{ to, from *lateness }{{&s.healthy, &o.healthy}, {&s.others, &o.others}} {
		of.to.records += of.from.records
		of.to.excused += of.from.excused
		of.to.worst = max(of.to.worst, of.from.worst)
	}
	for name, n := range o.ills {
		for range n {
			s.ill(name)
		}
	}
}

func (s *besideSums) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%.1f virtual hours in %v; %d starts, %d stops, %d kills, %d times off the network, %d thrown out\n",
		s.virtual.Hours(), s.real.Round(10*time.Millisecond), s.starts, s.stops, s.kills, s.unplugged, s.evicted)
	fmt.Fprintf(&out, "%d records; %d of them healthy, %d of those through a rebalance, at most %v late; %d of what was sick and healed, at most %v late; %d not judged\n",
		s.records, s.healthy.records, s.healthy.excused, s.healthy.worst, s.others.records, s.others.worst, s.excused)
	fmt.Fprintf(&out, "%d looks at probes, %d of them degraded, %d while reading was paused", s.probes, s.degraded, s.paused)
	for _, name := range slices.Sorted(maps.Keys(s.ills)) {
		fmt.Fprintf(&out, "\n%5d %s", s.ills[name], name)
	}
	return out.String()
}

// complain fails the test where, with many seeds, something never happened.
func (s *besideSums) complain(t *testing.T, seeds int) {
	t.Helper()
	if seeds < enough {
		return
	}
	for _, i := range ills() {
		if s.ills[i.name] == 0 {
			t.Errorf("in %d seeds there never was %s", seeds, i.name)
		}
	}
	for what, n := range map[string]int{"pause": s.paused, "degraded probe": s.degraded, "healthy record in a rebalance": s.healthy.excused, "eviction": s.evicted, "kill": s.kills} {
		if n == 0 {
			t.Errorf("in %d seeds there was no %s", seeds, what)
		}
	}
}

// open says what still stands between the group and the end of the ingress topics. It also
// says what is not as it was before anything fell sick. It returns "" for nothing.
func (b *beside) open() string {
	g := b.Broker.GroupInfo(group)
	if g == nil {
		return "there is no group"
	}
	var open []string
	for _, topic := range []string{ingress, second} {
		for _, p := range b.Broker.PartitionInfos(topic) {
			if c := g.Commits[topic][p.Partition]; c.Offset != p.HighWatermark && !(b.plan.bad && topic == ingress && p.Partition == unreadable) {
				open = append(open, fmt.Sprintf("%s/%d is committed at %d of %d", topic, p.Partition, c.Offset, p.HighWatermark))
			}
		}
	}
	for _, l := range b.slots {
		if l != nil {
			open = append(open, b.openIn(l)...)
		}
	}
	return strings.Join(open, "\n")
}

// openIn says the same of one instance. Where a batch could not be read its partition may
// be sick to the end, and nothing else.
func (b *beside) openIn(l *life) (open []string) {
	s := l.status()
	parked, _ := s["parked"].(map[string]any)["records"].(float64) // null: it has no partitions
	held := s["held"].([]any)
	if parked != 0 || len(held) != 0 {
		open = append(open, fmt.Sprintf("%s has %v parked and holds %v", l.id, parked, held))
	}
	sick := slices.DeleteFunc(l.sick(), func(text string) bool {
		return b.plan.bad && strings.HasPrefix(text, fmt.Sprintf("partition %s/%d ", ingress, unreadable))
	})
	if len(sick) > 0 {
		open = append(open, fmt.Sprintf("%s says that sick is %q", l.id, sick))
	}
	if code, body := l.get("/readyz"); code != 200 || body != "ready\n" && !b.plan.bad {
		open = append(open, fmt.Sprintf("%s says %d %q", l.id, code, body))
	}
	return open
}
