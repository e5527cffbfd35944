package dlq

import (
	"time"

	"layover/cli/process"
)

// redriveFacts is the one object of redrive. The names are documented.
type redriveFacts struct {
	Read       int64            `json:"read"`
	Written    int64            `json:"written"`
	PassedOver map[string]int64 `json:"passed_over"`
	Offsets    string           `json:"offsets"`         // not done; "" for nothing
	Since      string           `json:"since,omitempty"` // --since as an instant
	Chosen     int64            `json:"chosen"`
	Filtered   int64            `json:"filtered"`
	ByTopic    counts           `json:"by_topic"`
	ByReason   counts           `json:"by_reason"`
	Executed   bool             `json:"executed"`
}

// conclude prints what was done, or would be, and the offsets to go on with.
func (r *redriving) conclude() {
	left := r.left()
	if !r.again.execute {
		left = r.all.and(r.unknown)
	}
	if r.json {
		f := redriveFacts{
			Read: r.read, Written: r.written, PassedOver: make(map[string]int64), Offsets: left.String(), Since: r.since(),
			Chosen: r.chosen, Filtered: r.filtered, ByTopic: r.byTopic, ByReason: r.byReason, Executed: r.again.execute,
		}
		for _, o := range obstacles {
			f.PassedOver[string(o.obstacle)] = r.passed[o.obstacle]
		}
		process.WriteJSON(r.out, f) // an error comes again when it is flushed
		return
	}
	did := process.Count(r.chosen, "dead letter") + " to write"
	if r.again.execute {
		did = process.Grouped(r.written) + " written"
		if r.written != r.chosen { // the counts by topic and reason are of all
			did = process.Grouped(r.chosen) + " chosen, " + did
		}
	}
	r.say("%s: %s read, %s\n", r.cfg.DLQTopic, process.Count(r.read, "record"), did)
	r.byTopic.print(r.out, "to ingress topic", false)
	r.byReason.print(r.out, "by reason", false)
	r.sayPassed()
	r.say("\n")
	switch {
	case !r.again.execute && r.chosen == 0 && len(r.unknown) > 0:
		r.say("Nothing to redrive in the other partitions.\n")
	case !r.again.execute && r.chosen == 0:
		r.say("Nothing to redrive.\n")
	case !r.again.execute:
		r.say("Dry run: nothing was written. With --execute these are, in %v at the rate of %s a second.\n", r.duration(), process.Grouped(int64(r.again.rate)))
		r.say("To redrive these and none that come meanwhile, add %s\n", r.goOn(r.all))
	case len(left) == 0 && len(r.hidden) > 0:
		r.say("All of it is done but what is behind an open transaction: when that has ended, the same command with --offsets %v\n", r.hidden)
	case len(left) == 0:
		r.say("All of it is done. The letters stay in %s: what is redriven again is sent twice.\n", r.cfg.DLQTopic)
	default:
		r.say("To go on, the same command with %s\n", r.goOn(left))
		if n := r.unanswered(); n > 0 {
			r.say("%s behind those offsets may be written already, and %s sent twice.\n", process.Count(n, "letter"), isOrAre(n))
		}
		if len(r.hidden) > 0 {
			r.say("What is behind an open transaction is not done either: when that has ended, the same command with --offsets %v\n", r.hidden)
		}
		r.say("Partitions that are not named are done. What is redriven again is sent twice.\n")
	}
}

// sayPassed prints the counts of what was not taken.
func (r *redriving) sayPassed() {
	heading := "\n  passed over\n"
	for _, o := range obstacles {
		if n := r.passed[o.obstacle]; n > 0 {
			r.say("%s    %9s  %s\n", heading, process.Grouped(n), o.meaning)
			heading = ""
		}
	}
	if r.filtered > 0 {
		r.say("\n  %s left out by the filters\n", process.Count(r.filtered, "letter"))
	}
}

// duration is how long it takes to write what was chosen.
func (r *redriving) duration() time.Duration {
	seconds := (r.chosen + int64(r.again.rate) - 1) / int64(r.again.rate)
	return time.Duration(seconds) * time.Second
}

// unanswered counts the letters that were sent and are not done: those in flight, and the
// acknowledged ones behind them.
func (r *redriving) unanswered() (n int64) {
	for _, p := range r.positions {
		n += int64(len(p.flights))
	}
	return n
}

func isOrAre(n int64) string {
	if n == 1 {
		return "is then"
	}
	return "are then"
}
