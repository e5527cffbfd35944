package admin

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"layover/purgatory"
)

// withLetters is a process whose last dead letter came so long ago.
func withLetters(s *Sample, ago time.Duration) {
	at := time.Now().Add(-ago).UnixMilli()
	l := s.Lanes[0]
	l.DeadLettered = map[purgatory.TopicReason]int64{{Topic: "delayed", Reason: "invalid_delay"}: 512, {Topic: "delayed", Reason: "too_large"}: 0}
	l.Consumed[purgatory.TopicOutcome{Topic: "delayed", Outcome: purgatory.Invalid}] = 512
	l.Letters = []purgatory.Letter{letter("delayed", 1, 77, "invalid_delay", at)}
}

// withLosses is a process whose last loss was so long ago.
func withLosses(s *Sample, ago time.Duration) {
	s.Lanes[0].Losses = []purgatory.Loss{{Topic: "delayed", Offsets: 40, LastMs: time.Now().Add(-ago).UnixMilli()}}
}

// paused has reading paused for so long, before unread records of which the oldest is so
// old; 0: nobody knows.
func paused(s *Sample, since, oldest time.Duration, unread int64) {
	now := time.Now()
	s.Pauses, s.PausedSince = []Pause{{Reason: PauseBytes}}, now.Add(-since)
	a := Assignment{Topic: "delayed", Partition: 0, Loaded: true, Next: s.Lanes[0].Partitions[0].Next}
	a.End = a.Next + unread
	if unread < 0 {
		a.End = -1
	}
	if oldest != 0 {
		a.OldestUnread = now.Add(-oldest)
	}
	s.Group.Partitions = []Assignment{a}
}

