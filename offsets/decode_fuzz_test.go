package offsets

import (
	"encoding/base64"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What a fuzz input says about the metadata that is made of it.
const (
	formSealed         = 1 << iota // the input is what stands behind the identity, the checksum is right
	formOtherTopic                 // written for another topic id
	formOtherPartition             // for another partition
	formOtherCluster               // for another cluster
	formOtherLow                   // for another low offset
	formLater                      // by a later version that this reader can read
	formNewer                      // by a later version that it cannot
	formHolds                      // with copies of records that are open
)

// shape makes metadata of a fuzz input.
func shape(input string, id Identity, low int64, form byte) string {
	if form&formSealed == 0 {
		return input
	}
	versions := "1.1"
	if form&formOtherTopic != 0 {
		id.TopicID[9] ^= 1
	}
	if form&formOtherPartition != 0 {
		id.Partition ^= 1
	}
	if form&formOtherCluster != 0 {
		id.ClusterID += "x"
	}
	if form&formOtherLow != 0 {
		low ^= 1
	}
	if form&formLater != 0 {
		versions = "65535.1"
	}
	if form&formNewer != 0 {
		versions = "3.3"
	}
	if form&formHolds != 0 {
		versions = "2.2"
	}
	// forge writes the identity, and an empty extension of one byte.
	fields, _ := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(forge("1.1", id, low, nil), "layover.1.1."))
	return seal(versions, id, low, append(fields[4:len(fields)-1], input...))
}

var (
	modelText   = regexp.MustCompile(`^layover\.([1-9]\d{0,5})\.([1-9]\d{0,5})\.((?s).*)$`)
	modelBase64 = regexp.MustCompile(`^[A-Za-z0-9_-]*$`)
)

// modelDecode reads metadata as the package comment describes it, with nothing of
// the code under test but seal. It has a regular expression, and numbers without a bound.
func modelDecode(metadata string, id Identity, low int64) (runs []int64, kind error) {
	switch {
	case metadata == "":
		return nil, nil
	case !strings.HasPrefix(metadata, "layover."):
		return nil, ErrForeign
	case len(metadata) > 65536:
		return nil, ErrDamaged
	}
	m := modelText.FindStringSubmatch(metadata)
	if m == nil {
		return nil, ErrDamaged
	}
	version, _ := strconv.Atoi(m[1])
	needed, _ := strconv.Atoi(m[2])
	switch {
	case version > 65535 || needed > version:
		return nil, ErrDamaged
	case needed > 2:
		return nil, ErrNewer
	case !modelBase64.MatchString(m[3]):
		return nil, ErrDamaged
	}
	body, err := base64.RawURLEncoding.DecodeString(m[3])
	if err != nil || base64.RawURLEncoding.EncodeToString(body) != m[3] || len(body) < 33 {
		return nil, ErrDamaged
	}
	size, rest := modelNumber(body[32:])
	if size == nil || size.Cmp(big.NewInt(int64(len(rest)))) > 0 {
		return nil, ErrDamaged
	}
	// The fields of an empty set of this identity, behind version and checksum.
	own, _ := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(forge("1.1", id, low, nil), "layover.1.1."))
	switch {
	case string(body[4:12]) != string(own[4:12]):
		return nil, ErrForeign
	case seal(m[1]+"."+m[2], id, low, body[4:]) != metadata:
		return nil, ErrDamaged
	case string(body[12:28]) != string(own[12:28]):
		return nil, ErrOtherTopic
	case string(body[28:32]) != string(own[28:32]):
		return nil, ErrForeign
	}
	return modelRuns(rest[size.Int64():], low)
}

func modelRuns(b []byte, low int64) (runs []int64, kind error) {
	end := big.NewInt(max(low, 0))
	for len(b) > 0 {
		gap, rest := modelNumber(b)
		if gap == nil {
			return nil, ErrDamaged
		}
		length, rest := modelNumber(rest)
		if length == nil {
			return nil, ErrDamaged
		}
		from := new(big.Int).Add(end, gap.Add(gap, big.NewInt(1)))
		end = new(big.Int).Add(from, length.Add(length, big.NewInt(1)))
		if !end.IsInt64() {
			return nil, ErrDamaged
		}
		runs, b = append(runs, from.Int64(), end.Int64()), rest
	}
	return runs, nil
}

