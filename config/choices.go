package config

// OnInvalid is the policy for a record that cannot be understood.
type OnInvalid string

// The choices of LAYOVER_ON_INVALID.
const (
	OnInvalidDLQ     OnInvalid = "dlq"     // to the dead-letter topic
	OnInvalidDeliver OnInvalid = "deliver" // to the egress topic
	OnInvalidDrop    OnInvalid = "drop"    // counted and gone
	OnInvalidHalt    OnInvalid = "halt"    // its partition reads no further
)

// OnExpired is what becomes of a record whose expiry comes before it is handed out.
type OnExpired string

// The choices of LAYOVER_ON_EXPIRED.
const (
	OnExpiredDLQ  OnExpired = "dlq"  // to the dead-letter topic
	OnExpiredDrop OnExpired = "drop" // counted and gone
)

// StartOffset is where a group without any committed offset begins.
type StartOffset string

// The choices of LAYOVER_START_OFFSET.
const (
	StartEarliest StartOffset = "earliest"
	StartLatest   StartOffset = "latest"
	StartNone     StartOffset = "none"
)

// JournalMode is where finished sets go that do not fit into a commit.
type JournalMode string

// The choices of LAYOVER_JOURNAL.
const (
	JournalAuto JournalMode = "auto" // to a topic, made where it is missing
	JournalOff  JournalMode = "off"  // nowhere: offsets that do not fit into metadata are repeated
)

// RunsMode is whether records that are far off are moved to a topic.
type RunsMode string

// The choices of LAYOVER_RUNS.
const (
	RunsAuto RunsMode = "auto" // moved where memory or retention asks for it
	RunsOff  RunsMode = "off"  // never moved; what is there is delivered
)

// Preflight is what the checks at the start are for.
type Preflight string

// The choices of LAYOVER_PREFLIGHT.
const (
	PreflightWarn Preflight = "warn" // say what they find
	PreflightFail Preflight = "fail" // end the process before it reads, where one fails
	PreflightOff  Preflight = "off"  // are not made
)

// LogFormat is the form of the log's lines.
type LogFormat string

// The choices of LAYOVER_LOG_FORMAT.
const (
	LogFormatAuto LogFormat = "auto"
	LogFormatText LogFormat = "text"
	LogFormatJSON LogFormat = "json"
)

// Partition is how the target partition of a delivered record is chosen.
type Partition string

// The choices of LAYOVER_PARTITION.
const (
	PartitionKey  Partition = "key"  // by the key's hash, as the Java client's
	PartitionSame Partition = "same" // the number that it had in the ingress topic
)

// Timestamp is the timestamp that a delivered record carries.
type Timestamp string

// The choices of LAYOVER_TIMESTAMP.
const (
	TimestampDelivery Timestamp = "delivery" // of the moment it is delivered
	TimestampOriginal Timestamp = "original" // the one it had in the ingress topic
)

// Compression is the codec of the batches that are produced.
type Compression string

// The choices of LAYOVER_COMPRESSION.
const (
	CompressionSnappy Compression = "snappy"
	CompressionLZ4    Compression = "lz4"
	CompressionZstd   Compression = "zstd"
	CompressionGzip   Compression = "gzip"
	CompressionNone   Compression = "none"
)

// SecurityProtocol is Java's security.protocol.
type SecurityProtocol string

// The choices of KAFKA_SECURITY_PROTOCOL.
const (
	ProtocolPlaintext     SecurityProtocol = "PLAINTEXT"
	ProtocolSSL           SecurityProtocol = "SSL"
	ProtocolSASLPlaintext SecurityProtocol = "SASL_PLAINTEXT"
	ProtocolSASLSSL       SecurityProtocol = "SASL_SSL"
)

// Toggle is on, off, or what other settings ask for.
type Toggle string

// The choices of KAFKA_TLS_ENABLED.
const (
	ToggleAuto  Toggle = "auto"
	ToggleTrue  Toggle = "true"
	ToggleFalse Toggle = "false"
)

// Mechanism is Kafka's name of a SASL mechanism.
type Mechanism string

// The choices of KAFKA_SASL_MECHANISM.
const (
	MechanismPlain       Mechanism = "PLAIN"
	MechanismScramSHA256 Mechanism = "SCRAM-SHA-256"
	MechanismScramSHA512 Mechanism = "SCRAM-SHA-512"
	MechanismOAuth       Mechanism = "OAUTHBEARER"
	MechanismAWS         Mechanism = "AWS_MSK_IAM"
)
