package lane

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"layover/journal/runs"
	"layover/purgatory"

	"github.com/twmb/franz-go/pkg/kgo"
)

// lines are what a lane logs.
type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestAStopOfReadingByACopyNamesNoCommand: "layover skip" leaves out what stands in ingress, and the record is
// finished there.
func TestAStopOfReadingByACopyNamesNoCommand(t *testing.T) {
	var logs lines
	shelved(t, func(c *Config) {
		c.Core.OnInvalid, c.Log = purgatory.Halt, slog.New(slog.NewTextHandler(&logs, nil))
	}, func(s *shelf) {
		value := []byte("far")
		c := runs.Copy{Origin: runs.Origin{Offset: 42, TimestampMs: time.Now().UnixMilli()}, DeadlineMs: time.Now().Add(time.Minute).UnixMilli(), Writer: 77}
		headers := []kgo.RecordHeader{{Key: "x-deliver-to", Value: []byte("forbidden")}}
		headers, _ = runs.AppendCopy(headers, nil, s.id(), &c, nil, value)
		s.set(func(s *shelf) { s.put(&kgo.Record{Value: value, Headers: headers, Timestamp: time.Now()}) })
	}, func(r *rig, s *shelf) {
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		said := logs.String()
		if strings.Count(said, "partition stops reading") != 1 || !strings.Contains(said, "LAYOVER_ON_INVALID") || strings.Contains(said, "skip") {
			t.Errorf("said:\n%s", said)
		}
		if halted := r.Snapshot().Partitions[0].Halted; !strings.Contains(halted, "runs") {
			t.Errorf("/status says %q", halted)
		}
	})
}
