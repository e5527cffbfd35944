package integration

import (
	"math/big"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// preset reports whether the document has exported a preset.
func (s *shell) preset(name string) bool {
	return slices.ContainsFunc(s.env, func(pair string) bool {
		list, is := strings.CutPrefix(pair, "LAYOVER_HEADERS=")
		return is && slices.Contains(strings.Split(list, ","), name)
	})
}

// mapped is when a record is due by a header of another product, by the test's own reading. It
// leaves due as it is where the record has no such header.
func (s *shell) mapped(r *kgo.Record, due time.Time) time.Time {
	s.Helper()
	for preset, names := range map[string][]string{
		"http": {"Retry-After"}, "spring": {"retry_topic-backoff-timestamp"}, "etf1": {"scheduler-epoch"}, "timebridge": {"X-Timebridge-When"},
		"watermill": {"_watermill_delayed_until"}, "amqp": {"x-opt-delivery-delay", "x-opt-delivery-time"},
	} {
		for _, name := range names {
			value, found := lookup(s.T, r, name)
			if !found || !s.preset(preset) {
				continue
			}
			n, err := strconv.ParseInt(value, 10, 64)
			date, notHTTP := http.ParseTime(value)
			at, notRFC := time.Parse(time.RFC3339, value)
			switch {
			case name == "retry_topic-backoff-timestamp":
				due = time.UnixMilli(new(big.Int).SetBytes([]byte(value)).Int64())
			case err == nil && name == "scheduler-epoch":
				due = time.Unix(n, 0)
			case err == nil && name == "x-opt-delivery-time":
				due = time.UnixMilli(n)
			case err == nil && name == "x-opt-delivery-delay":
				due = r.Timestamp.Add(time.Duration(n) * time.Millisecond)
			case err == nil && name == "Retry-After":
				due = r.Timestamp.Add(time.Duration(n) * time.Second)
			case notHTTP == nil:
				due = date
			case notRFC == nil:
				due = at
			default:
				s.Fatalf("%s: %s %q is none that this test reads", r.Value, name, value)
			}
		}
	}
	if value, found := lookup(s.T, r, "X-Run-At"); found && slices.Contains(s.env, "LAYOVER_HEADER_MAP=X-Run-At=epoch_s") {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			s.Fatal(err)
		}
		due = time.Unix(n, 0)
	}
	return due
}

// idOf is the id of a record, and whether it cancels: x-delay-id, or the key of a schedule.
func (s *shell) idOf(r *kgo.Record) (id string, named, cancels bool) {
	s.Helper()
	if id, named = lookup(s.T, r, "x-delay-id"); named {
		_, cancels = lookup(s.T, r, "x-delay-cancel")
		return id, true, cancels
	}
	if _, schedule := lookup(s.T, r, "scheduler-epoch"); s.preset("etf1") && (schedule || r.Value == nil) {
		return string(r.Key), r.Key != nil, r.Value == nil
	}
	return "", false, false
}
