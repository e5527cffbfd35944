package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestWhatIsWaitedForIsSaidWhenItBeginsChangesAndIsOver(t *testing.T) {
	var out bytes.Buffer
	w := New(Config{Ingress: []string{"delayed"}, Log: slog.New(slog.NewTextHandler(&out, nil))}, nil)
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
