package purgatory

import (
	"strings"

	"layover/offsets"
)

// Bounds on what is kept of dead letters: how many of the last, and the bytes of each
// message. A broker's error, which a message may end in, has any length.
const (
	LastLetters      = 10
	maxLetterMessage = 500
)

// Letter is a record, or a batch, that the dead-letter topic has taken.
type Letter struct {
	offsets.TopicPartition
	Offset  int64
	Reason  string // stable code
	Message string // as its header has it, cut to 500 bytes; it may quote a header of the record
	AtMs    int64  // when the dead-letter topic acknowledged it
}

// letters keeps the last dead letters.
type letters struct {
	ring [LastLetters]Letter
	n    int // ever noted
}

// note keeps a dead letter, and forgets the one of LastLetters before.
func (l *letters) note(e *entry, offset, nowMs int64) {
	l.ring[l.n%LastLetters] = Letter{
		TopicPartition: e.from.TopicPartition, Offset: offset,
		Reason: e.failure.reason, Message: cutMessage(e.failure.message), AtMs: nowMs,
	}
	l.n++
}

// last returns a copy of those kept, the latest first.
func (l *letters) last() []Letter {
	var out []Letter
	for i := l.n - 1; i >= max(l.n-LastLetters, 0); i-- {
		out = append(out, l.ring[i%LastLetters])
	}
	return out
}

// cutMessage bounds a message. A cut one is copied, or the rest would stay in memory.
func cutMessage(message string) string {
	if len(message) <= maxLetterMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxLetterMessage], "") + "…"
}
