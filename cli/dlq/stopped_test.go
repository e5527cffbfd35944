package dlq

import (
	"bufio"
	"bytes"
	"context"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"layover/cli/process"
	"layover/config"
	"layover/verify/kafkatest"
)

var goOn = regexp.MustCompile(`--offsets (\S+)`)

// offsetsIn returns the last --offsets of an output.
func offsetsIn(t *testing.T, text string) string {
	t.Helper()
	all := goOn.FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		t.Fatalf("no --offsets in %q", text)
	}
	return all[len(all)-1][1]
}

func TestWhoStopsItIsToldHowToGoOn(t *testing.T) {
	w := newFixture(t)
	w.fill(100)
	ctx, stop := context.WithCancel(t.Context())
	var requests atomic.Int32
	w.Answer(kmsg.Produce, func(kmsg.Request) kmsg.Response {
		if requests.Add(1) == 10 {
			stop()
		}
		return nil
	})
	got := w.run(ctx, "redrive --execute --rate 300")
	if got.Code != process.ExitStopped || !strings.HasSuffix(got.Stderr, "layover dlq: stopped\n") ||
		!strings.Contains(got.Stdout, "Partitions that are not named are done. What is redriven again is sent twice.\n") {
		t.Fatalf("%+v", got)
	}
	part := len(w.sent())
	if part == 0 || part == 100 {
		t.Fatalf("%d were written before it was stopped", part)
	}
	w.fill(10) // not there at the first start
	if got := w.fine("redrive --execute --offsets " + offsetsIn(t, got.Stdout)); !strings.Contains(got, "All of it is done") {
		t.Errorf("%s", got)
	}
	w.hasOnce(upTo(100)...)
}

// TestHowLongAgoIsAnInstantForTheNextCall: two hours ago are others by then.
func TestHowLongAgoIsAnInstantForTheNextCall(t *testing.T) {
	w := newFixture(t)
	w.died = time.Now().Add(-time.Hour)
	w.fill(4)
	before := time.Now()
	got := w.do("redrive --execute --limit 2 --since 2h")
	m := regexp.MustCompile(`with --since (\S+) --offsets \S+\n`).FindStringSubmatch(got.Stdout)
	if got.Code != process.ExitOK || m == nil || !strings.HasPrefix(got.Stderr, "redriving --since "+m[1]+" --offsets ") {
		t.Fatalf("%+v", got)
	}
	if at, err := time.Parse(time.RFC3339, m[1]); err != nil || at.Sub(before.Add(-2*time.Hour)).Abs() > 10*time.Second {
		t.Errorf("%s, %v", m[1], err)
	}
	if got := w.object("redrive --since " + m[1]); got["since"] != m[1] {
		t.Errorf("%v", got["since"])
	}
}

// TestOnlyWhatIsAcknowledgedIsDone: one partition refuses, and others have answered for
// letters behind its own.
func TestOnlyWhatIsAcknowledgedIsDone(t *testing.T) {
	w := newFixture(t)
	for i := range int32(12) {
		w.Produce(w.dead(0, (i+1)%3, "target_unavailable")) // 1, 2, 0, 1, …
	}
	refused := w.Refuse(kmsg.Produce, kfake.Fault{Topic: ingress, Partitions: []int32{0}, Err: kerr.TopicAuthorizationFailed})
	got := w.do("redrive --execute --rate 100")
	if got.Code != process.ExitRuntime || !strings.Contains(got.Stderr, "layover dlq: dead-letters-0-2 to delayed/0: TOPIC_AUTHORIZATION_FAILED") ||
		!strings.Contains(got.Stderr, "; allow Write on topic delayed\n") || !strings.Contains(got.Stdout, "To go on, the same command with --offsets 0:2-11\n") {
		t.Fatalf("%+v", got)
	}
	refused.Remove()
	w.fine("redrive --execute --offsets " + offsetsIn(t, got.Stdout))
	for i := range 12 {
		r := w.sent()["secret-value-"+process.Grouped(int64(i+1))]
		if r == 0 || i < 2 && r != 1 {
			t.Errorf("letter %d was sent %d times", i+1, r)
		}
	}
}

