package journal

import (
	"bytes"
	"errors"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"layover/cli/clitest"
	"layover/cli/kafka"
	"layover/cli/process"
)

// TestTheCommandLine is judged before anything is asked: there is no broker here.
// usageError is the form of every mistake on the command line.
var usageError = regexp.MustCompile(`^layover ((?:journal|skip)(?: \w+)?): .+\nSee 'layover help (?:journal|skip)(?: \w+)?'\.\n$`)

func TestTheCommandLine(t *testing.T) {
	settings := []string{"KAFKA_BROKERS=127.0.0.1:1", "LAYOVER_INGRESS_TOPICS=delayed,later", "LAYOVER_EGRESS_TOPIC=ready", "LAYOVER_ON_INVALID=drop"}
	for line, want := range map[string]string{
		"":                             "an action is missing: recover, reset or show",
		"--topic delayed":              "an action is missing: recover, reset or show",
		"list":                         `unknown action "list": want recover, reset or show`,
		"show all":                     `unknown command "all" for "layover journal show"`,
		"show --execute":               "unknown flag: --execute",
		"--execute show":               "unknown flag: --execute",
		"recover --runs":               "unknown flag: --runs",
		"--runs reset":                 "unknown flag: --runs",
		"show --partition -1":          `invalid argument "-1" for "--partition" flag: want a number from 0 on`,
		"show --partition two":         `invalid argument "two" for "--partition" flag: want a number from 0 on`,
		"show --partition=":            `invalid argument "" for "--partition" flag: want a number from 0 on`,
		"show --partition 99999999999": `invalid argument "99999999999" for "--partition" flag: want a number from 0 on`,
		"show --topic a/b":             `invalid argument "a/b" for "--topic" flag: want the name of an ingress topic`,
		"show --topic=":                `invalid argument "" for "--topic" flag: want the name of an ingress topic`,
		"reset --topic ready":          `--topic "ready": not an ingress topic; LAYOVER_INGRESS_TOPICS has delayed, later`,
		"--topic ready reset":          `--topic "ready": not an ingress topic; LAYOVER_INGRESS_TOPICS has delayed, later`,
		"reset -o json":                "unknown shorthand flag: 'o' in -o",
		"show -o yaml":                 `invalid argument "yaml" for "-o, --output" flag: want text or json`,
		"reset --force":                "unknown flag: --force",
	} {
		var stdout, stderr bytes.Buffer
		code := clitest.Run(t.Context(), &process.Process{Args: strings.Fields(line), Environ: settings, Stdout: &stdout, Stderr: &stderr}, Journal)
		if code != process.ExitUsage || stdout.Len() > 0 || !usageError.MatchString(stderr.String()) || !strings.Contains(stderr.String(), ": "+want+"\n") {
			t.Errorf("%q: code %d, stdout %q, stderr %q", line, code, &stdout, &stderr)
		}
	}
}

func TestEachActionReadsItsSettingsAndNoOthers(t *testing.T) {
	const nowhere = "KAFKA_BROKERS=127.0.0.1:1"
	for _, test := range []struct {
		line, environ string // split at spaces
		code          int
		stderr        string
	}{
		{"show", "", process.ExitUsage, "KAFKA_BROKERS: required"},
		{"show", nowhere, process.ExitUsage, "LAYOVER_INGRESS_TOPICS: required"},
		{"show", nowhere + " LAYOVER_INGRESS_TOPICS=delayed", process.ExitRuntime, "no answer from"},
		{"show", nowhere + " LAYOVER_INGRESS_TOPICS=delayed LAYOVER_LANES=x LAYOVER_START_OFFSET=x LAYOVER_ON_INVALID=dlq", process.ExitRuntime, "no answer from"},
		{"show", nowhere + " LAYOVER_INGRESS_TOPICS=delayed LAYOVER_LANE=3", process.ExitRuntime, "warning: unknown variable LAYOVER_LANE "},
		{"show --topic delayed", nowhere, process.ExitRuntime, "no answer from"},
		{"show --topic other", nowhere + " LAYOVER_INGRESS_TOPICS=delayed", process.ExitRuntime, "no answer from"},
		{"reset --topic other", nowhere + " LAYOVER_INGRESS_TOPICS=delayed", process.ExitUsage, "not an ingress topic"},
		{"show", nowhere + " LAYOVER_INGRESS_TOPICS=delayed LAYOVER_JOURNAL_TOPIC={x}", process.ExitUsage, "LAYOVER_JOURNAL_TOPIC: "},
		{"show", nowhere + " LAYOVER_INGRESS_TOPICS=a,b LAYOVER_JOURNAL_TOPIC=j", process.ExitUsage, "would share one journal"},
		{"recover --topic delayed", nowhere, process.ExitUsage, "LAYOVER_INGRESS_TOPICS: required"},
		{"recover", nowhere + " LAYOVER_INGRESS_TOPICS=delayed LAYOVER_LANES=x", process.ExitRuntime, "no answer from"},
		{"reset", nowhere + " LAYOVER_INGRESS_TOPICS=delayed LAYOVER_START_OFFSET=x", process.ExitUsage, "LAYOVER_START_OFFSET: "},
		{"reset", nowhere + " LAYOVER_INGRESS_TOPICS=delayed", process.ExitRuntime, "no answer from"},
	} {
		t.Run(test.line+" "+test.environ, func(t *testing.T) {
			t.Parallel()
			got := clitest.Call{Args: strings.Fields(test.line), Environ: strings.Fields(test.environ)}.Do(t, Journal)
			if got.Code != test.code || !strings.Contains(got.Stderr, test.stderr) || got.Stdout != "" {
				t.Errorf("got %+v, want code %d and %q", got, test.code, test.stderr)
			}
		})
	}
}

