package journal

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"layover/journal/runs"
	"layover/offsets"
	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestARunsTopicWithTheCopiesOfOthersIsNotUsedUntilTheyAreGone: each owner would delete the
// other's records.
func TestARunsTopicWithTheCopiesOfOthersIsNotUsedUntilTheyAreGone(t *testing.T) {
	for what, others := range map[string]func(w *runsFixture){
		"a copy of another group":       func(w *runsFixture) { w.copyOf(runs.OwnerOf("kfake", "billing", ingress), 1, 1) },
		"a copy of another cluster":     func(w *runsFixture) { w.copyOf(runs.OwnerOf("elsewhere", "layover", ingress), 1, 1) },
		"a copy of another topic":       func(w *runsFixture) { w.copyOf(runs.OwnerOf("kfake", "layover", "other"), 1, 1) },
		"a copy of another partition":   func(w *runsFixture) { w.copyOf(w.owner(), 1, 2) },
		"a directory of another group":  func(w *runsFixture) { w.directoryOf(runs.OwnerOf("kfake", "billing", ingress)) },
		"two partitions of others have": func(w *runsFixture) { w.copyOf(7, 1, 1); w.copyOf(8, 2, 2) },
	} {
		t.Run(what, func(t *testing.T) {
			inBubbleWithRuns(t, func(w *runsFixture) {
				w.CreateTopic(runsName, 3, safe)
				w.copyOf(w.owner(), 0, 0)
				others(w)
				w.run()
				time.Sleep(5 * time.Minute)
				w.sayOnce("ERROR", "runs topic is not used, and records that are due far off stay in memory", "has copies of others", "LAYOVER_RUNS_TOPIC")
				if s := w.is(); s.Usable || s.Partitions != 3 || w.view().State != "refused" || !strings.Contains(w.view().Warning, "not written for these runs") {
					t.Errorf("heard %+v, view %+v", s, w.view())
				}
				w.agrees()
				w.copyOf(7, 1, 1)
				w.DeleteRecords(runsName, 1, 1) // whoever it is of goes on
				time.Sleep(5 * time.Minute)
				for p := range int32(2) {
					w.DeleteRecords(runsName, p+1, w.Broker.PartitionInfo(runsName, p+1).HighWatermark)
				}
				w.Until(2*time.Minute, "it is used once they are gone", func() bool { return w.is().Usable })
				if v := w.view(); v.Warning != "" {
					t.Errorf("view %+v", v)
				}
			})
		})
	}
}

// directoryOf appends an owner's directory to partition 1 of the runs topic.
func (w *runsFixture) directoryOf(owner runs.Owner) {
	w.Helper()
	value, err := runs.AppendDirectory(nil, runs.Identity{Owner: owner, Partition: 1}, &runs.Directory{})
	if err != nil {
		w.Fatal(err)
	}
	w.Produce(&kgo.Record{Topic: runsName, Partition: 1, Value: value})
}

// TestARunsTopicOfOneOwnerIsUsed, also with records that are nobody's. It is looked at once a
// minute, and a first record is read once.
func TestARunsTopicOfOneOwnerIsUsed(t *testing.T) {
	inBubbleWithRuns(t, func(w *runsFixture) {
		w.CreateTopic(runsName, 3, safe)
		w.copyOf(w.owner(), 0, 0)
		w.directoryOf(w.owner())
		pad := make([]byte, 900_000)
		for range 30 { // of which an answer holds one
			w.Produce(&kgo.Record{Topic: runsName, Partition: 2, Value: pad})
		}
		if n := w.counts(kmsg.Fetch, func() { w.run(); w.used() }); n < 1 || n > 5 { // two brokers lead three partitions
			t.Errorf("%d requests at first", n)
		}
		w.copyOf(7, 0, 0)                                                                          // behind the first: those who read it find it
		for key, of := range map[kmsg.Key][2]int{kmsg.Fetch: {0, 0}, kmsg.ListOffsets: {27, 70}} { // a look asks one or two leaders for three bounds
			if n := w.counts(key, func() { time.Sleep(10 * time.Minute) }); n < of[0] || n > of[1] {
				t.Errorf("%d requests of %s in 10 min, want %v", n, kmsg.NameForKey(key.Int16()), of)
			}
		}
		if !w.is().Usable || w.said("ERROR")+w.said("WARN") > 0 {
			t.Errorf("view %+v", w.view())
		}
		sick := w.Refuse(kmsg.ListOffsets, kfake.Fault{Topic: runsName, Partitions: []int32{1}, Err: kerr.LeaderNotAvailable})
		time.Sleep(3 * time.Minute)
		if !w.is().Usable { // the last look counts
			t.Errorf("without a leader: view %+v", w.view())
		}
		sick.Remove()
		time.Sleep(time.Minute)
		w.DeleteRecords(runsName, 0, 1)
		time.Sleep(2 * time.Minute)
		if w.is().Usable || !strings.Contains(w.view().Warning, "partition 0 has copies of others") {
			t.Errorf("the other one is the first: view %+v", w.view())
		}
	})
}

