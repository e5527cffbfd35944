package daemon

import (
	"fmt"
	"testing"
	"time"

	"layover/journal/runs"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// older joins the group as a member of a release that knows no runs.
func (w *fixture) older() (leave func()) {
	w.Helper()
	member := w.NewClient(kgo.ConsumerGroup("layover-"+ingress), kgo.ConsumeTopics(ingress), kgo.Balancers(kgo.CooperativeStickyBalancer()), kgo.DisableAutoCommit())
	return func() {
		if err := member.LeaveGroupContext(w.Context()); err != nil {
			w.Error(err)
		}
		member.Close()
	}
}

// TestNumbersOfRunsThatTakeNothing: their topic is unsafe, it is gone and cannot be made, and a
// member of an older release is in the group. Then memory presses.
func TestNumbersOfRunsThatTakeNothing(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_MAX_PARKED_BYTES=8Mi")
		in.ready()
		time.Sleep(20 * time.Second)
		n := w.beside(in)
		idle := pace(3600, 600)
		n.some("all is well", of(well(), movable(), idle))
		w.alter(runsTopic, "retention.ms", "1000")
		time.Sleep(90 * time.Second)
		n.some("it may delete copies", of(well(), moves("refused", "refused", has("retention.ms=1000"), "", has("is not used: ", "retention.ms=1000", "docs/runs.md")), idle))
		w.alter(runsTopic, "retention.ms", "-1")
		time.Sleep(90 * time.Second)
		n.some("it keeps them again", of(well(), movable(), idle))
		no := w.Refuse(kmsg.CreateTopics, kfake.Fault{Err: kerr.TopicAuthorizationFailed})
		w.DeleteTopic(runsTopic)
		time.Sleep(30 * time.Second)
		n.some("it is gone", of(well(), moves("missing", "missing", has("Create"), has("TOPIC_AUTHORIZATION_FAILED"), has("does not exist, and cannot be made"))))
		no.Remove()
		time.Sleep(2 * time.Minute)
		n.some("it was made again", of(well(), movable(), idle))
		leave := w.older()
		time.Sleep(20 * time.Second)
		n.some("an older member is there", moves("older_member", "usable", "", "", has("Upgrade every member")))
		leave()
		time.Sleep(90 * time.Second)
		n.some("it has left", of(well(), movable(), idle))

		w.alter(runsTopic, "retention.ms", "1000")
		time.Sleep(90 * time.Second)
		refused := moves("refused", "refused", has("retention.ms=1000"), "", has("reading pauses once that is full"))
		before, after := 0.0, 0.0
		for in.pausedFor() == "" {
			before = after
			w.flood(100, 4*time.Hour, 0)
			time.Sleep(time.Second)
			after = in.at("parked", "memory").(float64)
		}
		n.some("memory is full", of(sick(ailment{"runs", runsTopic, "refused", nil, nil, has("is not used: ")}), refused, pace(between(60, 600), between(2, 300)), expected{
			".state": "degraded, paused", ".parked.pause_at": between(before, after), "layover_intake_pause_bytes": between(before, after)}))
		w.alter(runsTopic, "retention.ms", "-1")
		time.Sleep(2 * time.Minute)
		n.some("it has room again", of(well(), movable(), idle))
		n.done("unusable-runs")
		in.stop()
	})
}

// TestNumbersOfRunsThatAreOff: there is no series, and nothing is sick.
func TestNumbersOfRunsThatAreOff(t *testing.T) {
	for _, setting := range []string{"LAYOVER_RUNS=off", "LAYOVER_JOURNAL=off"} {
		inBubble(t, func(w *fixture) {
			in := w.start("LAYOVER_MAX_PARKED_BYTES=8Mi", setting)
			in.ready()
			n := w.beside(in)
			off := of(moves("off", "missing", "", "", has("because of "+setting)), expected{m("runs_usable", "topic", ingress): gone, ".runs.records": nil})
			n.some("nothing waits", of(well(), off))
			for in.pausedFor() == "" {
				w.flood(200, 4*time.Hour, 0)
				time.Sleep(time.Second)
			}
			n.some("memory is full", of(off, ways(0, 0, 0), expected{".sick[#]": 0, ".state": "paused"}))
			in.stop()
		})
	}
}

