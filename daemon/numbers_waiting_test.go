package daemon

import (
	"fmt"
	"layover/purgatory"
	"slices"
	"strings"
	"time"
)

// open are the records that wait or fly.
func (k *truth) open(ends map[string]ended) (out []*sent) {
	for _, r := range k.read() {
		if _, there := ends[r.value]; !there && !r.finished {
			out = append(out, r)
		}
	}
	return out
}

// waiting is what is in memory.
func (k *truth) waiting(e expected, ends map[string]ended) {
	now := time.Now()
	var parked, due, flying int
	var next, overdue time.Time
	furthest := make(map[string]time.Time)
	var within [len(purgatory.Horizons)]int
	bytes := 0
	for _, r := range k.open(ends) {
		bytes += len(r.Key) + len(r.Value)
		for _, h := range r.Headers {
			bytes += len(h.Key) + len(h.Value)
		}
		isDue := !r.dueBy().After(now) || r.outcome == "invalid"
		since := r.due
		if since.IsZero() { // it asked for none, and counts from when it was sent
			since = r.handed
		}
		if isDue && !since.IsZero() && (overdue.IsZero() || since.Before(overdue)) {
			overdue = since
		}
		if k.flying[r.value] {
			flying++
			continue
		}
		parked++
		for i, ms := range purgatory.Horizons {
			if isDue || r.due.Sub(now) <= time.Duration(ms)*time.Millisecond {
				within[i]++
			}
		}
		if isDue {
			due++
			continue
		}
		if next.IsZero() || r.due.Before(next) {
			next = r.due
		}
		if r.due.After(furthest[r.Topic]) {
			furthest[r.Topic] = r.due
		}
	}
	e[".parked.records"], e[".parked.due"], e[".in_flight"], e[".overdue"] = parked, due, flying, due+flying
	e["layover_in_flight_records"], e["layover_overdue_records"] = flying, due+flying
	e[`layover_parked_records_due_within{seconds="+Inf"}`] = parked
	for i, ms := range purgatory.Horizons {
		e[m("parked_records_due_within", "seconds", ms/1000)], e[fmt.Sprintf(".due_within[%d].records", ms/1000)] = within[i], within[i]
	}
	latest := time.Time{}
	for topic := range k.parts {
		e.instant(m("furthest_deadline_timestamp_seconds", "topic", topic), furthest[topic])
		if furthest[topic].After(latest) {
			latest = furthest[topic]
		}
	}
	e.instant("layover_next_due_timestamp_seconds", next)
	e.instant("layover_oldest_overdue_timestamp_seconds", overdue)
	e.instant(".next_due", next)
	e.instant(".furthest_deadline", latest)
	e.instant(".oldest_overdue", overdue)
	k.memory(e, bytes, parked+flying)
	k.ticks(e)
}

// ticks is how often the wheel has to be looked at. That is at each deadline, and where a bucket
// moves down a level, for which each record has five at most.
func (k *truth) ticks(e expected) {
	passed, moved := make(map[time.Time]bool), 0
	for _, r := range k.records {
		if r.outcome == "parked" {
			moved += 5
			if r.due.After(r.Timestamp) && r.due.Before(time.Now()) && r.Timestamp.After(k.began) {
				passed[r.due] = true
			}
		}
	}
	e["layover_tick_lag_seconds_count"] = between(float64(len(passed)), float64(moved+len(k.records)))
	e["layover_tick_lag_seconds_sum"] = between(0, slack.Seconds())
	for _, bound := range append([]string{"+Inf"}, bounds(&purgatory.LatenessBounds)...) {
		e[m("tick_lag_seconds_bucket", "le", bound)] = between(float64(len(passed)), float64(moved+len(k.records)))
	}
}

// bounds are those of a histogram as /metrics has them.
func bounds(of *purgatory.Bounds) (out []string) {
	for _, ms := range of {
		out = append(out, fmt.Sprint(float64(ms)/1000))
	}
	return out
}

