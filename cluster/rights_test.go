package cluster

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
)

func TestAnErrorOfAuthorizationNamesItsACLOnce(t *testing.T) {
	for _, err := range []error{kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed, kerr.ClusterAuthorizationFailed} {
		named := Allow(fmt.Errorf("offset commit: %w", err), "Read on group g")
		want := "offset commit: " + err.Error() + "; allow Read on group g"
		again := Allow(fmt.Errorf("start: %w", named), "Read on topic t")
		if named.Error() != want || !errors.Is(named, err) || again.Error() != "start: "+want {
			t.Errorf("%q, and again %q; want %q", named, again, want)
		}
	}
	for _, err := range []error{nil, io.EOF, kerr.NotCoordinator} {
		if got := Allow(err, "Read on topic t"); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
}