// TestNumbersOfCopiesThatAreReadLate: their topic cannot be read from before they are due on.
func TestNumbersOfCopiesThatAreReadLate(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		archive := w.archive()
		in := w.start("LAYOVER_MAX_PARKED_BYTES=8Mi")
		in.ready()
		n := w.beside(in)
		overdue := func(v any) expected {
			return expected{"layover_overdue_records": v, ".overdue": v, fmt.Sprintf(".runs.partitions[%s/0].overdue", ingress): v}
		}
		visits := 0.0
		for range 2 {
			deadlines := w.flood(2400, 3*time.Hour, 20*time.Millisecond)
			first := deadlines[0]
			time.Sleep(2 * time.Hour)
			late := in.at("runs", "late_visits").(float64)
			n.some("all wait", of(well(), movable(), overdue(0), expected{"layover_runs_late_visits_total": late, ".oldest_overdue": nil, "layover_oldest_overdue_timestamp_seconds": 0}))
			unread := w.Refuse(kmsg.Fetch, kfake.Fault{Topic: runsTopic, Err: kerr.UnknownServerError})
			time.Sleep(time.Until(first) + 10*time.Second)
			n.some("some are due", of(sick(ailment{"runs", runsTopic, "unread", nil, by(first, 20*time.Second), has("copies are due in the runs topic "+runsTopic, "UNKNOWN_SERVER_ERROR")}),
				moves("", "usable", "", has("is not read: ", "UNKNOWN_SERVER_ERROR"), ""), expected{
					".overdue": between(400, 700), "layover_overdue_records": between(400, 700), fmt.Sprintf(".runs.partitions[%s/0].overdue", ingress): between(200, 350),
					".oldest_overdue": by(first, time.Second), "layover_oldest_overdue_timestamp_seconds": by(first, time.Second),
				}))
			if v := in.at("runs", "visits").(float64); v <= visits {
				t.Errorf("%v visits, as before", v)
			}
			unread.Remove()
			mended := time.Now()
			time.Sleep(10 * time.Second)
			n.some("they are read", of(expected{"layover_runs_late_visits_total": between(late+1, late+100), ".runs.late_visits": between(late+1, late+100),
				".runs.last_late_visit": by(mended.Add(8*time.Second), 8*time.Second), ".degraded": true, ".ready_text": has("copies are read late from runs: "), ".sick[#]": 0}))
			time.Sleep(5 * time.Minute)
			visits = in.at("runs", "visits").(float64)
			if asked := float64(archive.fetches.Load()); visits > asked {
				t.Errorf("%v visits, and the broker was asked %v times", visits, asked)
			}
		}
		late := in.at("runs", "late_visits")
		for _, when := range []string{"all is delivered", "nothing happens"} {
			n.some(when, of(well(), movable(), overdue(0), expected{"layover_runs_late_visits_total": late, ".runs.late_visits": late}))
		}
		n.done("late-runs")
		in.stop()
		if got := w.count(egress); got != 4800 {
			t.Errorf("%d records were delivered, want 4800", got)
		}
	})
}

// TestNumbersOfCopiesThatAreLost: somebody deletes the topic that they are in.
func TestNumbersOfCopiesThatAreLost(t *testing.T) {
	inBubble(t, func(w *fixture) {
		archive := w.archive()
		in := w.start("LAYOVER_MAX_PARKED_BYTES=8Mi")
		in.ready()
		n := w.beside(in)
		lost := func(v any) expected {
			return expected{"layover_lost_from_runs_records_total": v, ".runs.lost": v}
		}
		n.some("nothing is lost", lost(0))
		w.flood(2400, 3*time.Hour, 20*time.Millisecond)
		time.Sleep(20 * time.Second)
		gone := together(archive.look())
		n.some("some are moved", of(lost(0), waiting(archive.look())))
		w.DeleteTopic(runsTopic)
		time.Sleep(90 * time.Second)
		for _, when := range []string{"they are gone", "nothing happens"} {
			n.some(when, of(lost(gone), waiting([2]copied{}), movable(), expected{".counters.unaccounted": 0}))
		}
		n.done("lost-runs")
		in.stop()
	})
}

