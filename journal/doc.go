// Package journal keeps, writes and reads the journal topics: one beside each ingress
// topic, with as many partitions. Partition n holds the finished offsets of ingress
// partition n that do not fit into commit metadata. Package facts defines the records.
// The package keeps the runs topics as well; package runs defines theirs.
//
//	Run      makes the topics, lets them grow, looks at their configuration ──► Changed
//	Write    appends a record ──► its offset, or an error
//	Delete   deletes the records below an offset
//	Restore  reads partitions from log start to stable end ──► their finished sets
//
// A journal that does not answer costs repeats after a crash, and never delays a delivery
// or a commit. Every wait has an end, and partitions do not wait for each other.
package journal
