package runs

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"layover/journal/runs"
	"layover/offsets"
	"layover/verify/long"
)

const (
	safe = "A downgrade is safe, to a release that knows no runs: no copy waits, and nothing is left to delete.\nIt stays so with LAYOVER_RUNS=off.\n"
	ask  = ". Then ask again.\n"
	off  = "Set LAYOVER_RUNS=off on all instances: nothing more is moved then. Let them run"
)

// TestOfAGroupThatNeverRanNothingWaits, whether or not there is a runs topic.
func TestOfAGroupThatNeverRanNothingWaits(t *testing.T) {
	w := newFixture(t)
	w.is(w.do("show"), `
delayed/0: runs delayed.layover-delayed.runs/0 is empty, log end 0; commit: none
delayed/1: runs delayed.layover-delayed.runs/1 is empty, log end 0; commit: none
delayed/2: runs delayed.layover-delayed.runs/2 is empty, log end 0; commit: none
`+safe)
	w.DeleteTopic(runsTopic)
	w.DeleteTopic(journalTopic)
	w.commit(1, offsets.RunsState{})
	w.commitAs(2, "member-1")
	w.is(w.do("show"), `
delayed/0: no runs: topic delayed.layover-delayed.runs does not exist; commit: none
delayed/1: no runs: topic delayed.layover-delayed.runs does not exist; commit: says nothing of runs
delayed/2: no runs: topic delayed.layover-delayed.runs does not exist; commit: offset 1, metadata that does not count: commit metadata "member-1": not written for this partition
`+safe)
	w.CreateTopic(runsTopic, 2, nil)
	w.commitAs(2, offsets.Unstarted)
	w.is(w.do("show"), `
delayed/0: runs delayed.layover-delayed.runs/0 is empty, log end 0; commit: none
delayed/1: runs delayed.layover-delayed.runs/1 is empty, log end 0; commit: says nothing of runs
delayed/2: no runs: partition delayed.layover-delayed.runs/2 does not exist; commit: none
`+safe)
}

// someRuns are three runs of two members. A directory lists the first two.
func someRuns(t *testing.T) *fixture {
	w := newFixture(t)
	m := w.member(0, 0xa1).move(days(1, 2, 3, 4)...).move(days(1, 30)...).list().finish(0, 1, 4).commit()
	m.writer = 0xa3 // a zombie's, which does not know of it
	m.index = nil
	m.Produce(m.copied(m.id(), days(2)[0]), m.copied(m.id(), days(60)[0]))
	return w
}

func TestShowCountsByTheDirectoryAndReadsTheRest(t *testing.T) {
	w := someRuns(t)
	w.is(w.do("show --partition 0"), `
delayed/0: runs delayed.layover-delayed.runs/0, log start 0, end 9
  commit: low offset 2, known end 7, below which all is finished that is due by 2040-01-03T23:59:59.999Z, directory at 6, leader epoch 0; an older release must not read the partition
  at most 5 copies wait: 820 bytes in 3 runs of 2 writers, due from 2040-01-03T00:00:00.000Z to 2040-03-01T00:00:00.000Z
  due within an hour: at most 0, a day: 0, a week: 0
  finished and not deleted: 4 offsets
A downgrade is not safe, to a release that knows no runs:
  at most 5 copies wait, in 1 partition, the last one due at 2040-03-01T00:00:00.000Z
Not known is:
  the partitions that were not asked for
`+off+" until 2040-03-01T00:00:00.000Z"+ask)
}

// TestADirectoryTellsAtMostWhatWaits, and --exact tells what waits: a copy is finished between
// others of its run.
func TestADirectoryTellsAtMostWhatWaits(t *testing.T) {
	w := newFixture(t)
	w.member(1, 0xa1).move(days(1, 2, 3, 4)...).list().finish(0, 2).commit()
	for line, want := range map[string]string{
		"show --partition 1":         "\n  at most 3 copies wait: 492 bytes in 1 run of 1 writer, due from 2040-01-03T00:00:00.000Z to 2040-01-05T00:00:00.000Z\n",
		"show --partition 1 --exact": "\n  2 copies wait: 328 bytes in 1 run of 1 writer, due from 2040-01-03T00:00:00.000Z to 2040-01-05T00:00:00.000Z\n",
	} {
		if got := w.do(line); got.code != 0 || !strings.Contains(got.stdout, want) {
			t.Errorf("%s: %+v\nwant %s", line, got, want)
		}
	}
}

