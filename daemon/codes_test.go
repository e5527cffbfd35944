package daemon

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"layover/verify/kafkatest"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// refusable are the kinds of requests that a broker may refuse once, with any error. Each kind
// has those errors after which not all goes on as if nothing had been.
var refusable = map[kmsg.Key][]*kerr.Error{
	kmsg.Produce: {kerr.InvalidRecord, kerr.InvalidTimestamp, kerr.PolicyViolation, kerr.UnsupportedForMessageFormat, kerr.UnsupportedCompressionType, // a dead letter
		kerr.DuplicateSequenceNumber}, // the client takes that for an answer of its first try
	kmsg.Fetch:           nil,
	kmsg.ListOffsets:     nil,
	kmsg.Metadata:        nil,
	kmsg.OffsetCommit:    {kerr.FencedInstanceID}, // two processes with one instance id
	kmsg.OffsetFetch:     {kerr.FencedInstanceID},
	kmsg.Heartbeat:       {kerr.FencedInstanceID},
	kmsg.JoinGroup:       {kerr.FencedInstanceID},
	kmsg.SyncGroup:       {kerr.FencedInstanceID},
	kmsg.DescribeConfigs: nil,
}

// TestAnyErrorThatPassesCostsNothing: a broker refuses one request, with each error that
// Kafka has, and twice in one life. Every record is delivered and committed, and none twice
// but for a membership that ended.
func TestAnyErrorThatPassesCostsNothing(t *testing.T) {
	codes := kafkatest.Errors()
	for key, not := range refusable {
		t.Run(kmsg.NameForKey(key.Int16()), func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *fixture) {
				w.withoutFetchSessions()
				w.dial = slow(w.dial, time.Millisecond)
				in := w.start("LAYOVER_TARGET_PATIENCE=1h")
				in.ready()
				n := 0
				for round := range 2 {
					for i, err := range codes {
						if slices.Contains(not, err) || !long.Whole() && i%someCodes() != 3 {
							continue
						}
						n++
						w.refuseOnce(key, err, fmt.Sprintf("%d/%d", round, i), n)
					}
				}
				time.Sleep(10 * time.Second)
				most := 1
				if slices.Contains(ofJoins, key) || key == kmsg.Heartbeat { // what was delivered shortly before comes again
					most = 2
				}
				for value, times := range w.values(egress) {
					if times > most {
						t.Errorf("%s was delivered %d times", value, times)
					}
				}
				if w.count(dlq) > 0 {
					t.Errorf("%d dead letters", w.count(dlq))
				}
				if s := in.status(); len(s["sick"].([]any)) > 0 {
					t.Errorf("sick: %v", s["sick"])
				}
				in.stop()
				w.committed(0, int64(n))
				w.committed(1, int64(n))
			})
		})
	}
}

// refuseOnce refuses one request, and waits until a record of each partition, sent beside it,
// is delivered and committed. n is how many each partition has by then.
func (w *fixture) refuseOnce(key kmsg.Key, err *kerr.Error, values string, n int) {
	w.Helper()
	send := func() {
		for p := range int32(2) {
			w.send(p, fmt.Sprintf("%s/%d", values, p))
		}
	}
	if key == kmsg.Metadata { // or it is the test's own producer that is refused
		send()
	}
	fault := w.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Topic: topicOf[key], Err: err, Count: 1})
	if slices.Contains(ofJoins, key) {
		w.Until(time.Minute, "the group is stable", func() bool {
			g := w.Broker.GroupInfo(group)
			return g.State == "Stable" && len(g.Members) == 1
		})
		w.evicted()
	}
	if key != kmsg.Metadata {
		send()
	}
	w.Until(2*time.Minute, err.Message+" is over, "+values, func() bool {
		return fault.Hits() > 0 && w.commitOf(0).At == int64(n) && w.commitOf(1).At == int64(n)
	})
	fault.Remove()
	time.Sleep(2 * time.Second)
}

// topicOf is the topic that a refused request is about, so that it is none of the test's own.
var topicOf = map[kmsg.Key]string{kmsg.Produce: egress, kmsg.Fetch: ingress, kmsg.ListOffsets: ingress, kmsg.Metadata: ingress}

// someCodes: the checks of a change try one error of so many, plain go test a quarter of these.
func someCodes() int { return long.Of(12, 48) }

// ofJoins are the kinds of requests that a member sends when it joins.
var ofJoins = []kmsg.Key{kmsg.ListOffsets, kmsg.OffsetFetch, kmsg.JoinGroup, kmsg.SyncGroup}
