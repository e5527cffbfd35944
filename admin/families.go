package admin

import (
	"slices"
	"strconv"

	"layover/purgatory"
)

// recordFamilies count the records that were read.
func recordFamilies() []family {
	return []family{
		counter("layover_ingress_records_total",
			"Records read from the ingress topic, each with exactly one outcome: parked, passed (no delay asked for), immediate (a delay of zero or less), past_due (an instant that had passed), invalid, skipped (finished before, so not delivered again), or cancel (it ends another record).",
			[]string{"topic", "outcome"}, func(v *view, out emit) {
				for k, n := range v.total.Consumed {
					out(float64(n), k.Topic, k.Outcome.String())
				}
			}),
		counter("layover_ambiguous_records_total",
			"Valid records read with two headers that say the same, such as an instant and a delay; the instant won, or the header of the vocabulary that comes first.",
			[]string{"topic"}, perTopic(func(v *view) map[string]int64 { return v.total.Ambiguous })),
		counter("layover_invalid_records_total",
			"Records read whose headers cannot be understood or are not allowed, by stable reason code.",
			[]string{"topic", "reason"}, perReason(func(v *view) map[purgatory.TopicReason]int64 { return v.total.Invalid })),
		counter("layover_future_timestamp_records_total",
			"Records read whose timestamp was more than 5 s ahead of this machine's clock: the producer's clock is wrong, or this one.",
			[]string{"topic"}, perTopic(func(v *view) map[string]int64 { return v.total.Future })),
		count("layover_restored_records_total",
			"Records read, or found finished, that were in the log when their partition was assigned: after a restart or a rebalance, mostly records parked before.",
			func(v *view) int64 { return v.total.Restored }),
		level("layover_replay_remaining_records",
			"Offsets still to be read, of those in the log when partitions were assigned.",
			func(v *view) float64 { return float64(v.Replay.Remaining) }),
		count("layover_jumped_records_total",
			"Offsets gone over without being read, because a commit says that they are finished.",
			func(v *view) int64 { return v.total.Jumped }),
		count("layover_lost_to_retention_records_total",
			"Offsets that the ingress topic deleted before they were read, and records that were parked when it was made again.",
			func(v *view) int64 { return v.total.LostToRetention }),
	}
}

// endFamilies count how records left.
func endFamilies() []family {
	return []family{
		counter("layover_delivered_records_total",
			"Records acknowledged by the leader of their target, by ingress topic and by the target's name or the glob that allows it.",
			[]string{"topic", "target"}, func(v *view, out emit) {
				for k, n := range v.total.Delivered {
					out(float64(n), k.Topic, k.Target)
				}
			}),
		counter("layover_dead_lettered_records_total",
			"Records acknowledged by the leader of the dead-letter topic, by ingress topic and stable reason code.",
			[]string{"topic", "reason"}, perReason(func(v *view) map[purgatory.TopicReason]int64 { return v.total.DeadLettered })),
		counter("layover_dropped_records_total",
			"Records dropped because LAYOVER_ON_INVALID is drop.",
			[]string{"topic"}, perTopic(func(v *view) map[string]int64 { return v.total.Dropped })),
		count("layover_handed_over_records_total",
			"Records that were parked or in flight when their partition went to another member, which reads them again. Those of a topic that was made again are lost instead, and counted there, too.",
			func(v *view) int64 { return v.total.HandedOver }),
		count("layover_unfinished_records_total",
			"Records given up by a halted partition; they are read again after a restart.",
			func(v *view) int64 { return v.total.Unfinished }),
		counter("layover_produce_errors_total",
			"Deliveries that failed, by target; retriable ones are tried again, fatal ones end in the dead-letter topic.",
			[]string{"target", "kind"}, func(v *view, out emit) {
				for k, n := range v.total.ProduceErrors {
					out(float64(n), k.Target, k.Kind)
				}
			}),
		level("layover_last_delivery_timestamp_seconds",
			"When a record was last acknowledged by its target or the dead-letter topic, in seconds since 1970; 0 if none was.",
			func(v *view) float64 { return float64(v.total.LastDeliveryMs) / 1000 }),
	}
}

