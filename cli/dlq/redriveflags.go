package dlq

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"layover/delay"
)

// redriveOptions are the flags of redrive.
type redriveOptions struct {
	rewrite
	rate     int // records a second
	limit    int // letters to write; 0: all
	offsets  stretches
	anyGroup bool
	execute  bool
}

const (
	defaultRate = 1000
	maxRate     = 1_000_000
)

// add adds the flags to a command.
func (o *redriveOptions) add(cmd *cobra.Command) {
	o.rate = defaultRate
	cmd.Flags().Func("delay", "wait for `TIME` from now, instead of what the record\nasked for: 30s, 1h30m, 2d, PT5M, or a back-off", func(text string) error {
		if err := checkDelay(text); err != nil {
			return err
		}
		o.delay = text
		return nil
	})
	cmd.Flags().Func("rate", fmt.Sprintf("write `N` records a second (default %d)", defaultRate), number(&o.rate, maxRate))
	cmd.Flags().Func("limit", "stop after `N` letters", number(&o.limit, 0))
	cmd.Flags().Func("offsets", "only these `OFFSETS` of the dead-letter topic, such as\n0:12-90,1:7-40: what an earlier call has left", func(text string) (err error) {
		o.offsets, err = parseStretches(text)
		return err
	})
	cmd.Flags().BoolVar(&o.keepID, "keep-id", false, "keep x-delay-id: the record replaces the one of that\nid that waits, and is ended by its cancel")
	cmd.Flags().BoolVar(&o.anyGroup, "any-group", false, "take letters of any group, not of LAYOVER_GROUP_ID\nalone")
	cmd.Flags().BoolVar(&o.execute, "execute", false, "carry it out: without this it is only counted")
}

// checkDelay refuses what x-delay does not take. What auto is, Layover's settings say.
func checkDelay(text string) (err error) {
	switch {
	case text == delay.BackoffAuto:
	case delay.IsBackoff(text):
		_, err = delay.ParseBackoff(text)
	default:
		_, err = delay.ParseDelay(text)
	}
	return err
}

// number reads a number from 1 to most, or without a bound where that is 0.
func number(into *int, most int) func(string) error {
	return func(text string) error {
		n, err := strconv.Atoi(text)
		switch {
		case err != nil || n < 1:
			return errors.New("want a number from 1 on")
		case most > 0 && n > most:
			return fmt.Errorf("want at most %d", most)
		}
		*into = n
		return nil
	}
}
