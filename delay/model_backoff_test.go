package delay

import (
	"fmt"
	"hash/fnv"
	"iter"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// modelBackoff is a back-off as the model reads it; nanoseconds.
type modelBackoff struct {
	first, last         *big.Int
	factor, jitter, max int64 // factor in hundredths
}

var modelBackoffText = regexp.MustCompile(`^([^ ]*?)\.\.([^ .][^ ]*)(?: +x(\d+)(?:\.(\d)(\d)?)?)?(?: +jitter=(\d+)%)?(?: +max=(\d+))?$`)

func readModelBackoff(value []byte) (b modelBackoff, ok bool) {
	m := modelBackoffText.FindStringSubmatch(string(value))
	if m == nil || !modelText.Match(value) {
		return b, false
	}
	number := func(text string, otherwise int64) int64 {
		if text == "" {
			return otherwise
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return -1
		}
		return n
	}
	var ok1, ok2 bool
	_, b.first, _, ok1 = modelDuration(m[1])
	_, b.last, _, ok2 = modelDuration(m[2])
	b.factor, b.jitter, b.max = 200, number(m[6], 20), number(m[7], 16)
	if m[3] != "" {
		whole := number(m[3], 0)
		if whole > 10 {
			return b, false
		}
		b.factor = whole*100 + number(m[4], 0)*10 + number(m[5], 0)
	}
	return b, ok1 && ok2 && b.first.Sign() > 0 && b.last.Cmp(b.first) >= 0 && b.factor >= 100 && b.factor <= 1000 &&
		b.jitter >= 0 && b.jitter <= 100 && b.max >= 0 && b.max <= 1_000_000
}

// modelDraw is the share of topic-partition-offset, of 1<<53.
func modelDraw(topic string, partition int32, offset int64) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s-%d-%d", topic, partition, offset)
	z := h.Sum64()
	z ^= z >> 30
	z *= 0xbf58476d1ce4e5b9
	z ^= z >> 27
	z *= 0x94d049bb133111eb
	z ^= z >> 31
	return z >> 11
}

// wait is how long attempt n waits in nanoseconds, to 1<<-500 of it.
func (b modelBackoff) wait(n int64, draw uint64) *big.Float {
	const bits = 1000
	value, last := new(big.Float).SetPrec(bits).SetInt(b.first), new(big.Float).SetPrec(bits).SetInt(b.last)
	factor := new(big.Float).SetPrec(bits).SetRat(big.NewRat(b.factor, 100))
	for i := int64(1); i < n && b.factor > 100 && value.Cmp(last) < 0; i++ {
		value.Mul(value, factor)
	}
	if value.Cmp(last) > 0 {
		value = last
	}
	share := new(big.Rat).Mul(big.NewRat(b.jitter, 100), new(big.Rat).SetFrac(new(big.Int).SetUint64(draw), big.NewInt(1<<53)))
	return value.Sub(value, new(big.Float).SetPrec(bits).Mul(value, new(big.Float).SetPrec(bits).SetRat(share)))
}

// modelAttempts are the attempts that a record had, by its header.
func modelAttempts(last map[string][]byte) (n int64, ok bool) {
	value, has := last["x-delay-attempt"]
	if !has {
		return 0, true
	}
	if !regexp.MustCompile(`^\d+$`).Match(value) {
		return 0, false
	}
	big, _ := new(big.Int).SetString(string(value), 10)
	return big.Int64(), big.IsInt64() && big.Int64() <= 1_000_000
}

// modelPolicy is the back-off that applies.
func modelPolicy(r *Rules, last map[string][]byte) (b modelBackoff, applies bool) {
	if _, has := last["x-deliver-at"]; has {
		return b, false
	}
	value, has := last["x-delay"]
	if !has {
		return readModelBackoff([]byte(r.TopicBackoff.String()))
	}
	if string(value) == "auto" {
		return readModelBackoff([]byte(r.Backoff.String()))
	}
	return readModelBackoff(value)
}

// modelRaised is the attempt that a valid record's delivery says; 0: none.
func modelRaised(r *Rules, last map[string][]byte) int64 {
	b, applies := modelPolicy(r, last)
	had, ok := modelAttempts(last)
	if !applies || !ok || b.max > 0 && had >= b.max {
		return 0
	}
	return min(had+1, 1_000_000)
}

// modelBackoffDeadline is that of a record to which b applies, or the reason why it is invalid.
func modelBackoffDeadline(r *Rules, b modelBackoff, last map[string][]byte, timestampMs, nowMs int64) (*big.Int, Reason) {
	had, ok := modelAttempts(last)
	if !ok {
		return nil, "malformed_attempt"
	}
	ended := b.max > 0 && had >= b.max
	if ended && !r.DeliverInvalid {
		return nil, "attempts_exhausted"
	}
	base := timestampMs
	if value, has := last["layover-due"]; has {
		if due, ok := modelInstant(value, true); ok {
			base = max(base, due)
		}
	}
	if base <= 0 {
		return nil, "no_timestamp"
	}
	longest := ceilRat(new(big.Rat).SetFrac(b.last, big.NewInt(1_000_000)))
	if longest.Cmp(big.NewInt(modelCeilMs(r.MaxDelay))) > 0 {
		return nil, "delay_too_long"
	}
	wait := longest
	if !ended {
		exact, _ := b.wait(min(had+1, 1_000_000), modelDraw("", 0, 0)).Rat(nil)
		wait = ceilRat(exact.Quo(exact, big.NewRat(1_000_000, 1)))
	}
	deadline := new(big.Int).Add(big.NewInt(base), wait)
	if new(big.Int).Sub(deadline, big.NewInt(nowMs)).Cmp(big.NewInt(modelCeilMs(r.MaxDelay)+3_600_000)) > 0 {
		return nil, "future_timestamp"
	}
	return deadline, ""
}

// modelHops is the count that a delivery says; 0: none.
func modelHops(last map[string][]byte) int64 {
	value, has := last["layover-hops"]
	_, delivered := last["layover-id"]
	if !has && !delivered {
		return 0
	}
	if !regexp.MustCompile(`^\d+$`).Match(value) {
		return 1
	}
	n, _ := new(big.Int).SetString(string(value), 10)
	if !n.IsInt64() {
		return 1_000_000
	}
	return min(n.Int64(), 999_999) + 1
}

// modelAdded yields the three headers in their order, each with whether a delivery has it. The
// next wait of a retry counts from its deadline, so that one always has that.
func modelAdded(leaveOut Added, retried, stamped bool) iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		text := "," + leaveOut.String() + ","
		_ = yield("layover-id", !strings.Contains(text, ",id,")) &&
			yield("layover-due", retried || !strings.Contains(text, ",due,")) &&
			yield("layover-original-timestamp", stamped && !strings.Contains(text, ",original-timestamp,"))
	}
}
