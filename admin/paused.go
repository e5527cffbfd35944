package admin

import (
	"fmt"
	"time"
)

// pausedLong is how long reading may be paused before unread records make /readyz say
// degraded. At the memory bound reading pauses for a moment again and again.
const pausedLong = 5 * time.Second

// pausedStatus is the present pause of reading. What is null is not known.
type pausedStatus struct {
	Since     instant `json:"since"`
	Reason    string  `json:"reason"`          // the first of pauses
	Threshold int64   `json:"threshold_bytes"` // memory at which reading pauses
	Unread    *int64  `json:"unread_records"`  // offsets in the logs behind the read positions
	Oldest    instant `json:"oldest_unread"`   // when the oldest of them was written, as far as it is known
	LateBy    *int64  `json:"late_by_at_least_seconds"`
	Text      string  `json:"text"`
}

// paused returns nil where reading is not paused.
func (v report) paused() *pausedStatus {
	if len(v.Pauses) == 0 {
		return nil
	}
	s := &pausedStatus{Since: instant{v.PausedSince}, Reason: v.Pauses[0].Reason, Threshold: v.Memory.PauseAt, Text: v.pausedText()}
	if n, known := v.parts.unreadRecords(); known {
		s.Unread = &n
	}
	if oldest := v.oldestUnread(); !oldest.IsZero() {
		late := int64(max(v.now.Sub(oldest), 0) / time.Second)
		s.Oldest, s.LateBy = instant{oldest}, &late
	}
	return s
}

// unreadRecords adds up how far reading is behind in each partition; known is false where
// no partition's is known.
func (all parts) unreadRecords() (n int64, known bool) {
	for i := range all {
		if lag, ok := all[i].intakeLag(); ok {
			n, known = n+lag, true
		}
	}
	return n, known
}

// oldestUnread returns when the oldest unread record was written, of the partitions of
// which that is known; zero: of none, or reading is not paused. A timestamp of the future is
// that of a wrong clock or unit, and says nothing.
func (v *view) oldestUnread() (oldest time.Time) {
	if len(v.Pauses) == 0 {
		return oldest
	}
	for i := range v.Group.Partitions {
		if at := v.Group.Partitions[i].OldestUnread; !at.After(v.now) {
			oldest = earlier(oldest, at)
		}
	}
	return oldest
}

// transactionLong is how long records may wait for an open transaction before that is an operator's business. The
// transactions of programs that commit every few seconds are none.
const transactionLong = 30 * time.Second

// open reports whether records of a partition wait for a transaction that has been open for long.
func (p *part) open(now time.Time) bool {
	return p.member != nil && !p.member.OpenSince.IsZero() && now.Sub(p.member.OpenSince) >= transactionLong
}

// oldestBehind returns since when records have waited for a transaction at least, of all partitions; zero: none does.
func (v *view) oldestBehind() (oldest time.Time) {
	for i := range v.Group.Partitions {
		oldest = earlier(oldest, v.Group.Partitions[i].OpenSince)
	}
	return oldest
}

// earlier returns the earlier of two times that are known; zero: it is not.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// pausedFor is how long the present pause has lasted; 0 without one.
func (v *view) pausedFor() time.Duration {
	if len(v.Pauses) == 0 || v.PausedSince.IsZero() {
		return 0
	}
	return max(v.now.Sub(v.PausedSince), 0)
}

// lateUnread reports whether reading is paused for so long that unread records are an
// operator's business. Where their number is not known, some are taken to be there.
func (v *view) lateUnread() bool {
	if len(v.Pauses) == 0 {
		return false
	}
	oldest := v.oldestUnread()
	waits := v.pausedFor() >= pausedLong || !oldest.IsZero() && v.now.Sub(oldest) >= pausedLong
	n, known := v.parts.unreadRecords()
	return waits && (n > 0 || !known)
}

// pausedText says what a pause means for the records that are not read.
func (v *view) pausedText() string {
	n, known := v.parts.unreadRecords()
	switch oldest := v.oldestUnread(); {
	case !known:
		return "How many records wait unread is not known yet."
	case n == 0:
		return "Everything in the ingress topics is read, so nothing is late for it yet."
	case oldest.IsZero():
		return fmt.Sprintf("%s. When the oldest was written is not known yet.", countedLong(n, "record waits unread", "records wait unread"))
	default:
		late := human(max(v.now.Sub(oldest), 0))
		return fmt.Sprintf("%s. The oldest was written %s ago: late by at least %s, less its delay. "+
			"Whatever asked for a shorter delay is late, and nothing else here counts it.", countedLong(n, "record waits unread", "records wait unread"), late, late)
	}
}

// pauseShort is the pause in a few words, for /readyz.
func (v *view) pauseShort() string {
	text := "reading is paused: " + v.pauseNames()
	if !v.lateUnread() {
		return text
	}
	if n, known := v.parts.unreadRecords(); known {
		text += ", " + countedLong(n, "record waits unread", "records wait unread")
	}
	if oldest := v.oldestUnread(); !oldest.IsZero() {
		text += ", late by at least " + human(max(v.now.Sub(oldest), 0)) + " less its delay"
	}
	return text
}
