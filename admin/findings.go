package admin

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"layover/cluster/doctor"
)

//go:embed findings.html
var findingsHTML string

// Preflight is what the last look of the checks left. Checked is zero before the first one,
// and with LAYOVER_PREFLIGHT=off.
type Preflight struct {
	Checked  time.Time
	Findings []Finding // warnings and failures, in the order of the checks
}

// Finding is one that somebody has to look at, and the look that saw it first.
type Finding struct {
	doctor.Finding
	Since time.Time
}

// findingStatus is a finding in /status: the members of the doctor's, and since.
type findingStatus struct {
	doctor.Finding
	Since instant `json:"since"`
}

func (v report) findings() []findingStatus {
	out := []findingStatus{}
	for _, f := range v.Preflight.Findings {
		out = append(out, findingStatus{f.Finding, instant{f.Since}})
	}
	return out
}

// Tone is that of the result.
func (f *findingStatus) Tone() tone {
	if f.Status == doctor.Fail {
		return bad
	}
	return warn
}

// Steps are the lines of the remedy.
func (f *findingStatus) Steps() []string {
	if f.Fix == "" {
		return nil
	}
	return strings.Split(f.Fix, "\n")
}

// findingNames is a sentence without its end.
func (s *status) findingNames() string {
	var names []string
	for i := range s.Findings {
		names = append(names, s.Findings[i].ID)
	}
	return fmt.Sprintf("%s: %s", counted(len(names), "check has found something", "checks have found something"), strings.Join(names, ", "))
}

// TopicWarnings are the faults of configurations that the page has under topics. Once the
// checks have looked, theirs are findings.
func (s *status) TopicWarnings() map[string]string {
	if s.CheckedAt.IsZero() {
		return s.Kafka.Warnings
	}
	return nil
}

// SickKinds are the kinds of things that are sick, each once, journals included.
func SickKinds(s Sample, now time.Time) (kinds []string) {
	for _, one := range look(s, now).findSick(false) {
		if !slices.Contains(kinds, one.Kind) {
			kinds = append(kinds, one.Kind)
		}
	}
	return kinds
}

// preflightFamilies have a series of each check, so that a finding is a change of a value.
func preflightFamilies() []family {
	return []family{
		gauge("layover_preflight_findings",
			"1 while the check has found something at its last look, by its id and the status warn or fail; else 0. /status has what was found, and what mends it, under findings.",
			[]string{"id", "status"}, func(v *view, out emit) {
				for _, id := range doctor.IDs() {
					for _, status := range []doctor.Status{doctor.Warn, doctor.Fail} {
						found := slices.ContainsFunc(v.Preflight.Findings, func(f Finding) bool { return f.ID == id && f.Status == status })
						out(map[bool]float64{true: 1}[found], id, string(status))
					}
				}
			}),
		level("layover_preflight_checked_timestamp_seconds",
			"Time of the last look of the checks, in seconds since 1970; 0 before the first one, and with LAYOVER_PREFLIGHT=off.",
			func(v *view) float64 {
				if v.Preflight.Checked.IsZero() {
					return 0
				}
				return float64(v.Preflight.Checked.UnixMilli()) / 1000
			}),
	}
}