// waitingFamilies measure the records in memory now.
func waitingFamilies() []family {
	return []family{
		perPartition("layover_parked_records",
			"Records waiting now, for their deadline or after it for their target; not those in flight.",
			func(p *purgatory.PartitionView) int64 { return int64(p.Parked + p.Due) }),
		gauge("layover_parked_records_due_within",
			"Records that are due already or within so many seconds, of those waiting now in memory and in runs, late ones by their turn; as of at most a second ago, or some seconds with tens of thousands of runs. An estimate where very many are due at about a limit, and of those in runs.",
			[]string{"seconds"}, func(v *view, out emit) {
				for i, n := range v.total.dueWithin {
					out(float64(n), strconv.FormatInt(purgatory.Horizons[i]/1000, 10))
				}
				out(float64(v.total.waiting()), "+Inf")
			}),
		gauge("layover_held_records",
			"Due records held for a target that is missing, unreachable or forbidden, has too few partitions, or refuses a record for its content, by its name or the glob that allows it.",
			[]string{"target"}, perTarget(func(h heldTotal) int64 { return h.records })),
		gauge("layover_held_bytes",
			"Memory of the records in layover_held_records, in bytes.",
			[]string{"target"}, perTarget(func(h heldTotal) int64 { return h.bytes })),
		level("layover_next_due_timestamp_seconds",
			"Earliest deadline of a record that waits for it, in memory or in runs, or earliest turn of a late one, in seconds since 1970; 0 when there is none.",
			func(v *view) float64 { return float64(v.total.nextDueMs) / 1000 }),
		gauge("layover_furthest_deadline_timestamp_seconds",
			"Latest deadline of a record that waits for it, in memory or in runs, or for its turn, by ingress topic, in seconds since 1970; 0 when there is none. An instant far beyond the usual delays means that a producer has a wrong unit.",
			[]string{"topic"}, func(v *view, out emit) {
				for topic, ms := range v.total.furthestMs {
					out(float64(ms)/1000, topic)
				}
			}),
		gauge("layover_overdue_records",
			"Records whose deadline has passed and that are not acknowledged yet: waiting for their target, for their turn of LAYOVER_CATCHUP_RATE, in flight, or in runs and not read. No series while that is not known.",
			nil, func(v *view, out emit) {
				if v.knowsParked() {
					out(float64(v.total.overdue))
				}
			}),
		level("layover_oldest_overdue_timestamp_seconds",
			"Earliest deadline of the overdue records that are first to go or in flight, and about that of those that wait for their turn, in seconds since 1970; 0 when none is overdue. A record without a deadline counts from when it was sent. As of at most a second ago.",
			func(v *view) float64 { return float64(v.total.oldestOverdueMs) / 1000 }),
		level("layover_in_flight_records",
			"Records handed to the producer and not answered yet.",
			func(v *view) float64 { return float64(v.total.inFlight) }),
	}
}

// pausedFamilies measure whether reading is paused, and what may be behind it.
func pausedFamilies() []family {
	return []family{
		level("layover_paused_seconds",
			"How long reading has been paused without a break, in seconds; 0 while it goes on.",
			func(v *view) float64 { return v.pausedFor().Seconds() }),
		gauge("layover_oldest_unread_age_seconds",
			"While reading is paused, the age of the oldest unread record by its own timestamp, in seconds, and while a transaction is open, for how long records have waited behind it: one is late by at least that less its delay. 0 where nothing is unread or reading goes on; no series while it is not known.",
			nil, func(v *view, out emit) {
				n, known := v.parts.unreadRecords()
				switch oldest := earlier(v.oldestUnread(), v.oldestBehind()); {
				case !oldest.IsZero():
					out(max(v.now.Sub(oldest), 0).Seconds())
				case len(v.Pauses) == 0 || known && n == 0:
					out(0)
				}
			}),
		level("layover_last_dead_letter_timestamp_seconds",
			"When the dead-letter topic last took a record, in seconds since 1970; 0 if it took none.",
			func(v *view) float64 {
				if last := v.lastLetters(); len(last) > 0 {
					return float64(last[0].AtMs) / 1000
				}
				return 0
			}),
		gauge("layover_intake_paused",
			"1 while reading is paused for the reason: bytes (memory is at its limit), dead_letter (the dead-letter topic fails), target (a target's share or patience is used up and there is no dead-letter topic).",
			[]string{"reason"}, func(v *view, out emit) {
				for _, reason := range pauseReasons() {
					out(flag(v.pausesFor(reason)), reason)
				}
			}),
	}
}

