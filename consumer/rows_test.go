package consumer

import (
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"layover/cluster"
	"layover/journal/facts"
	"layover/offsets"
	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// told is the group's answer about one topic, by partition: an offset, -1 for none, or an error.
func told(topic string, ats ...any) *kmsg.OffsetFetchResponse {
	t := kmsg.NewOffsetFetchResponseGroupTopic()
	t.Topic = topic
	for i, at := range ats {
		p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
		p.Partition, p.Offset, p.Metadata = int32(i), -1, kmsg.StringPtr("said")
		switch at := at.(type) {
		case *kerr.Error:
			p.ErrorCode, p.Offset = at.Code, 99
		case int:
			p.Offset = int64(at)
		}
		t.Partitions = append(t.Partitions, p)
	}
	g := kmsg.NewOffsetFetchResponseGroup()
	g.Topics = append(g.Topics, t)
	resp := kmsg.NewPtrOffsetFetchResponse()
	resp.Groups = append(resp.Groups, g)
	return resp
}

// TestALoadingBeginsWithWhatTheClientWasToldLast: an offset that is gone since, or whose
// question fails now, is not begun with.
func TestALoadingBeginsWithWhatTheClientWasToldLast(t *testing.T) {
	d := &loader{table: newOwnership(), committed: make(map[offsets.TopicPartition]offsets.Committed)}
	d.table.add(map[string][]int32{"t": {0, 1, 2, 3}})
	d.told(told("t", 10, 11, 12, 13))
	d.told(told("t", kerr.UnstableOffsetCommit, -1, 0))
	got := make(map[int32]*partition)
	for _, p := range d.parts(map[offsets.TopicPartition]int32{partitionOf(0): 5, partitionOf(1): 5, partitionOf(2): 7}) {
		got[p.Partition] = p
	}
	if len(got) != 4 {
		t.Fatalf("%d partitions, want 4", len(got))
	}
	for no, want := range map[int32]*offsets.Committed{0: nil, 1: nil, 2: {Offset: 0, LeaderEpoch: 7, Metadata: "said"}} {
		if p := got[no]; !p.fetched || (p.was == nil) != (want == nil) || want != nil && *p.was != *want {
			t.Errorf("partition %d begins with %+v, want %+v", no, p.was, want)
		}
	}
	if p := got[3]; p.fetched || p.was != nil || p.Epoch == 0 {
		t.Errorf("a partition that the client was not told of begins with %+v, asked %v", p.was, p.fetched)
	}
	if again := d.parts(nil); len(again) != 0 {
		t.Errorf("%d partitions are begun twice", len(again))
	}
	if at := d.committed[partitionOf(3)]; at.LeaderEpoch != -1 {
		t.Errorf("its leader epoch is %d, and nobody said it", at.LeaderEpoch)
	}
}

// TestAPartitionThatIsReadyLateEntersOnceItIsChecked, with the poll loop's next turn.
func TestAPartitionThatIsReadyLateEntersOnceItIsChecked(t *testing.T) {
	for name, test := range map[string]struct {
		late          bool
		p             partition
		taken         bool
		ready, enters int
	}{
		"in time":                 {false, partition{}, true, 1, 0},
		"late":                    {true, partition{}, false, 0, 0},
		"late and checked":        {true, partition{checked: true}, true, 0, 1},
		"late and not to be read": {true, partition{reason: "x"}, true, 0, 1},
	} {
		turned := 0
		d := &loader{poll: &poll{end: func() { turned++ }}}
		l := &loading{late: test.late}
		if got := d.done(l, &test.p); got != test.taken || len(l.ready) != test.ready || len(d.arrived) != test.enters || turned != test.enters || d.isLate(l) != test.late {
			t.Errorf("%s: taken %v, %d ready, %d enter, the loop turned %d times", name, got, len(l.ready), len(d.arrived), turned)
		}
	}
}

// begins is a handler that notes what begins.
type begins struct {
	Handler
	all []facts.Assigned
}

func (b *begins) Assigned(a facts.Assigned) { b.all = append(b.all, a) }

// TestAPartitionThatIsNotToBeReadDoesNotBegin, nor one whose assignment is over.
func TestAPartitionThatIsNotToBeReadDoesNotBegin(t *testing.T) {
	var log kafkatest.Log
	h := new(begins)
	d := &loader{table: newOwnership(), handler: h, log: slog.New(slog.NewTextHandler(&log, nil))}
	d.table.add(map[string][]int32{"t": {0, 1}})
	of := func(no int32) *partition {
		p := new(partition)
		p.Assignment = offsets.Assignment{TopicPartition: partitionOf(no), Epoch: d.table.rows[partitionOf(no)].Epoch}
		p.Next, p.at.End = 5, 9
		return p
	}
	refused, over := of(1), of(1)
	refused.code, refused.reason = NoOffset, "its offset is gone"
	over.Epoch += 100
	if !d.begin(of(0)) || d.begin(refused) || d.begin(over) || len(h.all) != 1 || len(log.Lines()) != 1 || len(log.Lines("level=ERROR", "partition is not read", "partition=1", "its offset is gone")) != 1 {
		t.Errorf("%+v have begun, said %s", h.all, &log)
	}
	over.code, over.reason = NoOffset, "x"
	if d.begin(over) || len(log.Lines()) != 1 {
		t.Errorf("of an assignment that is over it is said %s", &log)
	}
}

// TestALoadingSaysWhyAPartitionWaitsOnceItsTimeIsUp, each reason once.
func TestALoadingSaysWhyAPartitionWaitsOnceItsTimeIsUp(t *testing.T) {
	now := time.Now()
	for name, test := range map[string]struct {
		age   time.Duration
		stage stage
		err   error
		want  string
	}{
		"a moment before":                {loadGrace - 1, needsBounds, io.EOF, ""},
		"with the end of the grace":      {loadGrace, needsBounds, io.EOF, "EOF"},
		"without a reason":               {loadGrace, needsBounds, nil, ""},
		"its journal is being read":      {journalGrace - 1, needsJournal, nil, ""},
		"its journal has had its time":   {journalGrace, needsJournal, nil, "its journal is not read yet"},
		"its journal, for another cause": {journalGrace, needsJournal, io.EOF, "EOF"},
		"not its journal":                {journalGrace, needsOffset, nil, ""},
	} {
		var log kafkatest.Log
		table := newOwnership()
		table.add(map[string][]int32{"t": {0}})
		p := &partition{stage: test.stage, err: test.err}
		p.Assignment = offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}
		all := []*partition{p}
		for no := range int32(20) { // others have nothing to say
			other := &partition{stage: needsOffset}
			other.Assignment = offsets.Assignment{TopicPartition: partitionOf(no + 1)}
			all = append(all, other)
		}
		l := newLoading(&loader{table: table, log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}, all)
		l.began = now.Add(-test.age)
		l.say(now)
		l.say(now)
		v := table.status(now).Partitions[0]
		said := 0
		if test.want != "" {
			said = 1
		}
		if (v.Stopped != "") != (test.want != "") || !strings.HasSuffix(v.Stopped, test.want) || len(log.Lines()) != said {
			t.Errorf("%s: %q, said %q; want %q", name, v.Stopped, log.String(), test.want)
		}
	}
}

