package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The tests in this file are about Kafka, without Layover. Each holds a fact that
// the design rests on. The model brokers of the other tests either take that fact
// for granted or do not have it. When a test fails here against a new Kafka, the
// place to look at is what its comment names.

// facts makes a fixture with nothing but ingress, whose id it returns. It needs no
// binary.
func facts(t *testing.T, partitions int32) (*fixture, kadm.TopicID) {
	t.Helper()
	t.Parallel()
	f := emptyFixture(t, need(t, shared.broker))
	return f, f.createIngress(partitions)
}

// A control record is an offset that nobody produces to and nobody else would
// finish. So consumer keeps control records, and the end that ready waits for is the
// last stable offset.
func TestKafkaEndsATransactionInAnOffsetThatOnlyKeptControlRecordsShow(t *testing.T) {
	f, _ := facts(t, 1)
	producer := f.kafka(kgo.TransactionalID(f.group))
	write := func(end kgo.TransactionEndTry, values ...string) {
		t.Helper()
		if err := producer.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			f.produceWith(producer, kgo.StringRecord(v))
		}
		if err := producer.EndTransaction(t.Context(), end); err != nil {
			t.Fatal(err)
		}
	}
	write(kgo.TryCommit, "a", "b", "c", "d", "e") // 0 to 4, and the marker at 5
	write(kgo.TryAbort, "f", "g", "h", "i", "j")  // 6 to 10, and the marker at 11
	f.mustEndAt(12, 12)
	f.produce(kgo.StringRecord("last")) // 12: behind it nothing is still to come

	if got, want := f.readTo("last"), []int64{0, 1, 2, 3, 4, 12}; !slices.Equal(got, want) {
		t.Errorf("read committed: offsets %d, want %d", got, want)
	}
	if got, want := f.readTo("last", kgo.KeepControlRecords()), []int64{0, 1, 2, 3, 4, -5, -11, 12}; !slices.Equal(got, want) {
		t.Errorf("with control records, as negative numbers: offsets %d, want %d", got, want)
	}

	if err := producer.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	f.produceWith(producer, kgo.StringRecord("open"))
	f.mustEndAt(13, 14)
	if err := producer.EndTransaction(t.Context(), kgo.TryAbort); err != nil {
		t.Fatal(err)
	}
}

// mustEndAt waits until the last stable offset and the end of ingress are these. The
// markers of a transaction come a little after the answer that it is over.
func (f *fixture) mustEndAt(stable, end int64) {
	f.Helper()
	eventually(f.T, 10*time.Second, fmt.Sprintf("stable to %d, the end at %d", stable, end), func() bool {
		s, err1 := f.admin.ListCommittedOffsets(f.Context(), f.ingress)
		e, err2 := f.admin.ListEndOffsets(f.Context(), f.ingress)
		if err := errors.Join(err1, err2, s.Error(), e.Error()); err != nil {
			f.Fatal(err)
		}
		gotStable, _ := s.Lookup(f.ingress, 0)
		gotEnd, _ := e.Lookup(f.ingress, 0)
		return gotStable.Offset == stable && gotEnd.Offset == end
	})
}

// readTo reads ingress, committed records only, up to a value, and returns the
// offsets, those of control records as negative numbers.
func (f *fixture) readTo(last string, opts ...kgo.Opt) (offsets []int64) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), 20*time.Second)
	defer cancel()
	c := f.kafka(append(opts, kgo.ConsumeTopics(f.ingress), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()))...)
	for {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			f.Fatal(err)
		}
		for r := range fetches.RecordsAll() {
			switch {
			case r.Attrs.IsControl():
				offsets = append(offsets, -r.Offset)
			case string(r.Value) == last:
				return append(offsets, r.Offset)
			default:
				offsets = append(offsets, r.Offset)
			}
		}
	}
}

// two lets a second member join a group of one. It calls preparing while the first
// has not joined again. It calls completing while both have, and their shares are
// not known. In the end first owns partition 0 and second partition 1.
func (f *fixture) two(preparing, completing func(first *member)) (first, second *member) {
	f.Helper()
	must := func(err error) {
		f.Helper()
		if err != nil {
			f.Fatal(err)
		}
	}
	first, second = f.member(), f.member()
	must(first.join())
	must(first.sync(map[*member][]int32{first: {0, 1}}))
	joined := make(chan error, 1)
	go func() { joined <- second.join() }() // ends with the first's join
	eventually(f.T, 10*time.Second, "the group rebalances", func() bool { return errors.Is(first.heartbeat(), kerr.RebalanceInProgress) })
	preparing(first)
	must(first.join())
	must(<-joined)
	completing(first)
	shares := map[*member][]int32{first: {0}, second: {1}}
	// The first stays the leader. The second's sync waits for it.
	must(first.sync(shares))
	must(second.sync(nil))
	return first, second
}

