package container

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// instance is a Layover in a container, as it is seen from outside.
type instance struct {
	engine engineCLI
	id     string
	http   string
	began  state

	mu       sync.Mutex
	resident int64 // bytes, the most that was seen
}

// status is what the test reads of /status.
type status struct {
	Pauses []struct{ Reason string }
	Parked struct{ Records, Bytes int64 }
}

// get returns the body of an answer with 200, else "".
func (l *instance) get(path string) string {
	client := http.Client{Timeout: 5 * time.Second}
	r, err := client.Get("http://" + l.http + path)
	if err != nil {
		return ""
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		return ""
	}
	return string(body)
}

func (l *instance) status(t *testing.T) (s status) {
	t.Helper()
	if body := l.get("/status"); body != "" {
		if err := json.Unmarshal([]byte(body), &s); err != nil {
			t.Fatalf("status: %v\n%s", err, body)
		}
	}
	return s
}

// paused reports whether both the metric and the status say that reading is
// paused because memory is used up.
func (l *instance) paused(t *testing.T) bool {
	t.Helper()
	s := l.status(t)
	return len(s.Pauses) == 1 && s.Pauses[0].Reason == "bytes" && metric(l.get("/metrics"), `layover_intake_paused{reason="bytes"}`) == 1
}

// metric returns the value of a series, -1 where there is none.
func metric(text, series string) float64 {
	for line := range strings.Lines(text) {
		if value, is := strings.CutPrefix(line, series+" "); is {
			if v, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil {
				return v
			}
		}
	}
	return -1
}

// layover starts a container from the image and returns when it has its
// partitions. It runs as the documents say that it can: nothing to write to, no
// capabilities.
func (k *cluster) layover(t *testing.T, options ...string) *instance {
	t.Helper()
	image := need(t, shared.image)
	args := append([]string{
		"--network", k.network, "--publish", "127.0.0.1::9846",
		"--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
	}, options...)
	for _, setting := range append(minimal(), "KAFKA_BROKERS="+insideAddr) {
		args = append(args, "--env", setting)
	}
	l := &instance{engine: k.engine}
	l.id = k.engine.start(t, append(args, image)...)
	l.http = k.engine.published(t, l.id, "9846/tcp")
	eventually(t, time.Minute, "Layover is ready", func() bool { return l.get("/readyz") != "" })
	l.began = k.engine.state(t, l.id)
	go l.watch(t.Context().Done())
	return l
}

// minimal are the settings without which Layover does not start, but where Kafka
// is.
func minimal() []string {
	return []string{"LAYOVER_INGRESS_TOPICS=delayed", "LAYOVER_EGRESS_TOPIC=ready", "LAYOVER_DLQ_TOPIC=dead-letters"}
}

// watch looks at the resident memory, as the kernel tells it, until the test ends.
func (l *instance) watch(done <-chan struct{}) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		n := int64(metric(l.get("/metrics"), "process_resident_memory_bytes"))
		l.mu.Lock()
		l.resident = max(l.resident, n)
		l.mu.Unlock()
	}
}

// most returns the most resident memory that was seen, in bytes.
func (l *instance) most() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.resident
}

// lives asserts that the process is still the one that was started.
func (l *instance) lives(t *testing.T) {
	t.Helper()
	now := l.engine.state(t, l.id)
	if now.State.OOMKilled || now.State.Status != "running" {
		t.Errorf("the container is %s with exit code %d, killed for its memory: %v", now.State.Status, now.State.ExitCode, now.State.OOMKilled)
	}
	if now.RestartCount != 0 || now.State.Pid != l.began.State.Pid || now.State.StartedAt != l.began.State.StartedAt {
		t.Errorf("the process is %+v, and was %+v", now, l.began)
	}
}
