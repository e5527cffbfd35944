package producer

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// limited is a fixture whose topic has a limit that changes. The broker's is the same.
type limited struct {
	*fixture
	limit atomic.Int32
}

func inLimitedBubble(t *testing.T, f func(l *limited)) {
	t.Helper()
	inBubble(t, 100, func(w *fixture) {
		l := &limited{fixture: w}
		w.clients = nil
		l.set(10_000)
		p, err := New(Config{
			MaxBuffered: 100, Linger: time.Millisecond, Compression: []kgo.CompressionCodec{kgo.NoCompression()},
			Options: func(suffix string) []kgo.Opt {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.clients = append(w.clients, suffix)
				return w.Options()
			},
			MaxBatchBytes: func(topic string) int32 {
				if topic == "" {
					return 1 << 20
				}
				return l.limit.Load()
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		w.Producer = p
		f(l)
	})
}

// set changes the limit.
func (l *limited) set(limit int32) {
	l.Helper()
	l.limit.Store(limit)
	set := kadm.AlterConfig{Name: "max.message.bytes", Value: new(fmt.Sprint(limit))}
	if _, err := l.Admin().AlterTopicConfigs(context.Background(), []kadm.AlterConfig{set}, "ready"); err != nil {
		l.Fatal(err)
	}
}

// is compares the outcomes of records of a size that go to a partition at once: the first time, and the next.
func (l *limited) is(partition int32, count, size int, first, next Class) {
	l.Helper()
	for i, want := range []Class{first, next, next} {
		outcomes := make(chan error, count)
		for range count {
			l.Deliver(record(partition, size), false, func(_ *kgo.Record, err error) { outcomes <- err })
		}
		for range count {
			if err := <-outcomes; Classify(err) != want {
				l.Errorf("try %d of %d records of %d bytes: %v, want class %d", i, count, size, err, want)
			}
		}
		synctest.Wait()
	}
}

// TestATopicWhoseLimitHasChangedGoesToAClientThatKeepsToIt: a client keeps to what it was told first. It refuses what a
// raised limit takes, and the broker refuses its batches where the limit was lowered. There are no more than four.
func TestATopicWhoseLimitHasChangedGoesToAClientThatKeepsToIt(t *testing.T) {
	inLimitedBubble(t, func(l *limited) {
		clients := func(want ...string) {
			l.Helper()
			if got := l.made(); !slices.Equal(got, want) {
				l.Errorf("clients %q, want %q", got, want)
			}
		}
		if got := l.Together("ready"); got != 10_000 {
			t.Errorf("%d bytes together before the client has asked, want 10000", got)
		}
		l.is(0, 1, 9_000, Delivered, Delivered)
		l.is(0, 1, 20_000, TooLarge, TooLarge)
		clients("")
		l.set(50_000)
		l.is(0, 1, 20_000, TooLarge, Delivered)
		clients("", "-2")
		l.set(2_000)
		l.is(1, 1, 3_000, TooLarge, TooLarge)  // first for the broker, and then for the client
		l.is(1, 10, 500, Delivered, Delivered) // in batches of three
		clients("", "-2", "-3")
		l.set(10_000)
		l.is(2, 1, 9_000, TooLarge, Delivered)
		clients("", "-2", "-3") // the first keeps to that
		l.set(30_000)
		if got := l.Together("ready"); got != 30_000 {
			t.Errorf("%d bytes together, want 30000", got)
		}
		l.is(2, 1, 20_000, Delivered, Delivered)
		clients("", "-2", "-3", "-4")
		l.set(40_000)
		l.is(2, 1, 35_000, TooLarge, TooLarge)
		if got := l.Together("ready"); got != 30_000 {
			t.Errorf("%d bytes together with a client too few, want 30000", got)
		}
		if err := l.deliver(record(2, 35_000), true); err != nil {
			t.Errorf("alone: %v", err)
		}
		clients("", "-2", "-3", "-4", "-large")
		l.Refresh()
	})
}

// TestAClientThatForgetsATopicAsksForItsLimitAnew, which is that of a topic that was made again.
func TestAClientThatForgetsATopicAsksForItsLimitAnew(t *testing.T) {
	inLimitedBubble(t, func(l *limited) {
		l.is(0, 1, 9_000, Delivered, Delivered)
		l.DeleteTopic("ready")
		l.CreateTopic("ready", 3, nil)
		l.set(50_000)
		if err := l.deliver(record(0, 10), false); !isStale(err) {
			t.Errorf("of a topic that was made again: %v", err)
		}
		time.Sleep(time.Minute)
		l.is(0, 1, 20_000, Delivered, Delivered)
		if got := l.made(); len(got) != 1 {
			t.Errorf("clients %q, want one", got)
		}
	})
}
