package journal

import (
	"bytes"
	"net"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"layover/cli/process"
	"layover/verify/kafkatest"
)

// forging makes a broker whose clients find something else in the log than it wrote.
func forging(from, to []byte) kfake.Opt {
	return kfake.ListenFn(func(network, addr string) (net.Listener, error) {
		l, err := net.Listen(network, addr)
		return forger{l, from, to}, err
	})
}

type forger struct {
	net.Listener
	from, to []byte
}

func (f forger) Accept() (net.Conn, error) {
	c, err := f.Listener.Accept()
	return forgery{c, f}, err
}

type forgery struct {
	net.Conn
	forger
}

func (f forgery) Close() error   { return f.Conn.Close() }
func (f forgery) Addr() net.Addr { return f.forger.Addr() }
func (f forgery) Write(b []byte) (int, error) {
	return f.Conn.Write(bytes.ReplaceAll(b, f.from, f.to))
}

// TestSkipLeavesOutWhatNobodyCanRead, as far as it can tell where that ends.
func TestSkipLeavesOutWhatNobodyCanRead(t *testing.T) {
	good := kafkatest.Batch(func(*kmsg.RecordBatch) {})
	broken := func(change func(b []byte)) []byte {
		b := bytes.Clone(good)
		change(b)
		return b
	}
	for name, test := range map[string]struct {
		seen    []byte
		behind  int    // records behind it
		why     string // it is left out
		refused string
		records string
	}{
		"no gzip":                       {good, 1, "unable to decompress batch", "", "3"},
		"an unknown codec":              {kafkatest.Batch(func(b *kmsg.RecordBatch) { b.Attributes = 7 }), 1, "unknown compression codec", "", "3"},
		"a wrong checksum":              {broken(func(b []byte) { b[len(b)-1] ^= 1 }), 1, "its checksum is wrong", "", "3"},
		"a wrong checksum at the end":   {broken(func(b []byte) { b[len(b)-1] ^= 1 }), 0, "its checksum is wrong", "", "3"},
		"a wrong count":                 {broken(func(b []byte) { b[60] = 1 }), 1, "its checksum is wrong", "", "3"},
		"a wrong end":                   {broken(func(b []byte) { b[26] = 1 }), 1, "", "has no certain end: its checksum is wrong", ""},
		"a wrong end beyond the end":    {broken(func(b []byte) { b[24] = 1 }), 1, "", "has no certain end: its checksum is wrong", ""},
		"not the format of our days":    {broken(func(b []byte) { b[16] = 1 }), 1, "", "it is no batch of magic 2", ""},
		"more records than it can have": {kafkatest.Batch(func(b *kmsg.RecordBatch) { b.NumRecords = 9 }), 1, "", "it is no batch of magic 2", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := forSkips(t, forging(good[16:], test.seen[16:])) // the broker writes what is before
			w.fill(0, 2)
			w.ProduceBatch(ingress, good)
			w.fill(0, test.behind)
			w.commit(0, 2, w.epoch, "")
			got := w.skip("delayed/0@2 --execute")
			if test.refused != "" {
				w.refuses(got, test.refused)
				if w.letter() != nil || w.committed(0).Offset != 2 {
					t.Error("something was done")
				}
				return
			}
			if got.code != process.ExitOK || !strings.Contains(got.stdout, "leaves out the batch of the offsets 2 to 4: ") || !strings.Contains(got.stdout, test.why) {
				t.Errorf("%+v", got)
			}
			r := w.letter()
			message := ""
			for _, h := range r.Headers {
				if h.Key == "layover.errors.message" {
					message = string(h.Value)
				}
			}
			w.says(r, map[string]string{
				"topic": ingress, "partition": "0", "offset": "2", "last_offset": "4", "records": test.records, "group": group, "reason": "unreadable", "message": message,
			})
			if !strings.Contains(message, test.why) || w.committed(0).Offset != 5 {
				t.Errorf("message %q, committed %+v", message, w.committed(0))
			}
		})
	}
}
