package doctor

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"layover/cluster"
)

// described are the settings of topics that are judged.
var described = []string{
	"cleanup.policy", "retention.ms", "retention.bytes", "max.message.bytes", "min.insync.replicas",
	"message.timestamp.type", "message.timestamp.before.max.ms", "segment.bytes",
}

// askConfigs asks for the configurations of all topics that are there, and of those that
// may be.
func (a *asking) askConfigs(ctx context.Context) {
	f := a.facts
	f.configs = make(map[string]values)
	req := kmsg.NewPtrDescribeConfigsRequest()
	for _, u := range uses(f.settings) {
		f.configs[u.topic] = values{err: errNotAsked}
		if cluster.IsMissing(f.topics[u.topic].err) {
			continue
		}
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName, r.ConfigNames = kmsg.ConfigResourceTypeTopic, u.topic, described
		req.Resources = append(req.Resources, r)
	}
	if len(req.Resources) == 0 {
		return
	}
	resp, err := req.RequestWith(ctx, bounded{a.Client})
	if err != nil {
		for i := range req.Resources {
			f.configs[req.Resources[i].ResourceName] = values{err: err}
		}
		return
	}
	for _, r := range resp.Resources {
		f.configs[r.ResourceName] = valuesOf(&r, "DescribeConfigs on topic "+r.ResourceName)
	}
}

// valuesOf takes a configuration, or the error with the ACL that it lacks.
func valuesOf(r *kmsg.DescribeConfigsResponseResource, acl string) values {
	v := values{of: make(map[string]string), err: denial(r.ErrorCode, r.ErrorMessage, acl)}
	for _, c := range r.Configs {
		if c.Value != nil { // an empty value has a meaning, a missing one has none
			v.of[c.Name] = *c.Value
		}
	}
	return v
}

// askCreation asks whether missing journals and runs topics could be made, as Layover would
// make them. It is a request that the brokers only validate.
func (a *asking) askCreation(ctx context.Context) {
	f := a.facts
	f.creatable = make(map[string]error)
	req := kmsg.NewPtrCreateTopicsRequest()
	req.ValidateOnly = true
	req.TimeoutMillis = int32(askTimeout.Milliseconds())
	for _, u := range uses(f.settings) {
		if t := f.topics[u.topic]; u.role != journalTopic && u.role != runsTopic || t.err == nil {
			continue
		}
		rt := kmsg.NewCreateTopicsRequestTopic()
		rt.Topic, rt.NumPartitions, rt.ReplicationFactor = u.topic, 1, -1
		if ingress := f.topics[u.of].partitions; len(ingress) > 0 {
			rt.NumPartitions, rt.ReplicationFactor = int32(len(ingress)), int16(ingress[0].replicas)
		}
		req.Topics = append(req.Topics, rt)
		f.creatable[u.topic] = errNotAsked
	}
	if len(req.Topics) == 0 {
		return
	}
	resp, err := req.RequestWith(ctx, bounded{a.Client})
	if err != nil {
		for name := range f.creatable {
			f.creatable[name] = err
		}
		return
	}
	for _, t := range resp.Topics {
		f.creatable[t.Topic] = denial(t.ErrorCode, t.ErrorMessage, "Create on topic "+t.Topic)
	}
}

// describeGroup asks one broker for the group, whether it is the coordinator or not.
func (a *asking) describeGroup(ctx context.Context, broker int32) (*kmsg.DescribeGroupsResponseGroup, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups, req.IncludeAuthorizedOperations = []string{a.Settings.GroupID}, true
	resp, err := bounded{a.Client.Broker(int(broker))}.Request(ctx, req)
	if err != nil {
		return nil, err
	}
	if answer, ok := resp.(*kmsg.DescribeGroupsResponse); ok && len(answer.Groups) > 0 {
		return &answer.Groups[0], nil
	}
	return nil, nil
}

// groupOf unites what the brokers say of the group: its coordinator knows it. Where each
// of them says that it is not the coordinator, the group has never been.
func groupOf(brokers []broker, answers []*kmsg.DescribeGroupsResponseGroup) group {
	g := group{none: true, at: -1}
	for i, answer := range answers {
		switch {
		case brokers[i].err != nil:
			g.err, g.none = brokers[i].err, false
		case answer == nil:
			g.err, g.none = errNoValue, false
		default:
			if found, ok := groupFrom(answer); ok {
				found.at = brokers[i].id
				return found
			}
		}
	}
	return g
}

// groupFrom takes a broker's answer; false: it is not the coordinator.
func groupFrom(answer *kmsg.DescribeGroupsResponseGroup) (group, bool) {
	switch err := kerr.ErrorForCode(answer.ErrorCode); err {
	case nil:
	case kerr.NotCoordinator, kerr.CoordinatorNotAvailable:
		return group{}, false
	case kerr.GroupIDNotFound:
		return group{none: true, rights: rightsOf(answer.AuthorizedOperations)}, true
	default:
		return group{err: cluster.Allow(err, "Read on group "+answer.Group)}, true
	}
	g := group{none: len(answer.Members) == 0, rights: rightsOf(answer.AuthorizedOperations), kind: answer.ProtocolType, protocol: answer.Protocol}
	for i := range answer.Members {
		m := &answer.Members[i]
		one := member{client: m.ClientID, address: m.ClientHost}
		var told kmsg.ConsumerMemberMetadata
		if len(m.ProtocolMetadata) > 0 && told.ReadFrom(m.ProtocolMetadata) == nil {
			one.topics = slices.Sorted(slices.Values(told.Topics))
		}
		g.members = append(g.members, one)
	}
	return g, true
}