// plant writes copies of another owner's runs, one each, into partition 0 of the runs topic.
func (a *archive) plant(n int, deadline func(i int) time.Time) {
	a.w.Helper()
	var all []*kgo.Record
	for i := range n {
		value := fmt.Appendf(nil, "planted %d", i)
		c := runs.Copy{Origin: runs.Origin{TopicID: a.w.Broker.TopicInfo(ingress).TopicID, Offset: int64(i), TimestampMs: time.Now().UnixMilli()}, DeadlineMs: deadline(i).UnixMilli(), Writer: 77, Run: uint64(i)}
		headers, _ := runs.AppendCopy(nil, nil, a.id, &c, nil, value)
		all = append(all, &kgo.Record{Topic: runsTopic, Partition: 0, Value: value, Headers: headers, Timestamp: time.Now()})
	}
	a.w.Produce(all...)
}

// planted starts an instance with so many runs of somebody else, of which five copies are due soon.
func (w *fixture) planted(many int) (in *instance, n *numbers, a *archive, due time.Time) {
	w.Helper()
	a = w.archive()
	in = w.start("LAYOVER_MAX_PARKED_BYTES=8Mi")
	in.ready()
	time.Sleep(5 * time.Second)
	n = w.beside(in)
	n.some("there are none", of(well(), movable(), crowded(false), cleaned(0)))
	in.stop()
	due = time.Now().Add(10 * time.Minute)
	a.plant(many, func(i int) time.Time { return due.Add(100 * time.Hour * time.Duration(min(i/5, 1))) })
	in = w.start("LAYOVER_MAX_PARKED_BYTES=8Mi")
	in.ready()
	n.in = in
	time.Sleep(5 * time.Second)
	return in, n, a, due
}

// crowded says whether partition 0 has as many runs as it may have.
func crowded(full bool) expected {
	return expected{fmt.Sprintf(".runs.partitions[%s/0].full", ingress): full, fmt.Sprintf(".runs.partitions[%s/1].full", ingress): false}
}

func cleaned(v any) expected {
	return expected{"layover_runs_cleaned_records_total": v, ".runs.cleaned": v, ".counters.unaccounted": 0}
}

// TestNumbersOfTooManyRuns: no other may begin until some are over.
func TestNumbersOfTooManyRuns(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		in, n, archive, due := w.planted(runs.MaxRuns + 2)
		n.some("there are too many", of(well(), waiting(archive.look()), moves("full", "usable", "", "", has("has 4,096 runs in partition 0")), crowded(true), cleaned(0)))
		time.Sleep(time.Until(due) + 5*time.Second)
		n.some("some were delivered", of(well(), movable(), crowded(false)))
		n.done("full-runs")
		in.stop()
	})
}

// TestNumbersOfSmallRuns: they become one.
func TestNumbersOfSmallRuns(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		const planted = runs.MaxRuns/4 + 16
		in, n, archive, due := w.planted(planted)
		n.some("there are many small ones", of(well(), movable(), cleaned(0)))
		time.Sleep(time.Until(due) + 5*time.Minute)
		for _, when := range []string{"they are together", "nothing happens"} {
			again := float64(w.Broker.PartitionInfo(runsTopic, 0).HighWatermark - planted) // with directories
			n.some(when, of(well(), movable(), cleaned(between(max(again-5, 1), again)), expected{".runs.records": planted - 5, ".runs.runs": between(1, 64)}))
		}
		if there := together(archive.look()); there != planted-5 {
			t.Errorf("the topic has %d copies, want %d", there, planted-5)
		}
		n.done("cleaned-runs")
		in.stop()
	})
}
