package daemon

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"layover/delay"
	"layover/producer"
	"layover/purgatory"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// silence has a broker take no record for partitions of a topic, all where none is
// named. The client sends each again without end and tells nobody.
func (w *fixture) silence(topic string, partitions ...int32) *kfake.FaultHandle {
	return w.Refuse(kmsg.Produce, kfake.Fault{Topic: topic, Partitions: partitions, Err: kerr.NotEnoughReplicas})
}

// pausedFor are the reasons for which reading is paused now.
func (in *instance) pausedFor() string {
	var out []string
	for _, p := range in.status()["pauses"].([]any) {
		out = append(out, p.(map[string]any)["reason"].(string))
	}
	return strings.Join(out, " ")
}

func TestASilentDeadLetterTopicPausesReadingAndParkedRecordsGoOn(t *testing.T) {
	inBubble(t, func(w *fixture) {
		const invalid = 20_000
		in := w.start("LAYOVER_MAX_PARKED_BYTES=16Mi")
		in.ready()
		silent := w.silence(dlq)
		w.send(0, "parked", header("x-delay", "30s"))
		padding := header("padding", strings.Repeat("x", 1000))
		w.sendMany(0, 0, invalid, func(int) []kgo.RecordHeader { return []kgo.RecordHeader{header("x-delay", "soon"), padding} })
		w.send(1, "bad", header("x-delay", "soon"))
		for range 25 {
			time.Sleep(time.Second)
			// Records that were on their way when reading paused may take it over the mark for bytes, too.
			if why := in.pausedFor(); why != "dead_letter" && why != "bytes dead_letter" {
				t.Fatalf("reading is paused for %q, want for dead_letter", why)
			}
			if parked := in.status()["parked"].(map[string]any); parked["memory"].(float64) > parked["limit"].(float64)*3/4 {
				t.Fatalf("dead letters take %v of %v bytes", parked["memory"], parked["limit"])
			}
		}
		held := in.status()["held"].([]any)
		if len(held) != 1 || held[0].(map[string]any)["target"] != dlq || held[0].(map[string]any)["since"] == nil || held[0].(map[string]any)["state"] != "unreachable" {
			t.Errorf("held %v, want the dead-letter topic with the instant from which on", held)
		}
		w.arrives(egress, 1, 7*time.Second)
		silent.Remove()
		w.arrives(dlq, invalid+1, time.Minute)
		w.Until(10*time.Second, "reading goes on", func() bool { return in.pausedFor() == "" })
		in.stop()
		w.committed(0, invalid+1)
		w.committed(1, 1)
		if n := w.count(dlq); n != invalid+1 {
			t.Errorf("%d dead letters, want %d", n, invalid+1)
		}
	})
}

func TestOnePartitionOfTheDeadLetterTopicThatIsSilentPausesReading(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.createTopics(4, "graves")
		in := w.start("LAYOVER_DLQ_TOPIC=graves")
		in.ready()
		silent := w.silence("graves", 1)
		for i := range 20 { // by their keys to all four
			w.send(0, fmt.Sprint(i), header("x-delay", "soon"))
		}
		time.Sleep(15 * time.Second)
		if why := in.pausedFor(); why != "dead_letter" || w.count("graves") == 0 {
			t.Errorf("reading is paused for %q with %d dead letters written, want dead_letter and those of the other partitions", why, w.count("graves"))
		}
		silent.Remove()
		w.arrives("graves", 20, 10*time.Second)
		w.Until(10*time.Second, "reading goes on", func() bool { return in.pausedFor() == "" })
		in.stop()
		w.committed(0, 20)
	})
}

func TestSilentPartitionsOfManyTargetsLeaveAHealthyOneAlone(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		const each = 25_000 // more than fits into a lane's buffer, for four targets
		in := w.start("LAYOVER_LANES=1", "LAYOVER_TARGETS_ALLOWED=sick-*", "LAYOVER_TARGET_PATIENCE=1h")
		in.ready()
		sent := 0
		for n := range 4 {
			name := fmt.Sprint("sick-", n)
			w.createTopics(20, name)
			w.silence(name)
			w.sendMany(1, 0, each, func(int) []kgo.RecordHeader { return []kgo.RecordHeader{header("x-deliver-to", name)} })
			for range 30 {
				w.send(0, fmt.Sprint("healthy ", sent), header("x-delay", "100ms"))
				sent++
				time.Sleep(500 * time.Millisecond)
			}
		}
		time.Sleep(5 * time.Second)
		records := w.Records(egress)
		if len(records) != sent || w.count(dlq) > 0 {
			t.Errorf("%d records of %d delivered, %d dead letters", len(records), sent, w.count(dlq))
		}
		for _, r := range records {
			due, err := time.Parse(time.RFC3339, get(r, "layover-due"))
			if err != nil {
				t.Fatal(err)
			}
			if late := r.Timestamp.Sub(due); late > 5*time.Second {
				t.Errorf("%s is %v late", r.Value, late)
			}
		}
		if lines := linesWith(in.logs.String(), "sick kind=target target="+egress); len(lines) > 0 {
			t.Errorf("the healthy target is blamed: %q", lines)
		}
		in.kill()
	})
}

