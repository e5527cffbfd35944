package dev

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"layover/cli/process"
)

const (
	defaultAddr = "127.0.0.1:9092"
	// defaultHTTPAddr is not the daemon's own :9846: nothing on a laptop has
	// to be open to the network it is in.
	defaultHTTPAddr = "127.0.0.1:9846"
)

// Command returns the verb dev.
func Command(p *process.Process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "try it out on an embedded broker, without Kafka",
		Long: `Starts an embedded Kafka-compatible broker with the topics delayed, ready and
dead-letters, runs Layover on them, sends five sample records, and prints the
records of ready and the dead letters until Ctrl-C. Records that were due while
dev was stopped are one line. The broker is for a laptop, not for production.

LAYOVER_* settings apply, but for the topics; settings that begin with KAFKA_
do not. LAYOVER_TOPIC_DELAYS and LAYOVER_TOPIC_TARGETS apply where they are
about delayed and the topics of --ingress alone. LAYOVER_HTTP_ADDR is
127.0.0.1:9846 by default and LAYOVER_LOG_LEVEL is warn.

Exit code: 0 when stopped, 1 if something went wrong, 2 if the command line or
a setting is wrong.`,
		Args: cobra.NoArgs,
	}
	f := addFlags(cmd)
	p.AddEnvFile(cmd)
	cmd.Run = p.Does("dev", func(ctx context.Context, _ []string) int {
		ctx, stop := process.UntilStopped(ctx)
		defer stop()
		return dev(ctx, p, f)
	})
	return cmd
}

func addFlags(cmd *cobra.Command) *devFlags {
	f := new(devFlags)
	cmd.Flags().StringVar(&f.addr, "addr", defaultAddr, "let the broker listen on `HOST:PORT`; port 0 is\nany free port")
	cmd.Flags().StringVar(&f.dataDir, "data-dir", "", "keep the broker's records in `DIR`, one process at\na time (default: layover/dev in the user's cache\nfolder)")
	cmd.Flags().BoolVar(&f.empty, "empty", false, "begin with empty topics and send no samples; the\nrecords are removed when dev ends")
	cmd.Flags().StringArrayVar(&f.ingress, "ingress", nil, "make one more ingress topic, `TOPIC`; repeatable")
	if err := cmd.MarkFlagDirname("data-dir"); err != nil {
		panic(err) // there is such a flag
	}
	return f
}

// devFlags is the command line.
type devFlags struct {
	addr    string   // host:port
	dataDir string   // empty: the default
	empty   bool     // no samples, and a folder that is removed at the end
	ingress []string // ingress topics beside delayed
}

// check returns the user's mistake.
func (f *devFlags) check() error {
	_, port, err := net.SplitHostPort(f.addr)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("--addr %q: want host:port, the port 0 to 65535; example: --addr %s", f.addr, defaultAddr)
	}
	if f.empty && f.dataDir != "" {
		return errors.New("--empty and --data-dir: want one of the two, as --empty removes the records")
	}
	return checkIngress(f.ingress)
}

// dir is the data directory. That of --empty is a new one, which [home.Close] removes.
func (f *devFlags) dir() (string, error) {
	if f.empty {
		dir, err := os.MkdirTemp("", "layover-dev-")
		if err != nil {
			return "", fmt.Errorf("no folder for the data: %w; choose one with --data-dir", err)
		}
		return dir, nil
	}
	if f.dataDir != "" {
		return f.dataDir, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache folder for the data: %w; choose a folder with --data-dir", err)
	}
	return filepath.Join(cache, "layover", "dev"), nil
}

// The topics, which the samples and the printed commands name.
const (
	ingressTopic = "delayed"
	egressTopic  = "ready"
	dlqTopic     = "dead-letters"
)

// compose returns the daemon's environment: the user's, but for the settings
// that dev decides itself. ignored are the names that were set and do not apply.
// Settings for single topics apply where all of these are dev's ingress topics.
// A user's own settings, which the shell may have exported, are about others.
func compose(environ []string, brokers string, ingress ...string) (composed, ignored []string) {
	topics := ingressTopics(ingress)
	own := []string{
		"KAFKA_BROKERS=" + brokers,
		"LAYOVER_INGRESS_TOPICS=" + strings.Join(topics, ","),
		"LAYOVER_EGRESS_TOPIC=" + egressTopic,
		"LAYOVER_DLQ_TOPIC=" + dlqTopic,
	}
	for _, name := range singleTopics {
		if !slices.ContainsFunc(environ, func(pair string) bool { return isAbout(pair, name, topics) }) {
			own = append(own, name+"=")
		}
	}
	defaults := []string{"LAYOVER_HTTP_ADDR=" + defaultHTTPAddr, "LAYOVER_LOG_LEVEL=warn", "LAYOVER_GROUP_ID=layover-" + ingressTopic}
	isOwn := func(name string) bool {
		return strings.HasPrefix(name, "KAFKA_") || name == "SERVICE_BINDING_ROOT" || slices.ContainsFunc(own, func(pair string) bool { return isOf(pair, name) })
	}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		upper := strings.ToUpper(name)
		switch {
		case strings.TrimSpace(value) == "":
		case isOwn(upper):
			ignored = append(ignored, name)
		case strings.HasPrefix(upper, "LAYOVER_"):
			composed = append(composed, pair)
			// A default beside the user's file would be two values for one setting.
			defaults = slices.DeleteFunc(defaults, func(pair string) bool { return isOf(pair, upper) })
		}
	}
	return slices.Concat(defaults, composed, own), ignored
}

// isOf reports whether a pair sets the variable name, or the one whose file name
// names.
func isOf(pair, name string) bool {
	return strings.HasPrefix(pair, strings.TrimSuffix(name, "_FILE")+"=")
}

// userError is a mistake on the command line or in the environment.
type userError struct{ error }

func (e userError) Unwrap() error { return e.error }

func isUserError(err error) bool {
	_, ok := errors.AsType[userError](err)
	return ok
}
