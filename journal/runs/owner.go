package runs

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
)

// Owner stands for the cluster, the group and the ingress topic that a runs topic is of.
type Owner uint64

// OwnerOf returns the owner of the runs topic of an ingress topic, by its name, and a
// group.
func OwnerOf(clusterID, group, ingress string) Owner {
	h := fnv.New64a()
	for _, part := range []string{clusterID, group, ingress} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part)))) // a hash returns no error
		h.Write([]byte(part))
	}
	return Owner(h.Sum64())
}

// Identity names a partition of a runs topic.
type Identity struct {
	Owner     Owner
	Partition int32
}

// The reasons for which a record is not read.
var (
	// ErrNoCopy is a record without a header layover-run.
	ErrNoCopy = errors.New("not a copy")

	// ErrNoDirectory is a record that does not begin as a directory does.
	ErrNoDirectory = errors.New("not a directory")

	// ErrForeign is a sound record of ours that was written for another owner, or for
	// another partition.
	ErrForeign = errors.New("not written for these runs")

	// ErrDamaged is a record of ours that was changed or cut.
	ErrDamaged = errors.New("damaged")

	// ErrNewer is a sound record of this owner, in a format that this reader must not
	// guess at. A newer release reads it.
	ErrNewer = errors.New("written by a newer release")
	// ErrTooLarge is a copy that its topic, or a reader, does not take for its own size. It is not written, and
	// smaller ones may be.
	ErrTooLarge = errors.New("the record is too large")
)

const formatVersion = 1
