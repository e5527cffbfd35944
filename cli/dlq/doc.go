// Package dlq is the verb dlq: it counts dead letters, shows one, and sends them again.
//
//	$ layover dlq list
//	$ layover dlq show 0-1203
//	$ layover dlq redrive --reason target_unavailable --execute
//
// The dead-letter topic is read from its start to its end, both as they are at the start
// of the call. A letter that a redriven record becomes is not in there.
//
//	partitions ──► readers, at most 16 ──► chunks ──► one loop ──► producer
//	                                                   ▲               │
//	                                                   └─── answers ───┘
//
// The loop alone decides, counts, and knows how far each partition is done. It deletes
// nothing, and keeps nothing anywhere: a second call goes on by --offsets.
package dlq
