package journal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"layover/cluster"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// errand is one way of changing a topic.
type errand struct {
	operation string // of the ACL that it needs on the topic
	of        func(t *kept) *refusal
	says      func(l *lines) (done, refused string)
	mend      func(t *kept, denied bool) string
}

var created = errand{
	operation: "Create",
	of:        func(t *kept) *refusal { return &t.making },
	says:      func(l *lines) (done, refused string) { return l.made, l.notMade },
	mend: func(t *kept, denied bool) string {
		allow := ""
		if denied {
			allow = fmt.Sprintf("allow Create on topic %s, or Create on the cluster, or ", t.name)
		}
		command := fmt.Sprintf("kafka-topics.sh --bootstrap-server $KAFKA_BROKERS --create --topic %s --partitions %d --replication-factor %d", t.name, t.wanted, t.replicas)
		for _, c := range t.settings() {
			command += fmt.Sprintf(" --config %s=%s", c.Name, c.Value)
		}
		return allow + "make it: " + command
	},
}

var grown = errand{
	operation: "Alter",
	of:        func(t *kept) *refusal { return &t.growing },
	says:      func(l *lines) (done, refused string) { return l.got, l.fewer },
	mend: func(t *kept, denied bool) string {
		allow := ""
		if denied {
			allow = fmt.Sprintf("allow Alter on topic %s, or ", t.name)
		}
		return fmt.Sprintf("%sadd them: kafka-topics.sh --bootstrap-server $KAFKA_BROKERS --alter --topic %s --partitions %d", allow, t.name, t.wanted)
	},
}

// create makes the topics that are missing.
func (k *keeper) create(ctx context.Context) {
	now := time.Now()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = int32(askTimeout.Milliseconds())
	for _, t := range k.due(func(t *kept) bool { return t.wanting() && (t.likeSaid || !t.follows()) && !now.Before(t.making.next) }) {
		rt := kmsg.NewCreateTopicsRequestTopic()
		rt.Topic, rt.NumPartitions, rt.ReplicationFactor = t.name, t.wanted, t.replicas
		for _, c := range t.settings() {
			rc := kmsg.NewCreateTopicsRequestTopicConfig()
			rc.Name, rc.Value = c.Name, kmsg.StringPtr(c.Value)
			rt.Configs = append(rt.Configs, rc)
		}
		req.Topics = append(req.Topics, rt)
	}
	if len(req.Topics) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	resp, err := req.RequestWith(ctx, k.client)
	codes := make(map[string]error)
	if err == nil {
		for _, t := range resp.Topics {
			codes[t.Topic] = describe(t.ErrorCode, t.ErrorMessage)
		}
	}
	for i := range req.Topics {
		name := req.Topics[i].Topic
		k.answered(name, answerFor(err, codes, name), &created)
	}
}

// grow gives topics the partitions that their ingress topics have got.
func (k *keeper) grow(ctx context.Context) {
	now := time.Now()
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.TimeoutMillis = int32(askTimeout.Milliseconds())
	for _, t := range k.due(func(t *kept) bool {
		return t.served() && t.partitions < t.wanted && !now.Before(t.growing.next)
	}) {
		rt := kmsg.NewCreatePartitionsRequestTopic()
		rt.Topic, rt.Count = t.name, t.wanted
		req.Topics = append(req.Topics, rt)
	}
	if len(req.Topics) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	resp, err := req.RequestWith(ctx, k.client)
	codes := make(map[string]error)
	if err == nil {
		for _, t := range resp.Topics {
			codes[t.Topic] = describe(t.ErrorCode, t.ErrorMessage)
		}
	}
	for i := range req.Topics {
		name := req.Topics[i].Topic
		k.answered(name, answerFor(err, codes, name), &grown)
	}
}

// describe returns the error of a code, with the broker's message; nil for none.
func describe(code int16, message *string) error {
	err := kerr.ErrorForCode(code)
	if err != nil && message != nil && *message != "" {
		return fmt.Errorf("%w (%.200s)", err, *message)
	}
	return err
}

// answerFor returns the error of one topic of a request.
func answerFor(err error, codes map[string]error, name string) error {
	if err != nil {
		return fmt.Errorf("%w: %w", cluster.ErrNoAnswer, err)
	}
	if err, ok := codes[name]; ok {
		return err
	}
	return cluster.ErrNoAnswer
}

// answered takes the answer to an errand for the topic of that name.
func (k *keeper) answered(name string, err error, e *errand) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	for _, t := range k.topics {
		if t.name != name {
			continue
		}
		r := e.of(t)
		done, refused := e.says(&t.kind.says)
		denied := errors.Is(err, kerr.TopicAuthorizationFailed) || errors.Is(err, kerr.ClusterAuthorizationFailed)
		switch {
		case err == nil:
			k.log.Info(done, "topic", t.name, "partitions", t.wanted)
			r.next = now.Add(requestRetry) // until brokers know of it
		case errors.Is(err, kerr.TopicAlreadyExists): // another process was faster
			r.next = now.Add(requestRetry)
		case errors.Is(err, cluster.ErrNoAnswer) || !denied && kerr.IsRetriable(err):
			t.err = err.Error()
			r.next = now.Add(requestRetry)
		default:
			t.err = cluster.Allow(err, e.operation+" on topic "+t.name).Error()
			if text := fmt.Sprintf("%v; %s", err, e.mend(t, denied)); r.say(text, now) {
				k.log.Warn(refused, "topic", t.name, "err", text)
			}
		}
	}
}
