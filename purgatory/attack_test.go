package purgatory

import (
	"testing"

	"layover/journal/facts"
	"layover/offsets"
	"layover/purgatory/far"
)

// attacked is partition 0 with an index of a runs topic.
type attacked struct {
	*rig
	a offsets.Assignment
	n uint64
}

func newAttacked(t *testing.T) *attacked {
	r := &attacked{rig: newRig(t, nil), a: offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}}
	r.assign(0, 1, 0)
	r.Runs().Usable(ingress, true)
	return r
}

// open begins with the runs topic, as the simulation does.
func (r *attacked) open(topic byte, epoch int32, log offsets.Bounds) *far.Index {
	r.n++
	o := far.Opening{Writer: r.n, TopicID: offsets.TopicID{topic}, LeaderEpoch: epoch, Log: log, Window: offsets.NewWindow(0)}
	if _, ok := r.Runs().LeftEpoch(r.a); ok { // the log of that epoch ends with the log, in these tests
		o.Window = r.Runs().Left(r.a, o.TopicID, log.End)
	}
	id := facts.Identity{Identity: offsets.Identity{ClusterID: "c", TopicID: o.TopicID}, Group: "g"}
	o.Facts = facts.NewJournalOnly(id, r.n, facts.Restored{}, o.Window)
	x, lost := far.Open(&o)
	r.Runs().Begin(r.a, o.TopicID, x, lost)
	return x
}

// move moves all that is parked, to offsets from one on, and gives the moves.
func (r *attacked) move(from int64) {
	r.Helper()
	r.Runs().Gather(0, 1<<20, 100)
	for i, m := range r.Runs().Offer(nil, 100) {
		r.Runs().Moved(r.at, []Answer{{ID: m.ID, Acked: true, Offset: from + int64(i), Bytes: 10}})
	}
}

func copyOf(offset, dueMs int64) far.Found {
	return far.Found{Offset: offset, DeadlineMs: dueMs, Bytes: 10, Writer: 77, Run: 1}
}

// read answers the one visit there is.
func (r *attacked) read(highest int32, end int64, found ...far.Found) (taken []int, renewed bool) {
	r.Helper()
	vs := r.Runs().Visits(nil, aheadMs, aheadMs)
	if len(vs) != 1 {
		r.Fatalf("%d visits", len(vs))
	}
	return r.Runs().Take(&Visited{Visit: vs[0], Until: vs[0].To, Found: found, Highest: highest, End: end}, aheadMs, 1<<20, nil)
}

// loadable lets all copies come due and says which offsets visits take.
func (r *attacked) loadable(log map[int64]int64) map[int64]bool {
	taken := make(map[int64]bool)
	for range 100 {
		r.pass(10_000)
		for _, v := range r.Runs().Visits(nil, aheadMs, aheadMs) {
			var found []far.Found
			for o := v.From; o < v.To; o++ {
				if due, ok := log[o]; ok {
					found = append(found, far.Found{Offset: o, DeadlineMs: due, Bytes: 10, Writer: r.n})
				}
			}
			take, _ := r.Runs().Take(&Visited{Visit: v, Until: v.To, Found: found, Highest: v.LeaderEpoch}, aheadMs, 1<<20, nil)
			for _, i := range take {
				taken[found[i].Offset] = true
			}
		}
	}
	return taken
}

// TestAttackATopicMadeAgainWhileItsIndexIsGone: the log is truncated, and before the next Begin the
// topic is made again. Four records that are moved then are all read back. The first variant
// has finished copies left, the second a copy in memory.
func TestAttackATopicMadeAgainWhileItsIndexIsGone(t *testing.T) {
	for name, inMemory := range map[string]bool{"finished": false, "in memory": true} {
		t.Run(name, func(t *testing.T) {
			r := newAttacked(t)
			x := r.open(1, 3, offsets.Bounds{End: 4})
			far := r.at.WallMs + 400_000
			soon := r.at.WallMs + 1000
			taken, _ := r.read(3, 4, copyOf(0, far), copyOf(1, far), copyOf(2, soon), copyOf(3, far))
			if len(taken) != 1 {
				t.Fatal(taken)
			}
			l, _ := r.Loader(r.a)
			a := r.arrival(1000, 1000, "0 copy")
			l.Load(2, &a)
			if !inMemory {
				r.pass(1000)
				ds := r.offer()
				r.want(ds, 1000)
				r.end(Delivered, ds...)
				if !x.Finished(2) {
					t.Fatal("no outcome")
				}
			}
			p := r.parts.find(r.a.TopicPartition, 1)
			r.Runs().renew(p, 3, 1) // as Take does for a log that ends at 3 in epoch 4
			r.Runs().Renewed(r.a, offsets.TopicID{2})
			r.open(2, 0, offsets.Bounds{})
			r.mustTake(0, 1, 300_000, 0, 1, 2, 3)
			r.move(0)
			if r.stats.Moved != 4 {
				t.Fatalf("%d moved", r.stats.Moved)
			}
			due := r.at.WallMs + 300_000
			got := r.loadable(map[int64]int64{0: due, 1: due, 2: due, 3: due})
			if !got[2] || len(got) != 4 {
				t.Errorf("LOST: of four copies that were acknowledged %v are loaded", got)
			}
		})
	}
}

