package kafkatest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Errors returns every error that the client knows a code of, in the order of the codes.
func Errors() (all []*kerr.Error) {
	for code := math.MinInt16; code <= math.MaxInt16; code++ {
		if err := kerr.TypedErrorForCode(int16(code)); err != nil && err.Code == int16(code) { // any other code is UNKNOWN_SERVER_ERROR
			all = append(all, err)
		}
	}
	return all
}

// foreign are the errors of requests that Layover does not send. Those are the requests
// between brokers and controllers, of transactions, share groups, streams groups,
// delegation tokens, quotas, telemetry, and of tools.
var foreign = []*kerr.Error{
	kerr.StaleControllerEpoch, kerr.InvalidReplicaAssignment, kerr.InvalidTxnState, kerr.InvalidTransactionTimeout, kerr.TransactionCoordinatorFenced,
	kerr.SecurityDisabled, kerr.LogDirNotFound, kerr.DelegationTokenAuthDisabled, kerr.DelegationTokenNotFound, kerr.DelegationTokenOwnerMismatch,
	kerr.DelegationTokenRequestNotAllowed, kerr.DelegationTokenAuthorizationFailed, kerr.DelegationTokenExpired, kerr.InvalidPrincipalType,
	kerr.NonEmptyGroup, kerr.TopicDeletionDisabled, kerr.StaleBrokerEpoch, kerr.PreferredLeaderNotAvailable, kerr.EligibleLeadersNotAvailable,
	kerr.ElectionNotNeeded, kerr.NoReassignmentInProgress, kerr.GroupSubscribedToTopic, kerr.ResourceNotFound, kerr.DuplicateResource,
	kerr.UnacceptableCredential, kerr.InconsistentVoterSet, kerr.InvalidUpdateVersion, kerr.FeatureUpdateFailed, kerr.PrincipalDeserializationFailure,
	kerr.SnapshotNotFound, kerr.PositionOutOfRange, kerr.DuplicateBrokerRegistration, kerr.BrokerIDNotRegistered, kerr.InconsistentClusterID,
	kerr.TransactionalIDNotFound, kerr.IneligibleReplica, kerr.NewLeaderElected, kerr.UnsupportedAssignor, kerr.UnsupportedEndpointType,
	kerr.UnknownControllerID, kerr.UnknownSubscriptionID, kerr.TelemetryTooLarge, kerr.InvalidRegistration, kerr.InvalidRecordState,
	kerr.ShareSessionNotFound, kerr.InvalidShareSessionEpoch, kerr.FencedStateEpoch, kerr.InvalidVoterKey, kerr.DuplicateVoter, kerr.VoterNotFound,
	kerr.InvalidRegularExpression, kerr.StreamsInvalidTopology, kerr.StreamsInvalidTopologyEpoch, kerr.StreamsTopologyFenced,
	kerr.ShareSessionLimitReached, kerr.GroupDeletionFailed, kerr.StreamsTopologyDescriptionUpdateFailed, kerr.ControllerIDNotRegistered,
}

// Table is every error of a broker under its meaning, for one place that decides by it.
type Table[M comparable] struct {
	Meanings map[M][]*kerr.Error
	// Foreign is the meaning of errors that answer no request of Layover's, and Passing of
	// those among them that the client calls retriable.
	Foreign, Passing M
	Permanent        []M // meanings after which nothing is tried again
}

// Hold fails the test unless the table is whole, and of gives each error its meaning
// there, also within another error. No error that the client calls retriable may have a
// permanent meaning. A code that is new to the client is in no table.
func (table Table[M]) Hold(t *testing.T, of func(error) M) {
	t.Helper()
	meanings := make(map[*kerr.Error][]M)
	for meaning, errs := range table.Meanings {
		for _, err := range errs {
			meanings[err] = append(meanings[err], meaning)
		}
	}
	for _, err := range foreign {
		meaning := table.Foreign
		if err.Retriable {
			meaning = table.Passing
		}
		meanings[err] = append(meanings[err], meaning)
	}
	for _, err := range Errors() {
		listed := meanings[err]
		if len(listed) != 1 {
			t.Errorf("%s (%d) is in %d places of the table: %v", err.Message, err.Code, len(listed), listed)
			continue
		}
		if got := of(fmt.Errorf("some request: %w", err)); got != listed[0] {
			t.Errorf("%s (%d) means %v, want %v", err.Message, err.Code, got, listed[0])
		}
		if err.Retriable && slices.Contains(table.Permanent, listed[0]) {
			t.Errorf("%s (%d) is retriable, and %v is permanent", err.Message, err.Code, listed[0])
		}
	}
}
