package daemon

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

var (
	bubble  = regexp.MustCompile(`synctest bubble (\d+)`)
	created = regexp.MustCompile(`created by (\S+) in goroutine`)
)

// inThisBubble counts the goroutines of the caller's bubble but for those of brokers, by the
// function that started them.
func inThisBubble() map[string]int {
	own := make([]byte, 1<<16)
	own = own[:runtime.Stack(own, false)]
	in := bubble.Find(own)
	all := make([]byte, 64<<20)
	all = all[:runtime.Stack(all, true)]
	out := make(map[string]int)
	for stack := range bytes.SplitSeq(all, []byte("\n\n")) {
		head, _, _ := bytes.Cut(stack, []byte("\n"))
		by := created.FindSubmatch(stack)
		if bytes.Contains(head, append(in, ']')) && by != nil && !bytes.Contains(by[1], []byte("/kfake.")) {
			out[string(by[1])]++
		}
	}
	return out
}

// more names what there is more of now than before, but for what may be.
func more[K ~string](before, now map[K]int, may ...string) (out []string) {
	for _, k := range slices.Sorted(maps.Keys(now)) {
		if now[k] > before[k] && !slices.ContainsFunc(may, func(m string) bool { return strings.Contains(string(k), m) }) {
			out = append(out, fmt.Sprintf("%s %d, was %d", k, now[k], before[k]))
		}
	}
	return out
}
