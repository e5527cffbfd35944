package logs

import (
	"testing"

	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kerr"
)

func TestEveryErrorOfABrokerHasItsMeaningForAScan(t *testing.T) {
	const again, unread = "it is asked for again", "the rest is not read"
	kafkatest.Table[string]{
		Foreign: again, Passing: again, Permanent: []string{unread},
		Meanings: map[string][]*kerr.Error{
			unread: {kerr.OffsetOutOfRange, kerr.TopicAuthorizationFailed},
			again: {
				kerr.UnknownServerError, kerr.CorruptMessage, kerr.UnknownTopicOrPartition, kerr.InvalidFetchSize, kerr.LeaderNotAvailable,
				kerr.NotLeaderForPartition, kerr.RequestTimedOut, kerr.BrokerNotAvailable, kerr.ReplicaNotAvailable, kerr.MessageTooLarge,
				kerr.OffsetMetadataTooLarge, kerr.NetworkException, kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable, kerr.NotCoordinator,
				kerr.InvalidTopicException, kerr.RecordListTooLarge, kerr.NotEnoughReplicas, kerr.NotEnoughReplicasAfterAppend,
				kerr.InvalidRequiredAcks, kerr.IllegalGeneration, kerr.InconsistentGroupProtocol, kerr.InvalidGroupID, kerr.UnknownMemberID,
				kerr.InvalidSessionTimeout, kerr.RebalanceInProgress, kerr.InvalidCommitOffsetSize, kerr.GroupAuthorizationFailed,
				kerr.ClusterAuthorizationFailed, kerr.InvalidTimestamp, kerr.UnsupportedSaslMechanism, kerr.IllegalSaslState, kerr.UnsupportedVersion,
				kerr.TopicAlreadyExists, kerr.InvalidPartitions, kerr.InvalidReplicationFactor, kerr.InvalidConfig, kerr.NotController,
				kerr.InvalidRequest, kerr.UnsupportedForMessageFormat, kerr.PolicyViolation, kerr.OutOfOrderSequenceNumber,
				kerr.DuplicateSequenceNumber, kerr.InvalidProducerEpoch, kerr.InvalidProducerIDMapping, kerr.ConcurrentTransactions,
				kerr.TransactionalIDAuthorizationFailed, kerr.OperationNotAttempted, kerr.KafkaStorageError, kerr.SaslAuthenticationFailed,
				kerr.UnknownProducerID, kerr.ReassignmentInProgress, kerr.GroupIDNotFound, kerr.FetchSessionIDNotFound, kerr.InvalidFetchSessionEpoch,
				kerr.ListenerNotFound, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch, kerr.UnsupportedCompressionType, kerr.OffsetNotAvailable,
				kerr.MemberIDRequired, kerr.GroupMaxSizeReached, kerr.FencedInstanceID, kerr.InvalidRecord, kerr.UnstableOffsetCommit,
				kerr.ThrottlingQuotaExceeded, kerr.ProducerFenced, kerr.UnknownTopicID, kerr.InconsistentTopicID, kerr.FetchSessionTopicIDError,
				kerr.OffsetMovedToTieredStorage, kerr.FencedMemberEpoch, kerr.UnreleasedInstanceID, kerr.StaleMemberEpoch,
				kerr.MismatchedEndpointType, kerr.TransactionAbortable, kerr.RebootstrapRequired,
			},
		},
	}.Hold(t, func(err error) string {
		if hopeless(err) {
			return unread
		}
		return again
	})
}
