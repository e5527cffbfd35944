package daemon

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"layover/producer"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
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
