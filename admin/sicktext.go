package admin

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"layover/cluster/connect"
)

// Commands in texts. KAFKA_BROKERS stands for the value of that setting.
const (
	kafkaTopics       = "kafka-topics.sh --bootstrap-server $KAFKA_BROKERS "
	kafkaConfigs      = "kafka-configs.sh --bootstrap-server $KAFKA_BROKERS "
	kafkaTransactions = "kafka-transactions.sh --bootstrap-server $KAFKA_BROKERS "
)

// grant is the beginning of a command that gives Layover rights.
func (set *Settings) grant() string {
	who := "User:NAME"
	if set.Principal != nil {
		who = set.Principal()
	}
	return "kafka-acls.sh --bootstrap-server $KAFKA_BROKERS --add --allow-principal " + who + " "
}

func refusalText(broker string, others int, r *connect.Refusal) string {
	who := "The broker " + broker + " refuses"
	if others > 0 {
		who = fmt.Sprintf("The broker %s and %s refuse", broker, counted(others, "other", "others"))
	}
	return fmt.Sprintf("%s the connection: look at %s. The reason: %s. Nothing is lost, and due records wait. Layover tries again by itself, every 30 s at "+
		"most, and reads files of secrets and certificates anew each time; a setting needs a restart.", who, r.LookAt, strings.TrimSuffix(r.Message, "."))
}

func (v *view) kafkaText(since time.Time) string {
	why := ""
	if v.Kafka.Err != "" {
		why = " (" + v.Kafka.Err + ")"
	}
	what := "No broker has answered" + v.since(since)
	if v.Kafka.OthersAnswer {
		what = "Brokers answer, and none has said" + v.since(since) + " which topics there are"
	}
	return what + why + ". Nothing is lost, and due records wait. Layover connects again by itself. " +
		"Mend Kafka or the way to it, and see whether KAFKA_BROKERS, names and certificates are right: " +
		"kafka-broker-api-versions.sh --bootstrap-server $KAFKA_BROKERS"
}

func groupText(g *Sickness) string {
	what := map[string]string{
		"refused":    "This process reads and delivers nothing until it has joined again.",
		"not_joined": "This process reads and delivers nothing until it has joined.",
		"lease":      "This process delivers nothing until the coordinator has taken a commit of it.",
	}[g.Reason]
	return fmt.Sprintf("%s. %s Nothing is lost, other members go on, and Layover tries again by itself. See whether the group has a coordinator "+
		"and this member the right Read on it: kafka-consumer-groups.sh --bootstrap-server $KAFKA_BROKERS --describe --group %s --state",
		capital(g.short), what, g.Name)
}

func (v *view) ingressText(t TopicState) string {
	if t.State == "forbidden" {
		return fmt.Sprintf("Kafka does not let Layover read the ingress topic %s. Records that were read are still delivered until the next rejoin or "+
			"restart, and other ingress topics are not affected.%s Allow Read, Describe and DescribeConfigs on topic %s, and Layover reads on within "+
			"seconds: %s--topic %s --operation Read --operation Describe --operation DescribeConfigs",
			t.Name, v.copiesOf(t.Name, "may be read"), t.Name, v.Settings.grant(), t.Name)
	}
	copies := v.copiesOf(t.Name, "is made again")
	if n := v.parts.inMemoryOf(t.Name); n > 0 {
		then := "none waits, in no instance, make it again or take it out of LAYOVER_INGRESS_TOPICS"
		if copies != "" {
			then = "none waits in memory, in no instance, make it again"
		}
		return fmt.Sprintf("The ingress topic %s does not exist. Nothing more of it is read, and other ingress topics are not affected. %s in memory, "+
			"and delivery goes on at the deadlines. Those that still wait are lost if it is made again now, or this process is restarted.%s "+
			"Once %s.",
			t.Name, countedLong(n, "record of it still waits", "records of it still wait"), copies, then)
	}
	way := "Correct LAYOVER_INGRESS_TOPICS and restart, or make the topic, which is read within seconds"
	if copies != "" {
		way = "Once no instance has records of it in memory, make the topic, which is read within seconds, and they are delivered"
	}
	return fmt.Sprintf("The ingress topic %s does not exist. Nothing of it is read, and other ingress topics are not affected.%s %s: %s--create --topic %s %s",
		t.Name, copies, way, kafkaTopics, t.Name, v.Settings.IngressFlags[t.Name])
}

