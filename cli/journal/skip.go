package journal

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"layover/cli/process"
	"layover/cluster"
	"layover/config"
	"layover/offsets"
)

// place is the operand of the verb skip: the offset at which a partition stopped.
type place struct {
	offsets.TopicPartition
	offset int64
}

func (p place) String() string { return fmt.Sprintf("%s/%d@%d", p.Topic, p.Partition, p.offset) }

// skipping is one call of the verb skip. One goroutine has it.
type skipping struct {
	*command
	place
	drop bool // without a dead letter
}

// Skip returns the verb skip: it leaves out the batch, or the record, at which
// a partition stopped.
func Skip(p *process.Process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "skip TOPIC/PARTITION@OFFSET",
		Short: "leave out the batch or record at which a partition stopped",
		Long: `Leaves out the batch or record at which a partition stopped, so that Layover
goes on behind it. /status and the log say where that is.

  a batch that cannot be read, or takes too much decompressed: all of it, with
  one dead letter that stands for it and says where it is
  anything else: the record at that offset alone, which goes to the dead-letter
  topic with its key, value and headers, and the reason skipped

Finished offsets stay finished. It only prints its plan, unless there is
--execute. All Layover processes of the group have to be stopped for that.

Settings are the environment variables of run, and have to be the same: brokers,
ingress topics, group, LAYOVER_DLQ_TOPIC, LAYOVER_ON_INVALID,
LAYOVER_MAX_PARKED_BYTES.

It takes the ACLs Read and Describe on the ingress topic, Describe on the group;
where there is a journal Describe and Read on it; --execute also Read on the
group and Write on the dead-letter topic.

Exit code: 0 if it was skipped, or would be; 1 if it cannot be, or not while the
group has members; 2 if the command line or the environment is wrong.`,
		Example: `  $ layover skip delayed/0@1041
  $ layover skip delayed/0@1041 --execute`,
	}
	var o options
	addExecute(cmd, &o)
	drop := cmd.Flags().Bool("drop", false, "write no dead letter, as with LAYOVER_ON_INVALID=drop")
	p.AddEnvFile(cmd)
	output := process.AddOutput(cmd, "one object")
	cmd.Run = p.Does("skip", func(ctx context.Context, operands []string) int {
		at, err := parsePlaces(operands)
		if err != nil {
			return p.FailUsage(err)
		}
		o.topic, o.json = at.Topic, output.JSON()
		return call(ctx, p, &o, config.Load, at.String(), func(ctx context.Context, c *command) {
			s := &skipping{command: c, place: at, drop: *drop}
			if err := s.run(ctx); err != nil {
				s.fail(err)
			}
		})
	})
	return cmd
}

// parsePlaces reads the one operand.
func parsePlaces(operands []string) (place, error) {
	switch len(operands) {
	case 0:
		return place{}, errors.New("TOPIC/PARTITION@OFFSET is missing: /status and the log say where a partition stopped")
	case 1:
		return parsePlace(operands[0])
	}
	return place{}, fmt.Errorf("unexpected argument %q", operands[1])
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

// run prints the batch or record, and skips it with --execute.
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

// know asks the brokers about the partition. Where there is a journal topic, it asks for
// its bounds too.
func (s *skipping) know(ctx context.Context) (*partition, error) {
	journal := s.cfg.JournalName(s.Topic)
	clusterID, topics, err := s.brokers.Topics(ctx, []string{s.Topic, journal})
	if err != nil {
		return nil, err
	}
	t := topics[s.Topic]
	if err := s.present(s.Topic, "ingress topic", "create it, or check LAYOVER_INGRESS_TOPICS", t.Err); err != nil {
		return nil, err
	}
	if s.Partition >= t.Partitions {
		return nil, fmt.Errorf("%s: ingress topic %q has the partitions 0 to %d", s.place, s.Topic, t.Partitions-1)
	}
	committed, err := s.brokers.Committed(ctx, s.cfg.GroupID)
	if err != nil {
		return nil, err
	}
	j := topics[journal]
	if j.Err != nil && !cluster.IsMissing(j.Err) {
		return nil, s.brokers.Explain(j.Err, fmt.Sprintf("journal topic %q", journal), "Describe on topic "+journal)
	}
	p := s.partitionOf(clusterID, s.TopicPartition, topics)
	p.take(s.brokers.Bounds(ctx, s.Topic, t.Partitions), s.brokers.Bounds(ctx, journal, j.Partitions))
	if p.records.Err != nil {
		return nil, p.records.Err
	}
	was, ok := committed[s.TopicPartition]
	if !ok {
		return nil, fmt.Errorf("%s: group %s has no offset of it, so that its finished offsets are not known: see 'layover help journal'", p, s.cfg.GroupID)
	}
	p.committed = &was
	return p, nil
}
