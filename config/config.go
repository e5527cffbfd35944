// Package config reads the settings of Layover from environment variables.
//
//	KAFKA_BROKERS=kafka:9092
//	LAYOVER_INGRESS_TOPICS=delayed
//	LAYOVER_EGRESS_TOPIC=ready
//	LAYOVER_DLQ_TOPIC=dead-letters
//
// is a whole configuration. [Config] is the specification: a field's name
// gives the variable's, its tags the default, the range, the choices and an
// example. The same tags make the check, the error and the help ([Table]), so
// that the three cannot disagree. The walk over the specification is
// github.com/kelseyhightower/envconfig's. Its decoding is not used, because its
// Process
//
//   - accepts a required variable that is present and empty, and fails on an
//     empty integer that has a default: here empty means unset;
//   - stops at the first error, and prints the raw value in it: here all of
//     them are reported, and no value that may be a secret is printed;
//   - reads 010 as 8, knows no days, and does not trim lists;
//   - reads a variable of a field with the tag envconfig without its prefix, too;
//   - reads only the environment of its own process: here the environment is
//     an argument, so a test needs no lock on it.
//
// Every variable has a twin, NAME_FILE, that names a file with the value: where
// secrets are mounted, they need not be in the environment too. A [Secret] is read
// again when it is needed, and nothing prints it. A directory of bindings, named by
// SERVICE_BINDING_ROOT, fills settings of the connection that are unset.
//
// A name that somebody may have meant for TLS or a login is an error: connections are
// never in plaintext unasked.
//
// The package is not a store of settings: it reads them once but for secrets. It
// knows no flags and no files of settings, and never asks Kafka whether the settings
// make sense there.
package config

import (
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"time"

	"layover/delay"
)

