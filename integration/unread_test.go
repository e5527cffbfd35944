package integration

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// bomber returns a client that makes one batch of what it is given, with a codec.
func (f *fixture) bomber(codec kgo.CompressionCodec) *kgo.Client {
	return f.kafka(kgo.ProducerBatchMaxBytes(200<<20), kgo.BrokerMaxWriteBytes(256<<20), kgo.ProducerBatchCompression(codec),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(100*time.Millisecond))
}

// resident returns the most memory that a process has had, and what of it is pages of its binary now, in bytes. The
// system takes the latter back where a container is full.
func (p *process) resident() (peak, binary int64) {
	p.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		var kib int64
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kib); err == nil {
			peak = kib << 10
		}
		if _, err := fmt.Sscanf(line, "RssFile: %d kB", &kib); err == nil {
			binary = kib << 10
		}
	}
	if peak == 0 || binary == 0 {
		p.t.Fatalf("no peak, or no pages of a file, in %s", status)
	}
	return peak, binary
}

// TestBatchesTooLargeToReadStopNothingAndTakeNoMemory: a container of 128 MiB lives, with
// its bound nearly filled, and what stands between the batches and beside them arrives.
func TestBatchesTooLargeToReadStopNothingAndTakeNoMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("skipped: the peak of a process's memory is read from /proc")
	}
	long(t)
	t.Parallel()
	f := onSharedBroker(t, 2)
	out, dead := f.collect(f.egress), f.collect(f.deadLetters)
	small := []string{"LAYOVER_MAX_PARKED_BYTES=64Mi", "LAYOVER_GOMEMLIMIT=104Mi"} // as in a container of 128 MiB
	p := f.layover(small...)

	const parked = 30 // MiB
	plain := f.kafka(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	for range parked {
		var records []*kgo.Record
		for range 16 {
			records = append(records, &kgo.Record{Partition: 1, Value: noise(64 << 10), Headers: []kgo.RecordHeader{header("x-delay", "1h")}})
		}
		f.produceWith(plain, records...)
	}
	p.parks(parked*16, 30*time.Second)
	before, binary := p.resident()

	codecs := map[string]struct {
		codec kgo.CompressionCodec
		size  int // such that the broker takes it
	}{"zstd": {kgo.ZstdCompression(), 140 << 20}, "gzip": {kgo.GzipCompression(), 140 << 20}, "lz4": {kgo.Lz4Compression(), 140 << 20}, "snappy": {kgo.SnappyCompression(), 18 << 20}}
	const rounds = 5
	zeros := make([]byte, 140<<20)
	for i := range rounds {
		for name, c := range codecs {
			bomber := f.bomber(c.codec)
			f.produceWith(bomber, &kgo.Record{Value: zeros[:c.size]})
			bomber.Close()
			f.produceWith(plain,
				&kgo.Record{Key: fmt.Appendf(nil, "behind %s %d", name, i), Value: []byte("small")},
				&kgo.Record{Partition: 1, Key: fmt.Appendf(nil, "beside %s %d", name, i), Value: []byte("small")})
		}
	}
	n := rounds * len(codecs)
	out.await(2*n, time.Minute)
	eventually(t, time.Minute, "each batch has its letter", func() bool { all, _ := dead.count(); return all >= n }) // without a key
	for _, a := range dead.all() {
		reason, _ := lookup(t, a.Record, "layover.errors.reason")
		first, _ := lookup(t, a.Record, "layover.errors.offset")
		last, _ := lookup(t, a.Record, "layover.errors.last_offset")
		count, _ := lookup(t, a.Record, "layover.errors.records")
		if reason != "too_large_to_read" || first != last || count != "1" || a.Key != nil || a.Value != nil {
			t.Errorf("letter %s-%s of %s with reason %s, key %q and %d bytes", first, last, count, reason, a.Key, len(a.Value))
		}
	}
	after, _ := p.resident()
	t.Logf("with %d MiB parked %d batches too large to read raised the peak from %.1f to %.1f MiB, %.1f of them pages of the binary",
		parked, n, float64(before)/(1<<20), float64(after)/(1<<20), float64(binary)/(1<<20))
	if after-binary > 108<<20 { // its GOMEMLIMIT is soft, and is 104
		t.Errorf("the process took %d bytes beside pages of its binary", after-binary)
	}
	p.terminate()

	p = f.layover(small...) // which meets none of them again
	f.produceWith(plain, &kgo.Record{Key: []byte("later"), Value: []byte("small")})
	out.await(2*n+1, 20*time.Second)
	if all, _ := dead.count(); all != n {
		t.Errorf("%d letters after the restart, want %d", all, n)
	}
	p.terminate()
}

// TestSkipGoesOnAtAPartitionThatStopped, as its text says.
func TestSkipGoesOnAtAPartitionThatStopped(t *testing.T) {
	t.Parallel()
	f := onSharedBroker(t, 1)
	out, dead := f.collect(f.egress), f.collect(f.deadLetters)
	settings := []string{"LAYOVER_MAX_PARKED_BYTES=64Mi", "LAYOVER_ON_INVALID=halt"}
	p := f.layover(settings...)
	f.produce(&kgo.Record{Key: []byte("parked"), Headers: []kgo.RecordHeader{header("x-delay", "20s")}}, &kgo.Record{Key: []byte("before")})
	bomber := f.bomber(kgo.ZstdCompression())
	f.produceWith(bomber, &kgo.Record{Value: make([]byte, 70<<20)}, &kgo.Record{Value: make([]byte, 70<<20)})
	f.produce(&kgo.Record{Key: []byte("behind")})
	command := fmt.Sprintf("layover skip %s/0@2", f.ingress)
	eventually(t, 20*time.Second, "status says the way on", func() bool {
		_, body := p.get("/status")
		return strings.Contains(body, command)
	})
	out.await(1, 10*time.Second)
	skip := func(more ...string) (string, error) {
		c := exec.Command(need(t, shared.binary), append(strings.Fields(command)[1:], more...)...)
		c.Env = environ(f.settings(settings...)...)
		said, err := c.CombinedOutput()
		return string(said), err
	}
	if said, err := skip("--execute"); err == nil || !strings.Contains(said, "has 1 member") {
		t.Errorf("while it runs: %v\n%s", err, said)
	}
	p.terminate()
	for _, more := range [][]string{nil, {"--execute"}} {
		said, err := skip(more...)
		if err != nil || !strings.Contains(said, "leaves out the batch of the offsets 2 to 3: it takes more than 8388608 bytes") {
			t.Fatalf("%v\n%s", err, said)
		}
		t.Log(said)
	}
	dead.await(1, 10*time.Second)
	if count, _ := lookup(t, dead.all()[0].Record, "layover.errors.records"); count != "2" {
		t.Errorf("the letter stands for %s records", count)
	}
	f.layover(settings...)
	out.await(3, time.Minute)
	f.reachesEnd(10 * time.Second)
	out.settle()
	if all, again := out.count(); all != 3 || again != 0 {
		t.Errorf("%d delivered, %d of them again", all, again)
	}
}
