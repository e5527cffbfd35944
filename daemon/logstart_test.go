package daemon

import (
	"strings"
	"testing"
	"time"

	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A partition waits for its log bounds, and finds its committed offset deleted. It begins
// late with a leader epoch where something was finished and committed before.
func TestALogStartThatIsNotKnownAtFirstIsGoneOverToAndNotTheEnd(t *testing.T) {
	long.Only(t)
	for name, finished := range map[string]int{"with a leader epoch": 10, "without one": 0} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				in := w.start()
				in.ready()
				w.sendMany(0, 0, 100, func(i int) []kgo.RecordHeader {
					if i < finished {
						return nil
					}
					return []kgo.RecordHeader{header("x-delay", "1h")}
				})
				time.Sleep(3 * time.Second)
				in.stop()
				w.committed(0, int64(finished))
				if finished == 0 { // as before the first commit that was said again, which has read the log
					was := w.commitOf(0)
					was.LeaderEpoch = -1
					w.Commit("layover-"+ingress, was)
				}
				if epoch := w.commitOf(0).LeaderEpoch; (epoch >= 0) != (finished > 0) {
					t.Errorf("leader epoch %d committed with %d records finished", epoch, finished)
				}
				w.DeleteRecords(ingress, 0, 40)

				fault := w.Refuse(kmsg.ListOffsets, kfake.Fault{Topic: ingress, Partitions: []int32{0}, Err: kerr.LeaderNotAvailable})
				in = w.start()
				time.Sleep(10 * time.Second)
				fault.Remove()
				w.Until(2*time.Hour, "what is left is delivered", func() bool { return w.count(egress) == finished+60 })
				time.Sleep(2 * time.Second)
				if !strings.Contains(in.logs.String(), "deleted before they were delivered") {
					t.Error("the loss is not said")
				}
				if lost := in.metric("layover_lost_to_retention_records_total"); lost != float64(40-finished) {
					t.Errorf("%v records count as lost, want %d", lost, 40-finished)
				}
				in.stop()
				w.committed(0, 100)
			})
		})
	}
}

// TestALogThatIsDeletedAboveTheReadPositionIsGoneOver: a fetch finds its offset deleted.
func TestALogThatIsDeletedAboveTheReadPositionIsGoneOver(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		fetches := w.Refuse(kmsg.Fetch, kfake.Fault{Topic: ingress, Partitions: []int32{0}, Err: kerr.TopicAuthorizationFailed})
		time.Sleep(2 * time.Second)
		w.sendMany(0, 0, 100, func(int) []kgo.RecordHeader { return nil })
		w.DeleteRecords(ingress, 0, 40)
		fetches.Remove()
		w.Until(10*time.Second, "what is left is delivered", func() bool { return w.count(egress) == 60 })
		if !strings.Contains(in.logs.String(), "deleted before they were read") {
			t.Error("the loss is not said")
		}
		if lost := in.metric("layover_lost_to_retention_records_total"); lost != 40 {
			t.Errorf("%v records count as lost", lost)
		}
		in.readyz("degraded: records are lost: 40 of delayed, deleted before they were delivered, the last ")
		in.stop()
		w.committed(0, 100)
	})
}

// losesForty parks a hundred records for an hour, deletes the first forty while nothing runs, and starts again.
func (w *fixture) losesForty() *instance {
	w.Helper()
	in := w.start()
	in.ready()
	w.sendMany(0, 0, 100, func(int) []kgo.RecordHeader { return []kgo.RecordHeader{header("x-delay", "1h")} })
	time.Sleep(3 * time.Second)
	in.stop()
	w.DeleteRecords(ingress, 0, 40)
	in = w.start()
	in.ready()
	return in
}

// TestRecordsThatAreGoneAtAStartAreNotGreen: everything else is well.
func TestRecordsThatAreGoneAtAStartAreNotGreen(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.losesForty()
		in.readyz("degraded: records are lost: 40 of delayed, deleted before they were delivered, the last ")
		if state := in.at("state"); state != "degraded" {
			t.Errorf("the state is %v", state)
		}
		if _, page := in.get("/status?format=html"); !strings.Contains(page, "<title>Degraded: 60 parked") || !strings.Contains(page, `class="state bad"`) {
			t.Error("the page's head does not say so")
		}
		time.Sleep(10 * time.Minute)
		in.readyz("ready\n")
		in.stop()
	})
}

// TestATrimmedLogOfWhichNothingIsLostIsGreen: all below its start was delivered.
func TestATrimmedLogOfWhichNothingIsLostIsGreen(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.sendMany(0, 0, 10, func(int) []kgo.RecordHeader { return nil })
		w.DeleteRecords(ingress, 0, 5) // before the group was ever there
		in := w.start()
		in.ready()
		in.readyz("ready\n")
		w.sendMany(0, 10, 90, func(i int) []kgo.RecordHeader {
			if i < 30 {
				return nil
			}
			return []kgo.RecordHeader{header("x-delay", "1h")}
		})
		w.Until(10*time.Second, "what has no delay is delivered", func() bool { return w.count(egress) == 5+20 })
		time.Sleep(2 * time.Second)
		in.stop()
		w.DeleteRecords(ingress, 0, 30)
		in = w.start()
		in.ready()
		in.readyz("ready\n")
		in.stop()
	})
}

// readyz fails the test where /readyz does not begin so.
func (in *instance) readyz(want string) {
	in.w.Helper()
	if code, body := in.get("/readyz"); code != 200 || !strings.HasPrefix(body, want) {
		in.w.Errorf("/readyz: %d %q, want 200 and %q", code, body, want)
	}
}

// TestWhatIsParkedOfATopicThatIsMadeAgainIsLostAndSaid: nobody can read it again, and the text of
// the deleted topic said so before. What was moved to runs is not among it.
func TestWhatIsParkedOfATopicThatIsMadeAgainIsLostAndSaid(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		w.sendMany(0, 0, 20, func(int) []kgo.RecordHeader { return []kgo.RecordHeader{header("x-delay", "1h")} })
		w.sendMany(1, 0, 5, func(int) []kgo.RecordHeader { return []kgo.RecordHeader{header("x-delay", "10s")} })
		time.Sleep(3 * time.Second)
		w.DeleteTopic(ingress)
		time.Sleep(20 * time.Second)
		if n := w.count(egress); n != 5 {
			t.Errorf("%d of 5 are delivered of the deleted topic", n)
		}
		in.sickAs("ingress_topic "+ingress+" missing", "ingress_topic", "ingress topic delayed is missing since ")
		if text := in.at("sick").([]any)[0].(map[string]any)["text"].(string); !strings.Contains(text, " 20 records of it still wait in memory") || strings.Contains(text, "--create") {
			t.Errorf("the text is %s", text)
		}
		if lost := in.metric("layover_lost_to_retention_records_total"); lost != 0 {
			t.Errorf("%v count as lost before the topic is made again", lost)
		}
		w.CreateTopic(ingress, 2, nil)
		time.Sleep(20 * time.Second)
		in.readyz("degraded: records are lost: 20 of delayed, deleted before they were delivered, the last ")
		if lost, sum := in.metric("layover_lost_to_retention_records_total"), in.at("counters", "unaccounted"); lost != 20 || sum != float64(0) {
			t.Errorf("%v count as lost, %v are unaccounted for", lost, sum)
		}
		if said := strings.Count(in.logs.String(), `level=ERROR msg="the topic was made again while records of it were parked: they are lost" topic=delayed records=20`); said != 1 {
			t.Errorf("the loss is said %d times", said)
		}
		in.stop()
	})
}
