package admin

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"layover/purgatory"
)

// instantFormat is RFC 3339 with milliseconds.
const instantFormat = "2006-01-02T15:04:05.000Z07:00"

// status is the body of /status. Members are in the order in which an operator
// asks: state, obstacles, waiting records, partitions.
// A list is never null; a null elsewhere says that there is no such thing now, or of a
// number that nobody knows it.
type status struct {
	Version   string  `json:"version"`
	Revision  string  `json:"revision"`
	GoVersion string  `json:"go_version"`
	Mode      string  `json:"mode"`
	Started   instant `json:"started"`
	Uptime    int64   `json:"uptime_seconds"`
	Draining  bool    `json:"draining"`
	State     string  `json:"state"` // ready, paused, degraded, both, not ready, or draining
	Ready     bool    `json:"ready"`
	Degraded  bool    `json:"degraded"`
	ReadyText string  `json:"ready_text"` // the body of /readyz

	Sick       []Sickness        `json:"sick"`
	SickMore   int               `json:"sick_not_shown"`
	Findings   []findingStatus   `json:"findings"`
	CheckedAt  instant           `json:"checked_at"`
	Pauses     []pauseStatus     `json:"pauses"`
	Paused     *pausedStatus     `json:"paused"`
	LastErrors []targetError     `json:"last_errors"`
	Letters    deadLetterStatus  `json:"dead_letters"`
	Kafka      kafkaStatus       `json:"kafka"`
	Connection connectionStatus  `json:"connection"`
	Group      groupStatus       `json:"group"`
	Parked     parkedStatus      `json:"parked"`
	NextDue    instant           `json:"next_due"`
	Furthest   instant           `json:"furthest_deadline"`
	DueWithin  []dueStatus       `json:"due_within"`
	Overdue    *int64            `json:"overdue"`
	CatchingUp []catchUpStatus   `json:"catching_up"`
	Oldest     instant           `json:"oldest_overdue"`
	InFlight   int64             `json:"in_flight"`
	LatenessMs *latenessStatus   `json:"lateness_ms"`
	LateStart  *lateStart        `json:"late_start"`
	IDs        commandStatus     `json:"ids"`
	Held       []heldStatus      `json:"held"`
	HeldMore   int               `json:"held_not_shown"`
	Names      namesStatus       `json:"target_names"`
	Duplicates duplicatesStatus  `json:"duplicates_after_a_kill"`
	Replay     *replayStatus     `json:"replay"`
	Partitions []partitionStatus `json:"assignments"`
	Journal    journalStatus     `json:"journal"`
	Runs       runsStatus        `json:"runs"`
	Counters   counterStatus     `json:"counters"`
	Settings   settingsStatus    `json:"settings"`
}

// instant is a time that JSON has in UTC; the zero time is null.
type instant struct{ time.Time }

func (i instant) MarshalJSON() ([]byte, error) {
	if i.IsZero() {
		return []byte("null"), nil
	}
	return []byte(i.UTC().Format(`"` + instantFormat + `"`)), nil
}

// millis returns the instant of Unix milliseconds, of which 0 is none.
func millis(ms int64) instant {
	if ms == 0 {
		return instant{}
	}
	return instant{time.UnixMilli(ms)}
}

type targetError struct {
	Target string `json:"target"`
	Detail string `json:"detail"`
}

type kafkaStatus struct {
	Answering bool              `json:"answering"`
	Since     instant           `json:"since"`
	Error     string            `json:"error"`
	Missing   []string          `json:"missing_topics"` // names
	Faults    []string          `json:"topic_faults"`   // sentences about these, and topics that cannot be used otherwise
	Warnings  map[string]string `json:"warnings"`
}

type groupStatus struct {
	ID         string `json:"id"`
	InstanceID string `json:"instance_id"`
	Member     string `json:"member"`
	Generation int32  `json:"generation"`
	Rebalances int64  `json:"rebalances"`
	Joined     bool   `json:"joined"`
	LeaseValid bool   `json:"lease_valid"`
	Error      string `json:"error"`
}

// journalStatus counts since the start of the process.
type journalStatus struct {
	Topics    []journalTopic `json:"topics"`
	Records   int64          `json:"records_written"`
	Bytes     int64          `json:"bytes_written"`
	Snapshots int64          `json:"snapshots"`
	Deletions int64          `json:"deletions"`
	Errors    int64          `json:"errors"`
	Live      int64          `json:"live_bytes"`
	Restores  int64          `json:"restores"`
	Restored  int64          `json:"restored_records"`
	LastMs    int64          `json:"last_restore_ms"`
}

type journalTopic struct {
	Ingress string `json:"ingress"`
	Name    string `json:"name"`
	State   string `json:"state"`
	Warning string `json:"warning"`
	Error   string `json:"error"`
}

