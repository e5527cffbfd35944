package cluster

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestNobodyIsSilentWhileOtherRequestsAreAnswered: only after some time without an answer about topics this is said, as
// what it is.
func TestNobodyIsSilentWhileOtherRequestsAreAnswered(t *testing.T) {
	for name, of := range map[string]struct{ othersAnswer, before bool }{
		"others are answered": {true, true}, "others are answered from the start": {true, false}, "nothing is answered": {false, true},
	} {
		othersAnswer := of.othersAnswer
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, err := kgo.NewClient(kgo.SeedBrokers("a:1"), kgo.Dialer(func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no") }))
				if err != nil {
					t.Fatal(err)
				}
				defer client.Close()
				w := New(Config{Log: slog.New(slog.DiscardHandler), Heard: func() (at time.Time) {
					if othersAnswer {
						at = time.Now()
					}
					return at
				}}, client)
				if of.before {
					w.last = time.Now()
				}
				w.askPinned(t.Context())
				if h := w.Health(); h.Answering != othersAnswer || h.OthersAnswer != othersAnswer {
					t.Errorf("at first %+v", h)
				}
				time.Sleep(patience)
				w.askPinned(t.Context())
				if h := w.Health(); h.Answering || h.OthersAnswer != othersAnswer {
					t.Errorf("after some time %+v", h)
				}
			})
		})
	}
}
