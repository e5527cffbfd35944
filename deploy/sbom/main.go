// Sbom prints a Go program's bill of materials in CycloneDX 1.5 JSON. The bill has
// the program itself, every module that is linked into it, and Go's standard
// library.
//
//	go run ./deploy/sbom [-version V] BINARY > sbom.cdx.json
//
// It reads nothing but the build information that the linker has put into the
// binary, which may be for another platform. So it names the linked modules, and not
// those of go.mod: a module from which no package is used is absent.
// The same binary gives the same bytes: there is no time and no random number in it.
package main

import (
	"debug/buildinfo"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run returns the exit code: 0 fine, 1 the binary cannot be read, 2 usage.
func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("sbom", flag.ContinueOnError)
	flags.SetOutput(stderr)
	version := flags.String("version", "", "the program's `version`, where its build information has none")
	flags.Usage = func() {
		fmt.Fprintln(stderr, "Usage: sbom [-version V] BINARY")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() != 1 {
		fmt.Fprintf(stderr, "sbom: %d arguments, want one: the path of a Go binary\n", flags.NArg())
		flags.Usage()
		return 2
	}
	info, err := buildinfo.ReadFile(flags.Arg(0))
	if err != nil { // err names the file
		fmt.Fprintln(stderr, "sbom:", err)
		return 1
	}
	out := json.NewEncoder(stdout)
	out.SetIndent("", "  ")
	if err := out.Encode(describe(info, *version)); err != nil {
		fmt.Fprintln(stderr, "sbom: stdout:", err)
		return 1
	}
	return 0
}