// inMemoryOf returns how many records of an ingress topic wait in memory, or are in flight.
func (all parts) inMemoryOf(topic string) (n int64) {
	for i := range all {
		if c := all[i].core; c != nil && all[i].topic == topic {
			n += int64(c.Parked + c.Due + c.InFlight)
		}
	}
	return n
}

func namesText(n *Names) string {
	return fmt.Sprintf("Headers have chosen more than %d targets under globs within ten minutes, which is as many as Layover knows at a time. Records for "+
		"one more are held, and dead-lettered after LAYOVER_TARGET_PATIENCE; targets that exist and are in use go on. Find the producer that invents "+
		"names for x-deliver-to, or narrow the globs in LAYOVER_TARGETS_ALLOWED.", n.Limit)
}

// stopWayOn returns Layover's own way on from a partition that is not read.
func stopWayOn(p *part, reason string) string {
	see := "the partition has a leader"
	switch reason {
	case reasonNotBegun:
	case reasonFetchFailed:
		see = "the partition's leader is well, and answers this process"
	default:
		return ""
	}
	return fmt.Sprintf(" Layover asks again by itself. See whether %s: %s--describe --topic %s", see, kafkaTopics, p.topic)
}

func leaderlessText(p *part) string {
	return fmt.Sprintf("No broker leads %s/%d, so it is not read. Records that were read are still delivered, and other partitions are not "+
		"affected. Layover reads on by itself when a broker leads it: %s--describe --topic %s --unavailable-partitions",
		p.topic, p.partition, kafkaTopics, p.topic)
}

// transactionText describes a transaction that keeps the records behind it from being read.
func transactionText(p *part, since string) string {
	at, where := p.member.OpenAt, fmt.Sprintf("--topic %s --partition %d", p.topic, p.partition)
	return fmt.Sprintf("A transaction at offset %d of %s/%d has been open%s, or longer. Kafka hands out nothing from there on before it ends: %s, and "+
		"what asked for a shorter delay is late. Records that were read are still delivered, and other partitions are not affected. Its producer ends "+
		"it, or Kafka does after that producer's transaction.timeout.ms, and Layover reads on by itself. Whose it is: %sdescribe-producers %s. "+
		"If it hangs, abort it, which drops the records that it wrote: %sabort %s --start-offset %d",
		at, p.topic, p.partition, since, countedLong(p.member.End-at, "offset waits unread", "offsets wait unread"),
		kafkaTransactions, where, kafkaTransactions, where, at)
}

// targetNoun is the noun for a target within a sentence.
func targetNoun(k SickKey) string {
	noun := "target "
	switch k.Kind {
	case SickDeadLetter:
		noun = "dead-letter topic "
	case SickEvents:
		noun = "topic of events "
	}
	if k.Partition >= 0 {
		return fmt.Sprintf("partition %d of %s%s", k.Partition, noun, k.Name)
	}
	return noun + k.Name
}

// NoRoomForName begins the detail of a target that is not asked about, as there is no room for its name.
const NoRoomForName = "headers choose more target names than"

// targetFault is what is wrong with a target, or with another topic that is produced to, in words.
type targetFault struct {
	*ailing
	v   *view
	key SickKey
}

func (f targetFault) text() string {
	what := map[string]string{
		"missing": "does not exist", "forbidden": "may not be written to", "mismatched": "has too few partitions",
		"rejecting": "refuses a record for its content",
	}[f.reason]
	if what == "" {
		what = "does not take records"
	}
	if f.noRoom() {
		what = "is not known yet"
	}
	if f.detail != "" {
		what += " (" + strings.TrimSuffix(f.detail, ".") + ")"
	}
	noun := "The " + targetNoun(f.key)
	if f.key.Partition >= 0 {
		noun = capital(targetNoun(f.key))
	}
	if f.glob {
		noun = "A target under " + f.key.Name
	}
	return fmt.Sprintf("%s %s. %s %s", noun, what, f.rest(), f.wayOn())
}

// noRoom reports whether a target is not asked about. It may exist.
func (f targetFault) noRoom() bool { return strings.HasPrefix(f.detail, NoRoomForName) }

