package integration

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"layover/delay"
)

// clientsDocument has the programs of producers and consumers, a section each.
const clientsDocument = "../docs/clients.md"

// runners run the programs of a language, by the kind of their blocks. Each names the
// program that has to be installed, and the command in front of a program's name.
var runners = map[string]struct{ needs, command string }{
	"python":     {"python3", "venv/bin/python"},
	"java":       {"mvn", "java -cp 'lib/*'"},
	"javascript": {"npm", "node"},
}

// clients is a section of the document.
type clients struct {
	title, language string
	setup           []string          // its shell blocks
	files           map[string]string // by name, which is each program's first line
	send, receive   string            // two of these names
}

var (
	nameOf   = regexp.MustCompile(`^(?:#|//|<!--) ([\w.]+)`)
	greeting = regexp.MustCompile(`hello from [\w-]+`)
	pinned   = regexp.MustCompile(`confluent-kafka==([\d.]+)|kafka-python\[snappy\]==([\d.]+)|kafkajs@([\d.]+)|<artifactId>kafka-clients</artifactId>\s*<version>([\d.]+)`)
)

// clientsOfTheDocument returns the sections that have programs.
func clientsOfTheDocument(t *testing.T) (all []clients, text string) {
	t.Helper()
	raw, err := os.ReadFile(clientsDocument)
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range strings.Split(string(raw), "\n## ")[1:] {
		title, _, _ := strings.Cut(section, "\n")
		c := clients{title: title, files: make(map[string]string)}
		for _, b := range blocks(section) {
			if b.kind == "sh" {
				c.setup = append(c.setup, b.text)
				continue
			}
			name := nameOf.FindStringSubmatch(b.text)
			if name == nil {
				t.Fatalf("%s: a block of kind %q does not begin with the name of its file", title, b.kind)
			}
			c.files[name[1]] = b.text
			if b.kind != "xml" {
				c.language = b.kind
			}
			switch strings.ToLower(strings.TrimSuffix(name[1], filepath.Ext(name[1]))) {
			case "send":
				c.send = name[1]
			case "receive":
				c.receive = name[1]
			}
		}
		if len(c.files) > 0 {
			all = append(all, c)
		}
	}
	return all, string(raw)
}

func TestTheClientsOfTheDocumentNameOurHeadersAndTheirVersions(t *testing.T) {
	all, text := clientsOfTheDocument(t)
	if len(all) != 4 {
		t.Fatalf("%d sections with programs", len(all))
	}
	table, _, _ := strings.Cut(text, "\n## ")
	for _, c := range all {
		sent, received := c.files[c.send], c.files[c.receive]
		if runners[c.language].command == "" || !strings.Contains(sent, `"`+delay.HeaderDelay+`"`) || !strings.Contains(sent, greeting.FindString(sent)) {
			t.Errorf("%s: the producer writes no %s:\n%s", c.title, delay.HeaderDelay, sent)
		}
		for _, header := range []string{delay.HeaderID, delay.HeaderDue} {
			if !strings.Contains(received, `"`+header+`"`) {
				t.Errorf("%s: the consumer reads no %s:\n%s", c.title, header, received)
			}
		}
		version := pinned.FindStringSubmatch(strings.Join(c.setup, "") + c.files["pom.xml"])
		if version == nil || !strings.Contains(table, " "+strings.Join(version[1:], "")+" |") {
			t.Errorf("%s: its version, %q, is not in the table", c.title, version)
		}
	}
}

// TestTheClientsOfTheDocumentWork runs each consumer, then its producer, and waits for
// the record to come out, no sooner than its delay says.
func TestTheClientsOfTheDocumentWork(t *testing.T) {
	t.Parallel()
	long(t)
	need(t, shared.broker)
	need(t, shared.binary)
	b := need(t, func() (*broker, error) { return startBroker(shared) })
	t.Cleanup(func() {
		if err := b.terminate(); err != nil {
			t.Error(err)
		}
	})
	s := newShell(t, b)
	s.createTopics("delayed", "ready", "dead-letters")
	s.start("docs/clients", 0, "exec layover")
	all, _ := clientsOfTheDocument(t)
	for _, c := range all {
		t.Run(c.title, func(t *testing.T) { c.run(t, s) })
	}
}

// run installs what the section says in a folder of its own, and runs its programs.
func (c *clients) run(t *testing.T, s *shell) {
	runner := runners[c.language]
	if _, err := exec.LookPath(runner.needs); err != nil {
		t.Skipf("skipped: %s is not installed", runner.needs)
	}
	dir := t.TempDir()
	for name, text := range c.files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.ReplaceAll(text, "localhost:9092", s.broker.addr)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := func(ctx context.Context, text string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "bash", "-e", "-c", text)
		cmd.Dir = dir
		return cmd
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	for _, text := range c.setup {
		if out, err := command(ctx, text).CombinedOutput(); err != nil {
			t.Skipf("skipped: its packages are not to be had here: %v\n%s", err, out)
		}
	}
	printed := new(buffer)
	consumer := command(ctx, "exec "+runner.command+" "+c.receive)
	consumer.Stdout, consumer.Stderr = printed, printed
	inGroup(consumer)
	if err := consumer.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		endGroup(consumer)
		consumer.Wait()
	}()
	began := time.Now()
	if out, err := command(ctx, runner.command+" "+c.send).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", c.send, err, out)
	}
	want := regexp.MustCompile(`(?m)^` + greeting.FindString(c.files[c.send]) + ` (delayed-\d-\d+) (\S+)$`)
	var said []string
	defer func() {
		if t.Failed() {
			t.Logf("%s printed:\n%s", c.receive, printed)
		}
	}()
	eventually(t, time.Minute, fmt.Sprintf("%s prints what %s wrote", c.receive, c.send), func() bool {
		said = want.FindStringSubmatch(printed.String())
		return said != nil
	})
	due, err := time.Parse(instant, said[2])
	if now := time.Now(); err != nil || now.Before(due) || due.Before(began.Add(3*time.Second).Truncate(time.Millisecond)) {
		t.Errorf("due %s (%v), sent after %v, printed %v", said[2], err, began, now)
	}
}
