package send

import (
	"bufio"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"layover/cli/clitest"
	"layover/cli/kafka"
	"layover/cli/process"
	"layover/config"
	"layover/verify/kafkatest"
)

// answered is a line whose answer is there, or that has none where that is a channel without one.
func answered(line int, errs ...error) *sentRecord {
	done := make(chan error, 1)
	for _, err := range errs {
		done <- err
	}
	return &sentRecord{line: line, record: &kgo.Record{Topic: "delayed", Offset: int64(line)}, done: done}
}

// TestBesideALineThatStallsTheAnswersThatAreThereCount: of the lines without one nothing is known, and they are not
// waited for one after the other.
func TestBesideALineThatStallsTheAnswersThatAreThereCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startPrinting(false)
		began := time.Now()
		for _, r := range []*sentRecord{answered(1, nil), answered(2), answered(3, nil), answered(4), answered(5, kerr.RecordListTooLarge), answered(6, nil)} {
			p.sent <- r
		}
		const want = "line 2: no answer for 8s, the record may have been written or not; the lines that are not printed may have been written or not"
		if err := <-p.failure; err == nil || err.Error() != want || time.Since(began) != stalled {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		p.out.Flush()
		p.counter.stop()
		if got := strings.ReplaceAll(p.stdout.String(), " due 0001-01-01T00:00:01.000Z\n", " "); got != "delayed-0-1 delayed-0-3 delayed-0-6 " {
			t.Errorf("printed %q", got)
		}
	})
}

// TestOfLinesThatCannotBePrintedNothingIsKnown: their answers may be on their way.
func TestOfLinesThatCannotBePrintedNothingIsKnown(t *testing.T) {
	via, err := kafka.Connect(config.Kafka{Brokers: []string{"none:1"}}, "test")
	if err != nil {
		t.Fatal(err)
	}
	s := newSender(&options{lines: true, delay: new(time.Duration)}, &connection{kafka: via})
	s.out = bufio.NewWriterSize(brokenPipe{}, 16)
	s.sent <- answered(1, nil)
	if err := s.print(); err == nil || err.Error() != "line 1: stdout: broken pipe; the lines that are not printed may have been written or not" {
		t.Error(err)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

// TestLinesThatWereAcknowledgedArePrintedBesideOneThatStalls: the leader of one partition takes records and says nothing,
// that of the other answers. Whoever goes on behind what is printed must not write the others' lines twice.
func TestLinesThatWereAcknowledgedArePrintedBesideOneThatStalls(t *testing.T) {
	if testing.Short() {
		t.Skip("takes eight seconds")
	}
	cluster := kafkatest.Start(t, 2, kfake.SeedTopics(2, "delayed"))
	for n := range int32(2) {
		if err := cluster.Broker.MoveTopicPartition("delayed", n, n); err != nil {
			t.Fatal(err)
		}
	}
	over := make(chan struct{})
	var mu sync.Mutex
	silent := int32(-1) // the partition of the first line
	cluster.Broker.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		cluster.Broker.KeepControl()
		mu.Lock()
		p := r.(*kmsg.ProduceRequest).Topics[0].Partitions[0].Partition
		if silent < 0 {
			silent = p
		}
		hangs := p == silent
		mu.Unlock()
		if hangs {
			cluster.Broker.SleepControl(func() { <-over })
		}
		return nil, nil, false
	})
	const lines = 12 // each is a batch of its own, and goes to another partition than the one before
	stdin := strings.Repeat(strings.Repeat("x", 70_000)+"\n", lines)
	got := clitest.Call{Environ: []string{"KAFKA_BROKERS=" + cluster.Addr(), "LAYOVER_INGRESS_TOPICS=delayed"},
		Args: []string{"--delay", "5s", "-"}, Stdin: strings.NewReader(stdin)}.Do(t, Command)
	printed := strings.Count(got.Stdout, " due ")
	acknowledged := int(cluster.Broker.PartitionInfo("delayed", 1-silent).HighWatermark)
	close(over)
	if got.Code != process.ExitRuntime || acknowledged == 0 || acknowledged == lines {
		t.Fatalf("the test is none: %d of %d lines were written, %+v", acknowledged, lines, got)
	}
	if printed != acknowledged {
		t.Errorf("%d lines are printed, and %d were acknowledged: %s", printed, acknowledged, got.Stderr)
	}
}
