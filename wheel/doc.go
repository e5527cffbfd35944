// Package wheel is a hierarchical timing wheel. It parks ten million records, each
// until a deadline of its own, and hands them back in the order of their deadlines.
// That costs a few writes each.
//
// It is a data structure and nothing else. It reads no clock, starts no
// goroutine and takes no lock: time is an argument, and a wheel has one owner.
// It does not know what a payload means, and it keeps nothing on disk.
//
// # Levels
//
// A level is a ring of slots, and each slot holds the bucket of one span of
// time. The lowest level has a slot for each tick. Each level above it is
// coarser by the same factor, and is made when the first record needs it. This
// is a wheel of 4 slots and factor 2 with a tick of 1 ms, its clock at 5:
//
//	level 0, tick 1 ms    5    6    7     8
//	                      ^clock
//	level 1, tick 2 ms    4-5  6-7  8-9   10-11
//	level 2, tick 4 ms    4-7  8-11 12-15 16-19
//
// A record goes to the lowest level whose four slots, counted from the one the
// clock is in, reach its deadline:
//
//	Add(7)    level 0, slot 7
//	Add(11)   level 1, slot 10-11
//	Add(18)   level 2, slot 16-19
//	Add(900)  beyond every level, so parked outside
//
// A bucket of level 0 is fired when the clock reaches it. One of a coarser level
// is opened a part of its width before its span begins, when the level below
// reaches all of it. It then cascades: its records are placed anew, a few chunks at
// a time, and nothing new arrives in it. So no advance of the clock has much to do,
// however many records are parked for the same minute. To make that time the levels
// overlap: each reaches over two slots of the next one. Here the record for 11 moves
// to level 0 when the clock is at 9. Records parked outside come in when the clock
// is half a turn of the top level away from the earliest of them.
//
// The clock never steps through empty ticks. Each level keeps its non-empty
// buckets in a bitmap. So the next one to be due is a few instructions away,
// whether it is a millisecond or a century ahead. A wheel with nothing parked
// costs nothing, and a jump of the clock over any number of turns costs only
// the buckets that hold something.
//
// # Buckets
//
// A bucket is not a linked list but an append-only log of 16-byte records
// without pointers, in chunks of an arena. Adding is one append, expiring reads
// memory in order, and the garbage collector sees some thousand slabs instead
// of millions of timers.
//
// A handle is a sequence number, never used again, and each has one bit that
// says whether its record is live. Cancelling and firing clear the bit, and
// whichever finds it set has won. The record itself stays where it is until its
// bucket is next read, or until compaction gives its place back. When a third of
// all records is dead, every other cancel compacts a chunk.
//
// # Order
//
// Records come out in the order of their ticks, and those of one tick in the
// order in which they were added. No sort is needed for that, so that a bucket
// of any size can be handed out a few records at a time. Of two records for the
// same tick, the one in the coarser level is always the older one. The reason is
// that a level that once reached a deadline reaches it ever after. A bucket
// therefore has two logs, one for records that cascaded into it and one for
// records added to it. The log of cascaded records is read first. A bucket that
// cascades over some time is empty before the level two below reaches any of it.
// Otherwise a record that skipped a level would get ahead of older ones that
// wait in that level.
//
// # Farthest records
//
// An owner short of memory takes the records due last out of the wheel again, a bounded
// number a call. A cursor keeps the place between the calls. It goes from the coarsest
// level down, as records do when they cascade, so none gets past it unread.
//
// # Sources
//
// G. Varghese and T. Lauck, Hashed and Hierarchical Timing Wheels, SOSP 1987,
// schemes 6 and 7. The names, the overflow wheels made on demand and the queue
// of non-empty buckets instead of a running tick are from Apache Kafka. They
// are in its package org.apache.kafka.server.util.timer: TimingWheel,
// TimerTaskList, SystemTimer. Unlike Kafka's, this one rounds deadlines up, so
// that nothing is ever early.
package wheel
