package process

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/pprof"
	"strings"

	"layover/config"
	"layover/daemon"
)

// The orders that a process takes, a line each. Each is answered by a
// line with a reading that is taken behind it.
const (
	OrderRead    = "read"
	OrderCollect = "collect"
	OrderHeap    = "heap "    // and a file name: writes what lives
	OrderCPU     = "cpu "     // and a file name: begins to watch where CPU goes
	OrderCPUStop = "cpu-stop" // ends that
)

// Greeting is the first line of a process.
type Greeting struct {
	HTTP string // address of /status, "" where there is none
}

// answer is every further one.
type answer struct {
	Reading
	Err string // "" where the order was carried out
}

// serveDaemon is what "layover run" does, with the environment as its settings,
// until in ends.
func serveDaemon(in, out *os.File) error {
	cfg, warnings, err := config.Load(os.Environ())
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: cfg.LogLevel}))
	for _, warning := range warnings {
		log.Warn("configuration", "warning", warning)
	}
	daemon.TuneRuntime(cfg)
	serving := make(chan string, 1)
	d, err := daemon.New(cfg, daemon.Options{Log: log, Version: "benchmark", Ready: func(addr string) { serving <- addr }})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() { // ended by the end of in, or with the process
		defer stop()
		encode := json.NewEncoder(out)
		if encode.Encode(Greeting{<-serving}) == nil {
			TakeOrders(in, encode)
		}
	}()
	return d.Run(ctx)
}

// TakeOrders answers orders until there are no more.
func TakeOrders(in io.Reader, out *json.Encoder) {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		a := answer{}
		err := carryOut(lines.Text())
		if err == nil {
			a.Reading, err = read()
		}
		if err != nil {
			a.Err = err.Error()
		}
		if out.Encode(a) != nil {
			return
		}
	}
}

func carryOut(order string) error {
	switch {
	case order == OrderRead:
		return nil
	case order == OrderCollect:
		collect()
		return nil
	case order == OrderCPUStop:
		pprof.StopCPUProfile()
		return nil
	case strings.HasPrefix(order, OrderHeap):
		f, err := os.Create(strings.TrimPrefix(order, OrderHeap))
		if err != nil {
			return err
		}
		defer f.Close()
		return pprof.WriteHeapProfile(f)
	case strings.HasPrefix(order, OrderCPU):
		f, err := os.Create(strings.TrimPrefix(order, OrderCPU))
		if err != nil {
			return err
		}
		return pprof.StartCPUProfile(f) // the file is complete after cpu-stop, and open until the process ends
	}
	return fmt.Errorf("order %q: unknown", order)
}
