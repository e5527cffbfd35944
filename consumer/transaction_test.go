package consumer

import (
	"context"
	"testing"
	"time"

	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestRecordsBehindAnOpenTransactionAreSaidToWait: what a client gets is nothing, and no error.
func TestRecordsBehindAnOpenTransactionAreSaidToWait(t *testing.T) {
	inGroup(t, func(g *group) {
		m := g.join(nil)
		g.owns(m, 3)
		tx := g.NewClient(kgo.TransactionalID("open"), kgo.TransactionTimeout(10*time.Minute))
		write := func() {
			t.Helper()
			if err := kafkatest.Transaction(context.Background(), tx, &kgo.Record{Topic: "t", Value: []byte("in it")}); err != nil {
				t.Fatal(err)
			}
		}
		g.produce(0, 4)
		write()
		if err := tx.EndTransaction(context.Background(), kgo.TryCommit); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // the next transaction begins behind the marker
		write()
		opened := time.Now()
		g.produce(0, 7)
		time.Sleep(endsEvery + time.Second)
		if v := m.view(0); v.Open != (OpenTransaction{}) {
			t.Errorf("%+v after one look", v)
		}
		time.Sleep(2 * time.Minute)
		v := m.view(0)
		if v.Open.Offset != 6 || v.Open.Since.Before(opened) || v.Open.Since.After(opened.Add(endsEvery)) || v.Next != 6 || v.End != 14 {
			t.Errorf("%+v, want offset 6 since %v", v, opened)
		}
		m.SetPaused(true)
		time.Sleep(time.Minute)
		if w := m.view(0); w.Open != v.Open {
			t.Errorf("while reading is paused: %+v, want %+v", w, v)
		}
		if o := m.view(1); o.Open != (OpenTransaction{}) {
			t.Errorf("its neighbour: %+v", o)
		}
		if err := tx.EndTransaction(context.Background(), kgo.TryAbort); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * endsEvery)
		if w := m.view(0); w.Open != (OpenTransaction{}) {
			t.Errorf("it has ended, and reading is paused: %+v", w)
		}
		m.SetPaused(false)
		time.Sleep(time.Minute)
		if w := m.view(0); w.Open != (OpenTransaction{}) || len(m.offsetsOf(0)) != 4+2+7+1 { // with two markers
			t.Errorf("it has ended: %+v, %d records", w, len(m.offsetsOf(0)))
		}
	})
}

// TestATransactionIsKnownForOneReadPosition, and where it is another one its time begins anew.
func TestATransactionIsKnownForOneReadPosition(t *testing.T) {
	rows, now := unreadRows(5), time.Now()
	o := rows.of(0)
	look := func(paused bool, stable int64) OpenTransaction {
		now = now.Add(endsEvery)
		for range rows.still(paused, now) {
			o.isStableTo(stable, now)
		}
		return o.behind()
	}
	for i, step := range []struct {
		change func()
		paused bool
		stable int64
		offset int64 // -1: none
		age    int   // in looks
	}{
		{func() {}, false, 101, -1, 0},
		{func() {}, false, 101, 101, 1},
		{func() { o.end = 200 }, false, 101, 101, 2},
		{func() {}, true, 101, 101, 3},
		{func() {}, false, 103, 103, 0}, // another one
		{func() {}, false, 103, 103, 1},
		{func() {}, false, 200, -1, 0},
		{func() {}, true, 105, -1, 0}, // a pause is why nothing is read
		{func() {}, false, 105, -1, 0},
		{func() {}, false, 105, 105, 1},
		{func() { o.next = 102 }, false, 105, -1, 0}, // it was read on
		{func() {}, false, 105, 105, 1},
		{func() { o.stop(Unreadable, "x", 102, now) }, false, 105, -1, 0},
	} {
		step.change()
		if got := look(step.paused, step.stable); step.offset < 0 && got != (OpenTransaction{}) ||
			step.offset >= 0 && got != (OpenTransaction{step.offset, now.Add(-time.Duration(step.age) * endsEvery)}) {
			t.Errorf("step %d: %+v at %v, want offset %d for %d looks", i, got, now, step.offset, step.age)
		}
	}
}
