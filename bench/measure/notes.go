package measure

import (
	"fmt"
	"time"

	"layover/bench/rival"
)

// Notes are what a reader of the figures has to know of how they were taken,
// with the constants as they are.
func Notes() []string {
	return []string{
		"Insert and cancel are CPU time of the thread that calls. The garbage collector's own threads are not in it, " +
			"its share that the caller has to do is. Expire is CPU time of the whole process.",
		"Each operation takes one lock, each advance one; what locks by itself gets no second lock.",
		fmt.Sprintf("Expire: the clock moves by hand, a millisecond or to the next deadline, and a call hands out at most %d records. "+
			"What fires by itself is spread uniformly over real time instead, %s a record, and its callbacks count.",
			budget, time.Duration(spreadNs)),
		"The hashed wheel would take minutes. The cost of reading a record is measured for a second or two, and the expiry is that cost times the turns a record waits.",
		"Longest advance: of ours in a whole passage, of the others in its first second or two. CPU is that of the thread, the wall also has what other programs took.",
		"Insert, warm: a quarter of the records went and as many are parked. They went by expiring, " +
			"or by being cancelled in structures that fire by themselves and in the hashed wheel.",
		"Cancel: a quarter of the records in random order, and then the rest of them, by when a structure has to have done what it put off.",
		fmt.Sprintf("What fires by itself gets delays longer by %s while parking and cancelling are measured, so that nothing fires.",
			settleMs*time.Millisecond),
		fmt.Sprintf("RussellLuo/timingwheel has %d slots of 1 ms a level, the hashed wheel %d.",
			rival.RussellLuoSlots, rival.HashedWheelSlots),
		"GC: CPU time of one collection with the records parked and no handle kept, by the runtime's own account: marking and pauses. " +
			"With sweeping it is what the whole process spends.",
		fmt.Sprintf("Early: of what fires by itself every %dth callback reads the clock.", lookAtOneIn),
	}
}
