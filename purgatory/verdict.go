package purgatory

import "slices"

// TargetName names a target. Ingress is "" unless Config.ApartByIngress.
type TargetName struct{ Name, Ingress string }

// TargetState is the state of a target, as far as it is known.
type TargetState struct {
	TargetName
	Verdict    Verdict
	Detail     string  // of the fault, where the verdict does not say it all
	Partitions int32   // where Verdict is Usable
	Led        []int32 // of those, the ones that have a leader; for Config.Place, those to which a record without a key may go
	// IngressPartitions is how many partitions the ingress topic has, 0 for not known. It
	// is told where targets are apart by ingress topic.
	IngressPartitions int32
}

// Route is where a record goes.
type Route struct {
	Partition int32   // where Verdict is Usable
	Verdict   Verdict // of the target, for this record
	Detail    string  // of the fault, where the verdict does not say it all
}

// Verdict is the usability of a target.
type Verdict uint8

const (
	Usable      Verdict = iota
	Pending             // not known yet; asking again soon is free
	Missing             // the topic does not exist
	Forbidden           // not authorised
	Unreachable         // no leader, or none that answers
	Mismatched          // its partitions do not go with those of the ingress topic
	Rejecting           // of the dead-letter topic: it refuses a record for its content
)

// String returns the word that status, logs and error messages use.
func (v Verdict) String() string {
	return [...]string{"usable", "being looked up", "missing", "forbidden", "unreachable", "mismatched", "rejecting"}[v]
}

// tell takes the states of targets; those that no record names are left out.
func (d *directory) tell(states []TargetState) {
	for i := range states {
		if t := d.byKey[states[i].TargetName]; t != nil {
			t.state = states[i]
			t.state.Led = t.open(states[i].Led)
		}
	}
}

// open returns the partitions with a leader to which a record without a key may go. What goes to one that does not
// answer is late, and may become a dead letter. So they are those that take records now, or those that at least answer, or
// all.
func (t *target) open(led []int32) []int32 {
	if t.overflow == 0 && t.stalled == 0 && t.occupying == t.inFlight {
		return led
	}
	sick := func(d *dest) bool { return d.stuck || d.stalled }
	full := func(d *dest) bool { return sick(d) || d.overflow.count > 0 }
	for _, closed := range []func(*dest) bool{full, sick} {
		open := slices.DeleteFunc(slices.Clone(led), func(no int32) bool {
			at, known := t.find(no)
			return known && closed(t.dests[at])
		})
		if len(open) > 0 {
			return open
		}
	}
	return led
}

// Usable takes the news that a topic can be used again. Records given up for it before are not
// counted with those that the next outage costs. A target that is held, or has a partition
// that does not answer, waits for an answer. Where metadata was why, and no record waits that would ask it, the hold
// ends now.
func (c *Core) Usable(topic string) {
	for _, t := range c.out.dir.list {
		if t == nil || t.name != topic {
			continue
		}
		if t.hold.held && t.hold.known && t.queue.count == 0 && t != c.out.dir.dead {
			c.out.holds.end(t)
		}
		if !t.hold.held && t.stalled == 0 {
			t.givenUp = 0
		}
	}
}

// wanted appends to out the targets that have a record to be routed now, or some that were routed to a partition which may
// be gone.
func (o *outbox) wanted(out []TargetName) []TargetName {
	if len(o.busy) == 0 || o.flights.room() <= 0 || o.flights.full(o.now.MonotonicMs) {
		return out
	}
	for _, t := range o.busy {
		if (t.queue.count > 0 || t.stalled > 0) && !(t.hold.held && t.hold.backsOff(o.now.WallMs)) {
			out = append(out, t.key)
		}
	}
	return out
}
