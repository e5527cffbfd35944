package journal

import (
	"bytes"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"layover/cli/process"
	"layover/offsets"
	"layover/verify/kafkatest"
)

// Two damaged batches side by side, as one bad sector leaves them: the second begins where
// the first says that it ends, and there is no way on past the first.
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
// offsets are of the epoch before, and a commit of skip would name the epoch of the batch: a
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
