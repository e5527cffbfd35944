package doctor

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/cluster/connect"
	"layover/config"
)

// Timeout is how long Run takes at most.
const Timeout = 30 * time.Second

// Config is what Run looks at. It changes none of it.
type Config struct {
	Settings *config.Config
	Warnings []string // of config.Load
	// Client asks the brokers, by Connection. It may be shared: nothing is consumed or
	// produced with it, and each broker gets a handful of requests.
	Client     *kgo.Client
	Connection *connect.Connection
	// Resolve looks a host up; nil: the system does.
	Resolve func(ctx context.Context, host string) ([]string, error)
	// Instance asks a running Layover; nil: none is asked. An error is that none answers.
	Instance func(ctx context.Context) (*Instance, error)
}

// Instance is what a running Layover says of itself: those members of /status that are
// judged, by the same names.
type Instance struct {
	Group struct {
		ID string `json:"id"`
	} `json:"group"`
	State     string `json:"state"`
	Degraded  bool   `json:"degraded"`
	ReadyText string `json:"ready_text"`
	Paused    *struct {
		Text   string `json:"text"`
		LateBy int64  `json:"late_by_at_least_seconds"`
	} `json:"paused"`
	Sick []struct {
		Kind string `json:"kind"`
		Name string `json:"name"`
		Text string `json:"text"`
	} `json:"sick"`
	Held []struct {
		Target  string `json:"target"`
		State   string `json:"state"`
		Detail  string `json:"detail"`
		Records int    `json:"records"`
	} `json:"held"`
	Assignments []struct {
		Topic     string `json:"topic"`
		Partition int32  `json:"partition"`
		Stopped   *struct {
			Offset int64  `json:"offset"`
			Text   string `json:"text"`
		} `json:"stopped"`
	} `json:"assignments"`
	Counters struct {
		DeadLettered int64 `json:"dead_lettered"`
	} `json:"counters"`
}

// Run makes all checks and returns a finding of each, always all of them and in the same
// order. It ends within Timeout, or soon after ctx; what was not asked by then is unknown.
// It may be called again, and by any goroutine.
func Run(ctx context.Context, c Config) []Finding {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	return judge(ask(ctx, c))
}
