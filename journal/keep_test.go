package journal

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"layover/journal/facts"
	"layover/offsets"
	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestAMissingJournalIsMadeLikeItsIngressTopic compares with the broker's own account.
func TestAMissingJournalIsMadeLikeItsIngressTopic(t *testing.T) {
	inBubble(t, func(w *fixture) {
		if v := w.j.View().Topics[ingress]; v.State != "unknown" || v.Name != name || v.Warning+v.Error != "" {
			t.Errorf("before anything is asked: %+v", v)
		}
		w.run()
		w.Until(5*time.Second, "the journal is usable", func() bool { return w.last().Usable })
		info := w.Broker.TopicInfo(name)
		if n := len(w.Broker.PartitionInfos(name)); n != 3 {
			t.Errorf("%d partitions, want 3", n)
		}
		if want := w.Broker.TopicInfo(ingress).NumReplicas; info.NumReplicas != want {
			t.Errorf("%d replicas, want %d", info.NumReplicas, want)
		}
		for key, want := range map[string]string{"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"} {
			if v := info.Configs[key]; v == nil || *v != want {
				t.Errorf("%s is not %s", key, want)
			}
		}
		if s := w.last(); s.TopicID != info.TopicID || s.MaxBytes != 1_048_588-1024 {
			t.Errorf("state %+v, want id %x and Kafka's default less a KiB", s, info.TopicID)
		}
		time.Sleep(5 * time.Minute)
		if n := w.changed(); n != 1 {
			t.Errorf("%d changes, want 1", n)
		}
		if n := w.said("WARN"); n > 0 {
			t.Errorf("%d warnings, want none", n)
		}
		if v := w.j.View().Topics[ingress]; v.State != "usable" || v.Partitions != 3 || v.Warning != "" || v.Error != "" || v.Name != name || v.TopicID != info.TopicID {
			t.Errorf("view %+v", v)
		}
	})
}

// TestWithoutAutoNothingIsAskedOrMade: not even the topic's existence is looked at.
func TestWithoutAutoNothingIsAskedOrMade(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.cfg.Auto = false
		w.j = New(w.cfg)
		w.run()
		time.Sleep(time.Minute)
		if w.Broker.TopicInfo(name) != nil || w.changed() > 0 {
			t.Error("something was made or passed on")
		}
		if v := w.j.View().Topics[ingress]; v.State != "off" {
			t.Errorf("state %s, want off", v.State)
		}
	})
}

// TestARefusedCreationIsSaidOnceAndATopicThatAppearsIsUsed: the line has what an
// operator needs.
func TestARefusedCreationIsSaidOnceAndATopicThatAppearsIsUsed(t *testing.T) {
	inBubble(t, func(w *fixture) {
		end := w.Refuse(kmsg.CreateTopics, kfake.Fault{Topic: name, Err: kerr.TopicAuthorizationFailed}).Remove
		defer end()
		w.run()
		time.Sleep(20 * time.Minute)
		w.sayOnce("WARN", "Create on topic "+name, "Create on the cluster",
			"kafka-topics.sh --bootstrap-server $KAFKA_BROKERS --create --topic "+name+" --partitions 3 --replication-factor 2 --config cleanup.policy=delete --config retention.ms=-1 --config retention.bytes=-1")
		if w.changed() > 0 {
			t.Errorf("passed on: %+v", w.last())
		}
		if v := w.j.View().Topics[ingress]; v.State != "missing" || !strings.Contains(v.Warning, "Create on topic") {
			t.Errorf("view %+v", v)
		}
		time.Sleep(20 * time.Minute)
		if n := w.said("WARN", "Create on topic"); n != 2 {
			t.Errorf("said %d times in 40 min, want 2", n)
		}
		id := w.makeJournal(3)
		w.Until(3*time.Second, "the journal is usable", func() bool { return w.last().Usable && w.last().TopicID == id })
		if v := w.j.View().Topics[ingress]; v.Warning != "" {
			t.Errorf("warning %q is kept", v.Warning)
		}
	})
}

// TestANameThatNoTopicCanHaveIsSaidAndNeverUsed names the way out.
func TestANameThatNoTopicCanHaveIsSaidAndNeverUsed(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.cfg.Name = func(s string) string { return s + strings.Repeat("x", 249) }
		w.j = New(w.cfg)
		w.run()
		time.Sleep(time.Minute)
		w.sayOnce("WARN", "LAYOVER_JOURNAL_TOPIC")
		if v := w.j.View().Topics[ingress]; v.State != "illegal name" || w.changed() > 0 {
			t.Errorf("view %+v, %d changes", v, w.changed())
		}
	})
}

