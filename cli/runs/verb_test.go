package runs

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
	"layover/offsets"
	"layover/verify/long"
)

// usageError is the form of every mistake on the command line.
var usageError = regexp.MustCompile(`^layover runs(?: show)?: .+\nSee 'layover help runs(?: show)?'\.\n$`)

// TestTheCommandLine is judged before anything is asked: there is no broker here.
func TestTheCommandLine(t *testing.T) {
	settings := []string{"KAFKA_BROKERS=127.0.0.1:1", "LAYOVER_INGRESS_TOPICS=delayed,later"}
	for line, want := range map[string]string{
		"":                     "an action is missing: show",
		"--topic delayed":      "an action is missing: show",
		"list":                 `unknown action "list": want show`,
		"show all":             `unknown command "all" for "layover runs show"`,
		"show --execute":       "unknown flag: --execute",
		"show --partition -1":  `invalid argument "-1" for "--partition" flag: want a number from 0 on`,
		"show --topic=":        `invalid argument "" for "--topic" flag: want the name of an ingress topic`,
		"--topic a/b show":     `invalid argument "a/b" for "--topic" flag: want the name of an ingress topic`,
		"show -o yaml":         `invalid argument "yaml" for "-o, --output" flag: want text or json`,
		"show --exact=perhaps": `invalid argument "perhaps" for "--exact" flag: strconv.ParseBool: parsing "perhaps": invalid syntax`,
	} {
		var stdout, stderr bytes.Buffer
		code := clitest.Run(t.Context(), &process.Process{Args: strings.Fields(line), Environ: settings, Stdout: &stdout, Stderr: &stderr}, Command)
		if code != process.ExitUsage || stdout.Len() > 0 || !usageError.MatchString(stderr.String()) || !strings.Contains(stderr.String(), ": "+want+"\n") {
			t.Errorf("%q: code %d, stdout %q, stderr %q", line, code, &stdout, &stderr)
		}
	}
}

func TestShowReadsItsSettingsAndNoOthers(t *testing.T) {
	const nowhere = "KAFKA_BROKERS=127.0.0.1:1"
	for _, test := range []struct {
		line, environ string // split at spaces
		code          int
		stderr        string
	}{
		{"show", "", process.ExitUsage, "KAFKA_BROKERS: required"},
		{"show", nowhere, process.ExitUsage, "LAYOVER_INGRESS_TOPICS: required"},
		{"show --topic delayed", nowhere, process.ExitRuntime, "no answer from"},
		{"show", nowhere + " LAYOVER_INGRESS_TOPICS=delayed LAYOVER_LANES=x LAYOVER_RUNS=x LAYOVER_ON_INVALID=dlq", process.ExitRuntime, "no answer from"},
		{"show", nowhere + " LAYOVER_INGRESS_TOPICS=delayed LAYOVER_RUNS_TOPIC=far", process.ExitUsage, "LAYOVER_RUNS_TOPIC: "},
		{"show", nowhere + " LAYOVER_INGRESS_TOPICS=a,b LAYOVER_JOURNAL_TOPIC=j", process.ExitUsage, "would share one journal"},
	} {
		t.Run(test.line+" "+test.environ, func(t *testing.T) {
			t.Parallel()
			got := clitest.Call{Args: strings.Fields(test.line), Environ: strings.Fields(test.environ)}.Do(t, Command)
			if got.Code != test.code || !strings.Contains(got.Stderr, test.stderr) || got.Stdout != "" {
				t.Errorf("got %+v, want code %d and %q", got, test.code, test.stderr)
			}
		})
	}
}

// TestTheNameOfTheRunsTopicIsThatOfTheSettings.
func TestTheNameOfTheRunsTopicIsThatOfTheSettings(t *testing.T) {
	w := newFixture(t)
	got := w.do("show --partition 0", "LAYOVER_RUNS_TOPIC=far.{group}.{ingress}")
	if got.code != process.ExitOK || !strings.HasPrefix(got.stdout, "delayed/0: no runs: topic far.layover-delayed.delayed does not exist; commit: none\n") {
		t.Errorf("%+v", got)
	}
}

