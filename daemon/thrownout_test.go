package daemon

import (
	"net/http"
	"testing"
	"time"

	"layover/verify/long"
)

// TestAMemberIsThrownOutAtEachPointOfItsStart, as by a session that is over. It joins again by
// itself, and what it had begun for the former membership comes to nothing. Whoever looks at it
// meanwhile gets an answer.
func TestAMemberIsThrownOutAtEachPointOfItsStart(t *testing.T) {
	long.InChecks(t)
	for _, how := range answered {
		if how.wait > once && !long.Whole() {
			continue
		}
		t.Run(how.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *fixture) { w.throwOutAtEachPointOfAStart(how) })
		})
	}
}

func (w *fixture) throwOutAtEachPointOfAStart(how ending) {
	w.journalled(narrow) // refused commits are no matter: the committed offsets are looked at
	var high [2]int64
	w.load(point{})
	s := stepsOf(w.dial, point{}, how)
	in := w.over(s, narrow)
	in.ready()
	time.Sleep(2 * time.Second)
	points := s.all()
	in.stop()
	points = pick(points)
	w.eachPoint(points, func(at point) bool {
		w.load(at)
		s := stepsOf(w.dial, at, how)
		in := w.over(s, narrow)
		came := s.arrives()
		for _, path := range []string{"/metrics", "/status", "/status?format=html"} { // read while it all changes
			if code, body := in.get(path); code != http.StatusOK || len(body) == 0 {
				w.Errorf("%v: %s answers %d", at, path, code)
			}
		}
		if g := w.Broker.GroupInfo("layover-" + ingress); g != nil && len(g.Members) > 0 {
			if err := w.throwOut(g.Members[0]); err != nil {
				w.Fatal(err)
			}
		}
		in.ready()
		time.Sleep(3 * time.Second)
		w.onTime(0, 1)
		in.stop()
		for p := range high {
			offset := w.commitOf(int32(p)).At
			if offset < high[p] {
				w.Errorf("%v: partition %d is committed at %d, and was at %d", at, p, offset, high[p])
			}
			high[p] = offset
		}
		return came
	})
	w.delivered(append(points, point{}), false)
}
