package purgatory

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// invent reads records, each for a target of its own that a glob allows and that does
// not exist.
func (r *rig) invent(from, to int64) {
	r.Helper()
	for o := from; o < to; o++ {
		a := r.arrival(o, 0, fmt.Sprintf("0 record %d", o))
		a.Target, a.Label = fmt.Sprintf("jobs.%d", o), "jobs.*"
		r.router[a.Target] = Missing
		if !r.take(0, 1, a) {
			r.Fatalf("offset %d was not taken", o)
		}
	}
}

func TestTargetsOfOneGlobHaveOneShareOfMemoryTogether(t *testing.T) {
	const share, invented = 4 << 20, 10_000
	r := newRig(t, func(c *Config) { c.Patience, c.HeldShare, c.MaxInFlight = time.Hour, share, 1<<20 })
	r.assign(0, 1, 0)
	empty := r.Bytes()
	r.invent(0, invented)
	for range 5 {
		r.pass(100)
		r.end(Delivered, r.offer()...) // dead letters
		r.audit()
	}
	dead := r.Snapshot().DeadLettered[TopicReason{ingress, reasonUnavailable}]
	if kept := invented - dead; kept < share/2/heldTargetSize || kept > share/heldTargetSize {
		t.Errorf("%d records are held, want as many as fit into the share", kept)
	}
	if took := r.Bytes() - empty; took > 2*share {
		t.Errorf("they take %d bytes, of a share of %d", took, share)
	}
	s := r.Snapshot()
	shown, rest := len(s.Held), s.HeldRest["jobs.*"]
	if shown != mostViews || int64(shown+rest.Targets) != invented-dead || rest.Records != rest.Targets || rest.Bytes == 0 {
		t.Errorf("%d targets are described, and of the others %+v", shown, rest)
	}
	r.mustTake(0, 1, 0, invented)
	r.pass(1)
	if ds := r.offer(); len(ds) != 1 || ds[0].Target != egress {
		t.Errorf("%d deliveries: want the one to the healthy target", len(ds))
	}
}

// TestCoresComeDownToTheirPartOfAFamilysShare and not each by what all are over.
func TestCoresComeDownToTheirPartOfAFamilysShare(t *testing.T) {
	const share = 256 << 10
	r := newRig(t, func(c *Config) {
		c.Patience, c.HeldShare, c.MaxInFlight = time.Hour, share, 1<<20
	})
	r.elsewhere = func(name TargetName, own ShareBytes) ShareBytes {
		if name.Name == "jobs.*" {
			return own // another core holds as much
		}
		return ShareBytes{}
	}
	r.assign(0, 1, 0)
	r.invent(0, 1000)
	for range 5 {
		r.pass(100)
		r.end(Delivered, r.offer()...)
	}
	dead := r.Snapshot().DeadLettered[TopicReason{ingress, reasonUnavailable}]
	if kept := 1000 - dead; kept < share/4/heldTargetSize || kept > share/2/heldTargetSize {
		t.Errorf("%d of 1000 records are held, want half of what fits into the share", kept)
	}
	if got := r.Take().Holds; len(got) == 0 || !strings.HasPrefix(got[0].Target, "jobs.") {
		t.Errorf("notices %v", got)
	}
}

// TestDeadLettersOfAllCoresHaveOneShare.
func TestDeadLettersOfAllCoresHaveOneShare(t *testing.T) {
	for others, want := range map[int64]int{0: 0, 850: 0, 990: 1, 5000: 1} {
		r := newRig(t, func(c *Config) { c.HeldShare = 1000 })
		r.elsewhere = func(of TargetName, _ ShareBytes) ShareBytes {
			return map[string]ShareBytes{graves: {Held: others}}[of.Name]
		}
		r.assign(0, 1, 0)
		r.bury(0, "0")
		r.pass(2 * checkEveryMs)
		r.pass(2 * checkEveryMs)
		if p := r.Pauses(); len(p) != want {
			t.Errorf("with %d bytes elsewhere pauses are %v", others, p)
		}
	}
	others := int64(1100)
	r := newRig(t, func(c *Config) { c.HeldShare = 1000 })
	r.elsewhere = func(of TargetName, _ ShareBytes) ShareBytes {
		return map[string]ShareBytes{graves: {Held: others}}[of.Name]
	}
	r.assign(0, 1, 0)
	r.pass(2 * checkEveryMs) // nothing waits here
	others = 600             // more than half
	r.bury(0, "0")
	r.pass(2 * checkEveryMs)
	r.pass(2 * checkEveryMs)
	if p := r.Pauses(); len(p) != 0 {
		t.Errorf("with %d bytes elsewhere pauses are %v", others, p)
	}
}

