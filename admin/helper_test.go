package admin

import (
	goflag "flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"layover/cluster/connect"
	"layover/cluster/doctor"
	"layover/journal/facts"
	"layover/purgatory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(withBrowser{m}) }

// withBrowser ends the shared browser behind the last test.
type withBrowser struct{ *testing.M }

func (w withBrowser) Run() int {
	goflag.Set("test.parallel", "8") // what is parallel waits for the page; a flag that is given wins, as it is parsed later
	code := w.M.Run()
	closeBrowser()
	return code
}

// fixed is a source whose sample a test replaces.
type fixed struct{ sample atomic.Pointer[Sample] }

func sourceOf(s Sample) *fixed {
	f := new(fixed)
	f.sample.Store(&s)
	return f
}

func (f *fixed) Sample() Sample { return *f.sample.Load() }

func newServer(source Source) *Server {
	return New(source, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
}

// ask sends a request to the handler without a network.
func ask(t *testing.T, s *Server, method, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.http.Handler.ServeHTTP(w, req)
	return w
}

func get(t *testing.T, s *Server, path string) *httptest.ResponseRecorder {
	t.Helper()
	return ask(t, s, http.MethodGet, path)
}

func partition(topic string, number int32, v purgatory.PartitionView) purgatory.PartitionView {
	v.Topic, v.Partition = topic, number
	return v
}

// busy is a process in the middle of its work. It has two lanes, four partitions
// of which one is halted, one stopped and one being loaded, and a target that is
// gone. Its counters are chosen so that they add up:
//
//	152 read + 47 read back = 89 delivered + 2 dead-lettered + 1 dropped + 4 handed over
//	         + 5 skipped + 1 unfinished + 7 ended + 7 cancels + 1 cancel that waits
//	         + 36 parked + 2 in flight - 3 events + 44 moved + 3 on their way
func busy(now time.Time) Sample {
	ms := now.UnixMilli()
	return Sample{
		Version: "1.2.3", Revision: "abc", GoVersion: "go1.26", Mode: "at-least-once",
		Started: now.Add(-90 * time.Minute), CaughtUp: true,
		Group: Group{
			ID: "layover-orders", MemberID: "layover-1", Generation: 7, Joined: true, Rebalances: 3, LeaseValid: true,
			Partitions: []Assignment{
				{Topic: "orders", Partition: 3, End: -1},
				{Topic: "orders", Partition: 2, Loaded: true, Stopped: "a batch cannot be read: corrupt.", Reason: "unreadable", Since: now.Add(-5 * time.Minute), Next: 900, End: 990},
				{Topic: "orders", Partition: 1, Loaded: true, Next: 60, End: 59}, // told before the last record was read
				{Topic: "orders", Partition: 0, Loaded: true, Next: 515, End: 540, OldestUnread: now.Add(-65 * time.Second)},
			},
		},
		Kafka: Kafka{
			Answering: true, Since: now.Add(-80 * time.Minute), Missing: []string{"retry-7"}, Faults: []string{"topic retry-7 is missing", "topic invoices is forbidden; allow Read on topic invoices"}, Unusable: []string{"invoices"},
			Topics:   []TopicState{{Name: "invoices", State: "forbidden", Since: now.Add(-70 * time.Minute)}},
			Warnings: map[string]string{"orders": "retention.ms < LAYOVER_MAX_DELAY"},
		},
		Connection: connect.Status{
			TLS: true, InsecureSkipVerify: true, Mechanism: "SCRAM-SHA-512", Answered: true,
			Refused: []connect.Refusal{{Broker: "b2:9093", Since: now.Add(-3 * time.Minute), Cause: connect.Cause{
				Reason: connect.ReasonTLS, LookAt: "KAFKA_TLS_CA", Message: "the broker's certificate is of no authority that is trusted here"}}},
			Refusals: map[string]int64{connect.ReasonTLS: 7},
			Certificates: []connect.Certificate{
				{Variable: "KAFKA_TLS_CA", Subject: "CN=ca", NotAfter: now.Add(40 * 24 * time.Hour)},
				{Variable: "KAFKA_TLS_CERT", Subject: "CN=layover", NotAfter: now.Add(5*24*time.Hour + time.Hour), Problem: "has expired"},
				{Variable: "KAFKA_TLS_KEY", Problem: "does not fit KAFKA_TLS_CERT"},
			},
		},
		Preflight: Preflight{Checked: now.Add(-3 * time.Minute), Findings: []Finding{
			{doctor.Finding{ID: "acl-targets", Status: doctor.Fail, Found: "Write on topic ready: missing", Why: "without it nothing is delivered", Fix: "kafka-acls.sh --add\nor ask somebody"}, now.Add(-30 * time.Minute)},
			{doctor.Finding{ID: "retention", Status: doctor.Warn, Found: "orders: retention.ms=1000 is too short", Why: "records are lost", Fix: "kafka-configs.sh --alter"}, now.Add(-3 * time.Minute)},
		}},
		Journal: Journal{
			Topics: []JournalTopic{
				{Ingress: "orders", Name: "orders.layover-orders", State: "usable", Warning: "retention.ms is 1000"},
				{Ingress: "invoices", Name: "invoices.layover-orders", State: "forbidden", Err: "TOPIC_AUTHORIZATION_FAILED"},
			},
			Restores: 2, Records: 31, Bytes: 4096, Took: 1500 * time.Millisecond, Last: 250 * time.Millisecond,
		},
		Runs: Runs{Topics: []RunsTopic{
			{Ingress: "orders", Name: "orders.layover-orders.runs", State: "usable", Refused: "partition 1 refuses copies: NOT_ENOUGH_REPLICAS"},
			{Ingress: "invoices", Name: "invoices.layover-orders.runs", State: "forbidden", Warning: "allow Write on topic invoices.layover-orders.runs"},
		}},
		Memory: Memory{Used: 192 << 20, PauseAt: 224 << 20, MovesAt: 120 << 20, Limit: 256 << 20},
		Names:  Names{Known: 9500, Limit: 10_000, Refused: now.Add(-45 * time.Second)},
		Replay: Replay{Since: now.Add(-20 * time.Second), Records: 900, Remaining: 40, Rate: 45.5},
		Lanes:  []*purgatory.Snapshot{laneOne(ms), nil, laneTwo(ms)},
		Loops:  map[string]time.Time{"poll": now, "lane-0": now.Add(-59 * time.Second)},
		Turns:  map[string]int64{"poll": 61, "lane-0": 4000},
		Pauses: []Pause{{Reason: PauseTarget, Target: "retry-7"}}, PausedSince: now.Add(-70 * time.Second),
		Settings: Settings{
			Ingress: []string{"orders", "invoices"}, Egress: "ready", OnInvalid: "halt", Deliverable: true,
			Targets: []string{"ready", "retry-*"}, Reasons: []string{"no_target", "too_large"},
			Lanes: 2, CommitInterval: time.Second, MaxDelay: 144 * time.Hour, Principal: func() string { return "User:layover" },
			Retention: map[string]time.Duration{"orders": 24 * time.Hour, "invoices": -time.Millisecond},
		},
	}
}

// letter is a dead letter with a message of the usual form.
func letter(topic string, partition int32, offset int64, reason string, atMs int64) purgatory.Letter {
	l := purgatory.Letter{Offset: offset, Reason: reason, Message: fmt.Sprintf("%s/%d@%d: no target is set", topic, partition, offset), AtMs: atMs}
	l.Topic, l.Partition = topic, partition
	return l
}

// refusals are of brokers that refuse since an instant.
func refusals(since time.Time, hosts ...string) (out []connect.Refusal) {
	for _, host := range hosts {
		out = append(out, connect.Refusal{Broker: host + ":9093", Since: since,
			Cause: connect.Cause{Reason: connect.ReasonTLS, LookAt: "KAFKA_TLS_CA", Message: "unknown authority"}})
	}
	return out
}

// ends is a certificate that ends after d.
func ends(d time.Duration) []connect.Certificate {
	return []connect.Certificate{{Variable: "KAFKA_TLS_CERT", Subject: "CN=layover", NotAfter: time.Now().Add(d)}}
}

func laneOne(ms int64) *purgatory.Snapshot {
	s := &purgatory.Snapshot{
		Bytes: 1000, ChunkBytes: 800, LiveBytes: 600, Parked: 30, Due: 4, InFlight: 2, NextDueMs: ms + 2500,
		Outlook:  purgatory.Outlook{DueWithin: [7]int64{4, 9, 20, 25, 130, 333, 734}, OldestOverdueMs: ms - 3000},
		RecentMs: []int32{9, 1, 8, 2, 7}, Errors: []purgatory.TargetError{{Target: "retry-7", Detail: "UNKNOWN_TOPIC_OR_PARTITION"}},
		Held: []purgatory.HeldView{
			{Target: "retry-7", Label: "retry-*", Verdict: purgatory.Missing, Detail: "no such topic", Records: 3, Bytes: 300, SinceMs: ms - 60_000, PatienceLeftMs: 840_900, GivenUp: 2},
			{Target: "retry-8", Label: "retry-*", Verdict: purgatory.Unreachable, Records: 1, Bytes: 100, PatienceLeftMs: 899_000},
		},
		Partitions: []purgatory.PartitionView{partition("orders", 0, purgatory.PartitionView{
			Epoch: 5, Low: 400, Next: 515, StableEnd: 500, Committed: 390, Parked: 30, Due: 4, InFlight: 2, Moving: 1, Finished: 79,
			Confirmed: true, Metadata: 77, OldestNeededMs: ms - 3_600_000, FurthestMs: ms + 3_600_000, Uncommitted: 10, BeyondPrefix: 6, Journalled: 9,
			Facts: facts.Status{Mode: facts.InJournal, Unwritten: 7, Live: 2048},
		})},
	}
	s.Consumed = map[purgatory.TopicOutcome]int64{
		{Topic: "orders", Outcome: purgatory.Parked}: 104, {Topic: "orders", Outcome: purgatory.Passed}: 20, {Topic: "orders", Outcome: purgatory.Cancel}: 8,
		{Topic: "orders", Outcome: purgatory.Skipped}: 5, {Topic: "orders", Outcome: purgatory.Invalid}: 3,
	}
	s.Cancels = map[purgatory.TopicResult]int64{{Topic: "orders", Result: "cancelled"}: 4, {Topic: "orders", Result: "too_late"}: 2, {Topic: "orders", Result: "miss"}: 1}
	s.Ended = map[purgatory.TopicResult]int64{{Topic: "orders", Result: "cancelled"}: 4, {Topic: "orders", Result: "replaced"}: 2, {Topic: "orders", Result: "expired"}: 1}
	s.CatchingUp = []purgatory.CatchingUp{{Label: "ready", Records: 6, UntilMs: ms + 61_000}}
	s.Events, s.EventsWaiting = map[string]int64{"acknowledged": 7, "given_up": 2}, 3
	s.IDs, s.IDBytes, s.Barred, s.Waiting, s.BarrierOpened = 12, 480, 2, 1, map[string]int64{"idle": 1, "paused": 3}
	s.Invalid = map[purgatory.TopicReason]int64{{Topic: "orders", Reason: "no_target"}: 3}
	s.Delivered = map[purgatory.TopicTarget]int64{{Topic: "orders", Target: "ready"}: 70, {Topic: "orders", Target: "retry-*"}: 10}
	s.DeadLettered = map[purgatory.TopicReason]int64{{Topic: "orders", Reason: "no_target"}: 2}
	s.Gathered, s.Moved, s.Cleaned, s.Loaded, s.LostFromRuns = 3, 44, 5, 47, 6
	s.Outlook.Runs = purgatory.RunsOutlook{Copies: 700, Bytes: 70_000, NextDueMs: ms + 1200, Partitions: []purgatory.RunsView{{
		TopicPartition: s.Partitions[0].TopicPartition, Known: true, Runs: 12, Copies: 700, Bytes: 70_000, LogBytes: 210_000, Overdue: 2, FurthestMs: ms + 86_400_000, Full: true,
	}}}
	s.Pace = purgatory.RunsPace{HorizonMs: 600_000, AheadMs: 60_000, Visits: 40, LateVisits: 3, LastLateMs: ms - 8000, Took: purgatory.Histogram{Buckets: [16]uint64{2: 30, 5: 10}, SumMs: 800, Count: 40}}
	s.Missed = purgatory.Missed{Records: 30, EarliestMs: ms - 9_000_000, LatestMs: ms - 5_500_000, AssignedMs: ms - 5_400_000, MostLateMs: 3_601_000, LastMs: ms - 300_000}
	s.Letters = []purgatory.Letter{letter("orders", 0, 512, "no_target", ms-20_000), letter("orders", 0, 498, "no_target", ms-400_000)}
	s.Dropped, s.Ambiguous = map[string]int64{"orders": 1}, map[string]int64{"orders": 8}
	s.ProduceErrors = map[purgatory.TargetKind]int64{{Target: "retry-*", Kind: "retriable"}: 11}
	s.Late = map[string]*purgatory.Histogram{"ready": {Buckets: [16]uint64{1, 2, 3, 15: 4}, SumMs: 250_500, Count: 10}}
	s.Attempts = map[string]*purgatory.Histogram{"orders": {Buckets: [16]uint64{7, 5, 15: 1}, SumMs: 20_017, Count: 13}}
	s.Requested = map[string]*purgatory.Histogram{"orders": {Buckets: [16]uint64{0, 60, 40, 15: 2}, SumMs: 6_000_000_500, Count: 102}}
	s.TickLag = purgatory.Histogram{Buckets: [16]uint64{90, 9, 1}, SumMs: 111, Count: 100}
	s.Produced = purgatory.Histogram{Buckets: [16]uint64{3: 80}, SumMs: 640, Count: 80}
	s.Committed = purgatory.Histogram{Buckets: [16]uint64{4: 52}, SumMs: 1000, Count: 52}
	s.Future, s.Restored, s.LastCommitMs = map[string]int64{"orders": 6}, 88, ms-700
	s.HandedOver, s.Jumped, s.LostToRetention, s.LastDeliveryMs = 4, 20_000, 12, ms-4
	s.Commits, s.CommitErrors, s.MetadataOverflows = 50, 2, 1
	s.Journal = facts.Stats{Records: 21, Bytes: 9000, Snapshots: 3, Deletions: 2, Failures: 1}
	return s
}

func laneTwo(ms int64) *purgatory.Snapshot {
	s := &purgatory.Snapshot{
		Bytes: 500, ChunkBytes: 400, LiveBytes: 100, Parked: 1, Due: 1, NextDueMs: ms + 1500, RecentMs: []int32{3, 10, 4, 6, 5},
		Outlook: purgatory.Outlook{DueWithin: [7]int64{1, 1, 2, 2, 2, 2, 2}, OldestOverdueMs: ms - 4000},
		Errors:  []purgatory.TargetError{{Target: "retry-7", Detail: "UNKNOWN_TOPIC_OR_PARTITION"}, {Target: "ready", Detail: "NOT_LEADER"}},
		Held: []purgatory.HeldView{
			{Target: "retry-7", Label: "retry-*", Verdict: purgatory.Missing, Detail: "no such topic", Records: 1, Bytes: 40, SinceMs: ms - 90_000, PatienceLeftMs: 810_000},
		},
		Partitions: []purgatory.PartitionView{partition("orders", 1, purgatory.PartitionView{
			Epoch: 6, Low: 50, Next: 60, StableEnd: 100, Committed: 50, Parked: 1, Due: 1, Finished: 8, Confirmed: true, FurthestMs: ms + 7000,
			Halted: "no_target: no target is set", HaltedAt: 60,
		}), partition("orders", 2, purgatory.PartitionView{Epoch: 7, Low: 900, Next: 900, StableEnd: 990, Committed: 900})},
	}
	s.Outlook.Runs = purgatory.RunsOutlook{Copies: 20, Bytes: 2000, NextDueMs: ms + 90_000, Partitions: []purgatory.RunsView{
		{TopicPartition: s.Partitions[0].TopicPartition, Known: true, Runs: 1, Copies: 20, Bytes: 2000, LogBytes: 9000, FurthestMs: ms + 3000}, {TopicPartition: s.Partitions[1].TopicPartition},
	}}
	s.Pace = purgatory.RunsPace{HorizonMs: 3_600_000, AheadMs: 10_500, Visits: 2, Took: purgatory.Histogram{Buckets: [16]uint64{1: 2}, SumMs: 5, Count: 2}}
	s.Consumed = map[purgatory.TopicOutcome]int64{
		{Topic: "orders", Outcome: purgatory.PastDue}: 10, {Topic: "orders", Outcome: purgatory.Immediate}: 2,
	}
	s.Delivered = map[purgatory.TopicTarget]int64{{Topic: "orders", Target: "ready"}: 9}
	s.Late = map[string]*purgatory.Histogram{"ready": {Buckets: [16]uint64{1}, SumMs: 1, Count: 1}}
	s.TickLag = purgatory.Histogram{Buckets: [16]uint64{10}, SumMs: 4, Count: 10}
	s.CatchingUp = []purgatory.CatchingUp{{Label: "retry-*", Records: 1, UntilMs: ms + 500}, {Label: "ready", Records: 2, UntilMs: ms + 9000}}
	s.Unfinished, s.Commits, s.LastDeliveryMs, s.LastCommitMs = 1, 5, ms-9000, ms-9000
	return s
}
