package daemon

import (
	"testing"
	"time"

	"layover/verify/long"
)

// paused are the numbers of a pause, from the records that are unread.
func (k *truth) paused(reason, target, state string, since time.Time) expected {
	e := expected{
		".pauses[#]": 1, ".pauses[" + reason + "].reason": reason, ".pauses[" + reason + "].target": target, ".pauses[" + reason + "].text": has("Reading is paused because"),
		".paused.reason": reason, ".paused.since": around(since), ".paused.text": has("unread"), ".paused.threshold_bytes": between(1<<20, 256<<20),
		".state": state, ".ready_text": has("reading is paused: " + reason), ".degraded": true,
		m("intake_paused", "reason", reason): 1, "layover_paused_seconds": secondsSince(since),
	}
	unread, oldest := 0, time.Now()
	for _, r := range k.records {
		if r.unread {
			unread++
			if r.Timestamp.Before(oldest) {
				oldest = r.Timestamp
			}
		}
	}
	if unread > 0 {
		e[".paused.oldest_unread"], e[".paused.late_by_at_least_seconds"], e["layover_oldest_unread_age_seconds"] = oldest, secondsSince(oldest), secondsSince(oldest)
	} else {
		e[".paused.oldest_unread"], e[".paused.late_by_at_least_seconds"], e[".degraded"] = nil, nil, state != "paused"
		e[".paused.text"] = has("Everything in the ingress topics is read")
	}
	e[".paused.unread_records"] = unread
	return e
}

// leave sends records that nobody reads while reading is paused. The partitions have different
// numbers of them, and the oldest is neither of the first partition nor of the last.
func (k *truth) leave() {
	for _, r := range []*sent{
		k.send(ingress, 0, for_(time.Minute)), k.send(ingress, 1, written(time.Now().Add(-50*time.Second)), for_(time.Minute)),
		k.send(ingress, 1), k.send(second, 0, written(time.Now().Add(-20*time.Second))),
	} {
		r.unread = true
	}
}

// TestNumbersOfAPauseForDeadLetters: one is left to be taken.
func TestNumbersOfAPauseForDeadLetters(t *testing.T) {
	long.Only(t)
	numbered(t, func(w *fixture, k *truth, settings []string) {
		in := w.start(settings...)
		in.ready()
		n := w.watch(in, k)
		silent := expected{".last_errors[#]": 1, ".last_errors[0].target": dlq, ".last_errors[0].detail": has("has not answered for 10 s")}
		for round := range 2 {
			before := map[bool]expected{true: silent}[round > 0]
			land := k.fly(w.silence(dlq), ingress, 0, wrong("x-delay", "soon", "malformed_delay"))
			handed := time.Now()
			k.send(second, 0, for_(10*time.Minute))
			time.Sleep(2 * time.Second)
			n.look("a dead letter is in flight", before)
			time.Sleep(10 * time.Second)
			k.leave()
			time.Sleep(10 * time.Second)
			at := handed.Add(10 * time.Second)
			stuck := of(held{dlq, dlq, "unreachable", 0, at, at, 0, has("has not answered for 10 s")}.expects(), expected{".held[#]": 1, ".held[dead-letters].patience_left_seconds": nil,
				".held[dead-letters].text": has("reading pauses"), ".held[dead-letters].bytes": 0, m("held_bytes", "target", dlq): 0})
			n.look("reading is paused", of(silent, stuck, sick(ailment{"dead_letter", dlq, "unreachable", 0, at, has("dead-letter topic dead-letters does not take records")}),
				k.paused("dead_letter", dlq, "degraded, paused", at)))
			land()
			k.readOn()
			time.Sleep(15 * time.Minute)
			n.look("all is well", silent)
		}
		n.done("letters")
		in.stop()
	})
}

// TestNumbersOfAPauseForMemory: records of 60 KB fill it one after the other.
func TestNumbersOfAPauseForMemory(t *testing.T) {
	long.Only(t)
	numbered(t, func(w *fixture, k *truth, settings []string) {
		in := w.start(append(settings, "LAYOVER_MAX_PARKED_BYTES=4Mi", "LAYOVER_RUNS=off", "LAYOVER_MAX_DELAY=30d")...)
		in.ready()
		n := w.watch(in, k, expected{".parked.limit": 4 << 20, "layover_parked_bytes_limit": 4 << 20, ".target_names.limit": between(100, 10_000), "layover_target_names_limit": between(100, 10_000)})
		for range 2 {
			due := at(time.Now().Add(3 * time.Minute))
			before, after := 0.0, 0.0
			for in.pausedFor() == "" {
				before = after
				k.send(ingress, int32(len(k.records)%2), due, filled(60_000))
				time.Sleep(100 * time.Millisecond)
				after = in.at("parked", "memory").(float64)
			}
			mark := of(pace(60, 30), expected{".parked.pause_at": between(before, after), "layover_intake_pause_bytes": between(before, after), ".paused.threshold_bytes": between(before, after)})
			since := time.Now()
			n.look("reading is paused with nothing unread", of(k.paused("bytes", "", "paused", since), mark))
			k.leave()
			time.Sleep(10 * time.Second)
			n.look("reading is paused", of(k.paused("bytes", "", "paused", since), mark))
			time.Sleep(4 * time.Minute)
			k.readOn()
			time.Sleep(time.Minute)
			n.look("all is well", nil)
		}
		n.done("memory")
		in.stop()
	})
}
