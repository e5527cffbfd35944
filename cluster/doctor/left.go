package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"layover/cluster"
	"layover/offsets"
)

// left are the topics that the group has offsets of, and the settings do not have.
type left struct {
	err    error
	topics []leftTopic // by name; those that a member reads are not among them
}

// leftTopic is one of them.
type leftTopic struct {
	name    string
	waiting int64    // offsets from the committed ones to the ends
	moved   int64    // offsets in its runs topic
	err     error    // why some are not known
	own     []string // topics of Layover's own that are there, to be deleted where it is given up
}

// askLeft asks for all offsets of the group, and for the logs of topics that are in no settings any more. Without a
// coordinator there are none: to ask for one would make Kafka's internal topic.
func (a *asking) askLeft(ctx context.Context) {
	f := a.facts
	if f.left.err = cmp.Or(f.group.err, f.group.membersErr); f.left.err != nil || f.group.at < 0 {
		return
	}
	committed, err := a.committed(ctx)
	if f.left.err = err; err != nil {
		return
	}
	moved, told, err := a.movedOf(ctx, committed)
	if f.left.err = err; err != nil {
		return
	}
	parts := slices.Collect(maps.Keys(moved))
	for tp := range committed {
		parts = append(append(parts, tp), f.ownOf(tp)...)
	}
	bounds := cluster.BoundsOf(ctx, a.Client, parts)
	topics := make(map[string]*leftTopic)
	for tp, from := range committed {
		t := topics[tp.Topic]
		if t == nil {
			t = &leftTopic{name: tp.Topic}
			topics[tp.Topic] = t
		}
		t.add(&t.waiting, bounds[tp], from)
		for _, own := range f.ownOf(tp) {
			if bounds[own].Err == nil && !slices.Contains(t.own, own.Topic) {
				t.own = append(t.own, own.Topic)
			}
		}
	}
	for at, ingress := range moved {
		t := topics[ingress]
		if t.add(&t.moved, bounds[at], 0); bounds[at].Err == nil && !told[at.Topic] {
			t.err = cmp.Or(t.err, errUntold)
		}
	}
	for _, t := range topics {
		f.left.topics = append(f.left.topics, *t)
	}
	slices.SortFunc(f.left.topics, func(a, b leftTopic) int { return cmp.Compare(a.name, b.name) })
}

// errUntold is that the broker of one answer does not know a topic, and others do: it may have just started.
var errUntold = errors.New("brokers do not agree whether its runs topic exists")

// movedOf returns the runs partitions of topics with committed offsets, and the ingress topic of each. A topic that was
// made again with fewer partitions has more of these than of its own. told has the runs topics whose partitions are all
// known.
func (a *asking) movedOf(ctx context.Context, committed map[offsets.TopicPartition]int64) (moved map[offsets.TopicPartition]string, told map[string]bool, err error) {
	ingress := make(map[string]string)
	moved, told = make(map[offsets.TopicPartition]string), make(map[string]bool)
	for tp := range committed {
		at := a.facts.runsOf(tp)
		moved[at], ingress[at.Topic] = tp.Topic, tp.Topic
	}
	if len(moved) == 0 {
		return nil, nil, nil
	}
	resp, err := cluster.Metadata(ctx, bounded{a.Client}, slices.Collect(maps.Keys(ingress)), askTimeout, false)
	if err != nil {
		return nil, nil, err
	}
	for name, t := range cluster.ByName(resp) {
		of, asked := ingress[name]
		if told[name] = len(t.Partitions) > 0; !asked {
			continue
		}
		for i := range t.Partitions {
			moved[offsets.TopicPartition{Topic: name, Partition: t.Partitions[i].Partition}] = of
		}
	}
	return moved, told, nil
}

// runsOf returns the runs partition of an ingress partition.
func (f *facts) runsOf(tp offsets.TopicPartition) offsets.TopicPartition {
	return offsets.TopicPartition{Topic: f.settings.RunsName(tp.Topic), Partition: tp.Partition}
}

// ownOf returns the partitions of Layover's own topics that belong to an ingress partition and to this group alone.
func (f *facts) ownOf(tp offsets.TopicPartition) []offsets.TopicPartition {
	own := []offsets.TopicPartition{f.runsOf(tp)}
	if !f.settings.JournalShared() {
		own = append(own, offsets.TopicPartition{Topic: f.settings.JournalName(tp.Topic), Partition: tp.Partition})
	}
	return own
}

