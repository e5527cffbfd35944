package integration

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// catchingUp is what /status says of the egress topic: how many late records wait for their
// turn, and until when.
func (p *process) catchingUp(egress string) (records int, until time.Time) {
	p.t.Helper()
	var s struct {
		CatchingUp []struct {
			Target  string
			Records int
			Until   time.Time
		} `json:"catching_up"`
	}
	_, body := p.get("/status")
	if err := json.Unmarshal([]byte(body), &s); err != nil {
		p.t.Fatalf("status: %v\n%s", err, body)
	}
	for _, c := range s.CatchingUp {
		if c.Target != egress {
			p.t.Fatalf("%s catches up, too", c.Target)
		}
		records, until = c.Records, c.Until
	}
	return records, until
}

// TestAfterAnOutageLateRecordsLeaveAtTheRate: some were parked when Layover was killed, others
// were written while nobody ran. It is killed again while it catches up, and goes on. What is
// due meanwhile leaves on time.
func TestAfterAnOutageLateRecordsLeaveAtTheRate(t *testing.T) {
	long(t)
	t.Parallel()
	const (
		parked, missed = 500, 1200
		rate           = 250
		perRecord      = time.Second / rate
		promptly       = 2 * time.Second
		slack          = 20 * time.Millisecond // the clock of turns is not the one that deliveries are stamped by
	)
	f := onSharedBroker(t, 2)
	settings := []string{"LAYOVER_GROUP_INSTANCE_ID=" + f.group + "-0", fmt.Sprint("LAYOVER_CATCHUP_RATE=", rate)}
	l, out := f.newLedger(), f.collect(f.egress)

	p := f.layover(settings...)
	base := time.Now().Truncate(time.Millisecond).Add(3 * time.Second)
	var batch []*kgo.Record
	for i := range parked {
		batch = append(batch, l.at(fmt.Sprint("late-parked-", i), base.Add(time.Duration(i%10)*time.Millisecond)))
	}
	f.produce(batch...)
	p.parks(parked, time.Until(base))
	p.kill()
	batch = batch[:0]
	for i := range missed {
		sent := base.Add(-time.Hour + time.Duration(i)*time.Millisecond)
		batch = append(batch, l.enter(fmt.Sprint("late-missed-", i), sent, sent.Add(time.Minute), "x-delay", time.Minute.Milliseconds()))
	}
	f.produce(batch...)
	eventually(t, 20*time.Second, "what was parked is late", func() bool { return time.Since(base) > 11*time.Second })

	p = f.layover(settings...)
	f.produce(l.delayed("now-0", time.Second), l.delayed("now-1", time.Second))
	out.await(2*rate, 30*time.Second)
	if n, until := p.catchingUp(f.egress); n < rate || n > parked+missed-rate || time.Until(until) < time.Duration(n-rate)*perRecord {
		t.Errorf("%d records catch up for %v more", n, time.Until(until))
	}
	p.kill()
	killed := time.Now()
	p = f.layover(settings...)
	f.produce(l.delayed("now-2", time.Second), l.delayed("now-3", time.Second))
	out.await(parked+missed+4, time.Minute)
	f.reachesEnd(10 * time.Second)
	if n, _ := p.catchingUp(f.egress); n != 0 {
		t.Errorf("%d records still catch up", n)
	}
	p.terminate()
	out.settle()
	l.judge(out.all(), 3*rate) // finished since the last commit, once a second

	lives := [2][]time.Time{}
	for _, a := range out.all() {
		life := 0
		if a.Timestamp.After(killed) {
			life = 1
		}
		if strings.HasPrefix(string(a.Key), "late-") {
			lives[life] = append(lives[life], a.Timestamp)
		}
	}
	for i, times := range lives {
		slices.SortFunc(times, time.Time.Compare)
		took := times[len(times)-1].Sub(times[0])
		t.Logf("life %d: %d late records within %v", i+1, len(times), took)
		for k, at := range times {
			if turn := times[0].Add(time.Duration(k) * perRecord); at.Before(turn.Add(-slack)) {
				t.Fatalf("late record %d of life %d left %v before its turn", k, i+1, turn.Sub(at))
			}
		}
		if most := time.Duration(len(times))*perRecord + 10*time.Second; took > most {
			t.Errorf("life %d took %v for %d late records, want %v at most", i+1, took, len(times), most)
		}
	}
	stamped, received := l.lateness(out.all(), "now-")
	t.Logf("what was due now was late by %v; by the receiver's clock %v", stamped, received)
	if worst := slices.Max(stamped); worst > promptly {
		t.Errorf("what was due now left %v after its deadline, want %v at most", worst, promptly)
	}
}
