package kafkatest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
)

// Restart ends the brokers and starts them again on what they have on disk, with change called
// in between; nil: nothing changes. It needs StartVirtualOnDisk. Connections break, faults and controls
// are gone, and Broker is another cluster: nobody else may look at it meanwhile.
func (c *Cluster) Restart(change func()) {
	c.Helper()
	if c.dir == "" {
		c.Fatal("brokers that are not on disk cannot be started again")
	}
	c.Broker.Close()
	if err := keepEnds(c.dir); err != nil {
		c.Fatal(err)
	}
	if change != nil {
		change()
	}
	var err error
	if c.Broker, err = kfake.NewCluster(c.opts...); err != nil {
		c.Fatal(err)
	}
	c.Cleanup(c.Broker.Close)
	c.LimitMetadata(MaxMetadata)
}

// StartVirtualOnDisk is StartVirtual with brokers that keep all in files, for Restart.
func StartVirtualOnDisk(t *testing.T, brokers int, opts ...kfake.Opt) *Cluster {
	t.Helper()
	dir := t.TempDir()
	return (&Cluster{T: t, dir: dir}).startVirtual(brokers, append(opts, kfake.DataDir(dir)))
}

// Compact is Restart after compaction has taken all but the first left records of the batch that
// partition 0 of a topic begins with. The batch is not compressed, and keeps its offsets.
func (c *Cluster) Compact(topic string, left uint32) {
	c.Helper()
	c.Restart(func() {
		if err := shorten(filepath.Join(c.dir, "partitions", url.PathEscape(topic)+"-0", "0.dat"), left); err != nil {
			c.Fatalf("compacting %s/0: %v", topic, err)
		}
	})
}

// shorten changes the number of records of the first batch of a file. Those behind them are bytes
// that no reader looks at.
func shorten(name string, left uint32) error {
	raw, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	const length, checksum, attributes, records = 8, 17, 21, 57 // where these begin
	end := 12 + int(binary.BigEndian.Uint32(raw[length:]))
	binary.BigEndian.PutUint32(raw[records:], left)
	binary.BigEndian.PutUint32(raw[checksum:], crc32.Checksum(raw[attributes:end], crc32.MakeTable(crc32.Castagnoli)))
	return os.WriteFile(name, raw, 0o600)
}

// Truncate is Restart after an unclean election. The log of a partition has lost all from an
// offset on, at which a batch begins, and its leader epoch is raised.
func (c *Cluster) Truncate(topic string, partition int32, from int64) {
	c.Helper()
	c.Restart(func() {
		dir := filepath.Join(c.dir, "partitions", fmt.Sprintf("%s-%d", url.PathEscape(topic), partition))
		if err := truncate(dir, from); err != nil {
			c.Fatalf("truncating %s/%d at %d: %v", topic, partition, from, err)
		}
	})
	if end := c.Broker.PartitionInfo(topic, partition).HighWatermark; end != from {
		c.Fatalf("%s/%d was truncated at %d and ends at %d", topic, partition, from, end)
	}
}

// truncate cuts the files of a partition. What stands in its snapshot about the log's end is
// corrected by who reads it.
func truncate(dir string, from int64) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.dat"))
	if err != nil {
		return err
	}
	sizes := make(map[int64]int64)
	for _, name := range files {
		base, err := strconv.ParseInt(strings.TrimSuffix(filepath.Base(name), ".dat"), 10, 64)
		if err != nil {
			return err
		}
		raw, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		sizes[base] = below(raw, from)
		if err := os.Truncate(name, sizes[base]); err != nil {
			return err
		}
	}
	name := filepath.Join(dir, "snapshot.json")
	s, err := readSnapshot(name)
	if err != nil {
		return err
	}
	epoch, err := s["epoch"].(json.Number).Int64()
	if err != nil {
		return err
	}
	s["epoch"] = epoch + 1
	for _, segment := range s["segments"].([]any) {
		m := segment.(map[string]any)
		base, err := m["base_offset"].(json.Number).Int64()
		if err != nil {
			return err
		}
		m["size"] = sizes[base]
	}
	return writeSnapshot(name, s)
}

// keepEnds gives each log of which all was deleted a file without a batch. kfake begins a log that has no file at 0
// again, and would give its offsets out twice.
func keepEnds(dir string) error {
	snapshots, err := filepath.Glob(filepath.Join(dir, "partitions", "*", "snapshot.json"))
	for _, name := range snapshots {
		err = errors.Join(err, keepEnd(name))
	}
	return err
}

// keepEnd is keepEnds for the partition with that snapshot.
func keepEnd(snapshot string) error {
	s, err := readSnapshot(snapshot)
	if err != nil {
		return err
	}
	if segments, _ := s["segments"].([]any); len(segments) > 0 {
		return nil
	}
	start, err := s["log_start_offset"].(json.Number).Int64()
	if err != nil {
		return err
	}
	s["segments"] = []any{map[string]any{"base_offset": start, "size": 0}}
	dir := filepath.Dir(snapshot)
	former, err := filepath.Glob(filepath.Join(dir, "*.dat"))
	for _, name := range former {
		err = errors.Join(err, os.Remove(name))
	}
	return errors.Join(err, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.dat", start)), nil, 0o600), writeSnapshot(snapshot, s))
}

// readSnapshot returns the fields of a partition's snapshot. Numbers stay as they are: ids of producers are longer than a
// float.
func readSnapshot(name string) (s map[string]any, err error) {
	raw, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err = d.Decode(&s)
	return s, err
}

// writeSnapshot is the counterpart of readSnapshot.
func writeSnapshot(name string, s map[string]any) error {
	raw, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return os.WriteFile(name, raw, 0o600)
}

// below returns the bytes of the batches that begin below an offset.
func below(raw []byte, offset int64) (size int64) {
	const header = 12 // of a batch: its first offset, and how many bytes follow
	for at := 0; at+header <= len(raw); {
		if int64(binary.BigEndian.Uint64(raw[at:])) >= offset {
			break
		}
		at += header + int(binary.BigEndian.Uint32(raw[at+8:]))
		size = int64(at)
	}
	return size
}
