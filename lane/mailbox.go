package lane

import (
	"sync"

	"layover/offsets"
	"layover/purgatory"

	"github.com/twmb/franz-go/pkg/kgo"
)

// fetched is the records of one poll for one partition, or its log's new start, or a batch
// that is not read.
type fetched struct {
	assignment offsets.Assignment
	records    []*kgo.Record
	bytes      int64 // as the reading budget counts it
	logStart   int64 // 0: nothing is known
	unread     *offsets.UnreadBatch
}

// ended is a delivery whose promise was called.
type ended struct {
	id  int32
	err error
}

// mail is everything that other goroutines have for the loop. Orders of one partition come
// in the order of its life. Records fetched for an assignment that an order has ended are
// recognised by the assignment's epoch.
type mail struct {
	orders    []order
	fetched   []fetched
	ended     []ended
	committed []offsets.CommitResult
	moved     []purgatory.Answer
}

// empty returns a mail that reuses the slices of one that was dealt with.
func (m mail) empty() mail {
	clear(m.orders)
	clear(m.fetched)
	clear(m.ended)
	return mail{orders: m.orders[:0], fetched: m.fetched[:0], ended: m.ended[:0], committed: m.committed[:0], moved: m.moved[:0]}
}

// mailbox is the one place where other goroutines meet the loop. Its lock is a
// leaf: lock, append, unlock, wake. Its bounds are those of who writes: one order
// per change of assignment, the reading budget, the records in flight, and one
// commit per partition.
type mailbox struct {
	mu     sync.Mutex
	mail   mail
	closed bool
	wake   chan struct{} // capacity 1
}

// put runs f on the mail under the lock and wakes the loop; false when the lane
// has ended, and nothing was taken.
func (b *mailbox) put(f func(*mail)) bool {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return false
	}
	f(&b.mail)
	b.mu.Unlock()
	b.poke()
	return true
}

// order puts an order into the mail; false when the lane has ended.
func (b *mailbox) order(o order) bool {
	return b.put(func(m *mail) { m.orders = append(m.orders, o) })
}

// poke wakes the loop.
func (b *mailbox) poke() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// take swaps the mail for an empty one.
func (b *mailbox) take(empty mail) mail {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.mail
	b.mail = empty
	return m
}

// close refuses further mail and returns the rest.
func (b *mailbox) close() mail {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return b.mail
}