// TestWhatIsDueSoonIsCounted from now on, by the directory and by reading.
func TestWhatIsDueSoonIsCounted(t *testing.T) {
	w := newFixture(t)
	var due []time.Time
	for _, d := range []time.Duration{-time.Hour, time.Minute, 50 * time.Minute, 2 * time.Hour, 25 * time.Hour, 6 * 24 * time.Hour, 8 * 24 * time.Hour} {
		for range 1000 { // a sixteenth has about the same
			due = append(due, time.Now().Add(d))
		}
	}
	w.member(0, 0xa1).move(due...).list().commit()
	const exact = "\n  due within an hour: 3,000, a day: 4,000, a week: 6,000\n"
	if got := w.do("show --partition 0 --exact"); !strings.Contains(got.stdout, "\n  7,000 copies wait: ") || !strings.Contains(got.stdout, exact) {
		t.Errorf("%+v", got)
	}
	got := w.do("show --partition 0")
	var within [3]int
	_, line, _ := strings.Cut(strings.ReplaceAll(got.stdout, ",", ""), "due within an hour: ")
	if _, err := fmt.Sscanf(line, "at most %d a day: %d a week: %d", &within[0], &within[1], &within[2]); err != nil {
		t.Fatalf("%v: %+v", err, got)
	}
	for i, want := range []int{3000, 4000, 6000} {
		if within[i] < want || within[i] > want+7000/8 {
			t.Errorf("within %v there are at most %d, want %d and an eighth of all", spans[i], within[i], want)
		}
	}
}