// memoryFamilies measure the memory of parked records.
func memoryFamilies() []family {
	return []family{
		level("layover_parked_bytes",
			"Memory that counts against LAYOVER_MAX_PARKED_BYTES, in bytes.",
			func(v *view) float64 { return float64(v.Memory.Used) }),
		level("layover_parked_bytes_limit",
			"LAYOVER_MAX_PARKED_BYTES, in bytes.",
			func(v *view) float64 { return float64(v.Memory.Limit) }),
		level("layover_intake_pause_bytes",
			"Reading pauses at this many layover_parked_bytes: the limit less the fetches that may be on their way, which are more with more brokers, and with runs less an eighth, as far as copies that were read back do not fill that.",
			func(v *view) float64 { return float64(v.Memory.PauseAt) }),
		level("layover_chunk_bytes",
			"Memory of the chunks that parked records lie in, in bytes; part of layover_parked_bytes.",
			func(v *view) float64 { return float64(v.total.chunkBytes) }),
		level("layover_chunk_live_bytes",
			"Of layover_chunk_bytes, the part of records that are not finished yet; the rest is free room and fragmentation.",
			func(v *view) float64 { return float64(v.total.liveBytes) }),
	}
}

// nameFamilies are about the target names that headers chose.
func nameFamilies() []family {
	return []family{
		level("layover_target_names",
			"Target names that headers chose under a glob and that are known now; up to layover_target_names_limit.",
			func(v *view) float64 { return float64(v.Names.Known) }),
		level("layover_target_names_limit",
			"Target names chosen by headers that may be known at a time.",
			func(v *view) float64 { return float64(v.Names.Limit) }),
		level("layover_target_names_refused",
			"1 while headers choose more target names than may be known at a time, else 0; records for the others are held.",
			func(v *view) float64 { return flag(!v.Names.Refused.IsZero()) }),
	}
}

// partitionFamilies measure where each partition stands.
func partitionFamilies() []family {
	return []family{
		perPartition("layover_low_offset",
			"Offset of the oldest record that is not finished: the next commit names it.",
			func(p *purgatory.PartitionView) int64 { return p.Low }),
		perPartition("layover_committed_offset",
			"Offset of the last successful commit: everything below it is finished, as are the offsets above it that its metadata names.",
			func(p *purgatory.PartitionView) int64 { return p.Committed }),
		perPart("layover_read_offset",
			"First offset that was not read yet.",
			(*part).next),
		perPart("layover_intake_lag_records",
			"Offsets from the first that was not read yet to the end of the log: how far reading is behind. The group's lag counts parked records, this does not.",
			(*part).intakeLag),
		perPartition("layover_commit_metadata_bytes",
			"Size of the metadata of the last successful commit, in bytes; Kafka's default limit is 4096.",
			func(p *purgatory.PartitionView) int64 { return int64(p.Metadata) }),
		gauge("layover_ingress_retention_headroom_seconds",
			"From now until retention.ms may delete the oldest record that waits for a deadline, in seconds; no series where none waits, nothing is deleted by time, or it is not known.",
			[]string{"topic"}, func(v *view, out emit) {
				for topic, d := range v.headroom() {
					out(d.Seconds(), topic)
				}
			}),
		perPartition("layover_uncommitted_records",
			"Records finished since the last successful commit, which a crash now would deliver again.",
			func(p *purgatory.PartitionView) int64 { return p.Uncommitted }),
		perPartition("layover_duplicates_after_a_kill_records",
			"Records that a crash now would deliver again, at most: finished and neither in the last commit nor in the journal, in flight, and in flight to the runs topic.",
			func(p *purgatory.PartitionView) int64 { return killed(p).Total }),
		gauge("layover_finished_set_in",
			"1 for where the finished set of a partition is kept: metadata (of commits), journal, or prefix (as many as fit into metadata; the others are delivered again after a crash).",
			[]string{"topic", "partition", "place"}, func(v *view, out emit) {
				for i := range v.parts {
					if p := &v.parts[i]; p.core != nil {
						out(1, p.topic, number(p.partition), p.core.Facts.Mode.String())
					}
				}
			}),
		perPart("layover_partition_stopped_offset",
			"Offset at which a partition has stopped being read; there is no series for a partition that is read.",
			func(p *part) (int64, bool) {
				s, is := p.stop()
				return s.offset, is
			}),
	}
}

