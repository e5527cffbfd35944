package journal

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"layover/cluster"
	"layover/cluster/needs"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The settings of topics that are judged by their names.
const (
	maxMessageBytes = "max.message.bytes"
	minInSync       = "min.insync.replicas"
	segmentBytes    = "segment.bytes"
)

// configure reads the configurations that are due: of topics, and of ingress topics that
// they follow, also for topics that are to be made.
func (k *keeper) configure(ctx context.Context) {
	now := time.Now()
	due := k.due(func(t *kept) bool {
		return (t.served() || t.wanting() && t.follows()) && !now.Before(t.configured)
	})
	if len(due) == 0 {
		return
	}
	req := kmsg.NewPtrDescribeConfigsRequest()
	ask := func(topic string, settings []string) {
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName, r.ConfigNames = kmsg.ConfigResourceTypeTopic, topic, settings
		req.Resources = append(req.Resources, r)
	}
	for i := range due {
		if t := &due[i]; t.state == usable {
			ask(t.name, t.kind.asked())
		}
		if t := &due[i]; t.follows() {
			ask(t.ingress, t.kind.alike)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	resp, err := req.RequestWith(ctx, k.client)
	codes, values := make(map[string]error), make(map[string]map[string]string)
	if err == nil {
		codes, values = configsOf(resp)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range due {
		t := k.find(due[i].kind, due[i].ingress)
		if t.follows() {
			t.liken(values[t.ingress], answerFor(err, codes, t.ingress))
		}
		if t.state != usable {
			continue
		}
		if err := answerFor(err, codes, t.name); err != nil {
			k.unconfigured(t, err)
		} else {
			k.configured(t, values[t.name])
		}
	}
}

// asked are the settings of a kind's topics that are read.
func (k *kind) asked() []string {
	names := []string{maxMessageBytes}
	for _, c := range k.config {
		names = append(names, c.Name)
	}
	return names
}

// configsOf returns the errors and values of an answer, by topic.
func configsOf(resp *kmsg.DescribeConfigsResponse) (codes map[string]error, values map[string]map[string]string) {
	codes, values = make(map[string]error), make(map[string]map[string]string)
	for _, r := range resp.Resources {
		codes[r.ResourceName] = describe(r.ErrorCode, r.ErrorMessage)
		values[r.ResourceName] = make(map[string]string)
		for _, c := range r.Configs {
			if c.Value != nil {
				values[r.ResourceName][c.Name] = *c.Value
			}
		}
	}
	return codes, values
}

// liken takes the configuration of the ingress topic. Where it cannot be read, the last one
// counts; the cluster's watcher logs that. Callers hold the keeper's lock.
func (t *kept) liken(ingress map[string]string, err error) {
	t.configured = time.Now().Add(configureEvery)
	switch {
	case errors.Is(err, cluster.ErrNoAnswer):
		t.configured = time.Now().Add(configureRetry)
		t.err = fmt.Sprintf("configuration of %s: %v", t.ingress, err)
		return
	case err == nil:
		t.like = t.kind.likeIngress(ingress)
	}
	t.likeSaid = true
}

// unconfigured notes that a topic's configuration could not be read, and logs it once. Of a
// strict kind it is logged again, as any refusal. Callers hold mu.
func (k *keeper) unconfigured(t *kept, err error) {
	now := time.Now()
	t.configured = now.Add(configureRetry)
	err = cluster.Allow(err, "DescribeConfigs on topic "+t.name)
	t.err = err.Error()
	if errors.Is(err, cluster.ErrNoAnswer) || t.reading.text != "" && !t.kind.strict {
		return
	}
	line := t.kind.says.unread
	if t.kind.strict && t.read {
		line = t.kind.says.unchecked
	}
	if t.reading.say(t.err, now) {
		k.log.Warn(line, "topic", t.name, "err", err)
	}
}

// configured takes a topic's configuration. Callers hold mu.
func (k *keeper) configured(t *kept, values map[string]string) {
	now := time.Now()
	t.configured, t.read, t.reading = now.Add(configureEvery), true, refusal{}
	if n, err := strconv.ParseInt(values[maxMessageBytes], 10, 32); err == nil && n > 0 {
		t.maxBatch = int(n)
	}
	says := &t.kind.says
	unsafe, warning := t.kind.judge(t, values)
	if was := t.unsafe.text; unsafe != was {
		t.unsafe = refusal{} // another fault is said at once
		if unsafe == "" {
			k.log.Info(says.safe, "topic", t.name)
		}
	}
	if unsafe != "" && t.unsafe.say(unsafe, now) {
		k.log.Error(says.unsafe, "topic", t.name, "err", unsafe)
	}
	switch {
	case warning == t.warning:
	case warning == "":
		k.log.Info(says.fit, "topic", t.name)
	default:
		k.log.Warn(says.unfit, "topic", t.name, "err", warning)
	}
	t.warning = warning
}

// judgeJournal judges a journal's configuration: others than the wanted values delete facts.
func judgeJournal(t *kept, values map[string]string) (unsafe, warning string) {
	return "", t.faults(values, func(c *needs.Setting, value string) bool { return value != c.Value })
}

// judgeRuns judges a runs topic's configuration. It is unsafe where a broker may delete
// copies by itself.
func judgeRuns(t *kept, values map[string]string) (unsafe, warning string) {
	for _, c := range t.kind.config {
		if _, told := values[c.Name]; !told && needs.MayDelete(c.Name, "") {
			return c.Name + " is not in the broker's answer, so that copies may be deleted", ""
		}
	}
	unsafe = t.faults(values, func(c *needs.Setting, value string) bool { return needs.MayDelete(c.Name, value) })
	return unsafe, t.faults(values, func(c *needs.Setting, value string) bool {
		n, err := strconv.ParseInt(value, 10, 64)
		wanted, _ := strconv.ParseInt(c.Value, 10, 64) // of our own making
		return err == nil && (c.Name == segmentBytes && n > wanted || c.Name == maxMessageBytes && n < wanted)
	})
}

// faults returns what is wrong with a topic's settings, with the command that mends it; ""
// for none.
func (t *kept) faults(values map[string]string, wrong func(c *needs.Setting, value string) bool) string {
	var found, set []string
	for _, c := range t.settings() {
		if v, ok := values[c.Name]; ok && wrong(&c, v) {
			found = append(found, fmt.Sprintf("%s=%.100s %s", c.Name, v, c.Else))
			set = append(set, c.Name+"="+c.Value)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return fmt.Sprintf("%s; set it: kafka-configs.sh --bootstrap-server $KAFKA_BROKERS --alter --entity-type topics --entity-name %s --add-config %s",
		strings.Join(found, "; "), t.name, strings.Join(set, ","))
}

// likeIngress returns the settings of a runs topic that follow from those of its ingress
// topic. Those that are not told are left out.
func likeIngress(ingress map[string]string) (like []needs.Setting) {
	if v, ok := ingress[minInSync]; ok {
		like = append(like, needs.Setting{Name: minInSync, Value: v, Else: "acknowledges copies with other replicas than the ingress topic's records"})
	}
	if n, err := strconv.ParseInt(ingress[maxMessageBytes], 10, 32); err == nil && n > 0 {
		like = append(like, needs.RunsSize(int(n)))
	}
	return like
}
