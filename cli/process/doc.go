// Package process is what all verbs share: what a verb sees of its process, its
// exit codes, its flags, and how it prints.
//
// A verb is a function of a [Process], which returns its exit code: 0 fine, 1
// a failure while it ran, 2 a mistake on the command line or in the
// environment. Results go to stdout, everything else to stderr.
package process
