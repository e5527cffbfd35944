package cluster

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"layover/verify/long"
)

// model is the names as anybody would keep them: a table, looked through whole.
type model struct {
	limit int
	names map[string]*modelName
}

type modelName struct{ used, added, asked time.Time }

// use says whether a name is known from now on.
func (m *model) use(name string, now time.Time) bool {
	if m.names[name] == nil {
		if len(m.names) >= m.limit {
			return false
		}
		m.names[name] = &modelName{added: now}
	}
	m.names[name].used = now
	return true
}

// TestNamesAgainstATable looks up, asks and answers at random, and compares with a table
// of who is known. Each name is asked about within a bounded time, which a table need
// not know how.
func TestNamesAgainstATable(t *testing.T) {
	for seed := range uint64(long.Of(6, 2)) {
		dice := rand.New(rand.NewPCG(seed, 12))
		n, m := newNames(1+dice.IntN(1500)), &model{names: make(map[string]*modelName)}
		m.limit = n.limit
		pool := 1 + dice.IntN(2*n.limit)
		now := time.Unix(1_000_000, 0)
		for range 750 { // seconds
			for range dice.IntN(pool) / 20 {
				name := nameOf(dice.IntN(pool))
				got, _ := n.lookup(name, now)
				if want := m.use(name, now); (got != nil) != want {
					t.Fatalf("seed %d: %.12s known %v, want %v", seed, name, got != nil, want)
				}
			}
			n.plan(now)
			m.follow(t, n, now)
			for n.waiting() {
				now = now.Add(namesEvery)
				batch := n.next(now)
				m.asked(t, batch, now)
				answer(dice, n, batch)
			}
			now = now.Add(askEvery)
			m.patience(t, n, now)
		}
	}
}

// follow forgets what is to be forgotten, and checks what was.
func (m *model) follow(t *testing.T, n *names, now time.Time) {
	var bytes int64
	for _, known := range n.known {
		bytes += nameSize + int64(len(known.Name)) + 4*int64(len(known.Led))
	}
	if n.bytes != bytes || len(n.known) > n.limit {
		t.Fatalf("%d bytes counted, %d names take %d", n.bytes, len(n.known), bytes)
	}
	for name, at := range m.names {
		known := n.known[name]
		switch old := now.Sub(at.used) > forgetAfter; {
		case old && known != nil:
			t.Fatalf("%.12s is known, not used for %v", name, now.Sub(at.used))
		case known == nil && !old && (n.full.IsZero() || now.Sub(at.added) < leastStay):
			t.Fatalf("%.12s had to make room, added %v ago, names refused since %v", name, now.Sub(at.added), n.full)
		case known == nil:
			delete(m.names, name)
		}
	}
	if len(m.names) != len(n.known) {
		t.Fatalf("%d known, want %d", len(n.known), len(m.names))
	}
}

// asked checks one request.
func (m *model) asked(t *testing.T, batch []*Topic, now time.Time) {
	size, seen := 0, make(map[string]bool)
	for _, topic := range batch {
		size += len(topic.Name)
		if m.names[topic.Name] == nil || seen[topic.Name] {
			t.Fatalf("%.12s is asked about: known %v, twice %v", topic.Name, m.names[topic.Name] != nil, seen[topic.Name])
		}
		seen[topic.Name] = true
		m.names[topic.Name].asked = now
	}
	if len(batch) == 0 || len(batch) > requestNames || size > requestBytes {
		t.Fatalf("a request of %d names and %d bytes", len(batch), size)
	}
}

// patience checks that nobody waits for long.
func (m *model) patience(t *testing.T, n *names, now time.Time) {
	for name, at := range m.names {
		since := at.asked
		if since.IsZero() {
			since = at.added
		}
		most := 15 * time.Second
		if k := n.known[name]; k.State == Usable && now.Sub(at.used) < usedLately-10*time.Second {
			most = 5 * time.Second
		}
		if now.Sub(since) > most {
			t.Fatalf("%.12s was not asked about for %v (%v)", name, now.Sub(since), n.known[name].State)
		}
	}
}

// answer answers a request, or does not.
func answer(dice *rand.Rand, n *names, batch []*Topic) {
	if dice.IntN(100) == 0 {
		n.failed(batch)
		return
	}
	for _, t := range batch {
		n.bytes -= t.bytes()
		t.batchLimit = 0
		switch dice.IntN(4) {
		case 0:
			t.State, t.Led = Usable, make([]int32, dice.IntN(5))
		case 1:
			t.miss()
		case 2:
			t.State = Forbidden
		}
		n.bytes += t.bytes()
	}
}

// TestWhatExistsIsNeverForgottenForOthers: a name is forgotten for want of use, or to
// make room if it does not exist.
func TestWhatExistsIsNeverForgottenForOthers(t *testing.T) {
	n, now := newNames(100), time.Unix(1_000_000, 0)
	for i := range 100 {
		topic, _ := n.lookup(nameOf(i), now)
		if i < 40 {
			topic.State = Usable
		} else {
			topic.State = Missing
		}
	}
	for second := range 300 {
		now = now.Add(time.Second)
		for i := range 1000 {
			if topic, added := n.lookup(nameOf(i), now); topic == nil && i < 40 {
				t.Fatalf("second %d: %.12s exists and made room", second, nameOf(i))
			} else if added {
				topic.State = Missing
			}
		}
		n.plan(now)
	}
	if n.full.IsZero() || len(n.known) < 90 {
		t.Errorf("%d names are known, refused since %v", len(n.known), n.full)
	}
}

// TestNamesCostWhatIsCounted compares with the heap. It counts at least what names take,
// and not twice as much.
func TestNamesCostWhatIsCounted(t *testing.T) {
	for _, length := range []int{8, 60, 249} {
		t.Run(fmt.Sprint(length), func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			n, now := newNames(MaxNames), time.Now()
			for i := range MaxNames {
				topic, _ := n.lookup(nameOf(i)[4:][:length-4]+fmt.Sprintf("%04d", i), now)
				topic.Led = make([]int32, 6)
				n.bytes += 4 * 6
			}
			for range 3 {
				n.plan(now)
				for n.waiting() {
					n.next(now)
				}
				now = now.Add(time.Second)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			took := int64(after.HeapAlloc) - int64(before.HeapAlloc)
			if took > n.bytes || 2*took < n.bytes {
				t.Errorf("%d bytes a name counted, %d taken", n.bytes/MaxNames, took/MaxNames)
			}
			t.Logf("%d bytes a name counted, %d taken", n.bytes/MaxNames, took/MaxNames)
			runtime.KeepAlive(n)
		})
	}
}

// BenchmarkLookup asks what a record pays for a name that a header chose, with all
// places taken.
func BenchmarkLookup(b *testing.B) {
	w := New(Config{Ingress: []string{ingress}}, nil)
	names := make([]string, MaxNames+1)
	for i := range names {
		names[i] = nameOf(i)
		w.Lookup(names[i])
	}
	b.Run("known", func(b *testing.B) {
		for i := range b.N {
			w.Lookup(names[i%MaxNames])
		}
	})
	b.Run("one too many", func(b *testing.B) {
		for range b.N {
			w.Lookup(names[MaxNames])
		}
	})
}
