package connect

import (
	"context"
	"crypto/x509"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/config"
)

// TestAGroupMemberWaitsForWhomItDoesNotReach: kgo tries again, and the error says what it did. Other clients hear at
// once that nobody is there.
func TestAGroupMemberWaitsForWhomItDoesNotReach(t *testing.T) {
	dialed := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	cases := map[string]struct {
		err    error
		others bool // try again, too
		waits  bool
	}{
		"refused":           {dialed(os.NewSyscallError("connect", syscall.ECONNREFUSED)), false, true},
		"no route":          {dialed(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), false, true},
		"name not known":    {dialed(&net.DNSError{Err: "no such host", Name: "kafka", IsNotFound: true}), false, true},
		"silent":            {dialed(context.DeadlineExceeded), true, true},
		"wrong certificate": {x509.UnknownAuthorityError{}, false, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			cfg := Config{
				Kafka: config.Kafka{Brokers: []string{"kafka:9092"}}, DialTimeout: time.Second,
				Dial: func(context.Context, string, string) (net.Conn, error) { return nil, c.err },
			}
			conn, err := New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			_, others := conn.dial(t.Context(), "tcp", "kafka:9092")
			_, waits := conn.dialWaiting(t.Context(), "tcp", "kafka:9092")
			if got := kgo.IsRetryableBrokerErr(others); got != c.others {
				t.Errorf("other clients try again: %v, want %v", got, c.others)
			}
			if got := kgo.IsRetryableBrokerErr(waits); got != c.waits {
				t.Errorf("a member tries again: %v, want %v", got, c.waits)
			}
			if waits.Error() != c.err.Error() {
				t.Errorf("the error is %q, want %q", waits, c.err)
			}
		})
	}
}

// TestAGroupMemberThatIsClosedWaitsForNobody: what has ended an attempt is not a broker.
func TestAGroupMemberThatIsClosedWaitsForNobody(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	conn, err := New(Config{Kafka: config.Kafka{Brokers: []string{"localhost:1"}}, DialTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.dialWaiting(ctx, "tcp", "localhost:1"); err == nil || kgo.IsRetryableBrokerErr(err) {
		t.Errorf("closed: %v, to be tried again", err)
	}
}
