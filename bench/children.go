package main

import (
	"maps"

	"layover/bench/endtoend"
	"layover/bench/process"
	"layover/bench/speed"
)

// children are the kinds of process that are started, beside a measurement of the wheel and a daemon.
func children() map[string]process.Serve {
	kinds := make(map[string]process.Serve)
	maps.Copy(kinds, endtoend.Children())
	maps.Copy(kinds, speed.Children())
	return kinds
}
