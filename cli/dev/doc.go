// Package dev is the verb dev: Layover on one's own machine with nothing
// beside it, for trying it out and for writing programs against it.
//
//	          ┌────────────────────── one process ──────────────────────┐
//	samples ──┼▶ delayed ──▶ daemon ──▶ ready ──▶ printed with lateness │
//	kcat ─────┼▶    │                     │                             │
//	          │     └── embedded broker ──┴── data directory, locked    │
//	          └─────────────────────────────────────────────────────────┘
//
// The broker is franz-go's kfake, which speaks Kafka's protocol to any client
// and keeps its data in files. It is not for production. It is one process
// without replicas, its checks are few, and a machine without power loses the
// records not yet on disk.
//
// The daemon is the same as everywhere; only its settings for Kafka are taken
// from here instead of from the environment.
package dev
