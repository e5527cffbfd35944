package doctor

import (
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"layover/cluster"
)

// TestATopicThatWasTakenOutOfTheSettingsIsFoundWhileRecordsWait, in it or in its runs topic.
func TestATopicThatWasTakenOutOfTheSettingsIsFoundWhileRecordsWait(t *testing.T) {
	inBubble(t, 3, func(w *fixture) {
		group := w.cfg.GroupID
		w.is(w.run()["left-topics"], OK) // the group has never been
		at := func(topic string, partition int32, offset int64) kadm.Offset {
			return kadm.Offset{Topic: topic, Partition: partition, At: offset, LeaderEpoch: -1}
		}
		topics := map[string]int64{"waits": 3, "through": 5, "moved": 5, "gone": 1} // the committed offset of five records
		for name, offset := range topics {
			w.CreateTopic(name, 2, nil)
			for range 5 {
				w.Produce(&kgo.Record{Topic: name, Partition: 1, Value: []byte("x")})
			}
			w.Commit(group, at(name, 1, offset))
		}
		w.Commit(group, at("delayed", 0, 0))
		w.Produce(&kgo.Record{Topic: "delayed", Value: []byte("x")}) // which the settings have
		w.CreateTopic(w.cfg.RunsName("moved"), 2, nil)
		w.CreateTopic(w.cfg.JournalName("moved"), 2, nil)
		w.Produce(&kgo.Record{Topic: w.cfg.RunsName("moved"), Partition: 1, Value: []byte("x")}, &kgo.Record{Topic: w.cfg.RunsName("moved"), Partition: 1, Value: []byte("x")})
		w.DeleteTopic("gone")
		found := w.run()["left-topics"]
		w.is(found, Warn, "waits is not in LAYOVER_INGRESS_TOPICS any more", "up to 2 records there, up to 0 in its runs topic",
			"moved is not in", "up to 0 records there, up to 2 in its runs topic",
			"--delete-offsets --group "+group+" --topic waits", "do not put it back after that",
			"LAYOVER_INGRESS_TOPICS=moved LAYOVER_GROUP_ID="+group+" layover runs show\n",
			"--delete-offsets --group "+group+" --topic moved\nkafka-topics.sh --bootstrap-server "+strings.Join(w.cfg.Kafka.Brokers, ",")+" --delete --topic "+w.cfg.RunsName("moved"),
			"--delete --topic "+w.cfg.JournalName("moved"))
		for _, fine := range []string{"through", "gone", "delayed is", "--delete --topic waits", "--delete --topic moved\n"} {
			if strings.Contains(found.Found+found.Fix, fine) {
				w.Errorf("%s is told: %s\n%s", fine, found.Found, found.Fix)
			}
		}
		w.cfg = settings(t, "KAFKA_BROKERS="+strings.Join(w.cfg.Kafka.Brokers, ","), "LAYOVER_JOURNAL_TOPIC={ingress}."+group) // other groups have it too
		if found := w.run()["left-topics"]; strings.Contains(found.Fix, "--delete --topic "+w.cfg.JournalName("moved")+"\n") || !strings.Contains(found.Fix, w.cfg.RunsName("moved")) {
			w.Errorf("a shared journal is given up: %s", found.Fix)
		}
		w.Refuse(kmsg.ListOffsets, kfake.Fault{Topic: "waits", Err: kerr.TopicAuthorizationFailed})
		w.is(w.run()["left-topics"], Warn, "moved is not in", "whether records wait in waits", "TOPIC_AUTHORIZATION_FAILED")
		w.Refuse(kmsg.OffsetFetch, kfake.Fault{Err: kerr.GroupAuthorizationFailed})
		w.is(w.run()["left-topics"], Unknown, "Read on group "+group)
	})
}

// TestATopicThatAMemberReadsIsNotLeft: it may have settings before or after these.
func TestATopicThatAMemberReadsIsNotLeft(t *testing.T) {
	f := healthy(t)
	f.join("layover", "delayed", "other")
	for topic, reads := range map[string]bool{"delayed": true, "other": true, "left": false} {
		if f.reads(topic) != reads {
			t.Errorf("%s is read: %v", topic, !reads)
		}
	}
	var gone, denied leftTopic
	for n, err := range map[*leftTopic]error{&gone: cluster.ErrMissing, &denied: errors.New("broken pipe")} {
		n.add(&n.waiting, cluster.Bounds{End: 9, Err: err}, 0)
	}
	if gone.err != nil || denied.err == nil || gone.waiting+denied.waiting > 0 {
		t.Errorf("%+v, %+v", gone, denied)
	}
}

