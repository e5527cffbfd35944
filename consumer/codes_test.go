package consumer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"

	"layover/cluster/batches"
	"layover/offsets"
	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Meanings of a refused commit.
const (
	again    = "it is built and sent again"
	fenced   = "nothing is delivered before a commit is taken, and none is sent at the end"
	smaller  = "it is built with less metadata"
	noTopic  = "a second such answer ends the last commit of an assignment"
	hopeless = "it is the last commit of its assignment"
)

func TestEveryErrorOfABrokerHasItsMeaningForACommit(t *testing.T) {
	kafkatest.Table[string]{
		Foreign: again, Passing: again, Permanent: []string{fenced, smaller, hopeless},
		Meanings: map[string][]*kerr.Error{
			fenced: {
				kerr.IllegalGeneration, kerr.UnknownMemberID, kerr.GroupIDNotFound, kerr.FencedInstanceID, kerr.StaleMemberEpoch,
				kerr.FencedMemberEpoch,
			},
			smaller:  {kerr.OffsetMetadataTooLarge},
			noTopic:  {kerr.UnknownTopicID, kerr.UnknownTopicOrPartition},
			hopeless: {kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed},
			again: {
				kerr.UnknownServerError, kerr.OffsetOutOfRange, kerr.CorruptMessage, kerr.InvalidFetchSize, kerr.LeaderNotAvailable,
				kerr.NotLeaderForPartition, kerr.RequestTimedOut, kerr.BrokerNotAvailable, kerr.ReplicaNotAvailable, kerr.MessageTooLarge,
				kerr.NetworkException, kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable, kerr.NotCoordinator, kerr.InvalidTopicException,
				kerr.RecordListTooLarge, kerr.NotEnoughReplicas, kerr.NotEnoughReplicasAfterAppend, kerr.InvalidRequiredAcks,
				kerr.InconsistentGroupProtocol, kerr.InvalidGroupID, kerr.InvalidSessionTimeout, kerr.RebalanceInProgress,
				kerr.InvalidCommitOffsetSize, kerr.ClusterAuthorizationFailed, kerr.InvalidTimestamp, kerr.UnsupportedSaslMechanism,
				kerr.IllegalSaslState, kerr.UnsupportedVersion, kerr.TopicAlreadyExists, kerr.InvalidPartitions, kerr.InvalidReplicationFactor,
				kerr.InvalidConfig, kerr.NotController, kerr.InvalidRequest, kerr.UnsupportedForMessageFormat, kerr.PolicyViolation,
				kerr.OutOfOrderSequenceNumber, kerr.DuplicateSequenceNumber, kerr.InvalidProducerEpoch, kerr.InvalidProducerIDMapping,
				kerr.ConcurrentTransactions, kerr.TransactionalIDAuthorizationFailed, kerr.OperationNotAttempted, kerr.KafkaStorageError,
				kerr.SaslAuthenticationFailed, kerr.UnknownProducerID, kerr.ReassignmentInProgress, kerr.FetchSessionIDNotFound,
				kerr.InvalidFetchSessionEpoch, kerr.ListenerNotFound, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch,
				kerr.UnsupportedCompressionType, kerr.OffsetNotAvailable, kerr.MemberIDRequired, kerr.GroupMaxSizeReached, kerr.InvalidRecord,
				kerr.UnstableOffsetCommit, kerr.ThrottlingQuotaExceeded, kerr.ProducerFenced, kerr.InconsistentTopicID, kerr.FetchSessionTopicIDError,
				kerr.OffsetMovedToTieredStorage, kerr.UnreleasedInstanceID, kerr.MismatchedEndpointType, kerr.TransactionAbortable,
				kerr.RebootstrapRequired,
			},
		},
	}.Hold(t, func(err error) string {
		switch r := resultOf(offsets.Commit{}, allow(err, "g", "t")); (offsets.CommitResult{Err: r.Err, Fenced: r.Fenced, MetadataTooLarge: r.MetadataTooLarge, Gone: r.Gone, Hopeless: r.Hopeless}) {
		case offsets.CommitResult{Err: r.Err}:
			return again
		case offsets.CommitResult{Err: r.Err, Fenced: true}:
			return fenced
		case offsets.CommitResult{Err: r.Err, MetadataTooLarge: true}:
			return smaller
		case offsets.CommitResult{Err: r.Err, Gone: true}:
			return noTopic
		case offsets.CommitResult{Err: r.Err, Hopeless: true}:
			return hopeless
		}
		return "several things"
	})
}

