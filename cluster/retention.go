package cluster

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"layover/cluster/needs"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Bounds of reading configurations.
const (
	configureTopics  = 100 // in one request: an answer has some 3 KB for each
	configureAgain   = 200 // topics a second that are read again: 10,000 in less than a minute
	configureTimeout = 2 * time.Second
)

// configure reads the configurations of topics that have just been found, and of some whose
// configuration is older than a minute. The oldest come first: with very many topics one
// look does not read them all.
func (w *Watcher) configure(ctx context.Context, found []Change) {
	names := w.unread(found, time.Now())
	for len(names) > 0 {
		batch := names[:min(len(names), configureTopics)]
		if !w.describe(ctx, batch) { // the other batches wait for the next look
			for _, name := range names {
				w.unconfigured(name, nil)
			}
			return
		}
		names = names[len(batch):]
	}
}

// unread returns the topics whose configuration is due, and notes it as read now.
func (w *Watcher) unread(found []Change, now time.Time) (names []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var due []*Topic
	for _, c := range found {
		if t := w.topic(c.Topic.Name); t != nil && t.State == Usable && t.configured.IsZero() {
			t.configured = now
			names = append(names, t.Name)
		}
	}
	if now.Sub(w.configuredAt) >= askEvery {
		w.configuredAt = now
		for _, topics := range []map[string]*Topic{w.topics, w.names.known} {
			for _, t := range topics {
				if t.State == Usable && now.Sub(t.configured) >= configureEvery {
					due = append(due, t)
				}
			}
		}
	}
	slices.SortFunc(due, func(a, b *Topic) int { return a.configured.Compare(b.configured) })
	for _, t := range due[:min(len(due), configureAgain)] {
		t.configured = now
		names = append(names, t.Name)
	}
	return names
}

// described are the settings that are read.
var described = []string{"max.message.bytes", "cleanup.policy", "retention.ms", "retention.bytes"}

// describe reads the configuration of topics, and returns false where nobody answered.
// An error is one topic's: kadm would return the first refusal for all of them.
func (w *Watcher) describe(ctx context.Context, names []string) bool {
	ctx, cancel := context.WithTimeout(ctx, configureTimeout)
	defer cancel()
	req := kmsg.NewPtrDescribeConfigsRequest()
	for _, name := range names {
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName, r.ConfigNames = kmsg.ConfigResourceTypeTopic, name, described
		req.Resources = append(req.Resources, r)
	}
	resp, err := req.RequestWith(ctx, w.client)
	if err != nil {
		w.cfg.Log.Debug("topic configurations not read", "err", err)
		return false
	}
	for _, r := range resp.Resources {
		if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
			w.unconfigured(r.ResourceName, err)
			continue
		}
		values := make(map[string]string)
		for _, c := range r.Configs {
			if c.Value != nil { // an empty value has a meaning, a missing one has none
				values[c.Name] = *c.Value
			}
		}
		w.configured(r.ResourceName, values)
	}
	return true
}

// configureRetry is the time to the next try after a failed one.
const configureRetry = 10 * time.Second

// unconfigured notes that a topic's configuration could not be read. For an ingress
// topic, whose retention then goes unchecked, and for a target of the settings that may not
// be described, it logs that once.
func (w *Watcher) unconfigured(name string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.topic(name)
	if t == nil {
		return
	}
	t.configured = time.Now().Add(configureRetry - configureEvery)
	err = Allow(err, "DescribeConfigs on topic "+name)
	if !slices.Contains(w.cfg.Ingress, name) {
		if t.pinned && !t.unread && errors.Is(err, kerr.TopicAuthorizationFailed) {
			t.unread = true
			w.warn("largest batch of a target is not known, and Kafka's default counts", "topic", name, "err", err)
		}
		return
	}
	if err == nil || w.warnings[name] != "" {
		return
	}
	w.warnings[name] = fmt.Sprintf("its configuration cannot be read, so its retention is not checked: %v", err)
	w.warn("retention of ingress topic is not checked", "topic", name, "err", err)
}

