package daemon

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"layover/admin"
	"layover/verify/kafkatest"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// withoutFetchSessions makes every fetch name what it asks for. This broker keeps a topic
// that is deleted in a session for ever, and answers at once for it: virtual time would
// stand still.
func (w *fixture) withoutFetchSessions() {
	w.Refuse(kmsg.Fetch, kfake.Fault{Err: kerr.FetchSessionIDNotFound, When: func(r kmsg.Request) bool {
		return r.(*kmsg.FetchRequest).SessionEpoch > 0
	}})
}

// sick returns what /status says is sick, each as kind, name, partition and reason.
func (in *instance) sick() (out []string) {
	in.w.Helper()
	for _, one := range in.status()["sick"].([]any) {
		s := one.(map[string]any)
		if s["text"] == "" {
			in.w.Errorf("nothing says what to do about %v", s)
		}
		partition := ""
		if s["partition"] != nil {
			partition = fmt.Sprintf("/%v", s["partition"])
		}
		out = append(out, fmt.Sprintf("%s %s%s %s", s["kind"], s["name"], partition, s["reason"]))
	}
	return out
}

// sickAs waits until that alone is sick, and looks whether everything says so.
func (in *instance) sickAs(want, kind, readyz string) {
	in.w.Helper()
	in.w.Until(time.Minute, "sick is "+want, func() bool { return strings.Join(in.sick(), ", ") == want })
	if code, body := in.get("/readyz"); code != 200 || !strings.HasPrefix(body, "degraded: "+readyz) {
		in.w.Errorf("/readyz: %d %q, want 200 and degraded: %s", code, body, readyz)
	}
	if _, body := in.get("/metrics"); !strings.Contains(body, fmt.Sprintf("\nlayover_sick{kind=%q} 1\n", kind)) {
		in.w.Errorf("the metric does not count the %s", kind)
	}
	in.w.Until(time.Minute, "the log says so", func() bool { return len(linesWith(in.logs.String(), "sick kind="+kind)) == 1 })
}

// wellAgain waits until nothing is sick, and looks whether everything says so.
func (in *instance) wellAgain() {
	in.w.Helper()
	in.w.Until(time.Minute, "nothing is sick", func() bool { return len(in.sick()) == 0 })
	if code, body := in.get("/readyz"); code != 200 || body != "ready\n" {
		in.w.Errorf("/readyz: %d %q", code, body)
	}
	time.Sleep(time.Minute)
	if lines := linesWith(in.logs.String(), "well again"); len(lines) != 1 {
		in.w.Errorf("the log says %q", lines)
	}
}

func TestWhatIsSickIsSaidAndGoesAwayWhenItIsMended(t *testing.T) {
	long.Only(t)
	refuse := func(key kmsg.Key, topic string, partitions ...int32) func(*fixture) func() {
		return func(w *fixture) func() {
			return w.Refuse(key, kfake.Fault{Topic: topic, Partitions: partitions, Err: kerr.TopicAuthorizationFailed}).Remove
		}
	}
	gone := func(topic string, partitions int32) func(*fixture) func() {
		return func(w *fixture) func() {
			w.DeleteTopic(topic)
			return func() { w.createTopics(partitions, topic) }
		}
	}
	for name, test := range map[string]struct {
		spoil              func(*fixture) (mend func())
		want, kind, readyz string
	}{
		"an ingress topic is deleted":      {gone("other", 1), "ingress_topic other missing", "ingress_topic", "ingress topic other is missing since "},
		"an ingress topic is forbidden":    {refuse(kmsg.Metadata, "other"), "ingress_topic other forbidden", "ingress_topic", "ingress topic other is forbidden since "},
		"a target is deleted":              {gone("second", 1), "target second missing", "target", "target second is missing since "},
		"a target refuses":                 {refuse(kmsg.Produce, "second"), "target second forbidden", "target", "target second is forbidden since "},
		"the dead-letter topic is deleted": {gone(dlq, 1), "dead_letter dead-letters missing", "dead_letter", "dead-letter topic dead-letters is missing since "},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				w.withoutFetchSessions()
				w.createTopics(1, "other", "second")
				in := w.start("LAYOVER_INGRESS_TOPICS=delayed,other", "LAYOVER_TARGETS_ALLOWED=second")
				in.ready()
				time.Sleep(2 * time.Second)
				if sick := in.sick(); len(sick) != 0 {
					t.Fatalf("sick at the start: %q", sick)
				}
				mend := test.spoil(w)
				w.send(0, "for the second", header("x-deliver-to", "second"))
				in.sickAs(test.want, test.kind, test.readyz)
				w.send(1, "beside it")
				w.arrives(egress, 1, 5*time.Second)
				mend()
				in.wellAgain()
				in.stop()
			})
		})
	}
}

