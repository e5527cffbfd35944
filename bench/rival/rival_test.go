package rival

import (
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// model is what every structure has to do: a list of records by what they are
// due at, sorted when somebody asks.
type model struct {
	nowMs  int64
	parked map[uint64]int64 // due, by payload
}

func (m *model) add(deadlineMs int64, payload uint64) {
	// What has passed is due at the next millisecond.
	m.parked[payload] = max(deadlineMs, m.nowMs+1)
}

func (m *model) cancel(payload uint64) bool {
	_, ok := m.parked[payload]
	delete(m.parked, payload)
	return ok
}

// next is the earliest instant at which something is due.
func (m *model) next() int64 {
	next := int64(Never)
	for _, dueMs := range m.parked {
		next = min(next, dueMs)
	}
	return next
}

// advance takes out what is due, and fails if it is not just these payloads, in
// the order of their deadlines.
func (m *model) advance(t *testing.T, nowMs int64, due []uint64) {
	t.Helper()
	m.nowMs = nowMs
	last := int64(0)
	for _, payload := range due {
		dueMs, ok := m.parked[payload]
		if !ok {
			t.Fatalf("at %d ms: %d came out, which is not parked", nowMs, payload)
		}
		if dueMs > nowMs || dueMs < last {
			t.Fatalf("at %d ms: what is due at %d came out after what is due at %d", nowMs, dueMs, last)
		}
		last = dueMs
		delete(m.parked, payload)
	}
	if next := m.next(); next <= nowMs {
		t.Fatalf("at %d ms: what is due at %d did not come out", nowMs, next)
	}
}

// testRecords is how many records one test parks.
const testRecords = 4_000

func advancers() []Kind {
	return slices.DeleteFunc(Kinds(), func(k Kind) bool { return k.ByItself })
}

func TestWhatIsMovedByHandDoesWhatTheModelDoes(t *testing.T) {
	for _, kind := range advancers() {
		for seed := range uint64(4) {
			t.Run(kind.Name, func(t *testing.T) { compareWithModel(t, kind, rand.New(rand.NewPCG(seed, 7))) })
		}
	}
}

func compareWithModel(t *testing.T, kind Kind, random *rand.Rand) {
	startMs := int64(1_767_225_600_000)
	m := &model{nowMs: startMs, parked: map[uint64]int64{}}
	r := kind.New(startMs, testRecords).(Advancer)
	for added := 0; added < testRecords || len(m.parked) > 0; {
		switch op := random.IntN(20); {
		case op < 12 && added < testRecords:
			added += addSome(r, m, added, random)
		case op < 16 && added > 0:
			i := random.IntN(added)
			if got, want := r.Cancel(i), m.cancel(uint64(i)); got != want {
				t.Fatalf("at %d ms: cancelling record %d: %t, want %t", m.nowMs, i, got, want)
			}
		default:
			advance(t, kind, r, m, m.nowMs+1+random.Int64N(1<<random.IntN(14)))
		}
	}
}

// addSome parks up to forty records, half the time one, with deadlines from the
// past to half a minute ahead.
func addSome(r Advancer, m *model, i int, random *rand.Rand) int {
	n := 1
	if random.IntN(2) == 0 {
		n = min(1+random.IntN(40), testRecords-i)
	}
	for k := i; k < i+n; k++ {
		deadlineMs := m.nowMs - 10 + random.Int64N(30_000)
		r.Add(k, deadlineMs, uint64(k))
		m.add(deadlineMs, uint64(k))
	}
	return n
}

func advance(t *testing.T, kind Kind, r Advancer, m *model, nowMs int64) {
	const budget = 7
	var all []uint64
	for more := true; more; {
		var due []uint64
		var nextMs int64
		due, nextMs, more = r.Advance(nowMs, budget, nil)
		if len(due) > budget && !kind.Scans {
			t.Fatalf("%d records in one call, want at most %d", len(due), budget)
		}
		all = append(all, due...)
		if !more && len(all) == len(m.parked) && nextMs != Never {
			t.Fatalf("at %d ms nothing is parked, but the next deadline is at %d", nowMs, nextMs)
		}
	}
	m.advance(t, nowMs, all)
	if _, nextMs, _ := r.Advance(nowMs, budget, nil); nextMs > m.next() {
		t.Fatalf("at %d ms: next is %d, after %d", nowMs, nextMs, m.next())
	}
}

func TestPickedHandlesCancelTheRecordsTheyWereOf(t *testing.T) {
	for _, kind := range Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			r := kind.New(0, 3)
			if own, ok := r.(RealClock); ok {
				defer own.Stop()
			}
			for i := range 3 {
				r.Add(i, 1_000_000+int64(i), uint64(i))
			}
			r.Pick([]int32{2, 0})
			if !r.Cancel(0) || !r.Cancel(1) || r.Cancel(0) {
				t.Error("want two records cancelled, once each")
			}
			if a, ok := r.(Advancer); ok {
				if due, _, _ := a.Advance(1_000_001, 10, nil); !slices.Equal(due, []uint64{1}) {
					t.Errorf("%v came out, want record 1", due)
				}
			}
		})
	}
}

// firing is what came out by itself.
type firing struct {
	payload  int
	lateness time.Duration
}

func TestWhatFiresByItselfFiresOnceUnlessCancelled(t *testing.T) {
	// Rounding down to a tick is RussellLuo's; it is what the figure of early
	// records is about.
	mostEarly := map[string]time.Duration{AfterFunc: 0, RussellLuo: 2 * time.Millisecond}
	for _, kind := range Kinds() {
		if !kind.ByItself {
			continue
		}
		t.Run(kind.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fired := fireAll(t, kind)
				slices.SortFunc(fired, func(a, b firing) int { return a.payload - b.payload })
				for k, f := range fired {
					if f.payload != 2*k {
						t.Fatalf("firing %d is of record %d, want each even one once", k, f.payload)
					}
					if f.lateness < -mostEarly[kind.Name] {
						t.Errorf("record %d fired %s early", f.payload, -f.lateness)
					}
				}
				if len(fired) != testRecords/2 {
					t.Errorf("%d fired, want %d", len(fired), testRecords/2)
				}
			})
		})
	}
}

// fireAll parks records, cancels the odd ones, and returns what fired. It runs
// in a bubble, whose clock goes on when all of it sleep.
func fireAll(t *testing.T, kind Kind) []firing {
	r := kind.New(0, 0).(RealClock)
	defer r.Stop()
	random := rand.New(rand.NewPCG(3, 3))
	out := make(chan firing, testRecords)
	for i := range testRecords {
		delay := 20*time.Millisecond + time.Duration(random.Int64N(int64(10*time.Second)))
		deadline := time.Now().Add(delay)
		cancel := r.After(delay, func() { out <- firing{i, time.Since(deadline)} })
		if i%2 == 1 && !cancel() {
			t.Errorf("record %d was not cancelled", i)
		}
	}
	time.Sleep(11 * time.Second)
	synctest.Wait()
	var fired []firing
	for range len(out) {
		fired = append(fired, <-out)
	}
	return fired
}
