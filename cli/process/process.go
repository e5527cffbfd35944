package process

import (
	"encoding/json"
	"fmt"
	"io"

	"layover/cli/envfile"
)

// The exit codes of every verb.
const (
	ExitOK      = 0
	ExitRuntime = 1 // the world was not as it should be
	ExitUsage   = 2 // the command line or the environment was not
)

// Process is what a verb sees of the process that it is: an argument, so that
// a test can stand in for it. It belongs to one verb.
type Process struct {
	Verb    string   // run, send, ...
	Args    []string // what follows the verb
	Environ []string // in the form of os.Environ
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer

	StdinIsTerminal, StdoutIsTerminal, StderrIsTerminal bool // a person is at the other end

	Version, Revision string // as linked; empty: what Go knows of the build

	EnvFiles []string          // of --env-file; a later one wins, and Environ over all
	EnvFrom  map[string]string // since ReadEnvFiles, the file of each variable that is from one
}

// ReadEnvFiles adds what the files of --env-file say to the environment. It is
// called once, when the command line has been read.
func (p *Process) ReadEnvFiles() error {
	environ, from, err := envfile.Merge(p.Environ, p.EnvFiles)
	if err != nil {
		return err
	}
	p.Environ, p.EnvFrom = environ, from
	return nil
}

// WriteJSON writes v as one line of JSON, with < and > as they are.
func WriteJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}

// Fail writes err to stderr under the verb's name and returns ExitRuntime.
func (p Process) Fail(err error) int {
	fmt.Fprintf(p.Stderr, "layover %s: %v\n", p.Verb, err)
	return ExitRuntime
}

// FailUsage writes err to stderr, with where to read on, and returns
// ExitUsage.
func (p Process) FailUsage(err error) int {
	fmt.Fprintf(p.Stderr, "layover %s: %v\nSee 'layover help %s'.\n", p.Verb, err, p.Verb)
	return ExitUsage
}

// Help writes the text of --help to stdout, where it can be piped into a
// pager, and returns what [Process.Print] does.
func (p Process) Help(text string) int { return p.Print(text) }

// Print writes text to stdout and returns ExitOK, or what Fail does where it
// cannot be written.
func (p Process) Print(text string) int {
	if _, err := io.WriteString(p.Stdout, text); err != nil {
		return p.Fail(fmt.Errorf("stdout: %w", err))
	}
	return ExitOK
}
