package journal

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"layover/cli/kafka"
	"layover/cluster"
	"layover/offsets"
)

// errMembers is why no offset can be set: a member's next commit would write over it.
var errMembers = errors.New("stop all Layover processes of the group first; one that was killed counts until its session has timed out")

// commit sets the offset of a partition, for no member: the coordinator takes that
// while the group has none. An error leaves the offset as it was, unless nobody
// answered.
func (b *brokers) commit(ctx context.Context, group string, at offsets.TopicPartition, c offsets.Committed) error {
	ctx, cancel := context.WithTimeout(ctx, kafka.AskTimeout)
	defer cancel()
	var all kadm.Offsets
	all.Add(kadm.Offset{Topic: at.Topic, Partition: at.Partition, At: c.Offset, LeaderEpoch: c.LeaderEpoch, Metadata: c.Metadata})
	answer, err := b.Admin.CommitOffsets(ctx, group, all)
	if err == nil {
		err = cluster.ErrNoAnswer
		if a, ok := answer.Lookup(at.Topic, at.Partition); ok {
			err = a.Err
		}
	}
	switch {
	case errors.Is(err, kerr.UnknownMemberID), errors.Is(err, kerr.IllegalGeneration), errors.Is(err, kerr.RebalanceInProgress):
		return fmt.Errorf("group %s has got members: %w", group, errMembers)
	}
	return b.Explain(err, "commit", fmt.Sprintf("Read on group %s and on topic %s", group, at.Topic))
}

// remove deletes the records of a partition below an offset.
func (b *brokers) remove(ctx context.Context, at offsets.TopicPartition, below int64) error {
	ctx, cancel := context.WithTimeout(ctx, kafka.AskTimeout)
	defer cancel()
	var all kadm.Offsets
	all.Add(kadm.Offset{Topic: at.Topic, Partition: at.Partition, At: below})
	answer, err := b.Admin.DeleteRecords(ctx, all)
	if err == nil {
		err = cluster.ErrNoAnswer
		if a, ok := answer[at.Topic][at.Partition]; ok {
			err = a.Err
		}
	}
	return b.Explain(err, fmt.Sprintf("deleting the records of %s/%d", at.Topic, at.Partition), "Delete on topic "+at.Topic)
}
