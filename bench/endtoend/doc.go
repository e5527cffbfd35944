// Package endtoend measures the whole daemon, its loop alone, and what a kill costs.
//
//	benchmark's process                       a process of its own
//
//	sender ───────► embedded broker ────────► daemon, as "layover run" has it
//	receiver ◄─────────────┘ ◄──────────────────┘
//	orders ───────────────── its stdin ─────► collect, read
//	figures ◄─────────────── its stdout ───── memory, CPU, collections
//
// [EndToEnd] parks many records, lets them lie, then sends short delays through
// beside them. The daemon has a process to itself, so that its memory and CPU
// are nobody else's; broker, sender and receiver are in the benchmark's. Both
// processes share the cores, so lateness is that of a machine with other work.
//
// [Loop] drives a real lane whose surroundings answer at once. The figure that
// is left is how late a sleeping loop wakes, with cores idle and with all of
// them busy.
//
// [Restart] kills a daemon with a large window and times the next one. Its broker is
// a real one, in a container, where there is an engine for that.
//
// Each process is this binary, started again: main has to serve [Children] and the daemon,
// as package process says.
//
// It is no load test: nothing here looks for the highest rate.
package endtoend
