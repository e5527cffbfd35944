package journal

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"layover/cli/process"
	"layover/config"
	"layover/offsets"
)

// place is what the verb skip is told: the offset at which a partition stopped.
type place struct {
	offsets.TopicPartition
	offset int64
}

func (p place) String() string { return fmt.Sprintf("%s/%d@%d", p.Topic, p.Partition, p.offset) }

// skipping is one call of the verb skip. One goroutine has it.
type skipping struct {
	command
	place
	drop bool // without a dead letter
	json bool
}

// Skip is the verb skip: it leaves out the batch, or the record, at which a partition
// stopped.
func Skip(ctx context.Context, p process.Process) int {
	s := &skipping{}
	err := s.parse(&p)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return p.Help(skipHelp)
	case err != nil:
		return p.FailUsage(err)
	}
	cfg, warnings, err := config.Load(p.Environ)
	for _, warning := range warnings {
		fmt.Fprintln(p.Stderr, "warning:", warning)
	}
	if err != nil {
		fmt.Fprintln(p.Stderr, err)
		return process.ExitUsage
	}
	if !slices.Contains(cfg.IngressTopics, s.Topic) {
		return p.FailUsage(fmt.Errorf("%s: not an ingress topic; LAYOVER_INGRESS_TOPICS has %s", s.place, strings.Join(cfg.IngressTopics, ", ")))
	}
	b, err := connect(cfg.Brokers)
	if err != nil {
		return p.Fail(err)
	}
	defer b.close()
	s.process, s.cfg, s.brokers, s.out = p, cfg, b, bufio.NewWriter(p.Stdout)
	if err := s.run(ctx); err != nil {
		s.fail(err)
	}
	if err := s.out.Flush(); err != nil {
		return p.Fail(fmt.Errorf("stdout: %w", err))
	}
	return s.code
}

// newSkipFlags returns the flags of the verb, which go into s, and the files of settings
// into p.
func newSkipFlags(p *process.Process, s *skipping) (*flag.FlagSet, *process.Output) {
	flags := process.NewFlags("skip")
	flags.BoolVar(&s.execute, "execute", false, "do what it else only says")
	flags.BoolVar(&s.drop, "drop", false, "write no dead letter")
	p.AddEnvFile(flags)
	return flags, process.AddOutput(flags)
}

// SkipFlags returns the flags of the verb skip, for those who list them.
func SkipFlags() *flag.FlagSet {
	flags, _ := newSkipFlags(new(process.Process), new(skipping))
	return flags
}

// parse reads the command line, and the files that it names. An error is the user's,
// flag.ErrHelp included.
func (s *skipping) parse(p *process.Process) error {
	flags, output := newSkipFlags(p, s)
	operands, err := process.ParseFlags(flags, p.Args)
	switch {
	case err != nil:
		return err
	case len(operands) == 0:
		return errors.New("TOPIC/PARTITION@OFFSET is missing: /status and the log say where a partition stopped")
	case len(operands) > 1:
		return fmt.Errorf("unexpected argument %q", operands[1])
	}
	s.json = output.JSON()
	if s.place, err = parsePlace(operands[0]); err != nil {
		return err
	}
	return p.ReadEnvFiles()
}

// parsePlace reads TOPIC/PARTITION@OFFSET. No topic has a slash or an at sign in its name.
func parsePlace(text string) (p place, err error) {
	topic, rest, ok := strings.Cut(text, "/")
	number, offset, ok2 := strings.Cut(rest, "@")
	n, err := strconv.ParseInt(number, 10, 32)
	at, err2 := strconv.ParseInt(offset, 10, 64)
	if !ok || !ok2 || topic == "" || err != nil || err2 != nil || n < 0 || at < 0 {
		return p, fmt.Errorf("%q: want TOPIC/PARTITION@OFFSET, such as delayed/0@1041", text)
	}
	return place{offsets.TopicPartition{Topic: topic, Partition: int32(n)}, at}, nil
}

// run says what is skipped, and skips it where it is told to.
func (s *skipping) run(ctx context.Context) error {
	p, err := s.know(ctx)
	if err != nil {
		return err
	}
	left, err := s.find(ctx, p)
	if err != nil {
		return err
	}
	if err := s.open(ctx, p, left); err != nil {
		return err
	}
	lettered := !s.drop && s.cfg.OnInvalid != config.OnInvalidDrop && !left.aborted
	if lettered && s.cfg.DLQTopic == "" {
		return fmt.Errorf("%s: there is no dead-letter topic for it: set LAYOVER_DLQ_TOPIC, or choose --drop", s.place)
	}
	s.sayPlan(p, left, lettered)
	if err := s.alone(ctx); err != nil || !s.execute {
		return s.conclude(left, lettered, err)
	}
	if lettered {
		if err := s.letter(ctx, left); err != nil {
			return err
		}
	}
	if err := s.commit(ctx, p, left); err != nil {
		return err
	}
	return s.conclude(left, lettered, nil)
}

// know asks for what brokers have of the partition. The journal's bounds are asked for
// where the commit names one.
func (s *skipping) know(ctx context.Context) (*partition, error) {
	journal := s.cfg.JournalName(s.Topic)
	cluster, topics, err := s.brokers.topics(ctx, []string{s.Topic, journal})
	if err != nil {
		return nil, err
	}
	t := topics[s.Topic]
	if err := s.present(s.Topic, "ingress topic", "create it, or check LAYOVER_INGRESS_TOPICS", t.err); err != nil {
		return nil, err
	}
	if s.Partition >= t.partitions {
		return nil, fmt.Errorf("%s: ingress topic %q has the partitions 0 to %d", s.place, s.Topic, t.partitions-1)
	}
	committed, err := s.brokers.committed(ctx, s.cfg.GroupID)
	if err != nil {
		return nil, err
	}
	logs, err := s.brokers.bounds(ctx, s.Topic)
	if err != nil {
		return nil, err
	}
	p := &partition{TopicPartition: s.TopicPartition, journal: offsets.TopicPartition{Topic: journal, Partition: s.Partition}, journalID: topics[journal].id}
	p.id.ClusterID, p.id.TopicID, p.id.Partition, p.id.Group = cluster, t.id, s.Partition, s.cfg.GroupID
	log, known := logs[s.Partition]
	if !known || log.err != nil {
		return nil, fmt.Errorf("%s: log bounds: %w", p, errors.Join(log.err, errNoAnswerIf(!known)))
	}
	p.log = offsets.Bounds{Start: log.start, End: log.end}
	was, ok := committed[s.TopicPartition]
	if !ok {
		return nil, fmt.Errorf("%s: group %s has no offset of it, so that nothing says what is finished: see 'layover help journal'", p, s.cfg.GroupID)
	}
	p.committed = &was
	if topics[journal].err == nil {
		records, err := s.brokers.bounds(ctx, journal)
		if err != nil {
			return nil, err
		}
		p.records = records[s.Partition]
	}
	return p, nil
}

func errNoAnswerIf(missing bool) error {
	if missing {
		return errNoAnswer
	}
	return nil
}