// Config is every setting of one Layover process. [Load] fills it and checks
// it; afterwards it is only read, so any goroutine may.
//
// Of the tags, default is literal text, decoded like a value. derived describes a
// default that depends on other settings or on the machine. min and max bound a
// number, duration or size, both inclusive. kind names the syntax of a string or of
// a list's entries. secret keeps the value out of every output. The tag envconfig is
// a name that the split into words would not give. envconfig's Process would take it
// without its prefix as well, and is not used.
type Config struct {
	// Kafka is how to connect. The tag keeps it out of LAYOVER_*: an application
	// beside Layover commonly shares these settings.
	Kafka Kafka `ignored:"true"`

	// IngressTopics are the topics that are read, at least one, each once.
	IngressTopics []string `split_words:"true" required:"true" kind:"topics" example:"delayed" desc:"topics to read delayed records from"`
	// EgressTopic is the target of a record that names none, and whose ingress
	// topic has none in TopicTargets. It is empty only where TargetsAllowed is
	// set, or TopicTargets has every ingress topic. A record without a target is
	// invalid then.
	EgressTopic string `split_words:"true" kind:"topic" derived:"required unless LAYOVER_TARGETS_ALLOWED is set or LAYOVER_TOPIC_TARGETS has every ingress topic" example:"ready" desc:"target of a record that names none"`
	// TargetsAllowed are the topic names and path.Match globs that a header may
	// choose, each once. The egress topic and those of TopicTargets always may be
	// chosen. Ingress, dead-letter, events, journal, runs and __* topics never may,
	// also where a glob matches them. A glob cannot be checked for that here, so the
	// reader of this list has to.
	TargetsAllowed []string `split_words:"true" kind:"targets" derived:"the egress topic and those of LAYOVER_TOPIC_TARGETS alone" example:"ready,orders.*" desc:"names or globs of the topics that a header may choose; the egress topic and those of LAYOVER_TOPIC_TARGETS always are, ingress, dead-letter, events, journal, runs and __* topics never are"`
	// TopicTargets stand in for the egress topic, each for one of
	// IngressTopics; no ingress topic has two.
	TopicTargets []TopicTarget `split_words:"true" derived:"none" example:"delayed=ready" desc:"targets that stand in for the egress topic, by ingress topic; a header may choose them too"`
	// DLQTopic takes the records that cannot be delivered; empty is none.
	DLQTopic string `split_words:"true" kind:"topic" derived:"none" example:"dead-letters" desc:"dead-letter topic"`
	// OnInvalid is the policy for an invalid record. It is OnInvalidDLQ only
	// where DLQTopic is set, and OnInvalidDeliver only where EgressTopic is or
	// TopicTargets has every ingress topic.
	OnInvalid OnInvalid `split_words:"true" choices:"dlq,deliver,drop,halt" derived:"dlq where LAYOVER_DLQ_TOPIC is set, else it must be chosen" example:"dlq" desc:"fate of an invalid record: dead-letter it, deliver it to the egress topic or its stand-in (at once, but a retry without attempts after its last wait), drop it and count it, or halt its partition"`

	// OnExpired is what becomes of an expired record. It is OnExpiredDLQ only where
	// DLQTopic is set.
	OnExpired OnExpired `split_words:"true" choices:"dlq,drop" derived:"dlq where LAYOVER_DLQ_TOPIC is set, else drop" example:"drop" desc:"fate of a record that expires before it is delivered: dead-letter it, or drop it and count it"`
	// EventsTopic takes a record for each record that ends without another trace; empty is
	// none. It is no topic above, no journal, and no runs topic.
	EventsTopic string `split_words:"true" kind:"topic" derived:"none" example:"layover-events" desc:"topic for a JSON record of each record that was cancelled or replaced, each cancel that came too late or met none, and each expired record that was dropped"`

	// GroupID is the consumer group, the same in all replicas.
	GroupID string `split_words:"true" kind:"group" derived:"layover-<first ingress topic>" example:"layover-delayed" desc:"consumer group, the same in all replicas; with several ingress topics, set it"`
	// GroupInstanceID makes the process a static member; empty is a dynamic
	// one. Two live processes with the same one fence each other.
	GroupInstanceID string `split_words:"true" kind:"instance" derived:"none" example:"layover-0" desc:"static membership: a name that only this replica has"`
	// SessionTimeout is how long the group waits for a heartbeat, sent every
	// third of it, before it gives the partitions to others. Brokers have
	// their own range, by default 6s to 30m; below it they refuse to join.
	SessionTimeout time.Duration `split_words:"true" default:"10s" min:"1s" max:"30m" example:"10s" desc:"the group takes a silent member's partitions after this long; brokers by default refuse less than 6s"`
	// StartOffset is used only where no partition of the group has a
	// committed offset.
	StartOffset StartOffset `split_words:"true" default:"earliest" choices:"earliest,latest,none" example:"earliest" desc:"where to start while the group has no committed offset at all"`

	// DefaultDelay is for a record without a delay header whose ingress topic
	// has none in TopicDelays; at most MaxDelay.
	DefaultDelay time.Duration `split_words:"true" default:"0s" min:"0s" max:"3650d" example:"5m" desc:"delay of a record without a delay header, at most LAYOVER_MAX_DELAY"`
	// TopicDelays stand in for the default delay, each for one of
	// IngressTopics; no ingress topic has two. Each is at most MaxDelay.
	TopicDelays []TopicDelay `split_words:"true" derived:"none" example:"delayed=30s" desc:"delays or back-offs that stand in for the default delay, by ingress topic; a header wins over them"`
	// MaxDelay is the longest valid delay. Where [Config.RunsOn] is false it should be at
	// least a day below the ingress topic's retention, or parked records are deleted there.
	// So its default depends on that, too.
	MaxDelay time.Duration `split_words:"true" derived:"30d; 6d where LAYOVER_RUNS or LAYOVER_JOURNAL is off" min:"1ms" max:"3650d" example:"6d" desc:"a longer delay is invalid; where nothing is moved to runs, keep it a day below the retention of the ingress topics"`

	// Backoff is what auto means as a delay; its last wait is at most MaxDelay. Where
	// it is not set, a maximum below an hour shortens the default's waits.
	Backoff delay.Backoff `default:"1s..1h x2 jitter=20% max=16" example:"5s..6h x3 max=20" desc:"what auto means as a delay: each attempt of a record waits FACTOR times as long as the one before, from FIRST to LAST, at most LAYOVER_MAX_DELAY, less a share of up to P, and attempt N is the last"`
	// MaxHops is how often one record may be delivered; zero is no end.
	MaxHops int `split_words:"true" default:"1000" min:"0" max:"1000000" example:"100" desc:"how often a record that was delivered may come back to be delivered again, before it counts as going in a circle and is invalid; 0 is no end"`

	// ExpireAfter is how long after its deadline a record without an expiry of its own is
	// no longer handed out; zero is for ever.
	ExpireAfter time.Duration `split_words:"true" default:"0s" min:"0s" max:"3650d" example:"1h" desc:"a record without x-expire-at expires this long after its deadline; 0s is never"`

	// Headers are the presets whose headers count, in the order in which they win, each once.
	// The native one always is, and wins, wherever it stands.
	Headers []string `split_words:"true" kind:"presets" default:"native" example:"spring,etf1" desc:"other products whose headers count beside Layover's own, which are native and always win; the first of the list wins over the next"`
	// HeaderMap gives single headers a meaning; it wins over the presets. No header is there
	// twice, in any case of letters, and none is one of Layover's own.
	HeaderMap []delay.Mapping `split_words:"true" derived:"none" example:"X-Run-At=rfc3339" desc:"headers of others that count, each with the format of its value; they win over those of LAYOVER_HEADERS"`

	// Partition is how a target partition is chosen. With PartitionSame each
	// target needs as many partitions as the ingress topic; only Kafka knows
	// whether it has them.
	Partition Partition `split_words:"true" default:"key" choices:"key,same" example:"same" desc:"partition that a record is delivered to: by the hash of its key, or the same as in the ingress topic, for which the target needs as many"`
	// Timestamp is the timestamp that a delivered record carries.
	Timestamp Timestamp `split_words:"true" default:"delivery" choices:"delivery,original" example:"original" desc:"timestamp of a delivered record: the time of its delivery, or its original one"`
	// AddedHeaders are the headers about itself that a delivered record has. Those that count
	// its deliveries and attempts are added whatever this is.
	AddedHeaders delay.Added `split_words:"true" kind:"added" default:"id,due,original-timestamp" example:"id" desc:"headers that a delivered record has besides its own: layover-id, by which consumers know repeats, layover-due, and layover-original-timestamp; dead letters, and what counts attempts and hops, are not affected"`
	// Compression is the codec that records are produced with.
	Compression Compression `split_words:"true" default:"snappy" choices:"snappy,lz4,zstd,gzip,none" example:"zstd" desc:"compression of the records that are produced"`

	// MaxParkedBytes bounds the memory of parked records; over it reading
	// pauses. The default is half of [MemoryLimit], 256Mi if that is unknown.
	MaxParkedBytes int64 `split_words:"true" derived:"half the container's memory limit, 256Mi if unknown" min:"1Mi" max:"1Ti" example:"256Mi" desc:"memory for parked records; over it reading pauses and delivery goes on"`
	// TargetPatience is how long a record is held for a target that is
	// missing, unreachable or forbidden, not counting time without a broker.
	TargetPatience time.Duration `split_words:"true" default:"15m" min:"10ms" max:"30d" example:"15m" desc:"how long a record is held for a target that is missing, unreachable, forbidden, or short of partitions"`
	// CatchupRate is how many records a second, of a process and target, go on that are
	// more than 10 s late. Other late records follow one by one. Zero is no rate: all
	// go at once.
	CatchupRate int `split_words:"true" default:"0" min:"0" max:"1000000" example:"1000" desc:"records a second, of a process and target, that are more than 10s late; 0 delivers them as fast as the target takes them"`
	// Lanes is the number of lanes, each a goroutine with its share of the
	// partitions. The default is the smaller of 4 and the usable cores.
	Lanes int `split_words:"true" derived:"the smaller of 4 and the cores" min:"1" max:"64" example:"4" desc:"parallel lanes; one without partitions idles"`
	// CommitInterval is the longest time that finished records stay
	// uncommitted while Kafka answers.
	CommitInterval time.Duration `split_words:"true" default:"1s" min:"10ms" max:"1m" example:"1s" desc:"time between commits"`
	// Journal is whether a finished set that does not fit into its commit's
	// metadata is written to a topic. JournalOff stops the writing alone: a
	// commit may name a journal from before, which is read until none does.
	Journal JournalMode `split_words:"true" default:"auto" choices:"auto,off" example:"auto" desc:"where finished sets go that do not fit into commit metadata: auto makes and uses a topic per ingress topic, off commits the prefix that fits and repeats the other records after a crash"`
	// JournalTopic is the name of a journal with its placeholders, for
	// [Config.JournalName] to replace. It has {ingress} where there are several
	// ingress topics, and no journal has the name of a topic above, in both
	// modes. Whether Kafka takes the replaced name is not checked. The group may
	// have characters that no topic may, and no journal is needed while the
	// finished sets fit.
	JournalTopic string `split_words:"true" default:"{ingress}.{group}" kind:"journal" example:"{ingress}.{group}.journal" desc:"name of an ingress topic's journal, {ingress} and {group} replaced; without {group} all groups share it"`
	// Runs is whether records that are far off are moved to a topic. RunsOff stops the
	// moving alone: copies from before are delivered when they are due.
	Runs RunsMode `split_words:"true" default:"auto" choices:"auto,off" example:"off" desc:"where far-off records wait: auto makes a topic per ingress topic and moves them there, where memory or the ingress topic's retention asks for it; off moves none, and delivers those that were moved"`
	// RunsTopic is the name of a runs topic with its placeholders, for
	// [Config.RunsName] to replace. It has both of them, as the topic is of one ingress
	// topic and one group. No runs topic has the name of a topic above or of a journal,
	// in both modes. Whether Kafka takes the replaced name is not checked, as with
	// JournalTopic: where it does not, nothing is moved.
	RunsTopic string `split_words:"true" default:"{ingress}.{group}.runs" kind:"runs" example:"runs.{ingress}.{group}" desc:"name of an ingress topic's runs topic, {ingress} and {group} replaced; it needs both"`
	// ShutdownTimeout bounds the whole stop, also with Kafka down.
	ShutdownTimeout time.Duration `split_words:"true" default:"8s" min:"100ms" max:"10m" example:"8s" desc:"the whole stop takes at most this"`

	// Preflight is what the doctor's checks are for, at the start and every ten minutes.
	Preflight Preflight `split_words:"true" default:"warn" choices:"warn,fail,off" example:"fail" desc:"checks of brokers, topics and rights, at the start and every ten minutes: warn reports findings, fail also ends a start with exit code 1 before anything is read, where a check fails, off makes none; a Kafka out of reach is waited for"`

	// HTTPAddr is where probes, metrics and status are served; port 0 is any
	// free port, and an empty host every address.
	HTTPAddr string `split_words:"true" default:":9846" kind:"address" example:":9846" desc:"address of probes, metrics and status; port 0 takes any free port"`
	// HTTP is the certificate of both servers.
	HTTP HTTP
	// AdminAddr is where profiles and the log level are served; empty is off. Without a
	// token it is loopback, and it is never HTTPAddr.
	AdminAddr string `split_words:"true" kind:"address" derived:"off" example:"127.0.0.1:9847" desc:"address of profiles and the log level, for operators; one that is not loopback needs LAYOVER_ADMIN_TOKEN"`
	// AdminToken is needed for each request to AdminAddr, where it is set.
	AdminToken Secret `split_words:"true" kind:"token" secret:"true" derived:"none" example:"..." desc:"bearer token that each request to LAYOVER_ADMIN_ADDR needs; its file is read again for each"`

	// LogLevel is the lowest level that is logged at the start.
	LogLevel slog.Level `split_words:"true" default:"info" choices:"debug,info,warn,error" example:"info" desc:"lowest level that is logged"`
	// LogFormat is text, JSON, or by LogFormatAuto text on a terminal alone.
	LogFormat LogFormat `split_words:"true" default:"auto" choices:"auto,text,json" example:"json" desc:"auto is text on a terminal, else json"`

	// GOMAXPROCS is how the Go runtime's setting of that name is chosen.
	GOMAXPROCS Auto `split_words:"true" kind:"number" default:"auto" min:"1" max:"1024" example:"auto" desc:"threads that run Go code: auto is one more than the cores, off the Go runtime's own choice"`
	// GOMEMLIMIT is how the Go runtime's setting of that name is chosen; a
	// value is in bytes.
	GOMEMLIMIT Auto `split_words:"true" kind:"size" default:"auto" min:"16Mi" max:"16Ti" example:"auto" desc:"soft memory limit: auto follows the container's limit, off the Go runtime's own choice"`
}

