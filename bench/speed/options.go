package speed

import (
	"cmp"
	"fmt"
	"io"
	"time"
)

// Options says how much is measured.
type Options struct {
	Brokers []string // none: a broker of our own
	Product Product
	Runs    int // figures are medians of so many

	Due        map[int]int   // records that are already due, by the size of their value in bytes
	Partitions []int         // of the topics of those
	Rates      []int         // a second, at which CPU is measured
	Watch      time.Duration // how long each rate is looked at
	Burst      int           // records due at one instant, and within one second
	LateRates  []int         // a second, at which lateness is measured
	Flood      int           // records that are already due, beside others

	// Warm is how many records the product and a loop copy before anything is measured, and Warmups how often.
	// A broker's virtual machine compiles what is done often, which takes seconds of the processor, and each
	// way has it do something else. A product that came first, after a loop alone, found a broker that took two to
	// three times as much for a record.
	Warm, Warmups int

	Lanes  []int // numbers of lanes, the fewest first
	Cores  []int // numbers of cores that the product may use
	Parked []int // records that wait, the fewest first
	Beside int   // records already due beside these

	// Profiles is a directory for a CPU profile of each Layover that is started; "" is none. Taking them is
	// counted in what is measured.
	Profiles string

	Log io.Writer // takes progress and what processes log
}

// Full is the measurement that figures in a document come from: most of an hour.
func Full() Options {
	return Options{
		Runs: 3, Due: map[int]int{100: 1_000_000, 1024: 400_000}, Partitions: []int{4, 32},
		Rates: []int{10, 100, 1000}, Watch: 20 * time.Second, Burst: 200_000, LateRates: []int{1000, 20_000}, Flood: 1_000_000, Warm: 500_000, Warmups: 4,
		Lanes: []int{1, 2, 4}, Cores: []int{1, 2}, Parked: []int{10_000, 100_000, 1_000_000, 10_000_000}, Beside: 400_000,
	}
}

// Quick is for a look while working: two to three minutes.
func Quick() Options {
	return Options{
		Runs: 1, Due: map[int]int{100: 200_000}, Partitions: []int{4, 32},
		Rates: []int{1000}, Watch: 3 * time.Second, Burst: 50_000, LateRates: []int{1000}, Flood: 100_000, Warm: 100_000, Warmups: 1,
		Lanes: []int{1, 2}, Cores: []int{1, 2}, Parked: []int{10_000, 100_000}, Beside: 200_000,
	}
}

// own is the name of a Layover that is started here.
const own = "layover"

// Product is a scheduler that runs already, or with no Ingress the Layover that is started here.
type Product struct {
	Name    string
	Ingress string // topic that it reads
	Target  string // topic that it writes all records to, "" where TargetHeader chooses

	TargetHeader string // names the topic that a record is to go to
	DelayHeader  string
	Format       Format
}

// Format is how a delay header is written.
type Format string

// The formats.
const (
	Milliseconds Format = "milliseconds" // from now
	Seconds      Format = "seconds"      // from now
	EpochMs      Format = "epoch-ms"     // an instant, in Unix milliseconds
	Duration     Format = "duration"     // from now, as Go writes it
)

// Formats are all formats.
func Formats() []Format { return []Format{Milliseconds, Seconds, EpochMs, Duration} }

// Layover is the product that is started here.
func Layover() Product {
	return Product{Name: own, TargetHeader: "x-deliver-to", DelayHeader: "x-delay", Format: Milliseconds}
}

// Filled is p with the headers of a Layover where it names none, or says what is missing.
func (p Product) Filled() (Product, error) {
	l := Layover()
	if p.Ingress == "" {
		if p != (Product{}) {
			return p, fmt.Errorf("a name, a target, headers or a format without an ingress topic: they are of a scheduler that runs already")
		}
		return l, nil
	}
	p.Name = cmp.Or(p.Name, "the scheduler of "+p.Ingress)
	p.DelayHeader, p.Format = cmp.Or(p.DelayHeader, l.DelayHeader), cmp.Or(p.Format, l.Format)
	if p.Target == "" {
		p.TargetHeader = cmp.Or(p.TargetHeader, l.TargetHeader)
	}
	for _, f := range Formats() {
		if f == p.Format {
			return p, nil
		}
	}
	return p, fmt.Errorf("format %q: want one of %q", p.Format, Formats())
}

// runs says whether the product runs already.
func (p Product) runs() bool { return p.Ingress != "" }

// delay is the value of the header of a record that is written at now and due at due. It also says
// when the record is due by that, in Unix milliseconds. A part that the format cannot say is rounded
// up.
func (p Product) delay(now, due time.Time) (value string, dueMs int64) {
	nowMs, wait := now.UnixMilli(), max(due.UnixMilli()-now.UnixMilli(), 0)
	switch p.Format {
	case EpochMs:
		return fmt.Sprint(nowMs + wait), nowMs + wait
	case Seconds:
		s := (wait + 999) / 1000
		return fmt.Sprint(s), nowMs + s*1000
	case Duration:
		return (time.Duration(wait) * time.Millisecond).String(), nowMs + wait
	}
	return fmt.Sprint(wait), nowMs + wait
}
