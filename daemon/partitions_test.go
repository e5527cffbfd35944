package daemon

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"layover/producer"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestEachSickPartitionSaysWhatItIs: of one target one partition answers with an error, another one is silent.
func TestEachSickPartitionSaysWhatItIs(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.createTopics(4, "four")
		in := w.start("LAYOVER_LANES=1", "LAYOVER_EGRESS_TOPIC=four")
		in.ready()
		w.Refuse(kmsg.Produce, kfake.Fault{Topic: "four", Partitions: []int32{1}, Err: kerr.UnknownServerError})
		w.silence("four", 2)
		sent := make(map[int32]int)
		for i := range 40 {
			v := fmt.Sprint(i)
			w.send(0, v)
			sent[producer.Pick([]byte("key-"+v), 4, nil)]++
		}
		time.Sleep(20 * time.Second)
		texts := make(map[float64]string)
		for _, s := range in.status()["sick"].([]any) {
			if m := s.(map[string]any); m["kind"] == "target" && m["name"] == "four" {
				texts[m["partition"].(float64)] = m["text"].(string)
			}
		}
		for p, want := range map[float64]string{
			1: fmt.Sprintf("Partition 1 of target four does not take records (partition 1: UNKNOWN_SERVER_ERROR: The server experienced an unexpected error when processing the request). %d due records wait", sent[1]),
			2: "Partition 2 of target four does not take records (partition 2 has not answered for 10 s). No record waits",
		} {
			if len(texts) != 2 || !strings.HasPrefix(texts[p], want) {
				t.Errorf("the texts are %v, want %s", texts, want)
			}
		}
		in.kill()
	})
}

// TestARecordWithoutAKeyGoesToAPartitionThatTakesIt: another one of its target does not answer, or answers with errors.
// What was on its way there as that began is there still. The latter is tried again and again with one record, until that
// is given up.
func TestARecordWithoutAKeyGoesToAPartitionThatTakesIt(t *testing.T) {
	for name, sicken := range map[string]func(*fixture){
		"silent": func(w *fixture) { w.silence(egress, 1) },
		"failing": func(w *fixture) {
			w.Refuse(kmsg.Produce, kfake.Fault{Topic: egress, Partitions: []int32{1}, Err: kerr.UnknownServerError})
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				in := w.start("LAYOVER_LANES=1", "LAYOVER_TARGET_PATIENCE=30s")
				in.ready()
				sicken(w)
				const n = 60
				for i := range n {
					w.Produce(&kgo.Record{Topic: ingress, Value: []byte(fmt.Sprint(i)), Timestamp: time.Now()})
					time.Sleep(time.Second)
				}
				time.Sleep(40 * time.Second)
				if delivered, letters := w.count(egress), w.count(dlq); delivered < n-5 || delivered+letters > n {
					t.Errorf("of %d records %d are delivered, and %d are dead letters", n, delivered, letters)
				}
				in.kill()
			})
		})
	}
}
