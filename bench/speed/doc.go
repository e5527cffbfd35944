// Package speed measures how fast the daemon is end to end, beside loops that do nothing but copy.
//
//	benchmark's process               broker                a process of its own
//
//	sender ───────────────────────► ingress ───────────────► product, or a loop
//	receiver, or reader afterwards ◄─ target ◄────────────────┘
//
// The broker is a Kafka in a container, or one by its address. Product and loops are measured in
// turn, on the same topics where that can be had, and figures are medians of the runs:
//
//	already due    records are in ingress before anything is started; the time from the first to the
//	               last of them in the target, by the broker's timestamps
//	CPU            of the product's process at low rates, and of a loop's at the same
//	burst          many are due at one instant, or within one second; the last of them, by the broker's timestamp
//	lateness       at a rate, by the broker's timestamp and at a consumer, and behind a bare produce
//	flood          lateness to one target while many that are already due go to another
//
// A loop knows of no delay. So where time matters the baseline is a producer that has all records in
// memory and writes each when it is due. Nothing that has to read them first can be earlier.
//
// The product is a Layover that is started for it, or by [Product] any scheduler that runs already
// and takes its delays from headers.
package speed
