package journal

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestARunsTopicThatMayNotBeSeenIsSaidUntilItMay, each time, and is not made.
func TestARunsTopicThatMayNotBeSeenIsSaidUntilItMay(t *testing.T) {
	inBubbleWithRuns(t, func(w *runsFixture) {
		w.run()
		w.used()
		was := w.is()
		for round := range 2 {
			sick := w.Refuse(kmsg.Metadata, kfake.Fault{Topic: runsName, Err: kerr.TopicAuthorizationFailed})
			time.Sleep(5 * time.Minute)
			want := was
			want.Usable = false
			if w.is() != want || w.view().State != "forbidden" || !strings.Contains(w.view().Warning, "Describe on topic "+runsName) {
				t.Errorf("round %d: heard %+v, view %+v", round, w.is(), w.view())
			}
			w.agrees()
			if n := w.said("WARN", "runs topic may not be used, and records that are due far off stay in memory", "allow Describe on topic "+runsName); n != round+1 {
				t.Errorf("round %d: said %d times", round, n)
			}
			sick.Remove()
			w.used()
			if n := w.said("INFO", "runs topic may be used"); n != round+1 || w.is() != was || w.view().Warning != "" {
				t.Errorf("round %d, allowed again: said %d times, view %+v", round, n, w.view())
			}
			time.Sleep(time.Minute)
		}
	})
}

// TestARunsTopicIsReadAndWritten, so that both rights are needed.
func TestARunsTopicIsReadAndWritten(t *testing.T) {
	const read, write = 1 << kmsg.ACLOperationRead, 1 << kmsg.ACLOperationWrite
	for what, c := range map[string]struct {
		operations int32
		lacks      string
	}{
		"both": {read | write, ""}, "read": {read, "Write"}, "write": {write, "Read"}, "not said": {-2147483648, ""}, "none": {0, ""},
	} {
		var logs kafkatest.Log
		j := New(Config{Ingress: []string{ingress}, Name: func(string) string { return name }, Log: slog.New(slog.NewTextHandler(&logs, nil)),
			Runs: &RunsConfig{Name: func(string) string { return runsName }}})
		rt := kmsg.NewMetadataResponseTopic()
		rt.TopicID, rt.AuthorizedOperations, rt.Partitions = [16]byte{1}, c.operations, make([]kmsg.MetadataResponseTopicPartition, 1)
		topic := j.keeper.find(j.runs, ingress)
		for _, known := range [][2]bool{{false, false}, {true, false}, {false, true}} {
			topic.read, topic.sharing.looked = known[0], known[1]
			if topic.state = usable; j.Runs(ingress).Usable {
				t.Errorf("%s: usable, and its settings %v and its records %v are known", what, known[0], known[1])
			}
		}
		topic.id, topic.read, topic.sharing.looked = rt.TopicID, true, true
		j.keeper.note(topic, &rt)
		if got := j.Runs(ingress).Usable; got != (c.lacks == "") || c.lacks != "" && !strings.Contains(logs.String(), "allow "+c.lacks+" on topic "+runsName) {
			t.Errorf("%s: usable %v, log %s", what, got, logs.String())
		}
		if got := j.View().Runs[ingress].Unreadable; got != (c.lacks == "Read") {
			t.Errorf("%s: unreadable %v", what, got)
		}
		rt.ErrorCode = kerr.TopicAuthorizationFailed.Code
		if j.keeper.note(topic, &rt); !j.View().Runs[ingress].Unreadable {
			t.Errorf("%s, and then no Describe: it can be read", what)
		}
	}
}

