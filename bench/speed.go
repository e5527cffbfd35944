package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"layover/bench/report"
	"layover/bench/speed"
)

// speedOptions are the flags of -part speed.
type speedOptions struct {
	speed.Options
	brokers  string
	format   string
	profiles string // the directory that profiles are written to, or empty
	json     string // the file that figures are written to, or empty
}

// speedFlags are the flags that only -part speed looks at.
func speedFlags(flags *flag.FlagSet) *speedOptions {
	o := new(speedOptions)
	flags.StringVar(&o.brokers, "brokers", "", "of -part speed: a `list` of host:port with commas; without it a Kafka in a container")
	flags.StringVar(&o.json, "json", "", "of -part speed: write the figures to this `file`, as JSON")
	flags.StringVar(&o.profiles, "profiles", "", "of -part speed: a `directory` for a CPU profile of each Layover that is started")
	p := &o.Product
	flags.StringVar(&p.Ingress, "ingress", "", "of -part speed: the `topic` that a scheduler reads which runs already, and is measured instead of a Layover")
	flags.StringVar(&p.Name, "product", "", "with -ingress: the scheduler's `name`")
	flags.StringVar(&p.Target, "target", "", "with -ingress: the `topic` that it writes all records to; it must have message.timestamp.type=LogAppendTime")
	flags.StringVar(&p.TargetHeader, "target-header", "", "with -ingress and without -target: the `header` that names the topic; x-deliver-to without it")
	flags.StringVar(&p.DelayHeader, "delay-header", "", "with -ingress: the `header` that says when; x-delay without it")
	flags.StringVar(&o.format, "delay-format", "", fmt.Sprintf("with -ingress: how it says so, one `of` %q; the first without it", speed.Formats()))
	return o
}

// filled is how much is measured, or says what does not go together. One run is enough for a quick look.
func (o *speedOptions) filled(quick, runsSet bool, runs int) (*speedOptions, error) {
	o.Product.Format = speed.Format(o.format)
	p, err := o.Product.Filled()
	if err != nil {
		return nil, err
	}
	if o.json != "" {
		if _, err := os.Stat(filepath.Dir(o.json)); err != nil {
			return nil, fmt.Errorf("-json: %w", err)
		}
	}
	if o.profiles != "" {
		if err := os.MkdirAll(o.profiles, 0o755); err != nil {
			return nil, fmt.Errorf("-profiles: %w", err)
		}
	}
	o.Options = speed.Full()
	if quick {
		o.Options = speed.Quick()
	}
	o.Profiles = o.profiles
	if runsSet || !quick {
		o.Runs = runs
	}
	o.Product = p
	if o.brokers != "" {
		o.Brokers = strings.Split(o.brokers, ",")
	}
	if p.Ingress != "" && len(o.Brokers) == 0 {
		return nil, errors.New("-ingress without -brokers: a scheduler that runs already has a broker")
	}
	return o, nil
}

func isSet(flags *flag.FlagSet, name string) (set bool) {
	flags.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return set
}

// has says whether a table has a title that begins so.
func (o *speedOptions) has(table string) bool {
	return slices.ContainsFunc(o.Titles(), func(title string) bool { return strings.HasPrefix(title, table) })
}

// measure measures what is wanted. What fails is named in failed.
func (o *speedOptions) measure(ctx context.Context, about, table string, progress io.Writer) (text string, plots []report.Plot, failed []string) {
	o.Log = progress
	found, err := speed.Measure(ctx, o.Options, func(title string) bool { return strings.HasPrefix(title, table) })
	if err != nil {
		return "", nil, []string{err.Error()}
	}
	for _, t := range found.Tables {
		if t.Err != nil {
			failed = append(failed, fmt.Sprintf("%s: %v", t.Title, t.Err))
			continue
		}
		text += report.Lines(t.Title, lines(t.Rows))
	}
	if o.json != "" {
		if err := found.WriteJSON(o.json, about); err != nil {
			failed = append(failed, err.Error())
		}
	}
	return text, found.Plots(), failed
}
