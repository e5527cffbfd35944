// Package sim runs the core (purgatory, offsets, wheel and the chunks) among model
// brokers, where everything that can happen happens by command. It holds the core
// to the promises after every step.
//
//	Action ─► World ─┬─ brokers ─┬─ partitionLog ×n   records, markers, gaps; start, end, truncation
//	                 │           ├─ group             members, generation, owners, committed offsets
//	                 │           └─ journal           its logs, and what is on its way to them
//	                 ├─ network      commits and produces that may still arrive
//	                 └─ instance ×n  a real core; around it a dumb lane and consumer
//
// Drivers choose the actions. A seed's run (Seeded) is hundreds of random ones;
// when it breaks a promise it is shrunk to a trace that a person can read. Explore
// tries every trace of a small world, by the number of accidents in it.
//
// # What is real and what is model
//
// A batch that is not read has one record here; letters for more of them are played with
// in the core's own tests.
//
// Real are the core and what decides where an assignment begins (offsets.Resume). Model
// are brokers and network, and what lane and consumer do around a core. Nothing in them
// is left to timing here. An instance may hear of a rebalance, of an answer or of its
// lease at any moment, or never.
//
// Where a partition begins is asked one question at a time: log bounds, committed offset,
// journal, leader epoch. Between two of them the log may be deleted, truncated, made again,
// forbidden or without a leader.
//
// The group does what a coordinator does and no more. A commit is taken from any
// known member of the current generation, whoever owns the partition. It may come
// twice, late, and out of order, once its connection was cut. A produce whose
// sender is gone, or was told that nobody knows, may still be written. Offsets of a
// transaction that is open make a stable fetch wait. Deleting a topic drops its
// offsets, and old brokers take a commit for it afterwards.
//
// # What is held
//
//   - Nothing is lost: a commit that is built, taken, or resumed from calls no
//     record finished that is not written, dropped by policy, or gone from the log.
//   - Never early: no record is offered before its deadline on its instance's clock,
//     and none while its assignment may not deliver.
//   - Repeats have a reason each: one assignment more that began with the record
//     unfinished, or one answer that left it open. What the last commit said whose
//     answer arrived is not read again.
//   - Every offset below the read position is finished, parked, due or in flight, an event's,
//     or a cancel that waits; low offsets do not go back; a commit holds all that is
//     finished, or the longest prefix that fits.
//   - What a cancel or a newer record of its id has ended is offered by no assignment that has
//     read the command, or began later. What may be the core's own word, the event or the
//     finished offset, is held to the rules: nobody ends a record without a command.
//   - No record with an id is offered before its partition is read up to the end that its
//     assignment found, but while its barrier is open for one of its reasons.
//   - In every set that a restart may begin with, a record that a command has ended and that
//     is open has a later command that is open as well, or counts again: beside the journal
//     as it is, and beside each record alone that may still arrive.
//   - What expires is not handed out from its expiry on.
//   - A record that was moved counts until its outcome, by a copy that stands in the runs topic:
//     what a commit, a record of the journal or a deletion of copies calls finished has its
//     outcome, or another copy. A commit lets no older release read while a copy is open, and no
//     copy is in memory twice. Nothing counts as lost where nothing was taken.
//   - A record's bytes are its own until it is written.
//   - What is in flight, stuck records included, fits into the client's buffer.
//   - Records of a healthy partition for a healthy target are at most five seconds late,
//     whatever other partitions, targets or the dead-letter topic do (Beside, a driver of
//     its own).
//   - So are copies that can be read, and what is in memory, where runs partitions are sick. A
//     healthy partition is read, moved and begun with beside them (BesideRuns, another driver).
//   - At the end, when all faults are over, everything drains: each record has its
//     outcome, what was counted adds up, and the cores are empty.
//
// # What it is not
//
// It does not know Kafka's protocol, the client, or the timing of goroutines: those
// are the business of the daemon's tests.
//
// A protocol that is added (another place for facts, transactions)
// brings its actions and its side of the brokers here first.
package sim
