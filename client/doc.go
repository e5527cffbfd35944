// Package client is the part of the command line that talks to what already
// runs: send writes a record to an ingress topic, health asks a running
// Layover how it is.
//
//	$ layover send --brokers kafka:9092 --topic delayed --delay 30s hello
//	delayed-0-17 due 2026-01-01T12:00:30.000Z
//	$ layover health --ready
//	ok
//
// A verb is a function of a [Process], which returns its exit code: 0 fine, 1
// what went wrong while it ran, 2 what was wrong with the command line or the
// environment. Results go to stdout, everything else to stderr.
//
// It is not a Kafka tool: there is nothing here to read records with or to
// create topics.
package client
