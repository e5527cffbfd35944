package doctor

import (
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
)

// TestATopicInUseIsNoNearestName: an ingress topic as target would be a loop.
func TestATopicInUseIsNoNearestName(t *testing.T) {
	f := healthy(t, "LAYOVER_EGRESS_TOPIC=delaye")
	f.topics["delaye"], f.seen = topic{err: kerr.UnknownTopicOrPartition, rights: all}, []string{"dead", "delayed"}
	if got := judge(f)[slices.Index(IDs(), "topics")]; got.Found != "target delaye does not exist" || strings.Contains(got.Fix, "if that is meant") {
		t.Errorf("%+v", got)
	}
}
