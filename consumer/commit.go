package consumer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// errNotOwned answers a commit of an assignment that is over: it was not sent.
var errNotOwned = errors.New("the partition is not assigned any more")

const (
	// maxRequestBytes bounds the bytes that the coordinator writes for one OffsetCommit. It
	// appends a request as one batch, a record for each partition. A batch over the topic's
	// max.message.bytes, 1 MiB by default, is refused as a whole.
	maxRequestBytes = 256 << 10
	// recordBytes is more than such a record takes beside its texts.
	recordBytes = 100
)

// batch is the commits of one call of Commit.
type batch struct {
	commits []offsets.Commit
	refused []offsets.CommitResult
	done    func([]offsets.CommitResult)
}

// committer sends batches one after the other, so that commits of one partition
// arrive in the order in which they were built. It never looks at who the member is:
// stamped commits carry their identity.
type committer struct {
	client     *kgo.Client
	group      string
	instanceID string // "" for a dynamic member
	accepted   func(sent time.Time)
	fenced     func()
	broken     *brokenCommits
	turns      *atomic.Int64 // of run

	mu     sync.Mutex
	queue  []batch // bounded by its callers, who have at most one commit per partition out
	closed bool
	wake   chan struct{} // capacity 1
	done   chan struct{}
}

// brokenCommits counts the commits that were written to connections which broke before their answers. The client sends
// them again on others, and says nothing. Another request's time-out may have broken a connection, so that all this takes
// no time worth mentioning. It is a hook of the client, which calls it before it connects again.
type brokenCommits struct{ atomic.Int64 }

// OnBrokerE2E implements kgo.HookBrokerE2E.
func (b *brokenCommits) OnBrokerE2E(_ kgo.BrokerMetadata, key int16, e kgo.BrokerE2E) {
	if kmsg.Key(key) == kmsg.OffsetCommit && e.BytesWritten > 0 && e.Err() != nil {
		b.Add(1)
	}
}

// start begins to send. close ends it.
func (k *committer) start() {
	k.wake, k.done = make(chan struct{}, 1), make(chan struct{})
	go k.run()
}

// put queues a batch, and returns false after close.
func (k *committer) put(b batch) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return false
	}
	k.queue = append(k.queue, b)
	select {
	case k.wake <- struct{}{}:
	default:
	}
	return true
}

// run sends until close.
func (k *committer) run() {
	defer close(k.done)
	for {
		k.turns.Add(1)
		k.mu.Lock()
		queue, closed := k.queue, k.closed
		k.queue = nil
		k.mu.Unlock()
		for _, b := range queue {
			b.done(append(b.refused, k.send(b.commits)...))
		}
		if closed {
			return
		}
		if len(queue) == 0 {
			<-k.wake
		}
	}
}