// Kafka checks member and generation and not ownership: that is why a commit
// carries the generation under which it was built.
func TestKafkaTakesACommitOfAPartitionThatTheMemberDoesNotOwn(t *testing.T) {
	f, id := facts(t, 2)
	var before int32
	first, second := f.two(func(m *member) { before = m.generation }, func(*member) {})
	if err := second.commit(id, at{1, 20, "the owner's"})[1]; err != nil {
		t.Fatal(err)
	}
	if err := first.commit(id, at{1, 7, "another's"})[1]; err != nil {
		t.Errorf("a commit of a partition that another member owns: %v, want it accepted", err)
	}
	f.mustBeAt(1, 7)

	first.generation = before
	for _, partition := range []int32{0, 1} {
		if err := first.commit(id, at{partition, 9, ""})[partition]; !errors.Is(err, kerr.IllegalGeneration) {
			t.Errorf("a commit of partition %d with the old generation: %v, want ILLEGAL_GENERATION", partition, err)
		}
	}
	f.mustBeAt(0, -1)
	f.mustBeAt(1, 7)
}

// A revoke commits what is finished before the member joins again. The first
// commit of the next assignment may come too early and is tried again.
func TestKafkaTakesCommitsWhileMembersJoinAndRefusesThemUntilTheSharesAreKnown(t *testing.T) {
	f, id := facts(t, 2)
	first, _ := f.two(func(m *member) {
		if err := m.commit(id, at{0, 5, ""})[0]; err != nil {
			t.Errorf("while members join, with the generation that ends: %v, want it accepted", err)
		}
	}, func(m *member) {
		if err := m.commit(id, at{0, 6, ""})[0]; !errors.Is(err, kerr.RebalanceInProgress) {
			t.Errorf("before the shares are known: %v, want REBALANCE_IN_PROGRESS", err)
		}
		f.mustBeAt(0, 5)
	})
	if err := first.commit(id, at{0, 7, ""})[0]; err != nil {
		t.Errorf("after the rebalance: %v", err)
	}
	f.mustBeAt(0, 7)
}

// offsets.MaxMetadata is this limit, and the consumer learns another one from the
// error.
func TestKafkaTakes4096CharactersOfMetadataAndRefusesOneMoreForThatPartitionAlone(t *testing.T) {
	f, id := facts(t, 3)
	answers := f.member().commit(id, at{0, 1, strings.Repeat("x", 4096)}, at{1, 1, strings.Repeat("x", 4097)}, at{2, 1, ""})
	if answers[0] != nil || !errors.Is(answers[1], kerr.OffsetMetadataTooLarge) || answers[2] != nil {
		t.Errorf("got %v, want OFFSET_METADATA_TOO_LARGE for partition 1 alone", answers)
	}
	f.mustBeAt(0, 1)
	f.mustBeAt(1, -1)
	f.mustBeAt(2, 1)
}

// The consumer divides its commits so that a request is far below this limit. A
// coordinator appends a request as one batch of a record for each partition, with the
// names of group and topic in it. It refuses all of a batch over 1 MiB.
func TestKafkaRefusesEveryPartitionOfACommitThatIsTooLargeAsABatch(t *testing.T) {
	const partitions = 270
	f, id := facts(t, partitions)
	commit := func(group string, partitions, characters int, want error) {
		t.Helper()
		f.group = group
		var commits []at
		for p := range partitions {
			commits = append(commits, at{int32(p), 3, strings.Repeat("x", characters)})
		}
		for p, err := range f.member().commit(id, commits...) {
			if !errors.Is(err, want) {
				t.Fatalf("%d partitions with %d characters, in a group of %d: partition %d: %v, want %v", partitions, characters, len(group), p, err, want)
			}
		}
	}
	commit("short", partitions, 4096, kerr.UnknownServerError)
	f.mustBeAt(0, -1)
	commit("short", 240, 4096, nil)
	f.mustBeAt(239, 3)
	// The same metadata fits with a short name of the group, and not with a long one.
	commit("other", partitions, 3072, nil)
	commit(strings.Repeat("g", 1024), partitions, 3072, kerr.UnknownServerError)
}

// That is why a commit carries the topic id under which its partition was assigned.
func TestKafkaForgetsTheOffsetsOfADeletedTopicAndRefusesCommitsUnderItsID(t *testing.T) {
	f, old := facts(t, 1)
	m := f.member()
	if err := m.join(); err != nil {
		t.Fatal(err)
	}
	if err := m.sync(map[*member][]int32{m: {0}}); err != nil {
		t.Fatal(err)
	}
	if err := m.commit(old, at{0, 5, ""})[0]; err != nil {
		t.Fatal(err)
	}
	f.mustBeAt(0, 5)
	if _, err := f.admin.DeleteTopic(t.Context(), f.ingress); err != nil {
		t.Fatal(err)
	}
	eventually(t, 15*time.Second, "the offset is forgotten", func() bool {
		offsets, err := f.committed()
		return err == nil && len(offsets) == 0
	})
	id := f.createIngress(1)
	if id == old {
		t.Fatal("the topic has its old id")
	}
	if err := m.commit(old, at{0, 6, ""})[0]; !errors.Is(err, kerr.UnknownTopicID) {
		t.Errorf("under the old id: %v, want UNKNOWN_TOPIC_ID", err)
	}
	f.mustBeAt(0, -1)
	if err := m.commit(id, at{0, 2, ""})[0]; err != nil {
		t.Errorf("under the new id: %v", err)
	}
	f.mustBeAt(0, 2)
}

