package dlq

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/cli/process"
)

// counts are numbers by name.
type counts map[string]int64

const (
	// maxNames bounds the names that are counted apart: headers choose them.
	maxNames = 1000
	others   = "(others)"
	// maxShown is how many names people are shown; machines get all.
	maxShown = 20
)

// add counts one.
func (c counts) add(name string) {
	if _, known := c[name]; !known && len(c) >= maxNames {
		name = others
	}
	c[name]++
}

// print prints the counts under a heading, in the order of the names or the largest first.
func (c counts) print(w io.Writer, heading string, byName bool) {
	if len(c) == 0 {
		return
	}
	fmt.Fprintf(w, "\n  %s\n", heading)
	names := slices.Sorted(maps.Keys(c))
	if !byName {
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(c[b], c[a]) })
	}
	var rest int64
	if len(names) > maxShown {
		cut := maxShown
		if byName { // the newest days
			names = slices.Concat(names[len(names)-cut:], names[:len(names)-cut])
		}
		for _, name := range names[cut:] {
			rest += c[name]
		}
		names = names[:cut]
	}
	for _, name := range names {
		fmt.Fprintf(w, "    %9s  %s\n", process.Grouped(c[name]), name)
	}
	if rest > 0 {
		fmt.Fprintf(w, "    %9s  of %d more; -o json has all\n", process.Grouped(rest), len(c)-maxShown)
	}
}

// maxNewest is how many letters list shows.
const maxNewest = 10

// newest are the last letters by the time at which they were dead-lettered, newest first.
type newest []letter

// add takes a letter if it is one of the newest. It keeps nothing of its record but
// where that lies.
func (n *newest) add(l letter) {
	l.Record = &kgo.Record{Topic: l.Topic, Partition: l.Partition, Offset: l.Offset}
	i, _ := slices.BinarySearchFunc(*n, l, func(a, b letter) int {
		return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.Partition, b.Partition), cmp.Compare(b.Offset, a.Offset))
	})
	if i < maxNewest {
		*n = slices.Insert(*n, i, l)
		*n = (*n)[:min(len(*n), maxNewest)]
	}
}
