// Package facts is the protocol of the journal, which keeps finished sets that do not
// fit into commit metadata. It is pure: the owner of a Writer or a Reader
// does the reading and writing.
//
//	                  Note                 Cut                     Written
//	finished offset ───────► unwritten.fresh ──► records in flight ─────────► named by commits
//	                                     ▲                                     │ Committed
//	        offsets.Window ── snapshot ──┘              below a snapshot: deleted ◄┘
//
//	journal, log start to stable end ──► Reader ──► offsets.Window, and the state for the next Writer
//
// # What is in the journal
//
// A fact is a record that says: these offsets are finished, in a log of leader epochs
// up to this one. It is written after the deliveries were acknowledged and stays true for
// ever. Facts may come twice, in any order, late, and from a former owner. The finished
// set is their union, so nothing needs a lock, a fence, or a transaction.
//
// A snapshot is the whole set at a low offset as facts, in as many records (parts) as it
// takes. Each says which stretch of offsets it covers. Offsets that finish meanwhile are in
// facts between its parts. So the records from its first part on hold the whole set, and
// older records may be deleted once a commit has named the snapshot.
//
// # What a commit says
//
// Its metadata names the incarnation, the snapshot and the last acknowledged record. It
// also holds the finished offsets that are in no acknowledged record, as far as they fit.
// A commit does not wait for a silent journal: offsets that do not fit are counted, and
// delivered again after a crash.
//
// The incarnation is one life of the group's offset of the partition. It is new whenever
// there was no metadata to take it from, as after an operator has reset the offset. Facts of
// another life do not count.
//
// # What is read
//
// All records of the incarnation are read, from the journal's log start to its stable
// end. So a late older commit is repaired, and facts that no commit named are found. The
// records that the commit names show whether one is missing. Facts do not count beyond
// the end of their leader epoch's log, which was truncated (KIP-101).
//
// # Two sets
//
// A partition of a journal may hold a second set: the finished copies of the runs partition.
// Its records have the id of the runs topic and no incarnation: copies outlive the group's
// offset. No metadata holds any of it, so its writer begins with a snapshot at the first
// offset that finishes. Commits name its records as well, and journal records are deleted
// below what both sets need.
//
// # The record
//
// One is the value of a Kafka record without a key:
//
//	 3  "LJ" and the format version
//	 1  the lowest format version of a reader that can read it
//	 4  CRC-32C of all that follows, and of the cluster id
//	 8  FNV-1a 64 of the cluster id
//	16  ingress topic id
//	 8  incarnation
//	 8  writer: one assignment of the partition
//	 1  kind: 1 a fact, 2 a part of a snapshot, 3 the last part
//	 v  partition
//	 v  length of the group's name, and the name
//	 v  leader epoch and one
//	 v  low offset
//	 v  snapshot: its number among the writer's, 0 for a fact
//	 v  first offset that the part covers, less the low offset; 0 for a fact
//	 v  length of the extension, 0 in version 1
//	    the extension
//	    runs relative to the low offset, as in commit metadata
//
// where v is an unsigned LEB128 number. The first seven stand in these places in all
// versions, so that the partition of a record in a newer version is known.
package facts
