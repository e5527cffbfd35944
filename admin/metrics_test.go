package admin

import (
	"bufio"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"layover/purgatory"
)

// series parses a scrape of text format: the value of each series by its name and
// labels as they are written.
func series(t *testing.T, body string) map[string]float64 {
	t.Helper()
	out := make(map[string]float64)
	lines := bufio.NewScanner(strings.NewReader(body))
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if _, twice := out[line[:at]]; twice {
			t.Errorf("%s is there twice", line[:at])
		}
		out[line[:at]] = value
	}
	return out
}

func scrape(t *testing.T, s Sample) map[string]float64 {
	t.Helper()
	return series(t, get(t, newServer(sourceOf(s)), "/metrics").Body.String())
}

// sumOf adds up the series of a name whose labels contain all of with.
func sumOf(in map[string]float64, name string, with ...string) float64 {
	var sum float64
	for k, v := range in {
		matches := k == name || strings.HasPrefix(k, name+"{")
		for _, w := range with {
			matches = matches && strings.Contains(k, w)
		}
		if matches {
			sum += v
		}
	}
	return sum
}

func TestMetricsShowTheSample(t *testing.T) {
	published, err := os.ReadFile("testdata/metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		got := scrape(t, busy(time.Now()))
		for name, want := range series(t, string(published)) {
			if value, there := got[name]; !there || value != want {
				t.Errorf("%s is %v (there: %v), want %v", name, value, there, want)
			}
		}
		for _, name := range []string{
			`layover_partition_stopped_offset{partition="0",topic="orders"}`, // it is read
			`layover_committed_offset{partition="3",topic="orders"}`,         // it is being loaded
			`layover_read_offset{partition="3",topic="orders"}`,
		} {
			if value, there := got[name]; there {
				t.Errorf("%s is there: %v", name, value)
			}
		}
	})
}

func TestMetricsAddUp(t *testing.T) {
	got := scrape(t, busy(time.Now()))
	read := sumOf(got, "layover_ingress_records_total") + sumOf(got, "layover_runs_loaded_records_total")
	ends := sumOf(got, "layover_ingress_records_total", `outcome="skipped"`) - sumOf(got, "layover_waiting_events")
	for _, name := range []string{
		"layover_delivered_records_total", "layover_dead_lettered_records_total", "layover_dropped_records_total",
		"layover_ended_records_total", "layover_cancels_total", "layover_waiting_cancels",
		"layover_parked_records", "layover_in_flight_records", "layover_handed_over_records_total", "layover_unfinished_records_total",
		"layover_runs_moved_records_total", "layover_runs_moving_records",
	} {
		ends += sumOf(got, name)
	}
	if read != 199 || ends != 199 {
		t.Errorf("%v read, %v accounted for, want 199 both", read, ends)
	}
}

// TestOverdueHasNoSeriesWhileItIsNotKnown, as /status has null.
func TestOverdueHasNoSeriesWhileItIsNotKnown(t *testing.T) {
	for name, s := range map[string]Sample{
		"known":     {Started: time.Now(), Kafka: Kafka{Answering: true}, Group: Group{Joined: true}},
		"not known": {Started: time.Now()},
	} {
		if value, there := scrape(t, s)["layover_overdue_records"]; there != (name == "known") || value != 0 {
			t.Errorf("%s: %v (there: %v)", name, value, there)
		}
	}
}