// TestADirectoryThatIsNotUsedIsSaid, and all is read instead.
func TestADirectoryThatIsNotUsedIsSaid(t *testing.T) {
	const head = "\n  the directory that the commit names is not used, and all is read instead: "
	for what, test := range map[string]struct {
		damage func(m *member, said *offsets.RunsState)
		want   string
	}{
		"damaged": {func(m *member, said *offsets.RunsState) {
			value := []byte("LR\x01\x01" + strings.Repeat("x", 40))
			said.DirectoryEnd = m.Produce(&kgo.Record{Topic: runsTopic, Value: value}) + 1
		}, "record at 5: directory: checksum 78787878, want "},
		"another record": {func(m *member, said *offsets.RunsState) { said.DirectoryEnd = 4 }, "record at 3: not a directory\n"},
		"beyond the end": {func(m *member, said *offsets.RunsState) { said.DirectoryEnd = 10 }, "it stood at 9, and the log has the offsets from 0 to 4\n"},
		"deleted": {func(m *member, said *offsets.RunsState) {
			m.DeleteRecords(runsTopic, 0, 1)
			said.Low, said.DirectoryEnd = 1, 1
		}, "it stood at 0, and the log has the offsets from 1 to 4\n"},
		"of another group": {func(m *member, said *offsets.RunsState) {
			d, err := m.index.Directory()
			if err != nil {
				m.Fatal(err)
			}
			value, err := runs.AppendDirectory(nil, runs.Identity{Owner: 1}, &d)
			if err != nil {
				m.Fatal(err)
			}
			said.DirectoryEnd = m.Produce(&kgo.Record{Topic: runsTopic, Value: value}) + 1
		}, "record at 5: directory: owner 0000000000000001, want "},
	} {
		t.Run(what, func(t *testing.T) {
			w := newFixture(t)
			m := w.member(0, 0xa1).move(days(1, 2, 3, 4)...).list()
			said := m.index.State()
			said.TopicID = w.runsID()
			test.damage(m, &said)
			m.fixture.commit(0, said)
			got := w.do("show --partition 0")
			waits := map[bool]string{false: "\n  4 copies wait: 656 bytes in 1 run", true: "\n  3 copies wait: 492 bytes in 1 run"}[what == "deleted"]
			if got.code != 0 || got.stderr != "" || !strings.Contains(got.stdout, head+test.want) || !strings.Contains(got.stdout, waits) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestADirectoryOfALogThatWasTruncatedIsNotUsed: others may stand at the offsets it speaks of.
func TestADirectoryOfALogThatWasTruncatedIsNotUsed(t *testing.T) {
	w := newFixture(t)
	m := w.member(0, 0xa1).move(days(1, 2, 3, 4)...)
	d, err := m.index.Directory()
	if err != nil {
		t.Fatal(err)
	}
	d.End = 9
	value, err := runs.AppendDirectory(nil, m.id(), &d)
	if err != nil {
		t.Fatal(err)
	}
	m.index.Listed(m.index.LeaderEpoch(), m.Produce(&kgo.Record{Topic: runsTopic, Value: value}))
	m.commit()
	const want = "all is read instead: record at 4: it speaks of the offsets below 9, and the log of its leader epoch ends at 5\n"
	if got := w.do("show"); got.code != 0 || !strings.Contains(got.stdout, want) || !strings.Contains(got.stdout, "\n  4 copies wait") {
		t.Errorf("%+v", got)
	}
}

// TestWithoutTheJournalTheCommitSaysWhatIsFinished, as far as it says it.
func TestWithoutTheJournalTheCommitSaysWhatIsFinished(t *testing.T) {
	long.Only(t)
	w := newFixture(t)
	// 5 is finished out of turn: only the journal knows.
	w.member(0, 0xa1).move(days(3, 9)...).move(days(1, 2, 4, 5)...).list().finish(2, 3, 0, 5).commit()
	if said := w.said(0); said.Low != 1 || said.Journal.IsZero() {
		t.Fatalf("%+v", said)
	}
	w.DeleteTopic(journalTopic)
	const gone = "\n  the journal misses finished copies, which may count as waiting: topic delayed.layover-delayed does not exist\n"
	for line, want := range map[string]string{
		"show":         "\n  at most 4 copies wait: 656 bytes in 2 runs of 1 writer, due from 2040-01-05T00:00:00.000Z to 2040-01-10T00:00:00.000Z\n",
		"show --exact": "\n  3 copies wait: 492 bytes in 2 runs of 1 writer, due from 2040-01-05T00:00:00.000Z to 2040-01-10T00:00:00.000Z\n",
	} {
		if got := w.do(line); got.code != 0 || got.stderr != "" || !strings.Contains(got.stdout, gone) || !strings.Contains(got.stdout, want) {
			t.Errorf("%s: %+v\nwant %s", line, got, want)
		}
	}
}

// TestARunsTopicThatIsGoneIsALoss of what it held.
func TestARunsTopicThatIsGoneIsALoss(t *testing.T) {
	w := newFixture(t)
	w.member(0, 0xa1).move(days(1, 2, 3, 4)...).list().finish(0).commit()
	id := w.runsID()
	w.DeleteTopic(runsTopic)
	const (
		said = "commit: low offset 1, known end 5, below which all is finished that is due by 2040-01-02T23:59:59.999Z, directory at 4, leader epoch 0"
		lost = "  gone, and not finished: 4 offsets, each of which may have been a copy\n"
		held = "; an older release must not read the partition\n"
		tail = "A downgrade is not safe, to a release that knows no runs:\n  the last commit still forbids it for 1 partition\nNot known is:\n  the partitions that were not asked for\n" + off + " for a minute" + ask
	)
	w.is(w.do("show --partition 0"), "delayed/0: no runs: topic delayed.layover-delayed.runs does not exist; "+said+held+lost+tail)
	w.CreateTopic(runsTopic, 3, nil)
	w.is(w.do("show --partition 0"), "delayed/0: runs delayed.layover-delayed.runs/0 is empty, log end 0; "+said+fmt.Sprintf(", of a runs topic that is gone, with id %x", id)+held+lost+tail)
}

// TestWhatWasDeletedBehindTheMembersBackIsALoss, unless it was finished.
func TestWhatWasDeletedBehindTheMembersBackIsALoss(t *testing.T) {
	w := newFixture(t)
	w.member(0, 0xa1).move(days(1, 2, 3, 4)...).list().finish(0, 2).commit()
	w.DeleteRecords(runsTopic, 0, 3)
	got := w.do("show")
	if got.code != 0 || !strings.Contains(got.stdout, "\n  gone, and not finished: 1 offset, each of which may have been a copy\n") || !strings.Contains(got.stdout, "at most 1 copy waits") {
		t.Errorf("%+v", got)
	}
}

// TestCopiesThatMembersDoNotDeliverAreCountedApart, those of which one does not come.
func TestCopiesThatMembersDoNotDeliverAreCountedApart(t *testing.T) {
	w := newFixture(t)
	m := w.member(0, 0xa1).move(days(1)...)
	other := runs.Identity{Owner: 1}
	damaged := m.copied(m.id(), farOff)
	damaged.Value = []byte(secret)
	wrong := m.copied(m.id(), farOff)
	wrong.Headers[1].Value = []byte(secret)
	w.Produce(m.copied(other, farOff), m.copied(runs.Identity{Owner: m.id().Owner, Partition: 1}, farOff), newer(m), damaged, wrong,
		&kgo.Record{Topic: runsTopic, Key: []byte(secret), Value: []byte(secret)}, &kgo.Record{Topic: runsTopic, Value: []byte("LR" + secret)})
	const want = `
delayed/0: runs delayed.layover-delayed.runs/0, log start 0, end 8
  commit: none
  1 copy waits: 164 bytes in 1 run of 1 writer, due from 2040-01-02T00:00:00.000Z to 2040-01-02T00:00:00.000Z
  due within an hour: 0, a day: 0, a week: 0
  finished and not deleted: 4 offsets
  copies of another group, topic or cluster, or of a newer release, which never become due here: 2
  copies of a newer release, which that one delivers: 1
  damaged records, which count as lost: 3
  records of strangers, which do not matter: 1
A downgrade is not safe, to a release that knows no runs:
  1 copy waits, in 1 partition, the last one due at 2040-01-02T00:00:00.000Z
  copies of a newer release: 1
  copies that are not of this group and release: 2
`
	const advice = off + " until 2040-01-02T00:00:00.000Z" + ask + "Copies of a newer release are delivered by that one. Those of others stay until somebody deletes them.\n"
	got := w.do("show --topic delayed")
	got.stdout = strings.Replace(got.stdout, "delayed/1: runs delayed.layover-delayed.runs/1 is empty, log end 0; commit: none\ndelayed/2: runs delayed.layover-delayed.runs/2 is empty, log end 0; commit: none\n", "", 1)
	w.is(got, want+advice)
}

// newer is a copy in a later format, as far as this release can read it.
func newer(m *member) *kgo.Record {
	r := m.copied(m.id(), farOff)
	h := &r.Headers[len(r.Headers)-1]
	h.Value = append([]byte{}, h.Value...)
	h.Value[0], h.Value[1] = 9, 9
	sum(r)
	return r
}

// TestADirectoryTellsOfCopiesThatAreNeverDue: a member has read them. Those of a newer release are read again, as
// the next one may be of that.
func TestADirectoryTellsOfCopiesThatAreNeverDue(t *testing.T) {
	for name, want := range map[string]string{
		"another group": "or of a newer release, which never become due here: 1\n",
		"newer":         "copies of a newer release, which that one delivers: 1\n",
	} {
		w := newFixture(t)
		m := w.member(0, 0xa1)
		if name == "newer" {
			w.Produce(newer(m))
		} else {
			other := m.id()
			other.Owner++
			w.Produce(m.copied(other, farOff))
		}
		w.readBy(m)
		m.list().commit()
		got := w.do("show")
		if got.code != 0 || !strings.Contains(got.stdout, "\n  no copy waits\n") || !strings.Contains(got.stdout, want) || !strings.Contains(got.stdout, "A downgrade is not safe, to a release that knows no runs:\n") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestADowngradeIsSafeOnceAllIsDeletedAndCommitted, and no earlier.
func TestADowngradeIsSafeOnceAllIsDeletedAndCommitted(t *testing.T) {
	w := newFixture(t)
	m := w.member(0, 0xa1).move(days(1, 2)...).list().finish(0, 1).commit()
	ends := func(want string) {
		t.Helper()
		if got := w.do("show"); got.code != 0 || !strings.HasSuffix(got.stdout, want) {
			t.Errorf("%+v\nwant at the end:\n%s", got, want)
		}
	}
	const not = "A downgrade is not safe, to a release that knows no runs:\n"
	ends("  no copy waits\n  finished and not deleted: 3 offsets\n" + others + not + "  finished copies are not deleted in 1 partition\n" + off + " for a minute" + ask)
	m.delete()
	ends(others + not + "  the last commit still forbids it for 1 partition\n" + off + " for a minute" + ask)
	m.commit()
	if w.said(0).Holds {
		t.Fatalf("%+v", w.said(0))
	}
	ends(others + safe)
	if got := w.do("show --partition 1"); !strings.HasSuffix(got.stdout, "\nWhether a downgrade is safe is not known. Missing is:\n  the partitions that were not asked for\n") {
		t.Errorf("%+v", got)
	}
	m.move(days(3)...) // and no commit
	ends(others + not + "  1 copy waits, in 1 partition, the last one due at 2040-01-04T00:00:00.000Z\n" + off + " until 2040-01-04T00:00:00.000Z" + ask)
}

const others = "delayed/1: runs delayed.layover-delayed.runs/1 is empty, log end 0; commit: none\ndelayed/2: runs delayed.layover-delayed.runs/2 is empty, log end 0; commit: none\n"

// TestWhatIsOverdueIsSaid: it comes once a member runs.
func TestWhatIsOverdueIsSaid(t *testing.T) {
	w := newFixture(t)
	w.member(0, 0xa1).move(time.Now().Add(-time.Hour)).list().commit()
	if got := w.do("show"); !strings.HasSuffix(got.stdout, "\n"+off+": all is due"+ask) {
		t.Errorf("%+v", got)
	}
}

// TestShowChangesNothing: it sends no request that could.
func TestShowChangesNothing(t *testing.T) {
	w := someRuns(t)
	cl := w.NewClient(kgo.ConsumerGroup(group), kgo.ConsumeTopics(ingress), kgo.DisableAutoCommit())
	defer cl.Close()
	if _, err := w.Broker.WaitGroupStable(w.Context(), group, 1); err != nil {
		t.Fatal(err)
	}
	writing := w.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce, kmsg.OffsetCommit, kmsg.OffsetDelete, kmsg.DeleteRecords, kmsg.CreateTopics, kmsg.DeleteTopics,
		kmsg.CreatePartitions, kmsg.IncrementalAlterConfigs, kmsg.InitProducerID}, Count: -1, Observe: true})
	for _, line := range []string{"show", "show --exact"} {
		if got := w.do(line); got.code != 0 || writing.Hits() > 0 {
			t.Errorf("%s has sent %d requests: %+v", line, writing.Hits(), got)
		}
	}
}

// TestATopicThatWasTakenOutOfTheSettingsIsShown: what waits there keeps a downgrade from being safe. Of the topics that
// the settings have nothing is known then, be it one alone.
func TestATopicThatWasTakenOutOfTheSettingsIsShown(t *testing.T) {
	w := someRuns(t)
	w.CreateTopic("many", 1, nil)
	others := []string{"LAYOVER_INGRESS_TOPICS=many", "LAYOVER_GROUP_ID=" + group}
	alone := w.do("show --exact")
	got := w.do("show --exact --topic delayed", others...)
	if want := strings.Replace(alone.stdout, "\nSet LAYOVER", "\nNot known is:\n  the partitions that were not asked for\nSet LAYOVER", 1); got.code != 0 || got.stdout != want {
		t.Errorf("exit code %d, stderr %q, stdout:\n%s\nwant:\n%s", got.code, got.stderr, got.stdout, want)
	}
	const many = "many/0: no runs: topic many.layover-delayed.runs does not exist; commit: none\n"
	w.is(w.do("show", others...), many+"Whether a downgrade is safe is not known. Missing is:\n"+
		"  topic delayed, which LAYOVER_INGRESS_TOPICS does not have: layover runs show --topic delayed\n")
	w.commit(0, offsets.RunsState{}) // its last copy is delivered and deleted
	w.is(w.do("show", others...), many+safe)
	w.commitAs(0, "layover.9.9.") // of a newer release
	if got := w.do("show", others...); strings.Contains(got.stdout, safe) {
		t.Errorf("beside a commit that cannot be read: %s", got.stdout)
	}
	w.DeleteTopic(ingress) // nobody delivers what was in it
	w.is(w.do("show", others...), many+safe)
}