// TestEveryErrorOfABrokerHasItsMeaningForAFetch: no answer of a broker stops a partition by
// itself. CORRUPT_MESSAGE is one replica's, and the next leader may have the batch whole.
func TestEveryErrorOfABrokerHasItsMeaningForAFetch(t *testing.T) {
	kafkatest.Table[fetchMeaning]{
		Foreign: fetchAgain, Passing: fetchAgain, Permanent: []fetchMeaning{outsideLog, logTruncated, batchUnread, fetchEnds},
		Meanings: map[fetchMeaning][]*kerr.Error{
			outsideLog: {kerr.OffsetOutOfRange},
			fetchAgain: {
				kerr.UnknownServerError, kerr.CorruptMessage, kerr.UnknownTopicOrPartition, kerr.InvalidFetchSize, kerr.LeaderNotAvailable,
				kerr.NotLeaderForPartition, kerr.RequestTimedOut, kerr.BrokerNotAvailable, kerr.ReplicaNotAvailable, kerr.MessageTooLarge,
				kerr.OffsetMetadataTooLarge, kerr.NetworkException, kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable, kerr.NotCoordinator,
				kerr.InvalidTopicException, kerr.RecordListTooLarge, kerr.NotEnoughReplicas, kerr.NotEnoughReplicasAfterAppend,
				kerr.InvalidRequiredAcks, kerr.IllegalGeneration, kerr.InconsistentGroupProtocol, kerr.InvalidGroupID, kerr.UnknownMemberID,
				kerr.InvalidSessionTimeout, kerr.RebalanceInProgress, kerr.InvalidCommitOffsetSize, kerr.TopicAuthorizationFailed,
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
	}.Hold(t, meaningOf)
}

// TestAnErrorOfAFetchThatIsNoBrokersHasItsMeaning: what cannot be decoded is looked at, and neither the network's errors
// nor the client's end make a batch suspect.
func TestAnErrorOfAFetchThatIsNoBrokersHasItsMeaning(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want fetchMeaning
	}{
		"a checksum":        {errors.New("encoded crc 1 does not match calculated crc 2"), batchUnread},
		"the codec":         {errors.New("gzip: invalid header"), batchUnread},
		"a data loss":       {&kgo.ErrDataLoss{Topic: "t"}, logTruncated},
		"a large batch":     {fmt.Errorf("batch: %w", new(batches.TooLarge)), batchUnread},
		"a batch for later": {fmt.Errorf("batch: %w", batches.ErrLater), roomIsThere},
		"the network":       {&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, fetchAgain},
		"no time left":      {context.DeadlineExceeded, fetchAgain},
		"a closed line":     {io.EOF, fetchAgain},
		"the group":         {&kgo.ErrGroupSession{Err: io.EOF}, fetchAgain},
		"a closed client":   {kgo.ErrClientClosed, fetchEnds},
		"a context":         {context.Canceled, fetchEnds},
	} {
		if got := meaningOf(test.err); got != test.want {
			t.Errorf("%s: meaning %d, want %d", name, got, test.want)
		}
	}
}

func TestEveryErrorOfABrokerHasItsMeaningForTheGroup(t *testing.T) {
	const (
		moving  = "the group has no coordinator at the moment"
		refused = "the group does not take this member"
		ends    = "the process"
	)
	kafkatest.Table[string]{
		Foreign: refused, Passing: sessionEnded, Permanent: []string{refused, ends},
		Meanings: map[string][]*kerr.Error{
			moving:     {kerr.CoordinatorNotAvailable, kerr.CoordinatorLoadInProgress, kerr.NotCoordinator},
			outOfReach: {kerr.SaslAuthenticationFailed},
			ends:       {kerr.FencedInstanceID},
			sessionEnded: {
				kerr.IllegalGeneration, kerr.UnknownMemberID, kerr.RebalanceInProgress, kerr.MemberIDRequired, kerr.GroupIDNotFound,
				kerr.StaleMemberEpoch, kerr.FencedMemberEpoch, kerr.UnreleasedInstanceID, kerr.UnknownServerError, kerr.CorruptMessage,
				kerr.UnknownTopicOrPartition, kerr.LeaderNotAvailable, kerr.NotLeaderForPartition, kerr.RequestTimedOut, kerr.BrokerNotAvailable,
				kerr.ReplicaNotAvailable, kerr.NetworkException, kerr.NotEnoughReplicas, kerr.NotEnoughReplicasAfterAppend, kerr.NotController,
				kerr.KafkaStorageError, kerr.FetchSessionIDNotFound, kerr.InvalidFetchSessionEpoch, kerr.ListenerNotFound, kerr.FencedLeaderEpoch,
				kerr.UnknownLeaderEpoch, kerr.OffsetNotAvailable, kerr.UnstableOffsetCommit, kerr.ThrottlingQuotaExceeded, kerr.UnknownTopicID,
				kerr.InconsistentTopicID, kerr.FetchSessionTopicIDError,
			},
			refused: {
				kerr.OffsetOutOfRange, kerr.InvalidFetchSize, kerr.MessageTooLarge, kerr.OffsetMetadataTooLarge, kerr.InvalidTopicException,
				kerr.RecordListTooLarge, kerr.InvalidRequiredAcks, kerr.InconsistentGroupProtocol, kerr.InvalidGroupID, kerr.InvalidSessionTimeout,
				kerr.InvalidCommitOffsetSize, kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed, kerr.ClusterAuthorizationFailed,
				kerr.InvalidTimestamp, kerr.UnsupportedSaslMechanism, kerr.IllegalSaslState, kerr.UnsupportedVersion, kerr.TopicAlreadyExists,
				kerr.InvalidPartitions, kerr.InvalidReplicationFactor, kerr.InvalidConfig, kerr.InvalidRequest, kerr.UnsupportedForMessageFormat,
				kerr.PolicyViolation, kerr.OutOfOrderSequenceNumber, kerr.DuplicateSequenceNumber, kerr.InvalidProducerEpoch,
				kerr.InvalidProducerIDMapping, kerr.ConcurrentTransactions, kerr.TransactionalIDAuthorizationFailed, kerr.OperationNotAttempted,
				kerr.UnknownProducerID, kerr.ReassignmentInProgress, kerr.UnsupportedCompressionType, kerr.GroupMaxSizeReached, kerr.InvalidRecord,
				kerr.ProducerFenced, kerr.OffsetMovedToTieredStorage, kerr.MismatchedEndpointType, kerr.TransactionAbortable,
				kerr.RebootstrapRequired,
			},
		},
	}.Hold(t, func(err error) string {
		ended, said := false, new(strings.Builder)
		g := &groupErrors{group: "g", log: slog.New(slog.NewTextHandler(said, nil)), fenced: func() { ended = true }}
		g.OnGroupManageError(err)
		if ended {
			return ends
		}
		for _, line := range []string{moving, refused, outOfReach, sessionEnded} {
			if strings.Contains(said.String(), line) {
				return line
			}
		}
		return said.String()
	})
}