// Client is the settings of the command-line verbs that talk to a running Layover or
// to its topics. A field whose variable is unset is empty, but for HTTPAddr,
// which has its default.
type Client struct {
	Kafka    Kafka  // Brokers may be empty
	Topic    string // the first ingress topic
	HTTPAddr string // host:port
}

// machine is the properties of the host behind the derived defaults: an argument,
// so that tests do not depend on their host.
type machine struct {
	cores       int   // usable by this process, at least 1
	memoryLimit int64 // bytes, 0 if unknown
	// readFile returns a file's content, at most maxFileBytes. Its error
	// continues a sentence that began with the path.
	readFile func(path string) ([]byte, error)
	readDir  func(path string) ([]fs.DirEntry, error)
	now      func() time.Time
}

// thisMachine returns the machine that the process runs on.
func thisMachine() machine {
	host := machine{cores: runtime.GOMAXPROCS(0), readFile: readFile, readDir: os.ReadDir, now: time.Now}
	if limit, ok := MemoryLimit(); ok {
		host.memoryLimit = limit
	}
	return host
}

// Load reads all settings from environ, in the form of [os.Environ], and
// nothing from the environment of the process itself.
//
// An error is an *[Errors] with every problem of every variable, and the
// configuration is nil then. The warnings, one line each without an end, come
// with or without an error. They are about names that look like ours and are
// not, and about settings without effect or safety. Apart from environ it reads
// the files that _FILE variables name and the binding, and asks the machine for
// its cores and its [MemoryLimit].
func Load(environ []string) (*Config, []string, error) {
	return load(environ, thisMachine())
}

