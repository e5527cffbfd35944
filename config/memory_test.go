package config

import (
	"runtime"
	"testing"
	"testing/fstest"
)

func TestMemoryLimitIsTheLeastOfTheGroupAndThoseAbove(t *testing.T) {
	const (
		v2 = "sys/fs/cgroup/"
		v1 = "sys/fs/cgroup/memory/"
	)
	tests := map[string]struct {
		groups string
		files  map[string]string
		want   int64
		ok     bool
	}{
		"version 2 in a namespace":             {"0::/\n", map[string]string{v2 + "memory.max": "536870912\n"}, 512 << 20, true},
		"version 2, own group":                 {"0::/a/b\n", map[string]string{v2 + "a/b/memory.max": "100\n", v2 + "a/memory.max": "max\n"}, 100, true},
		"version 2, group above is smaller":    {"0::/a/b\n", map[string]string{v2 + "a/b/memory.max": "100\n", v2 + "a/memory.max": "50\n"}, 50, true},
		"version 2, max":                       {"0::/a\n", map[string]string{v2 + "a/memory.max": "max\n"}, 0, false},
		"version 2, path of the host":          {"0::/kubepods/pod1/c1\n", map[string]string{v2 + "memory.max": "77\n"}, 77, true},
		"version 2, outside the namespace":     {"0::/../other\n", map[string]string{v2 + "memory.max": "77\n"}, 77, true},
		"version 1":                            {"3:cpu:/\n2:memory:/docker/x\n", map[string]string{v1 + "docker/x/memory.limit_in_bytes": "200\n"}, 200, true},
		"version 1, shared hierarchy":          {"2:cpu,memory:/\n", map[string]string{v1 + "memory.limit_in_bytes": "200\n"}, 200, true},
		"version 1, path of the host":          {"2:memory:/docker/x\n", map[string]string{v1 + "memory.limit_in_bytes": "300\n"}, 300, true},
		"version 1, absurdly large":            {"2:memory:/\n", map[string]string{v1 + "memory.limit_in_bytes": "9223372036854771712\n"}, 0, false},
		"version 1, beyond 63 bits":            {"2:memory:/\n", map[string]string{v1 + "memory.limit_in_bytes": "18446744073709551615\n"}, 0, false},
		"hybrid":                               {"2:memory:/a\n1:name=systemd:/b\n0::/c\n", map[string]string{v1 + "a/memory.limit_in_bytes": "400\n", v2 + "c/memory.max": "500\n"}, 400, true},
		"another controller with memory in it": {"2:notmemory:/\n", map[string]string{v1 + "memory.limit_in_bytes": "1\n"}, 0, false},
		"a colon in the path":                  {"0::/a:b\n", map[string]string{v2 + "a:b/memory.max": "9\n"}, 9, true},
		"zero is no limit":                     {"0::/\n", map[string]string{v2 + "memory.max": "0\n"}, 0, false},
		"nonsense":                             {"x\n\n0::\n", map[string]string{v2 + "memory.max": "much\n"}, 0, false},
		"no files":                             {"0::/a\n2:memory:/a\n", nil, 0, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			root := fstest.MapFS{"proc/self/cgroup": {Data: []byte(test.groups)}}
			for path, text := range test.files {
				root[path] = &fstest.MapFile{Data: []byte(text)}
			}
			if got, ok := memoryLimit(root); got != test.want || ok != test.ok {
				t.Errorf("got %d, %v, want %d, %v", got, ok, test.want, test.ok)
			}
		})
	}
	if got, ok := memoryLimit(fstest.MapFS{}); got != 0 || ok {
		t.Errorf("without /proc: got %d, %v", got, ok)
	}
}

func TestMemoryLimitOfThisMachineIsPlausible(t *testing.T) {
	got, ok := MemoryLimit()
	if (got > 0) != ok || got >= unlimited {
		t.Errorf("got %d, %v", got, ok)
	}
	if ok && runtime.GOOS != "linux" {
		t.Errorf("a limit of %d on %s", got, runtime.GOOS)
	}
}

func TestLoadTakesTheDefaultsOfThisMachine(t *testing.T) {
	cfg, warnings, err := Load(minimal())
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v, %q", err, warnings)
	}
	bytes := int64(fallbackParkedBytes)
	if limit, ok := MemoryLimit(); ok {
		bytes = min(max(limit/2, 1<<20), 1<<40)
	}
	if lanes := min(4, runtime.GOMAXPROCS(0)); cfg.Lanes != lanes || cfg.MaxParkedBytes != bytes {
		t.Errorf("lanes %d, bytes %d, want %d and %d", cfg.Lanes, cfg.MaxParkedBytes, lanes, bytes)
	}
}

func TestTheRuntimeLeavesMemoryForWhatItDoesNotCount(t *testing.T) {
	const mebi = 1 << 20
	for name, test := range map[string]struct{ container, want int64 }{
		"a large container: a tenth is left":  {1000 * mebi, 900 * mebi},
		"a small one: the binary's 24 MiB":    {128 * mebi, 104 * mebi},
		"a very small one: a quarter is left": {64 * mebi, 48 * mebi},
		"the least one":                       {32 * mebi, 24 * mebi},
	} {
		if got := RuntimeMemory(test.container); got != test.want {
			t.Errorf("%s: %d bytes, want %d", name, got, test.want)
		}
	}
}