func TestAHeldTargetIsTriedWithARecordWhosePartitionAnswers(t *testing.T) {
	inBubble(t, func(w *fixture) {
		value := map[int32][]string{}
		for i := range 40 {
			v := fmt.Sprint("record ", i)
			p := producer.Pick([]byte("key-"+v), 2, nil)
			value[p] = append(value[p], v)
		}
		in := w.start("LAYOVER_TARGET_PATIENCE=30s", "LAYOVER_LANES=1")
		in.ready()
		silent := w.silence(egress, 0)
		w.send(0, value[0][0])
		time.Sleep(time.Second)
		w.send(0, value[0][1]) // a batch behind the first
		silent.Remove()
		w.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: egress, Partitions: []int32{0}, Err: kerr.TopicAuthorizationFailed, Count: 1})
		w.silence(egress, 0) // for the second: the first is refused, and waits in front behind one that gets no answer
		time.Sleep(5 * time.Second)
		if len(linesWith(in.logs.String(), "sick kind=target target="+egress)) == 0 {
			t.Fatal("the target is not held")
		}
		for _, v := range value[1] {
			w.send(0, v, header("x-delay", "1s"))
		}
		w.arrives(egress, len(value[1]), 6*time.Second)
		in.kill()
	})
}

func TestATargetThatIsHeldForAnotherReasonThanBeforeIsSaidOnce(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_EGRESS_TOPIC=absent")
		in.ready()
		w.send(0, "a", header("x-delay", "1s"))
		w.send(1, "b", header("x-delay", "1s"))
		time.Sleep(10 * time.Second)
		w.Refuse(kmsg.Metadata, kfake.Fault{Topic: "absent", Err: kerr.TopicAuthorizationFailed})
		w.createTopics(1, "absent")
		time.Sleep(30 * time.Second)
		in.stop()
		for _, reason := range []string{"missing", "forbidden"} {
			if lines := linesWith(in.logs.String(), "sick kind=target target=absent reason="+reason); len(lines) != 1 {
				t.Errorf("want one line that it is %s: %q", reason, lines)
			}
		}
		if lines := in.logs.Lines("reason=forbidden", "--allow-principal User:ANONYMOUS --topic absent"); len(lines) != 1 {
			t.Errorf("want one line with the command, for a process without a login: %q", lines)
		}
	})
}

func TestAClientWithoutRoomIsNobodysFault(t *testing.T) {
	if r := new(delivery).Classify(fmt.Errorf("produce: %w", kgo.ErrMaxBuffered)); r.Class != purgatory.NoRoom || r.Verdict != purgatory.Usable {
		t.Errorf("class %d, verdict %v: want one that blames neither record nor target", r.Class, r.Verdict)
	}
}

// TestAPartitionThatAnswersWithErrorsKillsNoRecordOfAnother of its target: the broker has a fault, and says so at once. Its
// ACLs may be stale, or it may not have heard of the topic.
func TestAPartitionThatAnswersWithErrorsKillsNoRecordOfAnother(t *testing.T) {
	for _, e := range []*kerr.Error{kerr.UnknownServerError, kerr.TopicAuthorizationFailed, kerr.UnknownTopicOrPartition} {
		t.Run(e.Message, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				in := w.start("LAYOVER_LANES=1", "LAYOVER_PARTITION=same", "LAYOVER_TARGET_PATIENCE=30s")
				in.ready()
				w.Refuse(kmsg.Produce, kfake.Fault{Topic: egress, Partitions: []int32{1}, Err: e})
				const n = 90
				for range n {
					w.send(0, "of a healthy partition")
					w.send(1, "of one that fails")
					time.Sleep(time.Second)
				}
				if got := w.count(egress); got != n {
					t.Errorf("%d of %d records are delivered for the healthy partition", got, n)
				}
				for _, r := range w.Records(egress) {
					due, err := time.Parse(time.RFC3339, get(r, "layover-due"))
					if late := r.Timestamp.Sub(due); err != nil || late > time.Second {
						t.Errorf("a record of the healthy partition is %v late, %v", late, err)
					}
				}
				if sick := in.sick(); !slices.Equal(sick, []string{"target " + egress + "/1 unreachable"}) {
					t.Errorf("sick %q, want the one partition", sick)
				}
				letters := w.Records(dlq)
				for _, r := range letters {
					if why := get(r, delay.HeaderErrorMessage); get(r, delay.HeaderErrorPartition) != "1" || !strings.Contains(why, e.Message) {
						t.Errorf("a dead letter: %s", why)
					}
				}
				if len(letters) == 0 {
					t.Error("nothing was given up of the partition that fails, after three times the patience")
				}
				in.stop()
			})
		})
	}
}