// modelNumber reads an unsigned LEB128 number of at most 64 bits that is written in
// no more bytes than it needs. It returns nil where there is none.
func modelNumber(b []byte) (*big.Int, []byte) {
	n := new(big.Int)
	for i, c := range b {
		n.Or(n, new(big.Int).Lsh(big.NewInt(int64(c&0x7f)), uint(7*i)))
		if c < 0x80 {
			if i > 0 && c == 0 || n.BitLen() > 64 {
				return nil, nil
			}
			return n, b[i+1:]
		}
	}
	return nil, nil
}

// FuzzDecodeAgreesWithAReaderOfTheFormat compares Decode with the model. It holds
// Decode to its promises: the kind of each error, an empty window with it, and
// memory by the length of the text alone.
func FuzzDecodeAgreesWithAReaderOfTheFormat(f *testing.F) {
	const example = "layover.1.1.QTFR069j3kyGAe_yAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQEAAA" // as the package comment has it
	for _, text := range []string{
		"", "layover", "layover.", "layover.1.", "layover.1.1.", "layover.01.1.x", "layover.1.2.x", "layover.2.2.", "layover.3.3.", "layover.65535.65535.",
		"layover.65536.1.", "layover.9.2.\n", "layover.9.3.\n", "layover.1.1.=", "layover.1.1.A\nA", "kgo-6ba7b810", "bwAAAAEAAAAB", "  ", "Layover.1.1.",
		example, example + "=", example[:len(example)-1], example + "\n", strings.Repeat("layover.", 8193),
	} {
		f.Add(text, int64(42), "c", int32(0), byte(0))
	}
	bodies := []string{
		"", "\x00", "\x00\x01\x01\x00\x00", "\x00\x01", "\x00\x81", "\x00\x81\x00\x01", "\x01", "\x01x", "\x05later\x01\x01",
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
		"\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00", "\x00\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x00", "\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
		"\x01?\x80\x20\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "\x00\xfe\x3f\x01\xfe\x3f\x01",
	}
	for _, body := range bodies {
		for _, low := range []int64{42, 0, -1, 1 << 62, math.MaxInt64 - 2, math.MaxInt64, math.MinInt64} {
			f.Add(body, low, "cluster", int32(3), byte(formSealed))
		}
	}
	for form := range 256 {
		f.Add(bodies[2], int64(42), "", int32(-1), byte(form)|formSealed)
	}
	f.Fuzz(func(t *testing.T, input string, low int64, cluster string, partition int32, form byte) {
		id := Identity{ClusterID: cluster, TopicID: TopicID{byte(partition), 9: 7}, Partition: partition}
		metadata := shape(input, id, low, form)
		want, kind := modelDecode(metadata, id, low)
		if kind != nil {
			mustRefuse(t, metadata, id, low, kind)
			return
		}
		w, err := Decode(metadata, id, low)
		if err != nil || w.Low() != max(low, 0) || !slices.Equal(runsOf(w), want) {
			t.Fatalf("%q at %d: %v, low %d, runs %v, want %v", metadata, low, err, w.Low(), runsOf(w), want)
		}
		checkInvariants(t, w)
		if w.Bytes() > mostBytes(len(metadata)) {
			t.Fatalf("%d bytes from %d characters", w.Bytes(), len(metadata))
		}
		// One set has one encoding, so what this release could have written is
		// what it writes again.
		if again := w.Encode(id, maxText).Metadata; low >= 0 && ownWriting(metadata) && again != metadata {
			t.Fatalf("read %s, wrote %s", metadata, again)
		}
	})
}

// ownWriting reports whether valid metadata is of the version that Encode
// writes, and without the extension that it leaves out.
func ownWriting(metadata string) bool {
	encoded, ok := strings.CutPrefix(metadata, "layover.1.1.")
	body, _ := base64.RawURLEncoding.DecodeString(encoded)
	return ok && body[32] == 0
}
