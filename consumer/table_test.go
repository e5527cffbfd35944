package consumer

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"layover/journal/facts"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestPartitionsOfAnEarlierMemberIDAreTold until they are forgotten, each time the id changes.
func TestPartitionsOfAnEarlierMemberIDAreTold(t *testing.T) {
	table := newOwnership()
	for _, id := range []string{"a", "b", "c"} {
		table.identify(id, 3)
		if got := table.outlived(); id != "a" && (len(got["t"]) != 2 || len(got) != 1) {
			t.Errorf("%s: %v, want two partitions", id, got)
		} else {
			table.forget(got)
		}
		if n := table.add(map[string][]int32{"t": {0, 1}}); n != 2 {
			t.Errorf("%s: %d partitions, want 2", id, n)
		}
		if got := table.outlived(); len(got) != 0 {
			t.Errorf("%s: %v outlived it", id, got)
		}
	}
}

// TestAStoppageSaysItsFirstCauseAndEndsWhole, each time: fetches, and a begin that is not known.
func TestAStoppageSaysItsFirstCauseAndEndsWhole(t *testing.T) {
	var s stoppage
	now := time.Unix(1000, 0)
	quiet := func(when string) {
		t.Helper()
		if text, code, since, trying := s.said(now); text != "" || code != "" || !since.IsZero() || trying || s.stopped() || s.final() {
			t.Errorf("%s: %q, %q since %v, trying %v", when, text, code, since, trying)
		}
	}
	for range 3 {
		quiet("at first")
		s.failed(errors.New("one"), now)
		began := now
		now = now.Add(loadGrace - time.Millisecond)
		s.failed(errors.New("two"), now)
		quiet("a moment later")
		now = now.Add(time.Millisecond)
		if text, code, since, trying := s.said(now); text != "fetches fail, trying again: two" || code != Failing || !since.Equal(began) || !trying || s.stopped() {
			t.Errorf("%q, %q since %v, trying %v", text, code, since, trying)
		}
		s.answered()
		quiet("answered")
		s.await("no leader", now)
		began = now
		now = now.Add(time.Minute)
		s.await("no broker", now)
		if text, code, since, trying := s.said(now); text != "where to begin is not known yet, trying again: no broker" || code != NotBegun || !since.Equal(began) || !trying || s.final() {
			t.Errorf("%q, %q since %v, trying %v", text, code, since, trying)
		}
		s.clear()
		quiet("begun")
		s.stop(Truncated, "as a test wants", 7, now)
		s.failed(errors.New("three"), now)
		now = now.Add(time.Hour)
		if text, code, since, trying := s.said(now); text != "as a test wants" || code != Truncated || !since.Equal(now.Add(-time.Hour)) || trying || !s.final() || s.at != 7 {
			t.Errorf("%q, %q since %v, trying %v", text, code, since, trying)
		}
		s.clear()
		s.answered()
		now = now.Add(time.Hour)
	}
}

