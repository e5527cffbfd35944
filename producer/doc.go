// Package producer writes due records and dead letters to Kafka: batches in,
// outcomes out.
//
// A Producer is the Kafka client of one lane: idempotent, acks=all, no linger,
// because the wheel's ticks batch already. It is told the partition of every
// record, so that its caller can bound the records in flight to each. Pick finds the
// partition as the Java client does. A Producer never waits: a record's promise tells
// the outcome, and Classify the consequence of an error for record and target.
package producer
