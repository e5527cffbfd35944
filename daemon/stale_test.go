package daemon

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestAnOldAnswerAboutATopicThatWasMadeAgainLosesNothing: a broker that lags tells the watcher the id of the deleted
// topic once.
func TestAnOldAnswerAboutATopicThatWasMadeAgainLosesNothing(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		old := w.Broker.TopicInfo(ingress).TopicID
		w.DeleteTopic(ingress)
		time.Sleep(10 * time.Second)
		w.CreateTopic(ingress, 2, nil)
		time.Sleep(20 * time.Second)
		w.sendMany(0, 0, 20, func(int) []kgo.RecordHeader { return []kgo.RecordHeader{header("x-delay", "2m")} })
		time.Sleep(5 * time.Second)
		req := kmsg.NewPtrMetadataRequest()
		for _, name := range []string{ingress, egress, dlq} {
			topic := kmsg.NewMetadataRequestTopic()
			topic.Topic = kmsg.StringPtr(name)
			req.Topics = append(req.Topics, topic)
		}
		stale, err := req.RequestWith(context.Background(), w.Client)
		if err != nil {
			t.Fatal(err)
		}
		for i := range stale.Topics {
			if *stale.Topics[i].Topic == ingress {
				stale.Topics[i].TopicID = old
			}
		}
		told := 0
		w.Broker.ControlKey(int16(kmsg.Metadata), func(r kmsg.Request) (kmsg.Response, error, bool) {
			w.Broker.KeepControl()
			m := r.(*kmsg.MetadataRequest)
			asks := func(name string) bool {
				return slices.ContainsFunc(m.Topics, func(t kmsg.MetadataRequestTopic) bool { return t.Topic != nil && *t.Topic == name })
			}
			if told > 0 || !asks(ingress) || !asks(dlq) { // the watcher asks for both
				return nil, nil, false
			}
			told++
			stale.SetVersion(r.GetVersion())
			return stale, nil, true
		})
		time.Sleep(30 * time.Second)
		if n := in.at("parked", "records"); told != 1 || n != 20.0 {
			t.Errorf("told %d times; %v are parked, want 20", told, n)
		}
		w.arrives(egress, 20, 5*time.Minute)
		if lost := in.metric("layover_lost_to_retention_records_total"); lost != 0 {
			t.Errorf("%v count as lost, and all are delivered", lost)
		}
		in.stop()
	})
}

// TestRecordsThatChangedHandsWhileTheirTopicWasMadeAgainAreLostOnce: the member that takes a partition begins the new
// log, or has the old records itself. Who gave it away cannot know which, before its watcher sees the new id.
func TestRecordsThatChangedHandsWhileTheirTopicWasMadeAgainAreLostOnce(t *testing.T) {
	for name, test := range map[string]struct {
		before time.Duration // the other member starts so long before the topic is deleted
		gone   time.Duration // it is away so long
		first  float64       // lost with who had them first
	}{
		"taken while it was away":        {500 * time.Millisecond, 10 * time.Second, 40},
		"taken before":                   {30 * time.Second, 10 * time.Second, 20},
		"taken before, and back at once": {30 * time.Second, 0, 20},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				in := w.start()
				in.ready()
				for p := range int32(2) {
					w.sendMany(p, 0, 20, func(int) []kgo.RecordHeader { return []kgo.RecordHeader{header("x-delay", "1h")} })
				}
				time.Sleep(5 * time.Second)
				other := w.start()
				time.Sleep(test.before)
				w.DeleteTopic(ingress)
				time.Sleep(test.gone)
				w.CreateTopic(ingress, 2, nil)
				time.Sleep(30 * time.Second)
				const name = "layover_lost_to_retention_records_total"
				if one, two := in.metric(name), other.metric(name); one != test.first || two != 40-test.first {
					t.Errorf("%v and %v count as lost, want %v and %v", one, two, test.first, 40-test.first)
				}
				said := 0
				for _, line := range linesWith(in.logs.String(), "the topic was made again while records of it were parked: they are lost") {
					_, n, _ := strings.Cut(line, " topic=delayed records=")
					lost, err := strconv.Atoi(n)
					if err != nil || !strings.Contains(line, " level=ERROR ") {
						t.Errorf("%q: %v", line, err)
					}
					said += lost
				}
				if float64(said) != test.first {
					t.Errorf("the log says that %d are lost, want %v", said, test.first)
				}
				in.sums()
				other.sums()
				in.stop()
				other.stop()
			})
		})
	}
}

// sums fails the test where records are unaccounted for.
func (in *instance) sums() {
	in.w.Helper()
	if sum := in.at("counters", "unaccounted"); sum != 0.0 {
		in.w.Errorf("%v are unaccounted for", sum)
	}
}
