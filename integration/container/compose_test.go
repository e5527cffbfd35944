package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/integration/engine"
)

// firstRecordWithin is what a user is promised who has the images.
const firstRecordWithin = time.Minute

// findCompose returns the command of a compose that works with the engine:
// LAYOVER_TEST_COMPOSE, or the first of those that are there.
func findCompose() ([]string, error) {
	c, err := shared.engine()
	if err != nil {
		return nil, err
	}
	candidates := [][]string{{string(c.CLI), "compose"}, {"docker-compose"}, {"docker", "compose"}}
	if strings.HasSuffix(string(c.CLI), "podman") {
		candidates = append(candidates, []string{"podman-compose"})
	}
	if chosen := strings.Fields(os.Getenv("LAYOVER_TEST_COMPOSE")); len(chosen) > 0 {
		candidates = [][]string{chosen}
	}
	for _, candidate := range candidates {
		path, err := exec.LookPath(candidate[0])
		if err != nil {
			continue
		}
		candidate[0] = path // the shell of the test has a docker of its own
		if exec.Command(path, append(candidate[1:], "version")...).Run() == nil {
			return candidate, nil
		}
	}
	return nil, engine.Unavailable(fmt.Sprintf("no compose is here, tried %q", candidates))
}

// composed is the compose file while it is up.
type composed struct {
	*shell
	t           *testing.T
	kafka, http string // host:port
}

// compose makes a shell for the document's commands with a project of its own. The
// project has ports and images of its own, which are removed when the test ends.
func compose(t *testing.T) *composed {
	t.Helper()
	client, kafka := need(t, shared.engine), need(t, shared.kafka)
	need(t, shared.image) // where that cannot be built, it was found out once
	command := need(t, findCompose)
	port1, err1 := engine.FreePort()
	port2, err2 := engine.FreePort()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	s := &composed{t: t, kafka: "localhost:" + strconv.Itoa(port1), http: "localhost:" + strconv.Itoa(port2)}
	s.shell = newShell(t, command, "localhost:9092", s.kafka, "localhost:9846", s.http)
	image := "layover-test:" + engine.Random()
	s.env = append(s.env, "COMPOSE_PROJECT_NAME=layovertest"+engine.Random(), "LAYOVER_COMPOSE_KAFKA_IMAGE="+kafka, "LAYOVER_COMPOSE_IMAGE="+image,
		"LAYOVER_COMPOSE_KAFKA_PORT="+strconv.Itoa(port1), "LAYOVER_COMPOSE_HTTP_PORT="+strconv.Itoa(port2))
	shared.later(client.Removal("image", "rm", "--force", image))
	down := sync.OnceValue(func() error { _, err := s.run(time.Minute, "docker compose down --volumes"); return err })
	shared.later(down)
	t.Cleanup(func() {
		if t.Failed() {
			out, err := s.run(engine.AskTimeout, "docker compose logs layover samples topics consumer")
			t.Logf("%s\n%v", out, err)
		}
		if err := down(); err != nil {
			t.Error(err)
		}
	})
	t.Logf("%s: %s", strings.Join(command, " "), engine.FirstLine(errors.New(s.must(t, engine.AskTimeout, "docker compose version"))))
	return s
}

// next returns the next record with a key that a client reads, within a time.
func (s *composed) next(client *kgo.Client, key string, within time.Duration) *kgo.Record {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), within)
	defer cancel()
	for {
		fetches := client.PollFetches(ctx)
		for _, r := range fetches.Records() {
			if key == "" || string(r.Key) == key {
				return r
			}
		}
		if ctx.Err() != nil {
			s.t.Fatalf("no record %q in ready within %v", key, within)
		}
	}
}

