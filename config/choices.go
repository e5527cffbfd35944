package config

// OnInvalid is the policy for a record that cannot be understood.
type OnInvalid string

// The choices of LAYOVER_ON_INVALID.
const (
	OnInvalidDLQ     OnInvalid = "dlq"     // to the dead-letter topic
	OnInvalidDeliver OnInvalid = "deliver" // to the egress topic, at once
	OnInvalidDrop    OnInvalid = "drop"    // counted and gone
	OnInvalidHalt    OnInvalid = "halt"    // its partition reads no further
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
