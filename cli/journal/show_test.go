package journal

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"layover/cluster"
	"layover/config"
	"layover/journal/facts"
	"layover/offsets"
)

var checksums = regexp.MustCompile(`checksum [0-9a-f]{8}, want [0-9a-f]{8}`)

// TestShowPrintsEveryRecordAsWhatItIs: facts, snapshots, and records that a restart
// passes over.
func TestShowPrintsEveryRecordAsWhatItIs(t *testing.T) {
	w := newFixture(t)
	w.fill(0, 1000)
	e := w.assignment(0, 0xa1).finish(1, 600).finish(601, 620)
	e.commit()
	w.append(name, 0, []byte("hello"), nil, newer, []byte("LJ\x01\x01"))
	strangers := []func(id *facts.Identity){
		func(id *facts.Identity) { id.Group = "other" },
		func(id *facts.Identity) { id.ClusterID = "d" },
		func(id *facts.Identity) { id.TopicID = offsets.TopicID{3} },
		func(id *facts.Identity) { id.Partition = 2 },
	}
	for _, change := range strangers {
		id := w.id(0, 0xb2)
		change(&id)
		s := w.assignmentOf(id)
		s.into = 0
		s.finish(1, 600)
	}
	var last []byte
	err := scanJournal(w, func(value []byte) { last = append([]byte{}, value...) })
	if err != nil {
		t.Fatal(err)
	}
	last[len(last)-1]++
	w.append(name, 0, last)
	w.assignment(0, 0xc3).finish(1, 600)

	got := w.do("show --partition 0")
	got.stdout = checksums.ReplaceAllString(got.stdout, "checksum X, want Y")
	w.is(got, `
delayed/0: journal delayed.layover-delayed/0, log start 0, end 12
  commit: offset 0, leader epoch 0, incarnation 00000000000000a1, names the records from 0 to 1; its metadata has 0 finished above
  @0 2026-01-01T12:00:01.000Z snapshot end incarnation=00000000000000a1 writer=0000000000000001 epoch=0 low=0 above=200 runs=200 range=1-598 bytes=471
  @1 2026-01-01T12:00:02.000Z fact incarnation=00000000000000a1 writer=0000000000000001 epoch=0 low=0 above=7 runs=7 range=601-619 bytes=86
  @2 2026-01-01T12:00:03.000Z foreign (not a record of a journal) bytes=5
  @3 2026-01-01T12:00:04.000Z foreign (not a record of a journal) bytes=0
  @4 2026-01-01T12:00:05.000Z newer (format version 2 wants a reader of version 2, this one is 1) bytes=60
  @5 2026-01-01T12:00:06.000Z damaged (4 bytes, want at least 49) bytes=4
  @6 2026-01-01T12:00:07.000Z snapshot end incarnation=00000000000000b2 writer=0000000000000001 epoch=0 low=0 above=200 runs=200 range=1-598 bytes=461 (of group "other")
  @7 2026-01-01T12:00:08.000Z snapshot end incarnation=00000000000000b2 writer=0000000000000001 epoch=0 low=0 above=200 runs=200 range=1-598 bytes=471 (of another cluster)
  @8 2026-01-01T12:00:09.000Z snapshot end incarnation=00000000000000b2 writer=0000000000000001 epoch=0 low=0 above=200 runs=200 range=1-598 bytes=471 (of topic id 03000000000000000000000000000000, not of this topic)
  @9 2026-01-01T12:00:10.000Z snapshot end incarnation=00000000000000b2 writer=0000000000000003 epoch=0 low=0 above=200 runs=200 range=1-598 bytes=471 (of partition 2)
  @10 2026-01-01T12:00:11.000Z damaged (checksum X, want Y) bytes=471
  @11 2026-01-01T12:00:12.000Z snapshot end incarnation=00000000000000c3 writer=0000000000000001 epoch=0 low=0 above=200 runs=200 range=1-598 bytes=471
  12 records, 3442 bytes, 2 complete snapshots, 4 of others, 2 foreign, 2 damaged, 1 of a newer release
  incarnation 00000000000000a1: low offset 0, 207 finished above it up to 619, of 2 records; the commit is of it, and a restart with this release may not read the partition
  incarnation 00000000000000c3: low offset 0, 200 finished above it up to 598, of 1 record
`)
}