// TestNothingIsGreenWhileRecordsAreLateOrDead, and all views agree.
func TestNothingIsGreenWhileRecordsAreLateOrDead(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Sample)
		state  string
		tone   tone
		readyz string
	}{
		"all is well":               {func(*Sample) {}, "ready", good, "ready"},
		"a dead letter just now":    {func(s *Sample) { withLetters(s, 3*time.Second) }, "degraded", warn, "degraded: dead letters come: 512 since the start, the last 3.0 s ago (invalid_delay)"},
		"one within five minutes":   {func(s *Sample) { withLetters(s, 5*time.Minute-time.Millisecond) }, "degraded", warn, "degraded: dead letters come: 512 since the start, the last 4 min 59 s ago (invalid_delay)"},
		"none for five minutes":     {func(s *Sample) { withLetters(s, 5*time.Minute) }, "ready", good, "ready"},
		"the clock was stepped far": {func(s *Sample) { withLetters(s, -time.Hour) }, "ready", good, "ready"},
		"paused for a moment":       {func(s *Sample) { paused(s, time.Second, time.Second, 9) }, "paused", warn, "ready: reading is paused: bytes"},
		"paused, and all is read":   {func(s *Sample) { paused(s, time.Hour, 0, 0) }, "paused", warn, "ready: reading is paused: bytes"},
		"paused before unread records": {func(s *Sample) { paused(s, time.Minute, 0, 1200) }, "paused", warn,
			"degraded: reading is paused: bytes, 1,200 records wait unread"},
		"paused before records of known age": {func(s *Sample) { paused(s, 2*time.Second, 3*time.Minute, 1) }, "paused", warn,
			"degraded: reading is paused: bytes, 1 record waits unread, late by at least 3 min less its delay"},
		"paused, and nothing is known":   {func(s *Sample) { paused(s, time.Minute, 0, -1) }, "paused", warn, "degraded: reading is paused: bytes"},
		"overdue for less than a minute": {func(s *Sample) { s.Lanes[0].Outlook.OldestOverdueMs = time.Now().UnixMilli() - 59_999 }, "ready", good, "ready"},
		"overdue for a minute": {func(s *Sample) { s.Lanes[0].Outlook.OldestOverdueMs = time.Now().UnixMilli() - 60_000 }, "degraded", warn,
			"degraded: 12 records are overdue, the oldest by 1 min"},
		"overdue because a target is held": {func(s *Sample) {
			s.Lanes[0].Outlook.OldestOverdueMs = time.Now().UnixMilli() - 60_000
			s.Lanes[0].Held = []purgatory.HeldView{{Target: "ready", Verdict: purgatory.Missing, Records: 1}}
		}, "degraded", warn, "degraded: target ready is missing"},
		"records were lost just now": {func(s *Sample) { withLosses(s, 3*time.Second) }, "degraded", bad,
			"degraded: records are lost: 40 of delayed, deleted before they were delivered, the last 3.0 s ago"},
		"lost within ten minutes": {func(s *Sample) { withLosses(s, 10*time.Minute-time.Millisecond) }, "degraded", bad,
			"degraded: records are lost: 40 of delayed, deleted before they were delivered, the last 9 min 59 s ago"},
		"none were for ten minutes": {func(s *Sample) { withLosses(s, 10*time.Minute) }, "ready", good, "ready"},
		"lost from runs as well": {func(s *Sample) {
			withLosses(s, 5*time.Second)
			s.Lanes[0].Losses = append(s.Lanes[0].Losses, purgatory.Loss{Topic: "delayed", FromRuns: true, Offsets: 17, LastMs: time.Now().UnixMilli() - 9000})
		}, "degraded", bad, "degraded: records are lost: 40 of delayed, deleted before they were delivered, the last 5.0 s ago; " +
			"17 of delayed, gone from its runs topic, the last 9.0 s ago"},
		"lost by two lanes": {func(s *Sample) {
			withLosses(s, time.Hour)
			lane := &purgatory.Snapshot{}
			lane.Losses = []purgatory.Loss{{Topic: "delayed", Offsets: 2, LastMs: time.Now().UnixMilli() - 1000}}
			s.Lanes = append(s.Lanes, lane, nil)
		}, "degraded", bad, "degraded: records are lost: 42 of delayed, deleted before they were delivered, the last 1.0 s ago"},
		"a late start goes on": {func(s *Sample) {
			s.Lanes[0].Missed = purgatory.Missed{Records: 1, LastMs: time.Now().UnixMilli() - 59_000}
		}, "ready", warn, "ready"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := ordinary(time.Now())
				test.change(&s)
				srv, got := newServer(sourceOf(s)), statusOf(t, s)
				readyz := get(t, srv, "/readyz")
				degraded := strings.HasPrefix(test.readyz, "degraded")
				if readyz.Code != 200 || readyz.Body.String() != test.readyz+"\n" {
					t.Errorf("/readyz: %d %q, want 200 and %q", readyz.Code, readyz.Body, test.readyz)
				}
				if got["state"] != test.state || got["ready"] != true || got["degraded"] != degraded || got["ready_text"] != test.readyz {
					t.Errorf("/status: %v, ready %v, degraded %v, %v", got["state"], got["ready"], got["degraded"], got["ready_text"])
				}
				if d := look(s, time.Now()).report().page(); d.Tone != test.tone || d.State != capital(test.state) {
					t.Errorf("the page's head is %s in %s, want %s in %s", d.State, d.Tone, capital(test.state), test.tone)
				}
			})
		})
	}
}

func TestDeadLettersAreBroughtTogetherFromAllLanes(t *testing.T) {
	now := time.Now().Truncate(time.Millisecond)
	s := ordinary(now)
	s.Lanes = append(s.Lanes, nil)
	for lane := range int64(3) {
		l := &purgatory.Snapshot{}
		l.DeadLettered = map[purgatory.TopicReason]int64{{Topic: "delayed", Reason: "invalid_delay"}: 10, {Topic: "other", Reason: "invalid_delay"}: 1, {Topic: "delayed", Reason: "rejected"}: lane}
		for i := range int64(purgatory.LastLetters) {
			l.Letters = append(l.Letters, letter("delayed", int32(lane), 100-i, "invalid_delay", now.UnixMilli()-i*1000-lane))
		}
		s.Lanes = append(s.Lanes, l)
	}
	got := look(s, now).report().deadLetters()
	if got.Total != 36 || len(got.ByReason) != 2 || got.ByReason["invalid_delay"] != 33 || got.ByReason["rejected"] != 3 || !got.Coming {
		t.Errorf("%+v", got)
	}
	if r := got.Reasons(); len(r) != 2 || r[0] != (reasonCount{"invalid_delay", 33}) {
		t.Errorf("by reason %+v", r)
	}
	var order []string
	for _, l := range got.Last {
		order = append(order, fmt.Sprintf("%d@%d", l.Partition, l.Offset))
	}
	if want := "0@100 1@100 2@100 0@99 1@99 2@99 0@98 1@98 2@98 0@97"; strings.Join(order, " ") != want {
		t.Errorf("the last are %v, want %s", order, want)
	}
	if d := look(ordinary(now), now).report().deadLetters(); d.Total != 0 || d.Last == nil || d.ByReason == nil || d.Coming {
		t.Errorf("without any: %+v", d)
	}
}

