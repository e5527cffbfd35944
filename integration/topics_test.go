package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	tcexec "github.com/testcontainers/testcontainers-go/exec"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// shortLived makes Java programs start in half the time that those take that run for long.
const shortLived = "export KAFKA_JVM_PERFORMANCE_OPTS='-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto'\n"

// inContainer runs a script where Kafka's own tools are, and returns its output.
func (f *fixture) inContainer(script string) string {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), 5*time.Minute)
	defer cancel()
	code, out, err := f.broker.container.Exec(ctx, []string{"bash", "-e", "-o", "pipefail", "-c", "export PATH=$PATH:/opt/kafka/bin\n" + shortLived + script}, tcexec.Multiplexed())
	if err != nil {
		f.Fatal(err)
	}
	said, err := io.ReadAll(out)
	if err != nil || code != 0 {
		f.Fatalf("%s: exit code %d, %v: %s", script, code, err, said)
	}
	return string(said)
}

// onEmptySecuredBroker is onSecuredBroker with ACLs and without topics.
func onEmptySecuredBroker(t *testing.T) (*fixture, *secured) {
	t.Helper()
	_, s := onSecuredBroker(t, true)
	f := emptyFixture(t, s.broker)
	f.setPassword(kadm.ScramSha256, "password")
	return f, s
}

// TestWhatTopicsPrintsIsAllThatIsNeeded: Kafka's own tools take the commands as they are
// printed, and again. Then Layover runs as that principal, delivers by name and by glob,
// writes its journal and says nothing of a missing right.
func TestWhatTopicsPrintsIsAllThatIsNeeded(t *testing.T) {
	long(t)
	t.Parallel()
	f, s := onEmptySecuredBroker(t)
	environ := f.settings("KAFKA_BROKERS="+s.login, s.trust(), "KAFKA_SASL_MECHANISM=SCRAM-SHA-256", "KAFKA_SASL_USERNAME=layover", "KAFKA_SASL_PASSWORD=password",
		"LAYOVER_TARGETS_ALLOWED="+f.egress+"-more,"+f.egress+".*", "LAYOVER_MAX_DELAY=9d")
	args := []string{"topics", "--brokers", "localhost:9094", "--replicas", "1", "--partitions", "3"}
	script := verb(t, environ, args...)
	f.inContainer(script)
	commands := f.isAsPrinted(verb(t, environ, append(args, "-o", "json")...))
	f.inContainer(commands[0] + "\n" + commands[len(commands)-1]) // again, which changes nothing
	f.isAsPrinted(verb(t, environ, append(args, "-o", "json")...))

	globbed := f.egress + ".eu"
	f.createTopic(globbed, 1, nil)
	p := start(t, environ...)
	p.ready(time.Minute)
	to := func(target string) *kgo.Record {
		return &kgo.Record{Value: []byte(target), Headers: []kgo.RecordHeader{header("x-delay", "1s"), header("x-deliver-to", target)}}
	}
	f.produce(to(f.egress), to(f.egress+"-more"), to(globbed), &kgo.Record{Headers: []kgo.RecordHeader{header("x-delay", "soon")}})
	f.reachesEnd(time.Minute)
	for _, topic := range []string{f.egress, f.egress + "-more", globbed, f.deadLetters} {
		ends, err := f.ends(topic)
		if n := ends[0] + ends[1] + ends[2]; err != nil || n != 1 {
			t.Errorf("%d records in %s, %v", n, topic, err)
		}
	}
	f.scatterOverJournal(p)
	for line := range strings.Lines(p.log()) {
		if strings.Contains(line, "AUTHORIZATION") || strings.Contains(line, "allow ") {
			t.Errorf("the log says: %s", line)
		}
	}
	p.terminate()
}

// scatterOverJournal has so many offsets finish out of order that they go to the journal,
// which has to be written and deleted from.
func (f *fixture) scatterOverJournal(p *process) {
	f.Helper()
	const each = 20_000
	records := make([]*kgo.Record, each)
	for i := range records {
		records[i] = &kgo.Record{Partition: 0, Headers: []kgo.RecordHeader{header("x-delay", [...]string{"5h", "1s"}[i%2])}}
	}
	f.produce(records...)
	eventually(f.T, 2*time.Minute, "facts in the journal", func() bool { return p.status().Journal.Records > 0 })
}

// isAsPrinted compares the topics, their configuration and the ACLs that the broker has with
// those of -o json: there are no others. It returns the commands.
func (f *fixture) isAsPrinted(object string) []string {
	f.Helper()
	var want struct {
		Principal string
		Topics    []struct {
			Name       string
			Partitions int
			Config     map[string]string
		}
		ACLs []struct {
			Resource, Name, Pattern string
			Operations              []string
		}
		Commands []string
	}
	if err := json.Unmarshal([]byte(object), &want); err != nil {
		f.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(f.Context(), time.Minute)
	defer cancel()
	topics, err := f.admin.ListTopics(ctx)
	if err != nil {
		f.Fatal(err)
	}
	for _, topic := range want.Topics {
		if n := len(topics[topic.Name].Partitions); n != topic.Partitions {
			f.Errorf("%s has %d partitions, want %d", topic.Name, n, topic.Partitions)
		}
		configs, err := f.admin.DescribeTopicConfigs(ctx, topic.Name)
		if err != nil {
			f.Fatal(err)
		}
		set := make(map[string]string)
		for _, c := range configs[0].Configs {
			if c.Source.String() == "DYNAMIC_TOPIC_CONFIG" {
				set[c.Key] = c.MaybeValue()
			}
		}
		if !maps.Equal(set, topic.Config) {
			f.Errorf("%s has %v, want %v", topic.Name, set, topic.Config)
		}
		delete(topics, topic.Name)
	}
	for name := range topics {
		if strings.HasPrefix(name, strings.TrimSuffix(f.ingress, "delayed")) {
			f.Errorf("the topic %s was made besides", name)
		}
	}
	var acls, printed []string
	for _, a := range want.ACLs {
		for _, operation := range a.Operations {
			printed = append(printed, strings.ToUpper(fmt.Sprintf("%s %s %s %s %s", want.Principal, a.Resource, a.Name, a.Pattern, operation)))
		}
	}
	described, err := f.admin.DescribeACLs(ctx, kadm.NewACLs().Topics().Groups().Clusters().TransactionalIDs().Allow().AllowHosts().Deny().DenyHosts().Operations().ResourcePatternType(kadm.ACLPatternAny))
	if err != nil {
		f.Fatal(err)
	}
	for _, d := range described {
		for _, a := range d.Described {
			acls = append(acls, strings.ReplaceAll(strings.ToUpper(fmt.Sprintf("%s %s %s %s %s", a.Principal, a.Type, a.Name, a.Pattern, a.Operation)), "DESCRIBE_CONFIGS", "DESCRIBECONFIGS"))
		}
	}
	slices.Sort(acls)
	slices.Sort(printed)
	if acls = slices.Compact(acls); !slices.Equal(acls, printed) {
		f.Errorf("the broker has the ACLs\n%s\nwant\n%s", strings.Join(acls, "\n"), strings.Join(printed, "\n"))
	}
	return want.Commands
}
