package offsets

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"hash/fnv"
	"math/bits"
)

// Identity names the partition that metadata is bound to, beside the low offset.
type Identity struct {
	ClusterID string
	TopicID   TopicID
	Partition int32
}

// MaxMetadata is Kafka's default for offset.metadata.max.bytes, which the
// broker counts in characters.
const MaxMetadata = 4096

const (
	// magic opens every text of ours, in all versions there will be.
	magic = "layover."

	// readerVersion is the highest minimum reader version that Decode accepts.
	readerVersion = 2

	// headerLength is the same for all texts that are written: see Extension.header.
	headerLength = len(magic) + len("1.1.")

	// maxText bounds the text that is written or read, in characters. It is far
	// above any limit that a broker is configured with.
	maxText = 64 << 10

	// usualText is the capacity in bytes that a body begins with: that of the longest
	// text that a broker takes by default.
	usualText = MaxMetadata * 3 / 4
)

// The layout of the base64 part: the end of each field of fixed size.
const (
	endChecksum  = 4
	endCluster   = endChecksum + 8
	endTopicID   = endCluster + 16
	endPartition = endTopicID + 4
)

var (
	// text refuses stray bits at the end, so that a text has one reading.
	text       = base64.RawURLEncoding.Strict()
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// Encoded is a finished set as metadata, and how much of the set it holds.
type Encoded struct {
	// Metadata is ASCII. It is empty only when the limit left no room for a
	// text without any run. A window with nothing above low has a text, too.
	Metadata string

	// Complete is whether Metadata stands for the whole window.
	// Invariant: Complete is Left == 0 unless Metadata is empty, when it is
	// false (TestLimitedEncodingHoldsTheLongestPrefixThatFits).
	Complete bool

	// Covered counts the finished offsets above low that Metadata holds,
	// always the lowest ones, and Left the others.
	// Invariant: Covered + Left == Window.Above
	// (TestLimitedEncodingHoldsTheLongestPrefixThatFits).
	Covered int64
	Left    int64
}

// Set is a finished set to be encoded: Low, and above it maximal runs of finished offsets,
// ascending and half open, Above offsets in all. A Window is one.
type Set interface {
	Low() int64
	Above() int64
	Each(f func(from, to int64) bool)
}

// Encode writes the window for id, without an extension. See the function Encode.
func (w *Window) Encode(id Identity, limit int) Encoded { return Encode(w, id, Extension{}, limit) }

// Encode writes a set for id in at most limit characters. Offsets that do not fit
// are left out from the top. The text then holds the longest prefix of the set that
// fits, down to a part of a run. A limit too low for even the fixed fields and the
// extension gives the empty text; limits above 64 KiB count as 64 KiB.
//
// The cost grows with the pages and runs that are written, not with those left out.
func Encode(set Set, id Identity, ext Extension, limit int) Encoded {
	room := text.DecodedLen(max(min(limit, maxText)-headerLength, 0))
	body := appendIdentity(make([]byte, 0, min(room, usualText)), id)
	body = ext.append(body)
	if room < len(body) {
		return Encoded{Left: set.Above()}
	}
	body, covered, _ := AppendRuns(body, set.Low(), room, set.Each)
	header := ext.header()
	binary.BigEndian.PutUint32(body, checksum(header, body[endChecksum:], id.ClusterID, set.Low()))
	metadata := make([]byte, 0, headerLength+text.EncodedLen(len(body)))
	metadata = text.AppendEncode(append(metadata, header...), body)
	return Encoded{
		Metadata: string(metadata),
		Complete: covered == set.Above(),
		Covered:  covered,
		Left:     set.Above() - covered,
	}
}

// AppendRuns appends the runs that each gives out, relative to base, until dst has
// room bytes. covered counts their offsets; end is the end of the last one, or base
// without any. A run that does not fit is cut to the longest part that does. Runs
// ascend, the first begins above base, and they do not touch each other.
func AppendRuns(dst []byte, base int64, room int, each func(func(from, to int64) bool)) (out []byte, covered, end int64) {
	end = base
	each(func(from, to int64) bool {
		gap, length := uint64(from-end-1), uint64(to-from-1)
		left := room - len(dst) - numberSize(gap)
		if left < 1 {
			return false
		}
		if left < numberSize(length) {
			length = 1<<(7*left) - 1 // The longest part of the run that fits.
		}
		dst = binary.AppendUvarint(dst, gap)
		dst = binary.AppendUvarint(dst, length)
		covered += int64(length) + 1
		end = from + int64(length) + 1
		return end == to
	})
	return dst, covered, end
}

// appendIdentity appends the fields of fixed size, with a checksum of zero.
func appendIdentity(body []byte, id Identity) []byte {
	body = append(body, make([]byte, endChecksum)...)
	body = binary.BigEndian.AppendUint64(body, clusterHash(id.ClusterID))
	body = append(body, id.TopicID[:]...)
	return binary.BigEndian.AppendUint32(body, uint32(id.Partition))
}

// clusterHash stands for the cluster id in the text. It tells clusters apart;
// it is the checksum that covers the id itself.
func clusterHash(clusterID string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(clusterID)) // A hash returns no error.
	return h.Sum64()
}

// checksum covers all that the meaning of the text depends on. Topic id and
// partition are in fields, the part of the body after the checksum.
func checksum(header string, fields []byte, clusterID string, low int64) uint32 {
	sum := crc32.Update(0, castagnoli, []byte(header))
	sum = crc32.Update(sum, castagnoli, fields)
	sum = crc32.Update(sum, castagnoli, []byte(clusterID))
	return crc32.Update(sum, castagnoli, binary.BigEndian.AppendUint64(nil, uint64(low)))
}

// numberSize returns the bytes that n takes as unsigned LEB128.
func numberSize(n uint64) int { return (max(bits.Len64(n), 1) + 6) / 7 }
