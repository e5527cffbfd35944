package journal

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"layover/offsets"
	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kerr"
)

func TestEveryErrorOfABrokerHasItsMeaningForARecordOfTheJournal(t *testing.T) {
	const anew, smaller = "the whole set is written anew", "the set is written anew in smaller records"
	kafkatest.Table[string]{
		Foreign: anew, Passing: anew, Permanent: []string{smaller},
		Meanings: map[string][]*kerr.Error{
			smaller: {kerr.MessageTooLarge, kerr.RecordListTooLarge},
			anew: {
				kerr.UnknownServerError, kerr.OffsetOutOfRange, kerr.CorruptMessage, kerr.UnknownTopicOrPartition, kerr.InvalidFetchSize,
				kerr.LeaderNotAvailable, kerr.NotLeaderForPartition, kerr.RequestTimedOut, kerr.BrokerNotAvailable, kerr.ReplicaNotAvailable,
				kerr.OffsetMetadataTooLarge, kerr.NetworkException, kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable, kerr.NotCoordinator,
				kerr.InvalidTopicException, kerr.NotEnoughReplicas, kerr.NotEnoughReplicasAfterAppend, kerr.InvalidRequiredAcks,
				kerr.IllegalGeneration, kerr.InconsistentGroupProtocol, kerr.InvalidGroupID, kerr.UnknownMemberID, kerr.InvalidSessionTimeout,
				kerr.RebalanceInProgress, kerr.InvalidCommitOffsetSize, kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed,
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
		if isTooLarge(err) {
			return smaller
		}
		return anew
	})
}

// TestEveryErrorOfABrokerHasItsMeaningForADeletion: each deletion is asked for again. One
// that is forbidden is said.
func TestEveryErrorOfABrokerHasItsMeaningForADeletion(t *testing.T) {
	const quiet, said = "nothing is said", "it is said that the journal grows"
	kafkatest.Table[string]{
		Foreign: quiet, Passing: quiet, Permanent: []string{said},
		Meanings: map[string][]*kerr.Error{
			said: {kerr.TopicAuthorizationFailed},
			quiet: {
				kerr.UnknownServerError, kerr.OffsetOutOfRange, kerr.CorruptMessage, kerr.UnknownTopicOrPartition, kerr.InvalidFetchSize,
				kerr.LeaderNotAvailable, kerr.NotLeaderForPartition, kerr.RequestTimedOut, kerr.BrokerNotAvailable, kerr.ReplicaNotAvailable,
				kerr.MessageTooLarge, kerr.OffsetMetadataTooLarge, kerr.NetworkException, kerr.CoordinatorLoadInProgress,
				kerr.CoordinatorNotAvailable, kerr.NotCoordinator, kerr.InvalidTopicException, kerr.RecordListTooLarge, kerr.NotEnoughReplicas,
				kerr.NotEnoughReplicasAfterAppend, kerr.InvalidRequiredAcks, kerr.IllegalGeneration, kerr.InconsistentGroupProtocol,
				kerr.InvalidGroupID, kerr.UnknownMemberID, kerr.InvalidSessionTimeout, kerr.RebalanceInProgress, kerr.InvalidCommitOffsetSize,
				kerr.GroupAuthorizationFailed, kerr.ClusterAuthorizationFailed, kerr.InvalidTimestamp, kerr.UnsupportedSaslMechanism,
				kerr.IllegalSaslState, kerr.UnsupportedVersion, kerr.TopicAlreadyExists, kerr.InvalidPartitions, kerr.InvalidReplicationFactor,
				kerr.InvalidConfig, kerr.NotController, kerr.InvalidRequest, kerr.UnsupportedForMessageFormat, kerr.PolicyViolation,
				kerr.OutOfOrderSequenceNumber, kerr.DuplicateSequenceNumber, kerr.InvalidProducerEpoch, kerr.InvalidProducerIDMapping,
				kerr.ConcurrentTransactions, kerr.TransactionalIDAuthorizationFailed, kerr.OperationNotAttempted, kerr.KafkaStorageError,
				kerr.SaslAuthenticationFailed, kerr.UnknownProducerID, kerr.ReassignmentInProgress, kerr.GroupIDNotFound, kerr.FetchSessionIDNotFound,
				kerr.InvalidFetchSessionEpoch, kerr.ListenerNotFound, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch,
				kerr.UnsupportedCompressionType, kerr.OffsetNotAvailable, kerr.MemberIDRequired, kerr.GroupMaxSizeReached, kerr.FencedInstanceID,
				kerr.InvalidRecord, kerr.UnstableOffsetCommit, kerr.ThrottlingQuotaExceeded, kerr.ProducerFenced, kerr.UnknownTopicID,
				kerr.InconsistentTopicID, kerr.FetchSessionTopicIDError, kerr.OffsetMovedToTieredStorage, kerr.FencedMemberEpoch,
				kerr.UnreleasedInstanceID, kerr.StaleMemberEpoch, kerr.MismatchedEndpointType, kerr.TransactionAbortable, kerr.RebootstrapRequired,
			},
		},
	}.Hold(t, func(err error) string {
		j, log := deaf()
		if j.sayDeletion(offsets.TopicPartition{Topic: ingress}, err); strings.Contains(log.String(), "cannot be deleted, and it grows") {
			return said
		}
		return quiet
	})
}

// TestEveryErrorOfABrokerHasItsMeaningForMakingAJournal: what passes by itself is asked for
// again without a word, and a refusal is said with the command that mends it.
func TestEveryErrorOfABrokerHasItsMeaningForMakingAJournal(t *testing.T) {
	const made, quiet, said = "the topic is there", "nothing is said", "the refusal is said"
	kafkatest.Table[string]{
		Foreign: said, Passing: quiet, Permanent: []string{said},
		Meanings: map[string][]*kerr.Error{
			made: {kerr.TopicAlreadyExists},
			quiet: {
				kerr.CorruptMessage, kerr.UnknownTopicOrPartition, kerr.LeaderNotAvailable, kerr.NotLeaderForPartition, kerr.RequestTimedOut,
				kerr.BrokerNotAvailable, kerr.ReplicaNotAvailable, kerr.NetworkException, kerr.CoordinatorLoadInProgress,
				kerr.CoordinatorNotAvailable, kerr.NotCoordinator, kerr.NotEnoughReplicas, kerr.NotEnoughReplicasAfterAppend, kerr.NotController,
				kerr.KafkaStorageError, kerr.FetchSessionIDNotFound, kerr.InvalidFetchSessionEpoch, kerr.ListenerNotFound, kerr.FencedLeaderEpoch,
				kerr.UnknownLeaderEpoch, kerr.OffsetNotAvailable, kerr.UnstableOffsetCommit, kerr.ThrottlingQuotaExceeded, kerr.UnknownTopicID,
				kerr.InconsistentTopicID, kerr.FetchSessionTopicIDError,
			},
			said: {
				kerr.UnknownServerError, kerr.OffsetOutOfRange, kerr.InvalidFetchSize, kerr.MessageTooLarge, kerr.OffsetMetadataTooLarge,
				kerr.InvalidTopicException, kerr.RecordListTooLarge, kerr.InvalidRequiredAcks, kerr.IllegalGeneration, kerr.InconsistentGroupProtocol,
				kerr.InvalidGroupID, kerr.UnknownMemberID, kerr.InvalidSessionTimeout, kerr.RebalanceInProgress, kerr.InvalidCommitOffsetSize,
				kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed, kerr.ClusterAuthorizationFailed, kerr.InvalidTimestamp,
				kerr.UnsupportedSaslMechanism, kerr.IllegalSaslState, kerr.UnsupportedVersion, kerr.InvalidPartitions, kerr.InvalidReplicationFactor,
				kerr.InvalidConfig, kerr.InvalidRequest, kerr.UnsupportedForMessageFormat, kerr.PolicyViolation, kerr.OutOfOrderSequenceNumber,
				kerr.DuplicateSequenceNumber, kerr.InvalidProducerEpoch, kerr.InvalidProducerIDMapping, kerr.ConcurrentTransactions,
				kerr.TransactionalIDAuthorizationFailed, kerr.OperationNotAttempted, kerr.SaslAuthenticationFailed, kerr.UnknownProducerID,
				kerr.ReassignmentInProgress, kerr.GroupIDNotFound, kerr.UnsupportedCompressionType, kerr.MemberIDRequired, kerr.GroupMaxSizeReached,
				kerr.FencedInstanceID, kerr.InvalidRecord, kerr.ProducerFenced, kerr.OffsetMovedToTieredStorage, kerr.FencedMemberEpoch,
				kerr.UnreleasedInstanceID, kerr.StaleMemberEpoch, kerr.MismatchedEndpointType, kerr.TransactionAbortable, kerr.RebootstrapRequired,
			},
		},
	}.Hold(t, func(err error) string {
		j, log := deaf()
		j.keeper.answered(name, err, &created)
		switch {
		case strings.Contains(log.String(), "journal topic cannot be made"):
			return said
		case j.keeper.find(j.journals, ingress).err == "":
			return made
		}
		return quiet
	})
}

// deaf returns a journal that asks nobody, and its log.
func deaf() (*Journal, *bytes.Buffer) {
	log := new(bytes.Buffer)
	return New(Config{Ingress: []string{ingress}, Name: func(string) string { return name }, Auto: true, Log: slog.New(slog.NewTextHandler(log, nil))}), log
}

// TestARightToDeleteThatIsTakenAwayAgainIsSaidAgain, and once each time. Another error
// says nothing about the right.
func TestARightToDeleteThatIsTakenAwayAgainIsSaidAgain(t *testing.T) {
	j, log := deaf()
	for round := range 3 {
		for _, err := range []error{kerr.TopicAuthorizationFailed, kerr.NotLeaderForPartition, kerr.TopicAuthorizationFailed} {
			j.sayDeletion(offsets.TopicPartition{Topic: ingress}, err)
		}
		if n := strings.Count(log.String(), "cannot be deleted, and it grows"); n != round+1 {
			t.Errorf("round %d: said %d times", round, n)
		}
		j.sayDeletion(offsets.TopicPartition{Topic: ingress}, nil)
	}
}
