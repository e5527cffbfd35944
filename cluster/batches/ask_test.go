package batches

import "testing"

// TestAReaderIsPastWhatHasNothingForIt: its header tells, and where the reader stands.
func TestAReaderIsPastWhatHasNothingForIt(t *testing.T) {
	for name, test := range map[string]struct {
		found            Found
		passable, behind bool // the latter for a reader at 12
	}{
		"records":                  {Found{Header: Header{First: 12, Last: 14, Records: 3}}, false, false},
		"records behind it":        {Found{Header: Header{First: 13, Last: 14, Records: 2}}, false, false},
		"records in front, too":    {Found{Header: Header{First: 11, Last: 14, Records: 1}}, false, true},
		"none":                     {Found{Header: Header{First: 12, Last: 14}}, true, true},
		"markers":                  {Found{Header: Header{First: 12, Last: 12, Records: 1, Control: true}}, true, true},
		"an aborted transaction's": {Found{Header: Header{First: 12, Last: 12, Records: 1}, Aborted: true}, true, true},
		"a codec that nobody has":  {Found{Header: Header{First: 11, Last: 14, Codec: 7}}, false, false},
		"a wrong checksum":         {Found{Header: Header{First: 11, Last: 14, Damage: ErrChecksum}}, false, false},
		"markers that are damaged": {Found{Header: Header{First: 12, Last: 12, Records: 1, Control: true, Damage: ErrChecksum}}, false, false},
	} {
		if passable, behind := test.found.Passable(), test.found.MayBeBehind(12); passable != test.passable || behind != test.behind {
			t.Errorf("%s: passable %v, behind %v", name, passable, behind)
		}
	}
}
