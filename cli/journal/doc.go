// Package journal is the verbs journal and skip. The one shows the records of the
// journals, and mends the offsets that members leave to an operator on purpose. The
// other leaves out the batch or record at which a partition stopped.
//
//	$ layover journal show --partition 0
//	delayed/0: journal delayed.layover-delayed/0, log start 0, end 3
//	  commit: offset 1, leader epoch 0, incarnation 00000000000000a1, names the records from 0 to 2; its metadata has 0 finished above
//	  @0 2026-01-01T12:00:00.000Z snapshot end incarnation=00000000000000a1 writer=0000000000000001 epoch=0 low=1 above=2 runs=1 range=4-5 bytes=76
//	  ...
//	  3 records, 226 bytes, 1 complete snapshot
//	  incarnation 00000000000000a1: low offset 1, 4 finished above it up to 9, of 3 records; the commit is of it, and a restart finds all that it names
//
// All actions read alike, and then differ:
//
//	survey    topics, log bounds, the group's commits ──► partition
//	scan      one journal from its log start to its stable end ──► entry, tally, life
//	show      prints all of it
//	recover   makes the lost commit from the journal
//	reset     commits a start offset, and deletes the journal's records
//
// One journal is read at a time, and one window is kept for each incarnation in it. So
// the memory is that of a few finished sets, however long the journals are.
//
// It is no member of the group. While the group has no members, the coordinator takes
// an offset from anybody.
package journal
