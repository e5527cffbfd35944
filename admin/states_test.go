package admin

import (
	"math"
	"time"

	"layover/offsets"
	"layover/purgatory"
)

// state is a scene with its past, of which each test makes the last 15 minutes.
type state struct {
	now scene
	// past changes a moment of the last 15 minutes; x goes from 0 to 1. Counters are
	// taken back by what came since.
	past func(x float64, m *moment)
}

// remember fills a server's history with the state's past.
func remember(s *Server, is state) {
	at := time.Now()
	end := look(is.now(at), at).moment()
	for i := range maxMoments - 1 {
		age := time.Duration(maxMoments-2-i) * HistoryStep
		x := 1 - age.Seconds()/historySpan.Seconds()
		m := end
		m.at = at.Add(-age)
		is.past(x, &m)
		s.history.add(m)
	}
}

// waves is a number that goes up and down a little, as loads do.
func waves(x float64) float64 {
	return 1 + 0.2*math.Sin(9*x) + 0.1*math.Sin(31*x) + 0.05*math.Sin(77*x)
}

// lately sets what a process at work delivers up to x, each some milliseconds late.
func lately(x, a float64, m *moment) {
	m.delivered -= int64(a * (1 - x + 0.004*(math.Sin(60*x)-math.Sin(60)) + 0.0015*(math.Sin(170*x)-math.Sin(170))))
	step := uint64(x*180 + 0.5)
	m.late = purgatory.Histogram{Count: 1_000_000 + 100*step}
	for i := range step { // each brings a hundred
		bucket := 2
		if i*i%23 == 1 || i%31 == 7 {
			bucket = 3
		}
		m.late.Buckets[bucket] += 100
	}
	m.late.Buckets[0] = 1_000_000
}

// states are those whose pictures are kept.
func states() map[string]state {
	return map[string]state{
		"green": {green, calm}, "paused": {pausedByMemory, full}, "held": {held, holding}, "dead-letters": {deadLetters, dying}, "kafka-gone": {kafkaGone, gone},
	}
}

// calm is a past like the present.
func calm(x float64, m *moment) {
	m.parked = int64(float64(m.parked)*waves(x)/waves(1) + 0.5)
	lately(x, 28_000, m)
}

// green is ordinary, with a group that knows where its partitions end.
func green(now time.Time) Sample {
	s := ordinary(now)
	for _, p := range s.Lanes[0].Partitions {
		s.Group.Partitions = append(s.Group.Partitions, Assignment{Topic: p.Topic, Partition: p.Partition, Loaded: true, Next: p.Next, End: p.Next + int64(3*p.Partition)})
	}
	return s
}

// pausedByMemory is a process whose memory is full, while producers go on.
func pausedByMemory(now time.Time) Sample {
	s := green(now)
	s.Memory = Memory{Used: 57 << 20, PauseAt: 56 << 20, Limit: 64 << 20}
	s.Pauses, s.PausedSince = []Pause{{Reason: PauseBytes}}, now.Add(-190*time.Second)
	for i := range s.Group.Partitions {
		p := &s.Group.Partitions[i]
		p.End = p.Next + 14_200
		p.OldestUnread = now.Add(-time.Duration(185-i) * time.Second)
	}
	return s
}

func full(x float64, m *moment) {
	m.parked = int64(float64(m.parked) * min(1, 0.4+0.75*x))
	lately(x, 28_000, m)
}