// add counts what a log has from an offset on. A topic that is gone has nothing.
func (t *leftTopic) add(n *int64, b cluster.Bounds, from int64) {
	if b.Err == nil {
		*n += max(b.End-max(from, b.Start), 0)
	} else if !cluster.IsMissing(b.Err) && !errors.Is(b.Err, cluster.ErrMissing) {
		t.err = cmp.Or(t.err, b.Err)
	}
}

// committed asks for the offsets of the group in topics that neither the settings have nor a member reads.
func (a *asking) committed(ctx context.Context) (map[offsets.TopicPartition]int64, error) {
	f := a.facts
	req := kmsg.NewPtrOffsetFetchRequest()
	group := kmsg.NewOffsetFetchRequestGroup() // without a list of topics it is about all
	group.Group = f.settings.GroupID
	req.Groups = append(req.Groups, group)
	resp, err := req.RequestWith(ctx, bounded{a.Client})
	switch {
	case err != nil:
		return nil, err
	case len(resp.Groups) != 1:
		return nil, errNoValue
	}
	if err := kerr.ErrorForCode(resp.Groups[0].ErrorCode); err != nil && err != kerr.GroupIDNotFound {
		return nil, cluster.Allow(err, "Read on group "+f.settings.GroupID)
	}
	out := make(map[offsets.TopicPartition]int64)
	for _, t := range resp.Groups[0].Topics {
		name := t.Topic
		if name == "" { // answers of version 10 have ids alone
			if name, err = cluster.NameOf(ctx, bounded{a.Client}, t.TopicID); err != nil {
				return nil, err
			}
		}
		if name == "" || f.reads(name) { // it is gone, or none is left
			continue
		}
		for _, p := range t.Partitions {
			if p.ErrorCode == 0 && p.Offset >= 0 {
				out[offsets.TopicPartition{Topic: name, Partition: p.Partition}] = p.Offset
			}
		}
	}
	return out, nil
}

// reads reports whether a topic is in the settings, or in those of a member.
func (f *facts) reads(name string) bool {
	return slices.Contains(f.settings.IngressTopics, name) ||
		slices.ContainsFunc(f.group.members, func(m member) bool { return slices.Contains(m.topics, name) })
}

// leftTopics finds what nobody delivers: a topic was taken out of the settings while records waited, or one of them has
// lost partitions.
func leftTopics(f *facts) verdict {
	var v verdicts
	if f.left.err != nil {
		v = append(v, f.unknownBy(f.left.err, "offsets of group "+clean(f.settings.GroupID)))
	} else {
		v = append(v, okay("the group has no offsets of another topic with records that wait"))
	}
	f.findOrphans(&v)
	for _, t := range f.left.topics {
		name, others := clean(t.name), ""
		if t.err != nil {
			others = ", and there may be more: " + clean(t.err.Error())
		}
		switch {
		case t.waiting > 0 || t.moved > 0:
			v.add(Warn, f.giveUp(&t), "%s is not in LAYOVER_INGRESS_TOPICS any more, and the group has not delivered all of it: up to %s there, up to %d in its runs topic%s",
				name, count(int(t.waiting), "record"), t.moved, others)
		case t.err != nil:
			v.add(Unknown, "", "whether records wait in %s, which is not in LAYOVER_INGRESS_TOPICS any more: %s", name, clean(t.err.Error()))
		}
	}
	return v.worst()
}

// giveUp is what to do about records that wait in a topic that nobody reads. One that is put back later would be read
// from its start, beside the copies that are left in its runs topic.
func (f *facts) giveUp(t *leftTopic) string {
	group, name := quoted(f.settings.GroupID), quoted(t.name)
	fix := fmt.Sprintf("put %s back into LAYOVER_INGRESS_TOPICS until nothing waits there. What its runs topic has is shown by\n"+
		"LAYOVER_INGRESS_TOPICS=%s LAYOVER_GROUP_ID=%s layover runs show\n"+
		"Or give up what waits, and do not put it back after that, as it would be read from its start:\n"+
		"%s --delete-offsets --group %s --topic %s", clean(t.name), name, group, f.tool("kafka-consumer-groups.sh"), group, name)
	for _, own := range t.own {
		fix += fmt.Sprintf("\n%s --delete --topic %s", f.tool("kafka-topics.sh"), quoted(own))
	}
	return fix
}
