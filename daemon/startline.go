package daemon

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"layover/config"
	"layover/delay"
)

// sayStart says once what was understood. A value is in the form of its setting. What
// stands in for another one is left out where nothing does.
func (d *Daemon) sayStart(s *servers) {
	c := d.cfg
	http, control := s.addresses()
	line := []any{"version", d.opts.Version, "mode", "at-least-once", "http", http}
	if control != "" {
		line = append(line, "admin", control)
	}
	line = append(line, "brokers", c.Kafka.Brokers, "tls", c.Kafka.TLSOn())
	if m := c.Kafka.SASL.Mechanism; m != "" {
		line = append(line, "mechanism", m)
	}
	line = append(line, "client_id", c.Kafka.ClientID, "group", c.GroupID, "ingress", c.IngressTopics, "targets", c.Allowed())
	if len(c.TopicTargets) > 0 {
		line = append(line, "topic_targets", joined(c.TopicTargets))
	}
	line = append(line, "dead_letter", c.DLQTopic, "on_invalid", c.OnInvalid, "on_expired", c.OnExpired)
	if c.EventsTopic != "" {
		line = append(line, "events", c.EventsTopic)
	}
	line = append(line, "partition", c.Partition,
		"timestamp", c.Timestamp, "added_headers", c.AddedHeaders.String(), "compression", c.Compression, "journal", c.Journal, "runs", c.Runs, "default_delay", config.FormatDuration(c.DefaultDelay))
	if len(c.TopicDelays) > 0 {
		line = append(line, "topic_delays", joined(c.TopicDelays))
	}
	if len(c.Headers) > 0 && !slices.Equal(c.Headers, []string{delay.NativePreset}) {
		line = append(line, "headers", strings.Join(c.Headers, ","))
	}
	if len(c.HeaderMap) > 0 {
		line = append(line, "header_map", joined(c.HeaderMap))
	}
	line = append(line, "max_delay", config.FormatDuration(c.MaxDelay), "backoff", c.Backoff.String(), "max_hops", c.MaxHops)
	if c.ExpireAfter > 0 {
		line = append(line, "expire_after", config.FormatDuration(c.ExpireAfter))
	}
	line = append(line, "target_patience", config.FormatDuration(c.TargetPatience), "catchup_rate", c.CatchupRate,
		"max_parked_bytes", c.MaxParkedBytes, "lanes", c.Lanes, "commit_interval", config.FormatDuration(c.CommitInterval),
		"gomaxprocs", runtime.GOMAXPROCS(0), "gomemlimit", memoryLimit())
	d.log.Info("layover starts", line...)
}

// joined returns a list as its setting has it.
func joined[T fmt.Stringer](all []T) string {
	parts := make([]string, len(all))
	for i, one := range all {
		parts[i] = one.String()
	}
	return strings.Join(parts, ",")
}
