package consumer

import (
	"errors"

	"layover/cluster"

	"github.com/twmb/franz-go/pkg/kerr"
)

// allow adds to an error of authorization the right that a member needs. Read on a topic
// or a group implies Describe.
func allow(err error, group, topic string) error {
	if errors.Is(err, kerr.GroupAuthorizationFailed) {
		return cluster.Allow(err, "Read on group "+group)
	}
	return cluster.Allow(err, "Read on topic "+topic)
}
