package config

import (
	"io/fs"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"
)

// unlimited is the number from which a limit is none. Version 1 of cgroups
// writes the largest multiple of a page that fits into 63 bits for no limit;
// no machine comes near an exbibyte.
const unlimited = 1 << 60

// MemoryLimit returns the memory limit of the container this process runs in,
// in bytes: the least of its control group and those above it. It reports
// false where there is none, where it cannot be read, and on systems other
// than Linux. The cost is a few small files, read on each call.
func MemoryLimit() (bytes int64, ok bool) {
	if runtime.GOOS != "linux" {
		return 0, false
	}
	return memoryLimit(os.DirFS("/"))
}

// RuntimeMemory returns how much of a container's memory, in bytes, the Go runtime may
// use before it collects harder. The rest is a tenth, and 24 MiB at least; in a very
// small container it is at most a quarter. The rest is for pages that the runtime does
// not count: the kernel's own, and those of the binary. Without room for the latter
// the kernel would drop and read them again and again.
func RuntimeMemory(container int64) int64 {
	return container - max(container/10, min(24<<20, container/4))
}

// memoryLimit is MemoryLimit below root.
//
// /proc/self/cgroup has one line per hierarchy, number:controllers:path, with
// 0::path for version 2. On a hybrid system both versions are there and either
// may hold the memory controller. In a container without a cgroup namespace the
// path is the host's, while the mount shows the container's own group as its
// root. The files on the way do not exist then, and the walk up ends at the right one.
func memoryLimit(root fs.FS) (bytes int64, ok bool) {
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0, false
	}
	least := int64(unlimited)
	for line := range strings.Lines(string(groups)) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) < 3 {
			continue
		}
		controllers, group := fields[1], fields[2]
		switch {
		case fields[0] == "0" && controllers == "":
			least = min(least, leastLimit(root, "sys/fs/cgroup", group, "memory.max"))
		case hasController(controllers, "memory"):
			least = min(least, leastLimit(root, "sys/fs/cgroup/memory", group, "memory.limit_in_bytes"))
		}
	}
	if least == unlimited {
		return 0, false
	}
	return least, true
}

func hasController(list, name string) bool {
	for controller := range strings.SplitSeq(list, ",") {
		if controller == name {
			return true
		}
	}
	return false
}

// leastLimit returns the least number in the files called name of group and
// all groups above it up to mount, or unlimited. Cleaning the path keeps a
// group outside the namespace, /../other, from leaving mount.
func leastLimit(root fs.FS, mount, group, name string) int64 {
	least := int64(unlimited)
	for dir := path.Clean("/" + group); ; dir = path.Dir(dir) {
		text, err := fs.ReadFile(root, path.Join(mount, dir, name))
		if err == nil {
			n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
			if err == nil && n > 0 { // "max" is no number
				least = min(least, n)
			}
		}
		if dir == "/" {
			return least
		}
	}
}