func load(environ []string, host machine) (*Config, []string, error) {
	r := newReader(environ, host)
	warnings, err := r.readAll()
	if err != nil {
		return nil, warnings, err
	}
	return r.cfg, warnings, nil
}

// readAll reads and checks every setting.
func (r *reader) readAll() (warnings []string, err error) {
	r.readEach(func(string) bool { return true })
	rules := r.rules()
	rules.refuseMisnamed()
	rules.require()
	rules.derive()
	rules.relate()
	rules.relateKafka()
	rules.relateHTTP()
	return append(unknownNames(r.env), r.warnings...), r.err()
}

// readEach reads the wanted settings. Those of AWS are only read where they are used:
// platforms set them for everybody.
func (r *reader) readEach(wanted func(variable string) bool) {
	r.bind()
	for i := range r.settings {
		s := &r.settings[i]
		if strings.HasPrefix(s.Variable, "AWS_") && r.cfg.Kafka.SASL.Mechanism != MechanismAWS {
			s.decodeDefault()
			continue
		}
		if wanted(s.Variable) {
			r.read(s)
		}
	}
}

// LoadClient reads the settings of [Client] from environ: those of connections, and two
// more. Each of them is checked if it is set and none is required; the other settings
// are not looked at. Warnings and the error are as those of [Load].
func LoadClient(environ []string) (*Client, []string, error) {
	return loadClient(environ, thisMachine())
}

func loadClient(environ []string, host machine) (*Client, []string, error) {
	r := newReader(environ, host)
	r.readEach(func(variable string) bool {
		return !strings.HasPrefix(variable, prefix) || variable == ingressTopics || variable == httpAddr
	})
	rules := r.rules()
	rules.refuseMisnamed()
	rules.relateKafka()
	if err := r.err(); err != nil {
		return nil, r.warnings, err
	}
	c := &Client{Kafka: r.cfg.Kafka, HTTPAddr: r.cfg.HTTPAddr}
	if len(r.cfg.IngressTopics) > 0 {
		c.Topic = r.cfg.IngressTopics[0]
	}
	return c, r.warnings, nil
}
