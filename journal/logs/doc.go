// Package logs reads ranges of logs with fetch requests of its own, and deletes records
// below an offset. Package journal reads the journals with it.
//
//	NewClient  makes a client that reads
//	Fetch      one request to one broker ──► of each partition: records, where to go on, an error
//	Scan       reads ranges of partitions, each in order ──► the partitions that were not read to their end
//	Delete     deletes the records of a partition below an offset
//
// Whoever knows a partition's leader fetches. Scan asks for leaders, and asks again after
// errors. Neither remembers anything between two calls.
//
// It is not a consumer: it has no position, no group and no cache. Records of a transaction
// that was aborted are left out, and nothing is read beyond the last stable offset.
package logs
