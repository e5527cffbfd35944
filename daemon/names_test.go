package daemon

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"layover/cluster"
	"layover/config"
	"layover/purgatory"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kgo"
)

// A producer that invents a target for each record costs its own records, memory that
// is counted, and nobody else anything.
func TestNamesThatHeadersInventHoldUpNobody(t *testing.T) {
	long.Only(t)
	const invented, limit = 11_000, cluster.MaxNames
	inBubble(t, func(w *fixture) {
		w.createTopics(1, "jobs.healthy", "jobs.late")
		in := w.start("LAYOVER_TARGETS_ALLOWED=jobs.*", "LAYOVER_MAX_PARKED_BYTES=128Mi", "LAYOVER_TARGET_PATIENCE=30s")
		in.ready()
		healthy := 0
		deliver := func() {
			w.Helper()
			w.sendTo(ingress, 1, "healthy", header("x-deliver-to", "jobs.healthy"))
			healthy++
			w.arrives("jobs.healthy", healthy, 5*time.Second)
		}
		deliver()
		w.sendMany(0, 0, invented, func(i int) []kgo.RecordHeader {
			return []kgo.RecordHeader{header("x-deliver-to", fmt.Sprintf("jobs.secret-%05d-%s", i, strings.Repeat("x", 200)))}
		})
		for range 5 {
			deliver()
			w.send(1, "to the egress topic")
			time.Sleep(time.Second)
		}
		w.arrives(egress, 5, time.Second)
		in.crowded(limit)
		w.sendTo(ingress, 1, "late", header("x-deliver-to", "jobs.late"))
		w.arrives("jobs.late", 1, 20*time.Second) // it waits for room, and gets it
		for _, r := range w.arrives(dlq, invented, time.Minute) {
			if get(r, "layover.errors.reason") != "target_unavailable" {
				t.Fatalf("dead letter %v", r.Headers)
			}
		}
		time.Sleep(15 * time.Second)
		logs := in.logs.String()
		if strings.Count(logs, "too many target names") != 1 || strings.Count(logs, "no more target names than fit") != 1 || strings.Contains(logs, "secret") {
			t.Errorf("log: %.3000s", logs)
		}
		in.stop()
	})
}

// TestAFloodOfNamesTakesAShareOfASmallBound: each has a record that is held for a target of
// its own, and reading goes on.
func TestAFloodOfNamesTakesAShareOfASmallBound(t *testing.T) {
	long.Only(t)
	t.Parallel()
	inBubble(t, func(w *fixture) {
		w.createTopics(1, "jobs.healthy")
		in := w.start("LAYOVER_TARGETS_ALLOWED=jobs.*", "LAYOVER_MAX_PARKED_BYTES=64Mi")
		in.ready()
		w.sendTo(ingress, 1, "healthy", header("x-deliver-to", "jobs.healthy"))
		w.arrives("jobs.healthy", 1, 5*time.Second)
		invented := 15_000
		if long.Whole() {
			invented = 50_000
		}
		w.sendMany(0, 0, invented, func(i int) []kgo.RecordHeader {
			return []kgo.RecordHeader{header("x-deliver-to", fmt.Sprint("jobs.", i))}
		})
		for i := range 10 {
			w.sendTo(ingress, 1, "healthy", header("x-deliver-to", "jobs.healthy"))
			w.onTime(0, 1)
			if code, body := in.get("/readyz"); code != 200 || i > 5 && !strings.HasPrefix(body, "degraded: headers have chosen") {
				t.Errorf("%d %.200s", code, body)
			}
			if used := in.metric("layover_parked_bytes "); used > 64<<20 {
				t.Errorf("%v bytes are used", used)
			}
		}
		w.arrives("jobs.healthy", 11, time.Second)
		if n := in.metric("layover_held_records{target=\"jobs.*\"}") + float64(w.count(dlq)); n != float64(invented) {
			t.Errorf("%v records are held or dead letters", n)
		}
		in.stop()
	})
}

// A producing client asks about every topic that it ever produced to. That is no use of
// its name, which would keep its place for good.
func TestANameThatWasDeliveredToIsForgotten(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		w.createTopics(1, "jobs.1")
		in := w.start("LAYOVER_TARGETS_ALLOWED=jobs.*")
		in.ready()
		known := func() any { return in.status()["target_names"].(map[string]any)["known"] }
		for i := range 2 { // and comes back
			w.send(1, "healthy", header("x-deliver-to", "jobs.1"))
			w.arrives("jobs.1", i+1, 5*time.Second)
			if n := known(); n != 1.0 {
				t.Errorf("%v names are known", n)
			}
			time.Sleep(11 * time.Minute)
			if n, b := known(), in.daemon.watcher.Bytes(); n != 0.0 || b != 0 {
				t.Errorf("%v names with %d bytes are left", n, b)
			}
		}
		in.stop()
	})
}

// crowded checks what is told while headers choose more names than are known.
func (in *instance) crowded(limit int64) {
	in.w.Helper()
	n := in.status()["target_names"].(map[string]any)
	known := int64(n["known"].(float64))
	if known > limit || known < limit/2 || n["limit"] != float64(limit) || n["refused_since"] == nil {
		in.w.Errorf("status says %v", n)
	}
	if _, metrics := in.get("/metrics"); !strings.Contains(metrics, fmt.Sprintf("layover_target_names_limit %d\n", limit)) || !strings.Contains(metrics, "layover_target_names_refused 1\n") {
		in.w.Error("metrics do not say so")
	}
	names, all := in.daemon.nameBytes(), in.daemon.Sample().Memory.Used
	for _, l := range in.daemon.lanes {
		all -= l.Bytes()
	}
	if least := 212 * known; names < least || all < least {
		in.w.Errorf("%d names, counted with %d bytes, of %d that are no lane's", known, names, all)
	}
}

// The share of names follows a small bound, so that names alone pause nothing for good.
func TestNamesTakeAShareOfASmallBound(t *testing.T) {
	for _, bound := range []int64{1 << 20, 8 << 20, 64 << 20, 256 << 20} {
		s := sizesFor(bound, 4)
		if worst := int64(s.names) * (376 + 249 + 40); worst > max(bound/4, 100*700) || s.names < 100 || s.names > cluster.MaxNames {
			t.Errorf("%d MiB: %d names, up to %d bytes", bound>>20, s.names, worst)
		}
	}
	if s := sizesFor(64<<20, 4); s.names != cluster.MaxNames {
		t.Errorf("64 MiB: %d names, want all", s.names)
	}
}

// Nobody could tell one name too many from a topic that is missing, but for the text.
func TestOneNameTooManyIsHeldAndSaysWhy(t *testing.T) {
	d := &Daemon{cfg: &config.Config{}, watcher: cluster.New(cluster.Config{Names: 2}, nil)}
	lookup := d.delivery(nil).Lookup
	for i, want := range []purgatory.Verdict{purgatory.Pending, purgatory.Pending, purgatory.Missing} {
		name := fmt.Sprintf("jobs.%d", i)
		r := lookup(purgatory.TargetName{Name: name})
		if r.Verdict != want || (r.Detail != "") != (want == purgatory.Missing) || strings.Contains(r.Detail, name) {
			t.Errorf("%s: %+v, want %v", name, r, want)
		}
		for _, part := range []string{"2 that are known", "LAYOVER_TARGETS_ALLOWED"} {
			if r.Detail != "" && !strings.Contains(r.Detail, part) {
				t.Errorf("%q does not say %q", r.Detail, part)
			}
		}
	}
}
