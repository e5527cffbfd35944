package consumer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"layover/cluster"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kgo"
)

// startAt is the start of a partition without a committed offset, or the reason why it
// cannot be read.
type startAt struct {
	offset int64
	reason string
	err    error // the start is not known yet, and is asked for again
}

// groupStart decides where partitions without a committed offset begin.
//
// In a group without any committed offset the start is LAYOVER_START_OFFSET's. One member,
// the owner of the first partition of all, commits every start in one request. The others
// wait for it. So a partition without an offset in a known group is new, or has lost its
// offset: members that start together cannot cause it. New ones start together as well, each
// at the start of its log: see startAdded.
type groupStart struct {
	client  *kgo.Client
	table   *ownership
	group   groupOffsets
	topics  []string
	offset  string  // earliest, latest, none
	journal Journal // nil: there is none
	commit  func(context.Context, []offsets.Commit) []offsets.CommitResult
	log     *slog.Logger

	starting sync.Mutex // over the decision
	// waits is since when new partitions wait for another member's commit, by the first of them. Callers hold starting.
	waits map[offsets.TopicPartition]time.Time
}

// of decides once where partitions without a committed offset begin. One decision is
// underway at a time: a second commit of all starts could take back offsets that were
// committed since the first.
func (g *groupStart) of(ctx context.Context, missing map[offsets.TopicPartition]cluster.Bounds) map[offsets.TopicPartition]startAt {
	if !g.starting.TryLock() {
		return later(missing, errStarting)
	}
	defer g.starting.Unlock()
	return g.decide(ctx, missing)
}

var errStarting = errors.New("another assignment's partitions are being started")

func (g *groupStart) decide(ctx context.Context, missing map[offsets.TopicPartition]cluster.Bounds) map[offsets.TopicPartition]startAt {
	now := new(offsetsNow)
	now.member, now.generation = g.table.identity()
	var err error
	now.known, now.unstable, err = g.group.committed(ctx, nil)
	switch {
	case err != nil:
		return later(missing, err)
	case len(now.known)+len(now.unstable) > 0:
		starts := g.known(ctx, missing, now.known, now.unstable)
		g.startAdded(ctx, now, missing, starts)
		return starts
	case g.offset == "none":
		return g.known(ctx, missing, nil, nil)
	case !g.first(ctx):
		return later(missing, errOtherStarts)
	}
	starts, err := g.commitStarts(ctx, missing) // also where no partition of its own is missing
	out := later(missing, cmp.Or(err, errOtherStarts))
	for tp, s := range starts {
		if _, ok := missing[tp]; ok {
			out[tp] = s
		}
	}
	return out
}

// later puts the decision about partitions off, for a reason.
func later(parts map[offsets.TopicPartition]cluster.Bounds, err error) map[offsets.TopicPartition]startAt {
	out := make(map[offsets.TopicPartition]startAt)
	for tp := range parts {
		out[tp] = startAt{err: err}
	}
	return out
}

// errOtherStarts is the reason to wait where another member commits the starts.
var errOtherStarts = errors.New("the member with the first partition has not committed the group's start offsets")

// known decides for a group that has offsets of other partitions, or must have them, as the
// start offset is none. An offset that a group's start has committed is taken as it is. A
// partition that is new, or whose log has lost nothing, starts at its log start. Any other
// has lost its offset: it is not read.
func (g *groupStart) known(ctx context.Context, missing map[offsets.TopicPartition]cluster.Bounds, known map[offsets.TopicPartition]offsets.Committed, unstable map[offsets.TopicPartition]error) map[offsets.TopicPartition]startAt {
	highest := highestOf(maps.Keys(known))
	out, unknown := g.orphaned(ctx, identities(missing))
	maps.Copy(out, unknown)
	for tp, b := range missing {
		_, decided := out[tp]
		h, any := highest[tp.Topic]
		switch was, ok := known[tp]; {
		case decided:
		case unstable[tp] != nil:
			out[tp] = startAt{err: unstable[tp]}
		case ok:
			out[tp] = startAt{offset: max(was.Offset, b.Start)}
		case len(known)+len(unstable) == 0:
			out[tp] = startAt{reason: "the group has no committed offset and LAYOVER_START_OFFSET is none: set the group's offset, or choose earliest or latest, then restart"}
		case b.Start == 0 || !any || tp.Partition > h:
			out[tp] = startAt{offset: b.Start}
		default:
			out[tp] = startAt{reason: fmt.Sprintf("group %s has committed offsets, but none for this partition, whose log starts at %d: "+
				"it expired or was deleted, and the finished offsets are not known; set the group's offset for this partition, then restart", g.group.name, b.Start)}
		}
	}
	return out
}

func identities(parts map[offsets.TopicPartition]cluster.Bounds) map[offsets.TopicPartition]offsets.Identity {
	ids := make(map[offsets.TopicPartition]offsets.Identity, len(parts))
	for tp, b := range parts {
		ids[tp] = offsets.Identity{ClusterID: b.ClusterID, TopicID: b.TopicID, Partition: tp.Partition}
	}
	return ids
}

// first says whether this member owns the first partition of the first ingress
// topic by name that exists.
func (g *groupStart) first(ctx context.Context) bool {
	_, topics, err := cluster.Describe(ctx, g.client, g.topics)
	if err != nil {
		return false
	}
	for _, topic := range slices.Sorted(slices.Values(g.topics)) { // for all members the same
		if t, ok := topics[topic]; ok && t.ErrorCode == 0 && len(t.Partitions) > 0 {
			return g.table.owns(offsets.TopicPartition{Topic: topic})
		}
	}
	return false
}

// orphaned finds the partitions without an offset whose journal has records: their offset
// was lost, and nothing is guessed. A partition whose journal did not answer is in unknown.
func (g *groupStart) orphaned(ctx context.Context, ids map[offsets.TopicPartition]offsets.Identity) (orphans, unknown map[offsets.TopicPartition]startAt) {
	orphans, unknown = make(map[offsets.TopicPartition]startAt), make(map[offsets.TopicPartition]startAt)
	if g.journal == nil || len(ids) == 0 {
		return orphans, unknown
	}
	held, failed := g.journal.Holds(ctx, ids)
	for tp := range ids {
		switch {
		case failed[tp] != nil:
			unknown[tp] = startAt{err: failed[tp]}
		case held[tp]:
			orphans[tp] = startAt{reason: fmt.Sprintf("group %s has no offset for this partition, but a journal of finished offsets: the offset expired or was deleted. "+
				"Stop all members; then \"layover journal recover\" goes on from the journal, and \"layover journal reset\" forgets it and starts as LAYOVER_START_OFFSET says", g.group.name)}
		}
	}
	return orphans, unknown
}
