package admin

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"layover/offsets"
	"layover/purgatory"
)

// runsOf is a partition of delayed in the first lane's runs.
func runsOf(s *Sample, partition int) *purgatory.RunsView {
	return &s.Lanes[0].Outlook.Runs.Partitions[partition]
}

// TestWhyNothingIsMoved: each reason is told wherever there is no room for it, and is sick where
// memory presses.
func TestWhyNothingIsMoved(t *testing.T) {
	topic := func(s *Sample) *RunsTopic { return &s.Runs.Topics[0] }
	ago := func(d time.Duration) int64 { return time.Now().Add(-d).UnixMilli() }
	for name, test := range map[string]struct {
		change func(*Sample)
		reason string
		sick   bool   // while memory presses
		always bool   // sick, whatever memory does
		says   string // in its text
	}{
		"nothing is wrong": {func(*Sample) {}, "", false, false, ""},
		"a warning alone":  {func(s *Sample) { topic(s).Warning = "segment.bytes=1" }, "", false, false, ""},
		"off": {func(s *Sample) { topic(s).Off, topic(s).State = "LAYOVER_RUNS=off", "missing" }, "off", false, false,
			"Nothing of the ingress topic delayed is moved to runs, because of LAYOVER_RUNS=off. What was moved before is read and delivered."},
		"forbidden": {func(s *Sample) { topic(s).State, topic(s).Warning = "forbidden", "allow Write on it" }, "forbidden", true, false,
			"may not be used: allow Write on it. Records that are due far off stay in memory, and reading pauses once that is full."},
		"refused":                       {func(s *Sample) { topic(s).State, topic(s).Warning = "refused", "retention.ms=1." }, "refused", true, false, "is not used: retention.ms=1. Records"},
		"a name that no topic can have": {func(s *Sample) { topic(s).State, topic(s).Warning = "illegal name", "too long" }, "illegal_name", true, false, "is not used: too long."},
		"missing":                       {func(s *Sample) { topic(s).State, topic(s).Warning = "missing", "allow Create" }, "missing", true, false, "does not exist, and cannot be made: allow Create."},
		"about to be made":              {func(s *Sample) { topic(s).State = "missing" }, "missing", false, false, "is about to be made"},
		"not asked about yet":           {func(s *Sample) { topic(s).State = "unknown" }, "unknown", false, false, "Nobody knows yet whether"},
		"nobody answers about it":       {func(s *Sample) { topic(s).State, topic(s).Err = "unknown", "metadata: timeout" }, "unknown", true, false, "can be used: metadata: timeout."},
		"a member of an old release":    {func(s *Sample) { s.Runs.OlderSince = time.Now() }, "older_member", true, false, "Upgrade every member"},
		"it joins again": {func(s *Sample) {
			s.Runs.OlderSince, s.Runs.JoiningSince, s.Runs.JoinTakes = time.Now(), time.Now(), time.Minute
		}, "older_member", true, false, "Upgrade every member"},
		"a rebalance": {func(s *Sample) {
			s.Runs.JoiningSince, s.Runs.JoinTakes = time.Now().Add(-50*time.Second), time.Minute
		}, "joining", false, false, "A rebalance of the group goes on. So nobody knows whether a member is of a release that knows no runs, and nothing is moved."},
		"rebalances without end": {func(s *Sample) {
			s.Runs.JoiningSince, s.Runs.JoinTakes = time.Now().Add(-70*time.Second), time.Minute
		}, "joining", true, false, "see which members join again and again: kafka-consumer-groups.sh --bootstrap-server $KAFKA_BROKERS --describe --group layover-orders --state"},
		"no lease":                  {func(s *Sample) { s.Group.LeaseValid = false }, "lease", false, false, "The group's coordinator has not confirmed this member lately. So"},
		"no member":                 {func(s *Sample) { s.Group.LeaseValid, s.Group.Joined, s.CaughtUp = false, false, false }, "lease", false, false, ""},
		"copies are refused":        {func(s *Sample) { topic(s).Refused = "NOT_ENOUGH_REPLICAS" }, "failing", true, false, "takes no copies: NOT_ENOUGH_REPLICAS."},
		"too many runs":             {func(s *Sample) { runsOf(s, 2).Full = true }, "full", true, false, "has 4,096 runs in partition 2, as many as there may be"},
		"too many runs in several":  {func(s *Sample) { runsOf(s, 2).Full, runsOf(s, 0).Full = true, true }, "full", true, false, "4,096 runs in partitions 0, 2, as"},
		"partitions are not known":  {func(s *Sample) { runsOf(s, 1).Known = false }, "opening", false, false, "What waits in partition 1 of the runs topic delayed.layover-orders.runs is not known yet."},
		"and cannot be asked about": {func(s *Sample) { runsOf(s, 1).Known, topic(s).Unread = false, "NOT_LEADER" }, "opening", true, false, "is not known yet: NOT_LEADER. Nothing"},
		"nor about what waits there": {func(s *Sample) {
			*runsOf(s, 1), topic(s).Unread = purgatory.RunsView{TopicPartition: runsOf(s, 1).TopicPartition, Holds: true}, "NOT_LEADER"
		}, "opening", true, true,
			"is not known yet: NOT_LEADER. Nothing of these is moved, and what waits there is late once it is due."},
		"as the topic may not be made": {func(s *Sample) {
			*runsOf(s, 1) = purgatory.RunsView{TopicPartition: runsOf(s, 1).TopicPartition, Holds: true}
			topic(s).State, topic(s).Warning = "missing", "allow Create"
		}, "missing", true, true, "is not known yet: allow Create."},
		"what waits is about to be known": {func(s *Sample) {
			*runsOf(s, 1) = purgatory.RunsView{TopicPartition: runsOf(s, 1).TopicPartition, Holds: true}
		}, "opening", false, false, ""},
		"copies are not read": {func(s *Sample) { topic(s).Unread = "NOT_LEADER" }, "", false, false, ""},
		"copies are due and not read": {func(s *Sample) { topic(s).Unread, runsOf(s, 3).Overdue = "NOT_LEADER.", 1200 }, "", true, true,
			"1,200 copies are due in the runs topic delayed.layover-orders.runs of the ingress topic delayed, and cannot be read: NOT_LEADER. Nothing is lost"},
		"a gap is not read": {func(s *Sample) { topic(s).Unread, runsOf(s, 1).GapSinceMs = "NOT_LEADER", ago(61*time.Second) }, "", true, true,
			"A part of partition 1 in the runs topic delayed.layover-orders.runs of the ingress topic delayed has not been read yet, and cannot be read: NOT_LEADER. Nobody knows"},
		"gaps are not read, and nobody knows why": {func(s *Sample) { runsOf(s, 3).GapSinceMs, runsOf(s, 1).GapSinceMs = ago(time.Hour), ago(2*time.Hour) }, "", true, true,
			"A part of partitions 1, 3 in the runs topic delayed.layover-orders.runs of the ingress topic delayed has not been read yet, and cannot be read. Nobody"},
		"a gap is about to be read": {func(s *Sample) { topic(s).Unread, runsOf(s, 1).GapSinceMs = "NOT_LEADER", ago(50*time.Second) }, "", false, false, ""},
		"brokers are just back": {func(s *Sample) {
			s.Kafka.Since, runsOf(s, 1).GapSinceMs = time.Now().Add(-50*time.Second), ago(time.Hour)
		}, "", false, false, ""},
		"partitions that ingress does not have": {func(s *Sample) {
			topic(s).Orphans = Orphans{Asked: true, Ingress: 4, Partitions: []int32{4, 6}, Records: 7000, Since: time.Now()}
		}, "", false, true, "runs topic delayed.layover-orders.runs has up to 7,000 copies in partitions 4, 6, and its ingress topic delayed has 4 partitions. So no " +
			"instance is assigned what waits there, and it is not delivered, due or not."},
		"what to do about these": {func(s *Sample) {
			topic(s).Orphans = Orphans{Asked: true, Ingress: 1, Partitions: []int32{2}, Records: 1, Since: time.Now()}
		}, "", false, true, "up to 1 copy in partition 2, and its ingress topic delayed has 1 partition."},
		"some of these were delivered": {func(s *Sample) {
			topic(s).Orphans = Orphans{Asked: true, Ingress: 1, Partitions: []int32{2}, Records: 1, Since: time.Now()}
		}, "", false, true, "Those that were delivered while the topic was gone are among them: layover runs show tells what waits."},
		"and of others nobody tells": {func(s *Sample) {
			topic(s).Orphans = Orphans{Ingress: 1, Partitions: []int32{2}, Records: 1, Since: time.Now()}
		}, "", false, true, "up to 1 copy in partition 2 (of others nobody tells yet), and its ingress topic delayed has 1 partition."},
		"such partitions are empty":     {func(s *Sample) { topic(s).Orphans = Orphans{Asked: true, Ingress: 4} }, "", false, false, ""},
		"copies are due and being read": {func(s *Sample) { runsOf(s, 3).Overdue = 1 }, "", false, false, ""},
		"the ingress topic is gone": {func(s *Sample) {
			topic(s).State, topic(s).Warning, s.Kafka.Unusable = "missing", "x", []string{"delayed"}
		}, "missing", false, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			for memory, presses := range map[Memory]bool{{Used: 64 << 20, MovesAt: 100 << 20, Limit: 256 << 20}: false, {Used: 101 << 20, MovesAt: 100 << 20, Limit: 256 << 20}: true} {
				s := ordinary(now)
				s.Memory = memory
				test.change(&s)
				v := look(s, now)
				got := v.report().runs().Topics[0]
				value, there := scrape(t, s)[`layover_runs_usable{topic="delayed"}`]
				if got.Reason != test.reason || got.Usable != (test.reason == "") || there == (test.reason == "off") || there && (value == 1) != got.Usable {
					t.Errorf("reason %q, usable %v, the metric %v (%v), want %q", got.Reason, got.Usable, value, there, test.reason)
				}
				text := got.Text
				var sick []Sickness
				for _, one := range v.sick {
					if one.Kind == SickRuns {
						sick = append(sick, one)
						text += one.Text
					}
				}
				if want := test.always || test.sick && presses; (len(sick) == 1) != want {
					t.Errorf("memory presses: %v, sick: %+v, want it: %v", presses, sick, want)
				}
				if !strings.Contains(text, test.says) || test.says == "" && test.reason == "" && text != "" {
					t.Errorf("%q does not say %q", text, test.says)
				}
			}
		})
	}
	s := ordinary(time.Now())
	s.Pauses = []Pause{{Reason: PauseBytes}}
	s.Runs.OlderSince = time.Now().Add(-time.Hour)
	if sick := look(s, time.Now()).sick; len(sick) != 1 || sick[0].Reason != runsOlder || !sick[0].Since.Equal(s.Runs.OlderSince) {
		t.Errorf("reading is paused for memory: %+v, want it since %v", sick, s.Runs.OlderSince)
	}
	s.Runs.OlderSince = time.Time{}
	runsOf(&s, 3).GapSinceMs, s.Runs.Topics[0].UnreadSince = time.Now().Add(-time.Hour).UnixMilli(), time.Now()
	if sick := look(s, time.Now()).sick; len(sick) != 1 || sick[0].Reason != runsUnread || sick[0].Since.UnixMilli() != runsOf(&s, 3).GapSinceMs {
		t.Errorf("a gap is not read: %+v, want it since it is there", sick)
	}
	runsOf(&s, 3).GapSinceMs = 0
	for no, ago := range map[int]time.Duration{0: time.Minute, 2: time.Hour} {
		p := runsOf(&s, no)
		p.Full, p.FullSinceMs = true, time.Now().Add(-ago).UnixMilli()
	}
	if sick := look(s, time.Now()).sick; len(sick) != 1 || sick[0].Reason != runsFull || sick[0].Since.UnixMilli() != runsOf(&s, 2).FullSinceMs {
		t.Errorf("two partitions are full: %+v, want it since the first was", sick)
	}
}