func (v report) journal() journalStatus {
	j := v.total.Journal
	s := journalStatus{
		Topics: []journalTopic{}, Records: j.Records, Bytes: j.Bytes, Snapshots: j.Snapshots, Deletions: j.Deletions, Errors: j.Failures,
		Restores: v.Journal.Restores, Restored: v.Journal.Records, LastMs: v.Journal.Last.Milliseconds(),
	}
	for _, t := range v.Journal.Topics {
		s.Topics = append(s.Topics, journalTopic{t.Ingress, t.Name, t.State, t.Warning, t.Err})
	}
	for i := range v.parts {
		if p := v.parts[i].core; p != nil {
			s.Live += p.Facts.Live
		}
	}
	return s
}

// dueStatus counts the records that wait, in memory or in runs, and are due within so many
// seconds, or are due already. It may be a second old.
type dueStatus struct {
	Seconds int64  `json:"seconds"`
	Records *int64 `json:"records"`
}

func (v report) due() []dueStatus {
	out := make([]dueStatus, len(v.total.dueWithin))
	for i, n := range v.total.dueWithin {
		out[i] = dueStatus{purgatory.Horizons[i] / 1000, v.known(n)}
	}
	return out
}

// replayStatus is the reading of records that were in the log at the assignment.
type replayStatus struct {
	Since     instant `json:"since"`
	Records   int64   `json:"records_read"`
	Rate      int64   `json:"records_per_second"`
	Remaining int64   `json:"remaining_offsets"`
}

func (v report) replay() *replayStatus {
	if v.Replay.Remaining == 0 {
		return nil
	}
	return &replayStatus{instant{v.Replay.Since}, v.Replay.Records, int64(v.Replay.Rate), v.Replay.Remaining}
}

// parkedStatus: records includes those that are due and wait for their target. memory
// is all that counts against the limit, and bytes the part of it in the lanes. Empty
// lanes take some, for their wheels.
type parkedStatus struct {
	Records *int64 `json:"records"`
	Due     *int64 `json:"due"`
	Bytes   int64  `json:"bytes"`
	Chunks  int64  `json:"chunk_bytes"`      // of bytes, the chunks that records lie in
	Live    int64  `json:"chunk_live_bytes"` // of those, the bytes of records
	Memory  int64  `json:"memory"`
	PauseAt int64  `json:"pause_at"` // memory at which reading pauses
	Limit   int64  `json:"limit"`
}

// latenessStatus is of recent deliveries, at most about a thousand from each lane.
type latenessStatus struct {
	P50   int32 `json:"p50"`
	P90   int32 `json:"p90"`
	P99   int32 `json:"p99"`
	Max   int32 `json:"max"`
	Count int   `json:"count"`
}

// counterStatus counts since the start of the process.
type counterStatus struct {
	Consumed     int64            `json:"consumed"`
	ByOutcome    map[string]int64 `json:"consumed_by_outcome"`
	Delivered    int64            `json:"delivered"`
	DeadLettered int64            `json:"dead_lettered"`
	Dropped      int64            `json:"dropped"`
	Ended        map[string]int64 `json:"ended"`
	Cancels      int64            `json:"cancels"`
	HandedOver   int64            `json:"handed_over"`
	Skipped      int64            `json:"skipped"`
	Unfinished   int64            `json:"unfinished"`
	// Unaccounted is consumed and runs.loaded, less all above, parked.records, in_flight,
	// ids.waiting_cancels, runs.moved and runs.moving, and with ids.waiting_events.
	Unaccounted       int64 `json:"unaccounted"`
	Invalid           int64 `json:"invalid"`
	Ambiguous         int64 `json:"ambiguous"`
	Future            int64 `json:"future_timestamps"`
	Restored          int64 `json:"restored"`
	ProduceErrors     int64 `json:"produce_errors"`
	Commits           int64 `json:"commits"`
	CommitErrors      int64 `json:"commit_errors"`
	MetadataOverflows int64 `json:"metadata_overflows"`
	Jumped            int64 `json:"jumped"`
	LostToRetention   int64 `json:"lost_to_retention"`
}

// namesStatus counts the target names that headers chose. Refused is since when there
// are more than may be known.
type namesStatus struct {
	Known   int     `json:"known"`
	Limit   int     `json:"limit"`
	Refused instant `json:"refused_since"`
}

type settingsStatus struct {
	Ingress        []string `json:"ingress"`
	Egress         string   `json:"egress"`
	Targets        []string `json:"targets"`
	DeadLetter     string   `json:"dead_letter"`
	Events         string   `json:"events"`
	OnInvalid      string   `json:"on_invalid"`
	Lanes          int      `json:"lanes"`
	CommitInterval string   `json:"commit_interval"`
	MaxDelay       string   `json:"max_delay"`
}

// statusJSON returns the body of /status, indented and with < > & as they are.
func statusJSON(v *view) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v.report().status())
	return out.Bytes(), err
}

// report is a view as it is shown: as JSON, and on the page.
type report struct{ *view }

func (v *view) report() report { return report{v} }