func TestComposeDeliversTheFirstDelayedRecordWithinAMinute(t *testing.T) {
	long(t)
	s := compose(t)
	sections := blocks(t, "Compose")
	up, logs, _ := strings.Cut(sections[0], "\n")
	s.must(t, engine.BuildTimeout, "docker compose build") // so that the time is without what is downloaded and compiled

	began := time.Now()
	s.must(t, 3*time.Minute, up)
	started := time.Since(began)
	client, err := kgo.NewClient(kgo.SeedBrokers(s.kafka), kgo.ConsumeTopics("ready"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	first := s.next(client, "", 2*time.Minute)
	took := time.Since(began)
	t.Logf("the command came back after %v, the first delayed record was read after %v", started.Round(100*time.Millisecond), took.Round(100*time.Millisecond))
	if took > firstRecordWithin {
		t.Errorf("the first delayed record came after %v, want %v at most", took, firstRecordWithin)
	}
	sampleIsOnTime(t, first)

	// The consumer has printed the record as well.
	id := headerOf(first, "layover-id")
	eventually(t, 20*time.Second, "the consumer has printed "+id, func() bool {
		out, err := s.run(engine.AskTimeout, logs)
		return err == nil && strings.Contains(out, id) && strings.Contains(out, string(first.Value))
	})
	s.isConfined()
	s.takesRecords(client, sections[1])
	s.must(t, 2*time.Minute, sections[2])
	if left := s.must(t, engine.AskTimeout, "docker compose ps -q"); strings.TrimSpace(left) != "" {
		t.Errorf("these containers are left: %s", left)
	}
}

// sampleIsOnTime asserts that a sample came out when it says that it should.
func sampleIsOnTime(t *testing.T, r *kgo.Record) {
	t.Helper()
	seconds, err := strconv.Atoi(strings.TrimPrefix(string(r.Key), "sample-"))
	if err != nil {
		t.Fatalf("the first record has the key %q", r.Key)
	}
	sent, err := time.Parse(time.RFC3339, headerOf(r, "layover-original-timestamp"))
	if late := r.Timestamp.Sub(sent.Add(time.Duration(seconds) * time.Second)); err != nil || late < 0 || late > 10*time.Second {
		t.Errorf("record %q, sent at %v (%v), is delivered %v after it is due", r.Key, sent, err, late)
	}
}

func headerOf(r *kgo.Record, name string) string {
	for _, h := range r.Headers {
		if h.Key == name {
			return string(h.Value)
		}
	}
	return ""
}

// isConfined asserts that Layover runs with what it is said to need.
func (s *composed) isConfined() {
	s.t.Helper()
	var is struct {
		Config     struct{ User string }
		HostConfig struct {
			Memory, MemorySwap int64
			ReadonlyRootfs     bool
			CapDrop            []string
			SecurityOpt        []string
		}
	}
	id := strings.TrimSpace(s.must(s.t, engine.AskTimeout, "docker compose ps -q layover"))
	need(s.t, shared.engine).inspect(s.t, "container", id, &is)
	h := is.HostConfig
	if h.Memory != 256<<20 || h.MemorySwap != h.Memory || !h.ReadonlyRootfs || strings.Join(h.CapDrop, " ") != "ALL" ||
		!strings.HasPrefix(strings.Join(h.SecurityOpt, " "), "no-new-privileges") || is.Config.User != "65532:65532" {
		s.t.Errorf("Layover's container is confined by %+v", is)
	}
}

// takesRecords runs the commands with which a user sends records of their own.
func (s *composed) takesRecords(client *kgo.Client, commands string) {
	s.t.Helper()
	for line := range strings.Lines(commands) {
		if strings.Contains(line, "kcat") {
			if _, err := exec.LookPath("kcat"); err != nil {
				s.t.Logf("not run, kcat is not installed: %s", line)
				continue
			}
		}
		s.must(s.t, time.Minute, line)
		if strings.Contains(line, "mine") {
			if r := s.next(client, "mine", time.Minute); !strings.HasPrefix(string(r.Value), "from the ") {
				s.t.Errorf("%q came of: %s", r.Value, line)
			}
		}
	}
	r, err := http.Get("http://" + s.http + "/readyz")
	if err != nil {
		s.t.Fatal(err)
	}
	defer r.Body.Close()
	if body, err := io.ReadAll(r.Body); err != nil || r.StatusCode != http.StatusOK || strings.Contains(string(body), "degraded") {
		s.t.Errorf("/readyz: %d %s (%v)", r.StatusCode, body, err)
	}
}
