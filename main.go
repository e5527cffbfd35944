// Layover delivers Kafka records when they are due: a record with a delay
// header goes into one topic and comes out of another on time.
package main

import (
	"os"

	"layover/cli"
)

// version and revision can be set when linking, where a build has no repository
// to tell them: -ldflags "-X main.version=v1.2.3 -X main.revision=COMMIT". Empty,
// which is what the Dockerfile sets without an argument, is the same as not set.
var version, revision string

func main() { os.Exit(cli.Main(version, revision)) }
