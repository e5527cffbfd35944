package cluster

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// retentionMargin is how much longer than the longest delay ingress has to keep
// its records: a day to notice that nothing is delivered.
const retentionMargin = 24 * time.Hour

// configure reads the configuration of topics whose is older than a minute.
func (w *Watcher) configure(ctx context.Context) {
	now := time.Now()
	w.mu.Lock()
	var names []string
	for name, t := range w.topics {
		if t.State == Usable && now.Sub(t.configured) >= configureEvery {
			names = append(names, name)
			t.configured = now
		}
	}
	w.mu.Unlock()
	if len(names) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	configs, err := kadm.NewClient(w.client).DescribeTopicConfigs(ctx, names...)
	if err != nil {
		w.cfg.Log.Debug("topic configurations not read", "err", err)
		for _, name := range names {
			w.unconfigured(name, nil)
		}
		return
	}
	for _, c := range configs {
		if c.Err != nil {
			w.unconfigured(c.Name, c.Err)
			continue
		}
		values := make(map[string]string)
		for _, v := range c.Configs {
			values[v.Key] = v.MaybeValue()
		}
		w.configured(c.Name, values)
	}
}

// configureRetry is the time to the next try after a failed one.
const configureRetry = 10 * time.Second

// unconfigured notes that a topic's configuration could not be read, and says so once
// of an ingress topic, whose retention then goes unchecked.
func (w *Watcher) unconfigured(name string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.topics[name]
	if t == nil {
		return
	}
	t.configured = time.Now().Add(configureRetry - configureEvery)
	if err == nil || !slices.Contains(w.cfg.Ingress, name) || w.warnings[name] != "" {
		return
	}
	w.warnings[name] = fmt.Sprintf("its configuration cannot be read, so its retention is not checked: %v", err)
	w.cfg.Log.Warn("retention of ingress topic is not checked", "topic", name, "err", err)
}

// configured takes one topic's configuration.
func (w *Watcher) configured(name string, values map[string]string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.topics[name]
	if t == nil {
		return
	}
	if n, err := strconv.ParseInt(values["max.message.bytes"], 10, 32); err == nil && n >= 512 {
		t.MaxBatchBytes = int32(n)
	}
	t.Retention = 0
	if policy := values["cleanup.policy"]; policy != "" && !strings.Contains(policy, "delete") {
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
		warning := retentionWarning(name, values, w.cfg.MaxDelay)
		if warning != "" && warning != w.warnings[name] {
			w.cfg.Log.Warn("ingress topic may delete records before they are delivered", "topic", name, "err", warning)
		}
		if warning == "" {
			delete(w.warnings, name)
		} else {
			w.warnings[name] = warning
		}
	}
}

// retentionWarning compares an ingress topic's configuration with the longest
// delay, and says what to set; "" where all is well.
func retentionWarning(topic string, values map[string]string, maxDelay time.Duration) string {
	var found, set []string
	want := (maxDelay + retentionMargin).Milliseconds()
	if ms, err := strconv.ParseInt(values["retention.ms"], 10, 64); err == nil && ms >= 0 && ms < want {
		found = append(found, fmt.Sprintf("retention.ms=%d is less than LAYOVER_MAX_DELAY plus a day", ms))
		set = append(set, fmt.Sprintf("retention.ms=%d", want))
	}
	if b, err := strconv.ParseInt(values["retention.bytes"], 10, 64); err == nil && b >= 0 {
		found = append(found, fmt.Sprintf("retention.bytes=%d deletes by size, whatever the delay", b))
		set = append(set, "retention.bytes=-1")
	}
	if strings.Contains(values["cleanup.policy"], "compact") {
		found = append(found, fmt.Sprintf("cleanup.policy=%s deletes a parked record when its key comes again", values["cleanup.policy"]))
		set = append(set, "cleanup.policy=delete")
	}
	if len(found) == 0 {
		return ""
	}
	return fmt.Sprintf("%s; set it: kafka-configs.sh --bootstrap-server ... --alter --entity-type topics --entity-name %s --add-config %s",
		strings.Join(found, "; "), topic, strings.Join(set, ","))
}