// TestCopiesBesideALeftTopicsPartitionsAreCounted: it was made again with fewer, before it was taken out of the settings.
func TestCopiesBesideALeftTopicsPartitionsAreCounted(t *testing.T) {
	inBubble(t, 2, func(w *fixture) {
		runs := w.cfg.RunsName("shrunk")
		w.CreateTopic("shrunk", 1, nil)
		w.CreateTopic(runs, 3, nil)
		w.Commit(w.cfg.GroupID, kadm.Offset{Topic: "shrunk", At: 0, LeaderEpoch: -1})
		w.is(w.run()["left-topics"], OK)
		w.Produce(&kgo.Record{Topic: runs, Partition: 2, Value: []byte("x")}, &kgo.Record{Topic: runs, Partition: 2, Value: []byte("x")})
		w.is(w.run()["left-topics"], Warn, "shrunk is not in LAYOVER_INGRESS_TOPICS any more", "up to 0 records there, up to 2 in its runs topic")
		w.Refuse(kmsg.Metadata, kfake.Fault{Topic: runs, Err: kerr.TopicAuthorizationFailed})
		w.is(w.run()["left-topics"], Unknown, "whether records wait in shrunk")
	})
}

// TestCopiesOfALeftTopicThatNobodyTellsAreNotCalledNone: a broker has just started, or the runs topic may not be looked at.
// The advice deletes what waits.
func TestCopiesOfALeftTopicThatNobodyTellsAreNotCalledNone(t *testing.T) {
	for err, want := range map[*kerr.Error]string{
		kerr.UnknownTopicOrPartition:  "there may be more: brokers do not agree whether its runs topic exists",
		kerr.TopicAuthorizationFailed: "TOPIC_AUTHORIZATION_FAILED",
	} {
		inBubble(t, 2, func(w *fixture) {
			runs := w.cfg.RunsName("shrunk")
			w.CreateTopic("shrunk", 1, nil)
			w.CreateTopic(runs, 3, nil)
			w.Commit(w.cfg.GroupID, kadm.Offset{Topic: "shrunk", At: 0, LeaderEpoch: -1})
			w.Produce(&kgo.Record{Topic: "shrunk", Value: []byte("x")}, &kgo.Record{Topic: runs, Partition: 2, Value: []byte("x")})
			fault := kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: runs, Err: err}
			if err == kerr.TopicAuthorizationFailed {
				fault.Count = -1
			}
			w.Broker.Fault(fault)
			w.is(w.run()["left-topics"], Warn, "up to 1 record there, up to 0 in its runs topic, and there may be more: ", want)
		})
	}
}

// TestATopicThatNobodyAskedAboutIsNoLeftOne: brokers that are not Kafka's may answer so, and the doctor goes on.
func TestATopicThatNobodyAskedAboutIsNoLeftOne(t *testing.T) {
	inBubble(t, 1, func(w *fixture) {
		runs := w.cfg.RunsName("left")
		w.CreateTopic("left", 1, nil)
		w.Commit(w.cfg.GroupID, kadm.Offset{Topic: "left", At: 0, LeaderEpoch: -1})
		w.Broker.ControlKey(kmsg.Metadata.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
			w.Broker.KeepControl()
			asked := req.(*kmsg.MetadataRequest).Topics
			if len(asked) != 1 || asked[0].Topic == nil || *asked[0].Topic != runs {
				return nil, nil, false
			}
			resp := req.ResponseKind().(*kmsg.MetadataResponse)
			b := kmsg.NewMetadataResponseBroker()
			b.Host, b.Port = "localhost", 9092
			resp.Brokers = append(resp.Brokers, b)
			for _, name := range []string{runs, "stranger"} {
				topic := kmsg.NewMetadataResponseTopic()
				topic.Topic, topic.Partitions = kmsg.StringPtr(name), []kmsg.MetadataResponseTopicPartition{kmsg.NewMetadataResponseTopicPartition()}
				resp.Topics = append(resp.Topics, topic)
			}
			return resp, nil, true
		})
		w.is(w.run()["left-topics"], OK)
	})
}
