package doctor

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
)

// TestAMemberNeedNotReadATopicThatCannotBeRead: a client subscribes to those that are there and that it may look at.
func TestAMemberNeedNotReadATopicThatCannotBeRead(t *testing.T) {
	for name, c := range map[string]struct {
		err    error // of the topic retry
		client string
		topics []string
		status Status
	}{
		"all are there":                    {nil, "layover", []string{"delayed", "retry"}, OK},
		"one is there and not read":        {nil, "layover", []string{"delayed"}, Warn},
		"a missing one":                    {kerr.UnknownTopicOrPartition, "layover", []string{"delayed"}, OK},
		"a forbidden one":                  {kerr.TopicAuthorizationFailed, "layover", []string{"delayed"}, OK},
		"a missing one that it read":       {kerr.UnknownTopicOrPartition, "layover", []string{"delayed", "retry"}, OK},
		"not the usable one":               {kerr.UnknownTopicOrPartition, "layover", []string{"retry"}, Warn},
		"none, while one is usable":        {kerr.UnknownTopicOrPartition, "layover", []string{}, Warn},
		"the usable one and another":       {kerr.UnknownTopicOrPartition, "layover", []string{"delayed", "invoices"}, Warn},
		"those of another client":          {kerr.UnknownTopicOrPartition, "billing", []string{"delayed", "invoices"}, Fail},
		"the usable one by another client": {kerr.UnknownTopicOrPartition, "billing", []string{"delayed"}, Warn},
	} {
		f := healthy(t, "LAYOVER_INGRESS_TOPICS=delayed,retry", "LAYOVER_GROUP_ID=g")
		if c.err != nil {
			f.topics["retry"] = topic{err: c.err}
		}
		f.group.members = []member{{client: c.client, topics: c.topics}}
		if got := finding(f, "group-members"); got.Status != c.status {
			t.Errorf("%s: %+v, want %s", name, got, c.status)
		}
	}
}
