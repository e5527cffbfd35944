//go:build race

package batches

// raced: sync.Pool forgets at random what it is given, so that buffers are made anew.
const raced = true
