package integration

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/testcontainers/testcontainers-go"
	tcexec "github.com/testcontainers/testcontainers-go/exec"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// finding is an object of `layover doctor -o json`.
type finding struct{ ID, Status, Found, Why, Fix string }

// checkup is one run of the verb: its exit code, and findings by id.
type checkup struct {
	t    *testing.T
	code int
	by   map[string]finding
}

// doctor runs `layover doctor -o json`.
func doctor(t *testing.T, settings ...string) checkup {
	t.Helper()
	c := checkup{t: t, by: make(map[string]finding)}
	code, stdout, stderr := words(t, settings, "doctor", "-o", "json")
	var all []finding
	if err := json.Unmarshal([]byte(stdout), &all); err != nil {
		t.Fatalf("exit code %d, stdout %q, stderr %q: %v", code, stdout, stderr, err)
	}
	for _, f := range all {
		c.by[f.ID] = f
	}
	failed := slices.ContainsFunc(all, func(f finding) bool { return f.Status == "fail" })
	if c.code = code; (code == 1) != failed || code > 1 {
		t.Errorf("exit code %d, failed %v", code, failed)
	}
	return c
}

// words runs any words of the command line.
func words(t *testing.T, settings []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), need(t, shared.binary), args...)
	cmd.Env = environ(settings...)
	var out, problems strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &problems
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), out.String(), problems.String()
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0, out.String(), problems.String()
}

// says fails the test unless a check has that status and says the words.
func (c checkup) says(id, status string, words ...string) finding {
	c.t.Helper()
	f := c.by[id]
	if f.Status != status || !containsAll(f.Found+"\n"+f.Fix, words) {
		c.t.Errorf("%s is %s, want %s and %q: %s\n%s", id, f.Status, status, words, f.Found, f.Fix)
	}
	return f
}

// fine fails the test if a check besides these warns or fails.
func (c checkup) fine(but ...string) {
	c.t.Helper()
	for _, f := range c.by {
		if (f.Status == "warn" || f.Status == "fail") && !slices.Contains(but, f.ID) {
			c.t.Errorf("%+v", f)
		}
	}
}

// mend runs the command of a finding in the broker's container, where the test may do
// everything.
func (f *fixture) mend(fix string) {
	f.Helper()
	command := strings.TrimSpace(fix[strings.LastIndex(fix, "kafka-"):])
	command, _, _ = strings.Cut(command, "\n")
	words := strings.Fields(strings.TrimSuffix(command, ";"))
	for i, word := range words {
		if word == "--bootstrap-server" {
			words[i+1] = "localhost:9094"
		}
	}
	script := "exec /opt/kafka/bin/" + strings.Replace(strings.Join(words, " "), " --command-config admin.properties", "", 1)
	code, out, err := f.broker.container.Exec(f.Context(), []string{"sh", "-c", shortLived + script}, tcexec.Multiplexed())
	if err != nil {
		f.Fatal(err)
	}
	if said, _ := io.ReadAll(out); code != 0 {
		f.Fatalf("%s: exit code %d: %s", script, code, said)
	}
}

