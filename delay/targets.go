package delay

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync/atomic"
)

// Targets is the list of the topics that records may go to. Any number of
// goroutines may use one: its memory is replaced whole, never changed.
//
// Without the list, a producer to an ingress topic could write to every topic
// that Layover may write to.
type Targets struct {
	egress string
	globs  []string // in the order given, in which they are tried
	denied map[string]struct{}
	// reserved are globs for the journals and runs topics of other processes. They exclude
	// topics that a glob allows, not those that are allowed by name.
	reserved []string

	// known maps topics to their labels: from the start the exact names, later
	// also topics that a glob allowed. So a topic's name is allocated once and
	// not for every record. The map is replaced, never written to.
	//
	// Invariant: none of its topics is illegal or denied, and it holds at most
	// maxRemembered more than there are exact names.
	known     atomic.Pointer[map[string]target]
	knownSize int // how many topics known may hold

	remembered atomic.Int64 // memory of the topics that globs allowed, in bytes
	most       int64        // bound of remembered, in bytes
}

type target struct{ topic, label string }

const (
	// maxRemembered bounds the topics that globs allowed and that are
	// remembered. Topics beyond it are served all the same, for an allocation a
	// record. Remembering a topic copies the map, which makes at most half a million
	// entries in a lifetime.
	maxRemembered = 1024

	// rememberedSize is the memory of a remembered topic beside its name, in bytes:
	// its place in a map.
	rememberedSize = 128

	// internalPrefix marks the topics that Kafka and its tools keep for
	// themselves, like __consumer_offsets.
	internalPrefix = "__"
)

const (
	wantTopic = "want 1 to 249 letters, digits, dots, underscores and hyphens, and neither . nor .."

	faultTargetName     fault = "not the name of a topic; " + wantTopic
	faultTargetDenied   fault = "an ingress, dead-letter, events, journal, runs or internal topic, which no setting allows; want another topic"
	faultTargetAllowed  fault = "not an allowed target; want the egress topic, or a topic that LAYOVER_TARGETS_ALLOWED has"
	faultTargetReserved fault = "named like a journal or a runs topic of Layover, which no glob allows; want its own name in LAYOVER_TARGETS_ALLOWED"
)

