package verify

import (
	"fmt"
	"hash/fnv"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Backoff is the back-off of a record, as docs/headers.md promises it. The zero value is
// none.
type Backoff struct {
	First, Last time.Duration
	Factor      int64 // in hundredths
	Jitter      int64 // in percent
	Max         int64 // attempts; 0: no end
}

// Wait is how long attempt n of the record at that place waits, in whole milliseconds. It
// counts in rational numbers, and takes time and memory about quadratic in n.
func (b Backoff) Wait(n int64, topic string, partition int32, offset int64) time.Duration {
	wait := new(big.Rat).SetInt64(int64(b.First))
	for i := int64(1); i < n && wait.Cmp(new(big.Rat).SetInt64(int64(b.Last))) < 0; i++ {
		wait.Mul(wait, big.NewRat(b.Factor, 100))
	}
	if last := new(big.Rat).SetInt64(int64(b.Last)); wait.Cmp(last) > 0 {
		wait = last
	}
	share := new(big.Rat).SetFrac(new(big.Int).SetUint64(scattered(fmt.Sprintf("%s-%d-%d", topic, partition, offset))), big.NewInt(1<<53))
	share.Mul(share, big.NewRat(b.Jitter, 100))
	wait.Sub(wait, share.Mul(share, wait))
	wait.Quo(wait, big.NewRat(int64(time.Millisecond), 1))
	ms, part := new(big.Int).DivMod(wait.Num(), wait.Denom(), new(big.Int))
	if part.Sign() > 0 {
		ms.Add(ms, big.NewInt(1))
	}
	return time.Duration(ms.Int64()) * time.Millisecond
}

// scattered is the upper 53 bits of SplitMix64's finaliser over the FNV-1a hash of id.
func scattered(id string) uint64 {
	hash := fnv.New64a()
	hash.Write([]byte(id))
	z := hash.Sum64()
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return (z ^ (z >> 31)) >> 11
}

// last is the value of the last header of a name; ok is false where there is none.
func last(headers []Header, name string) (value string, ok bool) {
	for _, h := range slices.Backward(headers) {
		if strings.EqualFold(h.Name, name) {
			return string(h.Value), true
		}
	}
	return "", false
}

// attempt is the number of the attempt that a record with a back-off waits for.
func attempt(headers []Header) int64 {
	value, _ := last(headers, "x-delay-attempt")
	had, _ := strconv.ParseInt(value, 10, 64)
	return had + 1
}

// hops is the count that the delivery of a record carries, 0 where it carries none.
func hops(headers []Header) int64 {
	value, counted := last(headers, "layover-hops")
	_, delivered := last(headers, "layover-id")
	if !counted && !delivered {
		return 0
	}
	came, err := strconv.ParseInt(value, 10, 64)
	if err != nil || came < 0 {
		came = 0
	}
	return min(came+1, 1_000_000)
}

// number notes the attempt of a record with a back-off, which ends as a dead letter where
// none is left.
func (s *Sent) number() {
	if s.Backoff == (Backoff{}) {
		return
	}
	s.attempt = attempt(s.Record.Headers)
	if s.Backoff.Max > 0 && s.attempt > s.Backoff.Max {
		s.To, s.Dead, s.attempt = "", []string{"attempts_exhausted"}, 0
	}
}

// settle completes the due time of a record with a back-off, which its place decides.
func (s *Sent) settle() {
	if s.attempt == 0 {
		return
	}
	from := s.Record.Timestamp
	if value, ok := last(s.Record.Headers, "layover-due"); ok {
		if due, err := time.Parse(time.RFC3339, value); err == nil && due.After(from) {
			from = due
		}
	}
	s.Due = from.Add(s.Backoff.Wait(s.attempt, s.Record.Topic, s.Record.Partition, s.Record.Offset))
}

// carried are the headers that a delivery counts in, with their values.
func (e *entry) carried() map[string]string {
	by := make(map[string]string)
	if e.attempt > 0 {
		by["x-delay-attempt"] = strconv.FormatInt(e.attempt, 10)
	}
	if n := hops(e.Record.Headers); n > 0 {
		by["layover-hops"] = strconv.FormatInt(n, 10)
	}
	return by
}
