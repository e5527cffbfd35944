package dev

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"layover/delay"
)

// printStart prints the addresses, and a warning. ignored are variables, added the headers
// that records come out with.
func printStart(w io.Writer, broker string, ingress []string, dir, web string, ignored []string, added delay.Added) {
	fmt.Fprintf(w, `Layover on an embedded broker: for a laptop, not for production.

  broker  %s, topics %s and %s
  data    %s
  http    %s/status, /metrics
`, broker, strings.Join(append(ingress, egressTopic), ", "), dlqTopic, dir, web)
	if len(ignored) > 0 {
		fmt.Fprintf(w, "  note    dev decides itself, not used: %s\n", strings.Join(ignored, ", "))
	}
	if lacks := lacking(added); lacks != nil {
		fmt.Fprintf(w, "  note    with LAYOVER_ADDED_HEADERS=%s dev cannot show %s\n", added, strings.Join(lacks, ", "))
	}
}

// lacking is what nobody knows of a record that comes out without some headers.
func lacking(added delay.Added) (lacks []string) {
	if !added.Has(delay.AddID) {
		lacks = append(lacks, "ids")
	}
	if !added.Has(delay.AddDue) {
		lacks = append(lacks, "lateness")
	}
	if !added.Has(delay.AddDue | delay.AddOriginalTimestamp) {
		lacks = append(lacks, "which records were due while it was stopped")
	}
	return lacks
}

// printNext writes commands that work as they stand.
func printNext(w io.Writer, addr, self string) {
	fmt.Fprintf(w, `
Try next, in another terminal:

  echo hello | kcat -P -b %[1]s -t %[2]s -H x-delay=10s
  kcat -C -u -q -b %[1]s -t %[3]s -f '%%s  %%h\n'
  %[4]s send --brokers %[1]s --topic %[2]s --delay 10s hello

Records that come out are printed here too, and dead letters. Ctrl-C stops.

`, addr, ingressTopic, egressTopic, self)
}

// command is how this program was started, given as os.Args[0]. A binary of go
// run lies where nobody would type it. It is in a temporary folder go-build123,
// or in the build cache, in a folder named by a SHA-256 and "-d".
func command(arg0 string) string {
	folder := filepath.Base(filepath.Dir(arg0))
	cached := len(folder) == 64+len("-d") && strings.HasSuffix(folder, "-d")
	if cached || strings.Contains(arg0, "go-build") {
		return "go run ."
	}
	if strings.ContainsAny(arg0, " \t'\"&()$") {
		return `"` + arg0 + `"`
	}
	return arg0
}
