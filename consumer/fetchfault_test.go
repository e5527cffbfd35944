package consumer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestOnlyBytesThatStayWrongAreCorrupt: of anything else a partition that is given up
// would have been readable a second later.
func TestOnlyBytesThatStayWrongAreCorrupt(t *testing.T) {
	network := &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"a checksum that the client found wrong": {errors.New("invalid record batch checksum"), true},
		"a batch that the broker found wrong":    {kerr.CorruptMessage, true},
		"another error of a broker":              {kerr.NotLeaderForPartition, false},
		"a fault of the broker's disk":           {kerr.KafkaStorageError, false},
		"a network that is slow":                 {network, false},
		"the group's end":                        {&kgo.ErrGroupSession{Err: errors.New("fenced")}, false},
		"a connection that was closed":           {io.EOF, false},
		"a context that ended":                   {context.Canceled, false},
		"a context whose time is over":           {context.DeadlineExceeded, false},
		"a client that was closed":               {kgo.ErrClientClosed, false},
	} {
		for how, err := range map[string]error{name: test.err, name + ", wrapped": fmt.Errorf("fetch: %w", test.err)} {
			if got := isCorrupt(err); got != test.want {
				t.Errorf("%s: corrupt is %v, want %v", how, got, test.want)
			}
		}
	}
}
