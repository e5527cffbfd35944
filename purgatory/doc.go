// Package purgatory is the core of Layover: records wait in it until their
// deadline, then for their target, and leave it with exactly one outcome.
//
// It is a pure state machine after Kafka's DelayedOperationPurgatory. Events go
// in, effects come out, and there is no goroutine, lock, clock or Kafka client
// inside. Time is an argument, so a run can be replayed from its events.
//
//	Assign ─► Partition ─Read─► parked (wheel + chunks) ─Tick─► due (queue of a target)
//	                                                                │ Offer
//	    Commits ◄─ finished (window) ◄───── Outcome ◄──────── in flight
//
// A record is parked until its deadline, then due, in flight, and finished:
// delivered, dead-lettered, or dropped by an explicit policy. Finished offsets are kept
// for each partition in an offsets.Window, from which commits are made.
//
// Two machines stand beside each other. Parking has the records that wait for a deadline.
// The outbox has those that are due: it knows targets, and no offset or commit. The core
// gives it due records and settles their endings. The state of targets comes in as an
// event, for names that the core asks about: nothing is called from inside.
//
// Commands by id are a third machine. It finds the record that a command is about and decides
// its end. The core takes the record out of parking or of the outbox.
//
// A Core has one owner and is not safe for concurrent use. It is not a queue for
// several readers, does not know Kafka's client, and never looks at the wall
// clock. Its promises about time are promises about the times it is given.
package purgatory
