package journal

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"layover/journal/runs"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const runsName = "delayed.layover.runs"

// runsFixture is a fixture whose journal keeps a runs topic, too.
type runsFixture struct {
	*fixture
	heard []RunsTopic // under mu
}

// inBubbleWithRuns is inBubble with a runs topic beside the journal.
func inBubbleWithRuns(t *testing.T, f func(w *runsFixture)) {
	t.Helper()
	inBubble(t, func(w *fixture) {
		r := &runsFixture{fixture: w}
		w.cfg.Runs = &RunsConfig{
			Name: func(s string) string { return s + ".layover.runs" },
			Changed: func(topic string, s RunsTopic) {
				w.mu.Lock()
				defer w.mu.Unlock()
				if topic != ingress {
					t.Errorf("heard of %s", topic)
				}
				r.heard = append(r.heard, s)
			},
		}
		w.j = New(w.cfg)
		f(r)
	})
}

// is returns what was heard last. Whoever asks has the same answer.
func (w *runsFixture) is() (s RunsTopic) {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.heard) > 0 {
		s = w.heard[len(w.heard)-1]
	}
	return s
}

func (w *runsFixture) hears() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.heard)
}

func (w *runsFixture) view() Topic { return w.j.View().Runs[ingress] }

// used waits until the topic is usable.
func (w *runsFixture) used() {
	w.Helper()
	w.Until(15*time.Second, "the runs topic is usable", func() bool { return w.is().Usable })
	w.agrees()
}

// agrees fails the test unless Runs and View say what was heard.
func (w *runsFixture) agrees() {
	w.Helper()
	s, v := w.is(), w.view()
	if got := w.j.Runs(ingress); got != s {
		w.Errorf("Runs says %+v, heard %+v", got, s)
	}
	if (v.State == "usable") != s.Usable || v.TopicID != s.TopicID || v.Partitions != s.Partitions || v.Name != runsName {
		w.Errorf("view %+v, heard %+v", v, s)
	}
}

func (w *runsFixture) set(topic, key, value string) {
	w.Helper()
	if _, err := w.Admin().AlterTopicConfigs(context.Background(), []kadm.AlterConfig{{Name: key, Value: &value}}, topic); err != nil {
		w.Fatal(err)
	}
}

// safe are the settings of a runs topic that somebody else has made.
var safe = map[string]string{"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1", "segment.bytes": "67108864", "max.message.bytes": "1114124"}

// owner is the fixture's own.
func (w *runsFixture) owner() runs.Owner {
	w.Helper()
	m, err := w.Admin().BrokerMetadata(context.Background())
	if err != nil {
		w.Fatal(err)
	}
	return runs.OwnerOf(m.Cluster, "layover", ingress)
}

