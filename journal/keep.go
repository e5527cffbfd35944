package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"layover/cluster"
	"layover/cluster/needs"
	"layover/delay"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// sayIllegal logs the names that no topic can have.
func (j *Journal) sayIllegal() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, ingress := range j.cfg.Ingress {
		if t := j.topics[ingress]; t.state == illegal {
			t.warning = fmt.Sprintf("%.300q cannot be the name of a topic: it is longer than %d characters, or has characters other than a-z A-Z 0-9 . _ -; set LAYOVER_JOURNAL_TOPIC", t.name, delay.MaxTopicName)
			j.cfg.Log.Warn("there is no journal, and finished records that do not fit into commit metadata are delivered again after a restart", "topic", ingress, "err", t.warning)
		}
	}
}

// ask asks about all topics and notes the answer. It returns false where there is none.
func (j *Journal) ask(ctx context.Context) bool {
	var names []string
	for _, t := range j.topics { // the name and whether it is legal never change
		names = append(names, t.ingress)
		if delay.IsTopicName(t.name) {
			names = append(names, t.name)
		}
	}
	slices.Sort(names)
	resp, err := cluster.Metadata(ctx, j.cfg.Client, slices.Compact(names), askTimeout, true)
	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil {
		for _, t := range j.topics {
			t.err = fmt.Sprintf("metadata: %v", err)
		}
		return false
	}
	answer := cluster.ByName(resp)
	for _, t := range j.topics {
		if rt, ok := answer[t.ingress]; ok && rt.ErrorCode == 0 && len(rt.Partitions) > 0 {
			first := slices.MinFunc(rt.Partitions, func(a, b kmsg.MetadataResponseTopicPartition) int { return int(a.Partition - b.Partition) })
			t.wanted, t.replicas = int32(len(rt.Partitions)), int16(max(len(first.Replicas), 1))
		} else if ok && rt.ErrorCode == kerr.UnknownTopicOrPartition.Code {
			t.wanted = 0
		}
		if rt, ok := answer[t.name]; ok && t.state != illegal {
			j.note(t, &rt)
		}
	}
	return true
}

// missesBelieved is the number of answers in a row that make a known topic missing: one may
// be of a broker that has just started.
const missesBelieved = 2

// note takes a journal topic's part of an answer. Callers hold mu.
func (j *Journal) note(t *topic, rt *kmsg.MetadataResponseTopic) {
	now := time.Now()
	err := kerr.ErrorForCode(rt.ErrorCode)
	switch {
	case err == nil && len(rt.Partitions) > 0:
		j.found(t, rt, now)
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		t.misses++
		if t.id != (offsets.TopicID{}) || t.state == usable {
			if t.misses < missesBelieved {
				return
			}
			j.cfg.Log.Error("journal topic was deleted: finished records that did not fit into commit metadata are delivered again after a restart, until the journal has them anew", "topic", t.name)
		}
		t.state, t.id, t.partitions, t.configured = missing, offsets.TopicID{}, 0, time.Time{}
		t.warning, t.using.text = "", ""
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		t.state = forbidden
		j.refuse(&t.using, "journal topic may not be used", t, "Describe", err, now)
	case err != nil:
		t.err = err.Error()
	}
}

// found takes a journal topic that exists. Callers hold mu.
func (j *Journal) found(t *topic, rt *kmsg.MetadataResponseTopic, now time.Time) {
	if t.id != (offsets.TopicID{}) && t.id != rt.TopicID {
		j.cfg.Log.Error("journal topic was deleted and made again: finished records that did not fit into commit metadata are delivered again after a restart, until the journal has them anew", "topic", t.name)
		t.configured = time.Time{}
	}
	if t.making.text != "" {
		j.cfg.Log.Info("journal topic is there", "topic", t.name)
		t.making = refusal{}
	}
	t.id, t.partitions, t.misses, t.err = rt.TopicID, int32(len(rt.Partitions)), 0, ""
	if rt.AuthorizedOperations > 0 && rt.AuthorizedOperations&(1<<kmsg.ACLOperationWrite) == 0 {
		t.state = forbidden
		j.refuse(&t.using, "journal topic may not be used", t, "Write", kerr.TopicAuthorizationFailed, now)
		return
	}
	t.state = usable
	if t.using.text != "" {
		j.cfg.Log.Info("journal topic may be used", "topic", t.name)
		t.using = refusal{}
	}
	if t.partitions >= t.wanted && t.growing.text != "" {
		j.cfg.Log.Info("journal topic has a partition for each of its ingress topic", "topic", t.name)
		t.growing = refusal{}
	}
}

// refuse notes that an operation on a topic is not allowed. Callers hold mu.
func (j *Journal) refuse(r *refusal, what string, t *topic, operation string, err error, now time.Time) {
	text := cluster.Allow(err, operation+" on topic "+t.name).Error()
	if r.say(text, now) {
		j.cfg.Log.Warn(what+", and finished records that do not fit into commit metadata are delivered again after a restart", "topic", t.name, "err", text)
	}
}

// due returns the topics for which f returns true.
func (j *Journal) due(f func(t *topic) bool) (out []topic) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, ingress := range j.cfg.Ingress {
		if t := j.topics[ingress]; f(t) {
			out = append(out, *t)
		}
	}
	return out
}

// create makes the topics that are missing.
func (j *Journal) create(ctx context.Context) {
	now := time.Now()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = int32(askTimeout.Milliseconds())
	for _, t := range j.due(func(t *topic) bool { return t.state == missing && t.wanted > 0 && !now.Before(t.making.next) }) {
		rt := kmsg.NewCreateTopicsRequestTopic()
		rt.Topic, rt.NumPartitions, rt.ReplicationFactor = t.name, t.wanted, t.replicas
		for _, c := range needs.JournalConfig() {
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
	resp, err := req.RequestWith(ctx, j.cfg.Client)
	codes := make(map[string]error)
	if err == nil {
		for _, t := range resp.Topics {
			codes[t.Topic] = describe(t.ErrorCode, t.ErrorMessage)
		}
	}
	for i := range req.Topics {
		name := req.Topics[i].Topic
		j.answered(name, func(t *topic) *refusal { return &t.making }, answerFor(err, codes, name), created)
	}
}

// grow gives topics the partitions that their ingress topics have got.
func (j *Journal) grow(ctx context.Context) {
	now := time.Now()
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.TimeoutMillis = int32(askTimeout.Milliseconds())
	for _, t := range j.due(func(t *topic) bool {
		return t.state == usable && t.partitions < t.wanted && !now.Before(t.growing.next)
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
	resp, err := req.RequestWith(ctx, j.cfg.Client)
	codes := make(map[string]error)
	if err == nil {
		for _, t := range resp.Topics {
			codes[t.Topic] = describe(t.ErrorCode, t.ErrorMessage)
		}
	}
	for i := range req.Topics {
		name := req.Topics[i].Topic
		j.answered(name, func(t *topic) *refusal { return &t.growing }, answerFor(err, codes, name), grown)
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
