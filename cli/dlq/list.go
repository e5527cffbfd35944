package dlq

import (
	"context"
	"time"

	"layover/cli/process"
	"layover/config"
)

// listFacts is the one object of list. The names are documented.
type listFacts struct {
	Total    int64         `json:"total"`
	ByTopic  counts        `json:"by_topic"`
	ByTarget counts        `json:"by_target"`
	ByReason counts        `json:"by_reason"`
	ByDay    counts        `json:"by_day"`
	Newest   []newestFacts `json:"newest"`
	Foreign  int64         `json:"foreign"`
}

// newestFacts is one of the newest letters: its place in the dead-letter topic, and what
// it says.
type newestFacts struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	Reason    string `json:"reason"`
	Message   string `json:"message"`
	At        string `json:"at"`
	ID        string `json:"id"` // of the record that it was
}

// list counts the letters, and prints the counts and the newest.
func (c *command) list(ctx context.Context) error {
	from, log, err := c.survey(ctx)
	if err != nil {
		return err
	}
	left := unknown(log)
	c.noteUnknown(log, left)
	if len(left) == len(log) {
		return leftOut(left)
	}
	c.noteHidden(hidden(log))
	f := listFacts{ByTopic: counts{}, ByTarget: counts{}, ByReason: counts{}, ByDay: counts{}, Newest: []newestFacts{}}
	var last newest
	var seen int64
	err = from.each(ctx, readable(log), func(got *chunk) error {
		if got.gone {
			c.noteGone(got.partition, got.stretch())
		}
		for _, r := range got.records {
			l, fault := read(r, c.names)
			switch {
			case fault != "":
				f.Foreign++
			case c.only.choose(&l):
				f.add(&l, c.cfg)
				last.add(l)
			}
		}
		seen += int64(len(got.records))
		c.meter.paint(time.Now(), func() string { return "read " + process.Count(seen, "record") })
		return nil
	})
	if err != nil {
		return err
	}
	for _, l := range last {
		f.Newest = append(f.Newest, newestFacts{l.Topic, l.Partition, l.Offset, string(l.reason), l.message, process.Clock(l.at), l.source()})
	}
	if c.json {
		process.WriteJSON(c.out, f) // an error comes again when it is flushed
	} else {
		c.sayList(&f, last)
	}
	return leftOut(left)
}

// add counts a letter.
func (f *listFacts) add(l *letter, cfg *config.Config) {
	f.Total++
	f.ByTopic.add(l.origin.Topic)
	f.ByTarget.add(targetOf(l, cfg))
	f.ByReason.add(string(l.reason))
	f.ByDay.add(l.at.UTC().Format(time.DateOnly))
}

// unnamed stands for the target of a record that names none, where settings do not say
// which one that is.
const unnamed = "(named by no header)"

// targetOf is where the record was to go, by its header or by the settings.
func targetOf(l *letter, cfg *config.Config) string {
	switch egress := cfg.EgressOf(l.origin.Topic); {
	case l.batch:
		return "(a batch)"
	case l.target != "":
		return l.target
	case egress != "":
		return egress
	}
	return unnamed
}

// sayList prints the counts for people.
func (c *command) sayList(f *listFacts, last newest) {
	what := " dead letters in "
	if f.Total == 1 {
		what = " dead letter in "
	}
	c.say("%s%s%s\n", process.Grouped(f.Total), what, c.cfg.DLQTopic)
	f.ByTopic.print(c.out, "by ingress topic", false)
	f.ByTarget.print(c.out, "by target", false)
	f.ByReason.print(c.out, "by reason", false)
	f.ByDay.print(c.out, "by day, UTC", true)
	if len(last) > 0 {
		c.say("\n  newest, for 'layover dlq show'\n")
	}
	for _, l := range last {
		c.say("    %d-%d  %s  %s  %s\n        %s\n", l.Partition, l.Offset, process.Clock(l.at), l.reason, l.source(), l.message)
	}
	switch {
	case f.Foreign == 1:
		c.say("\n1 record is no dead letter of Layover.\n")
	case f.Foreign > 1:
		c.say("\n%s records are no dead letters of Layover.\n", process.Grouped(f.Foreign))
	}
}
