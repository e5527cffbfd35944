package daemon

import (
	"time"

	"layover/admin"
	"layover/config"
	"layover/journal"
	"layover/producer"
	"layover/purgatory"

	"github.com/twmb/franz-go/pkg/kgo"
)

// makeJournal makes what keeps, writes and reads the journals. One producer writes for
// all lanes.
func (d *Daemon) makeJournal(kafka func(string, ...kgo.Opt) []kgo.Opt) error {
	p, err := producer.New(producer.Config{
		MaxBatchBytes: func(topic string) int32 {
			if topic == "" {
				return 1 << 20 // asked for once, to check the configuration
			}
			return d.journal.MaxBatch(topic)
		},
		MaxBuffered: 1 << 16, Packer: d.packer,
		Options: func(suffix string) []kgo.Opt { return kafka("journal" + suffix) },
	})
	if err != nil {
		return err
	}
	d.producers = append(d.producers, p)
	d.journal = journal.New(journal.Config{
		Group: d.cfg.GroupID, Ingress: d.cfg.IngressTopics, Name: namesOf(d.cfg.IngressTopics, d.cfg.JournalName), Auto: d.cfg.Journal == config.JournalAuto, Shared: d.cfg.JournalShared(),
		Client: d.asking, Options: d.clientOptions,
		Produce: func(r *kgo.Record, done func(*kgo.Record, error)) { p.Deliver(r, false, done) },
		Changed: d.journalChanged, Runs: &journal.RunsConfig{Name: d.cfg.RunsName, Keep: d.cfg.HasRuns, Changed: d.runsChanged},
		Log: d.log,
	})
	return nil
}

// journalChanged passes on what is known about the journal of an ingress topic.
func (d *Daemon) journalChanged(ingress string, s journal.State) {
	for _, l := range d.lanes {
		l.Journalled(ingress, purgatory.JournalState{Usable: s.Usable, TopicID: s.TopicID, MaxBytes: s.MaxBytes})
	}
}

// journalSample is the part of a sample that journals and runs topics have.
func (d *Daemon) journalSample() (admin.Journal, admin.Runs) {
	v := d.journal.View()
	j := admin.Journal{
		Restores: v.Restores, Records: v.RestoredRecords, Bytes: v.RestoredBytes,
		Took: time.Duration(v.RestoreSeconds * float64(time.Second)), Last: v.LastRestore,
	}
	for _, ingress := range d.cfg.IngressTopics {
		t := v.Topics[ingress]
		j.Topics = append(j.Topics, admin.JournalTopic{Ingress: ingress, Name: t.Name, State: t.State, Warning: t.Warning, Err: t.Error})
	}
	return j, d.runsSample(v.Runs)
}
