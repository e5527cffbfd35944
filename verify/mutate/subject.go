package main

// subject is a package that mutants are made of when none is named.
type subject struct {
	dir string
	// layer is what notices beside the package's own tests: the simulation of the core, or
	// the daemon's tests without the rig. What only the whole would notice of a pure
	// package is far from the line, and takes a minute to say so.
	layer string
	// wanted is the share that has to be noticed, in percent, of what is not equivalent.
	wanted int
}

// subjects are in the order of the report: pure packages, and those around them.
var subjects = []subject{
	{"wheel", "simulation", 90},
	{"offsets", "simulation", 90},
	{"delay", "", 90},
	{"journal/facts", "simulation", 90},
	{"purgatory/ids", "simulation", 90},
	{"purgatory", "simulation", 90},
	{"config", "", 80},
	{"lane", "daemon", 80},
	{"producer", "daemon", 80},
	{"consumer", "daemon", 80},
	{"journal/logs", "daemon", 80},
	{"journal", "daemon", 80},
}

// subjectOf returns nil for any other package.
func subjectOf(dir string) *subject {
	for i := range subjects {
		if subjects[i].dir == dir {
			return &subjects[i]
		}
	}
	return nil
}

// wantedOf is that of the least of subjects for a package that is none.
func wantedOf(dir string) int {
	if s := subjectOf(dir); s != nil {
		return s.wanted
	}
	return 80
}
