package integration

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/testcontainers/testcontainers-go"
	tcexec "github.com/testcontainers/testcontainers-go/exec"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
)

// authorize makes a broker that allows nothing to whoever connects without a login,
// as Layover does, and everything to admin. The listener VIA wants the login, and is
// advertised where it is published: there is no proxy.
func authorize(b *broker, r *testcontainers.ContainerRequest) {
	const login = `org.apache.kafka.common.security.plain.PlainLoginModule required username="admin" password="admin" user_admin="admin";`
	for name, value := range map[string]string{
		"ADVERTISED_LISTENERS":                            "PLAINTEXT://" + b.addr + ",SELF://localhost:9094,VIA://" + b.behind,
		"LISTENER_SECURITY_PROTOCOL_MAP":                  "CONTROLLER:SASL_PLAINTEXT,PLAINTEXT:PLAINTEXT,SELF:SASL_PLAINTEXT,VIA:SASL_PLAINTEXT",
		"SASL_ENABLED_MECHANISMS":                         "PLAIN",
		"SASL_MECHANISM_INTER_BROKER_PROTOCOL":            "PLAIN",
		"SASL_MECHANISM_CONTROLLER_PROTOCOL":              "PLAIN",
		"LISTENER_NAME_SELF_PLAIN_SASL_JAAS_CONFIG":       login,
		"LISTENER_NAME_VIA_PLAIN_SASL_JAAS_CONFIG":        login,
		"LISTENER_NAME_CONTROLLER_PLAIN_SASL_JAAS_CONFIG": login,
		"AUTHORIZER_CLASS_NAME":                           "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
		"SUPER_USERS":                                     "User:admin",
	} {
		r.Env["KAFKA_"+name] = value
	}
}

// guarded is a Layover with the names of the document, on a broker that authorizes.
type guarded struct {
	*fixture
	layover *process
}

// acls runs kafka-acls.sh in the broker's container, where Layover's name is that of
// who has not logged in.
func (g *guarded) acls(arguments string) {
	g.Helper()
	const admin = `security.protocol=SASL_PLAINTEXT
sasl.mechanism=PLAIN
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="admin" password="admin";`
	arguments = strings.NewReplacer("localhost:9092", "localhost:9094", "User:layover", "User:ANONYMOUS", "\\\n", " ").Replace(arguments)
	script := "echo '" + admin + "' >/tmp/admin.properties; exec /opt/kafka/bin/" + arguments + " --command-config /tmp/admin.properties"
	code, out, err := g.broker.container.Exec(g.Context(), []string{"sh", "-c", shortLived + script}, tcexec.Multiplexed())
	if err != nil {
		g.Fatal(err)
	}
	if said, _ := io.ReadAll(out); code != 0 {
		g.Fatalf("%s: exit code %d: %s", arguments, code, said)
	}
}

// status waits until the status has all of the words.
func (g *guarded) status(words ...string) {
	g.Helper()
	eventually(g.T, 45*time.Second, strings.Join(words, ", "), func() bool {
		_, text := g.layover.get("/status")
		for _, w := range words {
			if !strings.Contains(text, w) {
				return false
			}
		}
		return true
	})
}

// logs waits until the log has the words behind what it was at the mark.
func (g *guarded) logs(mark int, words string) {
	g.Helper()
	eventually(g.T, 45*time.Second, words, func() bool { return strings.Contains(g.layover.log()[mark:], words) })
}

