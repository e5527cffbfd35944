package process

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"layover/bench/cputime"
	"layover/bench/row"
)

// Reading is what a process knows of itself at one instant. Bytes are bytes and
// CPU is since the start of the process.
type Reading struct {
	At time.Time

	Heap      uint64 // in objects: live ones, and after a collection nothing else
	NextGC    uint64 // heap at which the next collection begins
	Allocated uint64 // ever
	Resident  uint64 // of the whole process
	Peak      uint64 // the most that was resident, 0 where the system does not say

	CPU         time.Duration // in steps of 10 ms where the system has no clock of it
	GCCPU       time.Duration // as of the end of the last collection; with what idle cores helped
	Collections uint32

	GOGC, GOMAXPROCS int // GOGC is -1 where it is off
	MemoryLimit      int64
}

// read takes a reading.
func read() (Reading, error) {
	cpu, resident, err := process()
	if err != nil {
		return Reading{}, err
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	samples := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/gc/gogc:percent"}}
	metrics.Read(samples)
	gogc := samples[1].Value.Uint64()
	r := Reading{
		At: time.Now(), Heap: m.HeapAlloc, NextGC: m.NextGC, Allocated: m.TotalAlloc, Resident: uint64(resident), Peak: peak(),
		CPU: cpu, GCCPU: seconds(samples[0].Value.Float64()), Collections: m.NumGC,
		GOGC: int(min(gogc, math.MaxInt32)), GOMAXPROCS: runtime.GOMAXPROCS(0), MemoryLimit: debug.SetMemoryLimit(-1),
	}
	if gogc == math.MaxUint64 {
		r.GOGC = -1
	}
	return r, nil
}

// collect leaves nothing but what is reachable. Pools let go of what they keep
// only at the second collection.
func collect() {
	runtime.GC()
	runtime.GC()
}

// Forced is how many collections collect makes.
const Forced = 2

// process returns CPU time, from the clock of it where there is one, and
// resident bytes. The rest is as the daemon's own /metrics has it.
func process() (cpu time.Duration, resident float64, err error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	families, err := registry.Gather()
	if err != nil {
		return 0, 0, fmt.Errorf("process metrics: %w", err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			switch f.GetName() {
			case "process_cpu_seconds_total":
				cpu = seconds(m.GetCounter().GetValue())
			case "process_resident_memory_bytes":
				resident = m.GetGauge().GetValue()
			}
		}
	}
	if resident == 0 { // a process that has just begun has used no tick of a clock yet
		return 0, 0, fmt.Errorf("process metrics: none on %s", runtime.GOOS)
	}
	if cputime.Known {
		cpu = cputime.Process()
	}
	return cpu, resident, nil
}

// peak returns the most memory that this process had.
func peak() uint64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if kib, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, _ := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(kib), "kB")), 10, 64)
			return n << 10
		}
	}
	return 0
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// InForce says under which settings of the runtime the reading was taken.
func (r Reading) InForce() string {
	gogc, limit := fmt.Sprint(r.GOGC), "none"
	if r.GOGC < 0 {
		gogc = "off"
	}
	if r.MemoryLimit != math.MaxInt64 {
		limit = row.MiB(float64(r.MemoryLimit))
	}
	return fmt.Sprintf("GOGC %s, GOMEMLIMIT %s, GOMAXPROCS %d", gogc, limit, r.GOMAXPROCS)
}

// Stretch is what happened from one reading to another.
type Stretch struct{ From, To Reading }

// Wall is how long it took.
func (s Stretch) Wall() time.Duration { return s.To.At.Sub(s.From.At) }

// CPU is what the process spent meanwhile.
func (s Stretch) CPU() time.Duration { return s.To.CPU - s.From.CPU }

// Cores is the CPU used, 1 being all of one core.
func (s Stretch) Cores() float64 { return s.CPU().Seconds() / s.Wall().Seconds() }
