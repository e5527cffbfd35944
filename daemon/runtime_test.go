package daemon

import "testing"

func TestTheRuntimeLeavesMemoryForWhatItDoesNotCount(t *testing.T) {
	const mebi = 1 << 20
	for name, test := range map[string]struct{ container, want int64 }{
		"a large container: a tenth is left":  {1000 * mebi, 900 * mebi},
		"a small one: the binary's 24 MiB":    {128 * mebi, 104 * mebi},
		"a very small one: a quarter is left": {64 * mebi, 48 * mebi},
		"the least one":                       {32 * mebi, 24 * mebi},
	} {
		if got := runtimeLimit(test.container); got != test.want {
			t.Errorf("%s: %d bytes, want %d", name, got, test.want)
		}
	}
}
