package daemon

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"layover/verify"
	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Topics of the rig beside the usual ones.
const (
	other = "other" // a target that may be deleted and made again
	late  = "late"  // a target that is missing at first
	small = "small" // a target that takes no large records

	smallLimit = 2000 // bytes of a batch in small
)

// mix is what a load consists of.
type mix struct {
	transactions bool // some bursts are
	hours        bool // some delays are as long
	dense        bool // there are more bursts
}

// wish is a record of the plan: all of it but what depends on when it is sent.
type wish struct {
	id         string
	key, value []byte
	headers    []verify.Header // the user's
	ask        ask
	target     string // "" for none named
	timer      *timerWish
}

// ask is a delay that a record asks for.
type ask struct {
	after  time.Duration // relative to the record's timestamp, or to when it is sent
	header func(sent time.Time) verify.Header
	reason string // it is invalid for this reason
	none   bool   // it asks for nothing, or for a delay of zero or less
}

func text(name, value string) verify.Header { return verify.Header{Name: name, Value: []byte(value)} }

func relative(d time.Duration, value string) ask {
	return ask{after: d, header: func(time.Time) verify.Header { return text("x-delay", value) }}
}

func invalid(name, value, reason string) ask {
	return ask{reason: reason, header: func(time.Time) verify.Header { return text(name, value) }}
}

// wishDelay chooses a delay: none, milliseconds, seconds, minutes, hours, an instant, or
// something that is none.
func (m mix) wishDelay(dice *rand.Rand) ask {
	ms := func(n int64) ask {
		d := time.Duration(n) * time.Millisecond
		switch dice.IntN(4) {
		case 0:
			return relative(d, d.String())
		case 1:
			return ask{after: d, header: func(time.Time) verify.Header {
				return verify.Header{Name: "X-Delay", Value: binary.BigEndian.AppendUint64(nil, uint64(n))}
			}}
		default:
			return relative(d, strconv.FormatInt(n, 10))
		}
	}
	switch n := dice.IntN(100); {
	case n < 15:
		return ask{none: true}
	case n < 35:
		return ms(1 + dice.Int64N(999))
	case n < 58:
		return ms(1000 + dice.Int64N(59_000))
	case n < 76 && !m.hours:
		return ms(60_000 + dice.Int64N(60_000))
	case n < 76:
		return ms(60_000 + dice.Int64N(29*60_000))
	case n < 82 && m.hours:
		return ms(3_600_000 + dice.Int64N(3_600_000))
	case n < 92:
		return m.wishInstant(dice)
	case n < 95:
		zero := text("x-delay", strconv.Itoa(-dice.IntN(2)))
		return ask{none: true, header: func(time.Time) verify.Header { return zero }}
	default:
		return []ask{
			invalid("x-delay", "tomorrow", "malformed_delay"), invalid("x-delay", "", "malformed_delay"),
			invalid("x-deliver-at", "2030-01-01T00:00:00", "malformed_deliver_at"), invalid("x-deliver-at", "12", "malformed_deliver_at"),
			invalid("x-delay", "31d", "delay_too_long"), invalid("x-deliver-to", "elsewhere", "target_not_allowed"),
			invalid("x-deliver-to", ingress, "target_not_allowed"), invalid("X-DELIVER-TO", dlq, "target_not_allowed"),
		}[dice.IntN(8)]
	}
}

// wishInstant chooses an instant, some of which have passed.
func (m mix) wishInstant(dice *rand.Rand) ask {
	d := time.Duration(dice.Int64N(45*60_000)-5*60_000) * time.Millisecond
	if !m.hours {
		d /= 20
	}
	form := func(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }
	if dice.IntN(2) == 0 {
		zone := time.FixedZone("", 3600*(dice.IntN(20)-10))
		form = func(t time.Time) string { return t.In(zone).Format("2006-01-02T15:04:05.000Z07:00") }
	}
	return ask{after: d, header: func(sent time.Time) verify.Header { return text("x-deliver-at", form(sent.Add(d))) }}
}

// wishRecord chooses a record.
func (m mix) wishRecord(dice *rand.Rand, id string) wish {
	w := wish{id: id, ask: m.wishDelay(dice)}
	some := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(dice.Uint32())
		}
		return b
	}
	if dice.IntN(5) > 0 {
		w.key = some(dice.IntN(20))
	}
	switch n := dice.IntN(200); {
	case n < 10: // null
	case n < 195:
		w.value = some(dice.IntN(smallBytes))
	case n < 199 || dice.IntN(2) == 0:
		w.value = some(10_000 + dice.IntN(60_000))
	default:
		w.value = some(700_000 + dice.IntN(200_000))
	}
	for range dice.IntN(4) {
		h := verify.Header{Name: []string{"trace", "dup", "dup", ""}[dice.IntN(4)]}
		if dice.IntN(4) > 0 {
			h.Value = some(dice.IntN(12))
		}
		w.headers = append(w.headers, h)
	}
	if w.ask.reason == "" {
		w.target = []string{"", "", "", "", egress, other, other, late, small}[dice.IntN(9)]
	}
	return w
}

// dueBy is how long after it is sent a record is due at the latest.
func (w *wish) dueBy() time.Duration { return max(w.ask.after, 0) }