// TestRecordsBehindATransactionHaveAnAge, before it is long enough open to be sick, and during a pause of known age.
func TestRecordsBehindATransactionHaveAnAge(t *testing.T) {
	for name, test := range map[string]struct {
		since []time.Duration // by partition; 0: no transaction
		pause time.Duration   // age of the oldest unread record of a pause; 0: no pause
		want  float64
	}{
		"none":                 {[]time.Duration{0, 0}, 0, 0},
		"the older of two":     {[]time.Duration{5 * time.Second, 90 * time.Second, 0}, 0, 90},
		"older than a pause's": {[]time.Duration{90 * time.Second}, 20 * time.Second, 90},
		"a pause is older":     {[]time.Duration{90 * time.Second}, 100 * time.Second, 100},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := ordinary(time.Now())
				if test.pause > 0 {
					paused(&s, test.pause, test.pause, 7)
				}
				for i, since := range test.since {
					a := Assignment{Topic: "second", Partition: int32(i), Loaded: true, Next: 5, End: 9}
					if since > 0 {
						a.OpenSince, a.OpenAt = time.Now().Add(-since), 5
					}
					s.Group.Partitions = append(s.Group.Partitions, a)
				}
				if age := scrape(t, s)["layover_oldest_unread_age_seconds"]; age != test.want {
					t.Errorf("%v s, want %v", age, test.want)
				}
			})
		})
	}
}

func TestWhatOfAPauseIsNotKnownIsNull(t *testing.T) {
	for name, test := range map[string]struct {
		unread int64
		oldest time.Duration
		want   string // unread_records, oldest_unread, late_by_at_least_seconds
		says   string
		age    float64 // of the metric; below 0: no series
	}{
		"everything is known": {7, 90 * time.Second, "7 1999-12-31T23:58:30.000Z 90", "late by at least 1 min 30 s, less its delay", 90},
		"not the age":         {7, 0, "7 <nil> <nil>", "When the oldest was written is not known yet", -1},
		"a time to come":      {7, -time.Hour, "7 <nil> <nil>", "When the oldest was written is not known yet", -1},
		"nothing":             {-1, 0, "<nil> <nil> <nil>", "How many records wait unread is not known yet", -1},
		"nothing is unread":   {0, 0, "0 <nil> <nil>", "nothing is late for it yet", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := ordinary(time.Now())
				s.Memory.PauseAt = 60 << 20
				paused(&s, 100*time.Second, test.oldest, test.unread)
				p := statusOf(t, s)["paused"].(map[string]any)
				if got := fmt.Sprint(p["unread_records"], " ", p["oldest_unread"], " ", p["late_by_at_least_seconds"]); got != test.want {
					t.Errorf("%s, want %s", got, test.want)
				}
				if p["since"] != "1999-12-31T23:58:20.000Z" || p["reason"] != "bytes" || p["threshold_bytes"] != float64(60<<20) || !strings.Contains(p["text"].(string), test.says) {
					t.Errorf("%v", p)
				}
				series := scrape(t, s)
				age, there := series["layover_oldest_unread_age_seconds"]
				if there != (test.age >= 0) || there && age != test.age || series["layover_paused_seconds"] != 100 {
					t.Errorf("metrics: %v (there: %v), paused for %v s", age, there, series["layover_paused_seconds"])
				}
			})
		})
	}
	s := ordinary(time.Now())
	if got := statusOf(t, s); got["paused"] != nil || scrape(t, s)["layover_oldest_unread_age_seconds"] != 0 {
		t.Errorf("without a pause: %v", got["paused"])
	}
}

