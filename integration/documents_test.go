package integration

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"layover/integration/engine"
	played "layover/verify/long"
)

// run are the documents whose commands are run here, each in an empty folder on a broker
// without topics. A document that says that topics have to exist gets them. elsewhere
// are the others that have commands, with what runs those. A block that begins with ```sh
// is run and has to end well. One with ```sh background goes on until the document ends. A
// ```console block is a command that goes on, with what it prints. The lines of a ```text
// block have to be among what the block before it printed, but for numbers. An ```env
// block is the file that the next block reads.
var documents = struct {
	run       []string
	elsewhere map[string]string
}{
	run: []string{"README", "docs/quickstart", "docs/headers", "docs/presets", "docs/journal", "docs/configuration", "docs/command-line", "docs/doctor", "docs/timeouts", "docs/backoff",
		"docs/dead-letters", "docs/runs"},
	elsewhere: map[string]string{
		"docs/clients":    "TestTheClientsOfTheDocumentWork",
		"docs/acls":       "TestTheACLsOfTheDocumentAreEnough",
		"docs/connect":    "TestTheExamplesOfTheDocumentWork",
		"docs/container":  "TestTheCommandsOfTheDocumentWork in integration/container",
		"docs/kubernetes": "TestOnACluster",
		"docs/operating":  "TestTheCommandsOfTheDocumentWork in deploy/monitoring, those of Kafka below, and of Kubernetes in TestOnACluster",
		"docs/sizing":     "it has a formula and no command",
		"docs/recipes":    "TestTheCommandsOfTheRecipesWork, and the tests of their programs beside it",
		"docs/benchmarks": "bench has a test of its own, and the long runs are what the document is made of",
	},
}

// block is one fenced block of a document.
type block struct {
	kind, text string
	line       int
}

// blocks returns the fenced blocks of a document.
func blocks(text string) (out []block) {
	fence := regexp.MustCompile("(?ms)^```([^\n]*)\n(.*?)^```$")
	for _, at := range fence.FindAllStringSubmatchIndex(text, -1) {
		out = append(out, block{text[at[2]:at[3]], text[at[4]:at[5]], 1 + strings.Count(text[:at[0]], "\n")})
	}
	return out
}

func TestTheCommandsOfEveryDocumentAreRunSomewhere(t *testing.T) {
	files, err1 := filepath.Glob("../docs/*.md")
	inFolders, err2 := filepath.Glob("../docs/*/*.md")
	if err1 != nil || err2 != nil || len(files) == 0 || len(inFolders) == 0 {
		t.Fatalf("%d documents, %d in folders, %v, %v", len(files), len(inFolders), err1, err2)
	}
	for _, file := range append(files, inFolders...) {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "../"), ".md")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, elsewhere := documents.elsewhere[name]
		_, folder := documents.elsewhere[path.Dir(name)]
		if here := slices.Contains(documents.run, name); here || elsewhere || folder {
			continue
		}
		if all := blocks(string(text)); len(all) > 0 || strings.Contains(string(text), "\n    ") {
			t.Errorf("%s.md has commands that nothing is said to run", name)
		}
	}
}

func TestTheCommandsOfTheDocumentsWork(t *testing.T) {
	t.Parallel()
	need(t, shared.broker)
	need(t, shared.binary)
	for _, program := range []string{"bash", "curl", "kcat"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("skipped: the documents use %s, which is not installed", program)
		}
	}
	b := need(t, func() (*broker, error) { return startBroker(shared) })
	t.Cleanup(func() {
		if err := b.terminate(); err != nil {
			t.Error(err)
		}
	})
	t.Run("docs/operating", func(t *testing.T) { newShell(t, b).operating() })
	for _, name := range documents.run {
		t.Run(name, func(t *testing.T) {
			if name != "README" && name != "docs/quickstart" {
				played.InChecks(t)
			}
			text, err := os.ReadFile("../" + name + ".md")
			if err != nil {
				t.Fatal(err)
			}
			s := newShell(t, b)
			switch name {
			case "README", "docs/journal", "docs/runs", "docs/command-line", "docs/doctor", "docs/timeouts", "docs/backoff":
				s.createTopics("delayed", "ready", "dead-letters")
			case "docs/configuration": // it sets all of them
				s.env = slices.DeleteFunc(s.env, func(pair string) bool {
					return strings.HasPrefix(pair, "LAYOVER_") || strings.HasPrefix(pair, "KAFKA_")
				})
			}
			s.text = string(text)
			for _, block := range blocks(s.text) {
				s.block(name, block)
			}
			s.outcomes(name, s.text)
		})
	}
}

// shell is a user who types what a document says.
type shell struct {
	*testing.T
	broker *broker
	dir    string
	http   string // where the document says localhost:9846
	kafka  string // where it says localhost:9092
	dev    string // where the embedded broker is
	env    []string
	text   string // of the document
	last   string // what the last block printed
	runs   bool   // a Layover does, in the background
	said   *buffer
	stop   func() // ends what goes on in the background
}