// TestAJournalGrowsWithItsIngressTopic also when the first try is refused.
func TestAJournalGrowsWithItsIngressTopic(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.run()
		w.Until(5*time.Second, "the journal is usable", func() bool { return w.last().Usable })
		end := w.Refuse(kmsg.CreatePartitions, kfake.Fault{Topic: name, Err: kerr.TopicAuthorizationFailed}).Remove
		if _, err := w.Admin().UpdatePartitions(context.Background(), 5, ingress); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		w.sayOnce("WARN", "kafka-topics.sh --bootstrap-server $KAFKA_BROKERS --alter --topic "+name+" --partitions 5", "Alter on topic")
		if !w.last().Usable || w.changed() != 1 {
			t.Errorf("state %+v after %d changes: its partitions are usable", w.last(), w.changed())
		}
		var result facts.Result
		w.j.Write(offsets.TopicPartition{Topic: ingress, Partition: 4}, facts.Write{Seq: 9, Value: []byte("v")}, func(r facts.Result) { result = r })
		if result.Err == nil || result.Seq != 9 {
			t.Errorf("a record for a partition that is not there: %+v", result)
		}
		end()
		w.Until(2*time.Minute, "the journal has 5 partitions", func() bool { return len(w.Broker.PartitionInfos(name)) == 5 })
		time.Sleep(5 * time.Second)
		if v := w.j.View().Topics[ingress]; v.Partitions != 5 || v.Warning != "" {
			t.Errorf("view %+v", v)
		}
		if n := len(w.Broker.PartitionInfos(ingress)); n != 5 {
			t.Errorf("ingress has %d partitions", n)
		}
	})
}

// TestAConfigurationThatDeletesFactsIsSaidUntilItIsMended while everything runs.
func TestAConfigurationThatDeletesFactsIsSaidUntilItIsMended(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.run()
		w.Until(5*time.Second, "the journal is usable", func() bool { return w.last().Usable })
		set := func(key, value string) {
			if _, err := w.Admin().AlterTopicConfigs(context.Background(), []kadm.AlterConfig{{Name: key, Value: &value}}, name); err != nil {
				t.Fatal(err)
			}
		}
		set("retention.ms", "604800000")
		set("cleanup.policy", "compact")
		set("max.message.bytes", "2000")
		time.Sleep(3 * time.Minute)
		w.sayOnce("WARN", "retention.ms=604800000", "cleanup.policy=compact", "delivered again",
			"kafka-configs.sh --bootstrap-server $KAFKA_BROKERS --alter --entity-type topics --entity-name "+name+" --add-config cleanup.policy=delete,retention.ms=-1")
		if v := w.j.View().Topics[ingress]; !strings.Contains(v.Warning, "retention.ms=604800000") {
			t.Errorf("view %+v", v)
		}
		if s := w.last(); !s.Usable || s.MaxBytes != 1500 {
			t.Errorf("state %+v, want 1500 bytes of 2000", s)
		}
		set("retention.ms", "-1")
		set("cleanup.policy", "delete")
		time.Sleep(3 * time.Minute)
		w.sayOnce("INFO", "journal topic keeps facts again")
		if v := w.j.View().Topics[ingress]; v.Warning != "" {
			t.Errorf("view %+v", v)
		}
	})
}

// TestAConfigurationThatCannotBeReadIsSaidOnce and the journal is used.
func TestAConfigurationThatCannotBeReadIsSaidOnce(t *testing.T) {
	inBubble(t, func(w *fixture) {
		defer w.Refuse(kmsg.DescribeConfigs, kfake.Fault{Resource: name, Err: kerr.TopicAuthorizationFailed}).Remove()
		w.run()
		time.Sleep(10 * time.Minute)
		w.sayOnce("WARN", "DescribeConfigs on topic "+name)
		if s := w.last(); !s.Usable || s.MaxBytes != 1_048_588-1024 {
			t.Errorf("state %+v", s)
		}
	})
}