// TestAFirstBatchThatNobodyCanReadIsNobodyElses, and is not fetched again and again.
func TestAFirstBatchThatNobodyCanReadIsNobodyElses(t *testing.T) {
	inBubbleWithRuns(t, func(w *runsFixture) {
		w.CreateTopic(runsName, 3, safe)
		w.ProduceBatch(runsName, kafkatest.Batch(func(*kmsg.RecordBatch) {}))
		w.copyOf(w.owner(), 1, 1)
		w.run()
		w.used()
		if n := w.counts(kmsg.Fetch, func() { time.Sleep(10 * time.Minute) }); n > 0 {
			t.Errorf("%d requests in 10 min", n)
		}
		if n := w.said("ERROR") + w.said("WARN"); n > 0 || !w.is().Usable {
			t.Errorf("%d lines, view %+v", n, w.view())
		}
	})
}

// TestManyRunsTopicsThatAreSickDoNotHoldUpTheKeeper: they are looked at together.
func TestManyRunsTopicsThatAreSickDoNotHoldUpTheKeeper(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.cfg.Ingress, w.cfg.Runs = nil, &RunsConfig{Name: func(s string) string { return s + ".runs" }, Changed: func(string, RunsTopic) {}}
		for n := range 12 {
			topic := fmt.Sprintf("in-%d", n)
			w.cfg.Ingress = append(w.cfg.Ingress, topic)
			w.CreateTopic(topic, 1, nil)
			w.CreateTopic(topic+".runs", 1, safe)
			w.Produce(&kgo.Record{Topic: topic + ".runs", Value: []byte("v")})
		}
		w.j = New(w.cfg)
		defer w.Refuse(kmsg.Fetch, kfake.Fault{Err: kerr.LeaderNotAvailable}).Remove()
		w.run()
		time.Sleep(5 * time.Minute)
		if n := w.j.Turns().Keeper; n < 150 { // a look takes 2 s, every 5 s
			t.Errorf("%d turns in 5 min", n)
		}
		for topic, v := range w.j.View().Runs {
			if v.State != "refused" || !strings.Contains(v.Warning, "is not known") {
				t.Errorf("%s: %+v", topic, v)
			}
		}
	})
}

// TestARunsTopicIsNotUsedBeforeAllOfItIsLookedAt.
func TestARunsTopicIsNotUsedBeforeAllOfItIsLookedAt(t *testing.T) {
	for what, key := range map[string]kmsg.Key{"no bounds": kmsg.ListOffsets, "no records": kmsg.Fetch} {
		t.Run(what, func(t *testing.T) {
			inBubbleWithRuns(t, func(w *runsFixture) {
				w.CreateTopic(runsName, 3, safe)
				w.copyOf(w.owner(), 1, 1)
				sick := w.Refuse(key, kfake.Fault{Topic: runsName, Partitions: []int32{1}, Err: kerr.LeaderNotAvailable})
				w.run()
				time.Sleep(time.Minute)
				if w.is().Usable || w.view().State != "refused" || !strings.Contains(w.view().Warning, "whether others have copies in it is not known") {
					t.Errorf("heard %+v, view %+v", w.is(), w.view())
				}
				w.sayOnce("ERROR", "runs topic is not used")
				sick.Remove()
				w.used()
			})
		})
	}
}

// TestATopicWithoutLeadersAtFirstIsLookedAtAgainBeforeAnythingIsSaid: one that was just made.
func TestATopicWithoutLeadersAtFirstIsLookedAtAgainBeforeAnythingIsSaid(t *testing.T) {
	inBubbleWithRuns(t, func(w *runsFixture) {
		w.CreateTopic(runsName, 3, safe)
		sick := w.Refuse(kmsg.ListOffsets, kfake.Fault{Topic: runsName, Err: kerr.NotLeaderForPartition})
		w.run()
		w.Until(time.Minute, "the topic is looked at", func() bool { return w.view().Warning != "" })
		sick.Remove()
		w.Until(2*time.Second, "the topic is usable", func() bool { return w.is().Usable })
		if n := w.said("ERROR"); n > 0 {
			t.Errorf("%d errors", n)
		}
	})
}

// copyOf appends a copy of an owner to a partition of the runs topic, which says another one.
func (w *runsFixture) copyOf(owner runs.Owner, partition, says int32) {
	w.Helper()
	headers, _ := runs.AppendCopy(nil, nil, runs.Identity{Owner: owner, Partition: says}, &runs.Copy{Origin: runs.Origin{TopicID: offsets.TopicID{7}}}, nil, []byte("v"))
	w.Produce(&kgo.Record{Topic: runsName, Partition: partition, Value: []byte("v"), Headers: headers})
}

// TestALookThatCannotBeginIsNoFinding: whose the records are is not known. A partition without
// records needs no client.
func TestALookThatCannotBeginIsNoFinding(t *testing.T) {
	inBubbleWithRuns(t, func(w *runsFixture) {
		w.CreateTopic(runsName, 3, safe)
		w.cfg.Options = func() []kgo.Opt { return []kgo.Opt{kgo.SeedBrokers()} } // which no client takes
		w.j = New(w.cfg)
		w.run()
		w.used()
		w.copyOf(w.owner(), 1, 1)
		time.Sleep(2 * time.Minute)
		if !w.is().Usable || w.view().Warning != "" {
			t.Errorf("the last look counts: view %+v", w.view())
		}
		w.stop()
		w.j = New(w.cfg)
		w.run()
		time.Sleep(time.Minute)
		if w.is().Usable || !strings.Contains(w.view().Warning, "is not known: client that reads") {
			t.Errorf("the first one: view %+v", w.view())
		}
	})
}