// TestARowGoesFromAClaimToItsEnd: a loading has it once, and lets it go.
func TestARowGoesFromAClaimToItsEnd(t *testing.T) {
	table := newOwnership()
	table.identify("m", 1)
	for round := range 3 {
		table.add(map[string][]int32{"t": {0, 1, 2}})
		claimed := table.claim()
		if len(claimed) != 3 || len(table.claim()) != 0 {
			t.Errorf("round %d: claimed %v", round, claimed)
		}
		table.release(claimed)
		if again := table.claim(); len(again) != 3 {
			t.Errorf("round %d: claimed again %v", round, again)
		}
		slices.SortFunc(claimed, func(a, b offsets.Assignment) int { return int(a.Partition - b.Partition) })
		begun, refused, waits := claimed[0], claimed[1], claimed[2]
		for _, a := range claimed {
			table.await(a, "no leader")
		}
		time.Sleep(time.Millisecond)
		before := time.Now()
		if !table.begin(&facts.Assigned{Assignment: begun, TopicID: offsets.TopicID{1}, Next: 5}, 9) || !table.refuse(&facts.Assigned{Assignment: refused, TopicID: offsets.TopicID{1}}, NoOffset, "lost") {
			t.Errorf("round %d: an assignment that is not over is", round)
		}
		table.await(begun, "too late")
		table.await(refused, "too late")
		rows := table.status(time.Now()).Partitions
		if v := rows[0]; !v.Loaded || v.Stopped != "" || v.Next != 5 || v.End != 9 || !table.isOf(begun, offsets.TopicID{1}) || table.isOf(begun, offsets.TopicID{2}) {
			t.Errorf("round %d, begun: %+v", round, v)
		}
		if v := rows[1]; v.Loaded || v.Stopped != "lost" || v.Reason != NoOffset || v.Trying || v.Since.Before(before) {
			t.Errorf("round %d, refused: %+v", round, v)
		}
		if v := rows[2]; v.Loaded || v.Reason != NotBegun || !v.Trying || v.End != endUnknown {
			t.Errorf("round %d, waits: %+v", round, v)
		}
		if got := table.loadedOf(map[string][]int32{"t": {0, 1, 2, 3}}); !slices.Equal(got, []offsets.Assignment{begun}) || len(table.loaded()) != 1 {
			t.Errorf("round %d: the handler has %v, want %v", round, got, begun)
		}
		if at := table.position(begun); at != 5 || table.position(offsets.Assignment{TopicPartition: begun.TopicPartition, Epoch: 999}) != -1 {
			t.Errorf("round %d: at %d", round, at)
		}
		table.noteEnd(begun, 20)
		table.noteEnd(begun, -1)
		if v := table.status(time.Now()).Partitions[0]; v.End != 20 {
			t.Errorf("round %d: its end is %d", round, v.End)
		}
		table.release([]offsets.Assignment{waits})
		if got := table.claim(); !slices.Equal(got, []offsets.Assignment{waits}) {
			t.Errorf("round %d: claimed %v, want %v alone", round, got, waits)
		}
		table.forget(map[string][]int32{"t": {0, 1, 2}})
		if table.is(begun) || table.owns(begun.TopicPartition) || table.begin(&facts.Assigned{Assignment: begun}, 1) || table.refuse(&facts.Assigned{Assignment: begun}, NoOffset, "x") {
			t.Errorf("round %d: it is not over", round)
		}
	}
}

// TestAFetchMovesItsRowOn: position and end, and whether the client strayed below it.
func TestAFetchMovesItsRowOn(t *testing.T) {
	table := unreadRows(5, 5)
	fetch := func(partition int32, end int64, err error, offsets ...int64) (from int64, strayed, ok bool) {
		f := kgo.FetchTopicPartition{Topic: "delayed", FetchPartition: kgo.FetchPartition{Partition: partition, HighWatermark: end, Err: err}}
		for _, o := range offsets {
			f.Records = append(f.Records, &kgo.Record{Offset: o})
		}
		_, from, strayed, ok = table.noteFetch(&f)
		return from, strayed, ok
	}
	wants := func(what string, partition int32, next, end int64) {
		t.Helper()
		if o := table.of(partition); o.next != next || o.end != end {
			t.Errorf("%s: at %d of %d, want %d of %d", what, o.next, o.end, next, end)
		}
	}
	if from, strayed, ok := fetch(0, 0, nil); !ok || strayed || from != 100 || table.of(0).fetched {
		t.Errorf("an empty answer: from %d, strayed %v, %v", from, strayed, ok)
	}
	wants("an empty answer", 0, 100, 105)
	if from, strayed, ok := fetch(0, 107, nil, 40, 41); !ok || !strayed || from != 100 {
		t.Errorf("the first records are below: from %d, strayed %v, %v", from, strayed, ok)
	}
	wants("below", 0, 100, 107)
	if _, strayed, ok := fetch(0, 107, nil, 42); !ok || strayed {
		t.Errorf("more of them: strayed %v, %v", strayed, ok)
	}
	if _, strayed, ok := fetch(0, 110, nil, 100, 104); !ok || strayed {
		t.Errorf("in order: strayed %v, %v", strayed, ok)
	}
	wants("in order", 0, 105, 110)
	if _, strayed, ok := fetch(1, 200, errors.New("x")); !ok || strayed || !table.of(1).fetched {
		t.Errorf("an error: strayed %v, %v", strayed, ok)
	}
	wants("an error", 1, 100, 105)
	table.of(1).stop(Halted, "x", 100, time.Now())
	if _, _, ok := fetch(1, 200, nil, 100); ok {
		t.Error("a partition that is stopped gets records")
	}
	if _, _, ok := fetch(7, 200, nil, 100); ok {
		t.Error("a partition that is nobody's gets records")
	}
}