// TestAForbiddenPartitionStopsNoReadingWithinItsPatience, where there is no dead-letter topic, nor another target.
func TestAForbiddenPartitionStopsNoReadingWithinItsPatience(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.createTopics(2, "audit")
		in := w.start("LAYOVER_LANES=1", "LAYOVER_PARTITION=same", "LAYOVER_TARGET_PATIENCE=2m", "LAYOVER_DLQ_TOPIC=", "LAYOVER_ON_INVALID=drop", "LAYOVER_TARGETS_ALLOWED=audit")
		in.ready()
		fault := w.Refuse(kmsg.Produce, kfake.Fault{Topic: egress, Partitions: []int32{1}, Err: kerr.TopicAuthorizationFailed})
		const n = 110
		for range n {
			w.send(0, "of a healthy partition")
			w.send(1, "of one that fails")
			w.send(0, "another target", header("x-deliver-to", "audit"))
			time.Sleep(time.Second)
		}
		if healthy, audit, why := w.count(egress), w.count("audit"), in.pausedFor(); healthy != n || audit != n || why != "" {
			t.Errorf("%d of %d for the healthy partition, %d of %d for another target; paused for %q", healthy, n, audit, n, why)
		}
		fault.Remove()
		time.Sleep(5 * time.Second)
		if got := w.count(egress); got != 2*n {
			t.Errorf("%d of %d records are delivered after the fault", got, 2*n)
		}
		in.stop()
	})
}

// TestADeadLetterPartitionThatIsWellAgainGetsItsLettersBesideOneThatRefusesThem: it answers with errors for a while.
func TestADeadLetterPartitionThatIsWellAgainGetsItsLettersBesideOneThatRefusesThem(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.createTopics(4, "graves")
		in := w.start("LAYOVER_LANES=1", "LAYOVER_DLQ_TOPIC=graves")
		in.ready()
		refuses := w.Refuse(kmsg.Produce, kfake.Fault{Topic: "graves", Partitions: []int32{0}, Err: kerr.InvalidRecord})
		fails := w.Refuse(kmsg.Produce, kfake.Fault{Topic: "graves", Partitions: []int32{1}, Err: kerr.UnknownServerError})
		const n = 40
		w.sendMany(0, 0, n, func(int) []kgo.RecordHeader { return []kgo.RecordHeader{header("x-delay", "soon")} }) // by their keys to all four
		time.Sleep(30 * time.Second)
		if sick := in.sick(); !slices.Equal(sick, []string{"dead_letter graves rejecting", "dead_letter graves/1 unreachable"}) {
			t.Errorf("sick %q", sick)
		}
		of := func(partition int32) (n int) {
			for _, r := range w.Records("graves") {
				if r.Partition == partition {
					n++
				}
			}
			return n
		}
		others := of(2) + of(3)
		fails.Remove()
		w.Until(4*time.Second, "a letter is taken", func() bool { return of(1) > 0 })
		time.Sleep(time.Second)
		taken := of(1)
		refuses.Remove()
		w.arrives("graves", n, 10*time.Second)
		if of(1) != taken || of(2)+of(3) != others || of(0) == 0 {
			t.Errorf("beside letters that are refused %d of %d are taken, and %d of %d while one fails", taken, of(1), others, of(2)+of(3))
		}
		w.Until(10*time.Second, "reading goes on", func() bool { return in.pausedFor() == "" && len(in.sick()) == 0 })
		in.stop()
		w.committed(0, n)
	})
}