// TestOneLineSaysWhatIsWrongAndWhatWouldBeRight of the brokers that are asked.
func TestOneLineSaysWhatIsWrongAndWhatWouldBeRight(t *testing.T) {
	const (
		noTopic = "TOPIC_AUTHORIZATION_FAILED: Not authorized to access topics: [Topic authorization failed.]"
		noGroup = "GROUP_AUTHORIZATION_FAILED: Not authorized to access group: Group authorization failed."
	)
	for what, test := range map[string]struct {
		prepare func(w *fixture)
		line    string
		want    string
		shown   string // a part of stdout; "": there is nothing
	}{
		"no ingress topic": {func(w *fixture) { w.DeleteTopic(ingress) }, "show", `ingress topic "delayed" does not exist on broker: it was deleted. While an instance runs, neither make it again nor restart ` +
			"the instance: records that wait in memory would be lost. layover doctor says what to do", "3 copies wait, in 1 partition"},
		"no ingress topic, and no runs topic": {func(w *fixture) { w.DeleteTopic(ingress); w.DeleteTopic(runsTopic) }, "show",
			`ingress topic "delayed" does not exist on broker: create it, or check LAYOVER_INGRESS_TOPICS`, ""},
		"no topic of a name that the settings do not have": {func(*fixture) {}, "show --topic delayd", `ingress topic "delayd" does not exist on broker: check --topic; LAYOVER_INGRESS_TOPICS has delayed`, ""},
		"a partition too many":                             {func(*fixture) {}, "show --partition 3", `--partition 3: ingress topic "delayed" has the partitions 0 to 2`, ""},
		"no Describe on the ingress topic": {func(w *fixture) {
			w.Refuse(kmsg.Metadata, kfake.Fault{Topic: ingress, Err: kerr.TopicAuthorizationFailed})
		}, "show", `ingress topic "delayed": ` + noTopic + "; allow Describe on topic delayed", ""},
		"no Describe on the journal": {func(w *fixture) {
			w.Refuse(kmsg.Metadata, kfake.Fault{Topic: journalTopic, Err: kerr.TopicAuthorizationFailed})
		}, "show", `journal topic "delayed.layover-delayed": ` + noTopic + "; allow Describe on topic delayed.layover-delayed", ""},
		"no Describe on the runs topic": {func(w *fixture) {
			w.Refuse(kmsg.Metadata, kfake.Fault{Topic: runsTopic, Err: kerr.TopicAuthorizationFailed})
		}, "show --partition 0", "delayed/0: its runs: metadata of delayed.layover-delayed.runs: " + noTopic + "; allow Describe on topic delayed.layover-delayed.runs",
			"Whether a downgrade is safe is not known. Missing is:\n  what failed: see the error on stderr\n  the partitions that were not asked for\n"},
		"no Describe on the group": {func(w *fixture) {
			w.Refuse(kmsg.OffsetFetch, kfake.Fault{Group: group, Err: kerr.GroupAuthorizationFailed})
		}, "show", "offsets of group layover-delayed: " + noGroup + "; allow Describe on group layover-delayed, and on the ingress topics", ""},
		"no Read on the runs topic": {func(w *fixture) {
			w.Refuse(kmsg.Fetch, kfake.Fault{Topic: runsTopic, Err: kerr.TopicAuthorizationFailed})
		}, "show --partition 0 --exact", "delayed/0: its runs: reading at 3: " + noTopic + "; allow Read on topic delayed.layover-delayed.runs", "is not known"},
		"no end of the leader epoch": {func(w *fixture) {
			w.Refuse(kmsg.OffsetForLeaderEpoch, kfake.Fault{Topic: runsTopic, Err: kerr.TopicAuthorizationFailed})
		}, "show --partition 0", "delayed/0: its runs: end of leader epoch 0: end of a leader epoch: " + noTopic + "; allow Describe on topic delayed.layover-delayed.runs", "is not known"},
	} {
		t.Run(what, func(t *testing.T) {
			w := newFixture(t)
			w.member(0, 0xa1).move(days(1, 2, 3)...).list().commit()
			test.prepare(w)
			got := w.do(test.line)
			w.fails(got, "layover runs: "+test.want+"\n")
			if (test.shown == "") != (got.stdout == "") || !strings.Contains(got.stdout, test.shown) {
				t.Errorf("shown is %q", got.stdout)
			}
		})
	}
}

// TestCopiesThatCannotBeReadAreAnError, and what is known besides is shown.
func TestCopiesThatCannotBeReadAreAnError(t *testing.T) {
	w := newFixture(t)
	m := w.member(0, 0xa1).move(days(1, 2, 3)...)
	m.commit()
	w.Refuse(kmsg.Fetch, kfake.Fault{Topic: runsTopic, Err: kerr.TopicAuthorizationFailed})
	got := w.do("show")
	w.fails(got, "layover runs: delayed/0: reading its runs: delayed.layover-delayed.runs/0@0: reading at 0: TOPIC_AUTHORIZATION_FAILED: Not authorized to access topics: [Topic authorization failed.]; "+
		"allow Read on topic delayed.layover-delayed.runs\n")
	if !strings.HasPrefix(got.stdout, "delayed/0: runs delayed.layover-delayed.runs/0, log start 0, end 3\n  commit: low offset 0, known end 3, ") ||
		strings.Contains(got.stdout, "no copy waits") || !strings.Contains(got.stdout, "Whether a downgrade is safe is not known. Missing is:\n  what was not read, of 1 partition\n  what failed: see the error on stderr\n") {
		t.Errorf("%s", got.stdout)
	}
}