// TestALeapIsMadeOnceTheClientKnowsThePartition, and forwards alone unless it is forced.
func TestALeapIsMadeOnceTheClientKnowsThePartition(t *testing.T) {
	for name, test := range map[string]struct {
		change func(o *owned)
		to     jumpTo
		want   fate
		next   int64
	}{
		"forwards":                {func(*owned) {}, jumpTo{110, -1, false}, leapt, 110},
		"not fetched yet":         {func(o *owned) { o.fetched = false }, jumpTo{110, -1, true}, tooEarly, 100},
		"to where it is":          {func(*owned) {}, jumpTo{100, -1, false}, needless, 100},
		"to where it is, forced":  {func(*owned) {}, jumpTo{100, -1, true}, leapt, 100},
		"backwards, forced":       {func(*owned) {}, jumpTo{99, -1, true}, needless, 100},
		"of one that is stopped":  {func(o *owned) { o.stop(Halted, "x", 1, time.Now()) }, jumpTo{110, -1, true}, needless, 100},
		"just the next, unforced": {func(*owned) {}, jumpTo{101, -1, false}, leapt, 101},
	} {
		o := unreadRows(5).of(0)
		o.fetched = true
		test.change(o)
		if got := o.leap(test.to); got != test.want || o.next != test.next {
			t.Errorf("%s: %d, at %d; want %d, at %d", name, got, o.next, test.want, test.next)
		}
	}
}

// TestACommitRequestSaysWhoSendsIt, and each of its partitions hears of a failure.
func TestACommitRequestSaysWhoSendsIt(t *testing.T) {
	commits := []offsets.Commit{low(0, 1, 10), low(1, 1, 20)}
	for i := range commits {
		commits[i].MemberID, commits[i].Generation, commits[i].Metadata, commits[i].TopicID = "m", 7, "meta", offsets.TopicID{3}
	}
	for _, instance := range []string{"", "only"} {
		k := &committer{group: "g", instanceID: instance}
		r := k.request(commits)
		if r.Group != "g" || r.MemberID != "m" || r.Generation != 7 || (r.InstanceID == nil) != (instance == "") || r.InstanceID != nil && *r.InstanceID != instance {
			t.Errorf("instance %q: %+v", instance, r)
		}
		if len(r.Topics) != 1 || r.Topics[0].Topic != "t" || r.Topics[0].TopicID != [16]byte{3} || len(r.Topics[0].Partitions) != 2 {
			t.Fatalf("topics %+v", r.Topics)
		}
		for i, p := range r.Topics[0].Partitions {
			if p.Partition != int32(i) || p.Offset != int64(10*(i+1)) || p.LeaderEpoch != -1 || p.Metadata == nil || *p.Metadata != "meta" {
				t.Errorf("partition %+v", p)
			}
		}
	}
	closed, err := kgo.NewClient(kgo.SeedBrokers("127.0.0.1:1"))
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	out := (&committer{client: closed, group: "g", broken: new(brokenCommits)}).sendOne(context.Background(), commits)
	if len(out) != 2 {
		t.Fatalf("%d answers of 2", len(out))
	}
	for i, r := range out {
		if r.Err == nil || !r.MayArrive || r.Low != commits[i].Low || r.Partition != int32(i) || r.Unsent || r.Fenced || r.Gone || r.Hopeless {
			t.Errorf("answer %+v", r)
		}
	}
}

