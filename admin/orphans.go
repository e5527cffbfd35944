package admin

import "fmt"

// hasOrphans reports whether copies may wait in partitions that the ingress topic does not have, as one that was made
// again with fewer. Of a topic that is gone its own finding says it.
func (t runsHealth) hasOrphans() bool { return t.Orphans.Ingress > 0 && t.Orphans.Records > 0 }

// orphansText describes copies that nobody is assigned, and the remedy.
func (t runsHealth) orphansText() string {
	o := &t.Orphans
	most, others := o.Partitions[len(o.Partitions)-1]+1, ""
	if !o.Asked {
		others = " (of others nobody tells yet)"
	}
	return fmt.Sprintf("The runs topic %s has %s in %s%s, and its ingress topic %s has %s. So no instance is assigned what waits there, and it is not "+
		"delivered, due or not. Nothing is lost, other partitions are not affected, and no count has these copies. Those that were delivered while the "+
		"topic was gone are among them: layover runs show tells what waits. Give the ingress topic the partitions "+
		"that it had, and they are delivered: %s--alter --topic %s --partitions %d",
		t.Name, upTo(o.Records), partitionsOf(o.Partitions), others, t.Ingress, counted(int(o.Ingress), "partition", "partitions"), kafkaTopics, t.Ingress, most)
}

// upTo is a number of copies that is no more than that.
func upTo(n int64) string { return "up to " + countedLong(n, "copy", "copies") }

// copiesOf describes what waits in the runs topic of an ingress topic that does not exist, or may not be read, and what
// becomes of it; "" where nothing does.
func (v *view) copiesOf(ingress, until string) string {
	for i := range v.Runs.Topics {
		t := &v.Runs.Topics[i]
		if t.Ingress != ingress || !t.mayExist() {
			continue
		}
		holds, o := "may have copies", &t.Orphans
		n := max(o.Records, v.total.inRuns.byTopic[ingress].records) // lanes know what was moved since brokers were asked
		switch known := o.Asked && o.Ingress == 0; {
		case known && n == 0:
			return ""
		case known:
			holds = "has " + upTo(n)
		}
		return fmt.Sprintf(" Its runs topic %s %s. They are delivered at their deadlines as long as no rejoin or restart comes between, "+
			"and after that they wait until the topic %s.", t.Name, holds, until)
	}
	return ""
}

// mayExist reports whether the topic exists, or nobody knows: brokers have not said, or may not tell.
func (t *RunsTopic) mayExist() bool { return t.There || t.State == "unknown" || t.State == "forbidden" }