func (v report) status() status {
	r := ready(v.view)
	held, more := v.held()
	sick, moreSick := v.shownSick()
	return status{
		Version: v.Version, Revision: v.Revision, GoVersion: v.GoVersion, Mode: v.Mode,
		Started: instant{v.Started}, Uptime: int64(v.now.Sub(v.Started) / time.Second),
		Draining: v.Draining, State: v.state(r), Ready: r.ready, Degraded: r.degraded, ReadyText: r.String(),
		Sick: sick, SickMore: moreSick,
		Findings: v.findings(), CheckedAt: instant{v.Preflight.Checked},
		Pauses: v.pauses(), Paused: v.paused(), LastErrors: v.lastErrors(), Letters: v.deadLetters(),
		Kafka: kafkaStatus{
			Answering: v.Kafka.Answering, Since: instant{v.Kafka.Since}, Error: v.Kafka.Err,
			Missing: list(v.Kafka.Missing), Faults: list(v.Kafka.Faults), Warnings: maps.Collect(maps.All(v.Kafka.Warnings)),
		},
		Connection: v.connection(),
		Group: groupStatus{
			ID: v.Group.ID, InstanceID: v.Group.InstanceID, Member: v.Group.MemberID, Generation: v.Group.Generation,
			Rebalances: v.Group.Rebalances, Joined: v.Group.Joined, LeaseValid: v.Group.LeaseValid, Error: v.Group.LastError,
		},
		Parked:  parkedStatus{v.known(v.total.parked), v.known(v.total.due), v.total.bytes, v.total.chunkBytes, v.total.liveBytes, v.Memory.Used, v.Memory.PauseAt, v.Memory.Limit},
		NextDue: millis(v.total.nextDueMs), Furthest: millis(v.total.furthest()), DueWithin: v.due(), Oldest: millis(v.total.oldestOverdueMs),
		Overdue: v.known(v.total.overdue), CatchingUp: v.catchUp(), InFlight: v.total.inFlight,
		LatenessMs: quantiles(v.total.recentMs), LateStart: v.lateStart(),
		IDs:  v.commands(),
		Held: held, HeldMore: more, Names: namesStatus{v.Names.Known, v.Names.Limit, instant{v.Names.Refused}},
		Replay:     v.replay(),
		Duplicates: v.duplicates(), Partitions: v.partitions(), Journal: v.journal(), Runs: v.runs(), Counters: v.total.counters(),
		Settings: settingsStatus{
			Ingress: list(v.Settings.Ingress), Egress: v.Settings.Egress, Targets: list(v.Settings.Targets),
			DeadLetter: v.Settings.DeadLetter, Events: v.Settings.Events, OnInvalid: v.Settings.OnInvalid, Lanes: v.Settings.Lanes,
			CommitInterval: v.Settings.CommitInterval.String(), MaxDelay: v.Settings.MaxDelay.String(),
		},
	}
}

// list returns the slice for JSON, where a nil one would be null.
func list(in []string) []string {
	if in == nil {
		return []string{}
	}
	return in
}

// lastErrors returns the targets' last errors, each distinct one once. Their
// number is bounded by the lanes' own limit.
func (v report) lastErrors() []targetError {
	out := []targetError{}
	for _, l := range v.Lanes {
		if l == nil {
			continue
		}
		for _, e := range l.Errors {
			if e := (targetError{e.Target, e.Detail}); !slices.Contains(out, e) {
				out = append(out, e)
			}
		}
	}
	return out
}

// quantiles are by nearest rank, so each is a lateness that did happen.
func quantiles(sorted []int32) *latenessStatus {
	n := len(sorted)
	if n == 0 {
		return nil
	}
	at := func(percent int) int32 { return sorted[(n*percent+99)/100-1] }
	return &latenessStatus{P50: at(50), P90: at(90), P99: at(99), Max: sorted[n-1], Count: n}
}

// Cancelled is how many records were cancelled, replaced, or expired and were dropped.
func (c *counterStatus) Cancelled() int64 { return all(c.Ended) }

func (t *totals) counters() counterStatus {
	c := counterStatus{
		Consumed: all(t.Consumed), ByOutcome: make(map[string]int64),
		Delivered: all(t.Delivered), DeadLettered: all(t.DeadLettered), Dropped: all(t.Dropped), Ended: byResult(t.Ended), Cancels: all(t.Cancels),
		HandedOver: t.HandedOver, Skipped: t.skipped(), Unfinished: t.Unfinished, Unaccounted: t.unaccounted(),
		Invalid: all(t.Invalid), Ambiguous: all(t.Ambiguous), Future: all(t.Future), Restored: t.Restored, ProduceErrors: all(t.ProduceErrors),
		Commits: t.Commits, CommitErrors: t.CommitErrors, MetadataOverflows: t.MetadataOverflows,
		Jumped: t.Jumped, LostToRetention: t.LostToRetention,
	}
	for _, o := range outcomes() {
		c.ByOutcome[o.String()] = 0
	}
	for k, n := range t.Consumed {
		c.ByOutcome[k.Outcome.String()] += n
	}
	return c
}
