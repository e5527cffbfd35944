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

	// readsPerStep is how many records read by TakeFarthest make a step. With eight a
	// pass ends before the wheel holds twice what it needs.
	readsPerStep int

	// minFree is how many slabs' worth of memory may be free before TakeFarthest compacts.
	minFree int

	// minDead is the number of dead records up to which no compaction begins.
	minDead int
}

var usualPace = pace{leadShare: 4, shareChunks: 8, cancelsPerStep: 2, minDead: 4096, readsPerStep: 8, minFree: 2 * maxSpareSlabs}
