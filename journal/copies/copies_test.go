package copies

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"layover/cluster"
	"layover/journal/runs"
	"layover/purgatory"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestAVisitReadsRecordsAsTheyStoodInIngress, each with its deadline, and nothing else that is there.
func TestAVisitReadsRecordsAsTheyStoodInIngress(t *testing.T) {
	inBubble(t, func(w *stack) {
		began := time.Now()
		w.Produce(&kgo.Record{Topic: topic, Value: []byte("somebody's")})
		w.Produce(w.copied("g", 100, nil))
		w.Produce(w.copied("g", 101, []byte("value")))
		a, records := w.visit(w.topic(), 0, 3)
		w.has(&a, 3, 1, 2)
		for i, r := range records {
			if r.Topic != ingress || r.Partition != 0 || r.Offset != int64(100+i) || string(r.Key) != "key" || (r.Value == nil) != (i == 0) {
				w.Errorf("%d: %s/%d@%d, key %q, value %q", i, r.Topic, r.Partition, r.Offset, r.Key, r.Value)
			}
			if len(r.Headers) != 2 || r.Headers[0].Key != "trace" || r.Headers[1].Key != "x-delay" {
				w.Errorf("%d: headers %v", i, r.Headers)
			}
			if age := began.Sub(r.Timestamp).Round(time.Minute); age != 5*time.Hour {
				w.Errorf("%d: it is %v old, want 5 h", i, age)
			}
			if f := a.Found[i]; time.UnixMilli(f.DeadlineMs).Sub(began).Round(time.Minute) != 5*time.Hour || f.Writer != 5 || f.Run != 1 || f.Bytes < 50 {
				w.Errorf("%d: found %+v", i, f)
			}
		}
	})
}

// TestWhatIsNotForThisReaderIsNeverDue, and a damaged copy is told as one.
func TestWhatIsNotForThisReaderIsNeverDue(t *testing.T) {
	inBubble(t, func(w *stack) {
		w.Produce(w.copied("another", 100, []byte("a")))
		torn := w.copied("g", 101, []byte("b"))
		torn.Value = []byte("c")
		w.Produce(torn)
		w.Produce(w.copied("g", 102, []byte("d")))
		a, records := w.visit(w.topic(), 0, 3)
		w.has(&a, 3, 0, 2)
		if a.Found[0].DeadlineMs != math.MaxInt64 || a.Found[1].DeadlineMs == math.MaxInt64 || len(records) != 2 {
			w.Errorf("found %+v", a.Found)
		}
		if len(a.Damaged) != 1 || a.Damaged[0] != 1 {
			w.Errorf("damaged are %v, want the one at 1", a.Damaged)
		}
		if n := len(w.logs.Lines("ERROR", "orders.runs")); n != 2 {
			w.Errorf("%d errors are logged, want 2", n)
		}
	})
}

// TestWhatIsNoCopyIsToldUnlessItIsADirectory: it may be a copy whose header is gone.
func TestWhatIsNoCopyIsToldUnlessItIsADirectory(t *testing.T) {
	inBubble(t, func(w *stack) {
		torn, renamed, short := w.copied("g", 100, []byte("a")), w.copied("g", 101, []byte("b")), w.copied("g", 102, []byte("c"))
		torn.Headers = torn.Headers[:len(torn.Headers)-1]
		renamed.Headers[len(renamed.Headers)-1].Key = "x-layover-run"
		last := &short.Headers[len(short.Headers)-1]
		last.Value = last.Value[:5]
		directory, err := runs.AppendDirectory(nil, runs.Identity{}, &runs.Directory{End: 1})
		if err != nil {
			w.Fatal(err)
		}
		w.Produce(torn, renamed, short, &kgo.Record{Value: directory, Topic: torn.Topic}, &kgo.Record{Value: []byte("a stranger's"), Topic: torn.Topic})
		a, _ := w.visit(w.topic(), 0, 5)
		if w.has(&a, 5); !slices.Equal(a.Damaged, []int64{0, 1, 2, 4}) {
			w.Errorf("told are %v", a.Damaged)
		}
		if n := len(w.logs.Lines("ERROR", "orders.runs")); n != 2 { // one of a kind in 30 s
			w.Errorf("%d errors are logged, want 2", n)
		}
	})
}

