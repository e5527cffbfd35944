package daemon

import (
	"fmt"
	"testing"
	"time"
)

// TestNumbersOfCatchingUp: a target is away until its records are late, twice.
func TestNumbersOfCatchingUp(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.createTopics(1, "slow")
		in := w.start("LAYOVER_TARGETS_ALLOWED=slow", "LAYOVER_CATCHUP_RATE=1")
		in.ready()
		n := w.beside(in)
		catching := m("catching_up_records", "target", "slow")
		none := expected{catching: 0, m("catching_up_records", "target", egress): 0, ".catching_up[#]": 0, ".overdue": 0}
		n.some("nothing is late", none)
		for round := range 2 {
			w.DeleteTopic("slow")
			for i := range 20 {
				w.send(int32(i%2), fmt.Sprint(round, " ", i), header("x-delay", "1s"), header("x-deliver-to", "slow"))
			}
			time.Sleep(20 * time.Second)
			n.some("they are held", expected{catching: 0, ".catching_up[#]": 0, ".overdue": 20})
			w.createTopics(1, "slow")
			w.Until(10*time.Second, "the first one is back", func() bool { return w.count("slow") > 0 })
			back := time.Now()
			n.some("they catch up", expected{catching: between(15, 18), m("catching_up_records", "target", egress): 0, ".overdue": between(15, 18), ".catching_up[#]": 1,
				".catching_up[slow].target": "slow", ".catching_up[slow].records": between(15, 18), ".catching_up[slow].until": by(back.Add(19*time.Second), 2*time.Second)})
			time.Sleep(25 * time.Second)
			n.some("all have left", of(none, expected{".catching_up[slow].target": gone, ".catching_up[slow].records": gone, ".catching_up[slow].until": gone}))
		}
		n.done("catchup")
		in.stop()
	})
}