// TestAttackALogTruncatedOnceMoreWhileItsIndexIsGone: what is left is finished in the log before.
func TestAttackALogTruncatedOnceMoreWhileItsIndexIsGone(t *testing.T) {
	r := newAttacked(t)
	r.open(1, 3, offsets.Bounds{End: 6})
	due := r.at.WallMs + 400_000
	r.read(3, 6, copyOf(0, due), copyOf(5, due)) // 1 to 4 are directories
	p := r.parts.find(r.a.TopicPartition, 1)
	r.Runs().renew(p, 5, 1)
	r.open(1, 5, offsets.Bounds{End: 1}) // epoch 5 begins at 1
	r.read(5, 1, copyOf(0, due))
	r.mustTake(0, 1, 300_000, 0, 1, 2)
	r.move(1)
	due = r.at.WallMs + 300_000
	if got := r.loadable(map[int64]int64{1: due, 2: due, 3: due}); len(got) < 3 {
		t.Errorf("LOST: of three copies that were acknowledged %v are loaded; %d moved", got, r.stats.Moved)
	}
}

// TestAttackAnAnswerOwedToTheIndexBefore is about a record of the writer before, with the same number.
func TestAttackAnAnswerOwedToTheIndexBefore(t *testing.T) {
	r := newAttacked(t)
	r.Journals().Tell(ingress, JournalState{Usable: true, TopicID: offsets.TopicID{9}, MaxBytes: 1 << 20})
	due := r.at.WallMs + 400_000
	r.open(1, 3, offsets.Bounds{End: 10})
	r.read(3, 10, copyOf(0, due)) // the others are finished
	r.Journals().Cut(true)
	first := r.writes()
	if len(first) == 0 {
		t.Fatal("nothing is written")
	}
	p := r.parts.find(r.a.TopicPartition, 1)
	r.Runs().renew(p, 8, 0)
	x := r.open(1, 4, offsets.Bounds{End: 10})
	r.read(4, 10, copyOf(0, due))
	r.Journals().Cut(true)
	second := r.writes()
	if len(second) == 0 {
		t.Fatal("nothing is written")
	}
	for i, w := range first { // all of the first land at 0, 1, …; none of the second has
		r.Journals().Written(r.a, facts.Result{Seq: w.Seq, Offset: int64(i)})
	}
	if named := x.Facts().Named(); !named.IsZero() {
		t.Errorf("a commit names %+v, and none of the records of this index is there", named)
	}
}

// writes takes what is to be written to journals.
func (r *attacked) writes() (out []JournalWrite) {
	out = append(out, r.journals.writes...)
	r.journals.writes = r.journals.writes[:0]
	return out
}

// TestAttackALogStartOfTheTopicBefore: a visit to the topic before has told it.
func TestAttackALogStartOfTheTopicBefore(t *testing.T) {
	r := newAttacked(t)
	r.open(1, 0, offsets.Bounds{End: 100})
	old := r.Runs().Visits(nil, aheadMs, aheadMs)
	r.Runs().Renewed(r.a, offsets.TopicID{2})
	r.open(2, 0, offsets.Bounds{})
	r.mustTake(0, 1, 300_000, 0, 1, 2)
	r.move(0)
	due := r.at.WallMs + 300_000
	r.Runs().LogStart(&old[0], 50)
	if got := r.loadable(map[int64]int64{0: due, 1: due, 2: due}); len(got) != 3 {
		t.Errorf("LOST: of three copies %v are loaded", got)
	}
}