// TestAMissingRunsTopicIsMadeLikeItsIngressTopic compares with the broker's own account.
func TestAMissingRunsTopicIsMadeLikeItsIngressTopic(t *testing.T) {
	inBubbleWithRuns(t, func(w *runsFixture) {
		w.set(ingress, "min.insync.replicas", "2")
		w.set(ingress, "max.message.bytes", "2000000")
		if v := w.view(); v.State != "unknown" || w.j.Runs(ingress) != (RunsTopic{}) || w.j.Runs("another") != (RunsTopic{}) {
			t.Errorf("before anything is asked: %+v, %+v", v, w.j.Runs(ingress))
		}
		w.run()
		w.used()
		info := w.Broker.TopicInfo(runsName)
		if n := len(w.Broker.PartitionInfos(runsName)); n != 3 {
			t.Errorf("%d partitions, want 3", n)
		}
		if want := w.Broker.TopicInfo(ingress).NumReplicas; info.NumReplicas != want {
			t.Errorf("%d replicas, want %d", info.NumReplicas, want)
		}
		for key, want := range map[string]string{
			"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1", "segment.bytes": "67108864",
			"min.insync.replicas": "2", "max.message.bytes": "2065536",
		} {
			if v := info.Configs[key]; v == nil || *v != want {
				t.Errorf("%s is not %s", key, want)
			}
		}
		if want := (RunsTopic{Known: true, Usable: true, TopicID: info.TopicID, MaxBytes: 2065536 - 1024, Partitions: 3}); w.is() != want {
			t.Errorf("heard %+v, want %+v", w.is(), want)
		}
		if a, b := w.j.MaxBatch(runsName), w.j.MaxBatch(name); a != 2065536 || b != defaultMaxBatch {
			t.Errorf("limits %d and %d of the journal", a, b)
		}
		w.sayOnce("INFO", "runs topic was made", "partitions=3")
		for key, most := range map[kmsg.Key]int{kmsg.Metadata: 330, kmsg.DescribeConfigs: 11} { // a look asks for leaders, before and after
			if n := w.counts(key, func() { time.Sleep(5 * time.Minute) }); n > most || n < 4 {
				t.Errorf("%d requests of %s in 5 min, want at most %d", n, kmsg.NameForKey(key.Int16()), most)
			}
		}
		if n := w.hears(); n != 2 || w.heard[0] != (RunsTopic{Known: true}) {
			t.Errorf("heard %+v, want that it is missing, and that it is usable", w.heard)
		}
		if n := w.said("WARN") + w.said("ERROR"); n > 0 || !w.last().Usable || w.changed() != 1 {
			t.Errorf("%d warnings, journal %+v", n, w.last())
		}
		if v := w.view(); v.Warning+v.Error != "" {
			t.Errorf("view %+v", v)
		}
	})
}

// TestWithoutTheRightToReadTheIngressTopicsSettingsTheRunsTopicHasTheBrokers: the log has
// nothing about it from here.
func TestWithoutTheRightToReadTheIngressTopicsSettingsTheRunsTopicHasTheBrokers(t *testing.T) {
	inBubbleWithRuns(t, func(w *runsFixture) {
		w.set(ingress, "min.insync.replicas", "2")
		w.set(ingress, "max.message.bytes", "2000000")
		sick := w.Refuse(kmsg.DescribeConfigs, kfake.Fault{Resource: ingress, Err: kerr.TopicAuthorizationFailed})
		w.run()
		w.used()
		info := w.Broker.TopicInfo(runsName)
		if a, b := info.Configs["min.insync.replicas"], info.Configs["max.message.bytes"]; a != nil || b != nil || *info.Configs["retention.ms"] != "-1" {
			t.Errorf("made with %v", info.Configs)
		}
		if s := w.is(); s.MaxBytes != defaultMaxBatch-1024 {
			t.Errorf("heard %+v", s)
		}
		time.Sleep(5 * time.Minute)
		if n := w.said("WARN") + w.said("ERROR"); n > 0 {
			t.Errorf("%d warnings", n)
		}
		sick.Remove()
		time.Sleep(2 * time.Minute)
		w.sayOnce("WARN", "settings that do not suit it", "max.message.bytes=1048588", "stay in memory", "--add-config max.message.bytes=2065536")
		if !w.is().Usable || !strings.Contains(w.view().Warning, "max.message.bytes=1048588") {
			t.Errorf("heard %+v, view %+v", w.is(), w.view())
		}
		again := w.Refuse(kmsg.DescribeConfigs, kfake.Fault{Resource: ingress, Err: kerr.TopicAuthorizationFailed})
		time.Sleep(2 * time.Minute)
		if !strings.Contains(w.view().Warning, "max.message.bytes=1048588") { // the last answer counts
			t.Errorf("view %+v", w.view())
		}
		again.Remove()
		w.set(runsName, "max.message.bytes", "2065536")
		time.Sleep(2 * time.Minute)
		w.sayOnce("INFO", "runs topic has settings that suit it")
		if s := w.is(); s.MaxBytes != 2065536-1024 || w.view().Warning != "" {
			t.Errorf("heard %+v, view %+v", s, w.view())
		}
	})
}