// memory is what the bytes of so many records take.
func (k *truth) memory(e expected, bytes, records int) {
	const headers, chunks = 64, 1 << 20 // of a record in memory, and what is not full
	low, high := float64(bytes), float64(bytes+records*headers)
	e[".parked.chunk_live_bytes"], e["layover_chunk_live_bytes"] = between(low, high), between(low, high)
	e[".parked.chunk_bytes"], e["layover_chunk_bytes"] = between(low, high+chunks), between(low, high+chunks)
	e[".parked.bytes"] = between(low+1, high+2*chunks)
	e[".parked.memory"], e["layover_parked_bytes"] = between(low+1, high+2*chunks), between(low+1, high+2*chunks)
	if records == 0 {
		e[".parked.chunk_bytes"], e["layover_chunk_bytes"] = 0, 0
	}
}

// instant expects one, or that there is none.
func (e expected) instant(key string, at time.Time) {
	switch {
	case !at.IsZero():
		e[key] = at
	case strings.HasPrefix(key, "."):
		e[key] = nil
	default:
		e[key] = 0
	}
}

// partitions is where each partition stands.
func (k *truth) partitions(e expected, ends map[string]ended) {
	open := k.open(ends)
	oldest := make(map[string]time.Time)
	for topic, partitions := range k.parts {
		for p := range partitions {
			end, unread := k.w.Broker.PartitionInfo(topic, p).HighWatermark, int64(0)
			for _, r := range k.records {
				if r.unread && r.Topic == topic && r.Partition == p {
					unread++
				}
			}
			low, parked, due, flying := end-unread, 0, 0, 0
			for _, r := range open {
				if r.Topic != topic || r.Partition != p {
					continue
				}
				low = min(low, r.Offset)
				waited := r.outcome == "parked" && r.due.After(r.read) // what never waited for a deadline does not count
				if waited && (oldest[topic].IsZero() || r.Timestamp.Before(oldest[topic])) {
					oldest[topic] = r.Timestamp
				}
				switch isDue := !r.dueBy().After(time.Now()) || r.outcome == "invalid"; {
				case k.flying[r.value]:
					flying++
				case isDue:
					due++
					parked++
				default:
					parked++
				}
			}
			above := 0
			for _, r := range k.records {
				if r.Topic == topic && r.Partition == p && r.Offset > low && !slices.Contains(open, r) && !r.unread {
					above++
				}
			}
			committed, _ := k.w.Committed("layover-"+ingress, topic, p)
			k.partition(e, topic, p, map[string]any{
				"low_offset": low, "committed_offset": committed.At, "read_offset": end - unread, "log_end": end, "intake_lag": unread,
				"parked": parked, "due": due, "in_flight": flying, "finished_above_low": above, "commit_metadata_bytes": len(committed.Metadata),
				"duplicates_after_a_kill.in_flight": flying, "duplicates_after_a_kill.total": flying,
			})
		}
	}
	for topic, written := range oldest {
		e[m("ingress_retention_headroom_seconds", "topic", topic)] = nearly(k.retention(topic).Seconds() - time.Since(written).Seconds())
	}
	e[".duplicates_after_a_kill.in_flight"], e[".duplicates_after_a_kill.total"] = len(k.flying), len(k.flying)
}

// partition expects members of a partition's, and the metrics that say the same.
func (k *truth) partition(e expected, topic string, p int32, members map[string]any) {
	metrics := map[string]string{
		"low_offset": "low_offset", "committed_offset": "committed_offset", "read_offset": "read_offset", "intake_lag": "intake_lag_records", "parked": "parked_records",
		"commit_metadata_bytes": "commit_metadata_bytes", "duplicates_after_a_kill.total": "duplicates_after_a_kill_records",
		"duplicates_after_a_kill.since_last_commit": "uncommitted_records",
	}
	for name, v := range members {
		e[fmt.Sprintf(".assignments[%s/%d].%s", topic, p, name)] = v
		if metric := metrics[name]; metric != "" {
			e[m(metric, "topic", topic, "partition", p)] = v
		}
	}
}

// retention is how long the brokers keep records of a topic.
func (k *truth) retention(topic string) time.Duration {
	if v := k.w.Broker.TopicInfo(topic).Configs["retention.ms"]; v != nil {
		ms, _ := time.ParseDuration(*v + "ms")
		return ms
	}
	return 7 * 24 * time.Hour
}

// group is what the coordinator knows of the only member.
func (k *truth) group(e expected) {
	g := k.w.Broker.GroupInfo("layover-" + ingress)
	if g == nil || len(g.Members) == 0 {
		return
	}
	e[".group.generation"] = int64(g.Epoch)
	if len(g.Members) == 1 {
		e[".group.member"] = g.Members[0].MemberID
	}
}