// scanJournal calls f with all values of partition 0 of the journal.
func scanJournal(w *fixture, f func(value []byte)) error {
	b, err := connect(config.Kafka{Brokers: w.Broker.ListenAddrs()[:1]})
	if err != nil {
		return err
	}
	defer b.Close()
	p := &partition{journal: offsets.TopicPartition{Topic: name}, records: cluster.Bounds{Stable: w.records(0)}}
	return p.scan(w.Context(), b, func(e *entry) error { f(e.Value); return nil })
}

// TestShowPrintsRunsWhereAsked and a record that has none.
func TestShowPrintsRunsWhereAsked(t *testing.T) {
	w := newFixture(t)
	w.fill(1, 1000)
	e := w.assignment(1, 0xa1).finish(1, 600)
	e.window.FinishRange(0, 650)
	e.ledger.Note(600, 650)
	e.finish(652, 660)
	e.ledger.Note(653, 655)
	e.finish(700, 701)
	got := w.do("show --runs --topic delayed --partition 1")
	for _, want := range []string{
		" low=0 above=200 runs=200 range=1-598 bytes=471 finished=1,4,7,10,",
		",595,598\n",
		" low=650 above=3 runs=3 range=652-658 bytes=",
		" finished=652,655,658\n",
		" finished=653-654,700\n",
		"incarnation 00000000000000a1: low offset 650, 6 finished above it up to 700, of 4 records\n",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("no %q in:\n%+v", want, got)
		}
	}
}

// TestShowSaysWhatARestartFinds with the records that the commit names, and without.
func TestShowSaysWhatARestartFinds(t *testing.T) {
	for what, test := range map[string]struct {
		log    int // records of the ingress log when the facts were written
		damage func(w *fixture)
		want   string
	}{
		"all": {1000, func(*fixture) {}, "low offset 0, 200 finished above it up to 598, of 1 record; the commit is of it, and a restart finds all that it names\n"},
		"deleted records": {1000, func(w *fixture) {
			w.DeleteRecords(name, 0, 1)
		}, "low offset 0, nothing finished above it, of 0 records; the commit is of it, and a restart misses some of it: " +
			"the journal begins at 1 and the commit names a snapshot at 0: its records were deleted, by its retention or by somebody\n"},
		"a topic made again": {1000, func(w *fixture) {
			w.DeleteTopic(name)
			w.CreateTopic(name, 3, nil)
		}, "and a restart misses some of it: the journal was deleted and made again: the commit names records up to 0 of one that is gone\n"},
		"an ingress log that was truncated": {500, func(w *fixture) {
			w.truncate(0, 500)
		}, "low offset 0, 167 finished above it up to 499, of 1 record; the commit is of it, and a restart finds all that it names\n"},
	} {
		t.Run(what, func(t *testing.T) {
			w := newFixture(t)
			w.fill(0, test.log)
			w.assignment(0, 0xa1).finish(1, 600).commit()
			test.damage(w)
			got := w.do("show --partition 0")
			if got.code != 0 || !strings.HasSuffix(got.stdout, test.want) {
				t.Errorf("%+v\nwant at the end:\n%s", got, test.want)
			}
		})
	}
}

// TestShowOfAnEmptyJournalSaysWhyThatIsNormal, and describes the commit instead.
func TestShowOfAnEmptyJournalSaysWhyThatIsNormal(t *testing.T) {
	w := newFixture(t)
	w.fill(0, 10)
	set := offsets.NewWindow(1)
	set.FinishRange(3, 5)
	id := w.id(0, 0xa1)
	w.commit(0, 1, 0, offsets.Encode(set, id.Identity, offsets.Extension{Incarnation: 0xa1}, 256).Metadata)
	w.commit(1, 0, 0, "member-1")
	w.is(w.do("show"), `
delayed/0: journal delayed.layover-delayed/0 is empty, as is normal while the finished set fits into commit metadata; commit: offset 1, leader epoch 0, incarnation 00000000000000a1, names no record; its metadata has 2 finished above
delayed/1: journal delayed.layover-delayed/1 is empty, as is normal while the finished set fits into commit metadata; commit: offset 0, leader epoch 0, metadata that does not count: commit metadata "member-1": not written for this partition
delayed/2: journal delayed.layover-delayed/2 is empty, as is normal while the finished set fits into commit metadata; commit: none
`)
	w.commit(0, 1, 0, offsets.Encode(set, id.Identity, offsets.Extension{}, 256).Metadata)
	w.commit(1, 0, 0, "")
	w.commit(2, 5, 0, "")
	w.is(w.do("show"), `
delayed/0: journal delayed.layover-delayed/0 is empty, as is normal while the finished set fits into commit metadata; commit: offset 1, leader epoch 0, which names no incarnation: no record of the journal counts; its metadata has 2 finished above
delayed/1: journal delayed.layover-delayed/1 is empty, as is normal while the finished set fits into commit metadata; commit: offset 0, leader epoch 0, which names no incarnation: no record of the journal counts
delayed/2: journal delayed.layover-delayed/2 is empty, as is normal while the finished set fits into commit metadata; commit: offset 5, leader epoch 0, from which Layover would not go on: the committed offset lies above the end of the log: 5, the log ends at 0
`)
}

