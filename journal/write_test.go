package journal

import (
	"testing"
	"testing/synctest"
	"time"

	"layover/journal/facts"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestAWriteThatIsRefusedSaysHow and one that is too large is told apart.
func TestAWriteThatIsRefusedSaysHow(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.run()
		w.Until(5*time.Second, "the journal is usable", func() bool { return w.last().Usable })
		write := func() facts.Result {
			done := make(chan facts.Result, 2)
			w.j.Write(offsets.TopicPartition{Topic: ingress, Partition: 1}, facts.Write{Seq: 4, Value: []byte("v")}, func(r facts.Result) { done <- r })
			return <-done
		}
		if r := write(); r.Err != nil || r.Offset != 0 || r.Seq != 4 {
			t.Errorf("%+v", r)
		}
		for err, large := range map[*kerr.Error]bool{kerr.MessageTooLarge: true, kerr.RecordListTooLarge: true, kerr.PolicyViolation: false} {
			end := w.Refuse(kmsg.Produce, kfake.Fault{Topic: name, Err: err}).Remove
			for range 3 {
				if r := write(); r.Err == nil || r.TooLarge != large {
					t.Errorf("%v: %+v", err, r)
				}
			}
			end()
		}
		w.sayOnce("WARN", "journal refuses a record")
		if v := w.j.View().Topics[ingress]; v.Error == "" {
			t.Error("no error in the view")
		}
		write()
		if v := w.j.View().Topics[ingress]; v.Error != "" {
			t.Errorf("error %q after a record was appended", v.Error)
		}
	})
}

// TestASilentJournalIsSaidEvery30SecondsAndThatItAnswersAgain: one line, not one each.
func TestASilentJournalIsSaidEvery30SecondsAndThatItAnswersAgain(t *testing.T) {
	inBubble(t, func(w *fixture) {
		var held []func()
		w.cfg.Produce = func(r *kgo.Record, done func(*kgo.Record, error)) { held = append(held, func() { done(r, nil) }) }
		w.j = New(w.cfg)
		w.run()
		w.Until(5*time.Second, "the journal is usable", func() bool { return w.last().Usable })
		for n := range uint64(6) {
			w.j.Write(offsets.TopicPartition{Topic: ingress, Partition: int32(n % 3)}, facts.Write{Seq: n}, func(facts.Result) {})
		}
		time.Sleep(20 * time.Second)
		w.sayOnce("WARN", "journal does not answer", "partitions=3")
		time.Sleep(30 * time.Second)
		if n := w.said("journal does not answer"); n != 2 {
			t.Errorf("said %d times in 50 s, want 2", n)
		}
		for _, answer := range held {
			answer()
		}
		time.Sleep(3 * time.Second)
		w.sayOnce("INFO", "journal answers again")
	})
}

// TestRecordsAreDeletedAndARefusalIsSaidOnce while the log start tells.
func TestRecordsAreDeletedAndARefusalIsSaidOnce(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.makeJournal(3)
		w.append(1, []byte("a"), []byte("b"), []byte("c"))
		remove := func(below int64) error {
			done := make(chan error, 2)
			w.j.Delete(offsets.TopicPartition{Topic: ingress, Partition: 1}, below, func(err error) { done <- err })
			w.j.Wait()
			return <-done
		}
		if err := remove(2); err != nil {
			t.Error(err)
		}
		if start := w.Broker.PartitionInfo(name, 1).LogStartOffset; start != 2 {
			t.Errorf("log start %d, want 2", start)
		}
		end := w.Refuse(kmsg.DeleteRecords, kfake.Fault{Topic: name, Err: kerr.TopicAuthorizationFailed}).Remove
		for range 3 {
			if remove(3) == nil {
				t.Error("no error")
			}
		}
		end()
		w.sayOnce("WARN", "Delete on topic "+name, "grows")
		synctest.Wait()
	})
}
