// Package producer writes due records and dead letters to Kafka: batches in,
// outcomes out.
//
// A Producer is the Kafka client of one lane: idempotent, acks=all, no linger,
// because the wheel's ticks batch already. It is told the partition of every
// record, so that its caller can bound what is in flight for each; Pick finds it
// the way the Java client does. It never waits: a record's promise has its outcome, and
// Classify says what an error means for record and target.
package producer