func TestTheAcknowledgedOnesBehindAGapAreSaidToComeTwice(t *testing.T) {
	var out bytes.Buffer
	r := redrivingOf(t, &out)
	r.again.execute = true
	r.positions[0].sent(3)
	r.positions[0].sent(4)
	r.positions[0].acknowledged(4)
	r.conclude()
	r.out.Flush()
	if got := out.String(); !strings.Contains(got, "with --offsets 0:3-9\n2 letters behind those offsets may be written already, and are then sent twice.\n") {
		t.Errorf("%s", got)
	}
}

// redrivingOf is a call over the offsets 0 to 9 of partition 0 that has read nothing.
func redrivingOf(t *testing.T, out *bytes.Buffer) *redriving {
	t.Helper()
	b, err := connect(config.Kafka{Brokers: []string{"127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	all := stretches{0: {0, 9}}
	return &redriving{
		command: &command{process: &process.Process{Stdout: out, Stderr: out}, cfg: &config.Config{DLQTopic: graves}, brokers: b, out: bufio.NewWriter(out)},
		all:     all, positions: newPositions(all), sender: &sender{brokers: b}, byTopic: counts{}, byReason: counts{},
	}
}

func TestWhatIsNotDoneIsSaidEveryTenSeconds(t *testing.T) {
	var out bytes.Buffer
	r := redrivingOf(t, &out)
	began := time.Now()
	r.sender.said = began
	r.positions[0].passed(4)
	for _, after := range []time.Duration{0, sayEvery - 1, sayEvery, sayEvery + 1, 2*sayEvery - 1} {
		if err := r.look(began.Add(after)); err != nil {
			t.Fatal(err)
		}
	}
	if got := out.String(); got != "written 0 so far; not done: --offsets 0:4-9\n" {
		t.Errorf("%q", got)
	}
}

// TestWhatIsInFlightHasABound, in records and bytes; one record goes whatever its size, and
// those that go alone go first.
func TestWhatIsInFlightHasABound(t *testing.T) {
	for name, test := range map[string]struct {
		sender
		bytes int64
		full  bool
	}{
		"nothing":                 {sender{}, 1, false},
		"a huge one by itself":    {sender{}, 2 * maxInFlightBytes, false},
		"a small one beside huge": {sender{inFlight: 1, bytes: maxInFlightBytes}, 1, true},
		"the last that fits":      {sender{inFlight: maxInFlight - 1, bytes: 100}, maxInFlightBytes - 100, false},
		"one more than fit":       {sender{inFlight: maxInFlight}, 1, true},
		"others go alone first":   {sender{inFlight: 1, large: make([]answer, 1)}, 1, true},
	} {
		if _, full := test.wait(time.Now(), test.bytes); full != test.full {
			t.Errorf("%s: full is %v", name, full)
		}
	}
}

func TestBrokersThatDoNotAnswerAreWaitedForFortySeconds(t *testing.T) {
	r := redrivingOf(t, new(bytes.Buffer))
	began := time.Now()
	r.sender.said, r.sender.changed = began.Add(time.Hour), began
	if err := r.look(began.Add(time.Hour)); err != nil {
		t.Errorf("with nothing in flight: %v", err)
	}
	r.sender.inFlight = 3
	if err := r.look(began.Add(silentTimeout - 1)); err != nil {
		t.Error(err)
	}
	if err := r.look(began.Add(silentTimeout)); err == nil || !strings.Contains(err.Error(), "no answer to 3 records for 40s, which may have been written or not") {
		t.Errorf("%v", err)
	}
}

// TestATimeoutIsNotBlamedOnTheAddressAlone: brokers that lack replicas answer each time, and
// the client goes on until its time is up.
func TestATimeoutIsNotBlamedOnTheAddressAlone(t *testing.T) {
	b, err := connect(config.Kafka{Brokers: []string{"127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	got := b.explain(kgo.ErrRecordTimeout, "dead-letters-1-0 to delayed/1", "").Error()
	if strings.Contains(got, "no answer") || !strings.Contains(got, "enough in-sync replicas") {
		t.Error(got)
	}
}

func TestAnIngressTopicThatIsGoneIsNamed(t *testing.T) {
	w := newFixture(t)
	r := w.dead(0, 0, "expired")
	r.Headers = append(r.Headers, pairs("layover.errors.topic", "retry")...)
	w.Produce(w.dead(0, 1, "expired"), r)
	got := w.do("redrive --execute", "LAYOVER_INGRESS_TOPICS=delayed,retry")
	if got.Code != process.ExitRuntime || !strings.Contains(got.Stderr, `dead-letters-0-1: topic "retry" does not exist on `) || !strings.Contains(got.Stderr, "check LAYOVER_INGRESS_TOPICS\n") ||
		!strings.Contains(got.Stdout, "with --offsets 0:1-1\n") {
		t.Errorf("%+v", got)
	}
}

// TestAnErrorIsAnObjectForMachinesToo: the offsets are needed most where it failed.
func TestAnErrorIsAnObjectForMachinesToo(t *testing.T) {
	w := newFixture(t)
	w.fill(4)
	w.Refuse(kmsg.Produce, kfake.Fault{Topic: ingress, Err: kerr.TopicAuthorizationFailed})
	if got := w.do("redrive --execute"); !strings.Contains(got.Stdout, " chosen, 0 written\n") {
		t.Errorf("%+v", got) // chosen ones are what it counts by topic and reason
	}
	got := w.do("redrive --execute -o json")
	if got.Code != process.ExitRuntime || !strings.Contains(got.Stdout, `"written":0,`) || !strings.Contains(got.Stdout, `"offsets":"0:0-1,1:0-1"`) {
		t.Errorf("%+v", got)
	}
}

// TestAnElectionOfTheIngressTopicIsWaitedFor and loses nothing.
func TestAnElectionOfTheIngressTopicIsWaitedFor(t *testing.T) {
	w := newFixture(t)
	w.fill(30)
	w.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: ingress, Err: kerr.NotLeaderForPartition, Count: 4})
	w.fine("redrive --execute")
	w.hasOnce(upTo(30)...)
}

// TestABatchThatNobodyCanReadIsLeftOutByOffsets: what stands before it is sent, and what
// stands behind it is with the offsets behind it.
func TestABatchThatNobodyCanReadIsLeftOutByOffsets(t *testing.T) {
	w := newFixture(t)
	w.Produce(w.dead(0, 1, "expired"))
	w.ProduceBatch(graves, kafkatest.Batch(func(*kmsg.RecordBatch) {})) // of the offsets 1 to 3
	w.Produce(w.dead(0, 1, "expired"))
	got := w.do("redrive --execute")
	if got.Code != process.ExitRuntime || !strings.Contains(got.Stderr, "reading dead-letters/0@1: the batch there cannot be read; redrive leaves it out where --offsets begin behind it: ") ||
		strings.Contains(got.Stderr, "no answer") || !strings.Contains(got.Stdout, "with --offsets 0:1-4\n") {
		t.Errorf("%+v", got)
	}
	w.hasOnce(1)
	w.fine("redrive --execute --offsets 0:4-4")
	w.hasOnce(1, 2)
}

// TestATopicThatIsMadeAgainIsNotReadOn: its offsets are other records.
func TestATopicThatIsMadeAgainIsNotReadOn(t *testing.T) {
	w := newFixture(t)
	w.fill(4)
	w.stderr = &hook{f: func() {
		w.DeleteTopic(graves)
		w.CreateTopic(graves, 2, nil)
		w.NewClient().ProduceSync(t.Context(), w.dead(0, 0, "expired"), w.dead(0, 0, "expired"))
	}}
	got := w.do("redrive --execute")
	if got.Code != process.ExitRuntime || !strings.Contains(got.Stderr, "the topic was deleted and made again meanwhile") {
		t.Errorf("%+v", got)
	}
	w.hasOnce()
}
