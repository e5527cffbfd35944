package admin

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"layover/purgatory"
)

// lettersCome is how long after a dead letter another one is expected: for so long the
// page is amber, and /readyz says degraded.
const lettersCome = 5 * time.Minute

// deadLetterStatus counts since the start of the process. Coming: the last one is less
// than lettersCome old.
type deadLetterStatus struct {
	Total    int64            `json:"total"`
	ByReason map[string]int64 `json:"by_reason"`
	Coming   bool             `json:"coming"`
	Last     []letterStatus   `json:"last"` // the latest first, at most ten
}

// letterStatus is one dead letter, by the coordinates of its record.
type letterStatus struct {
	Topic     string  `json:"topic"`
	Partition int32   `json:"partition"`
	Offset    int64   `json:"offset"`
	Reason    string  `json:"reason"`
	Message   string  `json:"message"`
	At        instant `json:"at"`
}

// deadLetters brings those of all lanes together. Reasons that none had are left out.
func (v report) deadLetters() deadLetterStatus {
	s := deadLetterStatus{ByReason: make(map[string]int64), Last: []letterStatus{}, Coming: v.lettersCome()}
	for k, n := range v.total.DeadLettered {
		if s.Total += n; n > 0 {
			s.ByReason[k.Reason] += n
		}
	}
	for _, l := range v.lastLetters() {
		s.Last = append(s.Last, letterStatus{l.Topic, l.Partition, l.Offset, l.Reason, l.Message, millis(l.AtMs)})
	}
	return s
}

// lastLetters returns the last dead letters of all lanes, the latest first.
func (v *view) lastLetters() (out []purgatory.Letter) {
	for _, l := range v.Lanes {
		if l != nil {
			out = append(out, l.Letters...)
		}
	}
	slices.SortStableFunc(out, func(a, b purgatory.Letter) int {
		return cmp.Or(cmp.Compare(b.AtMs, a.AtMs), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition), cmp.Compare(b.Offset, a.Offset))
	})
	out, _ = atMost(out, purgatory.LastLetters)
	return out
}

// lettersCome reports whether dead letters come. A clock that was stepped back far makes
// none of them news.
func (v *view) lettersCome() bool {
	last := v.lastLetters()
	return len(last) > 0 && v.now.Sub(time.UnixMilli(last[0].AtMs)).Abs() < lettersCome
}

// reasonCount is the number of dead letters for one reason.
type reasonCount struct {
	Reason  string
	Records int64
}

// Reasons returns the counts by reason, the most frequent first.
func (s *deadLetterStatus) Reasons() (out []reasonCount) {
	for _, reason := range slices.Sorted(maps.Keys(s.ByReason)) {
		out = append(out, reasonCount{reason, s.ByReason[reason]})
	}
	slices.SortStableFunc(out, func(a, b reasonCount) int { return cmp.Compare(b.Records, a.Records) })
	return out
}

// lastLetterAge says when the last dead letter came; "" where there was none.
func (v report) lastLetterAge() string {
	last := v.lastLetters()
	if len(last) == 0 {
		return ""
	}
	return relative(time.UnixMilli(last[0].AtMs).Sub(v.now))
}
