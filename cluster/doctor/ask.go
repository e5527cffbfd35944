package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"layover/cluster"
	"layover/config"
)

// Bounds of asking.
const (
	askTimeout     = 5 * time.Second // one question
	askAgain       = time.Second     // for a topic that is missing
	resolveTimeout = 3 * time.Second // one name
	atOnce         = 16              // brokers that are asked at the same time
	mostTries      = 3               // of a question, where an address is not reached
)

// asking is one run. Each question notes its answer or its error in facts.
type asking struct {
	Config
	facts *facts
}

// ask asks everything, the questions that depend on nothing first.
func ask(ctx context.Context, c Config) *facts {
	f := &facts{settings: c.Settings, warnings: c.Warnings, now: time.Now(), err: errNotAsked, ofGroups: values{err: errNotAsked}, left: left{err: errNotAsked},
		group: group{err: errNotAsked}, clock: clock{err: errNotAsked}, instanceNo: errNotAsked}
	if limit, ok := config.MemoryLimit(); ok {
		f.limit = limit
	}
	a := &asking{Config: c, facts: f}
	if a.Resolve == nil {
		a.Resolve = net.DefaultResolver.LookupHost
	}
	a.askInstance(ctx)
	f.seeds = a.resolve(ctx, c.Settings.Kafka.Brokers)
	if resolved(f.seeds) {
		a.askTopics(ctx)
		if f.err == nil && a.askEachBroker(ctx) {
			a.askMore(ctx)
		}
	}
	f.status = c.Connection.Status()
	return f
}

// resolved reports whether some of the names can be connected to.
func resolved(hosts []host) bool {
	return slices.ContainsFunc(hosts, func(h host) bool { return h.err == nil })
}

// askMore asks the questions that need nothing but a broker that answers.
func (a *asking) askMore(ctx context.Context) {
	for _, question := range []func(context.Context){a.askConfigs, a.askCreation, a.askGroup, a.askLeft, a.askOrphans, a.askBroker, a.askClock} {
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		question(ctx)
		cancel()
	}
}

func (a *asking) askInstance(ctx context.Context) {
	if a.Instance == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	a.facts.instance, a.facts.instanceNo = a.Instance(ctx)
	if a.facts.instance == nil && a.facts.instanceNo == nil {
		a.facts.instanceNo = errNotAsked
	}
}

// resolve looks up the names of all addresses at the same time. Addresses without a name
// are not asked about.
func (a *asking) resolve(ctx context.Context, addresses []string) []host {
	hosts := make([]host, len(addresses))
	each(len(addresses), func(i int) {
		name, _, err := net.SplitHostPort(addresses[i])
		hosts[i] = host{address: addresses[i], err: err}
		if err != nil {
			return
		}
		if net.ParseIP(name) != nil {
			hosts[i].ips = []string{name}
			return
		}
		ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
		defer cancel()
		hosts[i].ips, hosts[i].err = a.Resolve(ctx, name)
		if hosts[i].err == nil && len(hosts[i].ips) == 0 {
			hosts[i].err = errors.New("it has no address")
		}
	})
	return hosts
}

// each calls f for each of n, some at the same time, and returns after the last.
func each(n int, f func(i int)) {
	var wg sync.WaitGroup
	room := make(chan struct{}, atOnce)
	for i := range n {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			f(i)
		})
	}
	wg.Wait()
}

// bounded asks, and waits no longer than the context. The client itself waits ten seconds
// and more for the first words of a broker that takes connections and says nothing.
type bounded struct{ kmsg.Requestor }

// Request implements kmsg.Requestor. A request that is waited for no more ends with the
// client, or with its own time.
func (b bounded) Request(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	type answer struct {
		resp kmsg.Response
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		resp, err := b.Requestor.Request(ctx, req)
		for tries := 1; notReached(err) && tries < mostTries && ctx.Err() == nil; tries++ {
			resp, err = b.Requestor.Request(ctx, req)
		}
		answers <- answer{resp, err}
	}()
	select {
	case a := <-answers:
		return a.resp, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// notReached reports whether an address was not reached. No login was made there, and the client asks another one next.
func notReached(err error) bool {
	failed, ok := errors.AsType[*net.OpError](err)
	return ok && failed.Op == "dial"
}

// askTopics asks which brokers there are, and for the configured topics with the rights
// to them. A missing one is asked for again, as the broker may not have heard of a new
// topic yet. Then all names are asked for.
func (a *asking) askTopics(ctx context.Context) {
	f := a.facts
	resp, err := cluster.Metadata(ctx, bounded{a.Client}, f.names(), askTimeout, true)
	if f.err = err; err != nil {
		f.explain = a.Connection.Explain(err).Error()
		return
	}
	for _, b := range resp.Brokers {
		f.brokers = append(f.brokers, broker{id: b.NodeID, host: host{address: net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))}})
	}
	slices.SortFunc(f.brokers, func(a, b broker) int { return cmp.Compare(a.id, b.id) })
	f.take(resp)
	if !f.lacks() {
		return
	}
	select {
	case <-time.After(askAgain):
	case <-ctx.Done():
	}
	if resp, err := cluster.Metadata(ctx, bounded{a.Client}, f.names(), askTimeout, true); err == nil {
		f.take(resp)
	}
	if f.lacks() {
		a.askAllNames(ctx)
	}
}

