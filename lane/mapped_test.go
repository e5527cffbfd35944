package lane

import (
	"bytes"
	"io"
	"log/slog"
	"strconv"
	"testing"
	"time"

	"layover/delay"
	"layover/journal/facts"
	"layover/offsets"
	"layover/purgatory"
	"layover/wheel"

	"github.com/twmb/franz-go/pkg/kgo"
)

func mustNames(t *testing.T, maps []delay.Mapping, presets ...string) *delay.Names {
	t.Helper()
	names, err := delay.NewNames(maps, presets)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestTheKeyOfADeliveryIsTheOneThatAHeaderChooses: the first of the vocabulary, and the last of
// several of that name.
func TestTheKeyOfADeliveryIsTheOneThatAHeaderChooses(t *testing.T) {
	names := mustNames(t, []delay.Mapping{{Name: "m-key", Format: delay.FormatKey}}, "etf1")
	h := func(name string, value []byte) kgo.RecordHeader { return kgo.RecordHeader{Key: name, Value: value} }
	for name, test := range map[string]struct {
		headers []kgo.RecordHeader
		want    []byte
	}{
		"none":                    {nil, []byte("own")},
		"others":                  {[]kgo.RecordHeader{h("key", []byte("x")), h("scheduler-epoch", []byte("1")), h("", nil)}, []byte("own")},
		"one":                     {[]kgo.RecordHeader{h("trace", []byte("t")), h("Scheduler-Target-Key", []byte("chosen"))}, []byte("chosen")},
		"the map's wins":          {[]kgo.RecordHeader{h("m-key", []byte("map")), h("scheduler-target-key", []byte("preset"))}, []byte("map")},
		"the last of one name":    {[]kgo.RecordHeader{h("m-key", []byte("a")), h("M-KEY", []byte("b")), h("scheduler-target-key", []byte("preset"))}, []byte("b")},
		"null":                    {[]kgo.RecordHeader{h("scheduler-target-key", nil)}, nil},
		"empty":                   {[]kgo.RecordHeader{h("scheduler-target-key", []byte{})}, []byte{}},
		"beside a native header":  {[]kgo.RecordHeader{h("x-delay", []byte("1s")), h("scheduler-target-key", []byte("chosen"))}, []byte("chosen")},
		"bytes that are no text":  {[]kgo.RecordHeader{h("m-key", []byte{0, 0xff})}, []byte{0, 0xff}},
		"a later one of the list": {[]kgo.RecordHeader{h("scheduler-target-key", []byte("preset")), h("m-key", []byte("map"))}, []byte("map")},
	} {
		t.Run(name, func(t *testing.T) {
			b := &body{&kgo.Record{Key: []byte("own"), Value: []byte("v"), Headers: test.headers}}
			encoded := make([]byte, b.Size())
			b.Put(encoded)
			if got := Key(encoded, names); !bytes.Equal(got, test.want) || (got == nil) != (test.want == nil) {
				t.Errorf("key %q, want %q", got, test.want)
			}
			if got := Key(encoded, nil); string(got) != "own" {
				t.Errorf("without a vocabulary the key is %q", got)
			}
		})
	}
}

// TestAFinishedTombstoneOfAScheduleCountsAgain: the commit says that it is finished, and that
// the schedule it ended is not.
func TestAFinishedTombstoneOfAScheduleCountsAgain(t *testing.T) {
	targets, err := delay.NewTargets("ready", nil, []string{"delayed"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	rules := &delay.Rules{MaxDelay: 24 * time.Hour, Targets: targets, Names: mustNames(t, nil, "etf1")}
	k := &nowhere{}
	l := New(Config{
		Core:  purgatory.Config{Patience: time.Hour, HeldShare: 1 << 30, MaxInFlight: 1000, MaxInFlightBytes: 1 << 30, JumpOver: 100, Geometry: wheel.DefaultGeometry()},
		Rules: always(rules), Answered: func() time.Duration { return 0 },
		Elsewhere: func(purgatory.TargetName, purgatory.ShareBytes) purgatory.ShareBytes { return purgatory.ShareBytes{} },
		Changed:   func() {}, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}, k, k, k)
	window := offsets.NewWindow(0)
	window.Finish(2)
	l.core.Assign(facts.Assigned{Assignment: assignment(0, 1), Window: window, Committed: true, Next: 0, Again: 0})
	now := time.Now()
	epoch := strconv.AppendInt(nil, now.Add(time.Hour).Unix(), 10)
	schedule := func(offset int64, key string) *kgo.Record {
		return &kgo.Record{Topic: "delayed", Offset: offset, Key: []byte(key), Value: []byte("v"), Timestamp: now, Headers: []kgo.RecordHeader{{Key: "scheduler-epoch", Value: epoch}}}
	}
	tombstone := &kgo.Record{Topic: "delayed", Offset: 2, Key: []byte("a"), Timestamp: now}
	records := []*kgo.Record{schedule(0, "a"), schedule(1, "b"), tombstone}
	l.turn(now, &mail{fetched: []fetched{{assignment: assignment(0, 1), records: records}}})
	stats := l.core.Snapshot()
	if ended := stats.Ended[purgatory.TopicResult{Topic: "delayed", Result: "cancelled"}]; ended != 1 || stats.Parked != 1 {
		t.Errorf("%d were cancelled and %d are parked, want 1 and 1", ended, stats.Parked)
	}
}
