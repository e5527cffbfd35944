package daemon

import (
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// compact has a topic refuse each batch with a record that has no key, until mend is called.
func (w *fixture) compact(topic string) (mend func()) {
	info := w.Broker.TopicInfo(topic)
	var faults []*kfake.FaultHandle
	for n := range int32(4) {
		faults = append(faults, w.Refuse(kmsg.Produce, kfake.Fault{Topic: topic, Partitions: []int32{n}, Err: kerr.InvalidRecord, When: func(r kmsg.Request) bool {
			for _, t := range r.(*kmsg.ProduceRequest).Topics {
				for _, p := range t.Partitions {
					if (t.Topic == topic || t.TopicID == info.TopicID) && p.Partition == n && lacksKey(p.Records) {
						return true
					}
				}
			}
			return false
		}}))
	}
	return func() {
		for _, f := range faults {
			f.Remove()
		}
	}
}

// lacksKey reports whether a batch has a record without a key.
func lacksKey(raw []byte) bool {
	var b kmsg.RecordBatch
	if b.ReadFrom(raw) != nil {
		return false
	}
	records, err := outside.Decompress(b.Records, kgo.CompressionCodecType(b.Attributes&7))
	if err != nil {
		panic(err)
	}
	for range b.NumRecords {
		var r kmsg.Record
		if err := r.ReadFrom(records); err != nil {
			panic(err)
		}
		if r.Key == nil {
			return true
		}
		_, size := binary.Varint(records)
		records = records[size+int(r.Length):]
	}
	return false
}

// TestACompactedDeadLetterTopicIsOneFindingAndTakesLettersWithAKey, while those without one wait.
func TestACompactedDeadLetterTopicIsOneFindingAndTakesLettersWithAKey(t *testing.T) {
	inBubble(t, func(w *fixture) {
		var records []*kgo.Record // all are read before the first is refused
		for i := range 20 {
			r := &kgo.Record{Topic: ingress, Partition: int32(i % 2), Value: []byte("a letter"), Headers: []kgo.RecordHeader{header("x-delay", "soon")}, Timestamp: time.Now()}
			if i%7 != 3 {
				r.Key = []byte{byte(i)}
			}
			records = append(records, r)
		}
		w.Produce(records...)
		mend := w.compact(dlq)
		in := w.start()
		in.ready()
		w.arrives(dlq, 17, time.Minute)
		since := in.status()["held"].([]any)[0].(map[string]any)["since"]
		time.Sleep(2 * time.Minute)
		held := in.status()["held"].([]any)[0].(map[string]any)
		if held["target"] != dlq || held["state"] != "rejecting" || held["records"] != 3.0 || held["since"] != since {
			t.Errorf("held %v, want three letters since %v", held, since)
		}
		if text := in.at("sick").([]any)[0].(map[string]any)["text"].(string); !strings.Contains(text, "INVALID_RECORD") || strings.Contains(text, "kafka-acls.sh") {
			t.Error(text)
		}
		if n := len(linesWith(in.logs.String(), "reading goes on")); n > 0 {
			t.Errorf("%d lines say that reading goes on", n)
		}
		mend()
		w.arrives(dlq, 20, 10*time.Second)
		w.Until(10*time.Second, "reading goes on", func() bool { return in.pausedFor() == "" })
		in.stop()
	})
}
