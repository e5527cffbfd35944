package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"layover/config"
	"layover/verify/kafkatest"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// refused has requests of a kind refused until the returned function is called.
func (w *fixture) refused(key kmsg.Key, topic string, err *kerr.Error) func() {
	return w.Refuse(key, kfake.Fault{Topic: topic, Err: err}).Remove
}

// waitingStarts are what keeps a start waiting, with the settings that it takes. begin returns
// the function that ends it.
var waitingStarts = map[string]struct {
	settings []string
	begin    func(w *fixture) (end func())
}{
	"no broker listens": {nil, func(w *fixture) func() {
		usual := w.dial
		w.dial = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("connection refused") }
		return func() { w.dial = usual }
	}},
	"no broker answers": {nil, func(w *fixture) func() {
		usual := w.dial
		h := &hole{net: w.Net}
		h.silence(":9092")
		w.dial = h.dial
		return func() { w.dial = usual }
	}},
	"no broker answers the checks": {[]string{"LAYOVER_PREFLIGHT=fail"}, func(w *fixture) func() {
		usual := w.dial
		h := &hole{net: w.Net}
		h.silence(":9092")
		w.dial = h.dial
		return func() { w.dial = usual }
	}},
	"an ingress topic is missing":   {[]string{"LAYOVER_INGRESS_TOPICS=" + ingress + ",absent"}, func(*fixture) func() { return func() {} }},
	"the coordinator is loading":    {nil, func(w *fixture) func() { return w.refused(kmsg.JoinGroup, "", kerr.CoordinatorLoadInProgress) }},
	"no coordinator is found":       {nil, func(w *fixture) func() { return w.refused(kmsg.FindCoordinator, "", kerr.CoordinatorNotAvailable) }},
	"no bounds are known":           {nil, func(w *fixture) func() { return w.refused(kmsg.ListOffsets, ingress, kerr.LeaderNotAvailable) }},
	"the offsets are not told":      {nil, func(w *fixture) func() { return w.refused(kmsg.OffsetFetch, "", kerr.CoordinatorLoadInProgress) }},
	"one partition has no leader":   {nil, func(w *fixture) func() { return w.withoutLeader(ingress, 1) }},
	"the journal is not read":       {nil, func(w *fixture) func() { return w.withoutLeader(journalTopic, 0) }},
	"the first commits are refused": {nil, func(w *fixture) func() { return w.refused(kmsg.OffsetCommit, ingress, kerr.CoordinatorNotAvailable) }},
	"no target takes a record":      {nil, func(w *fixture) func() { return w.refused(kmsg.Produce, egress, kerr.NotEnoughReplicas) }},
	"the journal takes no record":   {nil, func(w *fixture) func() { return w.refused(kmsg.Produce, journalTopic, kerr.KafkaStorageError) }},
	"no fetch is answered well":     {nil, func(w *fixture) func() { return w.refused(kmsg.Fetch, ingress, kerr.UnknownServerError) }},
	"no topic is described":         {nil, func(w *fixture) func() { return w.refused(kmsg.Metadata, ingress, kerr.LeaderNotAvailable) }},
}

// instants are when a start that waits is stopped: around the pauses of retries, and the ends
// of what is waited for.
var instants = []time.Duration{
	0, time.Millisecond, 99 * time.Millisecond, 200 * time.Millisecond, 201 * time.Millisecond, time.Second, 2900 * time.Millisecond,
	3 * time.Second, 3001 * time.Millisecond, 5 * time.Second, 7 * time.Second, 10 * time.Second, 31 * time.Second,
}

// TestAStopOfAStartThatWaits: whatever the start waits for, and however long, the stop is over
// in time and nothing stays behind. Once the hardship is over the next start is healthy.
func TestAStopOfAStartThatWaits(t *testing.T) {
	for what, hard := range waitingStarts {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *fixture) {
				w.dial = slow(w.dial, time.Millisecond)
				settings := append([]string{narrow}, hard.settings...)
				l := w.journalled(narrow)
				synctest.Wait()
				before := inThisBubble()
				at := point{what: what}
				w.load(at)
				end := hard.begin(w)
				for i, after := range instants {
					if i%6 > 0 && !long.Asked() {
						continue
					}
					in := w.start(settings...)
					time.Sleep(after)
					began := time.Now()
					in.stop()
					if took := time.Since(began); took > stopWithin {
						t.Errorf("the stop %v behind the start took %v", after, took)
					}
					l.wentBack(w, at)
					if what == "the journal is not read" && after < 30*time.Second && strings.Contains(in.logs.String(), "journal was read") {
						t.Errorf("%v behind the start the log says that the journal was read", after)
					}
				}
				end()
				time.Sleep(2 * time.Minute) // sessions are over, and requests given up
				if more := more(before, inThisBubble(), "kgo.(*broker"); len(more) > 0 {
					t.Errorf("there are more goroutines of\n%s", strings.Join(more, "\n"))
				}
				w.goesOn(narrow)
				w.delivered([]point{at}, what != "no target takes a record" && what != "the journal is not read") // for longer than the 30 s that costs repeats
			})
		})
	}
}

// TestAStartWithoutItsPortsLeavesNothingBehind: it joins no group, and Run says why.
func TestAStartWithoutItsPortsLeavesNothingBehind(t *testing.T) {
	taken := errors.New("address already in use")
	for what, ports := range map[string]func(o *Options){
		"for all":       func(o *Options) { o.Listen = func(string) (net.Listener, error) { return nil, taken } },
		"for operators": func(o *Options) { o.ListenControl = func(string) (net.Listener, error) { return nil, taken } },
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				joins := w.joins()
				synctest.Wait() // the test's own client has begun
				before := inThisBubble()
				for range 2 {
					cfg, _, err := config.Load([]string{"KAFKA_BROKERS=" + w.seeds[0], "LAYOVER_INGRESS_TOPICS=" + ingress, "LAYOVER_EGRESS_TOPIC=" + egress,
						"LAYOVER_ON_INVALID=halt", "LAYOVER_HTTP_ADDR=localhost:20001", "LAYOVER_ADMIN_ADDR=127.0.0.1:20002"})
					if err != nil {
						t.Fatal(err)
					}
					o := Options{Log: slog.New(slog.NewTextHandler(&kafkatest.Log{}, nil)), Dial: w.dial, Level: new(slog.LevelVar)}
					o.Listen = func(addr string) (net.Listener, error) { return w.Net.Listen("tcp", addr) }
					o.ListenControl = o.Listen
					ports(&o)
					d, err := New(cfg, o)
					if err != nil {
						t.Fatal(err)
					}
					if err := d.Run(t.Context()); !errors.Is(err, taken) {
						t.Errorf("Run returns %v", err)
					}
				}
				time.Sleep(time.Minute)
				if more := more(before, inThisBubble(), "kgo.(*broker"); len(more) > 0 || joins.Load() > 0 {
					t.Errorf("%d joins, and there are more goroutines of\n%s", joins.Load(), strings.Join(more, "\n"))
				}
				in := w.start() // the port that was free is free again
				in.ready()
				in.stop()
			})
		})
	}
}
