// Package needs is what Layover needs of a Kafka, from its settings alone: topics
// with their configurations, and rights.
//
//	settings ──► Of ──► topics to make, ACLs to allow, and what no command can give
//
// It is the one table behind the verb topics, the checks of the doctor, and the
// documented ACLs. It is pure: it asks no broker what there is.
package needs

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"layover/config"
	"layover/delay"
)

// Times for which an ingress topic has to keep its records.
const (
	// RetentionMargin is how much longer than the longest delay they are, where nothing is
	// moved to runs: a day to notice that nothing is delivered.
	RetentionMargin = 24 * time.Hour
	// RunsRetention is for a topic whose far-off records are moved. A record is moved when
	// it is an hour old at most, and one with an earlier deadline waits for another hour
	// at most. The rest is for a move that takes long, or has to wait.
	RunsRetention = 6 * time.Hour
	// RunsHorizon is the longest time to its deadline for which a record stays in its
	// ingress topic although others are moved.
	RunsHorizon = time.Hour

	// madeRetention is the longest one that commands ask for, where far-off records are
	// moved. It is Kafka's own default: records that nobody has read need it, and so do
	// those with an id.
	madeRetention = 7 * 24 * time.Hour
)

// Retention returns the least time for which an ingress topic has to keep its records.
// runs is whether those that are far off are moved.
func Retention(maxDelay time.Duration, runs bool) time.Duration {
	if runs {
		return min(maxDelay+RetentionMargin, RunsRetention)
	}
	return maxDelay + RetentionMargin
}

// Role is what a topic or the group is to Layover.
type Role string

// The roles, as JSON has them.
const (
	Ingress    Role = "ingress"
	Target     Role = "target" // the egress topic, and every other that a record may go to
	DeadLetter Role = "dead_letter"
	Events     Role = "events"
	Journal    Role = "journal"
	Runs       Role = "runs"
	Group      Role = "group"
)

// Setting is one value of a topic's configuration. Else is what another value does, as the
// end of a sentence that begins with it.
type Setting struct{ Name, Value, Else string }

// Topic is a topic that the settings name. A setting that Config does not have may be
// anything.
type Topic struct {
	Name   string
	Role   Role
	Of     string // of a journal and of runs: the ingress topic, whose number of partitions it has
	Config []Setting
}

// Right is an ACL that allows operations on one resource. All of its operations are for the
// same.
type Right struct {
	Resource   Resource
	Name       string
	Pattern    Pattern
	Role       Role
	Operations []Operation
	For        string // what they are used for
	Without    string // what happens without one of them, a clause
}

// Resource is the type of a resource, as kafka-acls.sh and Strimzi name its flag or type.
type Resource string

// The resources of rights.
const (
	OnTopic Resource = "topic"
	OnGroup Resource = "group"
)

// Pattern says how the name of a right is compared with that of a resource.
type Pattern string

// The patterns of rights, as kafka-acls.sh has them. Strimzi calls the second one prefix.
const (
	Literal  Pattern = "literal"
	Prefixed Pattern = "prefixed"
)

// Operation is what a right allows, as kafka-acls.sh and Strimzi spell it.
type Operation string

// The operations of rights.
const (
	Read            Operation = "Read"
	Write           Operation = "Write"
	Create          Operation = "Create"
	Delete          Operation = "Delete"
	Alter           Operation = "Alter"
	Describe        Operation = "Describe"
	DescribeConfigs Operation = "DescribeConfigs"
)

// Gap is a name in the settings for which there is no command. No topic of that name can be
// made, or no ACL is the same. Why is a sentence that says what to do instead.
type Gap struct {
	Name string
	Role Role
	Why  string
}

// Table is everything that is needed. Names in it are unique but for rights, of which one
// name has several.
type Table struct {
	Topics []Topic
	Rights []Right
	Gaps   []Gap
}

// Of returns what the settings need, in the order ingress, targets, dead letters, events,
// journals, runs, group. The settings are those that config.Load has checked.
func Of(cfg *config.Config) Table {
	var t Table
	for _, name := range cfg.IngressTopics {
		t.Topics = append(t.Topics, Topic{Name: name, Role: Ingress, Config: IngressConfig(cfg.MaxDelay, cfg.HasRuns(name))})
		t.allow(name, Literal, Ingress)
	}
	for _, name := range cfg.Allowed() {
		t.target(name)
	}
	if cfg.DLQTopic != "" {
		t.Topics = append(t.Topics, Topic{Name: cfg.DLQTopic, Role: DeadLetter})
		t.allow(cfg.DLQTopic, Literal, DeadLetter)
	}
	if cfg.EventsTopic != "" {
		t.Topics = append(t.Topics, Topic{Name: cfg.EventsTopic, Role: Events})
		t.allow(cfg.EventsTopic, Literal, Events)
	}
	for _, ingress := range cfg.IngressTopics {
		t.journal(cfg, ingress)
	}
	for _, ingress := range cfg.IngressTopics {
		t.runs(cfg, ingress)
	}
	if cfg.GroupID == "*" {
		t.Gaps = append(t.Gaps, Gap{cfg.GroupID, Group, "In an ACL this is every group, and no ACL is for a group of this name alone. " +
			"Give the group another name in LAYOVER_GROUP_ID."})
		return t
	}
	t.allow(cfg.GroupID, Literal, Group)
	return t
}