// held is a process with a target that does not exist and one that it may not write to.
func held(now time.Time) Sample {
	s := green(now)
	ms := now.UnixMilli()
	lane := s.Lanes[0]
	lane.Parked, lane.Due = lane.Parked-1_214, 1_214
	lane.Outlook.OldestOverdueMs = ms - 12*60_000
	lane.Held = []purgatory.HeldView{
		{Target: "retry-billing", Label: "retry-*", Verdict: purgatory.Missing, Detail: "UNKNOWN_TOPIC_OR_PARTITION: this server does not host this topic-partition",
			Records: 1_201, Bytes: 350 << 10, SinceMs: ms - 12*60_000, PatienceLeftMs: 47*60_000 + 12_000, GivenUp: 37},
		{Target: "retry-shipping-of-large-and-fragile-goods", Label: "retry-*", Verdict: purgatory.Forbidden, Detail: "TOPIC_AUTHORIZATION_FAILED",
			Records: 13, Bytes: 4 << 10, SinceMs: ms - 95_000, PatienceLeftMs: 58 * 60_000},
	}
	lane.Errors = []purgatory.TargetError{{Target: "retry-billing", Detail: "UNKNOWN_TOPIC_OR_PARTITION"}}
	lane.Delivered[purgatory.TopicTarget{Topic: "delayed", Target: "ready"}] -= 37
	lane.DeadLettered = map[purgatory.TopicReason]int64{{Topic: "delayed", Reason: "target_unavailable"}: 37}
	lane.Letters = []purgatory.Letter{{TopicPartition: offsets.TopicPartition{Topic: "delayed", Partition: 2}, Offset: 1_198_204, Reason: "target_unavailable",
		Message: "target retry-billing: does not exist", AtMs: ms - 8*60_000}}
	return s
}

// holding is a past in which one record waits from some minute on.
func holding(x float64, m *moment) {
	calm(x, m)
	m.oldest = max(0, m.oldest-time.Duration((1-x)*float64(historySpan)))
	if x < 0.45 {
		m.deadLettered = 0
	}
}

// deadLetters is a process half of whose records nobody wants.
func deadLetters(now time.Time) Sample {
	s := green(now)
	lane := s.Lanes[0]
	dead := map[purgatory.TopicReason]int64{{Topic: "delayed", Reason: "delay_too_long"}: 6_120, {Topic: "delayed", Reason: "malformed_delay"}: 233, {Topic: "delayed", Reason: "target_not_allowed"}: 4}
	lane.DeadLettered = dead
	invalid := int64(0)
	for _, n := range dead {
		invalid += n
	}
	lane.Consumed[purgatory.TopicOutcome{Topic: "delayed", Outcome: purgatory.Invalid}] = invalid
	for i := range int64(purgatory.LastLetters) {
		at := now.UnixMilli() - 800 - 2_700*i
		reason, message := "delay_too_long", "header x-deliver-at \"2031-01-01T00:00:00Z\": want at most 6d after "+time.UnixMilli(at).UTC().Format(instantFormat)
		if i%3 == 1 {
			reason, message = "malformed_delay", "header x-delay \"in <b>5 minutes</b>\": want milliseconds, a duration like 1h30m or 2d, ISO 8601 like PT5M, auto, or a back-off like 1s..1h"
		}
		lane.Letters = append(lane.Letters, purgatory.Letter{
			TopicPartition: offsets.TopicPartition{Topic: "delayed", Partition: int32(i % 4)}, Offset: 1_244_000 - 17*i,
			Reason: reason, Message: message, AtMs: at,
		})
	}
	return s
}

func dying(x float64, m *moment) {
	calm(x, m)
	m.deadLettered = int64(float64(m.deadLettered) * max(0, x-0.6) / 0.4)
}

// kafkaGone is a process that had to give up its partitions, as no broker answers.
func kafkaGone(now time.Time) Sample {
	s := ordinary(now)
	lane := s.Lanes[0]
	lane.HandedOver = int64(lane.Parked + lane.InFlight)
	lane.Parked, lane.InFlight, lane.Bytes, lane.NextDueMs, lane.Partitions, lane.Outlook = 0, 0, 0, 0, nil, purgatory.Outlook{}
	s.Memory.Used = 0
	s.Kafka = Kafka{Since: now.Add(-4 * time.Minute), Err: "dial tcp 10.2.3.4:9092: connect: connection refused"}
	s.Group.Joined, s.Group.LeaseValid, s.Group.LastError = false, false, "no broker answers"
	s.Journal.Topics[0].Err = s.Kafka.Err
	return s
}

func gone(x float64, m *moment) {
	const lost = 1 - 4.0/15
	m.parked, m.parkedKnown = int64(120_000*waves(x)), x < lost
	lately(min(x, lost), 28_000, m)
}
