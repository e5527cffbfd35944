package producer

import (
	"errors"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Class is the consequence of an error of Deliver.
type Class uint8

const (
	Delivered Class = iota // no error
	TooLarge               // the record, or the batch it was in
	Rejected               // the broker will never take this record
	Missing                // the target does not exist
	Forbidden              // this client may not write there
	Unknown                // the record may or may not have been written
	NoRoom                 // the record was not sent: the client holds as many as it may
)

// Errors by class. An error in no list is Unknown: its record is sent again.
var (
	tooLarge  = []error{kerr.MessageTooLarge, kerr.RecordListTooLarge}
	rejected  = []error{kerr.InvalidRecord, kerr.InvalidTimestamp, kerr.PolicyViolation, kerr.UnsupportedForMessageFormat, kerr.UnsupportedCompressionType}
	missing   = []error{kerr.UnknownTopicOrPartition, kerr.UnknownTopicID, kerr.InvalidTopicException}
	forbidden = []error{kerr.TopicAuthorizationFailed, kerr.ClusterAuthorizationFailed, kerr.TransactionalIDAuthorizationFailed}
)

// Classify returns the consequence of an error of Deliver for record and target.
func Classify(err error) Class {
	is := func(target error) bool { return errors.Is(err, target) }
	switch {
	case err == nil:
		return Delivered
	case slices.ContainsFunc(tooLarge, is):
		return TooLarge
	case slices.ContainsFunc(rejected, is):
		return Rejected
	case slices.ContainsFunc(missing, is):
		return Missing
	case slices.ContainsFunc(forbidden, is):
		return Forbidden
	case is(kgo.ErrMaxBuffered):
		return NoRoom
	default:
		return Unknown
	}
}

// isStale says whether an error is about the id of a deleted topic.
func isStale(err error) bool { return errors.Is(err, kerr.UnknownTopicID) }