// target adds a topic that records may go to, or the ACL of a glob.
func (t *Table) target(name string) {
	if !config.IsGlob(name) {
		t.Topics = append(t.Topics, Topic{Name: name, Role: Target})
		t.allow(name, Literal, Target)
		return
	}
	prefix, ok := PrefixOf(name)
	if !ok {
		t.Gaps = append(t.Gaps, Gap{name, Target, "No ACL is the same as this glob. Allow Write, Describe and DescribeConfigs on each of its topics."})
		return
	}
	t.Gaps = append(t.Gaps, Gap{name, Target, fmt.Sprintf("No topic can be made of a glob. Its ACL is for every name that begins with %q.", prefix)})
	t.allow(prefix, Prefixed, Target)
}

// PrefixOf returns the beginning that all names which a glob matches have in common, and
// whether the glob matches every name with it. If so, a prefixed ACL is the same.
func PrefixOf(glob string) (prefix string, ok bool) {
	prefix = strings.TrimRight(glob, "*")
	return prefix, prefix != "" && prefix != glob && !config.IsGlob(prefix)
}

// journal adds the journal of an ingress topic. With LAYOVER_JOURNAL=off none is made, and
// one that a commit names is still read.
func (t *Table) journal(cfg *config.Config, ingress string) {
	name := cfg.JournalName(ingress)
	off := cfg.Journal == config.JournalOff
	switch {
	case !delay.IsTopicName(name) && off:
	case !delay.IsTopicName(name):
		t.Gaps = append(t.Gaps, Gap{name, Journal, fmt.Sprintf("No topic can have this name, so that %s has no journal. Set LAYOVER_JOURNAL_TOPIC.", ingress)})
	case off:
		t.Rights = append(t.Rights, Right{OnTopic, name, Literal, Journal, []Operation{Describe, Read}, "reading a journal that a commit names from before",
			"the records whose offsets it holds come again"})
	default:
		t.Topics = append(t.Topics, Topic{Name: name, Role: Journal, Of: ingress, Config: JournalConfig()})
		t.allow(name, Literal, Journal)
	}
}

// runs adds the runs topic of an ingress topic. Where nothing is moved none is made, and
// what an earlier process has moved is still delivered.
func (t *Table) runs(cfg *config.Config, ingress string) {
	name := cfg.RunsName(ingress)
	off := cfg.Runs == config.RunsOff || cfg.Journal == config.JournalOff
	switch {
	case cfg.HasRuns(ingress):
		t.Topics = append(t.Topics, Topic{Name: name, Role: Runs, Of: ingress, Config: append(RunsConfig(), RunsSize(DefaultMaxBytes))})
		t.allow(name, Literal, Runs)
	case delay.IsTopicName(name):
		t.Rights = append(t.Rights, Right{OnTopic, name, Literal, Runs, []Operation{Describe, Read, Delete}, "emptying it, where records were moved before",
			"the records that it holds are late until it is allowed"})
	case !off:
		t.Gaps = append(t.Gaps, Gap{name, Runs, fmt.Sprintf("No topic can have this name, so that nothing of %s is moved. Set LAYOVER_RUNS_TOPIC, or LAYOVER_GROUP_ID.", ingress)})
	}
}

// allow adds the rights that a role has on a name.
func (t *Table) allow(name string, pattern Pattern, role Role) {
	for _, r := range rightsOf(role) {
		r.Name, r.Pattern, r.Role = name, pattern, role
		t.Rights = append(t.Rights, r)
	}
}