// TestAttackACommitOfTheIndexBefore says of a log that was truncated that 8 offsets are finished.
func TestAttackACommitOfTheIndexBefore(t *testing.T) {
	r := newAttacked(t)
	r.Journals().Tell(ingress, JournalState{Usable: true, TopicID: offsets.TopicID{9}, MaxBytes: 1 << 20})
	due := r.at.WallMs + 400_000
	r.open(1, 3, offsets.Bounds{End: 8})
	r.read(3, 8) // all are directories
	commits := r.Commits(nil, true)
	if len(commits) != 1 || commits[0].Runs.Low != 8 {
		t.Fatalf("%+v", commits)
	}
	p := r.parts.find(r.a.TopicPartition, 1)
	r.Runs().renew(p, 2, 0)
	x := r.open(1, 4, offsets.Bounds{End: 9})
	r.Committed(offsets.CommitResult{Commit: commits[0]})
	r.read(4, 2, copyOf(8, due)) // 2 to 7 are nothing
	r.Journals().Cut(true)
	for i, w := range r.writes() {
		r.Journals().Written(r.a, facts.Result{Seq: w.Seq, Offset: int64(i)})
	}
	if below, ok := x.Delete(); ok && below > 2 {
		t.Errorf("deleted is below %d, and no commit has said of this log that more than 2 are finished", below)
	}
}

// TestAttackACopyIsLoadedThoughMuchIsUnread: behind the known end are a million offsets, read a
// thousand at a time, once in 10 ms. A copy of the directory is due in 4 s.
func TestAttackACopyIsLoadedThoughMuchIsUnread(t *testing.T) {
	r := newAttacked(t)
	x := far.New(far.Beginning{Writer: 1, Window: offsets.NewWindow(0)})
	due := r.at.WallMs + 4000
	w := far.New(far.Beginning{Writer: 9, Window: offsets.NewWindow(0)})
	w.Acked(copyOf(0, due))
	d, err := w.Directory()
	if err != nil {
		t.Fatal(err)
	}
	x.Adopt(&d, 1)
	x.Log(offsets.Bounds{End: 1_000_000})
	r.Runs().Begin(r.a, offsets.TopicID{1}, x, 0)
	for r.at.WallMs < due+1000 {
		for _, v := range r.Runs().Visits(nil, aheadMs, aheadMs) {
			answer := &Visited{Visit: v, Until: min(v.To, v.From+1000)}
			if v.From == 0 {
				answer.Found = []far.Found{copyOf(0, due)}
			}
			if take, _ := r.Runs().Take(answer, aheadMs, 1<<20, nil); len(take) > 0 {
				return
			}
		}
		r.pass(10)
	}
	t.Errorf("a second late, and not read: the known end is %d", x.Known())
}

// TestAttackADoubtThatNothingHasAnswered: the visit that failed was under way before.
func TestAttackADoubtThatNothingHasAnswered(t *testing.T) {
	r := newAttacked(t)
	r.open(1, 3, offsets.Bounds{End: 10})
	vs := r.Runs().Visits(nil, aheadMs, aheadMs)
	r.mustTake(0, 1, 300_000, 0)
	x := r.parts.find(r.a.TopicPartition, 1).moved.index
	x.Start(10) // or was read
	r.move(4)   // the log was truncated: 4 was acknowledged
	if p := r.parts.find(r.a.TopicPartition, 1); !p.moved.doubtful {
		t.Fatal("no doubt")
	}
	r.Runs().Unread(vs[0])
	r.pass(5000)
	if vs := r.Runs().Visits(nil, aheadMs, aheadMs); len(vs) == 0 {
		t.Error("nobody asks which log it is")
	}
}

// TestAttackOwnCopiesReadEarlyAreListed: their answers come after a visit has read them.
func TestAttackOwnCopiesReadEarlyAreListed(t *testing.T) {
	x := far.New(far.Beginning{Writer: 1, Window: offsets.NewWindow(0)})
	x.Log(offsets.Bounds{End: 3})
	found := []far.Found{{Offset: 0, DeadlineMs: 1000, Writer: 1, Bytes: 1}, {Offset: 1, DeadlineMs: 1000, Writer: 1, Bytes: 1}, {Offset: 2, DeadlineMs: 1000, Writer: 1, Bytes: 1}}
	x.Read(0, 3, found, 0, 100, nil)
	for _, f := range found {
		if !x.Acked(f) {
			t.Fatal(f)
		}
	}
	if !x.WantsDirectory() {
		t.Error("three copies were moved, and no directory will list them")
	}
}