// TestNoRunsTopicIsMadeForAnIngressTopicThatIsNotThere, nor one of a name that none can have.
func TestNoRunsTopicIsMadeForAnIngressTopicThatIsNotThere(t *testing.T) {
	inBubbleWithRuns(t, func(w *runsFixture) {
		w.DeleteTopic(ingress)
		w.run()
		for _, key := range []kmsg.Key{kmsg.CreateTopics, kmsg.DescribeConfigs} {
			if n := w.counts(key, func() { time.Sleep(time.Minute) }); n > 0 {
				t.Errorf("%d requests of %s", n, kmsg.NameForKey(key.Int16()))
			}
		}
		if w.is() != (RunsTopic{Known: true}) || w.said("WARN")+w.said("ERROR") > 0 {
			t.Errorf("heard %+v", w.is())
		}
		w.CreateTopic(ingress, 4, nil)
		w.used()
		if w.is().Partitions != 4 {
			t.Errorf("heard %+v", w.is())
		}
		w.DeleteTopic(ingress)
		time.Sleep(3 * time.Second)
		w.DeleteTopic(runsName)
		if n := w.counts(kmsg.CreateTopics, func() { time.Sleep(time.Minute) }); n > 0 || w.is() != (RunsTopic{Known: true}) {
			t.Errorf("gone again: %d requests, heard %+v", n, w.is())
		}
	})
	inBubbleWithRuns(t, func(w *runsFixture) {
		w.cfg.Runs.Name = func(s string) string { return s + strings.Repeat("x", 249) }
		w.j = New(w.cfg)
		w.run()
		time.Sleep(time.Minute)
		w.sayOnce("WARN", "there is no runs topic, and records that are due far off stay in memory", "LAYOVER_RUNS_TOPIC")
		if w.is() != (RunsTopic{Known: true}) || w.view().State != "illegal name" || !w.last().Usable {
			t.Errorf("heard %+v, view %+v", w.heard, w.view())
		}
	})
}

// TestRunsTopicsAreKeptWithoutJournals, which are not asked about then.
func TestRunsTopicsAreKeptWithoutJournals(t *testing.T) {
	inBubbleWithRuns(t, func(w *runsFixture) {
		w.cfg.Auto = false
		w.j = New(w.cfg)
		var asked atomic.Bool
		w.Answer(kmsg.Metadata, func(r kmsg.Request) kmsg.Response {
			if slices.ContainsFunc(r.(*kmsg.MetadataRequest).Topics, func(t kmsg.MetadataRequestTopic) bool { return t.Topic != nil && *t.Topic == name }) {
				asked.Store(true)
			}
			return nil
		})
		w.run()
		w.used()
		time.Sleep(time.Minute)
		if asked.Load() || w.Broker.TopicInfo(name) != nil || w.changed() > 0 || w.j.View().Topics[ingress].State != "off" || w.j.View().Topics[ingress].Error != "" {
			t.Errorf("the journal: view %+v", w.j.View().Topics[ingress])
		}
	})
	inBubble(t, func(w *fixture) {
		if v := w.j.View(); v.Runs != nil || w.j.Runs(ingress) != (RunsTopic{}) {
			t.Errorf("without runs topics: %+v", v.Runs)
		}
	})
}

// TestASickRunsTopicIsNoMatterOfTheJournal, and the other way round.
func TestASickRunsTopicIsNoMatterOfTheJournal(t *testing.T) {
	for sick, well := range map[string]string{name: runsName, runsName: name} {
		inBubbleWithRuns(t, func(w *runsFixture) {
			defer w.Refuse(kmsg.CreateTopics, kfake.Fault{Topic: sick, Err: kerr.PolicyViolation}).Remove()
			w.run()
			time.Sleep(time.Minute)
			if w.last().Usable != (well == name) || w.is().Usable != (well == runsName) {
				t.Errorf("%s is sick: journal %+v, runs %+v", sick, w.last(), w.is())
			}
			if n := w.said("WARN"); n != 1 {
				t.Errorf("%d warnings, want 1", n)
			}
			v := w.j.View()
			if c := fmt.Sprint(v.Topics[ingress].Warning, v.Runs[ingress].Warning); strings.Count(c, "POLICY_VIOLATION") != 1 {
				t.Errorf("warnings %s", c)
			}
		})
	}
}
