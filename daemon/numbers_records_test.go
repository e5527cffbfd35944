package daemon

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"layover/verify/long"
)

// numbered runs a scenario with two ingress topics of three partitions in two lanes.
func numbered(t *testing.T, f func(w *fixture, k *truth, settings []string)) {
	t.Helper()
	inBubble(t, func(w *fixture) {
		w.CreateTopic(second, 1, map[string]string{"retention.ms": "259200000"}) // three days
		w.createTopics(2, "spare")
		w.createTopics(1, "jobs.a")
		k := &truth{w: w, parts: map[string]int32{ingress: 2, second: 1}, targets: []string{egress, "spare", "jobs.*"}, flying: make(map[string]bool), failed: make(map[string]int64), began: time.Now()}
		for topic, partitions := range k.parts { // the group is known, so that nobody commits for all at first
			for p := range partitions {
				w.Commit("layover-"+ingress, kadm.Offset{Topic: topic, Partition: p, LeaderEpoch: -1})
			}
		}
		k.count()
		f(w, k, []string{"LAYOVER_INGRESS_TOPICS=" + ingress + "," + second, "LAYOVER_TARGETS_ALLOWED=spare,jobs.*"})
	})
}

// TestNumbersOfRecords: what was read, what waits, and what has left, of three partitions that
// each have their own.
func TestNumbersOfRecords(t *testing.T) {
	long.Only(t)
	numbered(t, func(w *fixture, k *truth, settings []string) {
		in := w.start(settings...)
		in.ready()
		n := w.watch(in, k)
		day := 24 * time.Hour
		for range 2 { // what has come back moves again
			k.send(ingress, 0, for_(6*time.Minute), filled(900))
			k.send(ingress, 0, wrong("x-delay", "tomorrow", "malformed_delay"))
			k.send(ingress, 0, to("spare", "spare"))
			k.send(ingress, 1, for_(20*time.Second), to("jobs.a", "jobs.*"))
			k.send(ingress, 1, written(time.Now().Add(-day/2)), at(time.Now().Add(time.Minute)), filled(300))
			k.send(ingress, 1, for_(0))
			k.send(second, 0, written(time.Now().Add(-day/2)), at(time.Now().Add(8*time.Minute)), both())
			k.send(second, 0, written(time.Now().Add(-day)), for_(time.Hour))
			k.send(second, 0, written(time.Now().Add(-day)), at(time.Now().Add(-time.Hour)))
			k.send(second, 0, written(time.Now().Add(time.Minute))) // two of the future beside one that is ambiguous
			k.send(second, 0, written(time.Now().Add(time.Hour)))
			k.send(second, 0, wrong("x-deliver-at", "tomorrow", "malformed_deliver_at"))
			k.send(second, 0, wrong("x-deliver-to", "elsewhere", "target_not_allowed"))
			for n := range 20 {
				k.send(ingress, 0, retried(1+n*n))
			}
			k.send(second, 0, retried(20_000))
			n.look("all was sent", nil)
			time.Sleep(20 * time.Second)
			name := expected{".target_names.known": 1, "layover_target_names": 1}
			n.look("the first is due", name)
			time.Sleep(time.Minute)
			n.look("the second is due", name)
			time.Sleep(5 * time.Minute)
			n.look("the longest of a topic is due", name)
			time.Sleep(5 * time.Minute)
			n.look("all is delivered", nil)
			time.Sleep(time.Minute)
			n.look("nothing happens", nil)
		}
		n.done("records")
		in.stop()
	})
}

// retried asks for an attempt by a back-off, which waits for a minute in each.
func retried(attempt int) asks {
	return func(s *sent) {
		s.due, s.outcome, s.attempt = s.Timestamp.Add(time.Minute), "parked", attempt
		s.Headers = append(s.Headers, header("x-delay", "1m..1m jitter=0% max=0"), header("x-delay-attempt", fmt.Sprint(attempt-1)))
	}
}

// attempts expects those attempts of a topic.
func (e expected) attempts(numbers []int, topic string) {
	sum := 0
	for _, n := range numbers {
		sum += n
	}
	e[m("attempts_sum", "topic", topic)], e[m("attempts_count", "topic", topic)] = sum, len(numbers)
	for _, bound := range []int{1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 50, 100, 1000, 10_000} {
		within := len(slices.DeleteFunc(slices.Clone(numbers), func(n int) bool { return n > bound }))
		e[m("attempts_bucket", "topic", topic, "le", fmt.Sprint(bound))] = within
	}
	e[m("attempts_bucket", "topic", topic, "le", "+Inf")] = len(numbers)
}
