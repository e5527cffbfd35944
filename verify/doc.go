// Package verify judges from outside whether delayed records arrived as they
// should. It has a ledger of the records that were sent, and a checker that
// compares it with the contents of topics in the end.
//
//	Enter ─► send ─► Acked, Refused, or neither       (the ledger, while the test runs)
//	                      │
//	contents of topics ─► Check ─► Report             (the checker, when all has drained)
//
// A record is lost, early, repeated, wrong or strange, or it is right. The outcome of
// sending has three values. A record whose answer never came may or may not be in the
// log, so that it is neither missed nor taken for a stranger.
//
// The package knows the product's documented headers by its own spelling of them. It
// imports nothing of the product, nor a Kafka client. Anything that it shared with
// the code under test would be wrong in both at once. The package never asks the
// product what it believes.
package verify