// enter makes the record of a wish and enters it in the ledger.
func (r *rig) enter(w *wish) *kgo.Record {
	sent := time.Now().Truncate(time.Millisecond)
	s := verify.Sent{ID: w.id, Record: verify.Record{Topic: ingress, Timestamp: sent, Key: w.key, Value: w.value}}
	headers := append([]verify.Header{text(verify.IDHeader, w.id)}, w.headers...)
	if w.ask.header != nil {
		headers = append(headers[:1:1], append([]verify.Header{w.ask.header(sent)}, headers[1:]...)...)
	}
	if w.target != "" {
		headers = append(headers, text("x-deliver-to", w.target))
	}
	s.Record.Headers = headers
	switch {
	case w.ask.reason != "":
		s.Dead = []string{w.ask.reason}
	case w.target == small && len(w.value) > 2*smallLimit:
		s.Dead = []string{"too_large"}
	default:
		s.To = w.target
		if s.To == "" {
			s.To = egress
		}
	}
	if r.plan.impatient && w.ask.reason == "" {
		s.Dead = append(s.Dead, "target_unavailable")
	}
	if !w.ask.none && w.ask.reason == "" {
		s.Due = sent.Add(w.ask.after)
	}
	if w.timer != nil {
		r.enterTimer(w, &s)
	}
	if due := sent.Add(w.dueBy()); due.After(r.lastDue) {
		r.lastDue = due
	}
	r.ledger.Enter(s)
	return kafkatest.Entered(s.Record)
}

// burst is what the plan sends at once, to one partition.
type burst struct {
	wishes    []wish
	partition uint32 // modulo the topic's
	how       sending
}

// sending is how a burst goes out.
type sending uint8

const (
	plainly       sending = iota // idempotent, until it is acknowledged
	shakily                      // one try over lines that break: the outcome may stay unknown
	asTransaction                // committed
	asAborted                    // a transaction that is aborted: must not arrive
)

// send sends a burst without waiting for its end.
func (r *rig) send(b *burst) {
	partitions := r.Broker.PartitionInfos(ingress)
	if len(partitions) == 0 {
		return // the topic is deleted just now
	}
	n := int32(b.partition % uint32(len(partitions)))
	records := make([]*kgo.Record, len(b.wishes))
	for i := range b.wishes {
		records[i] = r.enter(&b.wishes[i])
		records[i].Partition = n
	}
	r.sum.records += len(records)
	r.busy.Go(func() { // ended by its context at the latest
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
		defer cancel()
		switch b.how {
		case shakily:
			r.produced(r.shaky.ProduceSync(ctx, records...))
		case plainly:
			r.produced(r.Client.ProduceSync(ctx, records...))
		default:
			r.transaction(ctx, b, records)
		}
	})
}

// produced enters what became of records. An error says nothing about the log.
func (r *rig) produced(results kgo.ProduceResults) {
	for i := range results {
		if results[i].Err == nil {
			r.entered(results[i].Record)
		}
	}
}

// entered enters a record that the broker has: its id is the first header.
func (r *rig) entered(k *kgo.Record) {
	r.acked(string(k.Headers[0].Value), k.Partition, k.Offset)
}

// transaction sends a burst in a transaction of its own.
func (r *rig) transaction(ctx context.Context, b *burst, records []*kgo.Record) {
	r.sum.transactions++
	tx := r.NewClient(kgo.TransactionalID(b.wishes[0].id), kgo.TransactionTimeout(30*time.Second))
	defer tx.Close()
	err := kafkatest.Transaction(ctx, tx, records...)
	if b.how == asTransaction && err == nil {
		if tx.EndTransaction(ctx, kgo.TryCommit) == nil {
			for _, k := range records {
				r.entered(k)
			}
		}
		return
	}
	if tx.EndTransaction(ctx, kgo.TryAbort) == nil {
		for i := range b.wishes {
			r.ledger.Refused(b.wishes[i].id)
		}
	}
}

const (
	// smallBytes is above most values.
	smallBytes = 300
	// largeBytes is how much the others take together in a load with transactions.
	largeBytes = 2 << 20
)

// bursts chooses the load of a plan.
//
// There are no transactions where fetches are small. A fetch that ends at its own limit,
// not at a partition's, gets no list of aborted transactions from this broker. A client
// then takes their records for committed ones. With transactions all records together take
// less than a plan's limit of a fetch, which is 8 MiB: largeBytes bounds the large ones.
func bursts(dice *rand.Rand, m mix, over time.Duration, emit func(at time.Duration, b *burst)) (lastDue time.Duration) {
	number, large := 0, 0
	pause := 12_000
	if m.dense {
		pause = 4_000
	}
	for at := 2 * time.Second; at < over; at += time.Duration(1+dice.IntN(pause)) * time.Millisecond {
		b := &burst{partition: dice.Uint32()}
		switch n := dice.IntN(40); {
		case n < 3:
			b.how = shakily
		case n < 5 && m.transactions:
			b.how = asTransaction
		case n < 6 && m.transactions:
			b.how = asAborted
		}
		for range 1 + dice.IntN(8) {
			w := m.wishRecord(dice, fmt.Sprintf("r%d", number))
			number++
			if n := len(w.value); m.transactions && n > smallBytes {
				if large+n > largeBytes {
					w.value = w.value[:smallBytes]
				} else {
					large += n
				}
			}
			lastDue = max(lastDue, at+w.dueBy())
			b.wishes = append(b.wishes, w)
		}
		emit(at, b)
	}
	return lastDue
}

func TestALoadWithTransactionsFitsOneFetch(t *testing.T) {
	for seed := range uint64(3) {
		bytes := 0
		bursts(rand.New(rand.NewPCG(seed, 1)), mix{transactions: true, dense: true}, 48*time.Minute+roundsTake, func(_ time.Duration, b *burst) {
			bytes += 200 // of its batch
			for i := range b.wishes {
				w := &b.wishes[i]
				bytes += len(w.key) + len(w.value) + 150
				for _, h := range w.headers {
					bytes += len(h.Name) + len(h.Value) + 2
				}
			}
		})
		if limit := sizesFor(2<<30, 1).fetch; bytes > int(limit) {
			t.Errorf("the load of seed %d has %d bytes, and a fetch %d", seed, bytes, limit)
		}
	}
}
