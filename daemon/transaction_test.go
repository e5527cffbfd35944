package daemon

import (
	"context"
	"strings"
	"testing"
	"time"

	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestRecordsBehindAnOpenTransactionAreSickAndTheOthersGoOn: a producer that has died in its transaction keeps a
// partition from being read until Kafka aborts that. What is written meanwhile waits behind it.
func TestRecordsBehindAnOpenTransactionAreSickAndTheOthersGoOn(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		tx := w.NewClient(kgo.TransactionalID("tx"), kgo.TransactionTimeout(10*time.Minute))
		defer tx.Close()
		if err := kafkatest.Transaction(context.Background(), tx, &kgo.Record{Topic: ingress, Partition: 0, Value: []byte("open")}); err != nil {
			t.Fatal(err)
		}
		w.sendMany(0, 0, 10, func(int) []kgo.RecordHeader { return []kgo.RecordHeader{header("x-delay", "1s")} })
		w.sendMany(1, 10, 10, func(int) []kgo.RecordHeader { return []kgo.RecordHeader{header("x-delay", "1s")} })
		time.Sleep(time.Minute)
		if n := w.count(egress); n != 10 {
			t.Errorf("%d delivered, want the 10 of the other partition", n)
		}
		if age := in.metric("layover_oldest_unread_age_seconds "); age < 50 || age > 60 {
			t.Errorf("unread for %v s", age)
		}
		code, body := in.get("/readyz")
		if code != 200 || !strings.HasPrefix(body, "degraded: partition delayed/0 waits for an open transaction since ") {
			t.Errorf("/readyz: %d %s", code, body)
		}
		if sick := in.at("sick").([]any); len(sick) != 1 || in.at("sick", 0, "kind") != "partition" || in.at("sick", 0, "reason") != "open_transaction" ||
			!strings.Contains(in.at("sick", 0, "text").(string), "abort --topic delayed --partition 0 --start-offset 0") {
			t.Errorf("%v", sick)
		}
		if len(in.logs.Lines("msg=sick", "open_transaction", "partition=0")) != 1 {
			t.Error("the log says nothing")
		}
		if err := tx.EndTransaction(context.Background(), kgo.TryAbort); err != nil {
			t.Fatal(err)
		}
		w.Until(time.Minute, "the rest is delivered", func() bool { return w.count(egress) == 20 })
		w.Until(time.Minute, "all is well", func() bool {
			_, body := in.get("/readyz")
			return body == "ready\n" && in.metric("layover_oldest_unread_age_seconds ") == 0
		})
		in.stop()
	})
}