// TestWhatIsWrongWithOneTopicHidesNoOther.
func TestWhatIsWrongWithOneTopicHidesNoOther(t *testing.T) {
	w := newFixture(t)
	w.member(0, 0xa1).move(days(1)...).list().commit()
	got := w.do("show", "LAYOVER_INGRESS_TOPICS=delayed,later")
	w.fails(got, "layover runs: ingress topic \"later\" does not exist on broker: create it, or check LAYOVER_INGRESS_TOPICS\n")
	if !strings.Contains(got.stdout, "\n  1 copy waits: ") && !strings.Contains(got.stdout, "\n  at most 1 copy waits: ") || !strings.Contains(got.stdout, "Not known is:\n  what failed: see the error on stderr\n") {
		t.Errorf("%s", got.stdout)
	}
	w.CreateTopic("later", 1, nil)
	if got := w.do("show --topic later", "LAYOVER_INGRESS_TOPICS=delayed,later"); got.code != process.ExitOK || strings.Contains(got.stdout, "delayed/0") ||
		!strings.HasSuffix(got.stdout, "Missing is:\n  the partitions that were not asked for\n") {
		t.Errorf("%+v", got)
	}
	w.DeleteTopic("later")
	if got := w.do("show --topic later", "LAYOVER_INGRESS_TOPICS=later"); got.code != process.ExitRuntime || got.stdout != "" {
		t.Errorf("a verdict without a partition: %+v", got)
	}
}

// TestACommitOfANewerReleaseIsNotGuessedAt.
func TestACommitOfANewerReleaseIsNotGuessedAt(t *testing.T) {
	w := newFixture(t)
	w.commit(0, offsets.RunsState{})
	o, _ := w.Committed(group, ingress, 0)
	metadata := regexp.MustCompile(`\d+\.\d+\.`).ReplaceAllString(o.Metadata, "9.9.")
	w.commitAs(0, metadata)
	got := w.do("show")
	if got.code != process.ExitOK || !strings.Contains(got.stdout, "; commit: offset 1, metadata that does not count: commit metadata of format version 9 wants a reader of version 9, this one is 2: written by a newer release\n") ||
		!strings.HasSuffix(got.stdout, "\nWhether a downgrade is safe is not known. Missing is:\n  what was not read, of 1 partition\n") {
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
	began := time.Now()
	got := clitest.Call{Args: []string{"show"}, Environ: []string{"KAFKA_BROKERS=" + address, "LAYOVER_INGRESS_TOPICS=delayed"}}.Do(t, Command)
	if got.Code != process.ExitRuntime || got.Stdout != "" || !strings.HasPrefix(got.Stderr, "layover runs: metadata: no answer from "+address+": ") ||
		!strings.HasSuffix(got.Stderr, "; check KAFKA_BROKERS\n") {
		t.Errorf("%+v", got)
	}
	if took := time.Since(began); took > 2*kafka.AskTimeout {
		t.Errorf("it took %v", took)
	}
}

// TestAJournalThatMayNotBeReadIsAnError: its finished copies count as waiting.
func TestAJournalThatMayNotBeReadIsAnError(t *testing.T) {
	long.Only(t)
	w := newFixture(t)
	w.member(0, 0xa1).move(days(1, 2, 3)...).finish(1)
	w.Refuse(kmsg.Fetch, kfake.Fault{Topic: journalTopic, Err: kerr.TopicAuthorizationFailed})
	got := w.do("show")
	w.fails(got, "layover runs: delayed/0: the journal does not answer: reading at 0: TOPIC_AUTHORIZATION_FAILED: Not authorized to access topics: [Topic authorization failed.]; "+
		"allow Read on topic delayed.layover-delayed\n")
	if !strings.Contains(got.stdout, "\n  3 copies wait: ") || !strings.Contains(got.stdout, "\n  the journal misses finished copies, which may count as waiting: the journal does not answer") {
		t.Errorf("%s", got.stdout)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestWhatCannotBePrintedIsAnError(t *testing.T) {
	w := newFixture(t)
	var stderr bytes.Buffer
	code := clitest.Run(t.Context(), &process.Process{Args: []string{"show"}, Environ: w.environ, Stdout: brokenPipe{}, Stderr: &stderr}, Command)
	if code != process.ExitRuntime || stderr.String() != "layover runs: stdout: broken pipe\n" {
		t.Errorf("code %d, stderr %q", code, &stderr)
	}
}

// TestAGroupWhoseCoordinatorIsComingIsWaitedFor: where nobody has ever committed the question makes one, which
// takes Kafka a moment.
func TestAGroupWhoseCoordinatorIsComingIsWaitedFor(t *testing.T) {
	long.Only(t)
	w := newFixture(t)
	w.member(0, 0xa1).move(days(1, 2, 3)...).list().commit()
	fault := w.Refuse(kmsg.FindCoordinator, kfake.Fault{Group: group, Err: kerr.CoordinatorNotAvailable})
	time.AfterFunc(2*time.Second, fault.Remove)
	if got := w.do("show --partition 0"); got.stderr != "" || !strings.Contains(got.stdout, "3") || fault.Hits() == 0 {
		t.Errorf("refused %d times: %+v", fault.Hits(), got)
	}
	w.Refuse(kmsg.FindCoordinator, kfake.Fault{Group: group, Err: kerr.CoordinatorNotAvailable})
	if got := w.do("show --partition 0"); !strings.Contains(got.stderr, "COORDINATOR_NOT_AVAILABLE") {
		t.Errorf("one that does not come: %+v", got)
	}
}
