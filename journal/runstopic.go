package journal

import "layover/offsets"

// RunsConfig has the parameters of runs topics. There is one beside each ingress topic, for
// copies of records that are due far off. It is kept as journals are, also without
// Config.Auto.
type RunsConfig struct {
	// Name returns the name of an ingress topic's runs topic. No two ingress topics have the
	// same one, and none has a journal's.
	Name func(ingress string) string
	// Keep says whether an ingress topic's runs topic is kept, and may be Usable. One that is not
	// is looked for, and what it holds can be read. Nil: all are kept.
	Keep func(ingress string) bool
	// Changed is called from Run's goroutine after a topic's state changed.
	Changed func(ingress string, s RunsTopic)
}

// RunsTopic is what is known about one ingress topic's runs topic.
type RunsTopic struct {
	// Known says that brokers have told whether it exists, or that no topic can have its name.
	Known bool
	// Usable says that it takes copies and keeps them. It may be written to and read, no
	// setting has a broker delete copies, and nobody else's are in it.
	Usable   bool
	TopicID  offsets.TopicID // zero: it does not exist
	MaxBytes int             // of one record as it is encoded: key, value, headers and lengths
	// Partitions is how many it has. It may have fewer than the ingress topic for a while,
	// or for ever, and the others have no place for copies.
	Partitions int32
}

// Runs returns what is known about an ingress topic's runs topic. Where there are none, it
// is all zero.
func (j *Journal) Runs(ingress string) RunsTopic {
	t, ok := j.keeper.of(j.runs, ingress)
	if !ok {
		return RunsTopic{}
	}
	return runsTopic(t.now())
}
