package lane

import (
	"layover/journal/facts"
	"layover/offsets"
	"layover/purgatory"
)

// Journal appends records to the journals of ingress partitions.
type Journal interface {
	// Write appends without blocking, those of one partition in the order of the calls,
	// and calls done exactly once, from any goroutine.
	Write(tp offsets.TopicPartition, w facts.Write, done func(facts.Result))
	// Delete deletes the records below an offset, and calls done exactly once, from
	// another goroutine.
	Delete(tp offsets.TopicPartition, below int64, done func(error))
}

// Journalled takes the state of an ingress topic's journal.
func (l *Lane) Journalled(topic string, s purgatory.JournalState) { l.box.order(journal{topic, s}) }
