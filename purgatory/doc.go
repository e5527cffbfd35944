// Package purgatory is the core of Layover: records wait in it until their
// deadline, then for their target, and leave it with exactly one outcome.
//
// It is a pure state machine after Kafka's DelayedOperationPurgatory: events go
// in, effects come out, and there is no goroutine, lock, clock or Kafka client
// inside. Time is an argument, so a run can be replayed from its events.
//
//	Assign ─► Partition ─Read─► parked (wheel + chunks) ─Tick─► due (queue of a target)
//	                                                                │ Offer
//	    Commits ◄─ finished (window) ◄───── Outcome ◄──────── in flight
//
// A record is parked until its deadline, then due, in flight, and finished:
// delivered, dead-lettered, or dropped by an explicit policy. What is finished
// is remembered per partition in an offsets.Window, from which commits are made.
//
// A Core has one owner and is not safe for concurrent use. It is not a queue for
// several readers, does not know Kafka's client, and never looks at the wall
// clock: promises about time are promises about the times it is given.
package purgatory
