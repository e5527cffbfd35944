// Package runs is the verb runs. It shows how many copies wait in the runs topics, and says
// whether an older release, which knows nothing of copies, may take over.
//
//	$ layover runs show --partition 0
//	delayed/0: runs delayed.layover-delayed.runs/0, log start 120, end 4711
//	  commit: low offset 130, known end 4711, due by 2026-01-01T12:00:00.000Z, directory at 4710, leader epoch 0; an older release must not read the partition
//	  at most 4,500 copies wait, 5,120,000 bytes, in 7 runs of 2 writers, due from 2026-01-01T13:00:00.000Z to 2026-01-31T12:00:00.000Z
//	  due within an hour: 12, a day: 340, a week: 1,200
//	  finished and not deleted: 10 offsets
//	A downgrade is not safe:
//	  ...
//
// What counts is found as a member finds it when an assignment begins:
//
//	survey    topics, the group's commits ──► partition
//	look      log bounds, finished copies of the journal, the directory ──► copies.Looked
//	read      all that no directory tells ──► findings
//	show      prints them, and sums them up to a verdict
//
// It writes nothing, and it is no member of the group. Of a record it prints nothing but its
// place, and never its key, value or headers.
package runs
