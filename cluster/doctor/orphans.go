package doctor

import (
	"cmp"
	"context"
	"fmt"

	"layover/cluster"
	"layover/delay"
	"layover/offsets"
)

// orphans are the partitions of a runs topic that its ingress topic does not have. Nobody is assigned them.
type orphans struct {
	ingress string
	has     int   // partitions of the ingress topic; 0: it does not exist
	records int64 // in the orphans. Copies that wait are at most so many.
	last    int32 // the last of them with a record
	err     error // why some are not known
}

// askOrphans asks what is in partitions of runs topics that their ingress topics do not have. There seldom are any.
func (a *asking) askOrphans(ctx context.Context) {
	f := a.facts
	f.orphans = make(map[string]*orphans)
	var parts []offsets.TopicPartition
	for _, u := range usesAs(f.settings, runsTopic, formerRuns) {
		in := f.topics[u.of]
		if in.err != nil && !cluster.IsMissing(in.err) {
			continue
		}
		for n := len(in.partitions); n < len(f.topics[u.topic].partitions); n++ {
			parts = append(parts, offsets.TopicPartition{Topic: u.topic, Partition: int32(n)})
			f.orphans[u.topic] = &orphans{ingress: u.of, has: len(in.partitions)}
		}
	}
	if len(parts) == 0 {
		return
	}
	bounds := cluster.BoundsOf(ctx, a.Client, parts)
	for _, at := range parts {
		o, b := f.orphans[at.Topic], bounds[at]
		o.err = cmp.Or(o.err, b.Err)
		if n := b.End - b.Start; b.Err == nil && n > 0 {
			o.records, o.last = o.records+n, max(o.last, at.Partition)
		}
	}
}

// findOrphans adds what nobody delivers, as an ingress topic was made again with fewer partitions. One that is gone is
// another check's.
func (f *facts) findOrphans(v *verdicts) {
	for _, u := range usesAs(f.settings, runsTopic, formerRuns) {
		o := f.orphans[u.topic]
		switch {
		case o == nil || o.has == 0:
		case o.records > 0:
			others := ""
			if o.err != nil {
				others = ", and of others nobody tells"
			}
			v.add(Warn, fmt.Sprintf("give the ingress topic the partitions that it had, and they are delivered:\n%s --alter --topic %s --partitions %d",
				f.tool("kafka-topics.sh"), o.ingress, o.last+1),
				"%s has up to %d copies in partitions that its ingress topic %s does not have, as that has %s: no instance is assigned them%s",
				u.topic, o.records, o.ingress, count(o.has, "partition"), others)
		case o.err != nil:
			v.add(Unknown, "", "whether copies wait in %s, which has more partitions than its ingress topic %s: %s", u.topic, o.ingress, clean(o.err.Error()))
		}
	}
}

// copiesOf says what may wait in the runs topic of an ingress topic that does not exist; "" where nothing does.
func (f *facts) copiesOf(ingress string) string {
	runs := f.settings.RunsName(ingress)
	t, o := f.topics[runs], f.orphans[runs]
	switch {
	case !delay.IsTopicName(runs), cluster.IsMissing(t.err), o != nil && o.err == nil && o.records == 0:
		return ""
	case o != nil && o.records > 0:
		return fmt.Sprintf("%s has up to %d copies", runs, o.records)
	}
	return runs + " may have copies"
}
