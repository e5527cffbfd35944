package purgatory

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTheLastTenDeadLettersAreKeptAndTheLatestIsFirst(t *testing.T) {
	var l letters
	if got := l.last(); got != nil {
		t.Errorf("%v before the first", got)
	}
	for i := range int64(23) {
		e := entry{from: &source{}, failure: &failure{reason: "rejected", message: fmt.Sprint("number ", i)}}
		e.from.Topic, e.from.Partition = "delayed", 3
		l.note(&e, 100+i, 5000+i)
		kept := l.last()
		if want := min(int(i)+1, LastLetters); len(kept) != want {
			t.Fatalf("%d kept after %d, want %d", len(kept), i+1, want)
		}
		for j, k := range kept {
			n := i - int64(j)
			if k.Offset != 100+n || k.AtMs != 5000+n || k.Message != fmt.Sprint("number ", n) || k.Reason != "rejected" || k.Topic != "delayed" || k.Partition != 3 {
				t.Fatalf("after %d, %d is %+v", i+1, j, k)
			}
		}
	}
}

func TestAMessageThatIsKeptIsCut(t *testing.T) {
	if short := strings.Repeat("x", maxLetterMessage); cutMessage(short) != short {
		t.Error("a message that fits is changed")
	}
	cut := cutMessage(strings.Repeat("ä", 10_000))
	if len(cut) > maxLetterMessage+len("…") || !utf8.ValidString(cut) || !strings.HasSuffix(cut, "ä…") {
		t.Errorf("%d bytes: %q", len(cut), cut)
	}
}