// TestAVisitEndsAtItsBoundOfBytes, however much it is for.
func TestAVisitEndsAtItsBoundOfBytes(t *testing.T) {
	inBubble(t, func(w *stack) {
		const size = 100 << 10
		for i := range 60 {
			w.Produce(w.copied("g", int64(100+i), make([]byte, size)))
		}
		a, _ := w.visit(w.topic(), 0, 60)
		if n := len(a.Found); a.Err != nil || int64(n) != a.Until || n*size < purgatory.MostVisit || n*size > purgatory.MostVisit+answerBytes+size {
			w.Errorf("%d records of 100 KiB are read, up to %d: %v", n, a.Until, a.Err)
		}
		rest, _ := w.visit(w.topic(), 59, 60)
		w.has(&rest, 60, 59)
		const most = 5 * size / 2
		few, _ := w.visitOf(w.topic(), purgatory.Visit{To: 60, Most: most})
		if n := len(few.Found); few.Err != nil || int64(n) != few.Until || n*size < most || n*size > 2*most {
			w.Errorf("%d records of 100 KiB are read, up to %d, where 250 KiB are enough: %v", n, few.Until, few.Err)
		}
	})
}

// TestAVisitAsksForWhatItWants: an answer is read whole, and what is behind the visit's end would be for nothing.
func TestAVisitAsksForWhatItWants(t *testing.T) {
	inBubble(t, func(w *stack) {
		const size = 1 << 10
		for i := range 600 {
			w.Produce(w.copied("g", int64(100+i), make([]byte, size)))
		}
		for name, c := range map[string]struct {
			bytes   int64
			first   int32
			answers int
		}{
			"nothing is known":   {0, answerBytes, 1},
			"as much as it is":   {400 * size, 400*size + BatchBytes, 1},
			"less than there is": {100 * size, 100*size + BatchBytes, 2},
			"more than one has":  {10 * answerBytes, answerBytes, 1},
		} {
			var asked []int32
			w.Answer(kmsg.Fetch, func(r kmsg.Request) kmsg.Response {
				f := r.(*kmsg.FetchRequest)
				if asked = append(asked, f.MaxBytes); f.Topics[0].Partitions[0].PartitionMaxBytes != f.MaxBytes {
					w.Errorf("%s: of the partition %d bytes", name, f.Topics[0].Partitions[0].PartitionMaxBytes)
				}
				return nil
			})
			a, _ := w.visitOf(w.topic(), purgatory.Visit{From: 100, To: 500, Bytes: c.bytes})
			if a.Err != nil || a.Until != 500 || len(a.Found) != 400 {
				w.Errorf("%s: %d copies up to %d, %v", name, len(a.Found), a.Until, a.Err)
			}
			if len(asked) != c.answers || asked[0] != c.first {
				w.Errorf("%s: asked for %v bytes, want %d first, and %d answers", name, asked, c.first, c.answers)
			}
		}
	})
}

// TestAVisitTellsTheLeaderEpochsThatItMet: what was written anew is not taken for what stood there.
func TestAVisitTellsTheLeaderEpochsThatItMet(t *testing.T) {
	inBubble(t, func(w *stack) {
		w.fill(5)
		before, _ := w.visit(w.topic(), 0, 5)
		w.has(&before, 5, 0, 1, 2, 3, 4)
		w.Truncate(topic, 0, 2)
		w.fill(4)
		a, _ := w.visit(w.topic(), 1, 5)
		for w.copies.wait(a.Err) {
			a, _ = w.visit(w.topic(), 1, 5)
		}
		w.has(&a, 5, 1, 2, 3, 4)
		if a.Highest <= before.Highest || a.End != 2 {
			w.Errorf("leader epoch %d after %d, whose log ends at %d, want at 2", a.Highest, before.Highest, a.End)
		}
	})
}

// wait waits after an error.
func (c *Copies) wait(err error) bool { return err != nil && cluster.Pause(c.ends, time.Second) == nil }

