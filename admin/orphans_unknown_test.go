package admin

import (
	"strings"
	"testing"
	"time"
)

// TestARunsTopicThatNobodyKnowsMayHaveCopies: the process has just started, or has no Describe on it.
func TestARunsTopicThatNobodyKnowsMayHaveCopies(t *testing.T) {
	const may = "Its runs topic delayed.layover-orders.runs may have copies."
	for state, want := range map[string]bool{"unknown": true, "forbidden": true, "missing": false, "illegal name": false} {
		for _, ingress := range []string{"missing", "forbidden"} {
			s := ordinary(time.Now())
			for i := range s.Lanes[0].Partitions {
				p := &s.Lanes[0].Partitions[i]
				p.Parked, p.Due, p.InFlight = 0, 0, 0
			}
			s.Kafka.Topics, s.Kafka.Unusable = []TopicState{{Name: "delayed", State: ingress, Since: time.Now()}}, []string{"delayed"}
			s.Runs.Topics[0].State = state
			sick := look(s, time.Now()).sick
			if len(sick) != 1 || strings.Contains(sick[0].Text, may) != want || strings.Contains(sick[0].Text, "LAYOVER_INGRESS_TOPICS") != (!want && ingress == "missing") {
				t.Errorf("runs topic %s, ingress topic %s: %+v", state, ingress, sick)
			}
		}
	}
}

// TestWhatWasMovedSinceTheLastLookIsNoReasonToGiveUp: brokers are asked once a minute, and lanes know what they moved.
func TestWhatWasMovedSinceTheLastLookIsNoReasonToGiveUp(t *testing.T) {
	for copies, want := range map[int64]bool{0: false, 700: true} {
		s := ordinary(time.Now())
		for i := range s.Lanes[0].Partitions {
			p := &s.Lanes[0].Partitions[i]
			p.Parked, p.Due, p.InFlight = 0, 0, 0
		}
		for i := range s.Lanes[0].Outlook.Runs.Partitions {
			s.Lanes[0].Outlook.Runs.Partitions[i].Copies = 0
		}
		runsOf(&s, 1).Copies = copies
		s.Kafka.Topics, s.Kafka.Unusable = []TopicState{{Name: "delayed", State: "missing", Since: time.Now()}}, []string{"delayed"}
		s.Runs.Topics[0].There, s.Runs.Topics[0].Orphans = true, Orphans{Asked: true}
		sick := look(s, time.Now()).sick
		if len(sick) != 1 || strings.Contains(sick[0].Text, "has up to 700 copies") != want || strings.Contains(sick[0].Text, "LAYOVER_INGRESS_TOPICS") == want {
			t.Errorf("%d copies: %+v", copies, sick)
		}
	}
}