// TestNumbersThatNobodyKnowsAreNullAndUnknown: without partitions a process does not know
// what is parked.
func TestNumbersThatNobodyKnowsAreNullAndUnknown(t *testing.T) {
	none := func(s *Sample) { s.Group.Partitions, s.Lanes = nil, []*purgatory.Snapshot{{Bytes: 350 << 10}} }
	for name, test := range map[string]struct {
		change func(*Sample)
		known  bool
	}{
		"all is well":                       {func(*Sample) {}, true},
		"Kafka away, partitions still here": {func(s *Sample) { s.Kafka = Kafka{Since: time.Now()} }, true},
		"Kafka away, and they are lost":     {func(s *Sample) { none(s); s.Kafka = Kafka{Since: time.Now()} }, false},
		"Kafka away from the start":         {func(s *Sample) { none(s); s.Kafka, s.Group.Joined = Kafka{}, false }, false},
		"not joined yet":                    {func(s *Sample) { none(s); s.Group.Joined = false }, false},
		"thrown out of the group":           {func(s *Sample) { none(s); s.Group.LastError = "UNKNOWN_MEMBER_ID" }, false},
		"assigned, and still loading":       {func(s *Sample) { none(s); s.Group.Partitions = []Assignment{{Topic: "delayed"}} }, false},
		"one member too many":               {none, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := ordinary(time.Now())
			test.change(&s)
			got := statusOf(t, s)
			parked, due := got["parked"].(map[string]any), got["due_within"].([]any)[0].(map[string]any)
			for member, value := range map[string]any{"parked.records": parked["records"], "parked.due": parked["due"], "overdue": got["overdue"], "due_within": due["records"]} {
				if (value != nil) != test.known {
					t.Errorf("%s is %v", member, value)
				}
			}
			page := parse(t, render(t, s).Body.String())
			tiles := strings.Join(strings.Fields(byClass(page, "tiles")[0].text), " ")
			if strings.Contains(tiles, "Parked unknown no partitions at present Next due unknown") == test.known || strings.Contains(tiles, "350") ||
				!test.known && strings.Contains(tiles, "nothing is parked") {
				t.Errorf("the tiles: %s", tiles)
			}
			if due := section(t, page, "due"); strings.Contains(due, "Unknown") == test.known {
				t.Errorf("the chart: %s", due)
			}
		})
	}
}

// TestOneOutageIsOneFinding: all that follows from a silent Kafka is left out, and what was
// so before is not.
func TestOneOutageIsOneFinding(t *testing.T) {
	now := time.Now()
	s := ordinary(now)
	s.Kafka = Kafka{Since: now.Add(-20 * time.Second), Err: "connection refused", Topics: []TopicState{{Name: "retry-1", State: "missing", Since: now.Add(-time.Hour)}}}
	s.Group.Joined, s.Group.LeaseValid = true, false
	s.Group.Partitions = []Assignment{
		{Topic: "delayed", Partition: 0, Stopped: "asked where to begin: no answer", Reason: "not_begun", Trying: true},
		{Topic: "delayed", Partition: 1, Stopped: "fetches fail", Reason: "fetch_failed", Trying: true},
		{Topic: "delayed", Partition: 2, Loaded: true, Leaderless: true},
		{Topic: "delayed", Partition: 3, Loaded: true, Stopped: "a batch cannot be read", Reason: "unreadable"},
	}
	s.Lanes[0].Held = []purgatory.HeldView{{Target: "ready", Verdict: purgatory.Unreachable, Records: 5}, {Target: "dead-letters", Verdict: purgatory.Unreachable, Records: 1}}
	s.Journal.Topics[0].Err = "no answer"
	v := look(s, now)
	var got []string
	for i := range v.sick {
		got = append(got, fmt.Sprintf("%s %s %s", v.sick[i].Kind, v.sick[i].Name, v.sick[i].Reason))
	}
	if want := "kafka  unreachable, partition delayed unreadable, target retry-1 missing"; strings.Join(got, ", ") != want {
		t.Errorf("sick: %q, want %s", got, want)
	}
	var problems []string
	for _, p := range v.report().page().Problems {
		problems = append(problems, p.Text)
	}
	if want := "1 partition is not read any more."; strings.Join(problems, " ") != want {
		t.Errorf("problems: %q, want %s", problems, want)
	}
	s.Kafka = Kafka{Answering: true, Since: now.Add(-9 * time.Second)}
	s.Group.Partitions, s.Lanes[0].Held, s.Journal.Topics[0].Err = nil, nil, ""
	s.Group.LastError = "the group's coordinator is out of reach, trying again" // as of the outage
	if sick := look(s, now).sick; len(sick) != 0 {
		t.Errorf("brokers have just come back, and the member is about to join: %+v", sick)
	}
	if r := ready(look(s, now)); !r.degraded || !strings.Contains(r.why, "the group is not joined yet") {
		t.Errorf("%+v: nothing is delivered yet", r)
	}
}