// TestTheDoctorFindsWhatIsWrongWithTopicsAndItsCommandsMendIt: each fault by itself, on a
// Kafka where all else is well.
func TestTheDoctorFindsWhatIsWrongWithTopicsAndItsCommandsMendIt(t *testing.T) {
	long(t)
	t.Parallel()
	f := onSharedBroker(t, 2)
	c := doctor(t, f.settings()...)
	c.fine()
	for id, status := range map[string]string{"tls": "skipped", "running-instance": "skipped", "topics": "ok", "acl-journal": "ok", "acl-runs": "ok", "clock": "ok", "offsets-retention": "ok", "message-size": "ok"} {
		c.says(id, status)
	}
	for id, set := range map[string]struct{ topic, name, value, status string }{
		"retention":    {f.ingress, "retention.ms", "600000", "fail"},
		"compaction":   {f.ingress, "cleanup.policy", "compact", "fail"},
		"message-size": {f.egress, "max.message.bytes", "10000", "warn"},
		"replicas":     {f.egress, "min.insync.replicas", "2", "warn"},
	} {
		f.alter(set.topic, set.name, set.value)
		c := f.becomes(id, set.status)
		c.fine(id)
		fix := c.says(id, set.status, set.topic).Fix
		f.mend(strings.Split(fix, "\nor")[0])
		f.becomes(id, "ok").fine()
	}
	c = doctor(t, f.settings("LAYOVER_EGRESS_TOPIC="+f.egress+"y")...)
	c.says("topics", "fail", "the nearest name is "+f.egress, "set LAYOVER_EGRESS_TOPIC to "+f.egress)
	f.mend(c.by["topics"].Fix)
	f.becomes("topics", "ok", "LAYOVER_EGRESS_TOPIC="+f.egress+"y").fine()
	c = doctor(t, f.settings("LAYOVER_MAX_DELAY=30d", "LAYOVER_RUNS=off", "LAYOVER_LANE=3")...)
	c.says("retention", "fail", "--add-config retention.ms=2678400000")
	c.says("offsets-retention", "warn", "less than 30d")
	c.says("settings", "warn", "LAYOVER_LANE")
}

// becomes runs the doctor until a check has a status: brokers hear of changes by and by.
func (f *fixture) becomes(id, status string, more ...string) (c checkup) {
	f.Helper()
	eventually(f.T, 20*time.Second, id+" is "+status, func() bool {
		c = doctor(f.T, f.settings(more...)...)
		return c.by[id].Status == status
	})
	return c
}

// alter sets one value of a topic's configuration.
func (f *fixture) alter(topic, name, value string) {
	f.Helper()
	done, err := f.admin.AlterTopicConfigs(f.Context(), []kadm.AlterConfig{{Name: name, Value: &value}}, topic)
	if err == nil {
		_, err = done.On(topic, nil)
	}
	if err != nil {
		f.Fatal(err)
	}
}

// TestTheDoctorWritesNothing: after a run on a cluster without a journal, and without a
// group, there is the same as before. Not even Kafka's own topics are made.
func TestTheDoctorWritesNothing(t *testing.T) {
	long(t)
	t.Parallel()
	f := onOwnBroker(t, 2)
	f.produce(&kgo.Record{Value: []byte("stays")})
	snapshot := func() string {
		topics, err1 := f.admin.ListTopicsWithInternal(f.Context())
		groups, err2 := f.admin.ListGroups(f.Context())
		var said []string
		for _, name := range []string{f.ingress, f.egress, f.deadLetters} {
			ends, err := f.ends(name)
			text, _ := json.Marshal(ends)
			said = append(said, string(text))
			err2 = errors.Join(err2, err)
		}
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		return strings.Join(append(append(said, topics.Names()...), groups.Groups()...), " ")
	}
	before := snapshot()
	for _, more := range []string{"LAYOVER_JOURNAL=auto", "LAYOVER_TARGETS_ALLOWED=absent"} {
		doctor(t, f.settings(more)...).says("topics", map[bool]string{true: "warn", false: "ok"}[strings.HasSuffix(more, "absent")])
	}
	if after := snapshot(); after != before || strings.Contains(after, "__") {
		t.Errorf("before %s\nafter %s", before, after)
	}
}

