package delay

// The control headers, which a producer writes and a delivery removes.
const (
	HeaderDelay       = "x-delay"
	HeaderDeliverAt   = "x-deliver-at"
	HeaderDeliverTo   = "x-deliver-to"
	HeaderDelayID     = "x-delay-id"
	HeaderDelayCancel = "x-delay-cancel"
)

// The headers that a producer writes, or the command line, and a delivery keeps.
const (
	// HeaderExpireAt is the instant from which on a record is not handed out. Consumers
	// may want to know it as well.
	HeaderExpireAt = "x-expire-at"
	// HeaderCancelOf marks one of several cancels of one id, one a partition. All but one
	// of them meet no record, which is nobody's fault.
	HeaderCancelOf = "layover-cancel-of"
	// HeaderAttempt is the number of the attempt that a delivery was. Where a back-off
	// applies, the next delivery replaces it by one more.
	HeaderAttempt = "x-delay-attempt"
	// HeaderRedriven is the id of the dead letter that a record was sent again from.
	HeaderRedriven = "layover-redriven"
)

// The stamped headers, which a delivery writes. It replaces those of an earlier
// delivery: a retried record passes twice.
const (
	HeaderID                = "layover-id"
	HeaderDue               = "layover-due"
	HeaderOriginalTimestamp = "layover-original-timestamp"
	// HeaderHops counts the deliveries of a record that was delivered before.
	HeaderHops = "layover-hops"
)

// The error headers of a record that could not be delivered. All are text, and all
// are replaced where they are there already.
const (
	HeaderErrorTopic     = "layover.errors.topic"
	HeaderErrorPartition = "layover.errors.partition"
	HeaderErrorOffset    = "layover.errors.offset"
	HeaderErrorGroup     = "layover.errors.group"
	HeaderErrorReason    = "layover.errors.reason"
	HeaderErrorMessage   = "layover.errors.message"
	HeaderErrorTimestamp = "layover.errors.timestamp"

	// Only a dead letter that stands for a whole batch has these.
	HeaderErrorLastOffset = "layover.errors.last_offset"
	HeaderErrorRecords    = "layover.errors.records"

	// Only a dead letter without the value of its record has this one.
	HeaderErrorValue = "layover.errors.value"

	errorPrefix = "layover.errors."
)

// kind is the meaning of a header's name to Layover.
type kind uint8

const (
	kindOther kind = iota
	kindExpireAt
	kindCancelOf
	kindAttempt // passes where no back-off applies
	kindDelay   // the first that a delivery removes
	kindDeliverAt
	kindDeliverTo
	kindDelayID
	kindDelayCancel
	kindStamped // the first that a delivery writes
	kindID
	kindDue
	kindHops
	kinds
)

// kindOf classifies a name without regard to case. It runs for every header
// of every record: first letter and length rule out nearly all of them.
// Those of tracing have the lengths of some of ours.
func kindOf(name string) kind {
	if name == "" {
		return kindOther
	}
	switch name[0] | 0x20 { // in lower case, for a letter
	case 'x':
		return written(name)
	case 'l':
		return stamped(name)
	}
	return kindOther
}

// written is kindOf for names that begin with x.
func written(name string) kind {
	switch len(name) {
	case len(HeaderDelay):
		return kindIf(kindDelay, name, HeaderDelay)
	case len(HeaderDelayID):
		return kindIf(kindDelayID, name, HeaderDelayID)
	case len(HeaderExpireAt):
		return kindIf(kindExpireAt, name, HeaderExpireAt)
	case len(HeaderDeliverAt): // and of HeaderDeliverTo
		if equalFold(name, HeaderDeliverAt) {
			return kindDeliverAt
		}
		return kindIf(kindDeliverTo, name, HeaderDeliverTo)
	case len(HeaderDelayCancel):
		return kindIf(kindDelayCancel, name, HeaderDelayCancel)
	case len(HeaderAttempt):
		return kindIf(kindAttempt, name, HeaderAttempt)
	}
	return kindOther
}

// stamped is kindOf for names that begin with l.
func stamped(name string) kind {
	switch len(name) {
	case len(HeaderID):
		return kindIf(kindID, name, HeaderID)
	case len(HeaderDue):
		return kindIf(kindDue, name, HeaderDue)
	case len(HeaderHops):
		return kindIf(kindHops, name, HeaderHops)
	case len(HeaderCancelOf):
		return kindIf(kindCancelOf, name, HeaderCancelOf)
	case len(HeaderOriginalTimestamp):
		return kindIf(kindStamped, name, HeaderOriginalTimestamp)
	}
	return kindOther
}

func kindIf(k kind, name, lower string) kind {
	if equalFold(name, lower) {
		return k
	}
	return kindOther
}

// passes reports whether a delivery keeps headers of that kind.
func (k kind) passes() bool { return k < kindDelay }

// IsControl reports whether name is x-delay, x-deliver-at, x-deliver-to,
// x-delay-id or x-delay-cancel, without regard to case. A delivery removes these: a
// consumer that writes its record back must not replace the newer one of that id.
func IsControl(name string) bool {
	k := kindOf(name)
	return !k.passes() && k < kindStamped
}

// IsExpireAt reports whether name is x-expire-at, without regard to case.
func IsExpireAt(name string) bool { return kindOf(name) == kindExpireAt }

// IsStamped reports whether name is one of the four headers that a delivery
// stamps, without regard to case.
func IsStamped(name string) bool { return kindOf(name) >= kindStamped }

// IsError reports whether name is one of the ten layover.errors headers,
// without regard to case. Another name with that prefix is the user's, and is
// kept.
func IsError(name string) bool {
	if len(name) <= len(errorPrefix) || !equalFold(name[:len(errorPrefix)], errorPrefix) {
		return false
	}
	for _, own := range [...]string{
		HeaderErrorTopic, HeaderErrorPartition, HeaderErrorOffset, HeaderErrorGroup,
		HeaderErrorReason, HeaderErrorMessage, HeaderErrorTimestamp,
		HeaderErrorLastOffset, HeaderErrorRecords, HeaderErrorValue,
	} {
		if equalFold(name, own) {
			return true
		}
	}
	return false
}

// equalFold reports whether name is lower but for the case of ASCII letters.
// strings.EqualFold would also fold letters outside ASCII onto ours, and lower
// must be in lower case already.
func equalFold(name, lower string) bool {
	if len(name) != len(lower) {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