// NewTargets allows egress, where it is not empty, and the topics that allowed
// names or matches with a glob (*, ? and [a-z], as in path.Match). The topics
// in denied and those that begin with two underscores are never targets, even
// where allowed names them. A topic that a glob in reserved matches is a target only
// where allowed has its name; a glob in allowed does not do.
//
// Errors are a name that Kafka would not accept, a glob that is malformed or could match
// no topic, and a denied egress topic.
func NewTargets(egress string, allowed, denied, reserved []string) (*Targets, error) {
	t := &Targets{egress: egress, denied: make(map[string]struct{}, len(denied)), reserved: reserved}
	for _, glob := range reserved {
		if err := checkGlob(glob); err != nil {
			return nil, fmt.Errorf("name of a journal or a runs topic %w", err)
		}
	}
	for _, name := range denied {
		t.denied[name] = struct{}{}
	}
	exact := make(map[string]target, len(allowed)+1)
	if egress != "" {
		if !IsTopicName(egress) {
			return nil, fmt.Errorf("egress topic %s: %s", quote([]byte(egress)), wantTopic)
		}
		if t.isDenied(egress) {
			return nil, fmt.Errorf("egress topic %q: want a topic other than the ingress, dead-letter, events, journal, runs and internal ones", egress)
		}
		exact[egress] = target{egress, egress}
	}
	for _, entry := range allowed {
		if strings.ContainsAny(entry, `*?[\`) {
			if err := checkGlob(entry); err != nil {
				return nil, fmt.Errorf("allowed target %w", err)
			}
			t.globs = append(t.globs, entry)
			continue
		}
		if !IsTopicName(entry) {
			return nil, fmt.Errorf("allowed target %s: %s", quote([]byte(entry)), wantTopic)
		}
		if !t.isDenied(entry) {
			exact[entry] = target{entry, entry}
		}
	}
	t.knownSize, t.most = len(exact)+maxRemembered, maxRemembered*(rememberedSize+MaxTopicName)
	t.known.Store(&exact)
	return t, nil
}

// checkGlob refuses a glob that path.Match cannot read, and one with a letter
// that is in no topic's name. The globs {a,b} and a,b would match nothing, silently.
// The error begins with the glob.
func checkGlob(glob string) error {
	if _, err := path.Match(glob, ""); err != nil {
		return fmt.Errorf("%s: %w, want a glob of *, ? and [a-z]", quote([]byte(glob)), err)
	}
	for i := range len(glob) {
		if !IsTopicByte(glob[i]) && strings.IndexByte(`*?[]^\`, glob[i]) < 0 {
			return fmt.Errorf("%s: no topic has %q in its name, want a glob of *, ? and [a-z]",
				quote([]byte(glob)), glob[i])
		}
	}
	return nil
}

// Resolve returns the topic that name is, and its label in metrics. The label
// is the name itself where it is allowed as such, else the first glob that
// matches. Resolve returns false for a name that no topic can have, and for a
// topic that is not allowed. Nothing of name is kept or returned.
//
// It allocates for a topic's first record, and for every record of a topic beyond
// maxRemembered.
func (t *Targets) Resolve(name []byte) (topic, label string, ok bool) {
	if known, ok := (*t.known.Load())[string(name)]; ok {
		return known.topic, known.label, true
	}
	if len(t.globs) == 0 || len(name) > MaxTopicName {
		return "", "", false
	}
	topic = string(name)
	if !IsTopicName(topic) || t.isDenied(topic) || matches(t.reserved, topic) {
		return "", "", false
	}
	for _, glob := range t.globs {
		if match(glob, topic) {
			t.remember(target{topic, glob})
			return topic, glob, true
		}
	}
	return "", "", false
}

// match reports whether a glob that checkGlob took matches a topic's name.
func match(glob, topic string) bool {
	matched, _ := path.Match(glob, topic) // checkGlob saw to the error
	return matched
}

func matches(globs []string, topic string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool { return match(glob, topic) })
}

// remember adds a topic to those known. Where another goroutine is ahead it
// gives up, and the topic's next record tries again.
func (t *Targets) remember(found target) {
	old, bytes := t.known.Load(), rememberedSize+int64(len(found.topic))
	if len(*old) >= t.knownSize || t.remembered.Load()+bytes > t.most {
		return
	}
	next := make(map[string]target, len(*old)+1)
	maps.Copy(next, *old)
	next[found.topic] = found
	if t.known.CompareAndSwap(old, &next) {
		t.remembered.Add(bytes)
	}
}

// Remember bounds the memory of the topics that globs allowed, in bytes; by default
// it is some 400 KB. It is called before the first Resolve.
func (t *Targets) Remember(bytes int64) { t.most = min(t.most, bytes) }

// Bytes returns the memory of the topics that globs allowed. It never shrinks.
func (t *Targets) Bytes() int64 { return t.remembered.Load() }

// Default returns the target of a record that names none, and its label; false where
// no egress topic is set.
func (t *Targets) Default() (topic, label string, ok bool) {
	return t.egress, t.egress, t.egress != ""
}

func (t *Targets) isDenied(topic string) bool {
	_, denied := t.denied[topic]
	return denied || strings.HasPrefix(topic, internalPrefix)
}

// fault returns the reason for which Resolve refused name.
func (t *Targets) fault(name []byte) fault {
	switch topic := string(name); {
	case len(name) > MaxTopicName || !IsTopicName(topic):
		return faultTargetName
	case t.isDenied(topic):
		return faultTargetDenied
	case matches(t.reserved, topic) && matches(t.globs, topic):
		return faultTargetReserved
	}
	return faultTargetAllowed
}
