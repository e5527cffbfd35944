package integration

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/testcontainers/testcontainers-go"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"layover/integration/engine"
)

var places = regexp.MustCompile(`\b(delayed|retry|ready-retry|dead-letters)-\d+-\d+|\d{4}-\d\d-\d\dT[\d:.]+Z`)

// withoutPlaces leaves out the ids of records and the instants, but no other number.
func withoutPlaces(text string) string { return places.ReplaceAllString(text, "#") }

// recipeShell is a shell beside the programs that a recipe says to start. They run on
// the embedded broker alone, or on one of Kafka with the same settings and topics.
func recipeShell(t *testing.T, r *recipe, kafka bool) *shell {
	t.Helper()
	for _, program := range []string{"bash", "curl", "kcat", "go"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("skipped: the recipes use %s, which is not installed", program)
		}
	}
	if kafka {
		return kafkaShell(t, r)
	}
	s := devShell(t)
	for _, b := range r.set {
		s.step(r, b)
	}
	if !s.runs {
		t.Fatalf("%s starts no Layover", r.name)
	}
	return s
}

// devShell is a shell for the embedded broker.
func devShell(t *testing.T) *shell {
	t.Helper()
	port1, err1 := engine.FreePort()
	port2, err2 := engine.FreePort()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	s := &shell{
		T: t, dir: t.TempDir(), stop: func() {}, said: new(buffer),
		http: fmt.Sprintf("127.0.0.1:%d", port1), dev: fmt.Sprintf("127.0.0.1:%d", port2),
	}
	s.kafka = s.dev
	s.env = environ("LAYOVER_HTTP_ADDR=" + s.http)
	t.Cleanup(func() { s.stop() })
	return s
}

// ingressFlag is one more topic of a command of [devCommand].
var ingressFlag = regexp.MustCompile(` --ingress (\S+)`)

// kafkaShell is a shell on a broker of Kafka, with the recipe's settings and topics.
func kafkaShell(t *testing.T, r *recipe) *shell {
	t.Helper()
	b := need(t, func() (*broker, error) {
		return startBroker(shared, func(_ *broker, described *testcontainers.ContainerRequest) {
			described.Env["KAFKA_SHARE_COORDINATOR_STATE_TOPIC_REPLICATION_FACTOR"] = "1"
			described.Env["KAFKA_SHARE_COORDINATOR_STATE_TOPIC_MIN_ISR"] = "1"
		})
	})
	t.Cleanup(func() {
		if err := b.terminate(); err != nil {
			t.Error(err)
		}
	})
	s := newShell(t, b)
	ingress := []string{"delayed"}
	settings, flags, _ := strings.Cut(r.set[0].text, devCommand)
	for _, flag := range ingressFlag.FindAllStringSubmatch(flags, -1) {
		ingress = append(ingress, flag[1])
	}
	s.createTopics(append(ingress, "ready", "dead-letters")...)
	s.start("docs/recipes/"+r.name, r.set[0].line, "LAYOVER_INGRESS_TOPICS="+strings.Join(ingress, ",")+" "+settings+"layover")
	return s
}

// here is a text with the addresses of this shell.
func (s *shell) here(text string) string {
	return strings.NewReplacer("localhost:9092", s.kafka, "localhost:9846", s.http,
		devCommand, s.layover("dev --addr "+s.dev), "go run . ", s.layover("")).Replace(text)
}

// layover is a command of a checkout, from the shell's folder.
func (s *shell) layover(words string) string {
	return "go -C '" + s.root() + "' run . " + words
}

// step runs one block of a recipe.
func (s *shell) step(r *recipe, b block) {
	s.Helper()
	doc := "docs/recipes/" + r.name
	switch b.kind {
	case "sh":
		s.run(doc, b.line, s.here(b.text))
	case "sh background":
		s.start(doc, b.line, s.here(b.text))
	case "text":
		for want := range strings.Lines(b.text) { // numbers count here, but for ids and instants
			if !strings.Contains(withoutPlaces(s.last), strings.TrimRight(withoutPlaces(want), "\n")) {
				s.Errorf("%s.md:%d: %q is not printed:\n%s", doc, b.line, want, s.last)
			}
		}
	default:
		s.Fatalf("%s.md:%d: a block of kind %q", doc, b.line, b.kind)
	}
}

// waited compares how long each record that was delivered waited, by its own headers. A
// header that Layover does not know would change no line of a program.
func (s *shell) waited(want []span) {
	s.Helper()
	f := &fixture{T: s.T, broker: &broker{addr: s.kafka}}
	f.client = f.kafka(kgo.SeedBrokers(s.kafka))
	f.admin = kadm.NewClient(f.client)
	var got []time.Duration
	for _, r := range s.read(f, "ready") {
		due, delivered := lookup(s.T, r, "layover-due")
		written, _ := lookup(s.T, r, "layover-original-timestamp")
		if !delivered {
			continue
		}
		from, err1 := time.Parse(instant, written)
		until, err2 := time.Parse(instant, due)
		if err1 != nil || err2 != nil {
			s.Fatal(err1, err2)
		}
		got = append(got, until.Sub(from))
	}
	slices.Sort(got)
	if !slices.EqualFunc(got, want, func(got time.Duration, want span) bool { return got >= want.least && got <= want.most }) {
		s.Errorf("the records waited %v, want %v", got, want)
	}
}
