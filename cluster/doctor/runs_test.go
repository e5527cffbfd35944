package doctor

import (
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"layover/cluster"
	"layover/cluster/needs"
)

// TestRetentionCountsOnRunsOnlyWhereTheyAreUsed: a process does not use a runs topic whose configuration it
// cannot read (journal's TestARunsTopicWhoseSettingsCannotBeReadIsNotUsed), nor one that deletes by itself.
// Nothing is moved then, and with a week of retention a restart loses a record with a delay of a month.
func TestRetentionCountsOnRunsOnlyWhereTheyAreUsed(t *testing.T) {
	deletes := func(setting, value string) func(f *facts) {
		return func(f *facts) { f.configs[runsName].of[setting] = value }
	}
	const acls, settings = "or mend what acl-runs has found", "or mend what runs-settings has found"
	for name, c := range map[string]struct {
		fault func(f *facts)
		fix   string // "": they are used
	}{
		"Write": {func(f *facts) { f.deny(runsName, kmsg.ACLOperationWrite) }, acls},
		"DescribeConfigs": {func(f *facts) {
			f.deny(runsName, kmsg.ACLOperationDescribeConfigs)
			f.configs[runsName] = values{err: cluster.Allow(kerr.TopicAuthorizationFailed, "DescribeConfigs on topic "+runsName)}
		}, acls},
		"DescribeConfigs, of brokers that tell no rights": {func(f *facts) {
			f.forget()
			f.configs[runsName] = values{err: cluster.Allow(kerr.TopicAuthorizationFailed, "DescribeConfigs on topic "+runsName)}
		}, acls},
		"deletes by age":                    {deletes("retention.ms", "604800000"), settings},
		"deletes by size":                   {deletes("retention.bytes", "1000"), settings},
		"deletes by key":                    {deletes("cleanup.policy", "compact"), settings},
		"a setting is not told":             {func(f *facts) { delete(f.configs[runsName].of, "retention.bytes") }, settings},
		"keeps all":                         {func(f *facts) {}, ""},
		"keeps all by another way":          {deletes("retention.bytes", "-2"), ""},
		"large segments":                    {deletes("segment.bytes", "1073741824"), ""},
		"a configuration that did not come": {func(f *facts) { f.configs[runsName] = values{err: errNotAsked} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := healthy(t)
			c.fault(f)
			got := finding(f, "retention")
			if c.fix == "" && got.Status != OK || c.fix != "" && (got.Status != Fail || !strings.Contains(got.Fix, c.fix+": six hours do")) {
				t.Errorf("%+v, want the fix %q", got, c.fix)
			}
		})
	}
}

// TestARunsTopicTooSmallForItsCopiesIsFound: a copy takes 64 KiB more than its record at most, and a
// directory up to 512 KiB. The fix is what a running process asks for.
func TestARunsTopicTooSmallForItsCopiesIsFound(t *testing.T) {
	for ingress, runs := range map[int]int{1048588: 1114124, 1048589: 1114125, 100_000: 512 << 10} {
		f := healthy(t)
		f.configs["delayed"].of["max.message.bytes"] = strconv.Itoa(ingress)
		f.configs["ready"].of["max.message.bytes"], f.configs["dead"].of["max.message.bytes"] = "2000000", "2000000"
		for bytes, status := range map[int]Status{runs - 1: Warn, runs: OK, 2 * runs: OK} {
			f.configs[runsName].of["max.message.bytes"] = strconv.Itoa(bytes)
			got := finding(f, "message-size")
			fix := "--add-config max.message.bytes=" + strconv.Itoa(needs.RunsMaxBytes(ingress))
			if got.Status != status || status == Warn && !strings.HasSuffix(got.Fix, fix) {
				t.Errorf("runs take %d, ingress %d: %+v", bytes, ingress, got)
			}
		}
	}
}