// newShell returns a shell whose commands find layover and Kafka's tools.
func newShell(t *testing.T, b *broker) *shell {
	t.Helper()
	binary := need(t, shared.binary)
	port1, err1 := engine.FreePort()
	port2, err2 := engine.FreePort()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	s := &shell{
		T: t, broker: b, dir: t.TempDir(), kafka: b.addr,
		stop: func() {}, said: new(buffer), http: fmt.Sprintf("127.0.0.1:%d", port1), dev: fmt.Sprintf("127.0.0.1:%d", port2),
	}
	tool := fmt.Sprintf("#!/bin/bash\nexec %s exec -i %s /opt/kafka/bin/$(basename \"$0\") \"${@//%s/localhost:9094}\"\n",
		engine.Client(), b.container.GetContainerID(), b.addr)
	for _, name := range []string{"kafka-topics.sh", "kafka-configs.sh", "kafka-console-producer.sh", "kafka-console-consumer.sh",
		"kafka-consumer-groups.sh", "kafka-broker-api-versions.sh"} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(tool), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.env = append(environ("LAYOVER_HTTP_ADDR="+s.http, "KAFKA_BROKERS="+b.addr,
		"LAYOVER_INGRESS_TOPICS=delayed", "LAYOVER_EGRESS_TOPIC=ready", "LAYOVER_DLQ_TOPIC=dead-letters"),
		"PATH="+s.dir+":"+filepath.Dir(binary)+":"+os.Getenv("PATH"))
	t.Cleanup(func() {
		s.stop()
		s.clean()
	})
	return s
}

// clean takes the broker back to what the next document expects.
func (s *shell) clean() {
	f := &fixture{T: s.T, broker: s.broker}
	adm := kadm.NewClient(f.kafka())
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	topics, err := adm.ListTopics(ctx)
	if err != nil {
		s.Error(err)
		return
	}
	if _, err := adm.DeleteTopics(ctx, topics.Names()...); err != nil {
		s.Error(err)
	}
	groups, err := adm.ListGroups(ctx)
	if err != nil {
		s.Error(err)
		return
	}
	if _, err := adm.DeleteGroups(ctx, groups.Groups()...); err != nil {
		s.Error(err)
	}
}

// kafkasTools are the lines of docs/operating.md for Kafka's own tools; those with a
// word, or without it.
func kafkasTools(t *testing.T, word string, with bool) (out []string) {
	t.Helper()
	text, err := os.ReadFile("../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line, is := strings.CutPrefix(line, "    kafka-")
		if is && strings.Contains(line, word) == with {
			out = append(out, "kafka-"+strings.ReplaceAll(strings.TrimSpace(line), "kafka:9092", "localhost:9092"))
		}
	}
	if len(out) == 0 {
		t.Fatal("docs/operating.md uses none of Kafka's tools")
	}
	return out
}

// operating runs what docs/operating.md asks Kafka beside a running Layover. The rest of
// it is run beside the alerts that it is about.
func (s *shell) operating() {
	s.Helper()
	s.createTopics("delayed", "ready", "dead-letters")
	s.start("docs/operating", 0, "exec layover")
	for _, line := range kafkasTools(s.T, "acls.sh", false) {
		s.run("docs/operating", 0, strings.ReplaceAll(line, "localhost:9092", s.kafka))
	}
}

// block runs one block. Only addresses are changed in it.
func (s *shell) block(doc string, b block) {
	s.Helper()
	text := b.text
	if b.kind == "console" {
		s.console(doc, b)
		return
	}
	if strings.Contains(text, devCommand) { // a document that begins with the embedded broker uses it until there are topics
		s.kafka = s.dev
		text = s.devHere(text)
	} else if s.kafka == s.dev && strings.Contains(text, "kafka-topics.sh") && strings.Contains(text, "--create") {
		s.outcomes(doc, s.text)
		s.stop()
		s.kafka = s.broker.addr
	}
	text = strings.NewReplacer("localhost:9092", s.kafka, "localhost:9846", s.http).Replace(text)
	switch b.kind {
	case "sh":
		s.run(doc, b.line, text)
	case "sh background":
		s.start(doc, b.line, text)
	case "env": // a file that the document calls so
		if err := os.WriteFile(filepath.Join(s.dir, ".env"), []byte(text), 0o600); err != nil {
			s.Fatal(err)
		}
	case "text":
		s.compare(doc, b)
	case "mermaid", "ini": // a picture, and settings of a cluster that is elsewhere
	default:
		s.Fatalf("%s.md:%d: a block of kind %q", doc, b.line, b.kind)
	}
}

const devCommand = "go run . dev"

