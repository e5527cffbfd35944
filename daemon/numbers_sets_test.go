package daemon

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// shelf is what a journal was given, of which some may be deleted again.
type shelf struct {
	w       *fixture
	sizes   map[int64]int // of values, by offset
	deleted atomic.Int64  // requests for that
}

func (w *fixture) shelf() *shelf {
	s := &shelf{w: w, sizes: make(map[int64]int)}
	w.Answer(kmsg.DeleteRecords, func(kmsg.Request) kmsg.Response { s.deleted.Add(1); return nil })
	return s
}

// counts are the numbers of what was written, as the broker has it.
func (s *shelf) counts() expected {
	live, all := 0, 0
	for _, r := range s.w.Records(journalTopic) {
		s.sizes[r.Offset] = len(r.Value)
		live += len(r.Value)
	}
	for _, size := range s.sizes {
		all += size
	}
	records, deleted := s.w.count(journalTopic), s.deleted.Load()
	return expected{
		"layover_journal_records_total": records, ".journal.records_written": records, "layover_journal_bytes_total": all, ".journal.bytes_written": all,
		"layover_journal_deletions_total": deleted, ".journal.deletions": deleted,
		".journal.live_bytes": live, m("journal_live_bytes", "topic", ingress, "partition", 0): live, m("journal_live_bytes", "topic", ingress, "partition", 1): 0,
	}
}

// keptIn are the numbers that say where the set of partition 0 is. That of the other fits.
func keptIn(place string) expected {
	e := expected{part(ingress, 0, "finished_set_in"): place, part(ingress, 1, "finished_set_in"): "metadata", m("finished_set_in", "topic", ingress, "partition", 1, "place", "metadata"): 1}
	for _, p := range []string{"metadata", "journal", "prefix"} {
		e[m("finished_set_in", "topic", ingress, "partition", 0, "place", p)] = map[bool]any{true: 1, false: gone}[p == place]
	}
	return e
}

// usual are the numbers of a journal that is well.
func usual(snapshots int, failed any) expected {
	topic := ".journal.topics[" + ingress + "]."
	return expected{
		m("journal_usable", "topic", ingress): 1, topic + "state": "usable", topic + "name": journalTopic, topic + "ingress": ingress, topic + "error": "", topic + "warning": "",
		".journal.topics[#]": 1, "layover_journal_snapshots_total": snapshots, ".journal.snapshots": snapshots, "layover_journal_errors_total": failed, ".journal.errors": failed,
		".sick[#]": 0, m("sick", "kind", "journal"): 0,
	}
}

// notSaid is what a kill would deliver again of partition 0, as neither commit nor journal has it.
func notSaid(v any) expected {
	return expected{".duplicates_after_a_kill.beyond_metadata_prefix": v, ".duplicates_after_a_kill.total": v, part(ingress, 0, "duplicates_after_a_kill.beyond_metadata_prefix"): v,
		part(ingress, 0, "duplicates_after_a_kill.total"): v, m("duplicates_after_a_kill_records", "topic", ingress, "partition", 0): v}
}

// everyOtherOf delays every other record.
func everyOtherOf(delay string) func(i int) []kgo.RecordHeader {
	return func(i int) []kgo.RecordHeader {
		return []kgo.RecordHeader{header("x-delay", []string{delay, "0s"}[i%2])}
	}
}

// inJournal is what the journal has of partition 0, and the commit has not.
func inJournal(v any) expected {
	return expected{".duplicates_after_a_kill.in_journal": v, part(ingress, 0, "duplicates_after_a_kill.in_journal"): v}
}

// restores are the numbers of readings of the journal.
func restores(n, records, bytes int) expected {
	took := between(map[bool]float64{true: 0.001}[n > 0], 1)
	return expected{"layover_journal_restores_total": n, ".journal.restores": n, "layover_journal_restored_records_total": records, ".journal.restored_records": records,
		"layover_journal_restored_bytes_total": bytes, "layover_journal_restore_seconds_total": took, ".journal.last_restore_ms": between(0, 1000)}
}