// warn logs a fault of a configuration, unless somebody else does.
func (w *Watcher) warn(message string, args ...any) {
	if !w.cfg.Quiet {
		w.cfg.Log.Warn(message, args...)
	}
}

// configured takes one topic's configuration.
func (w *Watcher) configured(name string, values map[string]string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.topic(name)
	if t == nil {
		return
	}
	t.unread = false
	if n, err := strconv.ParseInt(values["max.message.bytes"], 10, 32); err == nil && n >= 512 {
		t.MaxBatchBytes = int32(n)
	}
	t.Retention = 0
	if policy, told := values["cleanup.policy"]; told && !strings.Contains(policy, "delete") { // from Kafka 4.2 on it may be empty
		t.Retention = -1
	} else if ms, err := strconv.ParseInt(values["retention.ms"], 10, 64); err == nil && ms == 0 {
		t.Retention = 1 // at once, which is not "not known"
	} else if err == nil {
		t.Retention = time.Duration(min(ms, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
	}
	for _, ingress := range w.cfg.Ingress {
		if ingress != name {
			continue
		}
		warning := retentionWarning(name, values, w.cfg.MaxDelay, w.cfg.Runs != nil && w.cfg.Runs(name))
		if warning != "" && warning != w.warnings[name] {
			w.warn("ingress topic may delete records before they are delivered", "topic", name, "err", warning)
		}
		if warning == "" {
			delete(w.warnings, name)
		} else {
			w.warnings[name] = warning
		}
	}
}

// Fault is a value of an ingress topic's configuration that may delete records before
// they are delivered.
type Fault struct {
	Name  string // such as retention.ms
	Found string // the value, and its effect
	Want  string // a value that mends it
	// Short: a record with the longest delay that stays there is deleted before its deadline.
	Short bool
}

// RetentionFaults compares an ingress topic's configuration with the longest delay. runs
// is whether its far-off records are moved: then only those that are due soon stay there.
// A value that is not told has no fault.
func RetentionFaults(values map[string]string, maxDelay time.Duration, runs bool) (faults []Fault) {
	if policy, told := values["cleanup.policy"]; told && policy == "" { // nothing is ever deleted, whatever the rest says
		return nil
	}
	least, stays, than := needs.Retention(maxDelay, runs), maxDelay, "LAYOVER_MAX_DELAY plus a day"
	if runs {
		stays, than = min(maxDelay, needs.RunsHorizon), "the six hours that far-off records need until they are moved"
	}
	if ms, err := strconv.ParseInt(values["retention.ms"], 10, 64); err == nil && ms >= 0 && ms < least.Milliseconds() {
		faults = append(faults, Fault{"retention.ms", fmt.Sprintf("retention.ms=%d is less than %s", ms, than), strconv.FormatInt(least.Milliseconds(), 10), ms < stays.Milliseconds()})
	}
	if b, err := strconv.ParseInt(values["retention.bytes"], 10, 64); err == nil && b >= 0 {
		faults = append(faults, Fault{"retention.bytes", fmt.Sprintf("retention.bytes=%d deletes by size, whatever the delay", b), "-1", false})
	}
	if policy := values["cleanup.policy"]; strings.Contains(policy, "compact") {
		faults = append(faults, Fault{"cleanup.policy", fmt.Sprintf("cleanup.policy=%.100s deletes a parked record when its key comes again", policy), "delete", false})
	}
	return faults
}

// retentionWarning returns the faults of an ingress topic's configuration and the command
// that mends them; "" where all is well.
func retentionWarning(topic string, values map[string]string, maxDelay time.Duration, runs bool) string {
	var found, set []string
	for _, fault := range RetentionFaults(values, maxDelay, runs) {
		found = append(found, fault.Found)
		set = append(set, fault.Name+"="+fault.Want)
	}
	if len(found) == 0 {
		return ""
	}
	return fmt.Sprintf("%s; set it: kafka-configs.sh --bootstrap-server $KAFKA_BROKERS --alter --entity-type topics --entity-name %s --add-config %s",
		strings.Join(found, "; "), topic, strings.Join(set, ","))
}