// askGroup asks what the first question about the group left open.
func (a *asking) askGroup(ctx context.Context) {
	g := &a.facts.group
	if g.err == nil && g.none {
		a.askNewGroup(ctx)
	}
	if g.err == nil && !g.rights.known() {
		g.readable = a.askReadable(ctx)
	}
}

// newProtocol is the type of a group that Layover's members cannot be in.
const newProtocol = "consumer (KIP-848)"

// askNewGroup asks for members by the newer protocol (KIP-848). Groups of it are none to
// the other question. A coordinator that does not know the request has no such groups.
// One that hides them, as topics of theirs may not be described, has one.
func (a *asking) askNewGroup(ctx context.Context) {
	g := &a.facts.group
	if g.at < 0 {
		return
	}
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups = []string{a.Settings.GroupID}
	resp, err := bounded{a.Client.Broker(int(g.at))}.Request(ctx, req)
	if err != nil {
		if !strings.Contains(err.Error(), "broker is too old") {
			g.membersErr = err
		}
		return
	}
	answer, ok := resp.(*kmsg.ConsumerGroupDescribeResponse)
	if !ok || len(answer.Groups) == 0 {
		g.membersErr = errNoValue
		return
	}
	switch err := kerr.ErrorForCode(answer.Groups[0].ErrorCode); err {
	case nil:
	case kerr.GroupIDNotFound, kerr.UnsupportedVersion:
		return
	case kerr.TopicAuthorizationFailed:
		g.kind, g.membersErr = newProtocol, err
		return
	default:
		g.membersErr = err
		return
	}
	for _, m := range answer.Groups[0].Members {
		g.kind, g.none = newProtocol, false
		g.members = append(g.members, member{client: m.ClientID, address: m.ClientHost, topics: slices.Sorted(slices.Values(m.SubscribedTopics))})
	}
}

// askReadable asks whether the group may be read, by a heartbeat of nobody. Where Read is
// missing, the heartbeat is refused before anything else. Otherwise it changes nothing.
func (a *asking) askReadable(ctx context.Context) error {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.MemberID, req.Generation = a.Settings.GroupID, "layover-doctor", -1
	resp, err := bounded{a.Client.Broker(int(a.facts.reached()))}.Request(ctx, req)
	if err != nil {
		return err
	}
	if answer, ok := resp.(*kmsg.HeartbeatResponse); ok && cluster.Denied(kerr.ErrorForCode(answer.ErrorCode)) {
		return cluster.Allow(kerr.ErrorForCode(answer.ErrorCode), "Read on group "+a.Settings.GroupID)
	}
	return nil
}

// askBroker asks one broker for its settings of groups.
func (a *asking) askBroker(ctx context.Context) {
	f := a.facts
	req := kmsg.NewPtrDescribeConfigsRequest()
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName, r.ConfigNames = kmsg.ConfigResourceTypeBroker, strconv.Itoa(int(f.reached())), []string{offsetsRetention, leastSession, mostSession}
	req.Resources = append(req.Resources, r)
	resp, err := req.RequestWith(ctx, bounded{a.Client})
	if f.ofGroups = (values{err: err}); err != nil {
		return
	}
	for i := range resp.Resources {
		f.ofGroups = valuesOf(&resp.Resources[i], "DescribeConfigs on the cluster")
	}
}

// askClock asks the controller for its clock. The leader of the metadata log reports the
// present as the time at which it itself was last caught up.
func (a *asking) askClock(ctx context.Context) {
	req := kmsg.NewPtrDescribeQuorumRequest()
	t := kmsg.NewDescribeQuorumRequestTopic()
	t.Topic, t.Partitions = "__cluster_metadata", []kmsg.DescribeQuorumRequestTopicPartition{kmsg.NewDescribeQuorumRequestTopicPartition()}
	req.Topics = append(req.Topics, t)
	sent := time.Now()
	resp, err := req.RequestWith(ctx, bounded{a.Client})
	took := time.Since(sent)
	c := &a.facts.clock
	if c.err = err; err != nil {
		return
	}
	if c.err = denial(resp.ErrorCode, resp.ErrorMessage, "Describe on the cluster"); c.err != nil {
		return
	}
	c.err = errNoValue
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			for _, r := range slices.Concat(p.CurrentVoters, p.Observers) {
				if r.ReplicaID == p.LeaderID && r.LastCaughtUpTimestamp > 0 {
					c.err, c.unsure = nil, took/2
					c.ahead = time.UnixMilli(r.LastCaughtUpTimestamp).Sub(sent.Add(took / 2))
				}
			}
		}
	}
}