// rest describes the records that wait and the parts that go on.
func (f targetFault) rest() string {
	if f.key.Kind == SickDeadLetter {
		return "Nothing is lost: reading pauses as long as a record has to go there, and parked records are still delivered."
	}
	if f.key.Kind == SickEvents {
		return eventsRest(f.ailing)
	}
	rest := "No record waits for it yet."
	if f.records > 0 {
		others := "others are delivered"
		if slices.Contains(f.v.Pauses, Pause{Reason: PauseTarget, Target: f.key.Name}) {
			others = "others are delivered that are read already: nothing more is read while these wait"
		}
		rest = fmt.Sprintf("%s for it, and %s.", counted(f.records, "due record waits", "due records wait"), others)
	}
	return rest + " " + f.patience()
}

// eventsRest describes the events that wait and the parts that go on.
func eventsRest(a *ailing) string {
	waits := "No event waits for it yet."
	if a.records > 0 {
		waits = counted(a.records, "event waits", "events wait") + " for it."
	}
	return waits + " Records are delivered, cancelled and replaced all the same. After LAYOVER_TARGET_PATIENCE an event is given up, and the " +
		"offsets that it is about are finished without it."
}

// patience describes what becomes of the records of a target, when, and of how many it has
// been so already. Patience stands still while no broker answers.
func (f targetFault) patience() string {
	becomes := "goes to the dead-letter topic"
	switch {
	case f.v.Settings.DeadLetter == "":
		becomes = "makes reading pause, as there is no dead-letter topic"
	case f.v.lettersWait:
		becomes = "is given up, and waits for the dead-letter topic"
	}
	if f.records == 0 {
		return "After LAYOVER_TARGET_PATIENCE a waiting record " + becomes + "." + f.givenUpText()
	}
	if f.left == 0 {
		return "LAYOVER_TARGET_PATIENCE is used up: the oldest " + becomes + "." + f.givenUpText()
	}
	return fmt.Sprintf("In %s LAYOVER_TARGET_PATIENCE is used up, and the oldest %s.%s", human(f.left), becomes, f.givenUpText())
}

// givenUpText describes the records that patience or share made dead letters. Those that a
// sick dead-letter topic took are not told apart from those that wait for it.
func (f targetFault) givenUpText() string {
	n := f.givenUp
	if n == 0 {
		return ""
	}
	if f.v.lettersWait {
		return " " + countedLong(n, "record of it is given up already, and waits for the dead-letter topic unless it took it.",
			"records of it are given up already, and wait for the dead-letter topic unless it took them.")
	}
	return " " + countedLong(n, "record of it went to the dead-letter topic already.", "records of it went to the dead-letter topic already.")
}

// wayOn returns the remedy. One for a glob has no command, as a glob names no topic.
func (f targetFault) wayOn() string {
	if f.glob {
		return "/status names each such topic, with the command that makes or mends it, which Layover finds within seconds. Or correct the producer " +
			"that names it, or narrow the glob in LAYOVER_TARGETS_ALLOWED."
	}
	if f.noRoom() {
		return "Layover asks about it as soon as there is room for its name."
	}
	switch f.reason {
	case "missing":
		return fmt.Sprintf("Correct the setting or the producer that names it, or make it, which Layover finds within seconds: %s--create --topic %s", kafkaTopics, f.key.Name)
	case "forbidden":
		return fmt.Sprintf("Allow Write, Describe and DescribeConfigs on topic %s, which Layover finds within seconds: %s--topic %s --operation Write --operation Describe "+
			"--operation DescribeConfigs", f.key.Name, f.v.Settings.grant(), f.key.Name)
	case "mismatched":
		return fmt.Sprintf("Give it as many partitions as the ingress topic has, or set LAYOVER_PARTITION=key: %s--alter --topic %s --partitions", kafkaTopics, f.key.Name)
	case "rejecting":
		return fmt.Sprintf("For a record that is too large even without its value raise max.message.bytes. Or set LAYOVER_DLQ_TOPIC to another topic and restart. "+
			"A compacted topic takes no record without a key: %s--alter --entity-type topics --entity-name %s --add-config cleanup.policy=delete", kafkaConfigs, f.key.Name)
	}
	return fmt.Sprintf("See whether its partitions have leaders and enough replicas in sync: %s--describe --topic %s", kafkaTopics, f.key.Name)
}

func journalText(t JournalTopic) string {
	why := strings.Trim(t.Warning+"; "+t.Err, "; ")
	return fmt.Sprintf("The journal %s of the ingress topic %s has something wrong with it: %s. Nothing is lost and nothing is late, but a crash may "+
		"repeat more records. The rights that it needs, and the command that makes it, are in docs/journal.md.", t.Name, t.Ingress, strings.TrimSuffix(why, "."))
}

// capital returns text with a capital in front, to begin a sentence.
func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
