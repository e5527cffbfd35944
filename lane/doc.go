// Package lane runs one core: it is the goroutine around package purgatory.
//
// A lane is the unit of parallelism and shares nothing with other lanes: some
// ingress partitions, one wheel, one loop. It reads the clock, decodes headers,
// calls the core, and carries out its effects.
//
//	consumer ─Assign, Fetched, Revoke, Lost─► mailbox ─► loop ─► Deliverer ─► target
//	                                            ▲         └────► Committer ─► coordinator
//	                                            └── outcomes, commit results ──┘
//
// The loop never blocks but in its sleep, which is at most one second. Due
// records are offered, not pushed. Intake and due work take turns, so that a
// long replay delays nobody. Everything that other goroutines do to a lane is an
// append to its mailbox.
package lane