// TestAGroupsStartIsCommittedByOneMemberForAll: without bounds as not started, and none where
// a journal is left.
func TestAGroupsStartIsCommittedByOneMemberForAll(t *testing.T) {
	inGroup(t, func(g *group) {
		for p := range int32(3) {
			g.produce(p, 10)
		}
		g.DeleteRecords("t", 1, 4)
		books := newLibrary()
		books.held = map[int32]bool{0: true}
		sick := g.Refuse(kmsg.ListOffsets, kfake.Fault{Topic: "t", Partitions: []int32{2}, Err: kerr.LeaderNotAvailable})
		with := func(c *Config) { c.Journal = books }
		first, two := g.join(with), g.join(with)
		time.Sleep(30 * time.Second)
		if n := len(g.logs.Lines("group starts")); n != 1 {
			t.Errorf("the start is said %d times, want 1", n)
		}
		if _, ok := g.Committed("g", "t", 0); ok {
			t.Error("the partition with a journal has an offset")
		}
		if at, ok := g.Committed("g", "t", 1); !ok || at.At != 4 || at.LeaderEpoch != -1 {
			t.Errorf("the one that is well is committed at %+v, want 4", at)
		}
		if at, ok := g.Committed("g", "t", 2); !ok || at.At != 0 || at.Metadata != offsets.Unstarted {
			t.Errorf("the one without bounds is committed at %+v", at)
		}
		sick.Remove()
		time.Sleep(10 * time.Second)
		read := make(map[int32]int)
		var orphan View
		for _, m := range []*one{first, two} {
			for p := range int32(3) {
				read[p] += len(m.offsetsOf(p))
				if v := m.view(p); p == 0 && v.Stopped != "" {
					orphan = v
				}
			}
		}
		if read[0] != 0 || read[1] != 6 || read[2] != 10 || orphan.Reason != NoOffset {
			t.Errorf("read %v, the one with a journal is %+v", read, orphan)
		}
	})
}

// TestWithoutAnAnswerAboutTheGroupNothingIsStarted, and all is once there is one.
func TestWithoutAnAnswerAboutTheGroupNothingIsStarted(t *testing.T) {
	for name, key := range map[string]kmsg.Key{"no offsets": kmsg.OffsetFetch, "no commit": kmsg.OffsetCommit} {
		t.Run(name, func(t *testing.T) {
			inGroup(t, func(g *group) {
				for p := range int32(3) {
					g.produce(p, 10)
				}
				g.Answer(key, func(r kmsg.Request) kmsg.Response {
					if time.Since(g.began) > 20*time.Second {
						return nil
					}
					switch resp := r.ResponseKind().(type) {
					case *kmsg.OffsetCommitResponse:
						for _, of := range r.(*kmsg.OffsetCommitRequest).Topics {
							rt := kmsg.NewOffsetCommitResponseTopic()
							rt.Topic, rt.TopicID = of.Topic, of.TopicID
							for _, p := range of.Partitions {
								rp := kmsg.NewOffsetCommitResponseTopicPartition()
								rp.Partition, rp.ErrorCode = p.Partition, kerr.UnknownServerError.Code
								rt.Partitions = append(rt.Partitions, rp)
							}
							resp.Topics = append(resp.Topics, rt)
						}
						return resp
					case *kmsg.OffsetFetchResponse:
						if len(r.(*kmsg.OffsetFetchRequest).Groups) > 0 && r.(*kmsg.OffsetFetchRequest).Groups[0].Topics != nil {
							return nil // the client's own question
						}
						rg := kmsg.NewOffsetFetchResponseGroup()
						rg.Group, rg.ErrorCode = "g", kerr.UnknownServerError.Code
						resp.Groups = append(resp.Groups, rg)
						return resp
					}
					return nil
				})
				m := g.join(nil)
				time.Sleep(15 * time.Second)
				for p := range int32(3) {
					if v := m.view(p); v.Loaded || v.Reason != NotBegun || !v.Trying || len(m.offsetsOf(p)) != 0 {
						t.Errorf("partition %d: %+v", p, v)
					}
				}
				time.Sleep(20 * time.Second)
				for p := range int32(3) {
					if v := m.view(p); !v.Loaded || v.Stopped != "" || v.Next != 10 || len(m.offsetsOf(p)) != 10 {
						t.Errorf("partition %d after all: %+v", p, v)
					}
				}
			})
		})
	}
}
