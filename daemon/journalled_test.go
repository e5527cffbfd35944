package daemon

import (
	"context"
	"strings"
	"testing"
	"time"

	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// scattered sends n records to partition 0, and waits until the set of finished ones is
// committed. Every other record waits for hours, so that this set does not fit into
// metadata.
func (w *fixture) scattered(n int) {
	w.Helper()
	w.sendMany(0, 0, n, func(i int) []kgo.RecordHeader {
		if i%2 == 0 {
			return []kgo.RecordHeader{header("x-delay", "5h")}
		}
		return nil
	})
	w.arrives(egress, n/2, time.Minute)
	time.Sleep(5 * time.Second)
}

// TestARestartFindsInTheJournalWhatMetadataCannotHold, also after a kill.
func TestARestartFindsInTheJournalWhatMetadataCannotHold(t *testing.T) {
	long.Only(t)
	t.Parallel()
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		w.scattered(8000)
		if w.count(journalTopic) == 0 {
			t.Fatal("there is nothing in the journal")
		}
		end := in.stop
		for range 3 {
			end()
			in = w.start()
			in.ready()
			time.Sleep(5 * time.Second)
			if n := w.count(egress); n != 4000 {
				t.Fatalf("%d delivered, want 4000", n)
			}
			end = in.kill
		}
		time.Sleep(6 * time.Hour)
		if n := w.count(egress); n != 8000 {
			t.Errorf("%d delivered in the end, want 8000", n)
		}
		in.stop()
	})
}

// TestAPartitionWhoseOffsetIsGoneStopsWhileItsJournalHasRecords: nothing is guessed. One
// without a journal starts as LAYOVER_START_OFFSET says.
func TestAPartitionWhoseOffsetIsGoneStopsWhileItsJournalHasRecords(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		w.scattered(8000)
		in.stop()
		if _, err := w.Admin().DeleteGroups(context.Background(), group); err != nil {
			t.Fatal(err)
		}
		w.send(1, "of partition 1")
		in, other := w.start(), w.start() // one of which has nothing but the partition that stops
		w.Until(time.Minute, "partition 1 is delivered", func() bool { return w.count(egress) > 4000 })
		time.Sleep(time.Minute)
		if n := w.count(egress); n != 4001 {
			t.Errorf("%d delivered, want 4001", n)
		}
		_, one := in.get("/status")
		_, two := other.get("/status")
		if body := one + two; !strings.Contains(body, "layover journal recover") || !strings.Contains(body, "layover journal reset") {
			t.Errorf("status does not say what to do: %s", body)
		}
		in.stop()
		other.stop()
	})
}

// TestAnOffsetThatAnOperatorSetsBackIsHonoured: the journal of before does not count.
func TestAnOffsetThatAnOperatorSetsBackIsHonoured(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		w.scattered(8000)
		in.stop()
		w.Commit(group, kadm.Offset{Topic: ingress, At: 2000, LeaderEpoch: -1})
		in = w.start()
		in.ready()
		time.Sleep(5 * time.Second)
		if n := w.count(egress); n != 4000+3000 {
			t.Errorf("%d delivered, want 4000 and the 3000 from offset 2000 on again", n)
		}
		in.kill()
		in = w.start()
		in.ready()
		time.Sleep(5 * time.Second)
		if n := w.count(egress); n != 4000+3000 {
			t.Errorf("%d delivered after a kill, want no more", n)
		}
		in.stop()
	})
}

// TestASetThatFitsPutsNothingIntoTheJournal.
func TestASetThatFitsPutsNothingIntoTheJournal(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		w.scattered(1000)
		in.stop()
		in = w.start()
		in.ready()
		if n := w.count(journalTopic); n != 0 {
			t.Errorf("%d records in the journal", n)
		}
		in.stop()
	})
}