// TestWhatWaitsInRunsIsInTheCountsOfWhatWaits, and is due next, or the furthest away.
func TestWhatWaitsInRunsIsInTheCountsOfWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		ms := now.UnixMilli()
		s := ordinary(now)
		for lane, next := range []int64{ms + 200, 0, ms + 9000} { // in the first lane it comes before what is parked
			if lane > 0 {
				s.Lanes = append(s.Lanes, &purgatory.Snapshot{})
			}
			o := &s.Lanes[lane].Outlook.Runs
			o.NextDueMs = next
			if lane == 2 {
				o.Partitions = []purgatory.RunsView{{TopicPartition: offsets.TopicPartition{Topic: "delayed", Partition: 9}, Known: true, Copies: 1000, Bytes: 5000, LogBytes: 9000, Runs: 3, FurthestMs: ms + 90_000_000}}
				o.Copies = 1000
				s.Lanes[lane].Outlook.DueWithin = [7]int64{6: 400}
				s.Lanes[lane].Pace = purgatory.RunsPace{HorizonMs: 60_000, AheadMs: 2000}
			}
		}
		got, metrics := statusOf(t, s), scrape(t, s)
		if got["next_due"] != instantOf(now.Add(200*time.Millisecond)) || got["furthest_deadline"] != instantOf(now.Add(25*time.Hour)) {
			t.Errorf("next due %v, furthest %v", got["next_due"], got["furthest_deadline"])
		}
		within := got["due_within"].([]any)
		if last := within[6].(map[string]any)["records"]; last != 118_400.0 {
			t.Errorf("%v are due within a day", last)
		}
		for name, want := range map[string]float64{
			`layover_parked_records_due_within{seconds="86400"}`: 118_400, `layover_parked_records_due_within{seconds="+Inf"}`: 126_388,
			`layover_runs_records{topic="delayed"}`: 1000, "layover_runs_horizon_seconds": 60, "layover_runs_read_ahead_seconds": 2,
			`layover_furthest_deadline_timestamp_seconds{topic="delayed"}`: float64(now.Unix() + 90_000),
		} {
			if metrics[name] != want {
				t.Errorf("%s is %v, want %v", name, metrics[name], want)
			}
		}
		if parked := got["parked"].(map[string]any)["records"]; parked != 125_388.0 {
			t.Errorf("%v are parked", parked)
		}
	})
}