// TestTheDoctorKnowsMembersAndTheInstance: a Layover is one of the group's members and
// answers itself; a consumer of others and its topics are found, by either protocol.
func TestTheDoctorKnowsMembersAndTheInstance(t *testing.T) {
	t.Parallel()
	f := onSharedBroker(t, 2)
	p := f.layover()
	own := append(f.settings(), "LAYOVER_HTTP_ADDR="+p.http)
	c := doctor(t, own...)
	c.fine()
	c.says("group-members", "ok", "1 member with the client id and topics of Layover")
	c.says("instances", "ok", "1 instance for 2 ingress partitions")
	c.says("running-instance", "ok")
	f.produce(&kgo.Record{Value: []byte("bad"), Headers: []kgo.RecordHeader{header("x-delay", "soon")}})
	eventually(t, 30*time.Second, "a dead letter", func() bool { ends, err := f.ends(f.deadLetters); return err == nil && ends[0] == 1 })
	eventually(t, 30*time.Second, "a dead letter in the status", func() bool { return doctor(t, own...).by["running-instance"].Status == "warn" })
	p.terminate()
	doctor(t, own...).says("running-instance", "skipped", "no running instance answers")

	for name, opts := range map[string][]kgo.Opt{
		"fail": {kgo.Balancers(kgo.RangeBalancer())}, // Layover cannot be in that group at all
		"warn": {kgo.Balancers(kgo.CooperativeStickyBalancer())},
	} {
		other := f.kafka(append(opts, kgo.ClientID("billing"), kgo.ConsumerGroup(f.group), kgo.ConsumeTopics(f.ingress), kgo.DisableAutoCommit())...)
		eventually(t, 30*time.Second, "the other consumer is found", func() bool {
			c := doctor(t, f.settings()...)
			return c.by["group-members"].Status == name && strings.Contains(c.by["group-members"].Found, "billing")
		})
		other.Close()
	}
}

// TestTheDoctorFindsATopicThatWasTakenOutOfTheSettings, while a record waits there and no instance reads it. Its commands give
// that up.
func TestTheDoctorFindsATopicThatWasTakenOutOfTheSettings(t *testing.T) {
	t.Parallel()
	f := onSharedBroker(t, 2)
	former := f.ingress + "-former"
	f.createTopic(former, 2, nil)
	both := "LAYOVER_INGRESS_TOPICS=" + f.ingress + "," + former
	p := f.layover(both)
	f.produce(&kgo.Record{Topic: former, Partition: 1, Headers: []kgo.RecordHeader{header("x-delay", "1h")}}, &kgo.Record{Value: []byte("at once")})
	p.parks(1, 30*time.Second)
	doctor(t, f.settings()...).says("left-topics", "ok") // an instance reads it
	p.terminate()
	doctor(t, f.settings(both)...).says("left-topics", "ok")
	found := doctor(t, f.settings()...).says("left-topics", "warn", former+" is not in LAYOVER_INGRESS_TOPICS any more", "up to 1 record there, up to 0 in its runs topic")
	for line := range strings.Lines(found.Fix) {
		if strings.HasPrefix(line, "kafka-") {
			f.mend(line)
		}
	}
	doctor(t, f.settings()...).says("left-topics", "ok")
	eventually(t, 30*time.Second, "the journal is deleted", func() bool {
		all, err := f.admin.ListTopics(f.Context())
		return err == nil && all.Has(former) && !all.Has(former+"."+f.group) && !all.Has(former+"."+f.group+".runs")
	})
}

// TestTheDoctorMakesNoDeletedIngressTopicAgainWhileAnInstanceHasItsRecords: these are lost by the making.
func TestTheDoctorMakesNoDeletedIngressTopicAgainWhileAnInstanceHasItsRecords(t *testing.T) {
	t.Parallel()
	f := onSharedBroker(t, 1)
	second := f.ingress + "-second"
	f.createTopic(second, 2, nil)
	both := "LAYOVER_INGRESS_TOPICS=" + f.ingress + "," + second
	p := f.layover(both)
	f.produce(&kgo.Record{Topic: second, Partition: 1, Headers: []kgo.RecordHeader{header("x-delay", "1h")}})
	p.parks(1, 30*time.Second)
	if _, err := f.admin.DeleteTopic(f.Context(), second); err != nil {
		t.Fatal(err)
	}
	eventually(t, 30*time.Second, "the doctor warns of making it again", func() bool {
		c := doctor(t, f.settings(both)...).by["topics"]
		return c.Status == "fail" && strings.Contains(c.Found, "it had 2 partitions") && strings.Contains(c.Fix, "neither make "+second+" again nor restart")
	})
	doctor(t, f.settings(both)...).says("group-members", "ok")
}

