package wheel

// pace is the size of the pieces of work that can wait.
type pace struct {
	// leadShare is how early a bucket is opened: this part of its width before
	// its span begins. Sooner makes the shares smaller and level 0 fuller; with
	// all of the width expiring costs some percent more, with a sixteenth, too.
	leadShare int64

	// shareChunks is how many chunks of an open bucket move down together at
	// least, so that it wakes nobody up for a few records: 248 of them cost some
	// ten microseconds.
	shareChunks int64

	// cancelsPerStep is how many times Cancel is called for a step of compaction.
	cancelsPerStep uint

	// minDead is how many dead records are not worth looking for.
	minDead int
}

var usualPace = pace{leadShare: 4, shareChunks: 8, cancelsPerStep: 2, minDead: 4096}
