package offsets

// UnreadBatch is a record batch that is not read, as it takes too much decompressed, or is
// broken. One dead letter stands for all records of the former, and says where they are.
type UnreadBatch struct {
	First, Last int64  // offsets
	Records     int64  // as its header counts them
	LeaderEpoch int32  // in which it was written, below 0 where that is not known
	Aborted     bool   // of an aborted transaction: nobody is to read it
	Broken      bool   // nobody can read it: Last is First where its header does not tell, and no letter stands for it
	Message     string // the fault and its remedy; nothing of a record is in it, as status shows it to everybody
}