// TestARunsTopicIsNotMadeBeforeTheIngressTopicsSettingsAreAnswered: without an answer they
// are not known to be out of reach. The journal does not wait for that.
func TestARunsTopicIsNotMadeBeforeTheIngressTopicsSettingsAreAnswered(t *testing.T) {
	inBubbleWithRuns(t, func(w *runsFixture) {
		w.set(ingress, "min.insync.replicas", "2")
		var whole atomic.Bool
		asked := w.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.DescribeConfigs}, Count: -1, Observe: true})
		w.Answer(kmsg.DescribeConfigs, func(r kmsg.Request) kmsg.Response {
			if whole.Load() {
				return nil
			}
			return r.ResponseKind()
		})
		w.run()
		time.Sleep(time.Minute)
		if w.Broker.TopicInfo(runsName) != nil || !w.last().Usable {
			t.Error("the runs topic is made, or the journal is not")
		}
		if v := w.view(); v.State != "missing" || !strings.Contains(v.Error, "configuration of "+ingress) {
			t.Errorf("view %+v", v)
		}
		if n := asked.Hits(); n > 13 { // six times for each topic
			t.Errorf("asked %d times in a minute", n)
		}
		whole.Store(true)
		w.used()
		if v := w.Broker.TopicInfo(runsName).Configs["min.insync.replicas"]; v == nil || *v != "2" {
			t.Error("min.insync.replicas is not 2")
		}
		if v := w.view(); v.Error != "" {
			t.Errorf("view %+v", v)
		}
	})
}

// TestARunsTopicThatMayNotBeMadeIsSaidEveryHalfHourAndUsedOnceItIsThere: the line has what
// an operator needs.
func TestARunsTopicThatMayNotBeMadeIsSaidEveryHalfHourAndUsedOnceItIsThere(t *testing.T) {
	inBubbleWithRuns(t, func(w *runsFixture) {
		w.set(ingress, "min.insync.replicas", "2")
		w.set(ingress, "max.message.bytes", "2000000")
		sick := w.Refuse(kmsg.CreateTopics, kfake.Fault{Topic: runsName, Err: kerr.TopicAuthorizationFailed})
		w.run()
		time.Sleep(20 * time.Minute)
		w.sayOnce("WARN", "runs topic cannot be made, and records that are due far off stay in memory", "allow Create on topic "+runsName,
			"kafka-topics.sh --bootstrap-server $KAFKA_BROKERS --create --topic "+runsName+" --partitions 3 --replication-factor 2 --config cleanup.policy=delete --config retention.ms=-1 --config retention.bytes=-1 "+
				"--config segment.bytes=67108864 --config min.insync.replicas=2 --config max.message.bytes=2065536")
		if w.is() != (RunsTopic{Known: true}) || w.view().State != "missing" || !strings.Contains(w.view().Warning, "Create on topic") || !w.last().Usable {
			t.Errorf("heard %+v, view %+v", w.is(), w.view())
		}
		w.agrees()
		time.Sleep(20 * time.Minute)
		if n := w.said("WARN", "runs topic cannot be made"); n != 2 {
			t.Errorf("said %d times in 40 min, want 2", n)
		}
		sick.Remove()
		w.Until(2*time.Minute, "it is made", func() bool { return w.is().Usable })
		w.sayOnce("INFO", "runs topic is there")
		if v := w.view(); v.Warning+v.Error != "" {
			t.Errorf("view %+v", v)
		}
	})
}

// TestARunsTopicGrowsWithItsIngressTopic, and its users hear how far it is.
func TestARunsTopicGrowsWithItsIngressTopic(t *testing.T) {
	inBubbleWithRuns(t, func(w *runsFixture) {
		w.run()
		w.used()
		sick := w.Refuse(kmsg.CreatePartitions, kfake.Fault{Topic: runsName, Err: kerr.TopicAuthorizationFailed})
		if _, err := w.Admin().UpdatePartitions(context.Background(), 5, ingress); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		w.sayOnce("WARN", "runs topic has fewer partitions", "stay in memory", "allow Alter on topic "+runsName, "--alter --topic "+runsName+" --partitions 5")
		if s := w.is(); !s.Usable || s.Partitions != 3 || w.hears() != 2 {
			t.Errorf("heard %+v", w.heard)
		}
		sick.Remove()
		w.Until(2*time.Minute, "it has 5 partitions", func() bool { return w.is().Partitions == 5 })
		w.agrees()
		if !w.is().Usable || w.hears() != 3 || w.view().Warning != "" || w.changed() != 1 {
			t.Errorf("heard %+v, view %+v, %d changes of the journal", w.heard, w.view(), w.changed())
		}
		w.sayOnce("INFO", "runs topic has a partition for each")
	})
}