// TestAJournalThatIsDeletedIsMadeAgainAndItsNewIDPassedOn goes through unusable.
func TestAJournalThatIsDeletedIsMadeAgainAndItsNewIDPassedOn(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.run()
		w.Until(5*time.Second, "the journal is usable", func() bool { return w.last().Usable })
		first := w.last().TopicID
		w.DeleteTopic(name)
		w.Until(20*time.Second, "another journal is usable", func() bool { return w.last().Usable && w.last().TopicID != first })
		if w.changed() != 3 || w.changes[1].Usable {
			t.Errorf("changes %+v, want usable, not, usable", w.changes)
		}
		if w.last().TopicID != w.Broker.TopicInfo(name).TopicID {
			t.Error("not the id that the broker has")
		}
		w.sayOnce("ERROR", "journal topic was deleted")
	})
}

// TestAJournalMadeAgainBetweenTwoAnswersIsPassedOn although nobody saw it missing.
func TestAJournalMadeAgainBetweenTwoAnswersIsPassedOn(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.run()
		w.Until(5*time.Second, "the journal is usable", func() bool { return w.last().Usable })
		w.DeleteTopic(name)
		id := w.makeJournal(3)
		time.Sleep(3 * time.Second)
		if s := w.last(); s.TopicID != id || !s.Usable || w.changed() != 2 {
			t.Errorf("changes %+v", w.changes)
		}
		w.sayOnce("ERROR", "deleted and made again")
	})
}

// TestAJournalThatAnotherProcessMakesIsNoRefusal: all start at once.
func TestAJournalThatAnotherProcessMakesIsNoRefusal(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.CreateTopics}, Topic: name, Err: kerr.TopicAlreadyExists, Count: 1})
		w.run()
		time.Sleep(500 * time.Millisecond)
		id := w.makeJournal(3)
		w.Until(3*time.Second, "the journal is usable", func() bool { return w.last().Usable && w.last().TopicID == id })
		if n := w.said("WARN"); n > 0 {
			t.Errorf("%d warnings", n)
		}
	})
}

// TestATopicThatMayNotBeWrittenIsNotUsable as a broker that says what is allowed tells;
// one that does not say is believed when it refuses.
func TestATopicThatMayNotBeWrittenIsNotUsable(t *testing.T) {
	for what, c := range map[string]struct {
		operations int32
		usable     bool
	}{
		"write": {1 << kmsg.ACLOperationWrite, true}, "read": {1 << kmsg.ACLOperationRead, false}, "not said": {-2147483648, true}, "none": {0, true},
	} {
		var logs kafkatest.Log
		j := New(Config{Ingress: []string{ingress}, Name: func(string) string { return name }, Auto: true, Log: slog.New(slog.NewTextHandler(&logs, nil))})
		rt := kmsg.NewMetadataResponseTopic()
		rt.TopicID, rt.AuthorizedOperations, rt.Partitions = [16]byte{1}, c.operations, make([]kmsg.MetadataResponseTopicPartition, 1)
		j.keeper.note(j.keeper.find(j.journals, ingress), &rt)
		if got := j.keeper.find(j.journals, ingress).now().usable; got != c.usable || strings.Contains(logs.String(), "allow Write on topic "+name) == c.usable {
			t.Errorf("%s: usable %v, log %s", what, got, logs.String())
		}
	}
}

// TestOneAnswerThatDoesNotKnowTheJournalIsNotBelieved is a broker that has just started.
func TestOneAnswerThatDoesNotKnowTheJournalIsNotBelieved(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.run()
		w.Until(5*time.Second, "the journal is usable", func() bool { return w.last().Usable })
		h := w.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: name, Err: kerr.UnknownTopicOrPartition, Count: 1})
		time.Sleep(time.Minute)
		if h.Hits() != 1 {
			t.Fatalf("%d answers", h.Hits())
		}
		if w.changed() != 1 || w.said("ERROR") > 0 {
			t.Errorf("changes %+v", w.changes)
		}
	})
}

// TestRunEndsAtOnceWhenNoBrokerAnswers although requests wait.
func TestRunEndsAtOnceWhenNoBrokerAnswers(t *testing.T) {
	inBubble(t, func(w *fixture) {
		lonely := w.kafka()
		defer lonely.Close()
		w.dead["localhost:9092"], w.dead["localhost:9093"] = true, true
		w.cfg.Client = lonely
		w.j = New(w.cfg)
		w.run()
		time.Sleep(12*time.Second + 300*time.Millisecond)
		began := time.Now()
		w.stop()
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("took %v", took)
		}
		w.dead = nil
	})
}
