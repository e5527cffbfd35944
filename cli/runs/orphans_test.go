package runs

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// orphans is a group whose ingress topic was made again with two partitions of three. Two copies wait in the third.
func orphans(t *testing.T) *fixture {
	w := newFixture(t)
	w.member(2, 0xa1).move(days(1, 2, 3)...).list().finish(0).commit().delete()
	w.DeleteTopic(ingress)
	return w
}

// TestAnotherNameForTheRunsTopicIsSaid: brokers have answered, and say where the copies wait.
func TestAnotherNameForTheRunsTopicIsSaid(t *testing.T) {
	w := newFixture(t)
	w.member(0, 0xa1).move(days(1, 2, 3)...).list().commit()
	w.CreateTopic("far."+group+"."+ingress, 3, nil)
	w.fails(w.do("show", "LAYOVER_RUNS_TOPIC=far.{group}.{ingress}"), "layover runs: delayed/0: its runs: records wait in the topic delayed.layover-delayed.runs, "+
		"and LAYOVER_RUNS_TOPIC says another one: set it back, and change it when layover runs show says that nothing waits there\n")
}

// TestCopiesThatNobodyIsAssignedWait: no downgrade is safe, whether the ingress topic has fewer partitions or is gone.
func TestCopiesThatNobodyIsAssignedWait(t *testing.T) {
	const wait = "  2 copies wait: 328 bytes in 1 run of 1 writer, due from 2040-01-03T00:00:00.000Z to 2040-01-04T00:00:00.000Z\n"
	w := orphans(t)
	got := w.do("show")
	for _, part := range []string{"delayed/2: runs delayed.layover-delayed.runs/2, log start 1, end 4\n", wait,
		"  the ingress topic does not exist: after a rejoin or a restart nobody is assigned these, and they wait until it is made again\n", "A downgrade is not safe"} {
		if got.code == 0 || !strings.Contains(got.stdout, part) {
			t.Errorf("no ingress topic: %+v\nwant: %s", got, part)
		}
	}
	if got := w.do("show --topic " + ingress + " --partition 2"); !strings.Contains(got.stdout, wait) {
		t.Errorf("the topic by its name: %+v", got)
	}
	w.CreateTopic(ingress, 2, nil)
	w.is(w.do("show"), `
delayed/0: runs delayed.layover-delayed.runs/0 is empty, log end 0; commit: none
delayed/1: runs delayed.layover-delayed.runs/1 is empty, log end 0; commit: none
delayed/2: runs delayed.layover-delayed.runs/2, log start 1, end 4
  commit: none
`+wait+`  due within an hour: 0, a day: 0, a week: 0
  finished and not deleted: 1 offset
  the ingress topic has 2 partitions: nobody is assigned these, and they wait until it has 3: `+
		`kafka-topics.sh --bootstrap-server $KAFKA_BROKERS --alter --topic delayed --partitions 3
A downgrade is not safe, to a release that knows no runs:
  2 copies wait, in 1 partition, the last one due at 2040-01-04T00:00:00.000Z
  nobody is assigned 1 partition of these, which the ingress topic does not have: it needs as many partitions as its runs topic
`+off+" until 2040-01-04T00:00:00.000Z"+ask)
	if got := w.do("show --partition 2 -o json"); got.code != 0 || !strings.Contains(got.stdout, `"partition":2,"runs_topic":"delayed.layover-delayed.runs","exists":true,"orphan":true,`) ||
		!strings.Contains(got.stdout, `"downgrade_safe":false`) {
		t.Errorf("%+v", got)
	}
	w.DeleteRecords(runsTopic, 2, 3)
	if got := w.do("show"); !strings.HasSuffix(got.stdout, "  no copy waits\n  finished and not deleted: 1 offset\n"+safe) {
		t.Errorf("a directory alone is left: %+v", got)
	}
	w.fails(w.do("show --partition 3"), "layover runs: --partition 3: ingress topic \"delayed\" has the partitions 0 to 1, and its runs topic 0 to 2\n")
}

