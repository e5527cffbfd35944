package send

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/cli/clitest"
	"layover/cli/process"
)

func TestARecordWithAnIDCarriesItAndItsExpiry(t *testing.T) {
	cluster, environ := startKafka(t, 1)
	got := clitest.Call{Environ: environ, Args: []string{
		"--expire-at", "2031-05-06T10:08:09.0009+02:00", "--id", "größe 1", "--header", "a=b", "--at", "2031-05-06T07:08:09Z", "hello",
	}}.Do(t, Command)
	if got.Code != process.ExitOK || got.Stdout != "delayed-0-0 due 2031-05-06T07:08:09.000Z\n" {
		t.Fatalf("got %+v", got)
	}
	want := []kgo.RecordHeader{
		{Key: "a", Value: []byte("b")}, {Key: "x-deliver-at", Value: []byte("2031-05-06T07:08:09.000Z")},
		{Key: "x-delay-id", Value: []byte("größe 1")}, {Key: "x-expire-at", Value: []byte("2031-05-06T08:08:09.000Z")}, // rounded down
	}
	if r := written(cluster)["delayed-0-0"]; r == nil || !reflect.DeepEqual(r.Headers, want) || r.Key != nil || string(r.Value) != "hello" {
		t.Errorf("wrote %+v, want headers %q", r, want)
	}
}

// The hashes are those of Kafka's own test of murmur2 (UtilsTest.testMurmur2).
func TestTheIDChoosesThePartitionAsAKeyWould(t *testing.T) {
	const partitions = 12
	cluster, environ := startKafka(t, partitions)
	for id, hash := range map[string]int32{"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536, "abc": 479470107} {
		partition := (hash & 0x7fffffff) % partitions
		for i := range 3 {
			got := clitest.Call{Environ: environ, Args: []string{"--delay", "1h", "--id", id, "v"}}.Do(t, Command)
			if want := fmt.Sprintf("delayed-%d-%d due ", partition, i); got.Code != process.ExitOK || !strings.HasPrefix(got.Stdout, want) {
				t.Fatalf("id %s: got %+v, want %q", id, got, want)
			}
		}
		byKey := clitest.Call{Environ: environ, Args: []string{"--delay", "1h", "--key", id, "--id", "another", "v"}}.Do(t, Command)
		if want := fmt.Sprintf("delayed-%d-3 due ", partition); !strings.HasPrefix(byKey.Stdout, want) {
			t.Errorf("key %s: got %+v, want %q", id, byKey, want)
		}
	}
	keys := 0
	for id, r := range written(cluster) {
		if r.Key != nil {
			keys++
		}
		if r.Key != nil && string(r.Headers[1].Value) != "another" {
			t.Errorf("%s has the key %q", id, r.Key)
		}
	}
	if keys != 4 {
		t.Errorf("%d records have a key, want 4", keys)
	}
}
