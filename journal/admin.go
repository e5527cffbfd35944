package journal

import (
	"errors"
	"fmt"
	"time"

	"layover/cluster"
	"layover/cluster/needs"

	"github.com/twmb/franz-go/pkg/kerr"
)

// errand is one kind of admin request, with its texts for the log.
type errand struct {
	done, refused string
	operation     string // of the ACL that it needs on the topic
	mend          func(t *topic, denied bool) string
}

var created = errand{
	done:      "journal topic was made",
	refused:   "journal topic cannot be made, and finished records that do not fit into commit metadata are delivered again after a restart",
	operation: "Create",
	mend: func(t *topic, denied bool) string {
		allow := ""
		if denied {
			allow = fmt.Sprintf("allow Create on topic %s, or Create on the cluster, or ", t.name)
		}
		command := fmt.Sprintf("kafka-topics.sh --bootstrap-server ... --create --topic %s --partitions %d --replication-factor %d", t.name, t.wanted, t.replicas)
		for _, c := range needs.JournalConfig() {
			command += fmt.Sprintf(" --config %s=%s", c.Name, c.Value)
		}
		return allow + "make it: " + command
	},
}

var grown = errand{
	done:      "journal topic has got partitions",
	refused:   "journal topic has fewer partitions than its ingress topic: finished records of the others that do not fit into commit metadata are delivered again after a restart",
	operation: "Alter",
	mend: func(t *topic, denied bool) string {
		allow := ""
		if denied {
			allow = fmt.Sprintf("allow Alter on topic %s, or ", t.name)
		}
		return fmt.Sprintf("%sadd them: kafka-topics.sh --bootstrap-server ... --alter --topic %s --partitions %d", allow, t.name, t.wanted)
	},
}

// answered takes the answer to an errand for the topic of that name.
func (j *Journal) answered(name string, of func(t *topic) *refusal, err error, e errand) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := time.Now()
	for _, t := range j.topics {
		if t.name != name {
			continue
		}
		r := of(t)
		denied := errors.Is(err, kerr.TopicAuthorizationFailed) || errors.Is(err, kerr.ClusterAuthorizationFailed)
		switch {
		case err == nil:
			j.cfg.Log.Info(e.done, "topic", t.name, "partitions", t.wanted)
			r.next = now.Add(requestRetry) // until brokers know of it
		case errors.Is(err, kerr.TopicAlreadyExists): // another process was faster
			r.next = now.Add(requestRetry)
		case errors.Is(err, cluster.ErrNoAnswer) || !denied && kerr.IsRetriable(err):
			t.err = err.Error()
			r.next = now.Add(requestRetry)
		default:
			t.err = cluster.Allow(err, e.operation+" on topic "+t.name).Error()
			if text := fmt.Sprintf("%v; %s", err, e.mend(t, denied)); r.say(text, now) {
				j.cfg.Log.Warn(e.refused, "topic", t.name, "err", text)
			}
		}
	}
}