// TestNumbersOfTheJournal: of one partition of two the finished set does not fit.
func TestNumbersOfTheJournal(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.LimitMetadata(300)
		w.dial = slow(w.dial, time.Millisecond)
		shelf := w.shelf()
		in := w.start()
		in.ready()
		n := w.beside(in)
		topic := ".journal.topics[" + ingress + "]."
		n.some("all is finished", of(keptIn("metadata"), usual(0, 0), shelf.counts(), restores(0, 0, 0), inJournal(0), notSaid(0)))
		w.sendMany(0, 0, 400, everyOtherOf("5m"))
		w.send(1, "beside")
		time.Sleep(20 * time.Second)
		n.some("a set is in the journal", of(keptIn("journal"), usual(1, 0), shelf.counts(), restores(0, 0, 0), inJournal(0), notSaid(0)))
		refused := w.Refuse(kmsg.OffsetCommit, kfake.Fault{Err: kerr.UnknownServerError})
		w.sendMany(0, 400, 100, everyOtherOf("5m"))
		time.Sleep(20 * time.Second)
		n.some("commits are refused, and the journal has what they would say", of(keptIn("journal"), shelf.counts(), inJournal(50),
			expected{".duplicates_after_a_kill.since_last_commit": 50, ".duplicates_after_a_kill.total": 0, part(ingress, 0, "duplicates_after_a_kill.total"): 0}))
		refused.Remove()
		time.Sleep(20 * time.Second)
		away := w.Refuse(kmsg.Produce, kfake.Fault{Topic: journalTopic, Err: kerr.InvalidRecord})
		w.sendMany(0, 500, 200, everyOtherOf("5m"))
		time.Sleep(20 * time.Second)
		failing := ailment{"journal", journalTopic, "failing", nil, nil, has(journalTopic)}
		n.some("the journal takes nothing", of(keptIn("journal"), usual(1, between(2, 60)), shelf.counts(), sick(failing), expected{m("sick_since_timestamp_seconds", "kind", "journal"): 0, topic + "error": has("INVALID_RECORD")}))
		failures := in.at("journal", "errors").(float64)
		away.Remove()
		time.Sleep(20 * time.Second)
		n.some("it takes records again", of(keptIn("journal"), usual(2, failures), shelf.counts()))
		records, bytes := 0, 0
		for _, r := range w.Records(journalTopic) {
			records, bytes = records+1, bytes+len(r.Value)
		}
		in.wire.sever()
		time.Sleep(20 * time.Second) // longer than the session
		in.wire.mend()
		time.Sleep(20 * time.Second)
		n.some("it was read", of(keptIn("journal"), restores(1, records, bytes)))
		time.Sleep(6 * time.Minute)
		none := expected{".journal.live_bytes": 0, m("journal_live_bytes", "topic", ingress, "partition", 0): 0}
		snapshots := in.at("journal", "snapshots")
		for _, when := range []string{"all is finished", "nothing happens"} {
			n.some(when, of(keptIn("metadata"), usual(0, failures), shelf.counts(), none, restores(1, records, bytes), inJournal(0), notSaid(0), expected{".journal.snapshots": snapshots, "layover_journal_snapshots_total": snapshots}))
		}
		n.done("journal")
		in.stop()
	})
}

// TestNumbersOfAJournalThatCannotBeMade.
func TestNumbersOfAJournalThatCannotBeMade(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		n := w.beside(in)
		topic := ".journal.topics[" + ingress + "]."
		for range 2 {
			n.some("it is there", usual(0, 0))
			no := w.Refuse(kmsg.CreateTopics, kfake.Fault{Err: kerr.TopicAuthorizationFailed})
			w.DeleteTopic(journalTopic)
			time.Sleep(30 * time.Second)
			n.some("it is gone", of(sick(ailment{"journal", journalTopic, "missing", nil, nil, has(journalTopic)}),
				expected{m("journal_usable", "topic", ingress): 0, topic + "state": "missing", topic + "warning": has("Create")}))
			no.Remove()
			time.Sleep(2 * time.Minute)
		}
		n.some("it is there", usual(0, 0))
		n.done("nojournal")
		in.stop()
	})
}

