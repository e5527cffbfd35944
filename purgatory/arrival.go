package purgatory

// Body is a record's key, value and headers as the core keeps them: bytes whose
// meaning only the owner knows.
type Body interface {
	Size() int      // bytes that Put writes
	Put(dst []byte) // writes exactly Size bytes
}

// Arrival is one record read from an ingress partition.
type Arrival struct {
	Offset      int64
	TimestampMs int64 // the record's own; <= 0: none
	Control     bool  // a transaction marker: finished when read
	Body        Body  // nil for a control record

	ID       []byte // of the record, or of the one that a cancel is about; nil: none
	IDAt     int    // where in the body the id stands: its length and one as an unsigned varint, and its bytes
	Cancel   bool   // it is a cancel; with a Reason it is meant as one, and is never delivered
	Copied   bool   // one of several cancels, of which all but one find nothing
	Expires  bool
	ExpireMs int64 // it is not handed out from then on

	// DeadlineMs is when the record is due. With outcome Passed or Immediate the
	// record is due at once, and DeadlineMs only tells when it should have been.
	DeadlineMs int64
	Target     string  // of an invalid record: where it goes if it is delivered all the same
	Label      string  // metrics label of the target
	Outcome    Outcome // how it is counted
	Ambiguous  bool    // two of its headers say the same, such as an instant and a delay
	// Reason and Message say why the record is invalid; Reason is "" for a valid one.
	Reason, Message string
	// Despite is the reason for which a record with outcome Invalid counts as invalid that
	// waits for its deadline all the same. It is "" for every other record.
	Despite string
	// loaded is one more than the offset of the copy that it was read from; 0: it was read from
	// ingress.
	loaded int64
	// Reloaded: it is a copy that was loaded to be moved again, by a visit of Cleanings.
	Reloaded bool
	// LeaderEpoch is that of a loaded copy's origin, -1 for unknown.
	LeaderEpoch int32
	// Attempt is the number of the attempt that it waits for; 0: none is counted.
	Attempt int64
}

// Outcome is how a record that was read is counted.
type Outcome uint8

const (
	Parked    Outcome = iota // waits for a deadline
	Passed                   // no delay asked for
	Immediate                // a delay of zero or less
	PastDue                  // a deadline that had passed when it was read
	Invalid
	Skipped // finished before, so not read again
	Cancel  // it ends another record
	outcomes
)

// String returns the metrics label.
func (o Outcome) String() string {
	return [...]string{"parked", "passed", "immediate", "past_due", "invalid", "skipped", "cancel"}[o]
}

// atOnce says whether the record is due whatever its deadline is.
func (a *Arrival) atOnce() bool { return a.Outcome == Passed || a.Outcome == Immediate }

// waits says whether the record waits for its deadline: it is not due at once, and does not
// expire before it could be delivered.
func (a *Arrival) waits() bool { return !a.atOnce() && !(a.Expires && a.ExpireMs <= a.DeadlineMs) }

// requestedMs is how long after its timestamp a record asked to be delivered, 0 for
// one that asked for no wait.
func (a *Arrival) requestedMs() int64 {
	if a.Outcome == Immediate || a.DeadlineMs <= a.TimestampMs { // a past one may be too far for an int64
		return 0
	}
	return a.DeadlineMs - a.TimestampMs
}

// place returns what the record's outcome finishes.
func (a *Arrival) place() place {
	if a.loaded > 0 {
		return copyPlace(a.loaded - 1)
	}
	return place(a.Offset)
}
