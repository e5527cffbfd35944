package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"layover/cluster"
	"layover/delay"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ask asks about all topics and notes the answer. It returns false where there is none.
func (k *keeper) ask(ctx context.Context) bool {
	var names []string
	for _, t := range k.topics { // the name, and whether it is off or legal, never change
		if t.state == off {
			continue
		}
		names = append(names, t.ingress)
		if delay.IsTopicName(t.name) {
			names = append(names, t.name)
		}
	}
	slices.Sort(names)
	resp, err := cluster.Metadata(ctx, k.client, slices.Compact(names), askTimeout, true)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		for _, t := range k.topics {
			if t.state != off {
				t.err = fmt.Sprintf("metadata: %v", err)
			}
		}
		return false
	}
	if resp.ClusterID != nil {
		k.cluster = *resp.ClusterID
	}
	answer := cluster.ByName(resp)
	for _, t := range k.topics {
		if rt, ok := answer[t.ingress]; ok && t.state != off {
			t.follow(&rt)
		}
		if rt, ok := answer[t.name]; ok && t.state != off && t.state != illegal {
			k.note(t, &rt)
		}
	}
	return true
}

// follow takes the ingress topic's part of an answer. Callers hold the keeper's lock.
func (t *kept) follow(rt *kmsg.MetadataResponseTopic) {
	switch {
	case rt.ErrorCode == 0 && len(rt.Partitions) > 0:
		first := slices.MinFunc(rt.Partitions, func(a, b kmsg.MetadataResponseTopicPartition) int { return int(a.Partition - b.Partition) })
		t.wanted, t.replicas = int32(len(rt.Partitions)), int16(max(len(first.Replicas), 1))
		t.ingressHas, t.ingressTold, t.ingressMisses = t.wanted, true, 0
	case rt.ErrorCode == kerr.UnknownTopicOrPartition.Code:
		t.wanted = 0
		if t.ingressMisses++; t.ingressHas == 0 || t.ingressMisses >= missesBelieved {
			t.ingressHas, t.ingressTold = 0, true
		}
	case rt.ErrorCode == kerr.TopicAuthorizationFailed.Code:
		t.ingressHas, t.ingressTold = 0, true
	}
}

// missesBelieved is the number of answers in a row that make a known topic missing: one may
// be of a broker that has just started.
const missesBelieved = 2

// note takes a topic's part of an answer. Callers hold mu.
func (k *keeper) note(t *kept, rt *kmsg.MetadataResponseTopic) {
	now := time.Now()
	err := kerr.ErrorForCode(rt.ErrorCode)
	switch {
	case err == nil && len(rt.Partitions) > 0:
		k.found(t, rt, now)
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		t.misses++
		if t.id != (offsets.TopicID{}) || t.state == usable {
			if t.misses < missesBelieved {
				return
			}
			k.log.Error(t.kind.says.deleted, "topic", t.name)
		}
		if t.state != missing {
			t.forget()
		}
		t.state, t.id, t.partitions = missing, offsets.TopicID{}, 0
		t.warning, t.using.text, t.unreadable = "", "", false
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		t.state, t.unreadable = forbidden, true
		k.refuse(t, "Describe", err, now)
	case err != nil:
		t.err = err.Error()
	}
}

// found takes a topic that exists. Callers hold mu.
func (k *keeper) found(t *kept, rt *kmsg.MetadataResponseTopic, now time.Time) {
	if t.id != (offsets.TopicID{}) && t.id != rt.TopicID {
		k.log.Error(t.kind.says.madeAgain, "topic", t.name)
	}
	if t.id != rt.TopicID || t.state == missing {
		t.forget()
	}
	if t.making.text != "" {
		k.log.Info(t.kind.says.there, "topic", t.name)
		t.making = refusal{}
	}
	t.id, t.partitions, t.misses, t.err = rt.TopicID, int32(len(rt.Partitions)), 0, ""
	t.unreadable = right{"Read", kmsg.ACLOperationRead}.missing(rt.AuthorizedOperations)
	for _, r := range t.kind.uses {
		if r.missing(rt.AuthorizedOperations) {
			t.state = forbidden
			k.refuse(t, r.name, kerr.TopicAuthorizationFailed, now)
			return
		}
	}
	t.state = usable
	if t.using.text != "" {
		k.log.Info(t.kind.says.may, "topic", t.name)
		t.using = refusal{}
	}
	if t.partitions >= t.wanted && t.growing.text != "" {
		k.log.Info(t.kind.says.enough, "topic", t.name)
		t.growing = refusal{}
	}
}

// refuse notes that a topic may not be used. Callers hold mu.
func (k *keeper) refuse(t *kept, operation string, err error, now time.Time) {
	text := cluster.Allow(err, operation+" on topic "+t.name).Error()
	if t.using.say(text, now) {
		k.log.Warn(t.kind.says.mayNot, "topic", t.name, "err", text)
	}
}
