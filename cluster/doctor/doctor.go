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
	// produced with it. It has to allow no creation of topics, as is kgo's default.
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
	Sick []struct {
		Kind   string `json:"kind"`
		Detail string `json:"detail"`
	} `json:"sick"`
}

// Run makes all checks and returns a finding of each, always all of them and in the same
// order. It ends within Timeout, or soon after ctx; what was not asked by then is unknown.
func Run(ctx context.Context, c Config) []Finding {
	return nil
}