// TestAQuestionIsAskedAgainSoonAtFirstAndThenEachSecond, and names the right that it wants.
func TestAQuestionIsAskedAgainSoonAtFirstAndThenEachSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &partition{asked: true}
		p.TopicPartition = partitionOf(0)
		l := newLoading(&loader{group: groupOffsets{name: "g"}}, []*partition{p})
		for age, want := range map[time.Duration]time.Duration{0: loadRetry, loadGrace - 1: loadRetry, loadGrace: sickRetry, time.Hour: sickRetry} {
			l.began = time.Now().Add(-age)
			l.retry(p, kerr.TopicAuthorizationFailed)
			if p.asked || time.Until(p.due) != want || !strings.Contains(p.err.Error(), "Read on topic t") {
				t.Errorf("after %v: asked again in %v with %v, want %v", age, time.Until(p.due), p.err, want)
			}
		}
		if l.retry(p, kerr.GroupAuthorizationFailed); !strings.Contains(p.err.Error(), "Read on group g") {
			t.Errorf("%v", p.err)
		}
	})
}

// TestAnEmptyLogHasAnEnd, and one with a single record: nothing below them is unread.
func TestAnEmptyLogHasAnEnd(t *testing.T) {
	table := newOwnership()
	table.add(map[string][]int32{"t": {0}})
	o := table.rows[partitionOf(0)]
	o.loaded = true
	o.failed(errors.New("refused"), time.Now().Add(-time.Hour))
	if table.noteEnd(o.Assignment, 0); o.end != 0 || o.fetchErr != nil {
		t.Errorf("of an empty log the end is %d, its fetch fails with %v", o.end, o.fetchErr)
	}
	f := kgo.FetchTopicPartition{Topic: "t", FetchPartition: kgo.FetchPartition{HighWatermark: 1, Records: []*kgo.Record{{Offset: 0}}}}
	if _, _, strayed, ok := table.noteFetch(&f); !ok || strayed || o.end != 1 || o.next != 1 || !o.fetched {
		t.Errorf("with its first record it is %d of %d", o.next, o.end)
	}
}

