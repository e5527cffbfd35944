// Package producer writes due records and dead letters to Kafka: batches in,
// outcomes out.
//
// A Producer is the Kafka client of one lane: idempotent, acks=all, no linger,
// because the wheel's ticks batch already. Its caller chooses the partition of every
// record, and so can bound the records in flight for each. Pick chooses as the Java
// client does. A Producer never waits: it passes a record's outcome to a promise, and
// Classify returns the consequence of an error for record and target.
package producer