// TestTheDoctorOnAnAdvertisedNameThatIsWrong: the bootstrap address is right, and the name
// that the broker advertises there does not resolve here.
func TestTheDoctorOnAnAdvertisedNameThatIsWrong(t *testing.T) {
	long(t)
	t.Parallel()
	need(t, shared.broker)
	b := need(t, func() (*broker, error) { return startBroker(shared, adviseNowhere) })
	t.Cleanup(func() {
		if err := b.terminate(); err != nil {
			t.Error(err)
		}
	})
	f := newFixture(t, b, 1)
	began := time.Now()
	c := doctor(t, f.settings("KAFKA_BROKERS="+b.behind)...)
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("took %v", took)
	}
	c.says("advertised-names", "fail", "broker 1 advertises kafka.nowhere.invalid:9095, which does not resolve here", "advertised.listeners")
	c.says("topics", "ok")
	c.says("retention", "skipped", "advertised-names failed")
}

// TestTheDoctorsExitCodesAndForms: a text for people, an array for machines, and config
// check --connect is the same.
func TestTheDoctorsExitCodesAndForms(t *testing.T) {
	t.Parallel()
	f := onSharedBroker(t, 1)
	for _, args := range [][]string{{"doctor"}, {"config", "check", "--connect"}} {
		code, stdout, stderr := words(t, f.settings(), args...)
		if code != 0 || stderr != "" || !strings.HasPrefix(stdout, " 1 ok       broker-names: ") || !strings.HasSuffix(stdout, " ok, 4 skipped\n") {
			t.Errorf("%q: exit code %d, stderr %q, stdout %s", args, code, stderr, stdout)
		}
		code, stdout, _ = words(t, f.settings("LAYOVER_DLQ_TOPIC=absent"), args...)
		if code != 1 || !strings.Contains(stdout, "topics: dead-letter topic absent does not exist\n            why: ") || !strings.Contains(stdout, ", 1 failed, ") {
			t.Errorf("%q: exit code %d, stdout %s", args, code, stdout)
		}
		if code, stdout, stderr = words(t, f.settings("LAYOVER_LANES=x"), args...); code != 2 || stdout != "" || !strings.Contains(stderr, "LAYOVER_LANES") {
			t.Errorf("%q: exit code %d, stdout %q, stderr %q", args, code, stdout, stderr)
		}
		began := time.Now()
		code, stdout, _ = words(t, f.settings("KAFKA_BROKERS=127.0.0.1:1"), args...)
		if code != 1 || !strings.Contains(stdout, " 2 fail     broker-answers: ") || !strings.Contains(stdout, "topics: not asked, as broker-answers failed") || time.Since(began) > 10*time.Second {
			t.Errorf("%q: exit code %d after %v, stdout %s", args, code, time.Since(began), stdout)
		}
	}
	_, one, _ := words(t, f.settings(), "config", "check", "--connect", "-o", "json")
	var all []finding
	if err := json.Unmarshal([]byte(one), &all); err != nil || len(all) < 20 {
		t.Errorf("%q: %v", one, err)
	}
	if code, _, stderr := words(t, f.settings(), "config", "check", "-o", "json"); code != 2 || !strings.Contains(stderr, "--connect") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
}

// adviseNowhere has the listener VIA advertise a name that nobody knows.
func adviseNowhere(b *broker, r *testcontainers.ContainerRequest) {
	r.Env["KAFKA_ADVERTISED_LISTENERS"] = strings.Replace(r.Env["KAFKA_ADVERTISED_LISTENERS"], "VIA://"+b.via, "VIA://kafka.nowhere.invalid:9095", 1)
}
