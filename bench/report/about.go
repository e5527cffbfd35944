package report

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"layover/bench/cputime"
	"layover/bench/measure"
)

// About is what has to stand beside a figure.
type About struct {
	Command     string
	Go          string
	Procs       int
	CPU         string
	RussellLuo  string
	Date        string
	Environment []string // settings of the Go runtime that are not the defaults
}

// Collect finds out.
func Collect(command string) About {
	a := About{
		Command:    command,
		Go:         fmt.Sprintf("%s %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH),
		Procs:      runtime.GOMAXPROCS(0),
		CPU:        cpuModel(),
		RussellLuo: "version unknown",
		Date:       time.Now().UTC().Format(time.DateOnly),
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "github.com/RussellLuo/timingwheel" {
				a.RussellLuo = m.Version
			}
		}
	}
	for _, name := range []string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG"} {
		if value := os.Getenv(name); value != "" {
			a.Environment = append(a.Environment, name+"="+value)
		}
	}
	return a
}

// cpuModel is what Linux calls the processor.
func cpuModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		if strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// Line is what stands beside figures that have nothing to do with other structures.
func (a About) Line() string {
	return a.line("") + a.settings()
}

func (a About) line(more string) string {
	return fmt.Sprintf("`%s`, %s: %s, GOMAXPROCS %d, %s%s.\n", a.Command, a.Date, a.Go, a.Procs, a.CPU, more)
}

func (a About) settings() string {
	if len(a.Environment) == 0 {
		return ""
	}
	return fmt.Sprintf("Settings of the Go runtime: %s.\n", strings.Join(a.Environment, " "))
}

func (a About) text() string {
	var b strings.Builder
	b.WriteString(a.line("; github.com/RussellLuo/timingwheel "+a.RussellLuo) + a.settings())
	b.WriteString("Structures take turns, each measurement in a process of its own; figures are medians of the runs.")
	if !cputime.Known {
		b.WriteString(" This system gives no CPU time: all figures are wall time.")
	}
	b.WriteString("\n")
	for _, note := range measure.Notes() {
		b.WriteString("\n- " + note)
	}
	b.WriteString("\n")
	return b.String()
}
