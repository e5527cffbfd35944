// Package journal is the verb journal: it shows what the journals hold, and mends what
// running members leave to an operator on purpose.
//
//	$ layover journal show --partition 0
//	delayed/0: journal delayed.layover-delayed/0, log start 0, end 3
//	  commit: offset 1, leader epoch 0, incarnation 00000000000000a1, names the records from 0 to 2; its metadata has 0 finished above
//	  @0 2026-01-01T12:00:00.000Z snapshot end incarnation=00000000000000a1 writer=0000000000000001 epoch=0 low=1 above=2 runs=1 range=4-5 bytes=76
//	  ...
//	  3 records, 226 bytes, 1 complete snapshot
//	  incarnation 00000000000000a1: low offset 1, 4 finished above it up to 9, of 3 records; the commit is of it, and a restart finds all that it names
//
// The actions read alike and differ in what they do about it:
//
//	survey    topics, log bounds, what the group has committed ──► partition
//	scan      one journal from its log start to its stable end ──► entry, tally, life
//	show      prints all of it
//	recover   makes the commit that was lost from what the journal has
//	reset     commits a start offset, and deletes the journal's records
//
// One journal is read at a time and one window is kept for each life of an offset in
// it, so that the memory is that of a few finished sets, however long the journals are.
//
// It is no member of the group and takes nothing from one: an offset is committed as
// the coordinator allows it to anybody, while the group has no members.
package journal