// TestATopicThatIsMissedOnceIsAskedForAgain: the first broker that is asked has just started, and does not know the runs
// topic yet.
func TestATopicThatIsMissedOnceIsAskedForAgain(t *testing.T) {
	w := orphans(t)
	w.CreateTopic(ingress, 2, nil)
	want := w.do("show")
	for _, err := range []*kerr.Error{kerr.UnknownTopicOrPartition, kerr.LeaderNotAvailable, kerr.UnknownServerError} {
		w.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: runsTopic, Err: err})
		if got := w.do("show"); got.code != 0 || got != want {
			t.Errorf("%v: %+v", err, got)
		}
	}
}

// disagreed has one broker answer the question about all topics, which does not know the runs topic, and another one
// the question about that alone.
func (w *fixture) disagreed() {
	w.Refuse(kmsg.Metadata, kfake.Fault{Topic: runsTopic, Err: kerr.UnknownTopicOrPartition, When: func(r kmsg.Request) bool {
		return len(r.(*kmsg.MetadataRequest).Topics) > 1
	}})
}

// TestATopicThatBrokersDoNotAgreeOnIsNoTopicWithoutOrphans.
func TestATopicThatBrokersDoNotAgreeOnIsNoTopicWithoutOrphans(t *testing.T) {
	w := orphans(t)
	w.CreateTopic(ingress, 2, nil)
	w.disagreed()
	got := w.do("show")
	if got.code == 0 || strings.Contains(got.stdout, "A downgrade is safe") || got.stderr != "layover runs: delayed: brokers do not agree whether runs topic delayed.layover-delayed.runs exists: ask once more\n" {
		t.Errorf("%+v", got)
	}
}

// TestADeletedIngressTopicIsNotMadeAgainByAdvice where nobody may look whether it has runs.
func TestADeletedIngressTopicIsNotMadeAgainByAdvice(t *testing.T) {
	w := orphans(t)
	w.Refuse(kmsg.Metadata, kfake.Fault{Topic: runsTopic, Err: kerr.TopicAuthorizationFailed})
	if got := w.do("show"); got.code == 0 || !strings.Contains(got.stderr, "neither make it again nor restart the instance") {
		t.Errorf("%+v", got)
	}
}

// TestOrphansThatWereDeliveredDoNotWait: no commit of a topic that is gone can say so, and nobody deletes them. The journal
// says it.
func TestOrphansThatWereDeliveredDoNotWait(t *testing.T) {
	w := newFixture(t)
	w.member(2, 0xa1).move(days(1, 2, 3)...).list().finish(0, 1, 2)
	w.DeleteTopic(ingress)
	w.CreateTopic(ingress, 2, nil)
	if got := w.do("show"); got.code != 0 || !strings.HasSuffix(got.stdout, "log start 0, end 4\n  commit: none\n  no copy waits\n  finished and not deleted: 4 offsets\n"+safe) {
		t.Errorf("%+v", got)
	}
}

// TestOrphansOfATopicThatTheSettingsDoNotHaveAreNotForgotten: it was made again with fewer partitions, and then taken out.
func TestOrphansOfATopicThatTheSettingsDoNotHaveAreNotForgotten(t *testing.T) {
	const other = "other"
	runs := other + "." + group + ".runs"
	w := newFixture(t)
	w.CreateTopic(other, 1, nil)
	w.CreateTopic(runs, 3, nil)
	w.Commit(group, kadm.Offset{Topic: other, At: 0, LeaderEpoch: -1})
	if got := w.do("show"); got.code != 0 || !strings.HasSuffix(got.stdout, safe) {
		t.Errorf("they are empty: %+v", got)
	}
	w.Produce(&kgo.Record{Topic: runs, Partition: 2, Value: []byte("x")})
	got := w.do("show")
	if !strings.Contains(got.stdout, "Missing is:\n  topic other, which LAYOVER_INGRESS_TOPICS does not have: layover runs show --topic other\n") {
		t.Errorf("%+v", got)
	}
	no := w.Refuse(kmsg.ListOffsets, kfake.Fault{Topic: runs, Err: kerr.TopicAuthorizationFailed})
	if denied := w.do("show"); denied != got {
		t.Errorf("nobody tells: %+v", denied)
	}
	no.Remove()
	w.Refuse(kmsg.Metadata, kfake.Fault{Topic: runs, Err: kerr.TopicAuthorizationFailed})
	if got := w.do("show"); strings.Contains(got.stdout, "A downgrade is safe") {
		t.Errorf("nobody may look: %+v", got)
	}
}

