// Package runs is the protocol of the runs topic, which holds records whose deadlines
// are far off. It is pure: bytes in, values out. Whoever calls it reads, writes and keeps the time.
//
//	ingress partition p ──far records──► copies, sorted by deadline ──► runs partition p
//	                                     and then a directory       ──►
//
//	runs partition  ... 40 41 42 43 44 45 46 47 48 49 ...
//	                     a  a  b  a  a  D  b  b  b  D
//	run a: offsets 40 to 44, 4 copies; run b: offsets 42 to 48, 4 copies; D: directories
//
// There is one runs topic for an ingress topic and a group. Its partition p belongs to
// the ingress partition p. A copy counts until it is finished, whoever wrote it. A
// directory only saves time: without one, the partition is read through.
//
// # What it is not
//
// It does not know which copies are finished, and decides nothing: not what is moved,
// read, or deleted. The finished offsets of a runs partition are in the journal.
//
// # The owner
//
// It stands for a cluster id, a group and the name of an ingress topic. It is FNV-1a 64
// of the three in this order, each behind its length in bytes as 8 bytes. Numbers of
// fixed size are big endian in all of this package. A record of another owner is
// foreign.
//
// # A copy
//
// It has the key, the value and the headers of the ingress record, and behind them one
// header more. That header is called layover-run. Earlier headers of this name are the
// record's own. The value of the last one:
//
//	 1  format version
//	 1  the lowest format version of a reader that can read it
//	 4  CRC-32C
//	 8  owner
//	16  ingress topic id
//	 8  writer: one assignment of the partition
//	 v  partition
//	 v  offset in ingress
//	 v  leader epoch in ingress and one
//	 s  timestamp in ingress, Unix milliseconds
//	 s  deadline less timestamp, milliseconds
//	 v  number of the run
//	 v  length of the extension, 0 in version 1
//	    the extension
//
// where v is an unsigned LEB128 number in its shortest form. s is a signed one, written
// as the v 2n for n >= 0, and -2n-1 for n < 0. Deadline less timestamp wraps around at
// 64 bits.
//
// The checksum is of this value without the checksum itself, and then of the record. Of
// the record it takes the key, the value, the number of other headers, and name and
// value of each. In front of a key, a name and a value stands its length. Lengths and
// the number are 4 bytes; null has the length 0xFFFFFFFF. So a copy that was edited, or
// has the header of another one, is damaged.
//
// The example of the tests begins with 0101 ..., owner 8 bytes, topic id 16, writer 8.
// Then come 03 | ac02 | 05 | d00f | c0a907 | 02 | 00. They are partition 3, offset 300,
// leader epoch 4, timestamp 1000, deadline 61,000 (60,000 later), run 2, no extension.
//
// # A directory
//
// It is a record with a null key, without a header layover-run, and with this value:
//
//	2  "LR"
//	1  format version
//	1  the lowest format version of a reader that can read it
//	4  CRC-32C of the value without these 4 bytes
//	8  owner
//	8  writer
//	v  partition
//	v  end: every unfinished copy below this offset is in one of the runs
//	v  leader epoch: the highest one of the runs partition that the writer knew, at most
//	   2^31 - 1
//	v  length of the extension, 0 in version 1
//	   the extension
//	v  number of runs, at most 4,096
//	   the runs, their first offsets ascending
//
// and a run, where "before" is the run before it in the list:
//
//	 1  0: the writer is that of the run before, for the first run the directory's; 1: it follows
//	 8  writer, only after a 1
//	 s  number less that of the run before (0 for the first run), wraps around
//	 v  first offset less that of the run before, less one (-1 for the first run)
//	 v  position less first offset
//	 v  number of copies, less one
//	 v  number of foreign offsets from the first to the last offset: records between the
//	    copies that are not of this run
//	 v  bytes of all copies
//	 s  earliest deadline less that of the run before (0 for the first run)
//	 v  latest deadline less the earliest
//	15  the deadlines that begin the second to the sixteenth sixteenth, as steps
//	 v  foreign offsets in the first sixteenth, and so on for 15 of them; only if there
//	    are foreign offsets
//
// A directory speaks only while the log of the leader epochs up to its own reaches up to
// its end. A leader without the last copies may write others at their offsets, so a reader
// has to ask the broker where that log ends.
//
// Sixteenth i of n copies, counted from 0, begins with copy i*n/16, rounded down. With
// fewer than 16 copies some sixteenths are empty. They begin with the copy with which
// the next one begins, and their steps have to agree on its one deadline. The last
// offset follows: first offset, copies and foreign offsets, less one.
//
// # Steps
//
// A step is a distance in milliseconds, rounded down to four significant bits, in a
// byte c. Below 16 it is c. From 16 on it is 8 + c%8, shifted left by c/8 - 1. A step
// of 255 is 186 days or more. Each is counted from the deadline that the step before
// yields, so errors do not add up. A deadline is at most an eighth of its step too
// early. Sixteen exact deadlines would take 60 bytes a run; 4,096 runs would not fit in
// 256 KiB.
//
// # Versions
//
// Everything up to the owner stands in these places in all versions, and the checksum is
// of the same things. Later fields go into the extension, which a reader skips as far as
// it does not know it. A version that an older reader must not read says so in the second number.
//
// # Sources
//
// Runs and a list of them with their key ranges are those of a log-structured merge tree
// (O'Neil et al., 1996). Steps are the buckets of HdrHistogram.
package runs
