// Package far knows, for one assignment of one partition, which copies of its runs partition
// are unfinished, and when they have to be read. It is pure: offsets and deadlines in, offsets
// to read out. The copies themselves are elsewhere: in the runs topic, or parked.
//
//	offset    0   ...   40 41 42 43 44 45 46 47 48 49
//	            finished  a  a  b  a  a  D  b  .  b  .
//	                                      ^known  \_ an island: acknowledged, and 47 unheard of
//
// A copy is finished, taken or neither. Taken are the copies that are parked in memory. One
// that is neither is in a run, and the run is visited before its first such copy is due.
//
// # Invariants
//
// Below the known end each offset was written by this assignment and acknowledged, or read.
// Each copy there that is not finished is in a run. TestIndexAgainstAModel holds that none
// is taken twice, none is due before its visit, and no directory leaves one out.
//
// # What it is not
//
// It does not judge records, knows no clock, and does not decide what is moved. It trusts no
// name: a copy counts by its offset, whoever wrote it.
package far
