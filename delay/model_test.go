package delay

import (
	"math"
	"math/big"
	"regexp"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// The model reads the headers a second time, with regular expressions and
// rational numbers and nothing of the package but its constants. It is slow,
// and short enough to be believed.

var (
	modelText    = regexp.MustCompile(`^[\x20-\x7e]+$`)
	modelInteger = regexp.MustCompile(`^-?[0-9]+$`)
	modelGo      = regexp.MustCompile(`^[-+]?((\d+\.?\d*|\.\d+)(ns|us|ms|[smhdw]))+$`)
	modelGoPart  = regexp.MustCompile(`(\d+\.?\d*|\.\d+)(ns|us|ms|[smhdw])`)
	modelISO     = regexp.MustCompile(`^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:[.,]\d+)?)S)?)?$`)
	modelRFC3339 = regexp.MustCompile(`^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|[-+](?:[01]\d|2[0-3]):[0-5]\d)$`)
)

var modelUnits = map[string]int64{
	"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9, "h": 3600e9, "d": 24 * 3600e9, "w": 7 * 24 * 3600e9,
}

// modelDuration returns the nanoseconds of text exactly, and the sum of its
// parts with each rounded up to the nanosecond. The codec returns that sum.
func modelDuration(text string) (exact *big.Rat, rounded *big.Int, parts int, ok bool) {
	type part struct{ number, unit string }
	var list []part
	negative := false
	if m := modelISO.FindStringSubmatch(text); m != nil && !strings.HasSuffix(text, "P") && !strings.HasSuffix(text, "T") {
		for i, unit := range []string{"w", "d", "h", "m", "s"} {
			if m[i+1] != "" {
				list = append(list, part{strings.Replace(m[i+1], ",", ".", 1), unit})
			}
		}
	} else if modelGo.MatchString(text) {
		negative = text[0] == '-'
		for _, m := range modelGoPart.FindAllStringSubmatch(text, -1) {
			list = append(list, part{m[1], m[2]})
		}
	} else {
		return nil, nil, 0, false
	}
	exact, rounded = new(big.Rat), new(big.Int)
	for _, p := range list {
		r, valid := new(big.Rat).SetString("0" + strings.TrimSuffix(p.number, "."))
		if !valid {
			panic("the model cannot read " + p.number)
		}
		r.Mul(r, new(big.Rat).SetInt64(modelUnits[p.unit]))
		exact.Add(exact, r)
		rounded.Add(rounded, ceilRat(r))
	}
	if negative {
		exact.Neg(exact)
		rounded.Neg(rounded)
	}
	return exact, rounded, len(list), rounded.IsInt64()
}

func ceilRat(r *big.Rat) *big.Int {
	q, m := new(big.Int).DivMod(r.Num(), r.Denom(), new(big.Int))
	if m.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return q
}

// modelDelay returns the milliseconds that x-delay asks for.
func modelDelay(value []byte) (ms int64, ok bool) {
	if !modelText.Match(value) {
		n := new(big.Int).SetBytes(value)
		return n.Int64(), len(value) == 8 && n.IsInt64()
	}
	if modelInteger.Match(value) {
		n, _ := new(big.Int).SetString(string(value), 10)
		return n.Int64(), n.IsInt64()
	}
	_, ns, _, ok := modelDuration(string(value))
	if !ok {
		return 0, false
	}
	return ceilRat(new(big.Rat).SetFrac(ns, big.NewInt(1e6))).Int64(), true
}

// modelInstant returns the Unix milliseconds that x-deliver-at asks for, which are rounded
// up, or x-expire-at, which are rounded down.
func modelInstant(value []byte, up bool) (ms int64, ok bool) {
	n := new(big.Int)
	switch {
	case !modelText.Match(value):
		n.SetBytes(value)
		if len(value) < 6 || len(value) > 8 || value[0] >= 0x80 {
			return 0, false
		}
	case modelInteger.Match(value):
		n.SetString(string(value), 10)
	default:
		return modelTime(string(value), up)
	}
	digits := len(n.String())
	if !n.IsInt64() || n.Sign() > 0 && (digits <= 11 || digits == 16 || digits == 19) {
		return 0, false
	}
	return n.Int64(), true
}

func modelTime(text string, up bool) (ms int64, ok bool) {
	m := modelRFC3339.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	t, err := time.Parse(time.RFC3339, m[1]+m[3])
	if err != nil {
		return 0, false
	}
	fraction, _ := new(big.Rat).SetString("0" + m[2])
	fraction.Mul(fraction, big.NewRat(1000, 1))
	if !up {
		return t.UnixMilli() + new(big.Int).Div(fraction.Num(), fraction.Denom()).Int64(), true
	}
	return t.UnixMilli() + ceilRat(fraction).Int64(), true
}

// modelParse returns the deadline, and the reason in the place of it. It knows no target.
func modelParse(r *Rules, headers []kgo.RecordHeader, timestampMs, nowMs int64) (deadline *big.Int, reason Reason) {
	last := modelLast(headers)
	base := timestampMs
	if timestampMs <= 0 {
		base = nowMs
	}
	if _, cancels := last["x-delay-cancel"]; cancels {
		return big.NewInt(base), modelCancel(last)
	}
	if deadline, reason = modelDeadline(r, last, timestampMs, base, nowMs); reason != "" {
		return nil, reason
	}
	if value, has := last["x-expire-at"]; has {
		if _, ok := modelInstant(value, false); !ok {
			return nil, "malformed_expire_at"
		}
	}
	if r.MaxHops > 0 && !r.DeliverInvalid && modelHops(last) > r.MaxHops {
		return nil, "too_many_hops"
	}
	if id, has := last["x-delay-id"]; has && !modelID(id) {
		return nil, "malformed_id"
	}
	return deadline, ""
}

func modelLast(headers []kgo.RecordHeader) map[string][]byte {
	last := map[string][]byte{}
	for _, h := range headers {
		last[asciiLower(h.Key)] = h.Value
	}
	return last
}

func modelDeadline(r *Rules, last map[string][]byte, timestampMs, base, nowMs int64) (deadline *big.Int, reason Reason) {
	relative := func(ms int64) (*big.Int, Reason) {
		if timestampMs <= 0 {
			return nil, "no_timestamp"
		}
		return new(big.Int).Add(big.NewInt(base), big.NewInt(ms)), ""
	}
	if b, applies := modelPolicy(r, last); applies {
		return modelBackoffDeadline(r, b, last, timestampMs, nowMs)
	}
	value, hasAt := last["x-deliver-at"]
	rel, hasDelay := last["x-delay"]
	switch {
	case hasAt:
		ms, ok := modelInstant(value, true)
		if !ok {
			return nil, "malformed_deliver_at"
		}
		deadline = big.NewInt(max(ms, time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()))
	case hasDelay:
		ms, ok := modelDelay(rel)
		if !ok {
			return nil, "malformed_delay"
		}
		if deadline, reason = relative(max(ms, 0)); reason != "" || ms <= 0 {
			return deadline, reason
		}
	case r.DefaultDelay > 0:
		if deadline, reason = relative(modelCeilMs(r.DefaultDelay)); reason != "" {
			return nil, reason
		}
	default:
		return big.NewInt(base), ""
	}
	limit := big.NewInt(modelCeilMs(r.MaxDelay))
	if new(big.Int).Sub(deadline, big.NewInt(base)).Cmp(limit) > 0 {
		return nil, "delay_too_long"
	}
	limit.Add(limit, big.NewInt(3_600_000))
	if new(big.Int).Sub(deadline, big.NewInt(nowMs)).Cmp(limit) > 0 {
		return nil, "future_timestamp"
	}
	return deadline, ""
}

func modelCeilMs(d time.Duration) int64 { return int64(math.Ceil(float64(d) / 1e6)) }

func asciiLower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 32
		}
		return r
	}, s)
}