func TestAPartitionThatCannotBeBegunIsSickUntilItIs(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.known()
		fault := w.Refuse(kmsg.OffsetFetch, kfake.Fault{Topic: ingress, Partitions: []int32{1}, Err: kerr.TopicAuthorizationFailed})
		in := w.start()
		in.ready()
		in.sickAs("partition delayed/1 not_begun", "partition", "partition delayed/1 is not read (not_begun)")
		w.send(0, "beside it")
		w.arrives(egress, 1, 5*time.Second)
		fault.Remove()
		in.wellAgain()
		in.stop()
	})
}

func TestAHaltedPartitionIsSickUntilARestart(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_ON_INVALID=halt")
		in.ready()
		w.send(1, "x", header("x-delay", "SECRET"))
		in.sickAs("partition delayed/1 halted", "partition", "partition delayed/1 is not read at offset 0 (halted)")
		w.send(0, "beside it")
		w.arrives(egress, 1, 5*time.Second)
		if lines := linesWith(in.logs.String(), "sick"); strings.Contains(in.logs.String(), "SECRET") || !strings.Contains(lines[0], "LAYOVER_ON_INVALID") {
			t.Errorf("the log quotes the record, or does not say what to do: %s", lines[0])
		}
		in.stop()
		in = w.start("LAYOVER_ON_INVALID=dlq")
		in.ready()
		if sick := in.sick(); len(sick) != 0 {
			t.Errorf("still sick: %q", sick)
		}
		in.stop()
	})
}

// TestASickTopicKeepsNoInstanceFromBeingReady: it cannot be read, and is deleted while some
// of it is still to be read.
func TestASickTopicKeepsNoInstanceFromBeingReady(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.withoutFetchSessions()
		w.createTopics(1, "other")
		w.sendTo("other", 0, "never read")
		w.Refuse(kmsg.Fetch, kfake.Fault{Topic: "other", Err: kerr.UnknownServerError})
		in := w.start("LAYOVER_INGRESS_TOPICS=delayed,other", "LAYOVER_START_OFFSET=earliest")
		time.Sleep(8 * time.Second)
		if code, body := in.get("/readyz"); code != 503 || !strings.Contains(body, "where to begin") && !strings.Contains(body, "fetches fail") {
			t.Errorf("%d %q", code, body)
		}
		in.ready()
		in.sickAs("partition other/0 fetch_failed", "partition", "partition other/0 is not read at offset 0 (fetch_failed)")
		w.DeleteTopic("other")
		in.sickAs("ingress_topic other missing", "ingress_topic", "ingress topic other is missing")
		in.stop()
	})
}

func TestWithoutKafkaNothingElseIsSaidToBeSick(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		time.Sleep(2 * time.Second)
		in.wire.sever()
		in.sickAs("kafka  unreachable", "kafka", "Kafka has not answered for ")
		time.Sleep(time.Minute)
		if sick := in.sick(); len(sick) != 1 {
			t.Errorf("sick: %q", sick)
		}
		in.stop()
		if lines := linesWith(in.logs.String(), "sick"); len(lines) != 1 || !strings.Contains(lines[0], "KAFKA_BROKERS") {
			t.Errorf("lines: %q", lines)
		}
	})
}

// saying is a log of what is sick whose second is up to a test.
type saying struct {
	*sickLog
	logs kafkatest.Log
	sick []admin.Sickness
}

func newSaying() *saying {
	s := new(saying)
	s.sickLog = &sickLog{
		log:  slog.New(slog.NewTextHandler(&s.logs, nil)),
		look: func(time.Time) []admin.Sickness { return s.sick },
		ours: func(_ string, partition int32) bool { return partition == 0 },
		said: make(map[admin.SickKey]*saidSick),
	}
	return s
}

// pass lets seconds pass.
func (s *saying) pass(seconds int) {
	for range seconds {
		time.Sleep(time.Second)
		s.say(time.Now())
	}
}

func TestWhatComesAndGoesIsSaidOnceIn30Seconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSaying()
		flapping := admin.Sickness{Kind: admin.SickTarget, Name: "ready", Reason: "unreachable"}
		for i := range 600 {
			s.sick = nil
			if i%2 == 0 {
				s.sick = []admin.Sickness{flapping}
			}
			s.pass(1)
		}
		if n := strings.Count(s.logs.String(), "\n"); n < 2 || n > 21 {
			t.Errorf("%d lines in ten minutes:\n%s", n, s.logs.String())
		}
	})
}

