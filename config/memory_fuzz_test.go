package config

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// FuzzMemoryLimitAgainstItsFiles reads a limit from any list of groups and any limits.
// What comes out is a number that stands in one of the files, never one from outside
// their folder. It is none only where no file that a group leads to holds a limit.
func FuzzMemoryLimitAgainstItsFiles(f *testing.F) {
	for _, groups := range []string{
		"0::/\n", "0::/a/b\n", "0::/../../other\n", "0::a//b/..\n", "5:cpu,memory:/a\n0::/a\n", "1:name=systemd:/a", "0::", "::", "", "0::/a\x00b\n", "12:memory:/a/b:c\n", "0::/./.\n",
	} {
		f.Add(groups, "1073741824\n", "max\n", "9223372036854771712\n")
		f.Add(groups, "max", "536870912", "268435456")
		f.Add(groups, "-1", " 0", "99999999999999999999")
	}
	isNumber := regexp.MustCompile(`^[+-]?\d+$`)
	f.Fuzz(func(t *testing.T, groups, root, leaf, legacy string) {
		const outside = 4711
		got, ok := memoryLimit(fstest.MapFS{
			"proc/self/cgroup":                               {Data: []byte(groups)},
			"memory.max":                                     {Data: []byte(strconv.Itoa(outside))},
			"other/memory.max":                               {Data: []byte(strconv.Itoa(outside))},
			"sys/fs/memory.max":                              {Data: []byte(strconv.Itoa(outside))},
			"sys/fs/cgroup/memory.max":                       {Data: []byte(root)},
			"sys/fs/cgroup/a/memory.max":                     {Data: []byte(leaf)},
			"sys/fs/cgroup/memory/memory.limit_in_bytes":     {Data: []byte(legacy)},
			"sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": {Data: []byte("max")},
		})
		least := int64(math.MaxInt64)
		found := false
		for _, text := range []string{root, leaf, legacy} {
			text = strings.TrimSpace(text)
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil || !isNumber.MatchString(text) || n <= 0 || n >= 1<<60 {
				continue
			}
			least = min(least, n)
			found = found || ok && n == got
		}
		if ok != found || ok && got < least || !ok && got != 0 {
			t.Fatalf("groups %q, limits %q %q %q: got %d %v", groups, root, leaf, legacy, got, ok)
		}
		// Whoever has a group in version 2 is in its root as well.
		if n, err := strconv.ParseInt(strings.TrimSpace(root), 10, 64); strings.HasPrefix(groups, "0::/") && err == nil && n > 0 && n < 1<<60 && (!ok || got > n) {
			t.Fatalf("groups %q: got %d %v, the root has %d", groups, got, ok, n)
		}
	})
}
