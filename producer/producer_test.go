package producer

import (
	"errors"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// The hashes are those of Kafka's own test of murmur2 (UtilsTest.testMurmur2).
func TestKeysGoWhereTheJavaClientSendsThem(t *testing.T) {
	for key, hash := range map[string]int32{
		"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536,
		"a-little-bit-longer-string": -1486304829, "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971, "abc": 479470107,
	} {
		for _, n := range []int32{1, 3, 12, 100} {
			want := (hash & 0x7fffffff) % n
			if got := Pick([]byte(key), n, nil); got != want {
				t.Errorf("%q of %d partitions: %d, want %d", key, n, got, want)
			}
		}
	}
}

func TestAPartitionIsPickedWithoutAllocating(t *testing.T) {
	key := []byte("a-little-bit-long-string")
	if n := testing.AllocsPerRun(1000, func() { Pick(key, 12, nil) }); n > 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func TestANullKeyGoesToAPartitionThatHasALeader(t *testing.T) {
	seen := map[int32]bool{}
	for range 200 {
		seen[Pick(nil, 8, []int32{2, 5})] = true
	}
	if len(seen) != 2 || !seen[2] || !seen[5] {
		t.Errorf("went to %v, want 2 and 5", seen)
	}
	for range 200 {
		if p := Pick(nil, 8, []int32{6}); p != 6 {
			t.Fatalf("went to %d, and 6 alone has a leader", p)
		}
	}
	clear(seen)
	for range 200 { // none has one: any may be the first that gets one
		seen[Pick(nil, 4, nil)] = true
	}
	if len(seen) != 4 || !seen[0] || !seen[3] {
		t.Errorf("without leaders went to %v, want 0 to 3", seen)
	}
	if p := Pick([]byte{}, 8, []int32{2}); p == 2 && Pick([]byte{}, 7, nil) == 2 {
		t.Error("an empty key is no null key")
	}
}

func TestAnErrorIsAboutTheRecordTheTargetOrNeither(t *testing.T) {
	for want, errs := range map[Class][]error{
		Delivered: {nil},
		TooLarge:  {kerr.MessageTooLarge, kerr.RecordListTooLarge},
		Rejected:  {kerr.InvalidRecord, kerr.InvalidTimestamp, kerr.PolicyViolation},
		Missing:   {kerr.UnknownTopicOrPartition, kerr.UnknownTopicID, kerr.InvalidTopicException},
		Forbidden: {kerr.TopicAuthorizationFailed, kerr.ClusterAuthorizationFailed},
		NoRoom:    {kgo.ErrMaxBuffered},
		Unknown:   {kerr.NotEnoughReplicas, kerr.UnknownServerError, kgo.ErrClientClosed, errors.New("invalid record partitioning choice")},
	} {
		for _, err := range errs {
			if err != nil {
				err = fmt.Errorf("produce: %w", err)
			}
			if got := Classify(err); got != want {
				t.Errorf("%v: class %d, want %d", err, got, want)
			}
		}
	}
}

// FuzzPick holds our hash to the client's.
func FuzzPick(f *testing.F) {
	f.Add([]byte("key"), int32(12))
	f.Add([]byte{}, int32(1))
	f.Add([]byte{0xff, 0x80, 0x7f, 0xfe, 0x81, 0xff, 0xfd}, int32(7))
	theirs := kgo.StickyKeyPartitioner(nil).ForTopic("")
	f.Fuzz(func(t *testing.T, key []byte, n int32) {
		if n = max(n&0xffff, 1); key == nil {
			key = []byte{}
		}
		if got, want := Pick(key, n, nil), theirs.Partition(&kgo.Record{Key: key}, int(n)); int(got) != want {
			t.Errorf("%q of %d partitions: %d, want %d", key, n, got, want)
		}
	})
}
