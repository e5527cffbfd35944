package admin

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"layover/purgatory"
)

// TestTheStateSaysDegradedBesideAPause, where records are lost, dead or late, which no pause explains.
func TestTheStateSaysDegradedBesideAPause(t *testing.T) {
	for name, change := range map[string]func(*Sample){
		"lost":         func(s *Sample) { withLosses(s, time.Second) },
		"dead letters": func(s *Sample) { withLetters(s, time.Second) },
		"overdue":      func(s *Sample) { s.Lanes[0].Outlook.OldestOverdueMs = time.Now().UnixMilli() - 3_600_000 },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := ordinary(time.Now())
			paused(&s, time.Second, 0, 0) // a bound at work: nothing waits unread
			change(&s)
			got := statusOf(t, s)
			if got["degraded"] != true || !strings.Contains(got["state"].(string), "degraded") {
				t.Errorf("%s: state %q, degraded %v, /readyz %q", name, got["state"], got["degraded"], got["ready_text"])
			}
		})
	}
}

// TestATargetThatNothingWaitsForExplainsNoOverdueRecord. A topic of the settings is missing, and no record needs it.
// Records for others have been overdue for an hour.
func TestATargetThatNothingWaitsForExplainsNoOverdueRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := ordinary(time.Now())
		s.Kafka.Topics = []TopicState{{Name: "audit", State: "missing", Since: time.Now().Add(-7 * 24 * time.Hour)}}
		s.Lanes[0].Outlook.OldestOverdueMs = time.Now().UnixMilli() - 3_600_000
		if got := statusOf(t, s)["ready_text"].(string); !strings.Contains(got, "overdue") {
			t.Errorf("records are overdue by an hour, none waits for the missing topic, and /readyz says %q", got)
		}
	})
}

// TestTheOldestOverdueRecordIsOneOfThoseThatAreCounted. The number is as of now, and the oldest as of a look before.
func TestTheOldestOverdueRecordIsOneOfThoseThatAreCounted(t *testing.T) {
	for name, test := range map[string]struct {
		catchingUp []purgatory.CatchingUp
		readyz     string
		overdue    float64
	}{
		"it is delivered by now": {nil, "ready", 0},
		"it waits for its turn":  {[]purgatory.CatchingUp{{Label: "ready", Records: 160}}, "degraded: 160 records are overdue, the oldest by 2 min 3 s", 160},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := ordinary(time.Now())
			l := s.Lanes[0]
			l.Parked, l.Due, l.InFlight, l.CatchingUp = l.Parked+l.Due+l.InFlight, 0, 0, test.catchingUp
			l.Outlook.OldestOverdueMs = time.Now().UnixMilli() - 123_000
			got := statusOf(t, s)
			if got["ready_text"] != test.readyz || got["overdue"] != test.overdue || (got["oldest_overdue"] == nil) != (test.overdue == 0) {
				t.Errorf("%s: %v, %v overdue, the oldest at %v", name, got["ready_text"], got["overdue"], got["oldest_overdue"])
			}
		})
	}
}

// TestAPauseSaysWhatKeepsMemoryFull: records with an id are never moved to runs, and more instances help against others.
func TestAPauseSaysWhatKeepsMemoryFull(t *testing.T) {
	const ids, others = "If this lasts, raise the limit, or write records with long delays without an id.", "or run more instances, up to the number of partitions."
	for name, test := range map[string]struct {
		named int64 // bytes of 1000 in each lane
		off   string
		want  string
	}{
		"most have an id":                  {501, "", ids},
		"half of them have one":            {500, "", others},
		"nothing is moved, whatever it is": {1000, "LAYOVER_RUNS=off", others},
	} {
		s := ordinary(time.Now())
		s.Pauses = []Pause{{Reason: PauseBytes}}
		for _, l := range s.Lanes {
			l.LiveBytes, l.NamedBytes = 1000, test.named
		}
		for i := range s.Runs.Topics {
			s.Runs.Topics[i].Off = test.off
		}
		if got := look(s, time.Now()).report().pauses()[0].Text; !strings.HasSuffix(got, test.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}
