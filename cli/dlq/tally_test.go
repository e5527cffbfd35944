package dlq

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func TestNamesThatHeadersInventAreCountedTogether(t *testing.T) {
	c := counts{}
	for i := range 5000 {
		c.add(fmt.Sprintf("invented-%d", i))
	}
	c.add("invented-0")
	if len(c) > maxNames+1 || c[others] != 5000-maxNames || c["invented-0"] != 2 {
		t.Errorf("%d names, %d others, %d of the first", len(c), c[others], c["invented-0"])
	}
}

func TestCountsAreTheLargestFirstAndOfDaysTheNewest(t *testing.T) {
	var b strings.Builder
	counts{"a": 2, "b": 1200, "c": 2}.print(&b, "by reason", false)
	if got, want := b.String(), "\n  by reason\n        1,200  b\n            2  a\n            2  c\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	days := counts{}
	for i := range 25 {
		days[fmt.Sprintf("2026-11-%02d", i+1)] = 1
	}
	b.Reset()
	days.print(&b, "by day", true)
	if got := b.String(); strings.Contains(got, "2026-11-05") || !strings.Contains(got, "2026-11-06\n") || !strings.HasSuffix(got, "2026-11-25\n            5  of 5 more; -o json has all\n") {
		t.Errorf("got %s", got)
	}
}

func TestTheNewestAreThoseThatDiedLast(t *testing.T) {
	var n newest
	began := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	for _, i := range []int{7, 3, 11, 0, 14, 5, 1, 13, 2, 9, 4, 12, 6, 8, 10} {
		n.add(letter{Record: &kgo.Record{Offset: int64(i), Value: []byte("v")}, at: began.Add(time.Duration(i) * time.Second)})
	}
	if len(n) != maxNewest {
		t.Fatalf("%d", len(n))
	}
	for i, l := range n {
		if l.Offset != int64(14-i) || l.Value != nil {
			t.Errorf("place %d has offset %d, and a value of %d bytes", i, l.Offset, len(l.Value))
		}
	}
}
