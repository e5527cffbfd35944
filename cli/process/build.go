package process

import (
	"cmp"
	"runtime/debug"
)

// Build returns the version and the revision of this binary, as far as they are
// known.
func (p *Process) Build() (version, revision string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = new(debug.BuildInfo)
	}
	return describe(p.Version, p.Revision, info)
}

// describe returns the version and the revision as they were linked or, where
// they were not, from Go's build information. Whether files were modified is
// known of the latter alone: a linked revision is taken as it is.
func describe(linkedVersion, linkedRevision string, info *debug.BuildInfo) (version, revision string) {
	seen, modified := "unknown", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			seen = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = "-modified"
		}
	}
	return cmp.Or(linkedVersion, info.Main.Version, "(devel)"), cmp.Or(linkedRevision, seen+modified)
}
