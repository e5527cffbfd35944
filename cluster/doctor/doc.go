// Package doctor asks a Kafka and this machine whether Layover can work there:
// numbered checks, in the order in which things fail. Each says what was found,
// why that matters, and what mends it.
//
//	settings ──► ask (requests, one error each) ──► facts ──► judge (pure) ──► findings
//
// It reads and never writes: no record, no topic, no setting of a broker. It is
// the verb doctor, and the preflight of a daemon. It is not the watch over a
// running process: sickness is admin's.
package doctor
