package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"

	"layover/journal/logs"
	"layover/journal/runs"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kgo"
)

// owners is a look at the first record of each partition of runs topics, for owners other
// than their own. A topic's name may be in the settings of two owners, or a mirror may have
// copied a topic. Readers of copies find those of others behind the first.
//
// All topics are looked at together, within 5 s, or a broker that is gone would take that
// for each. A first record is read once, and again when the log begins elsewhere: it is in
// a batch of up to a mebibyte.
type owners struct {
	want  map[string]runs.Owner // by runs topic
	own   map[string]map[int32]int64
	other map[string]foreign
	open  map[offsets.TopicPartition][2]int64 // the logs whose first record is not known
}

// foreign is the lowest partition of a topic whose first record is of another owner. Each
// look finds the same one, so that it is said once.
type foreign struct {
	partition int32
	err       error
}

// lookForOwners looks for others' copies and directories in runs topics.
func lookForOwners(group string) func(ctx context.Context, k *keeper, due []kept) {
	return func(ctx context.Context, k *keeper, due []kept) {
		l := &owners{want: make(map[string]runs.Owner), own: make(map[string]map[int32]int64), other: make(map[string]foreign)}
		var parts []offsets.TopicPartition
		cluster := k.clusterID()
		for i := range due {
			t := &due[i]
			l.want[t.name] = runs.OwnerOf(cluster, group, t.ingress)
			l.own[t.name] = make(map[int32]int64)
			parts = append(parts, t.parts()...)
		}
		looking, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		var failed map[offsets.TopicPartition]error
		l.open, failed = logBounds(looking, k.client, parts)
		for i := range due {
			l.skip(&due[i])
		}
		left, err := scanFirst(looking, k.options, l.open, l.take)
		if ctx.Err() != nil {
			return
		}
		maps.Copy(failed, left)
		for i := range due {
			l.judge(k, &due[i], failed, err)
		}
	}
}

// skip leaves out the logs of a topic that are empty, or begin where they did at the last
// look.
func (l *owners) skip(t *kept) {
	for _, at := range t.parts() {
		b, known := l.open[at]
		start, own := t.sharing.own[at.Partition]
		switch {
		case !known:
		case own && t.sharing.id == t.id && start == b[0]:
			l.own[t.name][at.Partition] = start
			delete(l.open, at)
		case b[0] >= b[1]:
			delete(l.open, at)
		}
	}
}

// take takes the first record of a partition, and wants no other.
func (l *owners) take(at offsets.TopicPartition, r *kgo.Record) (more bool) {
	l.known(at, ownedBy(l.want[at.Topic], r))
	return false
}

// known notes whose the first record of a partition is: err is that of another owner.
func (l *owners) known(at offsets.TopicPartition, err error) {
	if b := l.open[at]; err == nil {
		l.own[at.Topic][at.Partition] = b[0]
	} else if f, found := l.other[at.Topic]; !found || at.Partition < f.partition {
		l.other[at.Topic] = foreign{at.Partition, err}
	}
	delete(l.open, at)
}

// judge passes on what was found in a topic. failed has the partitions that were not read;
// err is why the whole look ended early.
func (l *owners) judge(k *keeper, t *kept, failed map[offsets.TopicPartition]error, err error) {
	var unread error
	for _, at := range t.parts() {
		why := failed[at]
		if _, open := l.open[at]; open {
			why = cmp.Or(why, err)
		}
		if errors.Is(why, logs.ErrUnreadable) { // it is nobody's, as far as anybody can tell
			l.known(at, nil)
			continue
		}
		unread = cmp.Or(unread, why)
	}
	t.sharing.own = l.own[t.name]
	if f, found := l.other[t.name]; found {
		k.looked(t, fmt.Sprintf("partition %d has copies of others, and each owner deletes those that it does not need: give it another name in LAYOVER_RUNS_TOPIC (%v)", f.partition, f.err), nil)
		return
	}
	k.looked(t, "", unread)
}

// ownedBy returns the error of a copy or a directory of another owner or partition.
func ownedBy(owner runs.Owner, r *kgo.Record) error {
	id := runs.Identity{Owner: owner, Partition: r.Partition}
	_, _, err := runs.ReadCopy(id, r.Key, r.Value, r.Headers)
	if errors.Is(err, runs.ErrNoCopy) {
		_, err = runs.ReadDirectory(id, r.Key, r.Value, r.Headers)
	}
	if errors.Is(err, runs.ErrForeign) {
		return err
	}
	return nil
}