// So a start has to compare its offset with the start of the log.
func TestKafkaKeepsACommittedOffsetBelowTheStartOfTheLog(t *testing.T) {
	f, id := facts(t, 1)
	for n := range 10 {
		f.produce(kgo.StringRecord(fmt.Sprint(n)))
	}
	if err := f.member().commit(id, at{0, 3, ""})[0]; err != nil {
		t.Fatal(err)
	}
	var below kadm.Offsets
	below.AddOffset(f.ingress, 0, 6, -1)
	deleted, err := f.admin.DeleteRecords(t.Context(), below)
	if err != nil || deleted.Error() != nil {
		t.Fatal(err, deleted.Error())
	}
	starts, err := f.admin.ListStartOffsets(t.Context(), f.ingress)
	if start, _ := starts.Lookup(f.ingress, 0); err != nil || start.Offset != 6 {
		t.Errorf("the log starts at %d, %v, want 6", start.Offset, err)
	}
	f.mustBeAt(0, 3)
}

// Whoever reads the offset then has to ask again: before, the answer is of the past.
func TestKafkaAnswersThatAnOffsetIsUnstableWhileATransactionMayCommitIt(t *testing.T) {
	f, id := facts(t, 1)
	if err := f.member().commit(id, at{0, 3, ""})[0]; err != nil {
		t.Fatal(err)
	}
	tx := f.beginCommit(id, 8)
	if _, err := f.fetchOffset(id, true); !errors.Is(err, kerr.UnstableOffsetCommit) {
		t.Errorf("a stable offset is asked for: %v, want UNSTABLE_OFFSET_COMMIT", err)
	}
	if got, err := f.fetchOffset(id, false); got != 3 || err != nil {
		t.Errorf("any offset is asked for: %d, %v, want 3", got, err)
	}
	tx.end(true)
	eventually(t, 10*time.Second, "the offset is stable", func() bool {
		got, err := f.fetchOffset(id, true)
		return got == 8 && err == nil
	})
	f.beginCommit(id, 9).end(false)
	eventually(t, 10*time.Second, "the aborted one is gone", func() bool {
		got, err := f.fetchOffset(id, true)
		return got == 8 && err == nil
	})
}

// fetchOffset asks for the group's offset of partition 0 of ingress.
func (f *fixture) fetchOffset(id kadm.TopicID, stable bool) (int64, error) {
	f.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	req.RequireStable = stable
	group := kmsg.NewOffsetFetchRequestGroup()
	group.Group = f.group
	topic := kmsg.NewOffsetFetchRequestGroupTopic()
	topic.Topic, topic.TopicID, topic.Partitions = f.ingress, id, []int32{0}
	group.Topics = append(group.Topics, topic)
	req.Groups = append(req.Groups, group)
	resp, err := req.RequestWith(f.Context(), f.client)
	if err != nil {
		f.Fatal(err)
	}
	g := resp.Groups[0]
	if err := kerr.ErrorForCode(g.ErrorCode); err != nil {
		return 0, err
	}
	p := g.Topics[0].Partitions[0]
	return p.Offset, kerr.ErrorForCode(p.ErrorCode)
}

// transaction is one that the test ends itself.
type transaction struct {
	f     *fixture
	id    int64
	epoch int16
}

// beginCommit opens a transaction that commits the group's offset of partition 0 of
// ingress.
func (f *fixture) beginCommit(id kadm.TopicID, offset int64) *transaction {
	f.Helper()
	begin := kmsg.NewPtrInitProducerIDRequest()
	begin.TransactionalID, begin.TransactionTimeoutMillis = &f.group, 30_000
	tx := &transaction{f: f}
	eventually(f.T, 10*time.Second, "the transaction before is over", func() bool {
		resp, err := begin.RequestWith(f.Context(), f.client)
		if err == nil {
			err = kerr.ErrorForCode(resp.ErrorCode)
		}
		if err != nil && !errors.Is(err, kerr.ConcurrentTransactions) {
			f.Fatal(err)
		}
		tx.id, tx.epoch = resp.ProducerID, resp.ProducerEpoch
		return err == nil
	})
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch = f.group, f.group, tx.id, tx.epoch
	req.Generation = -1
	topic := kmsg.NewTxnOffsetCommitRequestTopic()
	topic.Topic, topic.TopicID = f.ingress, id
	p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	p.Offset, p.LeaderEpoch = offset, -1
	topic.Partitions = append(topic.Partitions, p)
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(f.Context(), f.client)
	if err == nil {
		err = kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode)
	}
	if err != nil {
		f.Fatal(err)
	}
	return tx
}

// end ends the transaction.
func (tx *transaction) end(commit bool) {
	tx.f.Helper()
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = tx.f.group, tx.id, tx.epoch, commit
	resp, err := req.RequestWith(tx.f.Context(), tx.f.client)
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if err != nil {
		tx.f.Fatal(err)
	}
}
