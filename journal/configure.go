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

const maxMessageBytes = "max.message.bytes"

// configure reads the configurations that are due.
func (j *Journal) configure(ctx context.Context) {
	now := time.Now()
	req := kmsg.NewPtrDescribeConfigsRequest()
	for _, t := range j.due(func(t *topic) bool { return t.state == usable && !now.Before(t.configured) }) {
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, t.name
		r.ConfigNames = append(r.ConfigNames, maxMessageBytes)
		for _, c := range needs.JournalConfig() {
			r.ConfigNames = append(r.ConfigNames, c.Name)
		}
		req.Resources = append(req.Resources, r)
	}
	if len(req.Resources) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	resp, err := req.RequestWith(ctx, j.cfg.Client)
	codes, values := make(map[string]error), make(map[string]map[string]string)
	if err == nil {
		for _, r := range resp.Resources {
			codes[r.ResourceName] = describe(r.ErrorCode, r.ErrorMessage)
			values[r.ResourceName] = make(map[string]string)
			for _, c := range r.Configs {
				if c.Value != nil {
					values[r.ResourceName][c.Name] = *c.Value
				}
			}
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := range req.Resources {
		name := req.Resources[i].ResourceName
		err := answerFor(err, codes, name)
		for _, t := range j.topics {
			switch {
			case t.name != name:
			case err != nil:
				j.unconfigured(t, err)
			default:
				j.configured(t, values[name])
			}
		}
	}
}

// unconfigured notes that a topic's configuration could not be read, and logs it once.
// Callers hold mu.
func (j *Journal) unconfigured(t *topic, err error) {
	t.configured = time.Now().Add(configureRetry)
	err = cluster.Allow(err, "DescribeConfigs on topic "+t.name)
	t.err = err.Error()
	if t.unread || errors.Is(err, cluster.ErrNoAnswer) {
		return
	}
	t.unread = true
	j.cfg.Log.Warn("configuration of journal topic cannot be read, so its retention is not checked", "topic", t.name,
		"err", err)
}

// configured takes a topic's configuration. Callers hold mu.
func (j *Journal) configured(t *topic, values map[string]string) {
	t.configured = time.Now().Add(configureEvery)
	t.unread = false
	if n, err := strconv.ParseInt(values[maxMessageBytes], 10, 32); err == nil && n > 0 {
		t.maxBatch = int(n)
	}
	warning := retentionWarning(t.name, values)
	switch {
	case warning == t.warning:
	case warning == "":
		j.cfg.Log.Info("journal topic keeps facts again", "topic", t.name)
	default:
		j.cfg.Log.Warn("journal topic may delete facts that are still needed: records may be delivered again after a restart", "topic", t.name, "err", warning)
	}
	t.warning = warning
}

// retentionWarning returns the faults of a journal topic's configuration, with the command
// that mends them; "" for none.
func retentionWarning(name string, values map[string]string) string {
	var found, set []string
	for _, c := range needs.JournalConfig() {
		if v, ok := values[c.Name]; ok && v != c.Value {
			found = append(found, fmt.Sprintf("%s=%.100s %s", c.Name, v, c.Else))
			set = append(set, c.Name+"="+c.Value)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return fmt.Sprintf("%s; set it: kafka-configs.sh --bootstrap-server ... --alter --entity-type topics --entity-name %s --add-config %s",
		strings.Join(found, "; "), name, strings.Join(set, ","))
}
