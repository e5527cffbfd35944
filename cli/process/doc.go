// Package process is shared by all verbs: the process as a verb sees it, exit
// codes, flags, help, and how errors are printed.
//
// A verb is a cobra command whose work returns an exit code. Code 0 is fine, 1 a
// failure while the verb ran, 2 a mistake on the command line or in the
// environment. Results go to stdout, everything else to stderr.
package process