func TestAHeldTargetSaysWhatBecomesOfItsRecordsAndWhen(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Sample, *purgatory.HeldView)
		left   any
		says   string
	}{
		"with a dead-letter topic": {func(*Sample, *purgatory.HeldView) {}, 754.0, "In 12 min 34 s LAYOVER_TARGET_PATIENCE is used up, and the oldest goes to the dead-letter topic. " +
			"7 records of it went to the dead-letter topic already. Correct the setting"},
		"without one": {func(s *Sample, h *purgatory.HeldView) { s.Settings.DeadLetter, h.GivenUp = "", 0 }, 754.0,
			"In 12 min 34 s LAYOVER_TARGET_PATIENCE is used up, and the oldest makes reading pause, as there is no dead-letter topic. Correct the setting"},
		"used up":       {func(_ *Sample, h *purgatory.HeldView) { h.PatienceLeftMs = 0 }, 0.0, "LAYOVER_TARGET_PATIENCE is used up: the oldest goes to the dead-letter topic. 7 records"},
		"nothing waits": {func(_ *Sample, h *purgatory.HeldView) { h.Records = 0 }, nil, "After LAYOVER_TARGET_PATIENCE a waiting record goes to the dead-letter topic. 7 records"},
		"with a dead-letter topic that is missing": {func(s *Sample, _ *purgatory.HeldView) {
			s.Kafka.Topics = []TopicState{{Name: "dead-letters", State: "missing"}}
		}, 754.0, "In 12 min 34 s LAYOVER_TARGET_PATIENCE is used up, and the oldest is given up, and waits for the dead-letter topic. " +
			"7 records of it are given up already, and wait for the dead-letter topic unless it took them. Correct the setting"},
		"with one that a lane holds": {func(s *Sample, h *purgatory.HeldView) {
			s.Lanes, h.PatienceLeftMs = append(s.Lanes, holds(purgatory.HeldView{Target: "dead-letters", Verdict: purgatory.Rejecting})...), 0
		}, 0.0, "LAYOVER_TARGET_PATIENCE is used up: the oldest is given up, and waits for the dead-letter topic. 7 records of it are given up already"},
		"with one that reading pauses for": {func(s *Sample, h *purgatory.HeldView) {
			s.Pauses, h.GivenUp = []Pause{{PauseDeadLetter, "dead-letters"}}, 1
		}, 754.0, "1 record of it is given up already, and waits for the dead-letter topic unless it took it."},
		"the dead-letter topic itself": {func(_ *Sample, h *purgatory.HeldView) { h.Target = "dead-letters" }, nil, "reading pauses as long as a record has to go there"},
	} {
		t.Run(name, func(t *testing.T) {
			s := ordinary(time.Now())
			h := purgatory.HeldView{Target: "retry-1", Label: "retry-*", Verdict: purgatory.Missing, Records: 3, PatienceLeftMs: 754_321, GivenUp: 7}
			test.change(&s, &h)
			s.Lanes = append(s.Lanes, &purgatory.Snapshot{Held: []purgatory.HeldView{h}})
			all := statusOf(t, s)["held"].([]any)
			held := all[slices.IndexFunc(all, func(held any) bool { return held.(map[string]any)["target"] == h.Target })].(map[string]any)
			if held["patience_left_seconds"] != test.left || held["dead_lettered"] != float64(h.GivenUp) || !strings.Contains(held["text"].(string), test.says) {
				t.Errorf("%v, want %v and %s", held, test.left, test.says)
			}
		})
	}
}

