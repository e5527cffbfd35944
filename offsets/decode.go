package offsets

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// The reasons for which metadata is not the finished set at its offset. Decode
// returns an empty window with them.
var (
	// ErrForeign is metadata that Layover did not write for this partition of
	// this cluster: another client's, such as its member id, or a mirror's
	// copy. The offset itself may be right.
	ErrForeign = errors.New("not written for this partition")

	// ErrOtherTopic is metadata that Layover wrote in this cluster for a topic
	// with another id. The topic was deleted and created again, and the offset
	// beside the metadata belongs to a log that is gone.
	ErrOtherTopic = errors.New("written for another topic of this name")

	// ErrDamaged is metadata of ours that was changed, or stands beside another
	// offset than the one it was written for.
	ErrDamaged = errors.New("damaged")

	// ErrNewer is metadata of a later format that this reader must not guess
	// at. It is the one error that a newer release cures.
	ErrNewer = errors.New("written by a newer release")
)

// Decode reads the set that Encode wrote for the same id and a set at low. See
// DecodeAll.
func Decode(metadata string, id Identity, low int64) (*Window, error) {
	w, _, err := DecodeAll(metadata, id, low)
	return w, err
}

// DecodeAll reads the set and the extension that Encode wrote for the same id and
// a set at low.
// Empty metadata, which an operator's reset leaves, is an empty set and no
// error.
//
// The window is never nil: with an error it is empty and at low. The error is,
// for errors.Is, one of ErrForeign, ErrOtherTopic, ErrDamaged and ErrNewer. The
// owner of the text is checked before its soundness, so a mirror's copy at a
// translated offset is foreign and not damaged.
//
// The length of the text bounds the cost in time and memory, whatever numbers are in
// it. No more than 64 KiB of text is looked at.
func DecodeAll(metadata string, id Identity, low int64) (*Window, Extension, error) {
	if metadata == "" {
		return NewWindow(low), Extension{}, nil
	}
	needed, extension, runs, err := open(metadata, id, low)
	if err != nil {
		return NewWindow(low), Extension{}, err
	}
	w := NewWindow(low)
	if err = ReadRuns(runs, low, func(from, to int64) { w.FinishRange(from, to) }); err != nil {
		return NewWindow(low), Extension{}, err
	}
	ext := readExtension(extension)
	ext.Runs.Holds = needed > 1
	return w, ext, nil
}

// open checks everything about metadata but the extension and the runs. It returns these
// two and the minimum reader version.
func open(metadata string, id Identity, low int64) (needed uint64, extension, runs []byte, err error) {
	rest, ok := strings.CutPrefix(metadata, magic)
	if !ok {
		return 0, nil, nil, fmt.Errorf("commit metadata %.100q: %w", metadata, ErrForeign)
	}
	if len(metadata) > maxText {
		return 0, nil, nil, damaged("%d characters, want at most %d", len(metadata), maxText)
	}
	needed, encoded, err := checkVersions(rest)
	if err != nil {
		return 0, nil, nil, err
	}
	body, extension, runs, err := splitBody(encoded)
	if err != nil {
		return 0, nil, nil, err
	}
	if hash := binary.BigEndian.Uint64(body[endChecksum:]); hash != clusterHash(id.ClusterID) {
		return 0, nil, nil, fmt.Errorf("commit metadata for cluster hash %016x, this is %q: %w", hash, id.ClusterID, ErrForeign)
	}
	// The topic id is compared only after the checksum, because the reader of
	// another topic leaves the committed offset.
	want := checksum(metadata[:len(metadata)-len(encoded)], body[endChecksum:], id.ClusterID, low)
	if sum := binary.BigEndian.Uint32(body); sum != want {
		return 0, nil, nil, damaged("checksum %08x, want %08x at low offset %d", sum, want, low)
	}
	if topicID := TopicID(body[endCluster:endTopicID]); topicID != id.TopicID {
		return 0, nil, nil, fmt.Errorf("commit metadata for topic id %x, this is %x: %w", topicID, id.TopicID, ErrOtherTopic)
	}
	if partition := int32(binary.BigEndian.Uint32(body[endTopicID:])); partition != id.Partition {
		return 0, nil, nil, fmt.Errorf("commit metadata for partition %d, this is %d: %w", partition, id.Partition, ErrForeign)
	}
	return needed, extension, runs, nil
}

// checkVersions takes the two version numbers from the front of s. It returns the second
// one, the minimum reader version, and the rest. Their shape is the same in all versions.
func checkVersions(s string) (needed uint64, rest string, err error) {
	version, rest, ok := cutVersion(s)
	if !ok {
		return 0, "", damaged("no format version")
	}
	needed, rest, ok = cutVersion(rest)
	if !ok || needed > version {
		return 0, "", damaged("no minimum reader version for format version %d", version)
	}
	if needed > readerVersion {
		return 0, "", fmt.Errorf("commit metadata of format version %d wants a reader of version %d, this one is %d: %w",
			version, needed, readerVersion, ErrNewer)
	}
	return needed, rest, nil
}

// cutVersion takes a decimal number from 1 to 65535 and the point behind it
// from the front of s.
func cutVersion(s string) (version uint64, rest string, ok bool) {
	digits, rest, ok := strings.Cut(s, ".")
	if !ok || strings.HasPrefix(digits, "0") {
		return 0, "", false
	}
	version, err := strconv.ParseUint(digits, 10, 16)
	return version, rest, err == nil
}

// splitBody decodes the base64 part and finds the extension and the runs in it.
func splitBody(encoded string) (body, extension, runs []byte, err error) {
	if strings.ContainsAny(encoded, "\r\n") {
		return nil, nil, nil, damaged("a line break") // base64 would pass over it
	}
	body, err = text.DecodeString(encoded)
	if err != nil {
		return nil, nil, nil, damaged("%v", err)
	}
	if len(body) < endPartition {
		return nil, nil, nil, damaged("%d bytes, want at least %d", len(body), endPartition)
	}
	size, rest, ok := cutNumber(body[endPartition:])
	if !ok || size > uint64(len(rest)) {
		return nil, nil, nil, damaged("an extension of %d bytes in %d", size, len(rest))
	}
	return body, rest[:size], rest[size:], nil
}

// ReadRuns calls f with the runs that AppendRuns wrote relative to base, as far as
// they can be read. An error is ErrDamaged.
func ReadRuns(b []byte, base int64, f func(from, to int64)) error {
	end := max(base, 0)
	for len(b) > 0 {
		from, rest, ok := step(b, end)
		if !ok {
			return damaged("a gap after offset %d", end)
		}
		to, rest, ok := step(rest, from)
		if !ok {
			return damaged("a length of the run at offset %d", from)
		}
		f(from, to)
		b, end = rest, to
	}
	return nil
}

// step takes a number from the front of b. It returns the offset from + number + 1,
// which is an int64, and the rest of b.
func step(b []byte, from int64) (int64, []byte, bool) {
	n, rest, ok := cutNumber(b)
	if !ok || n >= uint64(math.MaxInt64-from) {
		return 0, nil, false
	}
	return from + int64(n) + 1, rest, true
}

// cutNumber takes an unsigned LEB128 number in its shortest form from the
// front of b.
func cutNumber(b []byte) (uint64, []byte, bool) {
	n, size := binary.Uvarint(b)
	if size <= 0 || size > 1 && b[size-1] == 0 {
		return 0, nil, false
	}
	return n, b[size:], true
}

func damaged(format string, args ...any) error {
	return fmt.Errorf("commit metadata: %s: %w", fmt.Sprintf(format, args...), ErrDamaged)
}