// TestShowPrintsWhatTheCommitSaysOfRuns, and only where it says something.
func TestShowPrintsWhatTheCommitSaysOfRuns(t *testing.T) {
	w := newFixture(t)
	w.fill(0, 10)
	ours, id := w.Broker.TopicInfo(name).TopicID, offsets.TopicID{0xaa}
	for want, runs := range map[string]offsets.RunsState{
		"": {},
		"; its runs are in the topic with id aa000000000000000000000000000000, seen up to leader epoch 0: copies below 0 are finished, more finished ones are in no record": {TopicID: id},
		"; its runs are in the topic with id aa000000000000000000000000000000, seen up to leader epoch 7: copies below 3 are finished, and those due by 2026-01-01T12:00:00.000Z below 9, " +
			"the last directory is at 7, more finished ones are in the records from 4 to 5, and an older release must not read the partition": {
			TopicID: id, LeaderEpoch: 7, Low: 3, Known: 9, DueMs: 1767268800000, DirectoryEnd: 8, Journal: offsets.JournalRange{TopicID: ours, From: 4, To: 5}, Holds: true,
		},
		"; its runs are in the topic with id aa000000000000000000000000000000, seen up to leader epoch 0: copies below 3 are finished, and all of them below 9, the last directory is at 0, more finished ones are in " +
			fmt.Sprintf("the records from 4 to 5 of a journal with topic id bb000000000000000000000000000000, this one has %x", ours): {
			TopicID: id, Low: 3, Known: 9, DueMs: math.MaxInt64, DirectoryEnd: 1, Journal: offsets.JournalRange{TopicID: offsets.TopicID{0xbb}, From: 4, To: 5},
		},
		"; what it says of runs cannot be read, and an older release must not read the partition": {Holds: true},
	} {
		metadata := offsets.Encode(offsets.NewWindow(1), w.id(0, 0xa1).Identity, offsets.Extension{Incarnation: 0xa1, Runs: runs}, 512).Metadata
		w.commit(0, 1, 0, metadata)
		w.is(w.do("show --partition 0"), `
delayed/0: journal delayed.layover-delayed/0 is empty, as is normal while the finished set fits into commit metadata; commit: offset 1, leader epoch 0, incarnation 00000000000000a1, names no record; its metadata has 0 finished above`+want+"\n")
	}
}

// TestShowKeepsAWindowForSixteenLivesAtMost and for the commit's in any case.
func TestShowKeepsAWindowForSixteenLivesAtMost(t *testing.T) {
	w := newFixture(t)
	w.fill(0, 1000)
	for n := range uint64(20) {
		e := w.assignment(0, n+1).finish(1, 600)
		if n == 19 {
			e.finish(601, 610).commit()
		}
	}
	got := w.do("show --partition 0")
	if n := strings.Count(got.stdout, "\n  incarnation "); n != 16 {
		t.Errorf("%d incarnations", n)
	}
	if n := strings.Count(got.stdout, "\n  @"); n != 21 {
		t.Errorf("%d records", n)
	}
	for _, want := range []string{
		"\n  incarnation 0000000000000014: low offset 0, 203 finished above it up to 607, of 2 records; the commit is of it, and a restart finds all that it names\n  incarnation 0000000000000001: ",
		"\n  more incarnations: 4 records of them are not summed up\n",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("no %q in:\n%s", want, got.stdout)
		}
	}
}

// TestATopicThatWasTakenOutOfTheSettingsIsShown as one that they have.
func TestATopicThatWasTakenOutOfTheSettingsIsShown(t *testing.T) {
	w := newFixture(t)
	w.fill(0, 1000)
	w.assignment(0, 0xa1).finish(1, 600)
	w.CreateTopic("many", 1, nil)
	had := w.do("show --topic delayed")
	w.is(w.do("show --topic delayed", "LAYOVER_INGRESS_TOPICS=many", "LAYOVER_GROUP_ID="+group), had.stdout)
	if !strings.Contains(had.stdout, "\n  1 record, ") {
		t.Errorf("%+v", had)
	}
}