// TestStatusIsInTheOrderOfTopicsAndPartitions, and tells where a stopped one stands.
func TestStatusIsInTheOrderOfTopicsAndPartitions(t *testing.T) {
	table := newOwnership()
	table.identify("m", 7)
	table.add(map[string][]int32{"b": {1, 0}, "a": {2, 0, 1}})
	o := table.rows[offsets.TopicPartition{Topic: "a", Partition: 1}]
	o.loaded, o.next = true, 50
	o.stop(Halted, "x", 40, time.Now())
	s := table.status(time.Now())
	var got []string
	for _, v := range s.Partitions {
		got = append(got, v.Topic+string(rune('0'+v.Partition)))
	}
	if strings.Join(got, " ") != "a0 a1 a2 b0 b1" || s.MemberID != "m" || s.Generation != 7 || !s.Joined || s.Rebalances != 1 {
		t.Errorf("%v: %+v", got, s)
	}
	if s.Partitions[1].Next != 40 || s.Partitions[0].End != endUnknown {
		t.Errorf("%+v", s.Partitions[:2])
	}
}

// TestTheGroupsOffsetsAreAskedForByTopicOnce, and by the id of each, when they are stable.
func TestTheGroupsOffsetsAreAskedForByTopicOnce(t *testing.T) {
	one, two := offsets.TopicID{1}, offsets.TopicID{2}
	ids := make(map[offsets.TopicPartition]offsets.TopicID)
	for p := range int32(3) {
		ids[offsets.TopicPartition{Topic: "one", Partition: p}] = one
		ids[offsets.TopicPartition{Topic: "two", Partition: p}] = two
	}
	req, names := groupOffsets{name: "g"}.request(ids)
	if !req.RequireStable || len(req.Groups) != 1 || req.Groups[0].Group != "g" || len(req.Groups[0].Topics) != 2 || len(names) != 2 || names[one] != "one" || names[two] != "two" {
		t.Errorf("%+v, names %v", req, names)
	}
	for _, of := range req.Groups[0].Topics {
		if len(of.Partitions) != 3 || names[of.TopicID] != of.Topic {
			t.Errorf("topic %+v", of)
		}
	}
	if all, _ := (groupOffsets{name: "g"}).request(nil); len(all.Groups) != 1 || all.Groups[0].Topics != nil {
		t.Errorf("all: %+v", all)
	}
}

