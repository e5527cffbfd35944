package delay

// The control headers, which a producer writes and a delivery removes.
const (
	HeaderDelay     = "x-delay"
	HeaderDeliverAt = "x-deliver-at"
	HeaderDeliverTo = "x-deliver-to"
)

// The stamped headers, which a delivery writes. It replaces those of an earlier
// delivery: a retried record passes twice.
const (
	HeaderID                = "layover-id"
	HeaderDue               = "layover-due"
	HeaderOriginalTimestamp = "layover-original-timestamp"
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

	errorPrefix = "layover.errors."
)

// kind is the meaning of a header's name to Layover.
type kind uint8

const (
	kindOther kind = iota
	kindDelay
	kindDeliverAt
	kindDeliverTo
	kindStamped
)

// kindOf classifies a name without regard to case. It runs for every header
// of every record: the length alone rules out nearly all of them.
func kindOf(name string) kind {
	switch len(name) {
	case len(HeaderDelay):
		return kindIf(kindDelay, name, HeaderDelay)
	case len(HeaderDeliverAt): // and of HeaderDeliverTo
		if equalFold(name, HeaderDeliverAt) {
			return kindDeliverAt
		}
		return kindIf(kindDeliverTo, name, HeaderDeliverTo)
	case len(HeaderID):
		return kindIf(kindStamped, name, HeaderID)
	case len(HeaderDue):
		return kindIf(kindStamped, name, HeaderDue)
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

// IsControl reports whether name is x-delay, x-deliver-at or x-deliver-to,
// without regard to case.
func IsControl(name string) bool {
	k := kindOf(name)
	return k == kindDelay || k == kindDeliverAt || k == kindDeliverTo
}

// IsStamped reports whether name is one of the three headers that a delivery
// stamps, without regard to case.
func IsStamped(name string) bool { return kindOf(name) == kindStamped }

// IsError reports whether name is one of the nine layover.errors headers,
// without regard to case. Another name with that prefix is the user's, and is
// kept.
func IsError(name string) bool {
	if len(name) <= len(errorPrefix) || !equalFold(name[:len(errorPrefix)], errorPrefix) {
		return false
	}
	for _, own := range [...]string{
		HeaderErrorTopic, HeaderErrorPartition, HeaderErrorOffset, HeaderErrorGroup,
		HeaderErrorReason, HeaderErrorMessage, HeaderErrorTimestamp,
		HeaderErrorLastOffset, HeaderErrorRecords,
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
