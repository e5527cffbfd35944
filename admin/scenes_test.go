package admin

import (
	"fmt"
	"math"
	"strings"
	"time"

	"layover/cluster/connect"
	"layover/cluster/doctor"
	"layover/journal/facts"
	"layover/purgatory"
)

// ordinary is a process that does its work.
func ordinary(now time.Time) Sample {
	ms := now.UnixMilli()
	lane := &purgatory.Snapshot{Bytes: 61 << 20, ChunkBytes: 58 << 20, LiveBytes: 54 << 20, Parked: 125_388, InFlight: 12, NextDueMs: ms + 340}
	lane.Outlook.DueWithin = [7]int64{31, 402, 3_120, 20_480, 61_000, 99_512, 118_000}
	for p := range int32(4) {
		low := int64(1_204_000 + 911*int(p))
		lane.Partitions = append(lane.Partitions, partition("delayed", p, purgatory.PartitionView{
			Low: low, Next: low + 40_000, StableEnd: low + 30_000, Committed: low, Parked: 31_347, InFlight: 3, Finished: 8_650,
			Confirmed: true, Uncommitted: 120 + int64(p), BeyondPrefix: 0, Facts: facts.Status{Mode: facts.InMetadata},
		}))
	}
	for p := range int32(4) {
		lane.Outlook.Runs.Partitions = append(lane.Outlook.Runs.Partitions, purgatory.RunsView{TopicPartition: lane.Partitions[p].TopicPartition, Known: true})
	}
	lane.Pace = purgatory.RunsPace{HorizonMs: 3_600_000, AheadMs: 600_000}
	for i := range int32(1000) {
		lane.RecentMs = append(lane.RecentMs, i%4+i/990*9)
	}
	lane.Consumed = map[purgatory.TopicOutcome]int64{{Topic: "delayed", Outcome: purgatory.Parked}: 1_325_400}
	lane.Delivered = map[purgatory.TopicTarget]int64{{Topic: "delayed", Target: "ready"}: 1_200_000}
	lane.Commits = 86_000
	return Sample{
		Version: "1.2.3", Revision: "abc1234", GoVersion: "go1.26.8", Mode: "at-least-once", Started: now.Add(-27 * time.Hour), CaughtUp: true,
		Group:  Group{ID: "layover-orders", MemberID: "layover-7d9f-2c1b", Generation: 7, Joined: true, Rebalances: 2, LeaseValid: true},
		Kafka:  Kafka{Answering: true, Since: now.Add(-27 * time.Hour)},
		Memory: Memory{Used: 64 << 20, Limit: 256 << 20}, Lanes: []*purgatory.Snapshot{lane},
		Journal:  Journal{Topics: []JournalTopic{{Ingress: "delayed", Name: "delayed.layover-orders.journal", State: journalUsable}}},
		Runs:     Runs{Topics: []RunsTopic{{Ingress: "delayed", Name: "delayed.layover-orders.runs", State: runsUsable}}},
		Settings: Settings{Ingress: []string{"delayed"}, Egress: "ready", Targets: []string{"ready", "retry-*"}, DeadLetter: "dead-letters", CommitInterval: time.Second},
	}
}

// hostile is what a broker, a producer or a topic's name might hold against us.
const hostile = `</style></title><script>alert("x")</script><img src="https://example.com/x" onerror='y'>&lt;` + "\x00\x1b[2J\u202e\xff\n{{.}}"

// ugly is a process to which everything has happened.
func ugly(now time.Time) Sample { return uglyWith(hostile, now) }

