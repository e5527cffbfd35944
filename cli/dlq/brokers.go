package dlq

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/cli/kafka"
	"layover/cluster"
	"layover/config"
)

// brokers asks Kafka. Any goroutine may.
type brokers struct{ *kafka.Brokers }

// connect makes a client, which the caller closes. It asks nothing yet.
func connect(k config.Kafka) (*brokers, error) {
	b, err := kafka.Ask(k, "layover-dlq",
		kgo.DisableClientMetrics(),               // or closing may take a second
		kgo.MetadataMinAge(250*time.Millisecond)) // an election is found out soon
	return &brokers{b}, err
}

// explain names the subject and the remedy of an error, as Explain does, and those of
// errors that are not of the connection.
func (b *brokers) explain(err error, what, acl string) error {
	switch {
	case errors.Is(err, errUnreadable), errors.Is(err, errAnother):
		return fmt.Errorf("%s: %w", what, err)
	case errors.Is(err, kgo.ErrRecordTimeout) && !kafka.Answered(err): // brokers may have answered, and the client does not tell what
		return fmt.Errorf("%s: %w; check that the partition has a leader and enough in-sync replicas, then KAFKA_BROKERS", what, b.Via.Explain(err))
	}
	return b.Explain(err, what, acl)
}

// topic asks for a topic. check is what to look at where it does not exist.
func (b *brokers) topic(ctx context.Context, name, check string) (kafka.Topic, error) {
	_, all, err := b.Topics(ctx, []string{name})
	if err != nil {
		return kafka.Topic{}, err
	}
	t := all[name]
	return t, b.Present(name, "topic", "check "+check, t.Err)
}

// readable returns the offsets that a reader of committed records finds, by partition.
// Partitions without any are left out, and so are those whose bounds are not known.
func readable(all []cluster.Bounds) stretches {
	out := make(stretches)
	for n, at := range all {
		if at.Err == nil && at.Start < at.Stable {
			out[int32(n)] = stretch{at.Start, at.Stable - 1}
		}
	}
	return out
}

// hidden returns the offsets behind an open transaction.
func hidden(all []cluster.Bounds) stretches {
	out := make(stretches)
	for n, at := range all {
		if at.Err == nil && at.Stable < at.End {
			out[int32(n)] = stretch{at.Stable, at.End - 1}
		}
	}
	return out
}

// unknown returns the partitions whose bounds no broker tells: all of each.
func unknown(all []cluster.Bounds) stretches {
	out := make(stretches)
	for n, at := range all {
		if at.Err != nil {
			out[int32(n)] = stretch{0, toEnd}
		}
	}
	return out
}
