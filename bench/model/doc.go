// Package model drives the real core, and its index of a runs partition, through months of virtual time.
// It answers questions that no measurement can wait for, for kinds of delays and for many parked. They
// are how often a record is written, what space its copies take, and how often runs are read.
//
//	arrivals ─► core ─gather, offer─► log of copies ─visits─► core ─► delivered at once
//
// One partition stands for all: they share memory alike, so it has its part of a lane's share. A broker that
// answers at once, without batches, is the rest of the world.
//
// When something is moved, read and cleaned is decided in package lane, by goroutines and clocks. The rules
// are repeated here in policy.go; TestTheRulesAreThoseOfTheLane compares their numbers.
//
// What it is not: it measures no time, and nothing fails in it.
package model
