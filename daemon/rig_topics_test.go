package daemon

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ends are the high watermarks of a topic's partitions, nil for no topic.
func (r *rig) ends(topic string) (out []int64) {
	for _, p := range r.Broker.PartitionInfos(topic) {
		out = append(out, p.HighWatermark)
	}
	return out
}

// read reads all that a topic holds.
func (r *rig) read(topic string) (out []arrival) {
	info := r.Broker.TopicInfo(topic)
	if info == nil {
		return nil
	}
	for _, k := range r.Records(topic, kgo.Dialer(r.unhurried)) { // over no lines on which faults may lie
		out = append(out, arrival{topic: info.TopicID, Record: kafkatest.Arrived(k)})
	}
	return out
}

// unhurried makes connections on which a request takes a moment. A client that asks a
// fenced leader again and again, until it has heard of another one, would hold
// virtual time up for ever.
func (r *rig) unhurried(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := r.Net.DialContext(ctx, network, addr)
	return unhurriedConn{c}, err
}

type unhurriedConn struct{ net.Conn }

func (c unhurriedConn) Write(b []byte) (int, error) {
	time.Sleep(time.Millisecond)
	return c.Conn.Write(b)
}

// deleteTarget deletes a target, after what it holds was read: nobody writes to it
// meanwhile.
func (r *rig) deleteTarget(topic string) {
	block := r.Refuse(kmsg.Produce, kfake.Fault{Topic: topic, Err: kerr.NotLeaderForPartition})
	defer block.Remove()
	time.Sleep(time.Millisecond) // what the broker has taken is in the log
	held := r.read(topic)
	if ends := r.ends(topic); ends != nil && len(held) != int(sum(ends)) {
		r.fault("%d records of %s were read, and it holds %d", len(held), topic, sum(ends))
	}
	r.archive = append(r.archive, held...)
	if err := r.Broker.DeleteTopic(topic); err != nil {
		r.note("deleting %s: %v", topic, err)
		return
	}
	r.note("%s is deleted, with %d records", topic, len(held))
}

func sum(ns []int64) (n int64) {
	for _, x := range ns {
		n += x
	}
	return n
}

// create makes a topic, unless it is there.
func (r *rig) create(topic string, partitions int32) {
	configs := map[string]string{}
	if topic == small {
		configs["max.message.bytes"] = "2000"
	}
	if err := r.Broker.CreateTopic(topic, partitions, configs); err == nil {
		r.note("%s is made, with %d partitions", topic, partitions)
	}
}

// deleteIngress deletes the ingress topic, which excuses all that was sent to it.
func (r *rig) deleteIngress() {
	if err := r.Broker.DeleteTopic(ingress); err != nil {
		r.note("deleting %s: %v", ingress, err)
		return
	}
	r.ledger.Deleted(ingress)
	r.recreated = true
	r.note("%s is deleted", ingress)
}

// recreateIngress makes the ingress topic again.
func (r *rig) recreateIngress(partitions int32) {
	r.ledger.Deleted(ingress) // what was sent meanwhile found no topic, or will fail
	r.create(ingress, partitions)
	for _, c := range []*kgo.Client{r.Client, r.shaky} {
		c.PurgeTopicsFromClient(ingress)
	}
}

// deleteRecords deletes a part of an ingress partition: a share of what lies below the
// committed offset, or of what lies above it.
func (r *rig) deleteRecords(partition uint32, above bool, share float64) {
	infos := r.Broker.PartitionInfos(ingress)
	if len(infos) == 0 {
		return
	}
	p := infos[partition%uint32(len(infos))]
	low := p.LogStartOffset
	if g := r.Broker.GroupInfo(group); g != nil {
		low = max(low, g.Commits[ingress][p.Partition].Offset)
	}
	to := p.LogStartOffset + int64(share*float64(low-p.LogStartOffset))
	if above {
		to = low + int64(share*float64(p.HighWatermark-low))
	}
	if to <= p.LogStartOffset || to > p.HighWatermark {
		return
	}
	r.ledger.DeletedRange(ingress, p.Partition, low, to) // what is below low was delivered, or the commit is wrong
	if err := r.Broker.DeleteRecords(ingress, p.Partition, to); err != nil {
		r.note("deleting records: %v", err)
		return
	}
	r.sum.deleted++
	r.upset()
	r.gone[p.Partition] = max(r.gone[p.Partition], to)
	r.note("%s/%d is deleted below %d; it is committed at %d and ends at %d", ingress, p.Partition, to, low, p.HighWatermark)
}

// lengthen makes the ingress topic longer, if it is not long already.
func (r *rig) lengthen(which uint32) {
	if int(which%8) >= len(r.ends(ingress)) {
		r.addPartitions(1)
	}
}

// addPartitions makes the ingress topic longer.
func (r *rig) addPartitions(n int) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	resp, err := r.Admin().CreatePartitions(ctx, n, ingress)
	if err == nil {
		err = resp.Error()
	}
	r.note("%d partitions are added to %s: %v", n, ingress, err)
}

// move gives every partition another leader, and the group another coordinator.
func (r *rig) move() {
	r.trouble(0)
	r.note("leaders and coordinators move")
	r.Broker.ShufflePartitionLeaders()
	r.Broker.RehashCoordinators()
}

// evict throws a member out of the group, as an administrator can. It takes one that has partitions if there is one.
func (r *rig) evict(which uint32) {
	g := r.Broker.GroupInfo(group)
	if g == nil || len(g.Members) == 0 {
		return
	}
	members := slices.DeleteFunc(slices.Clone(g.Members), func(m kfake.GroupMember) bool { return m.NumAssigned() == 0 })
	if len(members) == 0 {
		members = g.Members
	}
	r.upset()
	r.note("a member is thrown out: %v", r.throwOut(members[which%uint32(len(members))]))
}

// drained says what still stands between the group and the end of the ingress topic, ""
// for nothing.
func (r *rig) drained() string {
	g := r.Broker.GroupInfo(group)
	if g == nil {
		return "there is no group"
	}
	var open []string
	for p, end := range r.ends(ingress) {
		if c, ok := g.Commits[ingress][int32(p)]; !ok || c.Offset != end {
			open = append(open, fmt.Sprintf("partition %d is committed at %d of %d", p, c.Offset, end))
		}
	}
	for _, in := range r.instances {
		if in == nil {
			continue
		}
		s := in.status()
		parked, counters := s["parked"].(map[string]any), s["counters"].(map[string]any)
		if records, _ := parked["records"].(float64); records != 0 || // null: it has no partitions
			counters["unaccounted"].(float64) != 0 {
			open = append(open, fmt.Sprintf("the instance at %s has %v parked, %v unaccounted for", in.http, parked["records"], counters["unaccounted"]))
		}
	}
	if len(open) > 0 {
		open = append(open, fmt.Sprintf("group %s in generation %d", g.State, g.Epoch))
	}
	for _, m := range g.Members {
		if len(open) > 0 {
			open = append(open, fmt.Sprintf("%s has %v", m.MemberID, m.Assignment))
		}
	}
	return strings.Join(open, "\n")
}
