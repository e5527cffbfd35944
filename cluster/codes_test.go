package cluster

import (
	"errors"
	"testing"

	"layover/offsets"
	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestEveryErrorOfABrokerHasItsMeaningForATopic: only an answer about the topic itself
// changes its state. A topic that is missing twice in a row is missing.
func TestEveryErrorOfABrokerHasItsMeaningForATopic(t *testing.T) {
	kafkatest.Table[State]{
		Foreign: Usable, Passing: Usable, Permanent: []State{Forbidden},
		Meanings: map[State][]*kerr.Error{
			Missing:   {kerr.UnknownTopicOrPartition, kerr.UnknownTopicID, kerr.InvalidTopicException},
			Forbidden: {kerr.TopicAuthorizationFailed},
			Usable: {
				kerr.UnknownServerError, kerr.OffsetOutOfRange, kerr.CorruptMessage, kerr.InvalidFetchSize, kerr.LeaderNotAvailable,
				kerr.NotLeaderForPartition, kerr.RequestTimedOut, kerr.BrokerNotAvailable, kerr.ReplicaNotAvailable, kerr.MessageTooLarge,
				kerr.OffsetMetadataTooLarge, kerr.NetworkException, kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable, kerr.NotCoordinator,
				kerr.RecordListTooLarge, kerr.NotEnoughReplicas, kerr.NotEnoughReplicasAfterAppend, kerr.InvalidRequiredAcks, kerr.IllegalGeneration,
				kerr.InconsistentGroupProtocol, kerr.InvalidGroupID, kerr.UnknownMemberID, kerr.InvalidSessionTimeout, kerr.RebalanceInProgress,
				kerr.InvalidCommitOffsetSize, kerr.GroupAuthorizationFailed, kerr.ClusterAuthorizationFailed, kerr.InvalidTimestamp,
				kerr.UnsupportedSaslMechanism, kerr.IllegalSaslState, kerr.UnsupportedVersion, kerr.TopicAlreadyExists, kerr.InvalidPartitions,
				kerr.InvalidReplicationFactor, kerr.InvalidConfig, kerr.NotController, kerr.InvalidRequest, kerr.UnsupportedForMessageFormat,
				kerr.PolicyViolation, kerr.OutOfOrderSequenceNumber, kerr.DuplicateSequenceNumber, kerr.InvalidProducerEpoch,
				kerr.InvalidProducerIDMapping, kerr.ConcurrentTransactions, kerr.TransactionalIDAuthorizationFailed, kerr.OperationNotAttempted,
				kerr.KafkaStorageError, kerr.SaslAuthenticationFailed, kerr.UnknownProducerID, kerr.ReassignmentInProgress, kerr.GroupIDNotFound,
				kerr.FetchSessionIDNotFound, kerr.InvalidFetchSessionEpoch, kerr.ListenerNotFound, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch,
				kerr.UnsupportedCompressionType, kerr.OffsetNotAvailable, kerr.MemberIDRequired, kerr.GroupMaxSizeReached, kerr.FencedInstanceID,
				kerr.InvalidRecord, kerr.UnstableOffsetCommit, kerr.ThrottlingQuotaExceeded, kerr.ProducerFenced, kerr.InconsistentTopicID,
				kerr.FetchSessionTopicIDError, kerr.OffsetMovedToTieredStorage, kerr.FencedMemberEpoch, kerr.UnreleasedInstanceID,
				kerr.StaleMemberEpoch, kerr.MismatchedEndpointType, kerr.TransactionAbortable, kerr.RebootstrapRequired,
			},
		},
	}.Hold(t, func(err error) State {
		topic, answer := Topic{State: Usable}, kmsg.MetadataResponseTopic{ErrorCode: codeOf(err)}
		if topic.read(&answer); topic.State != Usable && topic.State != Forbidden {
			t.Errorf("%v: a topic is %v after one answer", err, topic.State)
		}
		topic.read(&answer)
		return topic.State
	})
}

// TestEveryErrorOfABrokerHasItsMeaningForBounds of a log: a topic that is missing, one that
// is forbidden, or a question that is asked again.
func TestEveryErrorOfABrokerHasItsMeaningForBounds(t *testing.T) {
	const missing, forbidden, again = "missing", "forbidden", "asked again"
	table := kafkatest.Table[string]{
		Foreign: again, Passing: again, Permanent: []string{forbidden},
		Meanings: map[string][]*kerr.Error{
			missing:   {kerr.UnknownTopicOrPartition, kerr.UnknownTopicID, kerr.InvalidTopicException},
			forbidden: {kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed, kerr.ClusterAuthorizationFailed},
			again: {
				kerr.UnknownServerError, kerr.OffsetOutOfRange, kerr.CorruptMessage, kerr.InvalidFetchSize, kerr.LeaderNotAvailable,
				kerr.NotLeaderForPartition, kerr.RequestTimedOut, kerr.BrokerNotAvailable, kerr.ReplicaNotAvailable, kerr.MessageTooLarge,
				kerr.OffsetMetadataTooLarge, kerr.NetworkException, kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable, kerr.NotCoordinator,
				kerr.RecordListTooLarge, kerr.NotEnoughReplicas, kerr.NotEnoughReplicasAfterAppend, kerr.InvalidRequiredAcks, kerr.IllegalGeneration,
				kerr.InconsistentGroupProtocol, kerr.InvalidGroupID, kerr.UnknownMemberID, kerr.InvalidSessionTimeout, kerr.RebalanceInProgress,
				kerr.InvalidCommitOffsetSize, kerr.InvalidTimestamp, kerr.UnsupportedSaslMechanism, kerr.IllegalSaslState, kerr.UnsupportedVersion,
				kerr.TopicAlreadyExists, kerr.InvalidPartitions, kerr.InvalidReplicationFactor, kerr.InvalidConfig, kerr.NotController,
				kerr.InvalidRequest, kerr.UnsupportedForMessageFormat, kerr.PolicyViolation, kerr.OutOfOrderSequenceNumber,
				kerr.DuplicateSequenceNumber, kerr.InvalidProducerEpoch, kerr.InvalidProducerIDMapping, kerr.ConcurrentTransactions,
				kerr.TransactionalIDAuthorizationFailed, kerr.OperationNotAttempted, kerr.KafkaStorageError, kerr.SaslAuthenticationFailed,
				kerr.UnknownProducerID, kerr.ReassignmentInProgress, kerr.GroupIDNotFound, kerr.FetchSessionIDNotFound, kerr.InvalidFetchSessionEpoch,
				kerr.ListenerNotFound, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch, kerr.UnsupportedCompressionType, kerr.OffsetNotAvailable,
				kerr.MemberIDRequired, kerr.GroupMaxSizeReached, kerr.FencedInstanceID, kerr.InvalidRecord, kerr.UnstableOffsetCommit,
				kerr.ThrottlingQuotaExceeded, kerr.ProducerFenced, kerr.InconsistentTopicID, kerr.FetchSessionTopicIDError,
				kerr.OffsetMovedToTieredStorage, kerr.FencedMemberEpoch, kerr.UnreleasedInstanceID, kerr.StaleMemberEpoch,
				kerr.MismatchedEndpointType, kerr.TransactionAbortable, kerr.RebootstrapRequired,
			},
		},
	}
	table.Hold(t, func(err error) string {
		topic := kmsg.MetadataResponseTopic{ErrorCode: codeOf(err)}
		switch _, _, err := leaderOf(&topic, true, offsets.TopicPartition{}); {
		case errors.Is(err, ErrMissing):
			return missing
		case Denied(err):
			return forbidden
		}
		return again
	})
}

func codeOf(err error) int16 {
	broker, _ := errors.AsType[*kerr.Error](err)
	return broker.Code
}
