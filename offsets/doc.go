// Package offsets keeps, for one partition, which offsets are finished, and
// writes that set into the metadata of an offset commit and reads it back.
//
// Records are parked and leave at their deadlines, so they finish out of
// order. Kafka's committed offset can say only "everything below is finished";
// this package keeps the rest:
//
//	offset    40  41  42  43  44  45  46  47  48
//	finished   x   x   .   .   x   x   .   x   .
//	                   ^       \_____/     ^
//	                  low       a run      a run; Highest is 47
//
// The commit's offset is the low offset, 42. The commit's metadata holds the
// two runs relative to 42: gap 2, length 2, gap 1, length 1. When 42 finishes,
// low becomes 43; when 43 does too, low passes over the run behind it and
// becomes 46. A restart that reads offset and metadata back delivers 42, 43
// and 46 and nothing that was delivered before.
//
// # Metadata
//
// The text is ASCII, so that a character is a byte is a UTF-16 unit whatever
// the broker counts:
//
//	layover.<format version>.<minimum reader version>.<base64, URL alphabet, no padding>
//
// and the base64 part holds, big endian:
//
//	 4  CRC-32C of everything before the base64 part, of the bytes below, of
//	    the cluster id, and of the low offset as 8 bytes
//	 8  FNV-1a 64 of the cluster id
//	16  topic id
//	 4  partition
//	 v  length of the extension; a reader skips unknown fields, so a later
//	    field needs no higher minimum reader version, unless skipping it is wrong
//	 n  the extension: nothing, or
//	     8  incarnation: one life of the group's offset
//	    and where records of a journal are named:
//	    16  journal topic id
//	     4  checksum in the last record
//	     v  offset of the first record, v distance of the last one from it
//	    all of these are 0 where there is no journal and the next field follows:
//	     v  offset from which on finished commands count again
//	    it is 0, too, where all count again and the fields of the runs topic follow:
//	    16  runs topic id, never 0
//	     1  flags: 1, no due time; 2, a journal; 4, and its topic id
//	     v  highest leader epoch that was seen of the runs partition, at most 2^31 - 1
//	     v  offset below which all copies are finished
//	     v  distance of the known end from it
//	     s  due time, Unix milliseconds, unless flag 1 is set: copies below the known
//	        end that are due by then are finished, with flag 1 all of them
//	     v  one past the offset of the last directory's record, 0: none
//	    and with flag 2, for the journal records that hold the finished copies:
//	    16  journal topic id, with flag 4 only: without, it is the one above
//	     4  checksum in the last record
//	     v  offset of the first record, v distance of the last one from it
//	 v  gap less one, v length less one, and so on to the end
//
// where v is an unsigned LEB128 number in its shortest form. s is a signed one: 2n for
// n >= 0, and -2n-1 for n < 0, as v. The first gap is counted from the low offset. As low
// is never finished and runs are maximal, gaps and lengths are at least one, so a set has
// exactly one encoding.
//
// The worked example above, in a cluster "c" and partition 0, ends in the
// bytes 00 | 01 01 00 00. They are no extension, gap 2, length 2, gap 1, length 1.
//
// The two version numbers follow from what the extension says:
//
//	1.1  nothing of runs
//	2.1  runs, and no copy is open: a reader of version 1 skips them
//	2.2  runs with open copies: a reader of version 1 must not read the partition, as it
//	     would pass over them
//
// A text of 2.2 says that copies are open also where the fields of runs are not there,
// or are out of their bounds.
//
// The low offset is in the checksum and not in the text. It is the committed
// offset, which travels beside the text, and the two are true only together.
//
// # What it is not
//
// It commits nothing, and knows neither a clock nor a client. It does not
// decide what to do with a set that does not fit or with metadata that is not
// ours. Encoded and the sentinel errors tell the caller which case it is.
//
// # Sources
//
// Kafka's OffsetCommit request carries committed_metadata for each partition,
// and the broker refuses more than offset.metadata.max.bytes (4096 unless
// configured) with OFFSET_METADATA_TOO_LARGE. Confluent's parallel-consumer
// keeps the offsets completed beyond the committed one in the same place.
package offsets