// TestARunsTopicThatIsDeletedIsMadeAgain, and its users hear each: the line says that its
// records are gone.
func TestARunsTopicThatIsDeletedIsMadeAgain(t *testing.T) {
	inBubbleWithRuns(t, func(w *runsFixture) {
		w.run()
		w.used()
		first := w.is()
		w.DeleteTopic(runsName)
		w.Until(20*time.Second, "another one is usable", func() bool { return w.is().Usable && w.is().TopicID != first.TopicID })
		w.agrees()
		if w.hears() != 4 || w.heard[2] != (RunsTopic{Known: true}) || w.is().TopicID != w.Broker.TopicInfo(runsName).TopicID {
			t.Errorf("heard %+v", w.heard)
		}
		w.sayOnce("ERROR", "runs topic was deleted, and its records are gone", "lost")
		if n := w.said("ERROR"); n != 1 || w.changed() != 1 {
			t.Errorf("%d errors, %d changes of the journal", n, w.changed())
		}
	})
}

// TestARunsTopicMadeAgainBetweenTwoAnswersIsNotUsedBeforeItIsKnown, whatever was known of
// the one before.
func TestARunsTopicMadeAgainBetweenTwoAnswersIsNotUsedBeforeItIsKnown(t *testing.T) {
	for what, sick := range map[string]kfake.Fault{
		"its settings": {Keys: []kmsg.Key{kmsg.DescribeConfigs}, Resource: runsName, Err: kerr.KafkaStorageError},
		"its records":  {Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: runsName, Err: kerr.LeaderNotAvailable},
		"nothing":      {},
	} {
		t.Run(what, func(t *testing.T) {
			inBubbleWithRuns(t, func(w *runsFixture) {
				w.run()
				w.used()
				first := w.is()
				remove := func() {}
				if sick.Keys != nil {
					remove = func(h *kfake.FaultHandle) func() { return func() { h.Remove() } }(w.Refuse(sick.Keys[0], sick))
				}
				w.DeleteTopic(runsName)
				id := w.CreateTopic(runsName, 3, safe)
				time.Sleep(10 * time.Second)
				w.sayOnce("ERROR", "deleted and made again, and its records are gone")
				if s := w.is(); s.TopicID != id || s.TopicID == first.TopicID || s.Usable != (sick.Keys == nil) {
					t.Errorf("heard %+v, view %+v", s, w.view())
				}
				w.agrees()
				remove()
				w.used()
				if w.is().TopicID != id {
					t.Errorf("heard %+v", w.is())
				}
			})
		})
	}
}

// TestARunsTopicThatIsNotKeptIsLookedForAlone: copies from before are delivered though nothing more is
// moved.
func TestARunsTopicThatIsNotKeptIsLookedForAlone(t *testing.T) {
	inBubbleWithRuns(t, func(w *runsFixture) {
		w.cfg.Runs.Keep = func(string) bool { return false }
		w.j = New(w.cfg)
		w.run()
		time.Sleep(5 * time.Second)
		if s := w.j.Runs(ingress); s.TopicID != (offsets.TopicID{}) || !s.Known {
			t.Fatalf("%+v: it was made, or nobody asked", s)
		}
		w.CreateTopic(runsName, 1, map[string]string{"retention.ms": "1000"})
		time.Sleep(5 * time.Second)
		if s := w.is(); s.TopicID == (offsets.TopicID{}) || s.Usable || s.Partitions != 1 {
			t.Errorf("%+v, want an id, one partition and not usable", s)
		}
		if v := w.view(); v.State != "off" || v.Warning != "" {
			t.Errorf("%+v", v)
		}
	})
}