// TestTheACLsOfTheDocumentAreEnough: without them Layover says what is missing, with them
// all works, the journal included, and one that is taken away is said.
func TestTheACLsOfTheDocumentAreEnough(t *testing.T) {
	long(t)
	t.Parallel()
	need(t, shared.broker)
	need(t, shared.binary)
	b := need(t, func() (*broker, error) { return startBroker(shared, authorize) })
	t.Cleanup(func() {
		if err := b.terminate(); err != nil {
			t.Error(err)
		}
	})
	g := &guarded{fixture: &fixture{T: t, broker: b, ingress: "delayed", egress: "ready", deadLetters: "dead-letters", group: "layover-delayed"}}
	g.client = g.kafka(kgo.SeedBrokers(b.behind), kgo.SASL(plain.Auth{User: "admin", Pass: "admin"}.AsMechanism()))
	g.admin = kadm.NewClient(g.client)
	for _, topic := range []string{g.ingress, g.egress, g.deadLetters} {
		g.createTopic(topic, 2, nil)
	}
	g.layover = start(t, g.settings("LAYOVER_TARGET_PATIENCE=5m")...)
	g.status("topic delayed is forbidden", "topic ready is forbidden", "topic dead-letters is forbidden")

	for _, command := range aclCommands(t) {
		g.acls(command)
	}
	g.layover.ready(time.Minute)
	g.status(`"state": "usable"`) // the journal
	g.delivers("granted")
	g.produce(&kgo.Record{Value: []byte("bad"), Headers: []kgo.RecordHeader{header("x-delay", "soon")}})
	g.reachesEnd(30 * time.Second)

	for _, command := range kafkasTools(t, "acls.sh", true) {
		g.acls(command)
	}
	for acl, said := range map[string]func(mark int){
		"--topic ready --operation Write":          func(int) { g.status(`"state": "forbidden"`) },
		"--topic delayed --operation Read":         func(mark int) { g.logs(mark, "TOPIC_AUTHORIZATION_FAILED") },
		"--group layover-delayed --operation Read": func(int) { g.status(`"error": "GROUP_AUTHORIZATION_FAILED`) },
	} {
		mark := len(g.layover.log())
		g.acls("kafka-acls.sh --bootstrap-server localhost:9092 --remove --force --allow-principal User:layover " + acl)
		g.produce(&kgo.Record{Value: []byte(acl), Headers: []kgo.RecordHeader{header("x-delay", "1s")}})
		said(mark)
		g.acls("kafka-acls.sh --bootstrap-server localhost:9092 --add --allow-principal User:layover " + acl)
		g.delivers(acl)
	}
	g.showsTheJournal()
	g.redrivesWithItsOwnRights()
}

// showsTheJournal takes all rights away but those that journal show is said to need, and
// all settings but those that it is said to read.
func (g *guarded) showsTheJournal() {
	g.Helper()
	g.layover.terminate()
	const kafkaACLs = "kafka-acls.sh --bootstrap-server localhost:9092 "
	const journal = "delayed.layover-delayed"
	for _, resource := range []string{"--topic delayed", "--topic ready", "--topic dead-letters", "--topic " + journal, "--group layover-delayed"} {
		g.acls(kafkaACLs + "--remove --force " + resource)
	}
	show := func() (string, error) {
		cmd := exec.CommandContext(g.Context(), need(g.T, shared.binary), "journal", "show", "--topic", "delayed")
		cmd.Env = environ("KAFKA_BROKERS=" + g.broker.addr)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := show(); err == nil {
		g.Errorf("without a right it prints %s", out)
	}
	add := kafkaACLs + "--add --allow-principal User:layover "
	g.acls(add + "--topic delayed --operation Describe")
	g.acls(add + "--topic " + journal + " --operation Describe --operation Read")
	g.acls(add + "--group layover-delayed --operation Describe")
	var out string
	var err error
	defer func() {
		if g.Failed() {
			g.Logf("journal show: %v\n%s", err, out)
		}
	}()
	eventually(g.T, 30*time.Second, "journal show has the rights that it needs", func() bool {
		out, err = show()
		return err == nil && strings.Contains(out, "delayed/1: journal "+journal+"/1 ")
	})
}

// delivers writes a record and waits until the group's offsets say that it is finished.
func (g *guarded) delivers(value string) {
	g.Helper()
	g.produce(&kgo.Record{Value: []byte(value), Headers: []kgo.RecordHeader{header("x-delay", "1s")}})
	g.reachesEnd(time.Minute)
}

// aclCommands are the commands of the document.
func aclCommands(t *testing.T) (out []string) {
	t.Helper()
	doc, err := os.ReadFile("../docs/acls.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(doc), "```sh\n")
	block, _, _ = strings.Cut(block, "```")
	for _, command := range strings.Split(strings.TrimSpace(block), "\nkafka-acls.sh") {
		out = append(out, "kafka-acls.sh "+strings.TrimPrefix(command, "kafka-acls.sh"))
	}
	if len(out) != 6 {
		t.Fatalf("%d commands in the document, want 6: %q", len(out), out)
	}
	return out
}