// names are those of all topics that the settings name.
func (f *facts) names() (out []string) {
	for _, u := range uses(f.settings) {
		out = append(out, u.topic)
	}
	return out
}

// take notes the topics of an answer.
func (f *facts) take(resp *kmsg.MetadataResponse) {
	f.topics = make(map[string]topic)
	for name, t := range cluster.ByName(resp) {
		f.topics[name] = topicOf(&t)
	}
}

// lacks reports whether a topic is missing that Layover does not make.
func (f *facts) lacks() bool {
	return slices.ContainsFunc(uses(f.settings), func(u use) bool { return !u.role.madeByLayover() && cluster.IsMissing(f.topics[u.topic].err) })
}

func topicOf(t *kmsg.MetadataResponseTopic) topic {
	out := topic{err: kerr.ErrorForCode(t.ErrorCode), rights: rightsOf(t.AuthorizedOperations)}
	for _, p := range t.Partitions {
		out.partitions = append(out.partitions, partition{replicas: int32(len(p.Replicas)), inSync: int32(len(p.ISR)), leader: p.Leader})
	}
	if out.err == nil && len(out.partitions) == 0 {
		out.err = kerr.UnknownTopicOrPartition
	}
	return out
}

// askAllNames asks for every topic that this login may see, internal ones left out. It is
// only for the nearest name, so that an error leaves that out.
func (a *asking) askAllNames(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req := kmsg.NewPtrMetadataRequest() // without a list of topics it is about all
	resp, err := req.RequestWith(ctx, bounded{a.Client})
	if err != nil {
		return
	}
	for name, t := range cluster.ByName(resp) {
		if t.ErrorCode == 0 && !t.IsInternal && !strings.HasPrefix(name, "__") {
			a.facts.seen = append(a.facts.seen, name)
		}
	}
	slices.Sort(a.facts.seen)
}

// askEachBroker resolves the name that each broker advertises, and asks the broker there
// for the group. So one request reaches each of them and finds the coordinator. To ask for
// the coordinator itself would make Kafka's internal topic where it is not yet. It returns
// whether a broker can be reached.
func (a *asking) askEachBroker(ctx context.Context) bool {
	f := a.facts
	addresses := make([]string, len(f.brokers))
	for i, b := range f.brokers {
		addresses[i] = b.address
	}
	hosts := a.resolve(ctx, addresses)
	answers := make([]*kmsg.DescribeGroupsResponseGroup, len(f.brokers))
	each(len(f.brokers), func(i int) {
		b := &f.brokers[i]
		b.host = hosts[i]
		if b.host.err != nil {
			b.err = b.host.err
			return
		}
		answers[i], b.err = a.describeGroup(ctx, b.id)
	})
	reached := false
	for i := range f.brokers {
		b := &f.brokers[i]
		if b.err != nil && b.host.err == nil {
			b.err = a.Connection.Explain(b.err)
		}
		reached = reached || b.err == nil
	}
	if reached {
		f.group = groupOf(f.brokers, answers)
	}
	return reached
}

// reached returns a broker that answers; there is one.
func (f *facts) reached() int32 {
	for i := range f.brokers {
		if f.brokers[i].err == nil {
			return f.brokers[i].id
		}
	}
	return -1
}

// denial returns the error of a refused request with the right that it lacks.
func denial(code int16, message *string, acl string) error {
	err := kerr.ErrorForCode(code)
	if err != nil && message != nil && *message != "" && !cluster.Denied(err) {
		err = fmt.Errorf("%w: %s", err, clean(*message))
	}
	return cluster.Allow(err, acl)
}