// TestTheSumOfHeldTargetsCallsNothingADeadLetterThatWaits for a dead-letter topic which is sick.
func TestTheSumOfHeldTargetsCallsNothingADeadLetterThatWaits(t *testing.T) {
	for want, sick := range map[string][]TopicState{
		"The first is a dead letter in 12 min 34 s. Dead letters for that already: 7.": nil,
		"The first is given up in 12 min 34 s. Given up for that already: 7.":          {{Name: "dead-letters", State: "missing"}},
	} {
		s := ordinary(time.Now())
		s.Kafka.Topics = sick
		s.Lanes = append(s.Lanes, holds(purgatory.HeldView{Target: "ready", Verdict: purgatory.Missing, Records: 3, PatienceLeftMs: 754_321, GivenUp: 7})...)
		v := look(s, time.Now()).report()
		var held status
		held.Held, held.HeldMore = v.held()
		if text := v.heldProblem(&held); !strings.Contains(text, want) {
			t.Errorf("%s, want %s", text, want)
		}
	}
}

// TestAPauseForARefusedLetterSaysWhatMendsItsTopic, and speaks of no right.
func TestAPauseForARefusedLetterSaysWhatMendsItsTopic(t *testing.T) {
	s := ordinary(time.Now())
	s.Lanes = append(s.Lanes, holds(purgatory.HeldView{Target: "dead-letters", Verdict: purgatory.Rejecting, Detail: "INVALID_RECORD: x"})...)
	text := look(s, time.Now()).report().pauseText(Pause{PauseDeadLetter, "dead-letters"})
	if !strings.Contains(text, "it is rejecting (INVALID_RECORD: x)") || !strings.Contains(text, "--add-config cleanup.policy=delete") || strings.Contains(text, "may write to it") {
		t.Error(text)
	}
}

func TestALateStartIsExplainedForAWhile(t *testing.T) {
	now := time.Now().Truncate(time.Millisecond)
	for ago, there := range map[time.Duration]bool{time.Second: true, 15*time.Minute - time.Millisecond: true, 15 * time.Minute: false} {
		s := ordinary(now)
		s.Lanes[0].Missed = purgatory.Missed{Records: 30, EarliestMs: 1000, LatestMs: 2000, AssignedMs: 99_000, MostLateMs: 98_000, LastMs: now.Add(-ago).UnixMilli()}
		late := look(s, now).report().lateStart()
		if (late != nil) != there {
			t.Errorf("%v after the last: %+v", ago, late)
		}
		if late != nil && !strings.Contains(late.Text, "30 delivered records were due before this process got their partitions at 1970-01-01 00:01:39Z") {
			t.Errorf("%s", late.Text)
		}
	}
}

func TestNamesOfMissingTopicsAreNamesAndSentencesAreElsewhere(t *testing.T) {
	s := ordinary(time.Now())
	s.Kafka.Missing, s.Kafka.Faults = []string{"delayed"}, []string{"topic delayed is missing", "ready has 1 partitions"}
	kafka := statusOf(t, s)["kafka"].(map[string]any)
	if fmt.Sprint(kafka["missing_topics"]) != "[delayed]" || fmt.Sprint(kafka["topic_faults"]) != "[topic delayed is missing ready has 1 partitions]" {
		t.Errorf("%v", kafka)
	}
	if topics := section(t, parse(t, render(t, s).Body.String()), "topics"); !strings.Contains(topics, "topic delayed is missing ready has 1 partitions") {
		t.Errorf("the page: %s", topics)
	}
}
