package wheel

import (
	"math"
	"math/big"
	"slices"
)

// modelPass is what the pass of TakeFarthest that is going on has promised.
type modelPass struct {
	going   bool
	payload uint64   // the last one added before it began
	horizon *big.Int // the latest of its calls
	classes []uint64 // of its calls
}

// wanted is the predicate of a class: all but one of so many, or none.
func wanted(class uint64) func(payload uint64) bool {
	return func(payload uint64) bool { return class != 1 && (class == 0 || payload%class != 0) }
}

// takeFarthest calls TakeFarthest once. Every record that comes out is parked, beyond
// the horizon and wanted. At the end of a pass nothing that the pass owes is left.
func (m *model) takeFarthest(horizonMs int64, budget int, class uint64) (more bool) {
	m.t.Helper()
	p := &m.taking
	if !p.going {
		*p = modelPass{going: true, payload: m.payload, horizon: m.floor(math.MinInt64)}
	}
	horizon := m.floor(max(horizonMs, m.w.NowMs()))
	if horizon.Cmp(p.horizon) > 0 {
		p.horizon = horizon
	}
	if !slices.Contains(p.classes, class) {
		p.classes = append(p.classes, class)
	}
	stored := m.w.Len() + m.w.store.dead
	out, more := m.w.TakeFarthest(horizonMs, budget, wanted(class), []uint64{777})
	if out[0] != 777 {
		m.t.Fatal("TakeFarthest did not append")
	}
	out = out[1:]
	if len(out) > max(budget, 0) {
		m.t.Fatalf("TakeFarthest took %d records with a budget of %d", len(out), budget)
	}
	if budget <= 0 && m.w.Len()+m.w.store.dead < stored {
		m.t.Fatalf("TakeFarthest read records with a budget of %d", budget)
	}
	for _, payload := range out {
		i := slices.IndexFunc(m.parked, func(r modelRecord) bool { return r.payload == payload })
		if i < 0 {
			m.t.Fatalf("TakeFarthest took payload %d, which is not parked", payload)
		}
		r := m.parked[i]
		if r.tick.Cmp(horizon) <= 0 || !wanted(class)(payload) {
			m.t.Fatalf("TakeFarthest(%d) with the clock at %d took payload %d of tick %s, class %d", horizonMs, m.w.NowMs(), payload, r.tick, class)
		}
		m.parked = slices.Delete(m.parked, i, i+1)
		m.retire(r.handle)
		m.cancelGone(len(m.gone) - 1)
	}
	if !more {
		m.checkTaken()
		p.going = false
	}
	return more
}

// checkTaken checks that a pass which has ended left nothing that was wanted all the time
// and always beyond the horizon.
func (m *model) checkTaken() {
	m.t.Helper()
	p := &m.taking
	for _, r := range m.parked {
		owed := r.payload <= p.payload && r.tick.Cmp(p.horizon) > 0
		for _, class := range p.classes {
			owed = owed && wanted(class)(r.payload)
		}
		if owed {
			m.t.Fatalf("a pass up to tick %s left payload %d of tick %s", p.horizon, r.payload, r.tick)
		}
	}
}

func (m *model) rewindFarthest() {
	m.w.RewindFarthest()
	m.taking = modelPass{}
}