// TestTargetsOfOneGlobThatRejectAllHaveOneShareTogether: sixteen take no more than one to which as much comes. That is
// their share, and what comes until their waves are hurried.
func TestTargetsOfOneGlobThatRejectAllHaveOneShareTogether(t *testing.T) {
	const wave, waveMs = 64, 100
	for _, targets := range []int{1, 16} {
		r := newRig(t, func(c *Config) { c.MaxInFlight, c.MaxBuffered, c.HeldShare = 100, 4000, 20_000 })
		r.elsewhere = func(TargetName, ShareBytes) ShareBytes { return ShareBytes{} }
		r.assign(0, 1, 0)
		next, came, most := int64(0), int64(0), int64(0)
		const waves = 1200
		for range waves {
			for range wave {
				a := r.arrival(next, 0, fmt.Sprintf("0 record %d", next))
				a.Target, a.Label = fmt.Sprintf("audit-%d", next%int64(targets)), "audit-*"
				if !r.take(0, 1, a) {
					t.Fatal("not taken")
				}
				next, came = next+1, came+waitsWith(a)
			}
			r.pass(waveMs)
			of := make(map[string][]Delivery)
			for _, d := range r.offer() {
				of[d.Target] = append(of[d.Target], d)
			}
			for name, ds := range of {
				r.beside(ds, func(int64) bool { return name != graves })
			}
			waiting := int64(0)
			for i := range targets {
				waiting += r.out.dir.targetOf(ingress, fmt.Sprintf("audit-%d", i), "audit-*").waiting()
			}
			most = max(most, waiting)
		}
		if want := r.cfg.HeldShare + came/waves*(hurryAfterMs+2000)/waveMs; most < r.cfg.HeldShare || most > want {
			t.Errorf("%d targets of one glob: %d bytes wait at most, want more than a share and up to %d", targets, most, want)
		}
		r.audit()
	}
}

// TestARefusalLongAgoPutsNoBacklogBehindRefusals: an hour ago one partition of a target refused a record, and has had none
// since. A backlog for the target's other partition takes more than the share. Another target of the same glob refuses one
// record in fifty, and few wait for it.
func TestARefusalLongAgoPutsNoBacklogBehindRefusals(t *testing.T) {
	const share = 192 << 10
	r := newRig(t, func(c *Config) { c.Patience, c.HeldShare, c.MaxInFlight, c.MaxBuffered = time.Hour, share, 100, 160 })
	r.assign(0, 1, 0)
	next := int64(0)
	take := func(target, body string) {
		a := r.arrival(next, 0, body)
		a.Target, a.Label = target, "jobs.*"
		if next++; !r.take(0, 1, a) {
			t.Fatal("not taken")
		}
	}
	take("jobs.many", "1")
	r.pass(1)
	r.end(Rejected, r.offer()...)
	r.broker(func(int64) bool { return true })
	r.pass(time.Hour.Milliseconds())

	for range 3000 {
		take("jobs.many", fmt.Sprintf("0%0100d", next))
	}
	refused, slow := int64(0), []Delivery(nil)
	for range 300 { // round trips of 100 ms
		for range 10 {
			take("jobs.few", "0")
			if next%50 == 7 {
				refused++
			}
		}
		r.pass(100)
		few := []Delivery(nil)
		for _, d := range r.offer() {
			if d.Target == "jobs.many" {
				slow = append(slow, d)
			} else {
				few = append(few, d)
			}
		}
		r.end(Delivered, slow[:5]...)
		slow = slow[5:]
		r.beside(few, func(offset int64) bool { return offset%50 == 6 })
	}
	if waiting := r.out.dir.targetOf(ingress, "jobs.many", "jobs.*").queue.bytes; waiting < share/2 {
		t.Fatalf("%d bytes wait: this is not the situation", waiting)
	}
	r.audit()
	if dead := r.stats.DeadLettered[TopicReason{ingress, reasonRejected}]; dead > refused+1 {
		t.Errorf("%d dead letters of %d that are refused", dead, refused+1)
	}
}
