package daemon

import (
	"layover/admin"
	"layover/cluster"
	"layover/config"
	"layover/delay"
	"layover/purgatory"

	"github.com/twmb/franz-go/pkg/kgo"
)

// rules returns the header rules of each ingress topic, for all lanes. Their memory of
// names has a share of the bound: it is never given back.
func (d *Daemon) rules() (func(ingress string) *delay.Rules, error) {
	all := make(map[string]*delay.Rules)
	share := d.cfg.MaxParkedBytes / 64 / int64(len(d.cfg.IngressTopics))
	for _, ingress := range d.cfg.IngressTopics {
		rules, err := d.cfg.Rules(ingress)
		if err != nil {
			return nil, err
		}
		rules.Targets.Remember(share)
		d.targets = append(d.targets, rules.Targets)
		all[ingress] = rules
	}
	return func(ingress string) *delay.Rules { return all[ingress] }, nil
}

// nameBytes is the memory of the names that headers chose.
func (d *Daemon) nameBytes() int64 {
	bytes := d.watcher.Bytes()
	for _, t := range d.targets {
		bytes += t.Bytes()
	}
	return bytes
}

// namedTargets are the topics that settings name and records, dead letters or events go to.
func (d *Daemon) namedTargets() (out []string) {
	for _, name := range append(d.cfg.Allowed(), d.cfg.DLQTopic, d.cfg.EventsTopic) {
		if name != "" && !config.IsGlob(name) {
			out = append(out, name)
		}
	}
	return out
}

// mismatches are the targets with fewer partitions than an ingress topic whose records
// go to them and keep the number of theirs. Such records are held, as are those that
// name another target for which it is the same.
func (d *Daemon) mismatches() (out []admin.TopicState) {
	if d.cfg.Partition != config.PartitionSame {
		return nil
	}
	for _, name := range d.cfg.IngressTopics {
		target := d.cfg.EgressOf(name)
		if target == "" {
			continue
		}
		ingress, t := d.watcher.Lookup(name), d.watcher.Lookup(target)
		if ingress.State == cluster.Usable && t.State == cluster.Usable && t.Partitions < ingress.Partitions {
			out = append(out, admin.TopicState{Name: target, State: purgatory.Mismatched.String(), Detail: tooFew(target, t.Partitions, name, ingress.Partitions)})
		}
	}
	return out
}

// compression is the codec that is asked for and, for brokers that do not know it,
// what all of them take.
func (d *Daemon) compression() []kgo.CompressionCodec {
	codec := map[config.Compression]kgo.CompressionCodec{
		config.CompressionSnappy: kgo.SnappyCompression(), config.CompressionLZ4: kgo.Lz4Compression(),
		config.CompressionZstd: kgo.ZstdCompression(), config.CompressionGzip: kgo.GzipCompression(),
		config.CompressionNone: kgo.NoCompression(),
	}
	return []kgo.CompressionCodec{codec[d.cfg.Compression], kgo.NoCompression()}
}
