package doctor

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
)

// TestADeletedIngressTopicIsNotMadeAgainWhileRecordsOfItMayWait: what an instance has in memory is lost by the making,
// and by a restart. Brokers forget its offsets at once.
func TestADeletedIngressTopicIsNotMadeAgainWhileRecordsOfItMayWait(t *testing.T) {
	for name, c := range map[string]struct {
		evidence   func(f *facts)
		partitions string // "": there is none
	}{
		"none":        {func(f *facts) {}, ""},
		"the journal": {func(f *facts) { f.topics[f.settings.JournalName("delayed")] = topic{partitions: make([]partition, 4)} }, "4"},
		"runs":        {func(f *facts) { f.topics[runsName] = topic{partitions: make([]partition, 5)} }, "5"},
		"an instance": {func(f *facts) {
			f.says(`{"assignments":[{"topic":"delayed","partition":1},{"topic":"x","partition":9}]}`)
		}, "2"},
		"of one group": {func(f *facts) { f.says(`{"group":{"id":"x"},"assignments":[{"topic":"delayed","partition":1}]}`) }, ""},
	} {
		f := healthy(t)
		f.topics["delayed"], f.seen = topic{err: kerr.UnknownTopicOrPartition, rights: all}, []string{"delayd"}
		f.journal(kerr.UnknownTopicOrPartition, nil)
		f.runs(kerr.UnknownTopicOrPartition, nil)
		c.evidence(f)
		got := finding(f, "topics")
		if careful := strings.Contains(got.Fix, "neither make delayed again nor restart"); got.Status != Fail || careful != (c.partitions != "") ||
			careful == strings.Contains(got.Fix, "delayd,") || careful && !strings.Contains(got.Fix, "--create --topic delayed --partitions "+c.partitions+" ") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
