package admin

import "layover/purgatory"

// commandFamilies are about records with an id, and what ended records without a trace.
func commandFamilies() []family {
	return []family{
		counter("layover_cancels_total",
			"Cancels by their result: cancelled (it ended its record), too_late (the record was on its way, and was delivered), miss (no record with the id waited).",
			[]string{"topic", "result"}, perResult(func(v *view) map[purgatory.TopicResult]int64 { return v.total.Cancels })),
		counter("layover_ended_records_total",
			"Records that left nothing in any topic but an event: cancelled, replaced (by a newer record with their id), expired (and dropped).",
			[]string{"topic", "outcome"}, perResult(func(v *view) map[purgatory.TopicResult]int64 { return v.total.Ended })),
		level("layover_ids",
			"Records in memory that a cancel, or a newer record with their id, would find.",
			func(v *view) float64 { return float64(v.total.ids) }),
		level("layover_id_bytes",
			"Memory that finding records by their ids takes beside the records, in bytes; part of layover_parked_bytes.",
			func(v *view) float64 { return float64(v.total.idBytes) }),
		level("layover_waiting_cancels",
			"Cancels whose record is in flight: its answer decides whether they came too late.",
			func(v *view) float64 { return float64(v.total.waitingCancels) }),
		level("layover_barrier_waiting_records",
			"Due records with an id that wait until their partition is read up to the end that its assignment found: a cancel may stand there. Part of layover_parked_records.",
			func(v *view) float64 { return float64(v.total.barred) }),
		counter("layover_barrier_opened_total",
			"How often records with an id were let go before their partition was read to that end: paused (reading is), halted or stopped (the partition is), idle (nothing was read for 30 s).",
			[]string{"reason"}, perKey(func(v *view) map[string]int64 { return v.total.BarrierOpened })),
		counter("layover_events_total",
			"Events by what became of them: acknowledged by their topic, or given_up, because the topic did not take them within LAYOVER_TARGET_PATIENCE or never will.",
			[]string{"result"}, perKey(func(v *view) map[string]int64 { return v.total.Events })),
		level("layover_waiting_events",
			"Events due or in flight now; part of layover_parked_records and layover_in_flight_records.",
			func(v *view) float64 { return float64(v.total.EventsWaiting) }),
	}
}

// perResult emits counts by topic and result.
func perResult(of func(*view) map[purgatory.TopicResult]int64) func(*view, emit) {
	return func(v *view, out emit) {
		for k, n := range of(v) {
			out(float64(n), k.Topic, k.Result)
		}
	}
}

// perKey emits counts by one label.
func perKey(of func(*view) map[string]int64) func(*view, emit) {
	return func(v *view, out emit) {
		for k, n := range of(v) {
			out(float64(n), k)
		}
	}
}

// zeroCommands adds a key at 0 for every result.
func (t *totals) zeroCommands(set *Settings) {
	t.Cancels, t.Ended = make(map[purgatory.TopicResult]int64), make(map[purgatory.TopicResult]int64)
	t.Events, t.BarrierOpened = make(map[string]int64), make(map[string]int64)
	for _, topic := range set.Ingress {
		for _, result := range purgatory.CancelResults() {
			t.Cancels[purgatory.TopicResult{Topic: topic, Result: result}] = 0
		}
		for _, outcome := range purgatory.EndedOutcomes() {
			t.Ended[purgatory.TopicResult{Topic: topic, Result: outcome}] = 0
		}
	}
	for _, result := range purgatory.EventResults() {
		t.Events[result] = 0
	}
	for _, reason := range purgatory.BarrierReasons() {
		t.BarrierOpened[reason] = 0
	}
}

// addCommands adds what a lane has.
func (t *totals) addCommands(l *purgatory.Snapshot) {
	addCounts(t.Cancels, l.Cancels)
	addCounts(t.Ended, l.Ended)
	addCounts(t.Events, l.Events)
	addCounts(t.BarrierOpened, l.BarrierOpened)
	t.EventsWaiting += l.EventsWaiting
	t.ids += int64(l.IDs)
	t.idBytes += l.IDBytes
	t.namedBytes += l.NamedBytes
	t.barred += int64(l.Barred)
	t.waitingCancels += int64(l.Waiting)
}

// commandStatus is about records with an id.
type commandStatus struct {
	Records        int64            `json:"records"`
	Bytes          int64            `json:"bytes"`
	WaitingCancels int64            `json:"waiting_cancels"`
	BarrierWaiting int64            `json:"barrier_waiting"`
	BarrierOpened  map[string]int64 `json:"barrier_opened"`
	Cancels        map[string]int64 `json:"cancels"`
	WaitingEvents  int64            `json:"waiting_events"`
	Events         map[string]int64 `json:"events"`
}

// Used says whether any record with an id, or any expiry, was met: others need not hear of it.
func (s *commandStatus) Used() bool {
	return s.Records+s.WaitingCancels+s.WaitingEvents > 0 || all(s.Cancels) > 0 || all(s.Events) > 0
}

func (v report) commands() commandStatus {
	t := &v.total
	return commandStatus{
		Records: t.ids, Bytes: t.idBytes, WaitingCancels: t.waitingCancels, BarrierWaiting: t.barred, BarrierOpened: t.BarrierOpened,
		Cancels: byResult(t.Cancels), WaitingEvents: t.EventsWaiting, Events: t.Events,
	}
}

// byResult adds up the ingress topics.
func byResult(counts map[purgatory.TopicResult]int64) map[string]int64 {
	out := make(map[string]int64)
	for k, n := range counts {
		out[k.Result] += n
	}
	return out
}
