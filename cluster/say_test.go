package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func TestAForbiddenTopicIsNamedWithItsRight(t *testing.T) {
	w := New(Config{Ingress: []string{"delayed"}, Targets: []string{"ready"}, Log: slog.New(slog.DiscardHandler)}, nil)
	w.topics["delayed"].State, w.topics["ready"].State = Forbidden, Forbidden
	want := "topic delayed is forbidden; allow Read on topic delayed, topic ready is forbidden; allow Write on topic ready"
	if got := strings.Join(w.Health().Missing, ", "); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestWhatIsWaitedForIsSaidWhenItBeginsChangesAndIsOver(t *testing.T) {
	var out bytes.Buffer
	refused := false
	w := New(Config{Ingress: []string{"delayed"}, Refused: func() bool { return refused }, Log: slog.New(slog.NewTextHandler(&out, nil))}, nil)
	now := time.Now()
	look := func(seconds int, state State, err func(i int) error) {
		for i := range seconds {
			now = now.Add(time.Second)
			w.topics["delayed"].State, w.err = state, err(i)
			w.say(now)
		}
	}
	answers := func(int) error { return nil }
	silent := func(i int) error { return fmt.Errorf("dial broker %d", i%3) }
	look(600, Usable, silent)
	look(60, Missing, answers)
	look(60, Usable, answers)
	refused = true // the connection has a line of its own
	look(60, Usable, silent)
	refused = false
	look(60, Usable, answers)
	look(60, Usable, func(i int) error { // it comes and goes
		if i%2 == 0 {
			return errors.New("cut")
		}
		return nil
	})
	want := []string{
		`msg="waiting for Kafka" missing="no broker answers: dial broker 2"`,
		`msg="waiting for Kafka" missing="topic delayed is missing"`,
		`msg="brokers answer and all configured topics are there" waited=11m0s`,
		`msg="waiting for Kafka" missing="no broker answers: cut"`,
		`msg="brokers answer and all configured topics are there" waited=1s`,
		`msg="waiting for Kafka" missing="no broker answers: cut"`,
		`msg="brokers answer and all configured topics are there" waited=1s`,
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i := range max(len(lines), len(want)) {
		if i >= len(lines) || i >= len(want) || !strings.HasSuffix(lines[i], want[i]) {
			t.Fatalf("said\n%swant lines that end in\n%s", &out, strings.Join(want, "\n"))
		}
	}
}

// TestAQuestionFromBeforeTheEndOfARefusalIsNotSaid: another client is taken while the
// watcher's question is under way.
func TestAQuestionFromBeforeTheEndOfARefusalIsNotSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		refused := true
		client, err := kgo.NewClient(kgo.SeedBrokers("a:1"), kgo.Dialer(func(context.Context, string, string) (net.Conn, error) {
			refused = false
			return nil, errors.New("no")
		}))
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		w := New(Config{Ingress: []string{"delayed"}, Refused: func() bool { return refused }, Log: slog.New(slog.NewTextHandler(&out, nil))}, client)
		time.Sleep(sayEvery)
		for _, lines := range []int{0, 1} {
			w.askPinned(t.Context())
			w.say(time.Now())
			if n := strings.Count(out.String(), "waiting for Kafka"); n != lines || refused {
				t.Errorf("%d lines, want %d: %s", n, lines, &out)
			}
		}
	})
}