func (k *committer) close() {
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// fail answers a whole batch with one error.
func (b *batch) fail(err error) []offsets.CommitResult {
	out := b.refused
	for _, m := range b.commits {
		out = append(out, resultOf(m, err))
	}
	return out
}

// send commits, in as many requests as it takes. The context has no end: a commit
// that is given up half way may still arrive, after a later one.
func (k *committer) send(commits []offsets.Commit) (out []offsets.CommitResult) {
	for len(commits) > 0 {
		n := inOneRequest(k.group, commits)
		out = append(out, k.sendOne(context.Background(), commits[:n])...)
		commits = commits[n:]
	}
	return out
}

// inOneRequest is how many of the commits, from the first on and at least one, go
// into one request. They are those of one identity, as far as their records have
// room. The names of group and topic are in each record.
func inOneRequest(group string, commits []offsets.Commit) int {
	size := 0
	for n, m := range commits {
		size += recordBytes + len(group) + len(m.Topic) + len(m.Metadata)
		if n > 0 && (size > maxRequestBytes || m.Generation != commits[0].Generation || m.MemberID != commits[0].MemberID) {
			return n
		}
	}
	return len(commits)
}

// sendOne sends one OffsetCommit of commits that carry the same identity.
func (k *committer) sendOne(ctx context.Context, commits []offsets.Commit) []offsets.CommitResult {
	started, broken := time.Now(), k.broken.Load()
	resp, err := k.request(commits).RequestWith(ctx, k.client)
	out := k.results(commits, resp, err, started)
	for i := range out { // a commit beside this one may have been the broken one: it is repeated for nothing then
		out[i].MayArrive = err != nil || k.broken.Load() != broken
	}
	return out
}

// results takes the answer to a request that was sent at an instant.
func (k *committer) results(commits []offsets.Commit, resp *kmsg.OffsetCommitResponse, err error, started time.Time) []offsets.CommitResult {
	b := batch{commits: commits}
	if err != nil {
		return b.fail(fmt.Errorf("offset commit: %w", err))
	}
	answers := make(map[offsets.TopicPartition]error, len(commits))
	byID := make(map[offsets.TopicID]string)
	for _, m := range commits {
		byID[m.TopicID] = m.Topic
	}
	for _, t := range resp.Topics {
		name := t.Topic
		if name == "" {
			name = byID[t.TopicID]
		}
		for _, p := range t.Partitions {
			answers[offsets.TopicPartition{Topic: name, Partition: p.Partition}] = kerr.ErrorForCode(p.ErrorCode)
		}
	}
	out := make([]offsets.CommitResult, 0, len(commits))
	for _, m := range commits {
		err, answered := answers[m.TopicPartition]
		if !answered {
			err = errors.New("offset commit: the coordinator's answer leaves this partition out")
		}
		if err == nil {
			k.accepted(started)
		}
		if errors.Is(err, kerr.FencedInstanceID) {
			k.fenced()
		}
		out = append(out, resultOf(m, allow(err, k.group, m.Topic)))
	}
	return out
}

func (k *committer) request(commits []offsets.Commit) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group = k.group
	req.MemberID, req.Generation = commits[0].MemberID, commits[0].Generation
	if k.instanceID != "" {
		req.InstanceID = &k.instanceID
	}
	at := make(map[string]int)
	for _, m := range commits {
		i, ok := at[m.Topic]
		if !ok {
			t := kmsg.NewOffsetCommitRequestTopic()
			t.Topic, t.TopicID = m.Topic, m.TopicID // from version 10 on the id counts
			req.Topics = append(req.Topics, t)
			i = len(req.Topics) - 1
			at[m.Topic] = i
		}
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset, p.LeaderEpoch = m.Partition, m.Low, m.LeaderEpoch
		p.Metadata = kmsg.StringPtr(m.Metadata)
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, p)
	}
	return req
}

// resultOf makes the answer to a commit from its error.
func resultOf(c offsets.Commit, err error) offsets.CommitResult {
	return offsets.CommitResult{Commit: c, Err: err,
		Unsent: errors.Is(err, errNotOwned), Fenced: isFenced(err), MetadataTooLarge: errors.Is(err, kerr.OffsetMetadataTooLarge), Gone: isGone(err), Hopeless: isHopeless(err)}
}

// isFenced says whether a commit was refused because the group does not know its
// member or generation any more, or the group itself is gone.
func isFenced(err error) bool { return isAny(err, fencing) || errors.Is(err, errNotOwned) }

// isGone says whether a commit was refused because its topic is gone, or another one. A
// broker that has just started says so of every topic.
func isGone(err error) bool { return isAny(err, gone) }

// isHopeless says whether a commit was refused for want of a right.
func isHopeless(err error) bool { return isAny(err, forbidden) }

// Errors of commits by meaning. After any other the commit is built and sent again.
var (
	fencing = []error{kerr.IllegalGeneration, kerr.UnknownMemberID, kerr.GroupIDNotFound,
		kerr.FencedInstanceID, kerr.StaleMemberEpoch, kerr.FencedMemberEpoch}
	gone      = []error{kerr.UnknownTopicID, kerr.UnknownTopicOrPartition}
	forbidden = []error{kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed}
)

// isAny reports whether an error is one of some.
func isAny(err error, some []error) bool {
	return slices.ContainsFunc(some, func(one error) bool { return errors.Is(err, one) })
}
