// Package verify judges from outside whether delayed records arrived as they
// should: a ledger of what was sent, and a checker that compares it with what the
// topics hold in the end.
//
//	Enter ─► send ─► Acked, Refused, or neither       (the ledger, while the test runs)
//	                      │
//	contents of topics ─► Check ─► Report             (the checker, when all has drained)
//
// A record is lost, early, repeated, wrong or strange, or it is right. The outcome of
// sending has three values: a record whose answer never came may or may not be in the
// log, so that it is neither missed nor taken for a stranger.
//
// The package knows the product's documented headers by its own spelling of them and
// imports nothing of it, nor a Kafka client: what it shared with the code under test
// would be wrong in both at once. It never asks the product what it believes.
package verify
