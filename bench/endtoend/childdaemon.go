package endtoend

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

// The orders that the daemon's process takes, a line each. Each is answered by a
// line with a reading that is taken behind it.
const (
	orderRead    = "read"
	orderCollect = "collect"
	orderHeap    = "heap "    // and a file name: writes what lives
	orderCPU     = "cpu "     // and a file name: begins to watch where CPU goes
	orderCPUStop = "cpu-stop" // ends that
)

// greeting is the first line of the daemon's process.
type greeting struct {
	HTTP string // address of /status
}

// answer is every further one.
type answer struct {
	reading
	Err string // "" where the order was carried out
}

// serveDaemon is what "layover run" does, with the environment as its settings,
// until in ends.
func serveDaemon(in io.Reader, out io.Writer) error {
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
		if encode.Encode(greeting{<-serving}) == nil {
			takeOrders(in, encode)
		}
	}()
	return d.Run(ctx)
}

// takeOrders answers orders until there are no more.
func takeOrders(in io.Reader, out *json.Encoder) {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		a := answer{}
		err := carryOut(lines.Text())
		if err == nil {
			a.reading, err = read()
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
	case order == orderRead:
		return nil
	case order == orderCollect:
		collect()
		return nil
	case order == orderCPUStop:
		pprof.StopCPUProfile()
		return nil
	case strings.HasPrefix(order, orderHeap):
		f, err := os.Create(strings.TrimPrefix(order, orderHeap))
		if err != nil {
			return err
		}
		defer f.Close()
		return pprof.WriteHeapProfile(f)
	case strings.HasPrefix(order, orderCPU):
		f, err := os.Create(strings.TrimPrefix(order, orderCPU))
		if err != nil {
			return err
		}
		return pprof.StartCPUProfile(f) // the file is complete after cpu-stop, and open until the process ends
	}
	return fmt.Errorf("order %q: unknown", order)
}