// TestOneLineSaysWhatIsWrongAndWhatWouldBeRight of the brokers that are asked.
func TestOneLineSaysWhatIsWrongAndWhatWouldBeRight(t *testing.T) {
	const (
		noTopic = "TOPIC_AUTHORIZATION_FAILED: Not authorized to access topics: [Topic authorization failed.]"
		noGroup = "GROUP_AUTHORIZATION_FAILED: Not authorized to access group: Group authorization failed."
	)
	for what, test := range map[string]struct {
		prepare   func(w *fixture)
		line      string
		variables []string
		want      string
	}{
		"no ingress topic": {func(w *fixture) { w.Broker.DeleteTopic(ingress) }, "show", nil,
			`ingress topic "delayed" does not exist on broker: create it, or check LAYOVER_INGRESS_TOPICS`},
		"no topic of a name that the settings do not have": {nil, "show --topic delayd", nil,
			`ingress topic "delayd" does not exist on broker: check --topic; LAYOVER_INGRESS_TOPICS has delayed`},
		"no journal topic": {func(w *fixture) { w.Broker.DeleteTopic(name) }, "show", nil,
			`journal topic "delayed.layover-delayed" does not exist on broker: Layover makes it when it runs with LAYOVER_JOURNAL=auto; ` +
				`check that LAYOVER_JOURNAL_TOPIC ({ingress}.{group}) and the group (layover-delayed) are those it runs with`},
		"a name that no topic has": {func(w *fixture) { // Kafka calls it so, and this broker missing
			w.Refuse(kmsg.Metadata, kfake.Fault{Topic: "delayed.a b", Err: kerr.InvalidTopicException})
		}, "show", []string{"LAYOVER_GROUP_ID=a b"},
			`journal topic "delayed.a b": no topic can have that name; set LAYOVER_JOURNAL_TOPIC`},
		"a partition too many": {nil, "show --partition 3", nil, `--partition 3: ingress topic "delayed" has the partitions 0 to 2`},
		"no Describe on the ingress topic": {func(w *fixture) {
			w.Refuse(kmsg.Metadata, kfake.Fault{Topic: ingress, Err: kerr.TopicAuthorizationFailed})
		}, "show", nil, `ingress topic "delayed": ` + noTopic + "; allow Describe on topic delayed"},
		"no Describe on the journal topic": {func(w *fixture) {
			w.Refuse(kmsg.Metadata, kfake.Fault{Topic: name, Err: kerr.TopicAuthorizationFailed})
		}, "show", nil, `journal topic "delayed.layover-delayed": ` + noTopic + "; allow Describe on topic delayed.layover-delayed"},
		"no Describe on the group": {func(w *fixture) {
			w.Refuse(kmsg.OffsetFetch, kfake.Fault{Group: group, Err: kerr.GroupAuthorizationFailed})
		}, "show", nil, "offsets of group layover-delayed: " + noGroup + "; allow Describe on group layover-delayed, and on the ingress topics"},
		"members not told": {func(w *fixture) {
			w.Refuse(kmsg.DescribeGroups, kfake.Fault{Group: group, Err: kerr.GroupAuthorizationFailed})
		}, "recover --execute", nil, "members of group layover-delayed: " + noGroup + "; allow Describe on group layover-delayed"},
		"no Read on the journal": {func(w *fixture) {
			w.Refuse(kmsg.Fetch, kfake.Fault{Topic: name, Err: kerr.TopicAuthorizationFailed})
		}, "recover --partition 0", nil, "delayed/0: reading its journal: delayed.layover-delayed/0@0: reading at 0: " + noTopic + "; allow Read on topic delayed.layover-delayed"},
		"no end of the leader epoch": {func(w *fixture) {
			w.Refuse(kmsg.OffsetForLeaderEpoch, kfake.Fault{Topic: ingress, Err: kerr.TopicAuthorizationFailed})
		}, "recover --partition 0", nil, "delayed/0: end of the log of leader epoch 0: " + noTopic + "; allow Describe on topic delayed"},
		"no log bounds": {func(w *fixture) {
			w.Refuse(kmsg.ListOffsets, kfake.Fault{Topic: ingress, Partitions: []int32{1}, Err: kerr.OffsetNotAvailable})
		}, "show --partition 1", nil, "delayed/1: log bounds: " + kerr.OffsetNotAvailable.Error()},
	} {
		t.Run(what, func(t *testing.T) {
			w := newFixture(t)
			w.fill(0, 1000)
			w.assignment(0, 0xa1).finish(1, 600)
			if test.prepare != nil {
				test.prepare(w)
			}
			w.fails(w.do(test.line, test.variables...), "layover journal: "+test.want+"\n")
		})
	}
}