func TestCountersAreThereFromTheStart(t *testing.T) {
	got := scrape(t, Sample{Started: time.Now(), Settings: Settings{
		Ingress: []string{"orders", "invoices"}, Targets: []string{"ready", "retry-*"}, DeadLetter: "dead", Reasons: []string{"no_target"},
	}})
	var want []string
	for _, topic := range []string{"orders", "invoices"} {
		for _, outcome := range []string{"parked", "passed", "immediate", "past_due", "invalid", "skipped", "cancel"} {
			want = append(want, `layover_ingress_records_total{outcome="`+outcome+`",topic="`+topic+`"}`)
		}
		for _, target := range []string{"ready", "retry-*"} {
			want = append(want, `layover_delivered_records_total{target="`+target+`",topic="`+topic+`"}`)
		}
		for _, result := range []string{"cancelled", "too_late", "miss"} {
			want = append(want, `layover_cancels_total{result="`+result+`",topic="`+topic+`"}`)
		}
		for _, outcome := range []string{"cancelled", "replaced", "expired"} {
			want = append(want, `layover_ended_records_total{outcome="`+outcome+`",topic="`+topic+`"}`)
		}
		want = append(want,
			`layover_ambiguous_records_total{topic="`+topic+`"}`,
			`layover_dropped_records_total{topic="`+topic+`"}`,
			`layover_furthest_deadline_timestamp_seconds{topic="`+topic+`"}`,
			`layover_runs_records{topic="`+topic+`"}`, `layover_runs_bytes{topic="`+topic+`"}`, `layover_runs_log_bytes{topic="`+topic+`"}`, `layover_runs_runs{topic="`+topic+`"}`,
			`layover_invalid_records_total{reason="no_target",topic="`+topic+`"}`,
			`layover_dead_lettered_records_total{reason="no_target",topic="`+topic+`"}`)
	}
	for _, target := range []string{"ready", "retry-*", "dead"} {
		want = append(want,
			`layover_produce_errors_total{kind="retriable",target="`+target+`"}`,
			`layover_produce_errors_total{kind="fatal",target="`+target+`"}`,
			`layover_held_records{target="`+target+`"}`, `layover_held_bytes{target="`+target+`"}`)
	}
	for _, target := range []string{"ready", "retry-*"} {
		want = append(want, `layover_lateness_seconds_count{target="`+target+`"}`, `layover_catching_up_records{target="`+target+`"}`)
	}
	want = append(want,
		"layover_ids", "layover_id_bytes", "layover_barrier_waiting_records", "layover_waiting_cancels", "layover_waiting_events",
		`layover_events_total{result="acknowledged"}`, `layover_events_total{result="given_up"}`,
		`layover_barrier_opened_total{reason="paused"}`, `layover_barrier_opened_total{reason="halted"}`,
		`layover_barrier_opened_total{reason="stopped"}`, `layover_barrier_opened_total{reason="idle"}`,
		"layover_handed_over_records_total", "layover_unfinished_records_total", "layover_jumped_records_total",
		"layover_lost_to_retention_records_total", "layover_metadata_overflow_total", "layover_rebalances_total",
		`layover_commits_total{outcome="ok"}`, `layover_commits_total{outcome="error"}`,
		`layover_intake_paused{reason="bytes"}`, `layover_intake_paused{reason="dead_letter"}`, `layover_intake_paused{reason="target"}`,
		"layover_parked_bytes", "layover_parked_bytes_limit", "layover_intake_pause_bytes", "layover_next_due_timestamp_seconds",
		"layover_in_flight_records", "layover_last_delivery_timestamp_seconds", "layover_assigned_partitions",
		"layover_runs_moved_records_total", "layover_runs_cleaned_records_total", "layover_runs_loaded_records_total", "layover_runs_moving_records", "layover_runs_visits_total",
		"layover_runs_late_visits_total", "layover_runs_visit_duration_seconds_count", "layover_runs_horizon_seconds", "layover_runs_read_ahead_seconds", "layover_lost_from_runs_records_total",
		"layover_kafka_connected", "layover_connection_refused_brokers", "layover_ready")
	for _, reason := range []string{"tls", "login", "credentials", "protocol"} {
		want = append(want, `layover_connection_refused_total{reason="`+reason+`"}`)
	}
	for _, kind := range sickKinds() {
		want = append(want, `layover_sick{kind="`+kind+`"}`, `layover_sick_since_timestamp_seconds{kind="`+kind+`"}`)
	}
	for _, name := range want {
		if value, there := got[name]; !there || value != 0 {
			t.Errorf("%s is %v (there: %v), want 0", name, value, there)
		}
	}
}

func TestSeriesOfAPartitionGoWithIt(t *testing.T) {
	source := sourceOf(busy(time.Now()))
	srv := newServer(source)
	before := series(t, get(t, srv, "/metrics").Body.String())
	s := busy(time.Now())
	s.Group.Partitions = nil
	for _, l := range s.Lanes {
		if l != nil {
			l.Partitions, l.Held = nil, nil
		}
	}
	source.sample.Store(&s)
	after := series(t, get(t, srv, "/metrics").Body.String())
	var gone int
	for name := range before {
		if strings.Contains(name, "partition=") {
			gone++
			if _, there := after[name]; there {
				t.Errorf("%s is still there", name)
			}
		}
	}
	if gone == 0 {
		t.Error("no series of a partition were there before")
	}
	if got := sumOf(after, "layover_ingress_records_total"); got != 152 {
		t.Errorf("the records read before count no more: %v", got)
	}
}

func TestAJournalThatIsNotWantedIsNeitherUsableNorNot(t *testing.T) {
	s := busy(time.Now())
	s.Journal.Topics[0].State = "off"
	got := scrape(t, s)
	if _, there := got[`layover_journal_usable{topic="orders"}`]; there {
		t.Error("a journal that is off has a series")
	}
	if value, there := got[`layover_journal_usable{topic="invoices"}`]; !there || value != 0 {
		t.Errorf("the forbidden one is %v (there: %v)", value, there)
	}
}

func TestEveryOutcomeOfTheCoreIsPreCreated(t *testing.T) {
	for o := purgatory.Parked; o <= purgatory.Skipped; o++ {
		if !slices.Contains(outcomes(), o) {
			t.Errorf("%s is not", o)
		}
	}
}

func TestMetricsFollowTheConventions(t *testing.T) {
	body := get(t, newServer(sourceOf(busy(time.Now()))), "/metrics").Body.String()
	problems, err := promlint.New(strings.NewReader(body)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestOpenMetricsIsServedWithoutCreationTimes(t *testing.T) {
	w := ask(t, newServer(sourceOf(busy(time.Now()))), "GET", "/metrics", "Accept", "application/openmetrics-text; version=1.0.0")
	if kind := w.Header().Get("Content-Type"); !strings.HasPrefix(kind, "application/openmetrics-text") {
		t.Errorf("content type %q", kind)
	}
	if body := w.Body.String(); !strings.HasSuffix(body, "# EOF\n") || strings.Contains(body, "_created") {
		t.Errorf("not OpenMetrics without creation times: …%q", body[max(0, len(body)-200):])
	}
}

func TestALabelThatIsNoTextCostsOnlyItself(t *testing.T) {
	s := busy(time.Now())
	s.Settings.Targets = append(s.Settings.Targets, "\xff")
	got := scrape(t, s)
	if got[`layover_delivered_records_total{target="ready",topic="orders"}`] != 79 {
		t.Errorf("only %d series are left", len(got))
	}
}

func TestASampleMayBeReadByManyAtOnce(t *testing.T) {
	srv := newServer(sourceOf(busy(time.Now())))
	var done sync.WaitGroup
	for range 4 {
		for _, path := range paths {
			done.Go(func() {
				if w := get(t, srv, path); w.Code != 200 {
					t.Errorf("%s: %d", path, w.Code)
				}
			})
		}
	}
	done.Wait()
}
