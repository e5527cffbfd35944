package purgatory

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"layover/verify/long"
)

// check compares core and model after every move.
func (w *world) check() {
	w.Helper()
	w.audit()
	for no := range w.parts {
		p := &w.parts[no]
		if !p.assigned {
			continue
		}
		q := w.Core.parts.byTopic[partitionOf(int32(no))]
		if q.next != p.next {
			w.Fatalf("partition %d is read up to %d, want %d", no, q.next, p.next)
		}
		for o := range int64(logLength) {
			if q.Window.Finished(o) != p.done[o] {
				w.Fatalf("%d@%d: finished is %v, want %v", no, o, !p.done[o], p.done[o])
			}
		}
	}
	if w.out.flights.bytes > w.cfg.MaxInFlightBytes && w.out.flights.count > 1 {
		largest := int64(0)
		for _, f := range w.flying {
			largest = max(largest, int64(maxHeader+len(f.d.Body)))
		}
		if w.out.flights.bytes >= w.cfg.MaxInFlightBytes+largest {
			w.Fatalf("%d bytes in flight, want less than %d and one record", w.out.flights.bytes, w.cfg.MaxInFlightBytes)
		}
	}
	if w.Failed() {
		w.FailNow()
	}
}

// heal ends all faults: everything read is finished within bounded time.
func (w *world) heal() {
	w.healed = true
	clear(w.router)
	w.paused = false
	w.Replays().Reading(false)
	for no := range w.parts {
		if w.parts[no].assigned && (w.parts[no].revoked || w.Core.parts.byTopic[partitionOf(int32(no))].halted != nil) {
			w.sweep(no)
		}
	}
	halted := [modelTopics]bool{}
	for turn := 0; ; turn++ {
		done := true
		for no := range w.parts {
			p := &w.parts[no]
			if !p.assigned {
				w.move(no, 1)
			}
			w.read(no, logLength)
			q := w.Core.parts.byTopic[partitionOf(int32(no))]
			halted[no] = q.halted != nil
			quiet := q.parked+q.src.due+q.src.inFlight == 0
			done = done && quiet && (halted[no] || q.Window.NextUnfinished(0) >= p.end())
		}
		if done {
			break
		}
		if turn > 3000 {
			w.Fatalf("not everything has an outcome: %+v", w.Snapshot())
		}
		w.elapse(500)
		w.offered(100)
		w.answer(len(w.flying))
		w.ask()
		for len(w.asked) > 0 {
			w.coordinate(0)
		}
		w.check()
	}
	w.ask()
	for len(w.asked) > 0 {
		w.coordinate(0)
	}
	for no := range w.parts {
		p := &w.parts[no]
		if !halted[no] && p.commit.Low < p.end() {
			w.Fatalf("partition %d is committed up to %d of %d", no, p.commit.Low, p.end())
		}
		w.sweep(no)
	}
	w.check()
	w.Trim()
	if w.store.live != 0 || w.store.bytes != 0 {
		w.Fatalf("%d records, %d bytes left in the store", w.store.live, w.store.bytes)
	}
	w.empty()
	if most := int64(3 * (targetSize + 200 + 3*(destSize+keptEntries*entrySize))); w.out.dir.overhead > most {
		w.Fatalf("%d bytes of queues and targets left, want at most %d", w.out.dir.overhead, most)
	}
	if w.Unsettled() && w.out.dir.dead == nil || w.Dirty() || w.Committing() || len(w.Pauses()) > 0 {
		w.Fatalf("an empty core waits for something: pauses %v", w.Pauses())
	}
}

// end is one past the last offset that is in the log.
func (p *partitionModel) end() int64 {
	for o := len(p.log) - 1; o >= 0; o-- {
		if p.log[o].there {
			return max(int64(o)+1, p.start)
		}
	}
	return p.start
}

// conserve plays a run, and returns what was counted.
func conserve(t testing.TB, input []byte) *Stats {
	w := newWorld(t, &dice{input})
	for !w.dice.over() {
		w.play()
		w.check()
	}
	w.heal()
	return &w.stats
}

// choices makes the input of one seeded run.
func choices(seed uint64) []byte {
	rng := rand.New(rand.NewPCG(seed, 3))
	input := make([]byte, 3500)
	for i := 0; i < len(input); i += 4 {
		binary.LittleEndian.PutUint32(input[i:], rng.Uint32())
	}
	return input
}

// TestEveryRecordReadIsAccountedFor compares the core with a dumb model after
// every one of many random moves. Those moves are reading, ticking, stepping the
// clock, offering, failing in every class, refusing commits, revoking, losing,
// and assigning again. In the end everything heals, and every record has its
// outcome.
func TestEveryRecordReadIsAccountedFor(t *testing.T) {
	long.Only(t)
	seeds := uint64(300)
	if testing.Short() {
		seeds = 60
	}
	seen := map[string]int64{}
	for seed := range seeds {
		ok := t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { see(seen, conserve(t, choices(seed))) })
		if !ok {
			return
		}
	}
	for _, what := range []string{"cancelled", "too_late", "miss", "replaced", "expired", "acknowledged", "given_up", "paused", "halted", "stopped", "idle", "dead-lettered as expired"} {
		if seen[what] == 0 {
			t.Errorf("no run had any %s: %v", what, seen)
		}
	}
}

// see adds up what became of records with ids, commands, events and barriers.
func see(seen map[string]int64, s *Stats) {
	for _, of := range []map[TopicResult]int64{s.Ended, s.Cancels} {
		for k, n := range of {
			seen[k.Result] += n
		}
	}
	for _, of := range []map[string]int64{s.Events, s.BarrierOpened} {
		for what, n := range of {
			seen[what] += n
		}
	}
	seen["dead-lettered as expired"] += s.DeadLettered[TopicReason{ingress, reasonExpired}]
}

func FuzzEveryRecordReadIsAccountedFor(f *testing.F) {
	f.Add([]byte{})
	f.Add(choices(1)[:700])
	f.Add(choices(2))
	f.Fuzz(conserveFuzz)
}

func conserveFuzz(t *testing.T, input []byte) {
	if len(input) > 1<<12 {
		t.Skip("longer than any run needs")
	}
	conserve(t, input)
}