func instantOf(at time.Time) string { return at.UTC().Format(instantFormat) }

// TestLateCopiesAreNotGreen, but where nobody ran when they were due.
func TestLateCopiesAreNotGreen(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Sample, int64)
		readyz string
	}{
		"just now": {func(s *Sample, ms int64) {
			s.Lanes[0].Pace.LateVisits, s.Lanes[0].Pace.LastLateMs = 2, ms-59_000
		}, "degraded: copies are read late from runs: 2 late visits since the start, the last 59 s ago. " +
			"Brokers answer slowly, or memory has no room for what is due at once: look at the leaders of the runs topics, or raise LAYOVER_MAX_PARKED_BYTES"},
		"a minute ago": {func(s *Sample, ms int64) { s.Lanes[0].Pace.LastLateMs = ms - 60_000 }, "ready"},
		"after a downtime": {func(s *Sample, ms int64) {
			s.Lanes[0].Pace.LastLateMs, s.Lanes[0].Missed = ms-9000, purgatory.Missed{Records: 1, LastMs: ms - 10_000}
		}, "ready"},
		"overdue in runs": {func(s *Sample, ms int64) {
			runsOf(s, 0).Overdue, s.Lanes[0].Outlook.OldestOverdueMs = 7, ms-60_000
		}, "degraded: 19 records are overdue, the oldest by 1 min"},
		"overdue in runs that cannot be read": {func(s *Sample, ms int64) {
			runsOf(s, 0).Overdue, s.Lanes[0].Outlook.OldestOverdueMs, s.Runs.Topics[0].Unread = 7, ms-60_000, "NOT_LEADER"
		}, "degraded: copies in delayed.layover-orders.runs are due and cannot be read"},
		"nobody knows what is due": {func(s *Sample, ms int64) { runsOf(s, 0).GapSinceMs = ms - 60_000 },
			"degraded: a part of runs topic delayed.layover-orders.runs cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := ordinary(time.Now())
				test.change(&s, time.Now().UnixMilli())
				if got := get(t, newServer(sourceOf(s)), "/readyz").Body.String(); got != test.readyz+"\n" {
					t.Errorf("%q, want %q", got, test.readyz)
				}
			})
		})
	}
}

