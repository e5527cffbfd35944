//go:build !race

package batches

const raced = false
