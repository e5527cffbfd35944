package speed

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"layover/bench/process"
)

// kind is what a way is.
type kind int

const (
	product kind = iota // the scheduler
	plain               // the same, that adds no headers
	stamped             // the loop that adds the headers of a Layover
	bare                // the loop that adds none
	eager               // the same, and it does not wait for others
	timer               // the bare produce
	reading             // the same, beside as many records that are written to be read, and read
)

// way is one of those that are measured in turn.
type way struct {
	name     string
	kind     kind
	settings []string // of a Layover, beside those of each
}

// ways are the named kinds, without a Layover that adds no headers where the product is another one.
func (o *Options) ways(kinds ...kind) (all []way) {
	names := map[kind]string{
		product: o.Product.Name, plain: o.Product.Name + ", no added headers", stamped: "loop, the same headers",
		bare: "bare loop", eager: "bare loop, no linger", timer: "bare produce", reading: "bare produce, as much read beside it",
	}
	for _, k := range kinds {
		if k != plain || !o.Product.runs() {
			all = append(all, way{name: names[k], kind: k})
		}
	}
	return all
}

// start starts what reads the ingress topic, in a process of its own; nil is a scheduler that runs already.
func (s *scene) start(ctx context.Context, w way) (*process.Child, error) {
	if w.kind == product && s.Product.runs() {
		return nil, nil
	}
	if w.kind == product || w.kind == plain {
		return s.startLayover(ctx, w)
	}
	p := s.product
	o := loopOrder{Brokers: s.broker.Addrs, Group: s.name, From: s.ingress, To: s.target, Linger: 10 * time.Millisecond, Chooses: p.TargetHeader,
		Strip: []string{p.DelayHeader, p.TargetHeader}}
	switch w.kind {
	case stamped:
		o.Stamp, o.Delay = true, p.DelayHeader
	case eager:
		o.Linger = 0
	}
	return s.child(ctx, loopChild, o)
}

// startLayover starts a Layover with the settings that a user would begin with.
func (s *scene) startLayover(ctx context.Context, w way) (*process.Child, error) {
	if err := s.make(ctx, s.dead(), 1, "CreateTime"); err != nil {
		return nil, err
	}
	settings := []string{
		"KAFKA_BROKERS=" + strings.Join(s.broker.Addrs, ","), "LAYOVER_INGRESS_TOPICS=" + s.ingress, "LAYOVER_EGRESS_TOPIC=" + s.target,
		"LAYOVER_TARGETS_ALLOWED=" + s.other, "LAYOVER_DLQ_TOPIC=" + s.dead(), "LAYOVER_GROUP_ID=" + s.name,
		"LAYOVER_HTTP_ADDR=127.0.0.1:0", "LAYOVER_LOG_LEVEL=warn",
	}
	if w.kind == plain {
		settings = append(settings, "LAYOVER_ADDED_HEADERS=none")
	}
	c, err := process.Start(ctx, process.Daemon, s.Log, append(settings, w.settings...))
	if err != nil {
		return nil, err
	}
	return c, greeted(c)
}

// profile lets a Layover begin to say where its CPU goes, if that is wanted.
func (s *scene) profile(c *process.Child, w way, label string) error {
	if s.Profiles == "" || c == nil || w.kind != product && w.kind != plain {
		return nil
	}
	if w.kind == plain {
		label += "-plain"
	}
	_, err := c.Ask(process.OrderCPU + filepath.Join(s.Profiles, fmt.Sprintf("%s-run-%d.pprof", label, s.run+1)))
	return err
}

// end ends a process, with its profile if there is one; nil is none.
func end(c *process.Child) error {
	if c == nil {
		return nil
	}
	_, err := c.Ask(process.OrderCPUStop)
	return errors.Join(err, c.End())
}

// kill ends what an error has left.
func kill(c *process.Child) {
	if c != nil {
		c.Kill()
	}
}

// warm sends records through that are due at once, one for each partition, so that all that happens
// once has happened.
func (s *scene) warm(ctx context.Context, snd *sender, partitions int) error {
	for range partitions {
		snd.send(time.Now(), s.target, true)
	}
	if err := snd.flush(ctx); err != nil {
		return err
	}
	if err := s.until(ctx, s.target, partitions); err != nil {
		return fmt.Errorf("nothing comes through: %w", err)
	}
	return nil
}
