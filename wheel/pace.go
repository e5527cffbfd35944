package wheel

// pace is the size of the pieces of work that can wait.
type pace struct {
	// leadShare is the divisor of a bucket's width that gives how early it is opened.
	// Sooner makes the shares smaller and level 0 fuller. With 1 expiring costs some
	// percent more, and with 16, too.
	leadShare int64

	// shareChunks is how many chunks of an open bucket move down together at
	// least, so that nobody is woken up for a few records. Eight chunks are 248
	// records, which cost some ten microseconds.
	shareChunks int64

	// cancelsPerStep is how many calls of Cancel make a step of compaction.
	cancelsPerStep uint

	// minDead is the number of dead records up to which no compaction begins.
	minDead int
}

var usualPace = pace{leadShare: 4, shareChunks: 8, cancelsPerStep: 2, minDead: 4096}
