package send

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"layover/cli/process"
	"layover/config"
)

// address is where records are written to.
type address struct {
	kafka config.Kafka
	topic string
}

// addressFlags are the flags for it, as they were given.
type addressFlags struct{ brokers, topic string }

func addAddress(cmd *cobra.Command, p *process.Process) *addressFlags {
	f := new(addressFlags)
	cmd.Flags().StringVar(&f.brokers, "brokers", "", "connect to a `LIST` of host:port instead of\nKAFKA_BROKERS")
	cmd.Flags().StringVar(&f.topic, "topic", "", "write to `TOPIC` instead of the first of\nLAYOVER_INGRESS_TOPICS")
	p.AddEnvFile(cmd)
	return f
}

// read returns the address. A flag takes the place of its variable before the
// variable is checked. A mistake in the variable does not matter then, and
// the check is the same.
func (f *addressFlags) read(p *process.Process) (address, error) {
	if err := p.ReadEnvFiles(); err != nil {
		return address{}, err
	}
	environ := p.Environ
	flagOf := make(map[string]string)
	set := func(flag, variable, value string) {
		if value != "" {
			environ = append(environ[:len(environ):len(environ)], variable+"="+value, variable+"_FILE=")
			flagOf[variable] = flag
		}
	}
	set("--brokers", "KAFKA_BROKERS", f.brokers)
	set("--topic", "LAYOVER_INGRESS_TOPICS", f.topic)
	if strings.Contains(f.topic, ",") {
		return address{}, fmt.Errorf("--topic %q: want one topic", f.topic)
	}
	// The address of the server is none of these verbs' settings.
	c, warnings, err := config.LoadClient(append(environ[:len(environ):len(environ)], "LAYOVER_HTTP_ADDR=", "LAYOVER_HTTP_ADDR_FILE="))
	p.Judge(warnings, nil)
	if problems, ok := errors.AsType[*config.Errors](err); ok {
		for _, p := range problems.Problems {
			if flag := flagOf[p.Variable]; flag != "" {
				_, value, _ := strings.Cut(p.Example, "=")
				return address{}, fmt.Errorf("%s: %s; example: %s %s", flag, p.Reason, flag, value)
			}
		}
	}
	switch {
	case err != nil:
		return address{}, err
	case len(c.Kafka.Brokers) == 0:
		return address{}, errors.New("no brokers: set KAFKA_BROKERS or use --brokers; example: --brokers kafka:9092")
	case c.Topic == "":
		return address{}, errors.New("no topic: set LAYOVER_INGRESS_TOPICS or use --topic; example: --topic delayed")
	}
	return address{c.Kafka, c.Topic}, nil
}
