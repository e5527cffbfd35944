package journal

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"layover/cluster"
	"layover/delay"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Intervals of the keeper.
const (
	askEvery       = time.Second
	askTimeout     = 5 * time.Second // one request
	configureEvery = time.Minute
	configureRetry = 10 * time.Second
	requestRetry   = 5 * time.Second  // after a request that nobody answered
	firstRetry     = time.Second      // after a topic's first look, if that failed
	refusedRetry   = time.Minute      // after one that was refused
	refusedSay     = 30 * time.Minute // between two lines about one refusal
)

// keeper makes topics of Layover's own, one of each kind beside an ingress topic, lets them
// grow, and looks at them. One loop does so for all kinds:
//
//	every second   ask        metadata of all topics, and of their ingress topics, in one request
//	               create     those that are missing and whose ingress topic is there
//	               grow       those with fewer partitions than their ingress topic
//	every minute   configure  settings: of topics, and of ingress topics that they follow
//	               look       whether others have records in them
//	               orphans    what is in partitions of runs topics that ingress topics do not have
//	after a change tell       what a topic's users hear
//
// Its other methods may be called from any goroutine.
type keeper struct {
	client  *kgo.Client      // for questions and admin requests
	options func() []kgo.Opt // of the clients that look
	log     *slog.Logger
	kinds   []*kind
	topics  []*kept // in the order of kinds; neither the list nor a name in it changes

	mu      sync.Mutex // of all that changes in topics, and of the following
	cluster string     // its id, as the last answer has it
	turns   int64      // of the loop
}

// add adds a topic of a kind for each ingress topic. With keep it is kept; otherwise nothing
// is asked about it. Nobody may call any other method yet.
func (k *keeper) add(of *kind, ingress []string, name func(ingress string) string, keep bool) {
	k.kinds = append(k.kinds, of)
	for _, i := range ingress {
		t := &kept{kind: of, ingress: i, name: name(i), state: unknown, maxBatch: defaultMaxBatch}
		switch {
		case !keep:
			t.state = off
		case !delay.IsTopicName(t.name):
			t.state = illegal
		}
		k.topics = append(k.topics, t)
	}
}

// watch has the topics of a kind looked for alone whose ingress topics are none to keep.
func (k *keeper) watch(of *kind, keep func(ingress string) bool) {
	for _, t := range k.topics {
		if t.kind == of {
			t.watch = !keep(t.ingress)
		}
	}
}

// run keeps the topics until the context ends, and calls each after every turn.
func (k *keeper) run(ctx context.Context, each func()) {
	if len(k.due(func(t *kept) bool { return t.state != off })) == 0 {
		<-ctx.Done()
		return
	}
	k.sayNameless()
	for ctx.Err() == nil {
		k.turned(1)
		if k.ask(ctx) {
			k.create(ctx)
			k.grow(ctx)
			k.configure(ctx)             // whoever hears of a topic hears its limit
			for _, of := range k.kinds { // journals do not wait for looks at runs topics
				k.look(ctx, of)
				k.tell(of)
			}
			k.findOrphans(ctx)
		}
		each()
		cluster.Pause(ctx, askEvery)
	}
}

// turned adds to the turns of the loop, and returns them.
func (k *keeper) turned(more int64) int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.turns += more
	return k.turns
}

// sayNameless logs the names that no topic can have.
func (k *keeper) sayNameless() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, t := range k.topics {
		if t.state == illegal {
			t.warning = fmt.Sprintf("%.300q cannot be the name of a topic: it is longer than %d characters, or has characters other than a-z A-Z 0-9 . _ -; set %s", t.name, delay.MaxTopicName, t.kind.setting)
			k.log.Warn(t.kind.says.nameless, "topic", t.ingress, "err", t.warning)
		}
	}
}

// tell passes on what has changed for the users of a kind's topics.
func (k *keeper) tell(of *kind) {
	for _, t := range k.topics {
		if t.kind != of {
			continue
		}
		k.mu.Lock()
		s := t.now()
		changed := s != t.told
		t.told = s
		k.mu.Unlock()
		if changed {
			t.kind.changed(t.ingress, s)
		}
	}
}

// due returns the topics for which f returns true, as they are now.
func (k *keeper) due(f func(t *kept) bool) (out []kept) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, t := range k.topics {
		if f(t) {
			out = append(out, *t)
		}
	}
	return out
}

// clusterID returns the id of the cluster that answered last.
func (k *keeper) clusterID() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.cluster
}

// of returns an ingress topic's topic of a kind as it is now; ok is false where there is
// none.
func (k *keeper) of(kind *kind, ingress string) (t kept, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if t := k.find(kind, ingress); t != nil {
		return *t, true
	}
	return kept{}, false
}

// find returns an ingress topic's topic of a kind, nil for none. There are few.
func (k *keeper) find(kind *kind, ingress string) *kept {
	for _, t := range k.topics {
		if t.kind == kind && t.ingress == ingress {
			return t
		}
	}
	return nil
}

// view returns the topics of a kind, by ingress topic.
func (k *keeper) view(of *kind) map[string]Topic {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := make(map[string]Topic)
	for _, t := range k.topics {
		if t.kind == of {
			out[t.ingress] = t.shown()
		}
	}
	return out
}

// maxBatch returns a topic's limit for one batch, in bytes. For an unknown topic it is
// Kafka's default.
func (k *keeper) maxBatch(name string) int32 {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, t := range k.topics {
		if t.name == name {
			return int32(t.maxBatch)
		}
	}
	return defaultMaxBatch
}