// TestLossesFromRunsStayOnThePage: an error in its head, as long as the process runs.
func TestLossesFromRunsStayOnThePage(t *testing.T) {
	s := ordinary(time.Now())
	s.Lanes[0].LostFromRuns = 1
	d := look(s, time.Now()).report().page()
	if len(d.Problems) != 1 || d.Tone != bad || d.Problems[0].Text != "1 offset is gone from a runs topic: whatever of them was a copy is not delivered." {
		t.Errorf("%s, %+v", d.Tone, d.Problems)
	}
}

// TestRunsThatAreOffAreNotOnThePage, unless something waits there or was moved.
func TestRunsThatAreOffAreNotOnThePage(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Sample)
		shown  bool
	}{
		"off":                     {func(*Sample) {}, false},
		"some wait":               {func(s *Sample) { runsOf(s, 0).Copies = 1 }, true},
		"some were read back":     {func(s *Sample) { s.Lanes[0].Loaded = 1 }, true},
		"another topic's are not": {func(s *Sample) { s.Runs.Topics = append(s.Runs.Topics, RunsTopic{Ingress: "other", State: runsUsable}) }, true},
	} {
		s := ordinary(time.Now())
		s.Runs.Topics[0].Off = "LAYOVER_JOURNAL=off"
		test.change(&s)
		if got := strings.Contains(render(t, s).Body.String(), `id="runs"`); got != test.shown {
			t.Errorf("%s: shown is %v", name, got)
		}
	}
}

// TestWhatIsInRunsIsNullUntilItIsKnown.
func TestWhatIsInRunsIsNullUntilItIsKnown(t *testing.T) {
	s := ordinary(time.Now())
	for p := range 4 {
		runsOf(&s, p).Known = false
	}
	if got := look(s, time.Now()).report().runs(); got.Records != nil || got.Topics[0].Runs != nil || got.Partitions[0].Copies != nil {
		t.Errorf("nothing is known: %+v", got)
	}
	*runsOf(&s, 2) = purgatory.RunsView{TopicPartition: runsOf(&s, 2).TopicPartition, Known: true, Copies: 5}
	got := look(s, time.Now()).report().runs()
	if got.Records == nil || *got.Records != 5 || *got.Topics[0].Records != 5 || got.Partitions[1].Copies != nil || *got.Partitions[2].Copies != 5 {
		t.Errorf("one partition is known: %+v", got)
	}
	if got.VisitP99() != "–" || got.Horizon() != "1 h" {
		t.Errorf("without a visit: %s, %s", got.VisitP99(), got.Horizon())
	}
}