// devHere is the command that starts the embedded broker, with an address and a folder
// of this test.
func (s *shell) devHere(text string) string {
	return strings.ReplaceAll(text, devCommand, "cd '"+s.root()+"' && exec "+devCommand+" --addr "+s.dev+" --data-dir '"+s.dir+"/dev'")
}

// console starts the command of a block and waits for all that it is said to print.
func (s *shell) console(doc string, b block) {
	s.Helper()
	command, printed, _ := strings.Cut(strings.TrimPrefix(b.text, "$ "), "\n")
	if command != devCommand {
		s.Fatalf("%s.md:%d: %q is run by nothing", doc, b.line, command)
	}
	s.start(doc, b.line, s.devHere(command))
	printed = strings.NewReplacer("/home/you/.cache/layover/dev", s.dir+"/dev", "127.0.0.1:9092", s.dev, "127.0.0.1:9846", s.http).Replace(printed)
	eventually(s.T, 30*time.Second, "the last line is printed", func() bool {
		s.last = s.said.String()
		lines := strings.Split(strings.TrimSpace(printed), "\n")
		return strings.Contains(withoutNumbers(s.last), withoutNumbers(lines[len(lines)-1]))
	})
	s.compare(doc, block{text: printed, line: b.line})
	_, next, _ := strings.Cut(printed, "Try next")
	s.kafka = s.dev
	for line := range strings.Lines(next) {
		if command, is := strings.CutPrefix(line, "  "); is {
			command = strings.ReplaceAll(strings.TrimSpace(command), "go run . ", "layover ")
			if strings.HasPrefix(command, "kcat -C ") { // it goes on until Ctrl-C
				command += " -c 1"
			}
			s.run(doc, b.line, command)
		}
	}
	s.outcomes(doc, s.text)
	s.stop()
	s.kafka = s.broker.addr
}

func (s *shell) createTopics(names ...string) {
	s.Helper()
	f := &fixture{T: s.T, broker: s.broker}
	f.client = f.kafka()
	f.admin = kadm.NewClient(f.client)
	for _, name := range names {
		f.createTopic(name, 4, nil)
	}
}

func (s *shell) root() string {
	root, err := filepath.Abs("..")
	if err != nil {
		s.Fatal(err)
	}
	return root
}

// run runs a block and keeps what it exported.
func (s *shell) run(doc string, line int, text string) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 90*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-e", "-o", "pipefail", "-c", text+"\nenv -0 >'"+s.dir+"/env'")
	cmd.Env, cmd.Dir = s.env, s.dir
	inGroup(cmd) // a kcat that waits for a record would keep the output open
	cmd.Cancel = func() error { endGroup(cmd); return nil }
	out, err := cmd.CombinedOutput()
	s.last = string(out)
	if err != nil {
		s.Fatalf("%s.md:%d: %v\n%s\nprinted:\n%s\nin the background:\n%s", doc, line, err, text, out, s.said.String())
	}
	exported, err := os.ReadFile(filepath.Join(s.dir, "env"))
	if err != nil {
		s.Fatal(err)
	}
	s.env = strings.Split(strings.TrimRight(string(exported), "\x00"), "\x00")
}

// start starts a block and waits until Layover in it is ready.
func (s *shell) start(doc string, line int, text string) {
	s.Helper()
	s.stop()
	cmd := exec.Command("bash", "-e", "-c", text)
	cmd.Env, cmd.Dir = s.env, s.dir
	cmd.Stdout, cmd.Stderr = s.said, s.said
	inGroup(cmd)
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends with the process
	s.runs = true
	s.stop = func() {
		endGroup(cmd)
		<-ended
		s.stop, s.runs = func() {}, false
	}
	probe := exec.Command("curl", "-fs", "--retry", "60", "--retry-delay", "1", "--retry-all-errors", "http://"+s.http+"/readyz")
	if out, err := probe.CombinedOutput(); err != nil {
		s.Fatalf("%s.md:%d: not ready: %v %s\n%s", doc, line, err, out, s.said.String())
	}
}

// compare looks for each line of an expected output in what the last block printed,
// whatever the numbers.
func (s *shell) compare(doc string, b block) {
	s.Helper()
	printed := withoutNumbers(s.last)
	for _, want := range strings.Split(strings.TrimRight(b.text, "\n"), "\n") {
		if !strings.Contains(printed, withoutNumbers(want)) {
			s.Errorf("%s.md:%d: %q is not printed:\n%s", doc, b.line, want, s.last)
		}
	}
}

var (
	numbers = regexp.MustCompile(`[0-9]+`)
	blanks  = regexp.MustCompile(` +`)
)

// withoutNumbers leaves out what differs from one run to the next, columns included.
func withoutNumbers(text string) string {
	return blanks.ReplaceAllString(numbers.ReplaceAllString(text, "#"), " ")
}