// uglyWith is ugly with another text where somebody else chooses it.
func uglyWith(text string, now time.Time) Sample {
	ms := now.UnixMilli()
	long := strings.Repeat("dial tcp 10.2.3.4:9092: connect: connection refused; ", 60)
	lane := &purgatory.Snapshot{
		Bytes: math.MaxInt64 / 2, Parked: math.MaxInt64 / 4, Due: 4_000_000, InFlight: 123_456, NextDueMs: ms - 3*86_400_000,
		RecentMs: []int32{math.MaxInt32, 5, 12}, Errors: []purgatory.TargetError{{Target: "ready", Detail: long}, {Target: text, Detail: text}},
	}
	lane.Outlook = purgatory.Outlook{
		DueWithin:       [7]int64{4_000_000, 4_000_000, 4_000_001, 5_000_000, math.MaxInt64 / 8, math.MaxInt64 / 7, math.MaxInt64 / 6},
		OldestOverdueMs: ms - 3*86_400_000,
	}
	lane.Held = []purgatory.HeldView{
		{Target: "ready", Verdict: purgatory.Unreachable, Detail: long, Records: 3_999_000, Bytes: 1 << 40, SinceMs: ms - 7_300_000},
		{Target: strings.Repeat("a-topic-with-a-very-long-name.", 8), Verdict: purgatory.Missing, Detail: "UNKNOWN_TOPIC_OR_PARTITION", Records: 1, Bytes: 17},
		{Target: text, Verdict: purgatory.Forbidden, Detail: text, Records: 2, Bytes: 90, SinceMs: ms - 500},
	}
	s := ordinary(now)
	s.Lanes = []*purgatory.Snapshot{lane}
	for p := range int32(500) {
		s.Group.Partitions = append(s.Group.Partitions, Assignment{Topic: "delayed", Partition: p, Loaded: p != 77, Next: math.MaxInt64 - int64(p)})
		if p != 77 {
			lane.Partitions = append(lane.Partitions, partition("delayed", p, purgatory.PartitionView{
				Low: math.MaxInt64 - 90_000, Next: math.MaxInt64 - int64(p), Committed: math.MaxInt64 - 90_000, Parked: 80_000, Uncommitted: 9, Facts: facts.Status{Mode: facts.InJournal},
			}))
		}
	}
	s.Group.Partitions[498].Reason, s.Group.Partitions[498].Since = "unreadable", now.Add(-49*time.Hour)
	s.Group.Partitions[498].Stopped = "a batch cannot be read: " + long
	lane.Partitions[0].Halted, lane.Partitions[0].HaltedAt = text, 4711
	s.Group.ID, s.Group.LastError = "layover-"+text, "NOT_COORDINATOR"
	s.Group.LeaseValid = false
	s.Kafka = Kafka{Since: now.Add(-4 * time.Minute), Err: long, Missing: []string{"dead-letters"}, Faults: []string{"topic dead-letters is missing", text},
		Topics: []TopicState{{Name: "dead-letters", State: "missing", Since: now.Add(-time.Hour)}}, Warnings: map[string]string{text: text}}
	s.Connection.Refused = []connect.Refusal{{Broker: text, Since: now, Cause: connect.Cause{Reason: connect.ReasonLogin, LookAt: "KAFKA_SASL_PASSWORD", Message: text}}}
	s.Connection.Certificates = []connect.Certificate{{Variable: "KAFKA_TLS_CERT", Subject: text, NotAfter: now, Problem: text}}
	s.Journal.Topics[0].Err, s.Journal.Topics[0].State = text, "forbidden"
	s.Runs.Topics[0] = RunsTopic{Ingress: "delayed", Name: "delayed." + text, State: "refused", Warning: text, Err: text, Unread: text}
	lane.Outlook.Runs = purgatory.RunsOutlook{Partitions: []purgatory.RunsView{{Known: true, Runs: 4096, Copies: math.MaxInt64 / 8, Bytes: math.MaxInt64 / 2, LogBytes: math.MaxInt64 / 2, Overdue: 9, Full: true}}}
	lane.Outlook.Runs.Partitions[0].Topic = "delayed"
	lane.Loaded, lane.Moved, lane.LostFromRuns = 4096, 5000, 17
	s.Preflight = Preflight{now, []Finding{{doctor.Finding{ID: "topics", Status: doctor.Fail, Found: text, Why: text, Fix: strings.ReplaceAll(text, "\n", " ")}, now.Add(-time.Hour)}}}
	s.Memory = Memory{Used: 260 << 20, Limit: 256 << 20}
	s.Pauses = []Pause{{Reason: PauseBytes}, {Reason: PauseDeadLetter, Target: text}}
	s.Loops = map[string]time.Time{"lane 0": now.Add(-2 * time.Minute)}
	s.Replay = Replay{Since: now.Add(-20 * time.Second), Records: 1_000_000, Remaining: 8_123_456, Rate: 51_234.5}
	return s
}

// fresh is a process that has just begun.
func fresh(now time.Time) Sample {
	return Sample{
		Version: "1.2.3", GoVersion: "go1.26.8", Mode: "at-least-once", Started: now.Add(-400 * time.Millisecond),
		Group: Group{ID: "layover-orders"}, Memory: Memory{Limit: 256 << 20}, Settings: Settings{Ingress: []string{"delayed"}, Egress: "ready", Targets: []string{"ready"}, OnInvalid: "halt"},
	}
}

// scene is a source: a situation as it is at the moment in which it is looked at,
// however long a browser takes to start.
type scene func(now time.Time) Sample

func (s scene) Sample() Sample { return s(time.Now()) }

func scenes() map[string]scene {
	return map[string]scene{"ordinary": ordinary, "ugly": ugly, "fresh": fresh}
}

// of names a partition as the page does.
func of(topic string, partition int) string { return fmt.Sprintf("%s/%d", topic, partition) }
