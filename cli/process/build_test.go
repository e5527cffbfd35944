package process

import (
	"runtime/debug"
	"testing"
)

func TestWhatWasLinkedCountsBeforeWhatGoKnowsOfTheBuild(t *testing.T) {
	repository := &debug.BuildInfo{Main: debug.Module{Version: "v1.0.0"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "c0ffee"}, {Key: "vcs.modified", Value: "true"},
	}}
	clean := &debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "c0ffee"}, {Key: "vcs.modified", Value: "false"}}}
	for name, c := range map[string]struct {
		version, revision string
		info              *debug.BuildInfo
		want              [2]string
	}{
		"both linked":                      {"v2.0.0", "beef", repository, [2]string{"v2.0.0", "beef"}},
		"neither, of a changed repository": {"", "", repository, [2]string{"v1.0.0", "c0ffee-modified"}},
		"neither, of a clean one":          {"", "", clean, [2]string{"(devel)", "c0ffee"}},
		"the version alone":                {"v2.0.0", "", clean, [2]string{"v2.0.0", "c0ffee"}},
		"the revision alone":               {"", "beef", repository, [2]string{"v1.0.0", "beef"}},
		"nothing is known":                 {"", "", new(debug.BuildInfo), [2]string{"(devel)", "unknown"}},
		"an image":                         {"v2.0.0", "beef", new(debug.BuildInfo), [2]string{"v2.0.0", "beef"}},
	} {
		t.Run(name, func(t *testing.T) {
			if v, r := describe(c.version, c.revision, c.info); v != c.want[0] || r != c.want[1] {
				t.Errorf("version %s, revision %s, want %s and %s", v, r, c.want[0], c.want[1])
			}
		})
	}
}
