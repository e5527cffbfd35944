// Package journal keeps, writes and reads the journal topics: one beside each ingress
// topic, with as many partitions, and in partition n what is finished of partition n
// when that does not fit into commit metadata. What the records say is package facts'.
//
//	Run      makes the topics, lets them grow, looks at their configuration ──► Changed
//	Write    appends a record ──► its offset, or why not
//	Delete   deletes the records below an offset
//	Restore  reads partitions from log start to stable end ──► their finished sets
//
// Nothing here may hold up anything: a journal that does not answer costs repeats after
// a crash, and never a delivery or a commit. Every wait has an end, and partitions do
// not wait for each other.
package journal
