package admin

import (
	"strings"
	"testing"
	"time"

	"layover/purgatory"
)

// TestTheRemedyForOrphansHasTheirNumber: the command adds the partitions up to the last one that has a copy.
func TestTheRemedyForOrphansHasTheirNumber(t *testing.T) {
	s := ordinary(time.Now())
	since := time.Now().Add(-time.Hour)
	s.Runs.Topics[0].Orphans = Orphans{Asked: true, Ingress: 4, Partitions: []int32{4, 6}, Records: 7000, Since: since}
	sick := look(s, time.Now()).sick
	if len(sick) != 1 || sick[0].Kind != SickRuns || sick[0].Reason != runsOrphans || !sick[0].Since.Equal(since) ||
		!strings.HasSuffix(sick[0].Text, kafkaTopics+"--alter --topic delayed --partitions 7") {
		t.Errorf("%+v", sick)
	}
}

// TestTheRemedyForAnotherNameIsTheSetting, and not to look at brokers, which are well.
func TestTheRemedyForAnotherNameIsTheSetting(t *testing.T) {
	for _, elsewhere := range []bool{true, false} {
		s := ordinary(time.Now())
		*runsOf(&s, 1) = purgatory.RunsView{TopicPartition: runsOf(&s, 1).TopicPartition, Holds: true}
		s.Runs.Topics[0].Unread, s.Runs.Topics[0].Elsewhere = "records wait in the topic former, set it back", elsewhere
		sick := look(s, time.Now()).sick
		if len(sick) != 1 || sick[0].Reason != runsOpening || !strings.Contains(sick[0].Text, "set it back.") {
			t.Fatalf("%+v", sick)
		}
		if looks := strings.Contains(sick[0].Text, "--describe"); looks == elsewhere || strings.HasSuffix(sick[0].Text, "The setting needs a restart.") != elsewhere {
			t.Errorf("elsewhere: %v: %s", elsewhere, sick[0].Text)
		}
	}
}

// TestWhatMayNotBeReadIsLate: without Write alone what was moved is delivered.
func TestWhatMayNotBeReadIsLate(t *testing.T) {
	const late, delivered = "What was moved before is late once it is due.", "What was moved before is delivered all the same."
	for _, unreadable := range []bool{true, false} {
		s := ordinary(time.Now())
		s.Pauses = []Pause{{Reason: PauseBytes}}
		r := &s.Runs.Topics[0]
		r.State, r.Warning, r.Unreadable = "forbidden", "allow it", unreadable
		sick := look(s, time.Now()).sick
		if len(sick) != 1 || strings.Contains(sick[0].Text, late) != unreadable || strings.Contains(sick[0].Text, delivered) == unreadable {
			t.Errorf("unreadable: %v: %+v", unreadable, sick)
		}
	}
}

// TestAnIngressTopicThatIsGoneIsNotGivenUpWhileCopiesWait: nobody is assigned them after a rejoin, and without the topic
// in the settings nobody would deliver them at all.
func TestAnIngressTopicThatIsGoneIsNotGivenUpWhileCopiesWait(t *testing.T) {
	const (
		wait   = "Its runs topic delayed.layover-orders.runs has up to 15,000 copies. They are delivered at their deadlines as long as no rejoin or restart comes between"
		may    = "Its runs topic delayed.layover-orders.runs may have copies."
		giveUp = "LAYOVER_INGRESS_TOPICS"
		create = "--create --topic delayed --partitions 3"
	)
	waiting := Orphans{Asked: true, Partitions: []int32{0}, Records: 15000}
	for name, test := range map[string]struct {
		state     string
		parked    int
		there     bool
		orphans   Orphans
		says, not []string
	}{
		"copies wait":                  {"missing", 0, true, waiting, []string{wait, "after that they wait until the topic is made again", create}, []string{giveUp}},
		"and records are in memory":    {"missing", 2, true, waiting, []string{wait, "Once none waits in memory, in no instance, make it again."}, []string{giveUp, create}},
		"nobody has asked yet":         {"missing", 0, true, Orphans{}, []string{may, create}, []string{giveUp}},
		"the keeper is behind":         {"missing", 0, true, Orphans{Asked: true, Ingress: 3}, []string{may, create}, []string{giveUp}},
		"no copy waits":                {"missing", 0, true, Orphans{Asked: true}, []string{giveUp, create}, []string{"runs topic"}},
		"none, but records in memory":  {"missing", 2, true, Orphans{Asked: true}, []string{"Once none waits, in no instance, make it again or take it out of " + giveUp}, []string{"runs topic", create}},
		"there is no runs topic":       {"missing", 0, false, Orphans{}, []string{giveUp, create}, []string{"runs topic"}},
		"it is forbidden":              {"forbidden", 0, true, waiting, []string{"still delivered until the next rejoin or restart", wait, "after that they wait until the topic may be read"}, []string{giveUp}},
		"it is forbidden, and no copy": {"forbidden", 0, true, Orphans{Asked: true}, []string{"still delivered until the next rejoin or restart"}, []string{giveUp, "runs topic"}},
	} {
		s := ordinary(time.Now())
		for i := range s.Lanes[0].Partitions {
			p := &s.Lanes[0].Partitions[i]
			p.Parked, p.Due, p.InFlight = test.parked, 0, 0
		}
		s.Kafka.Topics, s.Kafka.Unusable = []TopicState{{Name: "delayed", State: test.state, Since: time.Now()}}, []string{"delayed"}
		s.Settings.IngressFlags = map[string]string{"delayed": "--partitions 3"}
		s.Runs.Topics[0].There, s.Runs.Topics[0].Orphans = test.there, test.orphans
		sick := look(s, time.Now()).sick
		if len(sick) != 1 || sick[0].Kind != SickIngress {
			t.Errorf("%s: %+v", name, sick)
			continue
		}
		for _, says := range test.says {
			if !strings.Contains(sick[0].Text, says) {
				t.Errorf("%s: %s\ndoes not say: %s", name, sick[0].Text, says)
			}
		}
		for _, not := range test.not {
			if strings.Contains(sick[0].Text, not) {
				t.Errorf("%s: %s\nsays: %s", name, sick[0].Text, not)
			}
		}
	}
}
