package admin

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"layover/consumer"
	"layover/purgatory"
)

// told is a sickness as a table has it: kind, name, partition, reason, and seconds since
// which it is.
func told(s *Sickness, now time.Time) string {
	k := s.Key()
	since := "-"
	if !s.Since.IsZero() {
		since = fmt.Sprint(now.Sub(s.Since.Time).Seconds())
	}
	return fmt.Sprintf("%s %s %d %s %s", k.Kind, k.Name, k.Partition, s.Reason, since)
}

func holds(views ...purgatory.HeldView) []*purgatory.Snapshot {
	lanes := []*purgatory.Snapshot{nil}
	for _, v := range views { // each in a lane of its own
		lanes = append(lanes, &purgatory.Snapshot{Held: []purgatory.HeldView{v}})
	}
	return lanes
}

func TestSickIsWhatDoesNotWorkAndNothingElse(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	ago := func(s int) time.Time { return now.Add(-time.Duration(s) * time.Second) }
	for name, test := range map[string]struct {
		change func(*Sample)
		want   []string
		says   string // in the first text
	}{
		"nothing":                     {func(*Sample) {}, nil, ""},
		"memory is at its bound":      {func(s *Sample) { s.Pauses = []Pause{{Reason: PauseBytes}} }, nil, ""},
		"an ingress configuration":    {func(s *Sample) { s.Kafka.Warnings = map[string]string{"delayed": "retention.ms=1"} }, nil, ""},
		"Kafka":                       {func(s *Sample) { s.Kafka = Kafka{Since: ago(7), Err: "refused"} }, []string{"kafka  -1 unreachable 7"}, "KAFKA_BROKERS"},
		"Kafka refuses":               {func(s *Sample) { s.Kafka, s.Connection.Refused = Kafka{Since: ago(7)}, refusals(ago(2), "b1", "b2") }, []string{"kafka  -1 refused 2"}, "The broker b1:9093 and 1 other refuse the connection: look at KAFKA_TLS_CA."},
		"one broker refuses":          {func(s *Sample) { s.Connection.Refused = refusals(ago(2), "b1") }, []string{"kafka b1:9093 -1 refused 2"}, "The broker b1:9093 refuses the connection: look at KAFKA_TLS_CA."},
		"refused before it was ready": {func(s *Sample) { s.Kafka, s.Connection.Refused, s.CaughtUp = Kafka{}, refusals(ago(2), "b1"), false }, []string{"kafka  -1 refused 2"}, "reads files of secrets and certificates anew"},
		"Kafka before it was ready":   {func(s *Sample) { s.Kafka, s.CaughtUp = Kafka{}, false }, nil, ""},
		"Kafka never answered":        {func(s *Sample) { s.Kafka, s.Started = Kafka{}, ago(20) }, []string{"kafka  -1 unreachable 20"}, "connects again by itself"},
		"Kafka hides group, journal":  {func(s *Sample) { s.Kafka, s.Group.Joined, s.Journal.Topics[0].Err = Kafka{Since: ago(1)}, false, "x" }, []string{"kafka  -1 unreachable 1"}, ""},
		"the group is not joined":     {func(s *Sample) { s.Group.Joined = false }, []string{"group layover-orders -1 not_joined -"}, "kafka-consumer-groups.sh"},
		"joining":                     {func(s *Sample) { s.Group.Joined, s.CaughtUp = false, false }, nil, ""},
		"the group refuses from the start": {func(s *Sample) {
			s.Group.Joined, s.CaughtUp, s.Group.LastError = false, false, "GROUP_AUTHORIZATION_FAILED"
		},
			[]string{"group layover-orders -1 refused -"}, "GROUP_AUTHORIZATION_FAILED"},
		"the lease": {func(s *Sample) { s.Group.LeaseValid = false }, []string{"group layover-orders -1 lease -"}, "delivers nothing until the coordinator has taken a commit"},
		"draining":  {func(s *Sample) { s.Group.Joined, s.Draining = false, true }, nil, ""},
		"an ingress topic": {func(s *Sample) { s.Kafka.Topics = []TopicState{{Name: "delayed", State: "missing", Since: ago(9)}} },
			[]string{"ingress_topic delayed -1 missing 9"}, "LAYOVER_INGRESS_TOPICS"},
		"a forbidden one": {func(s *Sample) { s.Kafka.Topics = []TopicState{{Name: "delayed", State: "forbidden"}} },
			[]string{"ingress_topic delayed -1 forbidden -"}, "--topic delayed --operation Read"},
		"a configured target of which nothing is held": {func(s *Sample) { s.Kafka.Topics = []TopicState{{Name: "ready", State: "missing", Since: ago(9)}} },
			[]string{"target ready -1 missing 9"}, "No record waits for it yet."},
		"the dead-letter topic": {func(s *Sample) {
			s.Kafka.Topics = []TopicState{{Name: "dead-letters", State: "forbidden", Since: ago(9)}}
		},
			[]string{"dead_letter dead-letters -1 forbidden 9"}, "--topic dead-letters --operation Write"},
		"a dead-letter topic that is silent": {func(s *Sample) {
			s.Lanes = holds(purgatory.HeldView{Target: "dead-letters", Label: "dead-letters", Verdict: purgatory.Unreachable, Records: 3, SinceMs: ago(4).UnixMilli()})
			s.Pauses = []Pause{{PauseDeadLetter, "dead-letters"}}
		}, []string{"dead_letter dead-letters -1 unreachable 4"}, "reading pauses as long as a record has to go there"},
		"a dead-letter topic that refuses a letter for its content": {func(s *Sample) {
			s.Lanes = holds(purgatory.HeldView{Target: "dead-letters", Label: "dead-letters", Verdict: purgatory.Rejecting, Detail: "INVALID_RECORD: x", Records: 3, SinceMs: ago(4).UnixMilli()})
		}, []string{"dead_letter dead-letters -1 rejecting 4"}, "The dead-letter topic dead-letters refuses a record for its content (INVALID_RECORD: x). Nothing is lost: reading pauses as long as a record " +
			"has to go there, and parked records are still delivered. For a record that is too large even without its value raise max.message.bytes. " +
			"Or set LAYOVER_DLQ_TOPIC to another topic and restart. A compacted topic takes no record without a key: kafka-configs.sh --bootstrap-server $KAFKA_BROKERS --alter " +
			"--entity-type topics --entity-name dead-letters --add-config cleanup.policy=delete"},
		"a partition of it that fails beside that": {func(s *Sample) {
			s.Lanes = holds(purgatory.HeldView{Target: "dead-letters", Label: "dead-letters", Verdict: purgatory.Rejecting, Detail: "INVALID_RECORD: x", Records: 3, SinceMs: ago(4).UnixMilli(),
				Partitions: []purgatory.HeldPartition{{No: 7, Detail: "partition 7: NOT_ENOUGH_REPLICAS", SinceMs: ago(2).UnixMilli()}}})
		}, []string{"dead_letter dead-letters -1 rejecting 4", "dead_letter dead-letters 7 unreachable 2"}, "refuses a record for its content (INVALID_RECORD: x)"},
		"a target whose name has no room": {func(s *Sample) {
			s.Lanes = holds(purgatory.HeldView{Target: "jobs", Label: "jobs", Verdict: purgatory.Missing, Detail: NoRoomForName + " the 9", Records: 3, SinceMs: ago(4).UnixMilli()})
		}, []string{"target jobs -1 missing 4"}, "The target jobs is not known yet (headers choose more target names than the 9). 3 due records wait for it, and others are delivered. " +
			"LAYOVER_TARGET_PATIENCE is used up: the oldest goes to the dead-letter topic. Layover asks about it as soon as there is room for its name."},
		"a pause of which no lane says more": {func(s *Sample) { s.Pauses = []Pause{{PauseTarget, "ready"}} }, []string{"target ready -1 unreachable -"}, ""},
		"a target in two lanes, and in Kafka's answer": {func(s *Sample) {
			s.Kafka.Topics = []TopicState{{Name: "ready", State: "missing", Since: ago(9)}}
			s.Lanes = holds(purgatory.HeldView{Target: "ready", Verdict: purgatory.Missing, Records: 3, SinceMs: ago(4).UnixMilli()},
				purgatory.HeldView{Target: "ready", Verdict: purgatory.Missing, Records: 2, SinceMs: ago(5).UnixMilli()})
		}, []string{"target ready -1 missing 9"}, "5 due records wait"},
		"a target with too few partitions": {func(s *Sample) {
			s.Kafka.Topics = []TopicState{{Name: "ready", State: "mismatched", Detail: "ready has 1 partitions and delayed has 2"}}
		}, []string{"target ready -1 mismatched -"}, "has too few partitions (ready has 1 partitions and delayed has 2)"},
		"a target for which reading is paused": {func(s *Sample) {
			s.Settings.DeadLetter, s.Pauses = "", []Pause{{Reason: PauseTarget, Target: "ready"}}
			s.Lanes = holds(purgatory.HeldView{Target: "ready", Verdict: purgatory.Missing, Records: 3, SinceMs: ago(9).UnixMilli()})
		}, []string{"target ready -1 missing 9"}, "3 due records wait for it, and others are delivered that are read already: nothing more is read while these wait."},
		"partitions of a target": {func(s *Sample) {
			of := func(no int32, detail string, records, since int) purgatory.HeldPartition {
				return purgatory.HeldPartition{No: no, Detail: detail, Records: records, SinceMs: ago(since).UnixMilli(), PatienceLeftMs: 60_000 - 1000*int64(since), GivenUp: int64(no)}
			}
			v := purgatory.HeldView{Target: "ready", Label: "ready", Verdict: purgatory.Unreachable, Detail: "partition 9 fails", Records: 7, PatienceLeftMs: 1000, GivenUp: 12, SinceMs: ago(6).UnixMilli(),
				Partitions: []purgatory.HeldPartition{of(3, "partition 3 is silent", 2, 4), of(9, "partition 9 fails", 5, 6)}}
			s.Lanes = holds(v, v)
		}, []string{"target ready 3 unreachable 4", "target ready 9 unreachable 6"}, "Partition 3 of target ready does not take records (partition 3 is silent). 4 due records wait for it, and others are delivered. " +
			"In 56 s LAYOVER_TARGET_PATIENCE is used up, and the oldest goes to the dead-letter topic. 6 records of it went to the dead-letter topic already."},
		"a partition that cannot be begun": {func(s *Sample) {
			s.Group.Partitions = []Assignment{{Topic: "delayed", Partition: 4, Stopped: "trying again: LEADER_NOT_AVAILABLE", Reason: "not_begun", Trying: true, Since: ago(3)}}
		}, []string{"partition delayed 4 not_begun 3"}, "Layover asks again by itself"},
		"a halted one": {func(s *Sample) {
			s.Group.Partitions = []Assignment{{Topic: "delayed", Partition: 1, Stopped: "malformed_delay: x", Reason: "halted", Since: ago(3)}}
			s.Lanes[0].Partitions[1].Halted = "malformed_delay: x"
		}, []string{"partition delayed 1 halted 3"}, "LAYOVER_ON_INVALID"},
		"one without a leader": {func(s *Sample) {
			s.Group.Partitions = []Assignment{{Topic: "delayed", Partition: 4, Loaded: true, Leaderless: true}}
		},
			[]string{"partition delayed 4 no_leader -"}, "No broker leads delayed/4"},
		"one behind a transaction": {func(s *Sample) {
			s.Group.Partitions = []Assignment{{Topic: "delayed", Partition: 4, Loaded: true, Next: 70, End: 90, OpenSince: ago(30), OpenAt: 72}}
		}, []string{"partition delayed 4 open_transaction 30"}, "ends: 18 offsets wait unread, and what asked for a shorter delay is late"},
		"one behind a young one": {func(s *Sample) {
			s.Group.Partitions = []Assignment{{Topic: "delayed", Partition: 4, Loaded: true, Next: 70, End: 90, OpenSince: ago(29), OpenAt: 72}}
		}, nil, ""},
		"one behind a transaction that has no leader": {func(s *Sample) {
			s.Group.Partitions = []Assignment{{Topic: "delayed", Partition: 4, Loaded: true, Leaderless: true, OpenSince: ago(99), OpenAt: 72}}
		}, []string{"partition delayed 4 no_leader -"}, ""},
		"a journal that is forbidden": {func(s *Sample) {
			s.Journal.Topics[0].State, s.Journal.Topics[0].Warning = "forbidden", "the ACL Write is missing"
		},
			[]string{"journal delayed.layover-orders.journal -1 forbidden -"}, "the ACL Write is missing"},
		"a journal under a name that no topic can have": {func(s *Sample) { s.Journal.Topics[0].State, s.Journal.Topics[0].Warning = "illegal name", "x" },
			[]string{"journal delayed.layover-orders.journal -1 illegal_name -"}, "docs/journal.md"},
		"a journal that fails":                {func(s *Sample) { s.Journal.Topics[0].Err = "x" }, []string{"journal delayed.layover-orders.journal -1 failing -"}, ""},
		"a journal that is configured badly":  {func(s *Sample) { s.Journal.Topics[0].Warning = "x" }, []string{"journal delayed.layover-orders.journal -1 misconfigured -"}, ""},
		"a journal that is about to be made":  {func(s *Sample) { s.Journal.Topics[0].State = "missing" }, nil, ""},
		"a journal that is off":               {func(s *Sample) { s.Journal.Topics[0].State = "off" }, nil, ""},
		"the journal of a topic that is gone": {func(s *Sample) { s.Journal.Topics[0].Warning, s.Kafka.Unusable = "x", []string{"delayed"} }, nil, ""},
		"all, the most severe first": {func(s *Sample) {
			s.Kafka.Topics = []TopicState{{Name: "ready", State: "missing"}, {Name: "dead-letters", State: "missing"}, {Name: "delayed", State: "missing"}}
			s.Journal.Topics[0].Err, s.Group.Joined, s.Lanes[0].Partitions[1].Halted = "x", false, "y: z"
		}, []string{"group layover-orders -1 not_joined -", "ingress_topic delayed -1 missing -", "partition delayed 1 halted -",
			"dead_letter dead-letters -1 missing -", "target ready -1 missing -", "journal delayed.layover-orders.journal -1 failing -"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := ordinary(now)
			test.change(&s)
			sick := look(s, now).sick
			var got []string
			for i := range sick {
				got = append(got, told(&sick[i], now))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
			if test.says != "" && (len(sick) == 0 || !strings.Contains(sick[0].Text, test.says)) {
				t.Errorf("%+v does not say %q", sick, test.says)
			}
		})
	}
}

// TestTheLogGetsNothingThatAHeaderChose, neither a name nor a value.
func TestTheLogGetsNothingThatAHeaderChose(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	s := ordinary(now)
	s.Lanes = append(s.Lanes, holds(
		purgatory.HeldView{Target: "retry-SECRET", Label: "retry-*", Verdict: purgatory.Missing, Records: 3, SinceMs: now.UnixMilli() - 1000},
		purgatory.HeldView{Target: "retry-HIDDEN", Label: "retry-*", Verdict: purgatory.Mismatched, Detail: "retry-HIDDEN has 1 partition", Records: 4},
		purgatory.HeldView{Target: "retry-STALLED", Label: "retry-*", Verdict: purgatory.Unreachable, Partitions: []purgatory.HeldPartition{{No: 5, Records: 1}}, Records: 1},
	)...)
	s.Pauses, s.Journal.Topics[0].Err = []Pause{{PauseTarget, "retry-PAUSED"}}, "said by the journal itself"
	s.Group.Partitions = []Assignment{{Topic: "delayed", Partition: 1, Stopped: `malformed_delay: header x-delay "VALUE"`, Reason: "halted"}}
	var got []string
	for _, sick := range SickForLog(s, now) {
		got = append(got, told(&sick, now))
		for _, name := range []string{"SECRET", "HIDDEN", "STALLED", "PAUSED", "VALUE"} {
			if strings.Contains(sick.Text, name) {
				t.Errorf("%q has %s", sick.Text, name)
			}
		}
	}
	if want := []string{"partition delayed 1 halted -", "target retry-* -1 missing 1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	var names []string
	for _, sick := range look(s, now).sick {
		names = append(names, sick.Name)
	}
	if want := []string{"delayed", "retry-HIDDEN", "retry-PAUSED", "retry-SECRET", "retry-STALLED", "delayed.layover-orders.journal"}; !slices.Equal(names, want) {
		t.Errorf("/status names %q, want %q", names, want)
	}
}

// TestTheLogHasNoCommandForAGlob: no topic is called so, and no tool takes it for those that
// it allows.
func TestTheLogHasNoCommandForAGlob(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	for name, c := range map[string]struct {
		verdict purgatory.Verdict
		want    string
	}{
		"missing":     {purgatory.Missing, "A target under s3.* does not exist. 3 due records wait for it, and others are delivered."},
		"forbidden":   {purgatory.Forbidden, "A target under s3.* may not be written to."},
		"mismatched":  {purgatory.Mismatched, "A target under s3.* has too few partitions."},
		"unreachable": {purgatory.Unreachable, "A target under s3.* does not take records."},
	} {
		t.Run(name, func(t *testing.T) {
			s := ordinary(now)
			s.Lanes = append(s.Lanes, holds(purgatory.HeldView{Target: "s3.a", Label: "s3.*", Verdict: c.verdict, Records: 3, PatienceLeftMs: 60_000})...)
			for _, sick := range SickForLog(s, now) {
				if sick.Kind != SickTarget {
					continue
				}
				if !strings.HasPrefix(sick.Text, c.want) || !strings.Contains(sick.Text, "narrow the glob in LAYOVER_TARGETS_ALLOWED") || strings.Contains(sick.Text, ".sh") {
					t.Errorf("%q", sick.Text)
				}
				return
			}
			t.Error("the target is not sick")
		})
	}
}

func TestStatusBoundsTheSickThingsItShows(t *testing.T) {
	s := ordinary(time.Now())
	for i := range maxSick + 5 {
		s.Lanes[0].Held = append(s.Lanes[0].Held, purgatory.HeldView{Target: fmt.Sprintf("retry-%03d", i), Label: "retry-*", Verdict: purgatory.Missing, Records: 1})
	}
	srv := newServer(sourceOf(s))
	var got struct {
		Sick []struct{ Name string }
		More int `json:"sick_not_shown"`
	}
	if err := json.Unmarshal(get(t, srv, "/status").Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Sick) != maxSick || got.Sick[0].Name != "retry-000" || got.More != 5 {
		t.Errorf("%d shown, %d not", len(got.Sick), got.More)
	}
	if body := get(t, srv, "/readyz").Body.String(); len(body) > 1000 || !strings.Contains(body, "(and 102 more)") {
		t.Errorf("/readyz: %q", body)
	}
	scraped := series(t, get(t, srv, "/metrics").Body.String())
	if n := scraped[`layover_sick{kind="target"}`]; n != maxSick+5 {
		t.Errorf("counted as %v", n)
	}
	if n := sumOf(scraped, "layover_sick", "retry-"); n != 0 {
		t.Error("a name that a header chose is a label")
	}
}

// TestTheDocumentHasEveryKindOfSickness, and every reason that the other tests get.
func TestTheDocumentHasEveryKindOfSickness(t *testing.T) {
	doc, err := os.ReadFile("../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(doc), "| `kind` | `reason` |")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, kind := range sickKinds() {
		if !strings.Contains(table, "\n| `"+kind+"` |") {
			t.Errorf("docs/operating.md does not explain %s", kind)
		}
	}
	for _, reason := range []string{
		"unreachable", "missing", "forbidden", "mismatched", "rejecting", "refused", "not_joined", "lease", "no_leader", "open_transaction", "failing", "misconfigured", "illegal_name",
		"unknown", runsOlder, runsJoining, runsFull, runsOpening, runsFailing, runsUnread, runsOrphans,
		string(consumer.NotBegun), string(consumer.NoOffset), string(consumer.Truncated), string(consumer.Unreadable), string(consumer.Halted),
	} {
		if !strings.Contains(table, "`"+reason+"`") {
			t.Errorf("docs/operating.md does not explain %s", reason)
		}
	}
}

// TestADeletedIngressTopicIsNotToBeMadeAgainWhileItsRecordsWait: it would be another topic, and its
// assignment would end those in memory. Once none waits the text says how to make it.
func TestADeletedIngressTopicIsNotToBeMadeAgainWhileItsRecordsWait(t *testing.T) {
	advice := "make the topic, which is read within seconds: " + kafkaTopics + "--create --topic delayed --partitions 4 --config retention.ms=604800000"
	for name, test := range map[string]struct {
		parked, due, inFlight int
		says                  string
	}{
		"in the wheel":  {200, 0, 0, "800 records of it still wait in memory, and delivery goes on at the deadlines. Those that still wait are lost if it is made again now, or this process is restarted."},
		"due":           {0, 3, 0, "12 records of it still wait in memory"},
		"in flight":     {0, 0, 1, "4 records of it still wait in memory"},
		"none is there": {0, 0, 0, advice},
	} {
		s := ordinary(time.Now())
		for i := range s.Lanes[0].Partitions {
			p := &s.Lanes[0].Partitions[i]
			p.Parked, p.Due, p.InFlight = test.parked, test.due, test.inFlight
		}
		s.Kafka.Topics = []TopicState{{Name: "delayed", State: "missing", Since: time.Now()}, {Name: "other", State: "missing"}}
		s.Settings.Ingress = append(s.Settings.Ingress, "other")
		s.Settings.IngressFlags = map[string]string{"delayed": "--partitions 4 --config retention.ms=604800000", "other": "--partitions 1"}
		sick := look(s, time.Now()).sick
		if len(sick) != 2 || !strings.Contains(sick[0].Text, test.says) || strings.Contains(sick[0].Text, "--create") != (test.says == advice) {
			t.Errorf("%s: %+v, want one that says: %s", name, sick, test.says)
		}
		if !strings.Contains(sick[1].Text, "--create --topic other --partitions 1") {
			t.Errorf("%s: of another topic nothing waits: %s", name, sick[1].Text)
		}
	}
}
