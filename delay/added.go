package delay

import "strings"

// Added is a set of the headers that say which record a delivery is of, when it was due, and
// when it was written. The zero value is none of them.
//
// Headers that count are no part of it. Retries end by x-delay-attempt and circles by
// layover-hops, so that a delivery has these whatever is chosen.
type Added uint8

// The members of an Added.
const (
	AddID Added = 1 << iota
	AddDue
	AddOriginalTimestamp

	AddAll = AddID | AddDue | AddOriginalTimestamp
)

// AddNone is the word for an empty Added.
const AddNone = "none"

// addedWords are the headers without what their names share, in the order of a delivery.
var addedWords = [...]struct {
	word string
	is   Added
}{
	{"id", AddID},
	{"due", AddDue},
	{"original-timestamp", AddOriginalTimestamp},
}

// AddedWords returns the word of each header, in a slice that is the caller's own.
func AddedWords() []string {
	words := make([]string, len(addedWords))
	for i, w := range addedWords {
		words[i] = w.word
	}
	return words
}

// AddedOf returns the header of a word in lower case, alone in a set; not ok: it is no word.
func AddedOf(word string) (a Added, ok bool) {
	for _, w := range addedWords {
		if w.word == word {
			return w.is, true
		}
	}
	return 0, false
}

// Has reports whether all headers of b are in a.
func (a Added) Has(b Added) bool { return a&b == b }

// String returns the words with commas between them, as LAYOVER_ADDED_HEADERS has them.
func (a Added) String() string {
	var words []string
	for _, w := range addedWords {
		if a.Has(w.is) {
			words = append(words, w.word)
		}
	}
	if words == nil {
		return AddNone
	}
	return strings.Join(words, ",")
}

// added returns the headers of a delivery that says where and when. The next wait of a
// back-off counts from layover-due, where a client keeps the timestamp of the first attempt.
// Without it those retries would come at once.
func (r *Rules) added(c *control, o Origin, form Form) Added {
	if form&Bare != 0 {
		return 0
	}
	added := AddAll &^ r.LeaveOut
	if !added.Has(AddDue) && r.waits(c) {
		added |= AddDue
	}
	if o.TimestampMs <= 0 {
		added &^= AddOriginalTimestamp
	}
	return added
}

// waits reports whether a back-off applies to a record, whatever its attempts.
func (r *Rules) waits(c *control) bool {
	b, f := r.backoff(c)
	return f == fine && !b.IsZero()
}
