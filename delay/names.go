package delay

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Mapping gives a header of another product a meaning: its value is read in that format.
type Mapping struct {
	Name   string
	Format Format
}

// String returns NAME=FORMAT, as LAYOVER_HEADER_MAP has it.
func (m Mapping) String() string { return m.Name + "=" + m.Format.String() }

// Names are the mapped headers: those of other products that have a meaning beside Layover's
// own. Nothing in it changes, and any number of goroutines may use it. A nil *Names has none.
type Names struct {
	words []word // what comes first wins, within a role

	// likely has, for each length of a name modulo 64, a bit for each first byte modulo 32.
	// A name without its bit is neither mapped nor Layover's own: most need no other look.
	likely [64]uint32
	// first is the first word of that length modulo 64, as index + 1; word.next is the next.
	first [64]uint16

	keys  bool // some header chooses the key of the delivered record
	keyed bool // preset etf1 is on: see control.isSchedule
}

// word is one mapped header.
type word struct {
	name   string // as the map or the preset has it, for messages
	lower  string
	format Format
	role   role
	epoch  bool // it makes its record one of etf1's scheduler
	next   uint16
}

// maxName is the largest size of a mapped name, in bytes. No product has longer ones.
const maxName = 255

// NewNames returns the vocabulary of a map and of presets, in the order in which they win. It
// is nil where both give nothing a meaning. A name that the map and a preset have is the map's.
//
// Errors are a name of the map that CheckName refuses or that is there twice, and a preset that
// is unknown.
func NewNames(own []Mapping, presetNames []string) (*Names, error) {
	n := new(Names)
	for _, m := range own {
		if err := CheckName(m.Name); err != nil {
			return nil, fmt.Errorf("mapped header %s: %w", quote([]byte(m.Name)), err)
		}
		if n.find(m.Name) >= 0 {
			return nil, fmt.Errorf("mapped header %s: it is there twice", quote([]byte(m.Name)))
		}
		n.add(m)
	}
	n.order(0)
	for _, name := range presetNames {
		i := slices.IndexFunc(presets, func(p preset) bool { return p.name == name })
		if i < 0 && name != NativePreset {
			return nil, fmt.Errorf("preset %s is unknown", quote([]byte(name)))
		}
		if i < 0 {
			continue
		}
		begin := len(n.words)
		n.keyed = n.keyed || presets[i].keyed
		for _, m := range presets[i].maps {
			if n.find(m.Name) < 0 { // else the map's, or the preset is listed twice
				n.add(m)
			}
		}
		n.order(begin)
	}
	if len(n.words) == 0 {
		return nil, nil
	}
	for i := range n.words {
		w := &n.words[i]
		n.keys = n.keys || w.role == roleKey
		w.epoch = n.keyed && w.lower == headerEpoch && w.role == roleWhen
	}
	return n, nil
}

// add appends a word, and makes it findable.
func (n *Names) add(m Mapping) {
	n.words = append(n.words, word{name: m.Name, lower: asciiFold(m.Name), format: m.Format, role: formats[m.Format].role})
	n.index()
}

// order puts the instants of one source, which are the words from begin on, before its delays.
func (n *Names) order(begin int) {
	slices.SortStableFunc(n.words[begin:], func(a, b word) int {
		switch at, bt := formats[a.format].instant, formats[b.format].instant; {
		case at && !bt:
			return -1
		case bt && !at:
			return 1
		}
		return 0
	})
	n.index()
}

// index fills likely and first anew. Names with the first letters of Layover's own are likely
// at any length.
func (n *Names) index() {
	n.first = [64]uint16{}
	for i := range n.likely {
		n.likely[i] = 1<<('x'&31) | 1<<('l'&31)
	}
	for i := range n.words {
		w := &n.words[i]
		at := len(w.lower) & 63
		n.likely[at] |= 1 << (w.lower[0] & 31)
		w.next, n.first[at] = n.first[at], uint16(i)+1
	}
}

// CheckName refuses a name that cannot be mapped: one of Layover's own, and one that is not
// 1 to 255 characters of ASCII. A blank, a comma, a semicolon and an equals sign are
// refused, too. The error continues a sentence that began with the name.
func CheckName(name string) error {
	switch {
	case name == "":
		return errors.New("is empty")
	case len(name) > maxName:
		return fmt.Errorf("is longer than %d characters", maxName)
	case isOwn(name):
		return errors.New("has a meaning of its own to Layover")
	}
	for _, c := range name {
		if c < '!' || c > '~' || strings.ContainsRune(",;=", c) {
			return fmt.Errorf("has the character %q, want ASCII without a blank, a comma, a semicolon and an equals sign", c)
		}
	}
	return nil
}

// isOwn reports whether a name is Layover's to give a meaning to, now or in a later version.
func isOwn(name string) bool {
	lower := asciiFold(name)
	return kindOf(lower) != kindOther ||
		strings.HasPrefix(lower, "layover-") || strings.HasPrefix(lower, "layover.")
}

// asciiFold is name with its ASCII letters in lower case.
func asciiFold(name string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, name)
}

// find returns the index of a name's word, without regard to case; -1 where there is none.
func (n *Names) find(name string) int {
	for at := n.first[len(name)&63]; at > 0; at = n.words[at-1].next {
		if equalFold(name, n.words[at-1].lower) {
			return int(at) - 1
		}
	}
	return -1
}

// rulesOut reports whether a name is certainly neither mapped nor Layover's own.
func (n *Names) rulesOut(name string) bool {
	return name == "" || n.likely[len(name)&63]>>(name[0]&31)&1 == 0
}

// Has reports whether a header is mapped, without regard to case.
func (n *Names) Has(name string) bool { return n != nil && n.find(name) >= 0 }

// ChooseKeys reports whether a header may choose the key of a delivered record.
func (n *Names) ChooseKeys() bool { return n != nil && n.keys }

// KeyRank returns 0 for a header that does not choose the delivered record's key. Of those
// that do, the one with the smallest rank counts, and of several of one name the last.
func (n *Names) KeyRank(name string) int {
	if n == nil || n.rulesOut(name) {
		return 0
	}
	if w := n.find(name); w >= 0 && n.words[w].role == roleKey {
		return w + 1
	}
	return 0
}
