package offsets

// TopicPartition names a partition. It is comparable and serves as a map key.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// Assignment names one assignment of a partition to this process; an earlier one has
// another Epoch. It is comparable and serves as a map key.
type Assignment struct {
	TopicPartition
	Epoch uint64 // Layover's own count of assignments, never used twice
}

// Unstarted is the metadata of a commit at offset 0 for a partition whose log bounds were
// unknown when its group started. The partition has no offset yet and begins at its log
// start. It does so also with the latest offset as the group's start: records may have
// come since.
const Unstarted = "layover: not started"

// TopicID is the broker's id of a topic. A topic that is deleted and created
// again under its name gets another one.
type TopicID = [16]byte

// Commit is one partition's commit as a value. It carries all that tells whether it may
// still be sent. So a commit built before a rebalance cannot be taken for one built after
// it.
type Commit struct {
	TopicPartition

	// TopicID is the topic the offsets were read from.
	TopicID TopicID

	// Epoch is Layover's own count of assignments of this partition. It never
	// goes on the wire; it is compared with the partition's present epoch.
	Epoch uint64

	// Low is the offset to commit: everything below it is finished.
	Low int64

	// LeaderEpoch is the highest leader epoch of the records read, -1 for none.
	// Metadata finishes no record of a later epoch: such a record at an offset of
	// the set was written after the log was truncated.
	LeaderEpoch int32

	// Metadata is the text from Window.Encode for the same Low. The checksum
	// in it makes the pair useless with any other Low.
	Metadata string

	// These have no field on the wire.
	Journal  JournalRange // the journal records that Metadata names
	Runs     RunsState    // what Metadata says of the partition's runs
	RunsOf   uint64       // writer of the index that says it, 0 for none
	Left     int64        // finished offsets that neither Metadata nor the journal has
	Finished int64        // offsets finished during the assignment, as the builder counts them

	// MemberID and Generation are those of the group session in which the
	// partition was assigned.
	MemberID   string
	Generation int32
}

// CommitResult is the coordinator's answer for one partition of a commit.
type CommitResult struct {
	Commit
	Err error
	// Fenced: the coordinator does not know this member or generation any more.
	Fenced bool
	// MetadataTooLarge: the broker's offset.metadata.max.bytes is lower than ours.
	MetadataTooLarge bool
	// Gone: the topic is gone, or another one. Only a second such answer is to be believed.
	Gone bool
	// Hopeless: the member may not commit it. No try within seconds mends it.
	Hopeless bool
	// MayArrive: a copy of the request may arrive later. The client has given up a connection that it was written to,
	// or has given it up itself.
	MayArrive bool
	TookMs    int64 // from sending it to its answer
	Unsent    bool  // it was not even sent
}
