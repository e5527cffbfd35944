package daemon

import (
	"io"
	"log/slog"
	"slices"
	"testing"

	"layover/config"
	"layover/purgatory"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/plugin/kslog"
)

// TestNoTargetIsAJournal: not of any ingress topic, not by a glob, not with the journal
// off, and not one that looks like another process's.
func TestNoTargetIsAJournal(t *testing.T) {
	tests := map[string]struct {
		settings []string
		denied   []string
		allowed  []string
	}{
		"by default":      {nil, []string{"a.g", "b.g"}, []string{"c.journal", "g"}},
		"by a name set":   {[]string{"LAYOVER_JOURNAL_TOPIC={ingress}.journal"}, []string{"a.journal", "b.journal", "c.journal"}, []string{"a.x", "b.x", "c.journals"}},
		"where it is off": {[]string{"LAYOVER_JOURNAL=off"}, []string{"a.g", "b.g"}, []string{"c.journal"}},
		"of another process with the default group":     {nil, []string{"c.layover-c", "c.d.layover-x"}, []string{"a.h", "c.g", "layover-c", "orders.eu"}},
		"as another process here is told to call its":   {[]string{"LAYOVER_JOURNAL_TOPIC={ingress}.{group}.journal"}, []string{"c.h.journal", "c.layover-c"}, []string{"a.x", "c.h", "c.journal"}},
		"shared, of an ingress topic that is elsewhere": {[]string{"LAYOVER_JOURNAL_TOPIC=journal-{ingress}"}, []string{"journal-c"}, []string{"c-journal", "a.x"}},
		"named as such, which somebody meant":           {[]string{"LAYOVER_TARGETS_ALLOWED=*,c.layover-c"}, []string{"d.layover-d", "a.g"}, []string{"a.h", "c.layover-c"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cfg, _, err := config.Load(append([]string{
				"KAFKA_BROKERS=kafka:9092", "LAYOVER_INGRESS_TOPICS=a,b", "LAYOVER_GROUP_ID=g",
				"LAYOVER_DLQ_TOPIC=dead", "LAYOVER_TARGETS_ALLOWED=*",
			}, test.settings...))
			if err != nil {
				t.Fatal(err)
			}
			rules, err := (&Daemon{cfg: cfg}).rules()
			if err != nil {
				t.Fatal(err)
			}
			for _, topic := range slices.Concat(test.denied, []string{"a", "b", "dead"}, test.allowed) {
				if _, _, ok := rules("a").Targets.Resolve([]byte(topic)); ok != slices.Contains(test.allowed, topic) {
					t.Errorf("%s may be a target: %v", topic, ok)
				}
			}
		})
	}
}

func TestTheKafkaClientsLogAtDebugAloneAndFollowTheLevel(t *testing.T) {
	var level slog.LevelVar
	log := clientLog{kslog.New(slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: &level})))}
	for _, at := range []slog.Level{slog.LevelInfo, slog.LevelDebug, slog.LevelWarn, slog.LevelDebug, slog.LevelError} {
		want := kgo.LogLevelNone
		if at == slog.LevelDebug {
			want = kgo.LogLevelDebug
		}
		level.Set(at)
		if got := log.Level(); got != want {
			t.Errorf("at %v: %v, want %v", at, got, want)
		}
	}
	level.Set(slog.LevelInfo)
	if n := testing.AllocsPerRun(100, func() { log.Level() }); n > 0 {
		t.Errorf("%v allocations for a look at the level", n)
	}
}

// TestLanesHearWhatWaitsInOthersByWhyItWaits, and nothing is kept of a target for which nothing waits any more.
func TestLanesHearWhatWaitsInOthersByWhyItWaits(t *testing.T) {
	type bytes = purgatory.ShareBytes
	h := holdings{bytes: make(map[purgatory.TargetName][]bytes), lanes: 3}
	ready, audit := purgatory.TargetName{Name: "ready"}, purgatory.TargetName{Name: "audit"}
	for i, step := range []struct {
		lane      int
		target    purgatory.TargetName
		own, want bytes
		kept      int
	}{
		{0, ready, bytes{Held: 10}, bytes{}, 1},
		{1, ready, bytes{Rejected: 200}, bytes{Held: 10}, 1},
		{2, ready, bytes{Held: 3000, Rejected: 4000}, bytes{Held: 10, Rejected: 200}, 1},
		{0, ready, bytes{Held: 20}, bytes{Held: 3000, Rejected: 4200}, 1},
		{0, audit, bytes{Rejected: 5}, bytes{}, 2},
		{2, ready, bytes{}, bytes{Held: 20, Rejected: 200}, 2},
		{0, ready, bytes{}, bytes{Rejected: 200}, 2},
		{1, ready, bytes{}, bytes{}, 1},
		{0, audit, bytes{}, bytes{}, 0},
	} {
		if got := h.elsewhere(step.lane, step.target, step.own); got != step.want || len(h.bytes) != step.kept {
			t.Errorf("step %d: lane %d hears %+v, want %+v; kept of %d targets, want %d", i, step.lane, got, step.want, len(h.bytes), step.kept)
		}
	}
}