// TestATopicThatWasMadeAgainIsTold and neither read nor deleted from.
func TestATopicThatWasMadeAgainIsTold(t *testing.T) {
	inBubble(t, func(w *stack) {
		w.fill(5)
		old := w.topic()
		for _, known := range []bool{true, false} { // its leader is
			if known {
				a, _ := w.visit(old, 0, 5)
				w.has(&a, 5, 0, 1, 2, 3, 4)
			}
			w.DeleteTopic(topic)
			id := w.CreateTopic(topic, 1, nil)
			w.Client = w.client()
			w.fill(5)
			a, records := w.visit(old, 0, 5)
			for w.copies.wait(a.Err) {
				a, records = w.visit(old, 0, 5)
			}
			if a.TopicID != id || len(records) > 0 {
				w.Errorf("its leader known %v: topic %v, want %v; %d records are read", known, a.TopicID, id, len(records))
			}
			result := make(chan error)
			w.copies.Delete(part(), old, w.Broker.PartitionInfo(topic, 0).Epoch, 3, func(err error) { result <- err })
			if err := <-result; !errors.Is(err, errRecreated) || w.Broker.PartitionInfo(topic, 0).LogStartOffset != 0 {
				w.Errorf("deleting ended with %v, and the log begins at %d", err, w.Broker.PartitionInfo(topic, 0).LogStartOffset)
			}
			old = id
			w.copies.Delete(part(), old, w.Broker.PartitionInfo(topic, 0).Epoch, 3, func(err error) { result <- err })
			if err := <-result; err != nil || w.Broker.PartitionInfo(topic, 0).LogStartOffset != 3 {
				w.Errorf("deleting of its own ended with %v, and the log begins at %d", err, w.Broker.PartitionInfo(topic, 0).LogStartOffset)
			}
			w.copies.forget(w.copies.at(part()))
		}
	})
}

// TestADeletionOfALogThatWasTruncatedIsRefused: what was written anew there may wait.
func TestADeletionOfALogThatWasTruncatedIsRefused(t *testing.T) {
	inBubble(t, func(w *stack) {
		w.fill(5)
		before := w.Broker.PartitionInfo(topic, 0).Epoch
		remove := func(epoch int32, below int64) error {
			result := make(chan error)
			w.copies.Delete(part(), w.topic(), epoch, below, func(err error) { result <- err })
			return <-result
		}
		w.Truncate(topic, 0, 2)
		w.fill(4)
		err := remove(before, 3)
		for !errors.Is(err, errTruncated) && w.copies.wait(err) { // the broker was away
			err = remove(before, 3)
		}
		if start := w.Broker.PartitionInfo(topic, 0).LogStartOffset; !errors.Is(err, errTruncated) || start != 0 {
			w.Errorf("deleting below 3 of a log that was truncated to 2 ended with %v, and the log begins at %d", err, start)
		}
		if err := remove(before, 2); err != nil || w.Broker.PartitionInfo(topic, 0).LogStartOffset != 2 {
			w.Errorf("deleting what is left of it ended with %v, and the log begins at %d", err, w.Broker.PartitionInfo(topic, 0).LogStartOffset)
		}
		if err := remove(w.Broker.PartitionInfo(topic, 0).Epoch, 4); err != nil || w.Broker.PartitionInfo(topic, 0).LogStartOffset != 4 {
			w.Errorf("deleting of the new log ended with %v, and the log begins at %d", err, w.Broker.PartitionInfo(topic, 0).LogStartOffset)
		}
	})
}

// TestAVisitTellsWhereTheLogBegins if that is above what it is for.
func TestAVisitTellsWhereTheLogBegins(t *testing.T) {
	inBubble(t, func(w *stack) {
		w.fill(6)
		w.DeleteRecords(topic, 0, 3)
		a, _ := w.visit(w.topic(), 1, 6)
		w.has(&a, 6, 3, 4, 5)
		if a.Start != 3 || a.From != 3 {
			w.Errorf("the log begins at %d, read is from %d, want 3", a.Start, a.From)
		}
		gone, _ := w.visit(w.topic(), 0, 2)
		if gone.Start != 3 || gone.Err == nil || len(gone.Found) > 0 {
			w.Errorf("what is gone: %+v", gone)
		}
		at, _ := w.visit(w.topic(), 6, 9)
		if at.Err != nil || !at.Ended || at.LogEnd != 6 || at.Start != 0 {
			w.Errorf("at the end: %+v", at)
		}
	})
}

