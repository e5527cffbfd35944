package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"layover/cli/envfile"
	"layover/config"
)

// The exit codes of every verb.
const (
	ExitOK      = 0
	ExitRuntime = 1   // something failed while it ran
	ExitUsage   = 2   // the command line or the environment is wrong
	ExitStopped = 130 // a signal ended it, and what was done until then is said
)

// Process is the process as a verb sees it: an argument, so that a test can
// stand in for it. One goroutine has it.
type Process struct {
	Args    []string // the command line, without the program
	Environ []string // in the form of os.Environ
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer

	StdinIsTerminal, StdoutIsTerminal, StderrIsTerminal bool // a person is at the other end

	Version, Revision string // as linked; empty: see Build

	Verb     string            // run, send, …; set when it begins
	EnvFiles []string          // of --env-file; a later one wins, and Environ over all
	EnvFrom  map[string]string // since ReadEnvFiles: the file of each variable that is from one

	code int      // of the verb that ran
	out  *checked // of Out; Stdout too, since Execute
}

// OfSystem returns the process that runs. version and revision are as they
// were linked, or empty.
func OfSystem(version, revision string) *Process {
	return &Process{
		Args: os.Args[1:], Environ: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		StdinIsTerminal: isTerminal(os.Stdin), StdoutIsTerminal: isTerminal(os.Stdout), StderrIsTerminal: isTerminal(os.Stderr),
		Version: version, Revision: revision,
	}
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// ReadEnvFiles adds the variables of --env-file's files to the environment. A
// verb calls it once, after its command line was found right.
func (p *Process) ReadEnvFiles() error {
	for _, path := range p.EnvFiles {
		if path == "" {
			return errors.New("--env-file: want the name of a file")
		}
	}
	environ, from, err := envfile.Merge(p.Environ, p.EnvFiles)
	if err != nil {
		return err
	}
	p.Environ, p.EnvFrom = environ, from
	return nil
}

// LoadConfig returns the settings that load, such as config.Load, reads from the
// environment, and writes warnings to stderr. A wrong setting or env file is written
// there too, and ok is false: the exit code is ExitUsage.
func (p *Process) LoadConfig(load func(environ []string) (*config.Config, []string, error)) (cfg *config.Config, ok bool) {
	if err := p.ReadEnvFiles(); err != nil {
		p.FailUsage(err)
		return nil, false
	}
	cfg, warnings, err := load(p.Environ)
	return cfg, p.Judge(warnings, err)
}

// Judge writes the warnings and the mistakes of settings to stderr, and reports
// whether the settings can be used.
func (p *Process) Judge(warnings []string, err error) bool {
	for _, warning := range warnings {
		fmt.Fprintln(p.Stderr, "warning:", warning)
	}
	if err != nil {
		fmt.Fprintln(p.Stderr, err)
	}
	return err == nil
}

// Fail writes err to stderr under the verb's name and returns ExitRuntime.
func (p *Process) Fail(err error) int {
	fmt.Fprintf(p.Stderr, "layover %s: %v\n", p.Verb, err)
	return ExitRuntime
}

// FailStdout is Fail for an error of stdout, and ExitOK for nil.
func (p *Process) FailStdout(err error) int {
	if err == nil {
		return ExitOK
	}
	return p.Fail(fmt.Errorf("stdout: %w", err))
}

// FailUsage writes err to stderr with a hint at the verb's help, and returns
// ExitUsage.
func (p *Process) FailUsage(err error) int {
	fmt.Fprintf(p.Stderr, "layover %s: %v\nSee 'layover help %s'.\n", p.Verb, err, p.Verb)
	return ExitUsage
}

// WriteJSON writes v as one line of JSON, with < and > as they are.
func WriteJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}