// journalFamilies are about the journal.
func journalFamilies() []family {
	return []family{
		count("layover_journal_records_total", "Records written to the journal and acknowledged.",
			func(v *view) int64 { return v.total.Journal.Records }),
		count("layover_journal_bytes_total", "Bytes of records written to the journal and acknowledged.",
			func(v *view) int64 { return v.total.Journal.Bytes }),
		count("layover_journal_snapshots_total", "Snapshots of a finished set that were written to the journal as a whole.",
			func(v *view) int64 { return v.total.Journal.Snapshots }),
		count("layover_journal_deletions_total", "Deletions of journal records below a snapshot that a commit has named.",
			func(v *view) int64 { return v.total.Journal.Deletions }),
		count("layover_journal_errors_total", "Records that the journal did not take; their facts are written anew.",
			func(v *view) int64 { return v.total.Journal.Failures }),
		perPartition("layover_journal_live_bytes", "Bytes in the journal of a partition from its last whole snapshot on.",
			func(p *purgatory.PartitionView) int64 { return p.Facts.Live }),
		gauge("layover_journal_usable", "1 while the journal of an ingress topic can be written to, else 0; no series where LAYOVER_JOURNAL is off.",
			[]string{"topic"}, func(v *view, out emit) {
				for _, t := range v.Journal.Topics {
					if t.State != journalOff {
						out(flag(t.State == journalUsable), t.Ingress)
					}
				}
			}),
		count("layover_journal_restores_total", "Assignments for which journals were read.",
			func(v *view) int64 { return v.Journal.Restores }),
		count("layover_journal_restored_records_total", "Records read from the journal at assignments.",
			func(v *view) int64 { return v.Journal.Records }),
		count("layover_journal_restored_bytes_total", "Bytes read from the journal at assignments.",
			func(v *view) int64 { return v.Journal.Bytes }),
		counter("layover_journal_restore_seconds_total", "Time that assignments waited for journals to be read, in seconds.",
			nil, func(v *view, out emit) { out(v.Journal.Took.Seconds()) }),
	}
}

// memberFamilies are about the consumer group.
func memberFamilies() []family {
	return []family{
		counter("layover_commits_total",
			"Commits of a partition that the coordinator answered, by outcome: ok or error.",
			[]string{"outcome"}, func(v *view, out emit) {
				out(float64(v.total.Commits), "ok")
				out(float64(v.total.CommitErrors), "error")
			}),
		level("layover_last_commit_timestamp_seconds",
			"When a commit last succeeded, in seconds since 1970; 0 if none did.",
			func(v *view) float64 { return float64(v.total.LastCommitMs) / 1000 }),
		count("layover_metadata_overflow_total",
			"Commits whose metadata had no room for the whole set of finished offsets.",
			func(v *view) int64 { return v.total.MetadataOverflows }),
		count("layover_rebalances_total",
			"Rebalances of the group that this member took part in.",
			func(v *view) int64 { return v.Group.Rebalances }),
		level("layover_assigned_partitions",
			"Partitions assigned to this member now.",
			func(v *view) float64 { return float64(len(v.Group.Partitions)) }),
	}
}

// processFamilies are about the process as a whole.
func processFamilies() []family {
	return []family{
		level("layover_kafka_connected", "1 while brokers answer, else 0.",
			func(v *view) float64 { return flag(v.Kafka.Answering) }),
		gauge("layover_ingress_usable", "1, or 0 while an ingress topic does not exist or may not be read.",
			[]string{"topic"}, func(v *view, out emit) {
				for _, topic := range v.Settings.Ingress {
					out(flag(!slices.Contains(v.Kafka.Unusable, topic)), topic)
				}
			}),
		counter("layover_loop_turns_total",
			"Turns of each loop of the process: one for each time that it woke.",
			[]string{"loop"}, func(v *view, out emit) {
				for loop, n := range v.Turns {
					out(float64(n), loop)
				}
			}),
		level("layover_ready", "1 while /readyz answers 200, else 0.",
			func(v *view) float64 { return flag(ready(v).ready) }),
		gauge("layover_build_info", "Always 1; its labels say what is running.",
			[]string{"version", "revision", "goversion"}, func(v *view, out emit) {
				out(1, v.Version, v.Revision, v.GoVersion)
			}),
	}
}

func perTopic(counts func(*view) map[string]int64) func(*view, emit) {
	return func(v *view, out emit) {
		for topic, n := range counts(v) {
			out(float64(n), topic)
		}
	}
}

func perReason(counts func(*view) map[purgatory.TopicReason]int64) func(*view, emit) {
	return func(v *view, out emit) {
		for k, n := range counts(v) {
			out(float64(n), k.Topic, k.Reason)
		}
	}
}

func perTarget(value func(heldTotal) int64) func(*view, emit) {
	return func(v *view, out emit) {
		for target, h := range v.total.heldByLabel {
			out(float64(value(h)), target)
		}
	}
}

func (v *view) pausesFor(reason string) bool {
	for _, p := range v.Pauses {
		if p.Reason == reason {
			return true
		}
	}
	return false
}
