package producer

import (
	"testing"

	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kerr"
)

// TestEveryErrorOfABrokerHasItsMeaningForARecord: a record that the broker will never take
// is dead-lettered, at once or after it was sent alone. A target that is missing or forbidden
// is held, and any other error has the record sent again.
func TestEveryErrorOfABrokerHasItsMeaningForARecord(t *testing.T) {
	kafkatest.Table[Class]{
		Foreign: Unknown, Passing: Unknown, Permanent: []Class{TooLarge, Rejected},
		Meanings: map[Class][]*kerr.Error{
			TooLarge:  {kerr.MessageTooLarge, kerr.RecordListTooLarge},
			Rejected:  {kerr.InvalidRecord, kerr.InvalidTimestamp, kerr.PolicyViolation, kerr.UnsupportedForMessageFormat, kerr.UnsupportedCompressionType},
			Missing:   {kerr.UnknownTopicOrPartition, kerr.UnknownTopicID, kerr.InvalidTopicException},
			Forbidden: {kerr.TopicAuthorizationFailed, kerr.ClusterAuthorizationFailed, kerr.TransactionalIDAuthorizationFailed},
			Unknown: {
				// These pass: with a leader, a replica, a disk, the network.
				kerr.UnknownServerError, kerr.CorruptMessage, kerr.LeaderNotAvailable, kerr.NotLeaderForPartition, kerr.RequestTimedOut,
				kerr.BrokerNotAvailable, kerr.ReplicaNotAvailable, kerr.NetworkException, kerr.NotEnoughReplicas, kerr.NotEnoughReplicasAfterAppend,
				kerr.KafkaStorageError, kerr.ReassignmentInProgress, kerr.ListenerNotFound, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch,
				kerr.ThrottlingQuotaExceeded, kerr.InconsistentTopicID, kerr.OperationNotAttempted, kerr.RebootstrapRequired, kerr.MismatchedEndpointType,
				// The client begins a new producer epoch after these.
				kerr.OutOfOrderSequenceNumber, kerr.DuplicateSequenceNumber, kerr.InvalidProducerEpoch, kerr.InvalidProducerIDMapping,
				kerr.UnknownProducerID, kerr.ProducerFenced, kerr.ConcurrentTransactions, kerr.TransactionAbortable,
				// These are about the connection or the request, and about no record.
				kerr.UnsupportedSaslMechanism, kerr.IllegalSaslState, kerr.SaslAuthenticationFailed, kerr.UnsupportedVersion, kerr.InvalidRequest,
				kerr.InvalidRequiredAcks,
				// No produce is answered by these.
				kerr.OffsetOutOfRange, kerr.InvalidFetchSize, kerr.OffsetMetadataTooLarge, kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable,
				kerr.NotCoordinator, kerr.IllegalGeneration, kerr.InconsistentGroupProtocol, kerr.InvalidGroupID, kerr.UnknownMemberID,
				kerr.InvalidSessionTimeout, kerr.RebalanceInProgress, kerr.InvalidCommitOffsetSize, kerr.GroupAuthorizationFailed, kerr.TopicAlreadyExists,
				kerr.InvalidPartitions, kerr.InvalidReplicationFactor, kerr.InvalidConfig, kerr.NotController, kerr.GroupIDNotFound,
				kerr.FetchSessionIDNotFound, kerr.InvalidFetchSessionEpoch, kerr.OffsetNotAvailable, kerr.MemberIDRequired, kerr.GroupMaxSizeReached,
				kerr.FencedInstanceID, kerr.UnstableOffsetCommit, kerr.FetchSessionTopicIDError, kerr.OffsetMovedToTieredStorage, kerr.FencedMemberEpoch,
				kerr.UnreleasedInstanceID, kerr.StaleMemberEpoch,
			},
		},
	}.Hold(t, Classify)
}
