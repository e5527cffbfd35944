package dlq

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"layover/cli/clitest"
	"layover/cli/process"
	"layover/verify/kafkatest"
)

// mixed writes four letters, a foreign record, and letters that redrive passes over.
func (w *fixture) mixed() {
	w.Helper()
	retry := w.dead(1, 0, "expired", pairs("x-deliver-to", "orders")...)
	retry.Headers = append(retry.Headers, pairs("layover.errors.topic", "retry")...)
	w.Produce(
		w.dead(0, 0, "target_unavailable", pairs("secret-header", "secret")...),
		w.dead(0, 1, "target_unavailable", pairs("x-deliver-to", "orders")...),
		retry,
		&kgo.Record{Topic: graves, Partition: 1, Key: []byte("secret-key"), Value: []byte("secret-value of another program")},
		w.dead(1, 2, "too_large", pairs("X-Deliver-To", "\x1b[2J")...),
	)
}

func TestListCountsAndHasTheNewest(t *testing.T) {
	w := newFixture(t)
	w.mixed()
	want := `4 dead letters in dead-letters

  by ingress topic
            3  delayed
            1  retry

  by target
            2  orders
            1  (no topic's name)
            1  ready

  by reason
            2  target_unavailable
            1  expired
            1  too_large

  by day, UTC
            1  2026-11-22
            3  2026-11-23

  newest, for 'layover dlq show'
    1-2  2026-11-23T00:00:02.000Z  too_large  delayed-2-4
        message 4
    0-1  2026-11-23T00:00:01.000Z  target_unavailable  delayed-1-3
        message 3
    0-0  2026-11-23T00:00:00.000Z  target_unavailable  delayed-0-2
        message 2
    1-0  2026-11-22T23:59:59.000Z  expired  retry-0-1
        message 1

1 record is no dead letter of Layover.
`
	if got := w.do("list"); got != (clitest.Result{Stdout: want}) {
		t.Errorf("code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	if got := w.fine("list", "LAYOVER_INGRESS_TOPICS=", "LAYOVER_EGRESS_TOPIC="); !strings.Contains(got, "1  (named by no header)\n") {
		t.Errorf("without the settings of targets:\n%s", got)
	}
}

func TestListForMachines(t *testing.T) {
	w := newFixture(t)
	w.mixed()
	got := w.object("list --reason expired --reason too_large")
	var want map[string]any
	if err := json.Unmarshal([]byte(`{"total":2,"by_topic":{"delayed":1,"retry":1},"by_target":{"orders":1,"(no topic's name)":1},
		"by_reason":{"expired":1,"too_large":1},"by_day":{"2026-11-22":1,"2026-11-23":1},"foreign":1,"newest":[
		{"topic":"dead-letters","partition":1,"offset":2,"reason":"too_large","message":"message 4","at":"2026-11-23T00:00:02.000Z","id":"delayed-2-4"},
		{"topic":"dead-letters","partition":1,"offset":0,"reason":"expired","message":"message 1","at":"2026-11-22T23:59:59.000Z","id":"retry-0-1"}]}`), &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	for filter, total := range map[string]float64{
		"": 4, "--ingress retry": 1, "--since 2026-11-23": 3, "--since 2026-11-23T00:00:01Z": 2, "--key secret-key-2": 1, "--key x": 0, "--since 1ms": 0,
		"--ingress delayed --reason expired": 0,
	} {
		if got := w.object("list " + filter); got["total"] != total {
			t.Errorf("%q: %v, want %v", filter, got["total"], total)
		}
	}
}

func TestAnEmptyTopicHasNoLetters(t *testing.T) {
	w := newFixture(t)
	if got := w.do("list"); got != (clitest.Result{Stdout: "0 dead letters in dead-letters\n"}) {
		t.Errorf("%+v", got)
	}
	if got := w.fine("list -o json"); got != `{"total":0,"by_topic":{},"by_target":{},"by_reason":{},"by_day":{},"newest":[],"foreign":0}`+"\n" {
		t.Errorf("%s", got)
	}
	if got := w.do("redrive --execute"); got.Code != process.ExitOK || !strings.Contains(got.Stdout, "dead-letters: 0 records read, 0 written\n") || got.Stderr != "" {
		t.Errorf("%+v", got)
	}
}

func TestNeitherListNorRedrivePrintsWhatAProducerWrote(t *testing.T) {
	w := newFixture(t)
	w.mixed()
	for _, line := range []string{"list", "list -o json", "redrive", "redrive -o json", "redrive --execute", "redrive --execute -o json", "show 0-0", "show 0-0 -o json", "show 1-1"} {
		got := w.do(line)
		if all := got.Stdout + got.Stderr; got.Code != process.ExitOK || strings.Contains(all, "secret") || strings.Contains(all, "\x1b") {
			t.Errorf("%s: code %d\n%s", line, got.Code, all)
		}
	}
}

// TestALogThatEndsWithMarkersEnds, and letters of aborted transactions are not there.
func TestALogThatEndsWithMarkersEnds(t *testing.T) {
	w := newFixture(t)
	w.fill(4)
	cl := w.NewClient(kgo.TransactionalID("tx"))
	for _, try := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort, kgo.TryAbort} {
		if err := kafkatest.Transaction(t.Context(), cl, w.dead(0, 0, "rejected"), w.dead(0, 1, "rejected")); err != nil {
			t.Fatal(err)
		}
		if err := cl.EndTransaction(t.Context(), try); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.object("list"); got["total"] != 6.0 {
		t.Errorf("%v", got)
	}
	if got := w.do("show 0-10"); got.Code != process.ExitRuntime || !strings.Contains(got.Stderr, "dead-letters-0-10: no record is there") {
		t.Errorf("%+v", got)
	}
	if got := w.fine("redrive --execute"); !strings.Contains(got, "6 records read, 6 written") || !strings.Contains(got, "All of it is done") {
		t.Errorf("%s", got)
	}
	w.hasOnce(1, 2, 3, 4, 5, 6)
}

func TestAMistakeOnTheCommandLineIsNamedAndNothingIsDone(t *testing.T) {
	for line, want := range map[string]string{
		"list --reason late":                "want one of attempts_exhausted, delay_too_long, expired, ",
		"list --since yesterday":            "want how long ago",
		"list --ingress a/b":                "want the name of a topic",
		"list --from a/b":                   "want the name of a topic",
		"list x":                            "unknown command",
		"":                                  "an action is missing: list, redrive or show",
		"lost":                              `unknown action "lost": want list, redrive or show`,
		"show":                              "want one PARTITION-OFFSET",
		"show 5":                            "want PARTITION-OFFSET",
		"show 0--5":                         "want PARTITION-OFFSET",
		"redrive --rate 0":                  "want a number from 1 on",
		"redrive --rate 2000000":            "want at most 1000000",
		"redrive --limit -1":                "want a number from 1 on",
		"redrive --delay soon":              `"soon"`,
		"redrive --offsets 0:5-1":           "below the first",
		"list --from delayed":               `"delayed" is an ingress topic`,
		"redrive --offsets 0:1-2,0:3-4":     "partition 0 is there twice",
		"redrive --execute --delay 5parsec": "want milliseconds",
	} {
		got := clitest.Call{Args: strings.Fields(line), Environ: []string{"KAFKA_BROKERS=127.0.0.1:1", "LAYOVER_DLQ_TOPIC=dead-letters", "LAYOVER_INGRESS_TOPICS=delayed"}}.Do(t, Command)
		if got.Code != process.ExitUsage || got.Stdout != "" || !strings.Contains(got.Stderr, want) {
			t.Errorf("%q: %+v, want %q", line, got, want)
		}
	}
	for name, environ := range map[string][]string{
		"no dead-letter topic: set LAYOVER_DLQ_TOPIC or use --from": {"KAFKA_BROKERS=127.0.0.1:1", "LAYOVER_INGRESS_TOPICS=delayed"},
		"LAYOVER_INGRESS_TOPICS":                                    {"KAFKA_BROKERS=127.0.0.1:1", "LAYOVER_DLQ_TOPIC=dead-letters"},
		"KAFKA_BROKERS":                                             {"LAYOVER_DLQ_TOPIC=dead-letters", "LAYOVER_INGRESS_TOPICS=delayed"},
	} {
		if got := (clitest.Call{Args: []string{"redrive"}, Environ: environ}).Do(t, Command); got.Code != process.ExitUsage || !strings.Contains(got.Stderr, name) {
			t.Errorf("%+v, want %q", got, name)
		}
	}
}

// TestTheVerbReadsItsFewSettings, of an env file too: a mistake in another one does not
// matter, and --from stands in for the topic.
func TestTheVerbReadsItsFewSettings(t *testing.T) {
	w := newFixture(t)
	w.fill(3)
	path := clitest.EnvFile(t, "LAYOVER_LANES=x\nLAYOVER_DLQ_TOPIC=gone\nLAYOVER_INGRESS_TOPICS=delayed\nKAFKA_BROKERS="+w.Addr()+"\n")
	w.environ = nil
	if got := w.object("list --from dead-letters --env-file " + path); got["total"] != 3.0 {
		t.Errorf("%v", got)
	}
	if got := w.do("list --env-file " + path); !strings.Contains(got.Stderr, `"gone" does not exist`) {
		t.Errorf("%+v", got)
	}
	if got := w.object("redrive --env-file "+path, "LAYOVER_DLQ_TOPIC=dead-letters"); got["chosen"] != 3.0 {
		t.Errorf("%v", got)
	}
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	w := newFixture(t)
	w.fill(2)
	if got := w.do("list --from gone"); got.Code != process.ExitRuntime || !strings.Contains(got.Stderr, `topic "gone" does not exist on `) || !strings.Contains(got.Stderr, "check LAYOVER_DLQ_TOPIC or --from") {
		t.Errorf("%+v", got)
	}
	fetch := w.Refuse(kmsg.Fetch, kfake.Fault{Topic: graves, Err: kerr.TopicAuthorizationFailed})
	if got := w.do("list"); got.Code != process.ExitRuntime || !strings.Contains(got.Stderr, "reading dead-letters/") || !strings.Contains(got.Stderr, "; allow Read on topic dead-letters") {
		t.Errorf("%+v", got)
	}
	fetch.Remove()
	listing := w.Refuse(kmsg.ListOffsets, kfake.Fault{Topic: graves, Err: kerr.TopicAuthorizationFailed})
	if got := w.do("redrive"); got.Code != process.ExitRuntime || !strings.Contains(got.Stderr, "; allow Describe on topic dead-letters") {
		t.Errorf("%+v", got)
	}
	listing.Remove()
	if got := w.do("list", "KAFKA_BROKERS=127.0.0.1:1"); got.Code != process.ExitRuntime || !strings.Contains(got.Stderr, "no answer from 127.0.0.1:1") || !strings.Contains(got.Stderr, "check KAFKA_BROKERS") {
		t.Errorf("%+v", got)
	}
}

// TestAReaderWaitsForALeader: an election is no reason to give up.
func TestAReaderWaitsForALeader(t *testing.T) {
	w := newFixture(t)
	w.fill(6)
	w.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: graves, Err: kerr.NotLeaderForPartition, Count: 1})
	w.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: graves, Err: kerr.NotLeaderForPartition, Count: 3})
	if got := w.object("list"); got["total"] != 6.0 {
		t.Errorf("%v", got)
	}
}