// TestAnIdentityIsOfClusterTopicAndPartition.
func TestAnIdentityIsOfClusterTopicAndPartition(t *testing.T) {
	got := identities(map[offsets.TopicPartition]cluster.Bounds{partitionOf(4): {ClusterID: "c", TopicID: offsets.TopicID{1}, Start: 9}})
	if want := (offsets.Identity{ClusterID: "c", TopicID: offsets.TopicID{1}, Partition: 4}); len(got) != 1 || got[partitionOf(4)] != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestAPollTellsWhenItBegan, and its end is nobody else's.
func TestAPollTellsWhenItBegan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := new(poll)
		p.interrupt() // of no poll
		ctx, done := p.begin(t.Context())
		began := time.Now()
		time.Sleep(pollAtMost - time.Millisecond)
		if !p.last().Equal(began) || ctx.Err() != nil || p.turns.Load() != 1 {
			t.Errorf("last %v, began %v, %v", p.last(), began, ctx.Err())
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if ctx.Err() == nil {
			t.Error("a poll without records does not end")
		}
		done()
		ctx, done = p.begin(t.Context())
		if p.interrupt(); ctx.Err() == nil {
			t.Error("a poll that is interrupted does not end")
		}
		done()
	})
}

// TestCommitsBehindTheEndAreAnswered, and not sent.
func TestCommitsBehindTheEndAreAnswered(t *testing.T) {
	c := &Consumer{table: newOwnership(), committer: &committer{turns: new(atomic.Int64)}}
	c.committer.start()
	c.committer.close()
	<-c.committer.done
	c.table.identify("m", 1)
	c.table.add(map[string][]int32{"t": {0}})
	answer := make(chan []offsets.CommitResult, 1)
	c.Commit([]offsets.Commit{low(0, 1, 10), low(1, 1, 20)}, func(r []offsets.CommitResult) { answer <- r })
	got := make(map[int32]error)
	for _, r := range <-answer {
		got[r.Partition] = r.Err
	}
	if len(got) != 2 || !errors.Is(got[0], kgo.ErrClientClosed) || !errors.Is(got[1], errNotOwned) {
		t.Errorf("answers %v", got)
	}
	if c.committer.turns.Load() == 0 {
		t.Error("its turns are not counted")
	}
}

// TestAConsumerWhoseOptionsContradictEachOtherIsNotMade.
func TestAConsumerWhoseOptionsContradictEachOtherIsNotMade(t *testing.T) {
	cfg := Config{Topics: []string{"t"}, Group: "g", SessionTimeout: 10 * time.Second, FetchMaxBytes: 1<<31 - 1, MaxDecompress: 1 << 20, Log: slog.New(slog.DiscardHandler)}
	if _, err := New(cfg, &notes{}); err == nil || !strings.Contains(err.Error(), "consumer client") {
		t.Errorf("more bytes of a fetch than of any answer: %v", err)
	}
	refusing := false
	cfg.FetchMaxBytes, cfg.Refused = 1<<20, func() bool { return refusing }
	var log kafkatest.Log
	cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
	c, err := New(cfg, &notes{})
	if err != nil {
		t.Fatal(err)
	}
	for _, refusing = range []bool{true, false} {
		if c.group.OnGroupManageError(io.EOF); len(log.Lines()) == 0 != refusing {
			t.Errorf("refused %v: said %s", refusing, &log)
		}
	}
	if c.table.lease.length != 8*time.Second {
		t.Errorf("the lease is %v of a session of 10 s", c.table.lease.length)
	}
}

// TestWhatIsLostIsSaidWhereTheHandlerHasIt, were it a single partition.
func TestWhatIsLostIsSaidWhereTheHandlerHasIt(t *testing.T) {
	for loaded := range int32(3) {
		var log kafkatest.Log
		n := &notes{has: make(map[int32]facts.Assigned)}
		c := &Consumer{cfg: Config{Group: "g", Log: slog.New(slog.NewTextHandler(&log, nil))}, table: newOwnership(), handler: n}
		c.table.add(map[string][]int32{"t": {0, 1, 2}})
		for p := range loaded {
			c.table.rows[partitionOf(p)].loaded = true
		}
		c.lose(map[string][]int32{"t": {0, 1}})
		said := len(log.Lines("level=WARN", "partitions lost", "group=g"))
		if n.lost != int(loaded) || n.empty != 0 || (said == 1) != (loaded > 0) || c.table.owns(partitionOf(0)) || !c.table.owns(partitionOf(2)) {
			t.Errorf("of %d that have begun %d were lost, said %d times", loaded, n.lost, said)
		}
	}
}
