// Package consumer is the group member: membership, the ownership table, reading
// ingress partitions, and commits.
//
//	poll ─► Handler.Fetched      (a partition's records as kgo returned them, tagged with its epoch)
//	join ─► Handler.Assigned     (once its offset, finished set and log bounds are known)
//	     ─► Handler.Revoked/Lost (returns when the assignment is over)
//	Commit ◄─ offsets.Commit     (identity filled in under the lock that checks ownership)
//
// Kafka checks member and generation of a commit, not ownership: a fresh
// generation on a lost partition is accepted and overwrites its new owner. So
// member id, generation and topic id are copied from the ownership table when a
// batch is built and travel with it. Commits are raw OffsetCommit requests: kgo's
// own commit functions look the generation up when they send, and by default write the
// member id as metadata.
//
// Consumer wires the parts, each with its own data and lock:
//
//	ownership    the table, the member's identity and lease; stamps commits
//	protocol     what the group's protocol says of its members' releases
//	loader       begins assigned partitions; a loading asks for their starts
//	groupStart   starts of partitions without a committed offset
//	fetching     which partitions the client fetches
//	jumper       moves read positions
//	fetchFaults  errors of fetching
//	committer    sends stamped commits, one request after the other
//	heartbeats   prove the membership while there are no commits
package consumer