// rightsOf are the rights of a role, without the name.
func rightsOf(role Role) []Right {
	topic := func(what, without string, operations ...Operation) Right {
		return Right{Resource: OnTopic, Operations: operations, For: what, Without: without}
	}
	switch role {
	case Ingress:
		return []Right{
			topic("reading it", "the topic counts as forbidden and nothing is read of it", Read, Describe),
			topic("comparing its retention", "retention is not checked", DescribeConfigs),
		}
	case Target:
		return []Right{
			topic("delivering", "the target's records are held for LAYOVER_TARGET_PATIENCE and then dead-lettered", Write, Describe),
			topic("its max.message.bytes", "Kafka's default of 1 MiB counts until a broker refuses a batch", DescribeConfigs),
		}
	case DeadLetter:
		return []Right{
			topic("dead letters", "reading pauses at the first dead letter", Write, Describe),
			topic("its max.message.bytes", "Kafka's default of 1 MiB counts until a broker refuses a batch", DescribeConfigs),
		}
	case Events:
		return []Right{
			topic("events", "each event is held for LAYOVER_TARGET_PATIENCE, and then dropped and counted", Write, Describe),
			topic("its max.message.bytes", "Kafka's default of 1 MiB counts until a broker refuses a batch", DescribeConfigs),
		}
	case Journal:
		return []Right{
			topic("making it", "somebody else has to make it; until then there is no journal", Create),
			topic("finding it", "it is not used", Describe),
			topic("comparing its settings", "they are not compared", DescribeConfigs),
			topic("a restart", "the records whose offsets it holds come again", Read),
			topic("facts and snapshots", "it is not used", Write),
			topic("adding partitions", "new partitions do without a journal", Alter),
			topic("deleting unneeded records", "it grows", Delete),
		}
	case Runs:
		return []Right{
			topic("making it", "somebody else has to make it; until then nothing is moved", Create),
			topic("finding it", "nothing is moved, and the records that it holds are late", Describe),
			topic("seeing that it keeps records", "nothing is moved from the next start on", DescribeConfigs),
			topic("reading records shortly before they are due", "nothing is moved, and the records that it holds are late", Read),
			topic("moving records", "nothing is moved", Write),
			topic("adding partitions", "nothing of new partitions is moved", Alter),
			topic("deleting delivered records", "it grows", Delete),
		}
	default:
		return []Right{{Resource: OnGroup, Operations: []Operation{Read}, For: "joining and committing", Without: "Layover does not join, and reads nothing"}}
	}
}

// IngressConfig is the configuration with which an ingress topic keeps records until they
// are delivered. runs is whether those that are far off are moved. Then it is more than
// [Retention] asks for: a topic that is made should outlast a weekend without Layover.
func IngressConfig(maxDelay time.Duration, runs bool) []Setting {
	keep := Retention(maxDelay, false)
	if runs {
		keep = min(keep, madeRetention)
	}
	return []Setting{
		{"retention.ms", strconv.FormatInt(keep.Milliseconds(), 10), "deletes records before they are delivered, where it is less"},
		{"retention.bytes", "-1", "deletes by size, whatever the delay"},
		{"cleanup.policy", "delete", "deletes a parked record when its key comes again"},
	}
}

// IngressFlags are the flags of kafka-topics.sh --create that an ingress topic needs beside its name, whatever the
// brokers' defaults are.
func IngressFlags(maxDelay time.Duration, runs bool, partitions int32) string {
	flags := fmt.Sprintf("--partitions %d", partitions)
	for _, set := range IngressConfig(maxDelay, runs) {
		flags += " --config " + set.Name + "=" + set.Value
	}
	return flags
}

// JournalConfig is the configuration with which only Layover deletes facts.
func JournalConfig() []Setting {
	return []Setting{
		{"cleanup.policy", "delete", "deletes facts or refuses them, as they have no key"},
		{"retention.ms", "-1", "deletes facts by age"},
		{"retention.bytes", "-1", "deletes facts by size"},
	}
}

// RunsSegmentBytes is the size of a segment of a runs topic: a broker frees whole segments
// that are closed, and no part of one.
const RunsSegmentBytes = 64 << 20

// RunsConfig is the configuration with which only Layover deletes moved records, and with
// which brokers free the disk of deleted ones soon. An ingress topic's runs topic has its
// min.insync.replicas as well, and a larger max.message.bytes: see RunsSize.
func RunsConfig() []Setting {
	return []Setting{
		{"cleanup.policy", "delete", "deletes records before they are delivered, when their key comes again"},
		{"retention.ms", "-1", "deletes records before they are delivered, by age"},
		{"retention.bytes", "-1", "deletes records before they are delivered, by size"},
		{"segment.bytes", strconv.Itoa(RunsSegmentBytes), "keeps delivered records on disk for longer, where it is more: whole closed segments are freed"},
	}
}

// MayDelete reports whether brokers delete copies by themselves with a value of this setting
// of a runs topic. One that is not told, "", may. Such a topic is not used.
func MayDelete(setting, value string) bool {
	switch setting {
	case "cleanup.policy":
		return value != "delete"
	case "retention.ms", "retention.bytes":
		limit, err := strconv.ParseInt(value, 10, 64)
		return err != nil || limit >= 0
	default:
		return false
	}
}

// DefaultMaxBytes is Kafka's default of max.message.bytes.
const DefaultMaxBytes = 1_048_588

// RunsSize is the setting with which a runs topic takes the copies of all records of its
// ingress topic, which has that max.message.bytes.
func RunsSize(ingress int) Setting {
	return Setting{"max.message.bytes", strconv.Itoa(RunsMaxBytes(ingress)), "refuses the copies of some records, which stay in memory"}
}

// RunsMaxBytes is the least max.message.bytes of the runs topic of an ingress topic that has
// ingress bytes. A copy has a header more than its record.
// A directory of as many runs as there may be takes up to 400 KiB, however small the records are.
func RunsMaxBytes(ingress int) int { return max(ingress+64<<10, 512<<10) }