// TestALargeCopyHasABatchOfItsOwn: one that has no room in a batch of several.
func TestALargeCopyHasABatchOfItsOwn(t *testing.T) {
	inBubble(t, func(w *stack) {
		for _, together := range []int{BatchBytes, 20_000} {
			w.copies.cfg.Together = func(string) int { return together }
			for _, size := range []int{10, 18_000, 20_000, 40 << 10, 70 << 10, 1_000_000} {
				result := make(chan error)
				r := w.copied("g", 100, make([]byte, size))
				r.Topic = ""
				w.copies.Copy(part(), r, func(_ int64, err error) { result <- err })
				if err := <-result; err != nil {
					w.Errorf("%d bytes: %v", size, err)
				}
				if alone := w.alone[len(w.alone)-1]; alone != (size >= together) {
					w.Errorf("%d bytes, where a batch takes %d: alone is %v", size, together, alone)
				}
			}
		}
	})
}

// TestACopyThatIsSentAloneIsOneOfTheCoresLargeOnes: of those few are in flight.
func TestACopyThatIsSentAloneIsOneOfTheCoresLargeOnes(t *testing.T) {
	if shares := BatchBytes - BatchBytes/16; purgatory.AloneBytes+besideBytes > shares {
		t.Errorf("a record of %d bytes may take %d as a copy, and %d may share a batch", purgatory.AloneBytes, purgatory.AloneBytes+besideBytes, shares)
	}
}

// TestACopyThatIsRefusedForItsSizeSaysSo, where it has a batch of its own: of several in a batch each may have room.
func TestACopyThatIsRefusedForItsSizeSaysSo(t *testing.T) {
	inBubble(t, func(w *stack) {
		w.Refuse(kmsg.Produce, kfake.Fault{Err: kerr.MessageTooLarge})
		for size, says := range map[int]bool{10: false, 70 << 10: true, 33 << 20: true} {
			result := make(chan error, 1)
			r := w.copied("g", 100, make([]byte, size))
			r.Topic = ""
			w.copies.Copy(part(), r, func(_ int64, err error) { result <- err })
			if err := <-result; err == nil || errors.Is(err, runs.ErrTooLarge) != says {
				w.Errorf("%d bytes: %v", size, err)
			}
		}
	})
}

// TestAVisitThatADeletionCutsShortTellsWhereItsLogEnds: else all of the log would seem to be gone.
func TestAVisitThatADeletionCutsShortTellsWhereItsLogEnds(t *testing.T) {
	for what, below := range map[string]int64{"the rest is gone": 25, "it is there again": 0} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(w *stack) {
				large := func(n int) {
					for range n {
						w.Produce(w.copied("g", 100, make([]byte, 100<<10)))
					}
				}
				large(3)
				before := w.Broker.PartitionInfo(topic, 0).Epoch
				if err := w.Broker.MoveTopicPartition(topic, 0, 0); err != nil {
					t.Fatal(err)
				}
				large(27)
				fetches := 0
				w.Answer(kmsg.Fetch, func(r kmsg.Request) kmsg.Response {
					if fetches++; fetches != 2 {
						return nil
					}
					w.Broker.SleepControl(func() { w.DeleteRecords(topic, 0, below) })
					if below > 0 {
						return nil
					}
					return outOfRange(r.(*kmsg.FetchRequest))
				})
				a, _ := w.visitOf(w.topic(), purgatory.Visit{To: 30, LeaderEpoch: before})
				if len(a.Found) < 4 || a.Until >= 25 || a.Err != nil {
					t.Fatalf("read up to %d with %d copies, %v; want some of both epochs, and not all", a.Until, len(a.Found), a.Err)
				}
				if a.Highest <= before || a.End < 3 {
					t.Errorf("leader epoch %d after %d, whose log ends at %d, want at 3 or above", a.Highest, before, a.End)
				}
			})
		})
	}
}

// outOfRange refuses a fetch of one partition, as a leader that does not know of its latest records.
func outOfRange(r *kmsg.FetchRequest) kmsg.Response {
	p := kmsg.NewFetchResponseTopicPartition()
	p.Partition, p.ErrorCode = r.Topics[0].Partitions[0].Partition, kerr.OffsetOutOfRange.Code
	t := kmsg.NewFetchResponseTopic()
	t.Topic, t.TopicID, t.Partitions = r.Topics[0].Topic, r.Topics[0].TopicID, append(t.Partitions, p)
	resp := r.ResponseKind().(*kmsg.FetchResponse)
	resp.Topics = append(resp.Topics, t)
	return resp
}
