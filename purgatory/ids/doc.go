// Package ids keeps the index from a record's id to the place where the record is,
// for millions of ids. It has two data structures, and an owner uses them together:
//
//	hash of an id ──Table──► candidate numbers ──Slots──► place ──► the record's bytes
//
// Slots gives each value a number that stays the same while the value changes. A
// timing wheel keeps the number as payload, and the record may move.
//
// Table leads from an id's hash to numbers. It holds no id: whoever asks compares the
// bytes of each candidate's record. So equal hashes cost time and change nothing.
//
// # Memory
//
// An id takes at most 23 bytes, from ten thousand ids to ten million. The bytes come
// back when ids leave in any order. Where 99 % of a million left at random, the other
// ten thousand have half a MiB. No entry has a pointer, so the garbage collector sees
// some thousands of arrays. An operation allocates only when an array is full.
//
// # Pauses
//
// No operation has much to do, whatever the number of ids. Slots moves at most two
// pages of 64 values. Table is split into shards of some thousand entries, and an
// operation rebuilds at most three of them. Only many equal hashes make a shard larger.
//
// # What it is not
//
// It takes no lock: each structure has one owner. It computes no hash; the caller's
// has to be keyed with a secret where a stranger chooses the ids.
//
// # Sources
//
// W. Litwin, Linear Hashing: a new tool for file and table addressing, VLDB 1980: one
// shard is split at a time. P. Celis, Robin Hood Hashing, 1986, within a shard.
package ids
