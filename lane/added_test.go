package lane

import (
	"maps"
	"slices"
	"testing"
	"time"

	"layover/delay"
	"layover/purgatory"
)

// TestLeftOutHeadersAreMissingOnDeliveriesAlone: a dead letter keeps all that it has, its own
// headers and those that its record came with.
func TestLeftOutHeadersAreMissingOnDeliveriesAlone(t *testing.T) {
	own := []string{"layover.errors.group", "layover.errors.message", "layover.errors.offset", "layover.errors.partition",
		"layover.errors.reason", "layover.errors.timestamp", "layover.errors.topic"}
	for name, test := range map[string]struct {
		leaveOut  delay.Added
		delivered []string
	}{
		"none left out": {0, []string{"layover-due", "layover-hops", "layover-id", "layover-original-timestamp", "trace"}},
		"all":           {delay.AddAll, []string{"layover-hops", "trace"}},
		"times":         {delay.AddAll &^ delay.AddID, []string{"layover-hops", "layover-id", "trace"}},
	} {
		t.Run(name, func(t *testing.T) {
			edit := func(c *Config) {
				c.Core.OnInvalid, c.Core.DeadLetterTopic = purgatory.DeadLetter, "graves"
				c.Rules("delayed").LeaveOut = test.leaveOut
			}
			inBubble(t, edit, func(r *rig) {
				r.assign(0, 1)
				good, bad := r.record(0, time.Second), r.record(1, 0)
				came := delay.AppendErrors(nil, new(delay.Rules).AppendDelivered(nil, nil, delay.Origin{Topic: "before", TimestampMs: 1}, 1, delay.Whole, nil), delay.Origin{}, "", delay.Invalid{}, 0)
				good.Headers = append(good.Headers, came[:3]...)
				bad.Headers = append(bad.Headers, came...)
				bad.Headers[0].Value = []byte("tomorrow")
				r.fetched(assignment(0, 1), good, bad)
				time.Sleep(time.Second)
				r.want("1", "0")
				letter, delivered := r.seen().deliveries[0], r.seen().deliveries[1]
				if got := slices.Sorted(maps.Keys(delivered.headers)); !slices.Equal(got, test.delivered) || delivered.headers["layover-hops"] != "1" {
					t.Errorf("delivered with %v, want %v", delivered.headers, test.delivered)
				}
				want := append([]string{"layover-due", "layover-id", "layover-original-timestamp", "trace", "x-delay"}, own...)
				slices.Sort(want)
				if got := slices.Sorted(maps.Keys(letter.headers)); !slices.Equal(got, want) {
					t.Errorf("the letter has %v, want %v", got, want)
				}
				if letter.headers["layover-id"] != "before-0-0" || letter.headers["layover.errors.offset"] != "1" || letter.headers["layover.errors.reason"] != "malformed_delay" {
					t.Errorf("the letter says %v", letter.headers)
				}
			})
		})
	}
}
