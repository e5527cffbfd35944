package journal

import (
	"context"

	"layover/cluster/needs"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// kind is one kind of the topics that are kept. Nothing changes it.
type kind struct {
	says    lines
	setting string // that gives its topics other names
	config  []needs.Setting
	uses    []right // without them a topic is not used
	// strict has a topic used only after its configuration was read, and after a look at
	// who else has records in it.
	strict bool
	// counted has users hear how many partitions a topic has.
	counted bool
	// likeIngress returns the settings that a topic has to have because of those of its
	// ingress topic; nil: there are none. alike are the settings to ask about.
	likeIngress func(ingress map[string]string) []needs.Setting
	alike       []string
	// judge returns the faults of a topic's configuration: for the one it is not used, for
	// the other it is. "" is none.
	judge func(t *kept, values map[string]string) (unsafe, warning string)
	// look looks for others' records in topics, and has the keeper take what it finds in each
	// of them. nil: nobody looks.
	look    func(ctx context.Context, k *keeper, due []kept)
	changed func(ingress string, s standing)
}

// right is an operation on a topic, as an ACL has its name.
type right struct {
	name      string
	operation kmsg.ACLOperation
}

// missing says whether an answer about a topic tells that the right is missing. Brokers that
// are not asked, or too old, tell nothing.
func (r right) missing(operations int32) bool {
	return operations > 0 && operations&(1<<r.operation) == 0
}

// lines are the messages of a kind for the log. Each says its cost.
type lines struct {
	nameless         string // no topic can have the name
	deleted          string
	madeAgain        string
	mayNot, may      string // be used
	notMade, made    string
	there            string // after notMade
	fewer, got       string // partitions
	enough           string // after fewer
	unread           string // the configuration, and so the topic is not used, or not checked
	unchecked        string // a strict kind's configuration that was read before
	unsafe, safe     string
	unfit, fit       string // of warnings
	notUsed          string // because of others' records
	othersAreUnknown string // an error of the look
}

// journalCost is what it costs to have no journal.
const journalCost = "finished records that do not fit into commit metadata are delivered again after a restart"

// journalLines are those of journals.
func journalLines() lines {
	const again = "finished records that did not fit into commit metadata are delivered again after a restart, until the journal has them anew"
	return lines{
		nameless:         "there is no journal, and " + journalCost,
		deleted:          "journal topic was deleted: " + again,
		madeAgain:        "journal topic was deleted and made again: " + again,
		mayNot:           "journal topic may not be used, and " + journalCost,
		may:              "journal topic may be used",
		notMade:          "journal topic cannot be made, and " + journalCost,
		made:             "journal topic was made",
		there:            "journal topic is there",
		fewer:            "journal topic has fewer partitions than its ingress topic: finished records of the others that do not fit into commit metadata are delivered again after a restart",
		got:              "journal topic has got partitions",
		enough:           "journal topic has a partition for each of its ingress topic",
		unread:           "configuration of journal topic cannot be read, so its retention is not checked",
		unfit:            "journal topic may delete facts that are still needed: records may be delivered again after a restart",
		fit:              "journal topic keeps facts again",
		notUsed:          "journal topic is not used, and " + journalCost,
		othersAreUnknown: "whether another group has records in it is not known",
	}
}

// journalKind is the kind of journals.
func journalKind(cfg *Config) *kind {
	k := &kind{
		says: journalLines(), setting: "LAYOVER_JOURNAL_TOPIC", config: needs.JournalConfig(), uses: []right{{"Write", kmsg.ACLOperationWrite}},
		judge: judgeJournal,
		changed: func(ingress string, s standing) {
			cfg.Changed(ingress, State{Usable: s.usable, TopicID: s.id, MaxBytes: s.maxBytes})
		},
	}
	if cfg.Shared {
		k.look = lookForGroups(cfg.Group)
	}
	return k
}

// runsCost is what it costs to have no runs topic.
const runsCost = "records that are due far off stay in memory"

// runsLines are those of runs topics.
func runsLines() lines {
	const lost = ", and its records are gone: those that were moved there and not delivered are lost"
	return lines{
		nameless:         "there is no runs topic, and " + runsCost,
		deleted:          "runs topic was deleted" + lost,
		madeAgain:        "runs topic was deleted and made again" + lost,
		mayNot:           "runs topic may not be used, and " + runsCost,
		may:              "runs topic may be used",
		notMade:          "runs topic cannot be made, and " + runsCost,
		made:             "runs topic was made",
		there:            "runs topic is there",
		fewer:            "runs topic has fewer partitions than its ingress topic: records of the others that are due far off stay in memory",
		got:              "runs topic has got partitions",
		enough:           "runs topic has a partition for each of its ingress topic",
		unread:           "configuration of runs topic cannot be read, so it is not used, and " + runsCost,
		unchecked:        "configuration of runs topic cannot be read any more, so its retention is not checked: records may be lost",
		unsafe:           "runs topic may delete copies of records that are not delivered, and these are lost: it is not used, and " + runsCost,
		safe:             "runs topic keeps copies again",
		unfit:            "runs topic has settings that do not suit it",
		fit:              "runs topic has settings that suit it",
		notUsed:          "runs topic is not used, and " + runsCost,
		othersAreUnknown: "whether others have copies in it is not known",
	}
}

// runsKind is the kind of runs topics. Unlike journals they hold records: such a topic is not
// used before its configuration and its first records are known.
func runsKind(cfg *Config) *kind {
	return &kind{
		says: runsLines(), setting: "LAYOVER_RUNS_TOPIC", config: needs.RunsConfig(),
		uses:   []right{{"Write", kmsg.ACLOperationWrite}, {"Read", kmsg.ACLOperationRead}},
		strict: true, counted: true, likeIngress: likeIngress, alike: []string{maxMessageBytes, minInSync}, judge: judgeRuns, look: lookForOwners(cfg.Group),
		changed: func(ingress string, s standing) { cfg.Runs.Changed(ingress, runsTopic(s)) },
	}
}

func runsTopic(s standing) RunsTopic {
	return RunsTopic{Known: s.known, Usable: s.usable, TopicID: s.id, MaxBytes: s.maxBytes, Partitions: s.partitions}
}