// TestAnOutageIsSaidAsLongAsItWas, though its line waits for saySickEvery.
func TestAnOutageIsSaidAsLongAsItWas(t *testing.T) {
	for name, c := range map[string]struct {
		seconds []int // sick, well, sick, well and so on
		want    string
	}{
		"short":                {[]int{10, 60}, "10s"},
		"long":                 {[]int{50, 60}, "50s"},
		"it comes and goes":    {[]int{5, 5, 8, 60}, "18s"},
		"it comes back early":  {[]int{10, 25, 40, 60}, "40s"},
		"a second one is said": {[]int{10, 100, 12, 60}, "12s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSaying()
				for i, seconds := range c.seconds {
					s.sick = nil
					if i%2 == 0 {
						s.sick = []admin.Sickness{{Kind: admin.SickTarget, Name: "ready", Reason: "unreachable"}}
					}
					s.pass(seconds)
				}
				lines := linesWith(s.logs.String(), "well again")
				if len(lines) == 0 || !strings.HasSuffix(strings.TrimSpace(lines[len(lines)-1]), " after="+c.want) {
					t.Errorf("%q, want one after %s", lines, c.want)
				}
			})
		})
	}
}

func TestALogNamesOnlySomeOfManyThatAreSick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSaying()
		for p := range int32(500) {
			s.sick = append(s.sick, admin.Sickness{Kind: admin.SickPartition, Name: "delayed", Partition: &p, Reason: "not_begun"})
		}
		s.pass(100)
		if n, more := len(linesWith(s.logs.String(), "sick")), linesWith(s.logs.String(), "more are sick than the log names; /status has them"); n != mostSickSaid || len(more) != 1 || !strings.HasSuffix(more[0], "more=480") {
			t.Errorf("%d lines, %q", n, more)
		}
		s.sick = nil
		s.pass(40)
		if well, left := linesWith(s.logs.String(), "well again"), linesWith(s.logs.String(), "sick partition is not this process's any more"); len(well) != 1 || len(left) != mostSickSaid-1 {
			t.Errorf("%d well again, %d with others", len(well), len(left))
		}
		if s.pass(40); len(s.said) != 0 {
			t.Errorf("%d are remembered for ever", len(s.said))
		}
	})
}

// TestAFirstRefusalIsNotSaidTwice: the group hears of it before it is known that all
// brokers refuse.
func TestAFirstRefusalIsNotSaidTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSaying()
		kafka := admin.Sickness{Kind: admin.SickKafka, Reason: admin.Refused, Name: "localhost:9092"}
		kafka.Since.Time = time.Now()
		group := admin.Sickness{Kind: admin.SickGroup, Name: "g", Reason: "refused"}
		s.sick = []admin.Sickness{kafka, group}
		s.pass(7)
		kafka.Name = ""
		s.sick = []admin.Sickness{kafka, group}
		s.pass(60)
		if s.logs.String() != "" {
			t.Errorf("%s", s.logs.String())
		}
	})
}

func TestABrokerThatRefusesNowAndThenHidesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSaying()
		for range 20 { // it refuses again every second
			kafka := admin.Sickness{Kind: admin.SickKafka, Reason: admin.Refused, Name: "localhost:9092"}
			kafka.Since.Time = time.Now()
			s.sick = []admin.Sickness{kafka, {Kind: admin.SickGroup, Name: "g", Reason: "refused"}}
			s.pass(1)
		}
		if n := len(linesWith(s.logs.String(), "sick")); n != 1 {
			t.Errorf("%d lines, want one of the group: %s", n, s.logs.String())
		}
	})
}

func TestNothingIsSaidToBeWellWhileKafkaIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSaying()
		s.sick = []admin.Sickness{{Kind: admin.SickJournal, Name: "j", Reason: "forbidden"}}
		s.pass(60)
		s.sick = []admin.Sickness{{Kind: admin.SickKafka, Reason: "unreachable"}}
		s.pass(60)
		if strings.Contains(s.logs.String(), "well again") {
			t.Errorf("%s", s.logs.String())
		}
		s.sick = nil
		s.pass(60)
		if n := len(linesWith(s.logs.String(), "well again")); n != 2 {
			t.Errorf("%d are well again, want both", n)
		}
	})
}
