package long

import (
	"fmt"
	"hash/fnv"
	"os"
	"strconv"
	"strings"
)

// Played reports whether a test that takes long is played: LAYOVER_TEST_LONG is 1 for all of them, or k/n for the k-th
// of n parts. Names are spread over the parts by their hash. Any other value is an error, and plays nothing.
func Played(test string) (bool, error) {
	value := os.Getenv(variable)
	part, parts, cut := strings.Cut(value, "/")
	switch {
	case value == "", value == "1":
		return value != "", nil
	case cut:
		k, err := strconv.ParseUint(part, 10, 32)
		n, err2 := strconv.ParseUint(parts, 10, 32)
		if err == nil && err2 == nil && k >= 1 && k <= n {
			h := fnv.New32a()
			h.Write([]byte(test))
			return uint64(h.Sum32())%n == k-1, nil
		}
	}
	return false, fmt.Errorf("%s=%s: want 1, or k/n with k from 1 to n, as in 2/4", variable, value)
}
