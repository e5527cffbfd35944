package speed

import (
	"context"
	"fmt"

	"layover/bench/row"
)

// Table is a part that was measured.
type Table struct {
	Title string
	Rows  []row.Row
	Err   error // why there are no rows
}

// Found is all that was measured.
type Found struct {
	Tables []Table
	*figures
	options Options
	broker  string
}

// part is one of the measurements.
type part struct {
	title   string
	measure func(*site, context.Context) error // once
	rows    func(*site) []row.Row
}

// parts are all that the product can be measured for.
func (o *Options) parts() []part {
	all := []part{
		{"Already due: from the first to the last, by the broker's timestamps", (*site).alreadyDue, (*site).alreadyRows},
		{"CPU at low rates", (*site).lowRates, (*site).lowRows},
		{fmt.Sprintf("Burst: %d due at once", o.Burst), (*site).burst, (*site).burstRows},
		{"Lateness beside a bare produce", (*site).lateness, (*site).latenessRows},
	}
	if o.Product.Target == "" {
		all = append(all, part{fmt.Sprintf("Flood: %d already due go to another target", o.Flood), (*site).flood, (*site).floodRows})
	}
	if !o.Product.runs() {
		all = append(all, part{"Lanes and cores", (*site).lanesAndCores, (*site).laneRows}, part{"Parked: a record already due beside many that wait", (*site).besideParked, (*site).parkedRows})
	}
	return all
}

// Titles are those of all parts.
func (o *Options) Titles() (titles []string) {
	for _, p := range o.parts() {
		titles = append(titles, p.title)
	}
	return titles
}

// step is one of several that take turns.
type step struct {
	name string
	do   func(context.Context) error
}

// inTurn carries steps out. Each run begins with another of them, so that none is always the first.
func (s *site) inTurn(ctx context.Context, steps ...step) error {
	for i := range steps {
		next := steps[(i+s.run)%len(steps)]
		if err := next.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", next.name, err)
		}
	}
	return nil
}

// Measure measures the parts whose titles are wanted. A part in which a record is lost or early has an error
// and no rows.
func Measure(ctx context.Context, o Options, wanted func(title string) bool) (*Found, error) {
	s, err := open(ctx, o)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	found := &Found{figures: s.figures, options: s.Options, broker: s.broker.Name}
	for _, p := range s.parts() {
		if !wanted(p.title) {
			continue
		}
		t := Table{Title: p.title}
		for s.run = 0; s.run < s.Runs && t.Err == nil; s.run++ {
			fmt.Fprintf(s.Log, "%s: run %d of %d\n", p.title, s.run+1, s.Runs)
			t.Err = p.measure(s, ctx)
		}
		if t.Err == nil {
			t.Rows = append([]row.Row{row.Plain("broker", "%s", s.broker.Name)}, p.rows(s)...)
		}
		found.Tables = append(found.Tables, t)
	}
	return found, nil
}
