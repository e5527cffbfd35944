package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"layover/config"
)

// hereChecks are about this machine, and need no broker.
func hereChecks() []check {
	return []check{
		{"memory", nothing, "the kernel kills a process that takes more memory than its container has, before reading pauses", memory},
		{"settings", nothing, "a variable with a wrong name is ignored, and some settings are unsafe together or have no effect", settingsCheck},
		{"running-instance", nothing, "a running Layover knows what it cannot read or deliver", running},
	}
}

// memory compares the bound of parked records with what the Go runtime may use.
func memory(f *facts) verdict {
	const mib = 1 << 20
	bound, limit := f.settings.MaxParkedBytes, f.limit
	if limit == 0 {
		return okay("LAYOVER_MAX_PARKED_BYTES is %d MiB, and the container has no memory limit that can be read", bound/mib)
	}
	found := fmt.Sprintf("LAYOVER_MAX_PARKED_BYTES is %d MiB of the container's %d MiB", bound/mib, limit/mib)
	fix := fmt.Sprintf("set LAYOVER_MAX_PARKED_BYTES to %dMi or less, or unset it, which is half of the limit; or raise the limit to %dMi", max(limit/2/mib, 1), 2*bound/mib)
	switch {
	case bound > config.RuntimeMemory(limit):
		return verdict{Fail, found + ", more than the process may use", fix}
	case bound > limit/2+mib:
		return verdict{Warn, found + ", more than half: the garbage collector has little room", fix}
	}
	return okay("%s", found)
}

func settingsCheck(f *facts) verdict {
	var v verdicts
	for _, warning := range f.warnings {
		v.add(Warn, "change what each warning names; layover config help lists all settings", "%s", clean(warning))
	}
	if len(v) == 0 {
		return okay("no unknown variable, and no warning")
	}
	return v.worst()
}

// running judges what an instance says of itself.
func running(f *facts) verdict {
	i := f.instance
	switch {
	case i == nil && errors.Is(f.instanceNo, errNotAsked):
		return skipped("no running instance was asked")
	case i == nil:
		return skipped("no running instance answers: %s", clean(f.instanceNo.Error()))
	case i.Group.ID != f.settings.GroupID:
		return skipped("the instance that answers is of group %q", clean(i.Group.ID))
	}
	var v verdicts
	f.instanceParts(&v)
	if n := i.Counters.DeadLettered; n > 0 {
		v.add(Warn, "read them, and correct their producers: "+f.letters(),
			"%s since its start", count(int(n), "dead letter"))
	}
	f.instanceState(&v)
	if len(v) == 0 {
		return okay("nothing is stopped, held or dead-lettered")
	}
	return v.worst()
}

// pausedLong is for how many seconds a record may be unread while reading is paused.
const pausedLong = 5

// instanceState judges an instance that is wrong although nothing is sick. Its records are
// late, as reading is paused or they are overdue, or it has not read its partitions.
func (f *facts) instanceState(v *verdicts) {
	i := f.instance
	const fix = "see LAYOVER_HTTP_ADDR: /readyz says why, and /status has more of it"
	switch {
	case i.State == "not ready":
		v.add(Warn, fix, "it is %s", said(i.ReadyText))
	case i.Degraded && i.Paused != nil && i.Paused.LateBy >= pausedLong: // at the memory bound it is for a moment, again and again
		v.add(Fail, fix, "records are late: %s", said(i.Paused.Text))
	case i.Degraded && len(*v) == 0:
		v.add(Fail, fix, "it is %s", said(i.ReadyText))
	}
}

// letters is the command that shows the last dead letters.
func (f *facts) letters() string {
	if f.settings.DLQTopic == "" {
		return "see LAYOVER_HTTP_ADDR: /status has the last under dead_letters"
	}
	command := "kcat -C -b " + f.seedList()
	if f.secured() {
		command += " -F kcat.conf"
	}
	return command + " -t " + f.settings.DLQTopic + " -o -10 -e -f '%h\\n'"
}

// instanceParts judges stopped partitions and held targets, and what else is sick.
func (f *facts) instanceParts(v *verdicts) {
	const fix = "see LAYOVER_HTTP_ADDR: /status has the remedy of each under sick"
	type named struct{ kind, name string }
	told := make(map[named]bool) // sick things that have a part of their own
	for _, a := range f.instance.Assignments {
		if a.Stopped != nil {
			told[named{"partition", a.Topic}] = true
			v.add(Fail, fix, "%s/%d is stopped at offset %d: %s", clean(a.Topic), a.Partition, a.Stopped.Offset, said(a.Stopped.Text))
		}
	}
	for _, h := range f.instance.Held {
		told[named{"target", h.Target}] = true
		v.add(Fail, fix, "%s held for target %s: %s", count(h.Records, "record"), clean(h.Target), said(cmp.Or(h.Detail, h.State)))
	}
	for _, s := range f.instance.Sick {
		if !told[named{s.Kind, s.Name}] {
			v.add(Fail, fix, "%s: %s", strings.TrimSpace(clean(s.Kind)+" "+clean(s.Name)), said(s.Text)) // what is sick of kind kafka has no name
		}
	}
}