// TestNumbersOfASetThatFitsNowhere: without a journal its prefix is committed.
func TestNumbersOfASetThatFitsNowhere(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.LimitMetadata(300)
		in := w.start("LAYOVER_JOURNAL=off")
		in.ready()
		time.Sleep(time.Minute) // for so long a new group's commits are repeated
		n := w.beside(in)
		off := expected{m("journal_usable", "topic", ingress): gone, ".journal.topics[" + ingress + "].state": "off"}
		overflows := func(v any) expected {
			return expected{"layover_metadata_overflow_total": v, ".counters.metadata_overflows": v}
		}
		n.some("all is finished", of(off, keptIn("metadata"), notSaid(0), overflows(0)))
		for range 2 {
			w.sendMany(0, 0, 400, func(i int) []kgo.RecordHeader {
				return []kgo.RecordHeader{header("x-delay", []string{"2m", "0s"}[i%2])}
			})
			time.Sleep(20 * time.Second)
			n.some("the set does not fit", of(off, keptIn("prefix"), notSaid(between(1, 199)), overflows(between(1, 20))))
			time.Sleep(3 * time.Minute)
			n.some("all is finished", of(off, keptIn("metadata"), notSaid(0)))
		}
		time.Sleep(time.Minute)
		v := in.at("counters", "metadata_overflows")
		n.some("nothing happens", overflows(v))
		n.some("nothing happens", overflows(v))
		n.done("prefix")
		w.sendMany(0, 400, 400, everyOtherOf("2m"))
		time.Sleep(20 * time.Second)
		said := in.at("duplicates_after_a_kill", "total").(float64)
		in.kill()
		before := w.count(egress)
		in = w.start("LAYOVER_JOURNAL=off")
		time.Sleep(30 * time.Second)
		if again := w.count(egress) - before; float64(again) != said || again == 0 {
			t.Errorf("%d came again, %v were said to", again, said)
		}
		in.stop()
	})
}

// TestNumbersOfARebalance: some partitions go to another member, and come back.
func TestNumbersOfARebalance(t *testing.T) {
	numbered(t, func(w *fixture, k *truth, settings []string) {
		in := w.start(settings...)
		in.ready()
		n := w.beside(in)
		parked := map[string]int{"delayed/0": 1, "delayed/1": 2, "second/0": 4}
		for p, count := range []int{1, 2} {
			for range count {
				k.send(ingress, int32(p), for_(5*time.Hour))
			}
		}
		for range 4 {
			k.send(second, 0, for_(5*time.Hour))
		}
		ownedBy := func(in *instance) (names []string, records int) {
			for _, a := range in.status()["assignments"].([]any) {
				name := nameOf(a, 0)
				names = append(names, name)
				records += parked[name]
			}
			slices.Sort(names)
			return names, records
		}
		group := func(partitions, rebalances int, given int) expected {
			e := expected{"layover_assigned_partitions": partitions, ".assignments[#]": partitions, "layover_rebalances_total": rebalances, ".group.rebalances": rebalances,
				"layover_handed_over_records_total": given, ".counters.handed_over": given, ".counters.unaccounted": 0}
			k.group(e)
			return e
		}
		time.Sleep(2 * time.Second)
		n.some("alone", group(3, 1, 0))
		rebalances, given := 1, 0
		for range 2 {
			other := w.start(settings...)
			time.Sleep(20 * time.Second)
			theirs, records := ownedBy(other)
			given += records
			if len(theirs) == 0 {
				t.Fatal("the other member has no partition")
			}
			rebalances += int(in.at("group", "rebalances").(float64)) - rebalances
			e := group(3-len(theirs), rebalances, given)
			e[".group.member"] = in.at("group", "member")
			n.some("with another one", e)
			other.stop()
			time.Sleep(20 * time.Second)
			rebalances = int(in.at("group", "rebalances").(float64))
			n.some("alone again", group(3, rebalances, given))
		}
		time.Sleep(time.Minute)
		n.some("nothing happens", group(3, rebalances, given))
		n.done("rebalance")
		in.stop()
	})
}
