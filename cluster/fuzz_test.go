package cluster

import (
	"math/big"
	"regexp"
	"strings"
	"testing"
	"time"
)

// FuzzRetentionAgainstBigNumbers reads what a broker says of a topic. There is a
// warning exactly where records may go before they are due. It names each setting
// that is wrong, and it stays on its line.
func FuzzRetentionAgainstBigNumbers(f *testing.F) {
	const day = 24 * time.Hour
	for _, ms := range []string{"604800000", "604799999", "-1", "0", "-2", "", "9223372036854775807", "9223372036854775808", "+1", "1_000", "0x10", " 1"} {
		f.Add(ms, "-1", "delete", int64(6*day), false)
		f.Add("-1", ms, "compact,delete", int64(time.Millisecond), true)
	}
	f.Add("315446399999", "-1", "delete", int64(3650*day), false)
	f.Add("21599999", "-1", "delete", int64(3650*day), true)
	f.Add("1", "1", "", int64(6*day), false) // from Kafka 4.2 on: nothing is ever deleted
	number := regexp.MustCompile(`^[-+]?\d+$`)
	below := func(text string, want *big.Int) bool {
		n, ok := new(big.Int).SetString(strings.TrimPrefix(text, "+"), 10)
		return ok && number.MatchString(text) && n.IsInt64() && n.Sign() >= 0 && n.Cmp(want) < 0
	}
	f.Fuzz(func(t *testing.T, ms, bytes, policy string, maxDelayNs int64, runs bool) {
		maxDelayNs = max(int64(time.Millisecond), min(maxDelayNs, int64(3650*day))) // as config does
		want := new(big.Int).Add(big.NewInt(maxDelayNs/1e6), big.NewInt(day.Milliseconds()))
		if runs {
			want = big.NewInt(6 * 3600 * 1000)
		}
		got := retentionWarning("orders", map[string]string{"retention.ms": ms, "retention.bytes": bytes, "cleanup.policy": policy}, time.Duration(maxDelayNs), runs)
		for setting, wrong := range map[string]bool{
			"retention.ms=":    policy != "" && below(ms, want),
			"retention.bytes=": policy != "" && below(bytes, new(big.Int).Lsh(big.NewInt(1), 63)),
			"cleanup.policy=":  strings.Contains(policy, "compact"),
		} {
			_, toSet, _ := strings.Cut(got, "--add-config ")
			if strings.Contains(toSet, setting) != wrong {
				t.Fatalf("%q %q %q with %v: %q, want %s in it: %v", ms, bytes, policy, time.Duration(maxDelayNs), got, setting, wrong)
			}
		}
	})
}
