package daemon

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"layover/journal/runs"
	"layover/purgatory"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// archive is what the brokers have of the runs topic, and how often they were asked for it.
type archive struct {
	w       *fixture
	id      runs.Identity
	fetches atomic.Int64
}

func (w *fixture) archive() *archive {
	w.Helper()
	a := &archive{w: w}
	brokers, err := w.Admin().BrokerMetadata(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	a.id.Owner = runs.OwnerOf(brokers.Cluster, "layover-"+ingress, ingress)
	w.Answer(kmsg.Fetch, func(r kmsg.Request) kmsg.Response {
		t := w.Broker.TopicInfo(runsTopic)
		for _, of := range r.(*kmsg.FetchRequest).Topics {
			if t != nil && of.TopicID == t.TopicID {
				a.fetches.Add(1)
			}
		}
		return nil
	})
	return a
}

// copied are copies in a runs partition, or in all.
type copied struct {
	n, others, bytes int // others: directories
	runs             int
	next             time.Time
}

func (c *copied) add(o copied) {
	c.n, c.others, c.bytes, c.runs = c.n+o.n, c.others+o.others, c.bytes+o.bytes, c.runs+o.runs
	if c.next.IsZero() || !o.next.IsZero() && o.next.Before(c.next) {
		c.next = o.next
	}
}

// look reads all that is there, by partition. All of it waits, or nothing does.
func (a *archive) look() (all [2]copied) {
	a.w.Helper()
	names := make(map[string]bool)
	for _, r := range a.w.Records(runsTopic) {
		id, c := a.id, &all[r.Partition]
		id.Partition = r.Partition
		is, own, err := runs.ReadCopy(id, r.Key, r.Value, r.Headers)
		if err != nil {
			c.others++
			continue
		}
		one := copied{n: 1, bytes: len(r.Key) + len(r.Value), next: time.UnixMilli(is.DeadlineMs)}
		for _, h := range own {
			one.bytes += len(h.Key) + len(h.Value)
		}
		if name := fmt.Sprint(r.Partition, is.Writer, is.Run); !names[name] {
			names[name], one.runs = true, 1
		}
		c.add(one)
	}
	return all
}

// deleted reports whether the topic begins where it ends.
func (a *archive) deleted() bool {
	for _, p := range a.w.Broker.PartitionInfos(runsTopic) {
		if p.LogStartOffset < p.HighWatermark {
			return false
		}
	}
	return true
}

// waiting are the numbers of copies that wait.
func waiting(all [2]copied) expected {
	e := expected{".runs.topics[#]": 1, ".runs.partitions[#]": 2}
	var sum copied
	bytes := func(c copied, records int) any {
		if c.n == 0 {
			return 0
		}
		return between(float64(c.bytes)/float64(c.n)*float64(records), float64(c.bytes)/float64(c.n)*float64(records)+150*float64(records))
	}
	for p, c := range all {
		at := fmt.Sprintf(".runs.partitions[%s/%d].", ingress, p)
		e[at+"topic"], e[at+"partition"], e[at+"copies"], e[at+"bytes"], e[at+"log_bytes"], e[at+"runs"], e[at+"overdue"], e[at+"full"] = ingress, p, c.n, bytes(c, c.n), bytes(c, c.n+c.others), c.runs, 0, false
		sum.add(c)
	}
	live, log := bytes(sum, sum.n), bytes(sum, sum.n+sum.others)
	for _, at := range []string{".runs.", ".runs.topics[" + ingress + "]."} {
		e[at+"records"], e[at+"bytes"], e[at+"log_bytes"], e[at+"runs"] = sum.n, live, log, sum.runs
	}
	e[m("runs_records", "topic", ingress)], e[m("runs_bytes", "topic", ingress)], e[m("runs_log_bytes", "topic", ingress)], e[m("runs_runs", "topic", ingress)] = sum.n, live, log, sum.runs
	e.instant(".runs.next_due", sum.next)
	return e
}

// together is how many copies all partitions have.
func together(all [2]copied) (n int) { return all[0].n + all[1].n }

// ways are the numbers of records that were moved and read back.
func ways(moved, loaded, moving any) expected {
	return expected{
		"layover_runs_moved_records_total": moved, ".runs.moved": moved, "layover_runs_loaded_records_total": loaded, ".runs.loaded": loaded,
		"layover_runs_moving_records": moving, ".runs.moving": moving, ".counters.unaccounted": 0,
	}
}

// lateness are the numbers of visits that came late.
func lateVisits(n, last any) expected {
	return expected{"layover_runs_late_visits_total": n, ".runs.late_visits": n, ".runs.last_late_visit": last}
}

// visited are the numbers of visits.
func visited(n any) expected {
	e := expected{"layover_runs_visits_total": n, ".runs.visits": n, "layover_runs_visit_duration_seconds_count": n, m("runs_visit_duration_seconds_bucket", "le", "+Inf"): n, ".runs.visit_p99_ms": nil}
	if n != 0 {
		e[".runs.visit_p99_ms"] = between(1, 50)
	}
	return e
}

// pace are how far off moves begin, and how long before they are due copies are read, in seconds.
func pace(horizon, ahead any) expected {
	return expected{"layover_runs_horizon_seconds": horizon, ".runs.horizon_seconds": horizon, "layover_runs_read_ahead_seconds": ahead, ".runs.read_ahead_seconds": ahead}
}

// moves are the numbers of an ingress topic whose records can be moved, or not, and why.
func moves(reason string, state, warning, fault, text any) expected {
	at := ".runs.topics[" + ingress + "]."
	usable := 0
	if reason == "" {
		usable = 1
	}
	return expected{
		m("runs_usable", "topic", ingress): usable, at + "usable": reason == "", at + "reason": reason, at + "state": state, at + "warning": warning, at + "error": fault, at + "text": text,
		at + "ingress": ingress, at + "name": runsTopic,
	}
}

// movable are those of one of which records are moved.
func movable() expected { return moves("", "usable", "", "", "") }

// dueIn are the numbers of what is due, from deadlines in memory and in runs.
func dueIn(deadlines []time.Time) expected {
	e, now := make(expected), time.Now()
	var within [len(purgatory.Horizons)]int
	var next, last time.Time
	for _, d := range deadlines {
		for i, ms := range purgatory.Horizons {
			if d.Sub(now) <= time.Duration(ms)*time.Millisecond {
				within[i]++
			}
		}
		if next.IsZero() || d.Before(next) {
			next = d
		}
		if d.After(last) {
			last = d
		}
	}
	e.instant(".next_due", next)
	e.instant("layover_next_due_timestamp_seconds", next)
	e.instant(".furthest_deadline", last)
	e.instant(m("furthest_deadline_timestamp_seconds", "topic", ingress), last)
	for i, ms := range purgatory.Horizons {
		e[m("parked_records_due_within", "seconds", ms/1000)], e[fmt.Sprintf(".due_within[%d].records", ms/1000)] = within[i], within[i]
	}
	e[`layover_parked_records_due_within{seconds="+Inf"}`] = len(deadlines)
	return e
}

// flood sends n records of a kilobyte each, the first due after a delay, the others every so often
// behind it. It returns their deadlines.
func (w *fixture) flood(n int, delay, every time.Duration) (deadlines []time.Time) {
	w.Helper()
	now := time.Now()
	records := make([]*kgo.Record, n)
	for i := range records {
		due := now.Add(delay + time.Duration(i)*every)
		deadlines = append(deadlines, due)
		value := fmt.Sprintf("%d %d %s", now.UnixMilli(), i, strings.Repeat("x", 1000))
		records[i] = &kgo.Record{Topic: ingress, Partition: int32(i % 2), Value: []byte(value), Timestamp: now, Headers: []kgo.RecordHeader{header("x-deliver-at", fmt.Sprint(due.UnixMilli()))}}
	}
	w.Produce(records...)
	return deadlines
}

// TestNumbersOfRuns: memory holds a part of what waits. The rest is moved, and read back.
func TestNumbersOfRuns(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		const flood, more = 2400, 800
		archive := w.archive()
		in := w.start("LAYOVER_MAX_PARKED_BYTES=8Mi")
		in.ready()
		time.Sleep(20 * time.Second)
		n := w.beside(in)
		none := [2]copied{}
		rest := expected{".duplicates_after_a_kill.moving": 0, part(ingress, 0, "duplicates_after_a_kill.moving"): 0, part(ingress, 1, "duplicates_after_a_kill.moving"): 0}
		n.some("nothing waits", of(well(), movable(), rest, waiting(none), ways(0, 0, 0), visited(0), lateVisits(0, nil), pace(3600, 600), dueIn(nil)))
		moved, visits := 0, 0
		rounds := 1
		if long.Whole() {
			rounds = 2
		}
		for range rounds {
			deadlines := w.flood(flood, 3*time.Hour, 20*time.Millisecond)
			time.Sleep(20 * time.Second)
			there := archive.look()
			n.some("some are moved", of(well(), movable(), rest, waiting(there), ways(moved+together(there), moved, 0), visited(visits), lateVisits(0, nil), pace(3600, 600), dueIn(deadlines)))
			silent, began := w.silence(runsTopic), time.Now()
			deadlines = append(deadlines, w.flood(more, 4*time.Hour, time.Millisecond)...)
			time.Sleep(15 * time.Second)
			failing, first := has("has not answered for"), by(began.Add(time.Second), time.Second) // a copy that stays on its way
			// What is on its way to a silent partition keeps its memory, so the horizon may be nearer.
			n.some("some are on their way", of(sick(ailment{"runs", runsTopic, "failing", nil, first, failing}), moves("failing", "usable", "", failing, has("takes no copies: partition")), waiting(there),
				ways(moved+together(there), moved, between(1, flood)), pace(between(60, 3600), between(2, 600)), dueIn(deadlines), expected{".runs.next_due": there[0].next,
					".duplicates_after_a_kill.moving": between(1, 10_000), part(ingress, 0, "duplicates_after_a_kill.moving"): between(1, 10_000), m("sick_since_timestamp_seconds", "kind", "runs"): first,
				}))
			silent.Remove()
			time.Sleep(20 * time.Second)
			there = archive.look()
			n.some("they have arrived", of(well(), movable(), rest, waiting(there), ways(moved+together(there), moved, 0), pace(3600, 600), dueIn(deadlines)))
			time.Sleep(time.Until(deadlines[0]) - 3*time.Second) // by now all were moved: ingress need not keep what is an hour old
			moved += flood + more
			n.some("they are read back", of(ways(moved, between(1, float64(moved)), 0), pace(3600, between(2, 590))))
			time.Sleep(2 * time.Hour)
			visits = int(in.at("runs", "visits").(float64))
			if asked := int(archive.fetches.Load()); visits == 0 || visits > asked {
				t.Errorf("%d visits, and the broker was asked %d times", visits, asked)
			}
			n.some("all are delivered", of(well(), movable(), rest, waiting(none), ways(moved, moved, 0), visited(visits), lateVisits(0, nil), pace(3600, 600), dueIn(nil)))
			if !archive.deleted() {
				t.Error("copies are in the topic that nobody needs")
			}
		}
		n.some("nothing happens", of(waiting(none), ways(moved, moved, 0), visited(visits), lateVisits(0, nil)))
		n.done("runs")
		in.stop()
		if got := w.count(egress); got != moved {
			t.Errorf("%d records were delivered, want %d", got, moved)
		}
	})
}
