package lane

import (
	"testing"
	"testing/synctest"
	"time"

	"layover/delay"
	"layover/journal/runs"
	"layover/purgatory"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestACopyThatIsDeliveredThoughInvalidIsNotEarly: its deadline stays.
func TestACopyThatIsDeliveredThoughInvalidIsNotEarly(t *testing.T) {
	var due time.Time
	shelved(t, func(c *Config) { c.Core.OnInvalid = purgatory.Deliver }, func(s *shelf) {
		value := []byte("far")
		due = time.Now().Add(time.Hour)
		c := runs.Copy{Origin: runs.Origin{Offset: 42, TimestampMs: time.Now().UnixMilli()}, DeadlineMs: due.UnixMilli(), Writer: 77}
		headers := []kgo.RecordHeader{{Key: "x-deliver-to", Value: []byte("forbidden")}}
		headers, _ = runs.AppendCopy(headers, nil, s.id(), &c, nil, value)
		s.set(func(s *shelf) { s.put(&kgo.Record{Value: value, Headers: headers, Timestamp: time.Now()}) })
	}, func(r *rig, s *shelf) {
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		ds := r.seen().deliveries
		if len(ds) != 1 || ds[0].at.Before(due) || ds[0].headers[delay.HeaderErrorReason] == "" {
			t.Errorf("deliveries %+v, want one at %v that says why it is invalid", ds, due)
		}
	})
}