// TestWhatIsWrongWithOneTopicHidesNoOtherButStopsWhatWouldChangeThem: half a recovery
// that was not asked for in halves is nobody's wish.
func TestWhatIsWrongWithOneTopicHidesNoOtherButStopsWhatWouldChangeThem(t *testing.T) {
	w := newFixture(t)
	w.fill(0, 1000)
	w.assignment(0, 0xa1).finish(1, 600)
	const missing = "layover journal: ingress topic \"later\" does not exist on broker: create it, or check LAYOVER_INGRESS_TOPICS\n"
	two := "LAYOVER_INGRESS_TOPICS=delayed,later"
	got := w.do("show", two)
	w.fails(got, missing)
	if !strings.Contains(got.stdout, "\n  1 record, ") {
		t.Errorf("%+v", got)
	}
	for _, line := range []string{"recover --execute", "reset --execute"} {
		w.fails(w.do(line, two), missing+"layover journal: nothing was done: mend that, or choose with --topic and --partition\n")
		if w.committed(0) != nil || w.records(0) != 1 {
			t.Errorf("%s did something", line)
		}
	}
	if got := w.do("recover --execute --topic delayed", two); got.code != process.ExitOK || w.committed(0) == nil {
		t.Errorf("%+v", got)
	}
}

// TestAJournalWithFewerPartitionsThanItsTopicIsSaid: the ingress topic has just grown.
func TestAJournalWithFewerPartitionsThanItsTopicIsSaid(t *testing.T) {
	w := newFixture(t)
	w.DeleteTopic(name)
	w.CreateTopic(name, 2, nil)
	w.is(w.do("show --partition 2"), "delayed/2: journal topic delayed.layover-delayed has no partition 2 yet: Layover adds it when it runs; commit: none\n")
	w.is(w.do("recover --execute --partition 2"), "delayed/2: has no offset, and its journal no record of it: nothing to recover; \"layover journal reset\" gives it an offset\nNothing to recover.\n")
	if got := w.do("reset --execute --partition 2"); got.code != process.ExitOK || w.committed(2) == nil {
		t.Errorf("%+v", got)
	}
}

// TestBrokersThatDoNotAnswerAreNamed with the error of the last connection.
func TestBrokersThatDoNotAnswerAreNamed(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	settings := []string{"KAFKA_BROKERS=" + address, "LAYOVER_INGRESS_TOPICS=delayed", "LAYOVER_EGRESS_TOPIC=ready", "LAYOVER_ON_INVALID=drop"}
	var stdout, stderr bytes.Buffer
	began := time.Now()
	code := clitest.Run(t.Context(), &process.Process{Args: []string{"show"}, Environ: settings, Stdout: &stdout, Stderr: &stderr}, Journal)
	if code != process.ExitRuntime || stdout.Len() > 0 || strings.Count(stderr.String(), "\n") != 1 ||
		!strings.HasPrefix(stderr.String(), "layover journal: metadata: no answer from "+address+": ") ||
		!strings.Contains(stderr.String(), "connection refused") || !strings.HasSuffix(stderr.String(), "; check KAFKA_BROKERS\n") {
		t.Errorf("code %d, stdout %q, stderr %q", code, &stdout, &stderr)
	}
	if took := time.Since(began); took > 2*kafka.AskTimeout {
		t.Errorf("it took %v", took)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestWhatCannotBePrintedIsNotDone(t *testing.T) {
	w := newFixture(t)
	w.fill(1, 1000)
	w.assignment(1, 0xa1).finish(1, 600)
	var stderr bytes.Buffer
	code := clitest.Run(t.Context(), &process.Process{Args: []string{"recover", "--execute"}, Environ: w.environ, Stdout: brokenPipe{}, Stderr: &stderr}, Journal)
	if code != process.ExitRuntime || stderr.String() != "layover journal: stdout: broken pipe\n" || w.committed(1) != nil {
		t.Errorf("code %d, stderr %q, committed %+v", code, &stderr, w.committed(1))
	}
}
