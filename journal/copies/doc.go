// Package copies reads and writes the runs topics: one beside each ingress topic, with as
// many partitions. Partition n has the copies of ingress partition n's records that are due far off.
// Package runs defines the records, and package far which of them count.
//
//	Open    asks for all that is known of a partition ──► far.Opening
//	Look    does that once, for somebody who only shows it
//	Copy    appends a copy or a directory ──► its offset, or an error
//	Visit   reads a range of offsets ──► the copies there
//	Delete  deletes the records below an offset
//
// A copy that another release wrote, or another owner, is one that is never due: it is neither
// delivered nor deleted. So is each offset of a batch that cannot be read. One that is damaged counts as lost.
package copies
