package journal

import (
	"bytes"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"layover/cli/process"
	"layover/offsets"
	"layover/verify/kafkatest"
)

// Two damaged batches are side by side, as one bad sector leaves them. The second begins
// where the first says that it ends, and there is no way on past the first.
func TestSkipGoesPastDamagedBatchesSideBySide(t *testing.T) {
	good := kafkatest.Batch(func(*kmsg.RecordBatch) {})
	seen := bytes.Clone(good)
	seen[len(seen)-1] ^= 1
	w := forSkips(t, forging(good[16:], seen[16:]))
	w.fill(0, 2)
	w.ProduceBatch(ingress, good)
	w.ProduceBatch(ingress, good)
	w.fill(0, 1)
	w.commit(0, 2, w.epoch, "")
	if got := w.skip("delayed/0@2 --execute"); got.code != process.ExitOK || w.committed(0).Offset != 5 {
		t.Errorf("no way on: %+v, committed %+v", got, w.committed(0))
	}
}

// The log was truncated and written anew while all instances were stopped. The finished
// offsets are of the epoch before. A commit of skip would name the epoch of the batch, and a
// restart would never deliver offset 7.
func TestSkipTakesNothingThatWasWrittenAnewForFinished(t *testing.T) {
	w := forSkips(t)
	w.fill(0, 6) // 0 to 5; 6 to 12 were there, and are gone
	set := offsets.NewWindow(0)
	set.FinishRange(6, 9)
	id := w.id(0, 0xa1).Identity
	w.commit(0, 0, w.epoch, offsets.Encode(set, id, offsets.Extension{Incarnation: 0xa1}, offsets.MaxMetadata).Metadata)
	w.truncate(0, 10) // 6 to 15 are of a later epoch
	before := *w.committed(0)
	w.refuses(w.skip("delayed/0@12 --execute"), "the log was truncated at 6 since, and offsets above count as finished that were written anew: start Layover, which reads them")
	if *w.committed(0) != before || w.letter() != nil {
		t.Error("something was done")
	}
}

// TestSkipTakesAPartitionThatIsNotStartedForOneWithoutAnOffset, as recover does: its journal may have more.
func TestSkipTakesAPartitionThatIsNotStartedForOneWithoutAnOffset(t *testing.T) {
	w := forSkips(t)
	w.fill(0, 1000)
	w.assignment(0, 0xa1).finish(1, 600)
	w.commit(0, 0, -1, offsets.Unstarted)
	w.refuses(w.skip("delayed/0@3 --execute"), "delayed/0: group layover-delayed has no offset of it, so that its finished offsets are not known")
	if got := w.committed(0); got.Metadata != offsets.Unstarted || w.letter() != nil {
		t.Errorf("something was done: %+v", got)
	}
	if got := w.do("recover --execute --partition 0"); got.code != process.ExitOK || w.committed(0).Metadata == offsets.Unstarted {
		t.Errorf("%+v", got)
	}
}

// said returns the finished set and the extension of a partition's commit.
func (w *fixture) said(id offsets.Identity) (*offsets.Window, offsets.Extension) {
	w.Helper()
	now := w.committed(id.Partition)
	set, ext, err := offsets.DecodeAll(now.Metadata, id, now.Offset)
	if err != nil {
		w.Fatal(err)
	}
	return set, ext
}

// A commit that leaves out a finished offset does not say from where on commands count again.
// The offset may be that of a record which a finished cancel has ended.
func TestASkipThatLeavesOutFinishedOffsetsLetsAllCommandsCountAgain(t *testing.T) {
	w := forSkips(t)
	w.fill(0, 7000)
	id := w.id(0, 0xa1).Identity
	ext := offsets.Extension{Incarnation: 0xa1, Again: 7000} // all was read
	set := offsets.NewWindow(0)
	set.Finish(6999)
	full := offsets.Encode(set, id, ext, offsets.MaxMetadata)
	for o := int64(1); ; o += 2 {
		set.Finish(o)
		enc := offsets.Encode(set, id, ext, offsets.MaxMetadata)
		if !enc.Complete {
			break
		}
		full = enc
	}
	w.commit(0, 0, w.epoch, full.Metadata)
	if got := w.skip("delayed/0@5000 --execute"); got.code != process.ExitOK {
		t.Fatalf("%+v", got)
	}
	set, ext = w.said(id)
	if !set.Finished(5000) || ext.Incarnation != 0xa1 {
		t.Errorf("%d finished offsets of incarnation %x", set.Above(), ext.Incarnation)
	}
	if !set.Finished(6999) && ext.Again != 0 {
		t.Errorf("the last finished offset is left out, and commands count again from %d on, want all", ext.Again)
	}
}

// A record that is left out was no command, and is none after a restart by whose clock or
// settings it is valid.
func TestASkippedRecordEndsNoOther(t *testing.T) {
	for name, test := range map[string]struct{ again, want int64 }{
		"reading stopped there":       {7, 8},
		"an older command is open":    {5, 5},
		"it was read before":          {9, 9},
		"all finished commands count": {0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := forSkips(t)
			w.fill(0, 10)
			id := w.id(0, 0xa1).Identity
			set := offsets.NewWindow(2)
			set.FinishRange(3, 6)
			runs := offsets.RunsState{TopicID: offsets.TopicID{0xaa}, Low: 3, Known: 9, DirectoryEnd: 7, Holds: true}
			was := offsets.Extension{Incarnation: 0xa1, Again: test.again, Runs: runs}
			w.commit(0, 2, w.epoch, offsets.Encode(set, id, was, offsets.MaxMetadata).Metadata)
			if got := w.skip("delayed/0@7 --execute"); got.code != process.ExitOK {
				t.Fatalf("%+v", got)
			}
			if set, ext := w.said(id); !set.Finished(7) || ext.Again != test.want {
				t.Errorf("commands count again from %d on, want %d", ext.Again, test.want)
			} else if ext.Runs != runs {
				t.Errorf("the commit says of runs %+v, it said %+v", ext.Runs, runs)
			}
		})
	}
}
