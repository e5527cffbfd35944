package lane

import (
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"
	"unsafe"

	"layover/delay"
	"layover/journal/facts"
	"layover/offsets"
	"layover/purgatory"
	"layover/wheel"

	"github.com/twmb/franz-go/pkg/kgo"
)

// nowhere knows that no target exists.
type nowhere struct{ kafka }

func (*nowhere) Lookup(name purgatory.TargetName) purgatory.TargetState {
	return purgatory.TargetState{TargetName: name, Verdict: purgatory.Missing}
}

// TestTheListsOfTargetsAreCounted: headers choose how many names there are.
func TestTheListsOfTargetsAreCounted(t *testing.T) {
	const names = 10_000
	targets, err := delay.NewTargets("ready", []string{"jobs.*"}, []string{"delayed"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	k := &nowhere{}
	l := New(Config{
		Core: purgatory.Config{
			Patience: time.Hour, HeldShare: 1 << 30, MaxInFlight: 1000, MaxInFlightBytes: 1 << 30, JumpOver: 100, Geometry: wheel.DefaultGeometry(),
		},
		Rules: always(&delay.Rules{MaxDelay: 24 * time.Hour, Targets: targets}), Answered: func() time.Duration { return 0 },
		Elsewhere: func(purgatory.TargetName, purgatory.ShareBytes) purgatory.ShareBytes { return purgatory.ShareBytes{} },
		Changed:   func() {}, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}, k, k, k)
	l.core.Assign(facts.Assigned{Assignment: assignment(0, 1), Window: offsets.NewWindow(0), Committed: true})
	var records []*kgo.Record
	for i := range int64(names) {
		records = append(records, &kgo.Record{Topic: "delayed", Offset: i, Headers: []kgo.RecordHeader{{Key: "x-deliver-to", Value: fmt.Appendf(nil, "jobs.%d", i)}}})
	}
	m := &mail{fetched: []fetched{{assignment: assignment(0, 1), records: records}}}
	for i := range 100 {
		l.turn(time.Now().Add(time.Duration(i)*100*time.Millisecond), m)
		m = &mail{}
	}
	if n := len(l.core.Snapshot().Held); n == 0 || cap(l.shares) < names {
		t.Fatalf("%d targets are described, room for %d shares", n, cap(l.shares))
	}
	lists := int64(cap(l.out.wanted))*int64(unsafe.Sizeof(purgatory.TargetName{})) +
		int64(cap(l.out.told))*int64(unsafe.Sizeof(purgatory.TargetState{})) + int64(cap(l.shares))*int64(unsafe.Sizeof(purgatory.Share{}))
	counted := l.Bytes() - l.core.Bytes() - int64(cap(l.out.slots))*slotSize
	if counted < lists {
		t.Errorf("lists of %d bytes are counted as %d, beside %d of the core", lists, counted, l.core.Bytes())
	}
}
