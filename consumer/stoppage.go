package consumer

import (
	"fmt"
	"time"
)

// Reason is why a partition is not read, as a stable code.
type Reason string

// The Reasons.
const (
	NotBegun   Reason = "not_begun"  // where to begin is not known yet: it is asked for again
	NoOffset   Reason = "no_offset"  // the group's offset is gone, and nothing is guessed
	Truncated  Reason = "truncated"  // the log is not the one that was read
	Unreadable Reason = "unreadable" // a batch cannot be read
	Halted     Reason = "halted"     // by the policy for invalid records

	Failing      Reason = "fetch_failed"  // fetches are refused, and tried again
	NewerVersion Reason = "newer_version" // a newer version wrote the commit, or the journal
)

// stoppage is why a partition is not read; its zero value is that of a partition that is
// read. It has no lock and no clock.
type stoppage struct {
	text    string // "" while the partition is read
	code    Reason
	since   time.Time
	at      int64 // offset at which reading stopped
	passing bool  // it ends by itself, once it is known where to begin

	fetchErr    error // of the last fetch; nil: it was answered
	failedSince time.Time
	failedLast  time.Time
}

// failureLasts is how long a failed fetch counts where nothing is unread. One that goes on
// failing is tried every second.
const failureLasts = 15 * time.Second

// stopped says whether the partition is not read.
func (s *stoppage) stopped() bool { return s.text != "" }

// final says whether nothing but another assignment ends the stoppage.
func (s *stoppage) final() bool { return s.text != "" && !s.passing }

// stop ends reading at an offset.
func (s *stoppage) stop(code Reason, text string, at int64, now time.Time) {
	s.text, s.code, s.since, s.at, s.passing = text, code, now, at, false
}

// whereToBegin is what the text of a partition begins with that is not begun.
const whereToBegin = "where to begin is not known yet, trying again: "

// await notes why reading cannot begin yet. The time of an earlier reason stays.
func (s *stoppage) await(why string, now time.Time) {
	if s.since.IsZero() {
		s.since = now
	}
	s.text, s.code, s.passing = whereToBegin+why, NotBegun, true
}

// clear lets the partition be read.
func (s *stoppage) clear() { s.text, s.code, s.since, s.passing = "", "", time.Time{}, false }

// failed notes that a fetch failed.
func (s *stoppage) failed(err error, now time.Time) {
	if s.fetchErr == nil {
		s.failedSince = now
	}
	s.fetchErr, s.failedLast = err, now
}

// answered notes that a fetch was answered.
func (s *stoppage) answered() { s.fetchErr = nil }

// quiet notes that nothing is unread. The client tells of records and of errors alone, so
// that a fetch which finds neither is answered unseen.
func (s *stoppage) quiet(now time.Time) {
	if s.fetchErr != nil && now.Sub(s.failedLast) >= failureLasts {
		s.answered()
	}
}

// said returns the stoppage for Status. Fetches that have failed for less than loadGrace
// are left out.
func (s *stoppage) said(now time.Time) (text string, code Reason, since time.Time, trying bool) {
	if s.text == "" && s.fetchErr != nil && now.Sub(s.failedSince) >= loadGrace {
		return fmt.Sprintf("fetches fail, trying again: %v", s.fetchErr), Failing, s.failedSince, true
	}
	return s.text, s.code, s.since, s.passing
}