// TestOrphansOfALeftTopicThatWereDeliveredDoNotWait: nobody deletes them, so that a downgrade would never be safe.
func TestOrphansOfALeftTopicThatWereDeliveredDoNotWait(t *testing.T) {
	for _, some := range [][]int64{{0, 1, 2}, {0, 2}} {
		w := newFixture(t)
		w.member(2, 0xa1).move(days(1, 2, 3)...).list().finish(some...)
		w.DeleteTopic(ingress)
		w.CreateTopic(ingress, 2, nil)
		w.CreateTopic("many", 1, nil)
		w.Client = w.NewClient() // which knows the new topic alone
		w.Commit(group, kadm.Offset{Topic: ingress, At: 0, LeaderEpoch: -1})
		got := w.do("show", "LAYOVER_INGRESS_TOPICS=many", "LAYOVER_GROUP_ID="+group)
		if got.code != 0 || strings.HasSuffix(got.stdout, safe) != (len(some) == 3) {
			t.Errorf("finished are %v: %+v", some, got)
		}
	}
}

// TestALeftTopicThatIsMissedOnceIsNotForgotten: the broker that is asked has just started, and does not know the topic, or
// its runs topic, yet.
func TestALeftTopicThatIsMissedOnceIsNotForgotten(t *testing.T) {
	const other = "other"
	w := newFixture(t)
	w.member(0, 0xa1).move(days(1)...).commit()
	w.CreateTopic(other, 1, nil)
	w.CreateTopic(other+"."+group+".runs", 3, nil)
	w.Produce(&kgo.Record{Topic: other + "." + group + ".runs", Partition: 2, Value: []byte("x")})
	w.Commit(group, kadm.Offset{Topic: other, At: 0, LeaderEpoch: -1})
	w.CreateTopic("many", 1, nil)
	for _, missed := range []string{ingress, other, other + "." + group + ".runs"} {
		w.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: missed, Err: kerr.UnknownTopicOrPartition, When: func(r kmsg.Request) bool {
			all := r.(*kmsg.MetadataRequest).Topics
			return len(all) > 1 && all[0].Topic != nil // and not where offsets are asked for
		}})
		got := w.do("show", "LAYOVER_INGRESS_TOPICS=many", "LAYOVER_GROUP_ID="+group)
		for _, topic := range []string{ingress, other} {
			if got.code != 0 || !strings.Contains(got.stdout, "  topic "+topic+", which LAYOVER_INGRESS_TOPICS does not have") {
				t.Errorf("%s is missed: %+v", missed, got)
			}
		}
	}
}

// TestAPartitionThatIsAskedForNeedsNoCountOfTheOthers: what was asked for is known.
func TestAPartitionThatIsAskedForNeedsNoCountOfTheOthers(t *testing.T) {
	w := orphans(t)
	w.CreateTopic(ingress, 2, nil)
	w.disagreed() // for as long as it is asked
	if got := w.do("show --partition 0"); got.code != 0 || got.stderr != "" || strings.Contains(got.stdout, "A downgrade is safe") {
		t.Errorf("%+v", got)
	}
}
