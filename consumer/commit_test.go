package consumer

import (
	"strings"
	"testing"

	"layover/offsets"
)

func TestARequestHoldsCommitsOfOneIdentityUpToAQuarterOfAMebibyteWithTheirNames(t *testing.T) {
	full := strings.Repeat("x", offsets.MaxMetadata)
	many := func(n int, topic, metadata string) []offsets.Commit {
		var commits []offsets.Commit
		for p := range n {
			commits = append(commits, offsets.Commit{
				TopicPartition: offsets.TopicPartition{Topic: topic, Partition: int32(p)}, Metadata: metadata, MemberID: "m", Generation: 3,
			})
		}
		return commits
	}
	rejoined, other := many(10, "t", ""), many(10, "t", "")
	rejoined[4].Generation++
	other[7].MemberID = "n"
	second, third := many(10, "t", ""), many(10, "t", "")
	second[1].Generation++
	third[1].MemberID = "n"
	for name, test := range map[string]struct {
		group   string
		commits []offsets.Commit
		least   int
		most    int
	}{
		"one":                      {"g", many(1, "t", full), 1, 1},
		"one that is too large":    {"g", many(2, "t", strings.Repeat("x", 300<<10)), 1, 1},
		"full metadata":            {"g", many(270, "t", full), 60, 64},
		"short metadata":           {"g", many(1000, "t", strings.Repeat("x", 60)), 1000, 1000},
		"long names, no metadata":  {strings.Repeat("g", 1024), many(1000, strings.Repeat("t", 249), ""), 180, 206},
		"until another generation": {"g", rejoined, 4, 4},
		"until another member":     {"g", other, 7, 7},
		"another one at once":      {"g", second, 1, 1},
		"another member at once":   {"g", third, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			got := inOneRequest(test.group, test.commits)
			if got < test.least || got > test.most {
				t.Errorf("%d of %d commits in one request, want %d to %d", got, len(test.commits), test.least, test.most)
			}
		})
	}
}
