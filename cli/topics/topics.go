// Package topics is the verb topics, which prints what makes topics and ACLs for the
// settings in force:
//
//	$ layover topics --principal User:layover
//	kafka-topics.sh --brokers kafka:9092 --create --if-not-exists --topic delayed ...
//	kafka-acls.sh --brokers kafka:9092 --add --allow-principal User:layover ...
//
// What is needed is cluster/needs' to say. The verb writes it in the words of Kafka's tools
// or of Strimzi, changes nothing and asks no broker.
package topics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"layover/cli/process"
	"layover/cluster/needs"
	"layover/config"
)

// The words of --format.
const (
	formatCommands = "commands"
	formatStrimzi  = "strimzi"
)

// Bounds of what Kafka takes for a topic.
const (
	maxPartitions = 100_000 // far more than a topic should have: a slip of the finger
	maxReplicas   = 32_767  // an int16 in Kafka's protocol
)

// Command returns the verb topics.
func Command(p *process.Process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "topics",
		Short: "print what makes the topics and ACLs",
		Long: `Prints commands of Kafka's tools, or resources of Strimzi, that make the topics
and ACLs for the settings in force. It changes nothing and asks no broker:

  layover topics --principal User:layover >topics.sh
  layover topics --format strimzi --cluster my-cluster | kubectl apply -f -

The principal is the brokers' name for Layover. Without one there are no ACLs:
a cluster that does not authorize needs none. A topic that is there stays as it
is with the commands; Strimzi changes its settings.

Exit code: 0 if all is printed, 1 if stdout cannot be written to, 2 if the
command line or a setting is wrong.`,
		Args: cobra.NoArgs,
	}
	o := newOptions(cmd)
	p.AddEnvFile(cmd)
	output := process.AddOutput(cmd, "one object, of all topics and ACLs; of Strimzi a\nlist of its resources")
	cmd.Run = p.Does("topics", func(context.Context, []string) int {
		if err := o.check(); err != nil {
			return p.FailUsage(err)
		}
		cfg, ok := p.LoadConfig(config.Load)
		if !ok {
			return process.ExitUsage
		}
		if err := o.derive(cfg); err != nil {
			return p.FailUsage(err)
		}
		if err := o.checkPrincipal(); err != nil {
			return p.FailUsage(err)
		}
		return p.FailStdout(o.print(p.Stdout, needs.Of(cfg), output.JSON()))
	})
	return cmd
}

// options are the flags, and what settings say in the place of those that are not given.
type options struct {
	format      *process.Choice
	principal   string // Type:name; "" where it is not known: no ACLs
	partitions  int32
	replicas    int32
	servers     string // of the commands
	adminConfig string // a file of client properties; "" for none
	cluster     string // of Strimzi
	version     *process.Choice
	mechanism   config.Mechanism
	given       func(flag string) bool
}

func newOptions(cmd *cobra.Command) *options {
	f := cmd.Flags()
	o := &options{given: f.Changed}
	o.format = process.AddChoice(cmd, "format", "print `FORMAT`: commands of Kafka's tools, or\nstrimzi for its resources", formatCommands, formatStrimzi)
	f.StringVar(&o.principal, "principal", "", "allow `TYPE:NAME`, such as User:layover; by\ndefault User: and KAFKA_SASL_USERNAME")
	f.Int32Var(&o.partitions, "partitions", 4, "`NUMBER` of partitions of each topic")
	f.Int32Var(&o.replicas, "replicas", 3, "`NUMBER` of replicas of each partition")
	f.StringVar(&o.servers, "brokers", "", "`ADDRESSES` in the commands; by default\nKAFKA_BROKERS")
	f.StringVar(&o.adminConfig, "command-config", "", "`FILE` of an administrator's properties, for the\ncommands")
	f.StringVar(&o.cluster, "cluster", "", "`NAME` of Strimzi's cluster, needed for strimzi")
	o.version = process.AddChoice(cmd, "strimzi-api", "`VERSION` of Strimzi's resources: v1, or v1beta2\nbefore Strimzi 0.49", "v1", "v1beta2")
	return o
}

// check refuses flags that are wrong whatever the settings are.
func (o *options) check() error {
	others := map[string][]string{formatCommands: {"cluster", "strimzi-api"}, formatStrimzi: {"brokers", "command-config"}}
	for _, name := range others[o.format.String()] {
		if o.given(name) {
			return fmt.Errorf("--%s has no effect with --format %s", name, o.format)
		}
	}
	switch {
	case o.partitions < 1 || o.partitions > maxPartitions:
		return fmt.Errorf("--partitions %d: want 1 to %d", o.partitions, maxPartitions)
	case o.replicas < 1 || o.replicas > maxReplicas:
		return fmt.Errorf("--replicas %d: want 1 to %d", o.replicas, maxReplicas)
	case o.strimzi() && o.cluster == "":
		return errors.New("--cluster is missing: the name of the Kafka resource, for the label strimzi.io/cluster")
	case o.strimzi() && !isLabel(o.cluster):
		return fmt.Errorf("--cluster %q: want a name of Kubernetes: a-z 0-9 and -", o.cluster)
	case strings.ContainsFunc(o.servers+o.adminConfig, unprintable):
		return errors.New("--brokers and --command-config: want printable text")
	}
	return nil
}

func (o *options) strimzi() bool { return o.format.String() == formatStrimzi }

func unprintable(c rune) bool { return !unicode.IsPrint(c) }

// derive fills in what the settings know. The user's name is in the settings for anybody to
// see, unlike the password.
func (o *options) derive(cfg *config.Config) error {
	o.mechanism = cfg.Kafka.SASL.Mechanism
	if o.servers == "" {
		o.servers = strings.Join(cfg.Kafka.Brokers, ",")
	}
	byName := o.mechanism == config.MechanismPlain || o.mechanism == config.MechanismScramSHA256 || o.mechanism == config.MechanismScramSHA512
	if o.principal != "" || !byName {
		return nil
	}
	name, err := cfg.Kafka.SASL.Username.Read()
	if err != nil {
		return fmt.Errorf("KAFKA_SASL_USERNAME: %w", err)
	}
	o.principal = "User:" + name
	return nil
}

// checkPrincipal refuses a principal that Kafka or Strimzi cannot have.
func (o *options) checkPrincipal() error {
	if o.principal == "" {
		return nil
	}
	kind, name, ok := strings.Cut(o.principal, ":")
	if !ok || kind == "" || name == "" || strings.ContainsFunc(o.principal, unprintable) {
		return fmt.Errorf("--principal %q: want TYPE:NAME, such as User:layover", o.principal)
	}
	if !o.strimzi() {
		return nil
	}
	if _, ok := userOf(o.principal); !ok {
		return fmt.Errorf("--principal %q: a KafkaUser is called as its principal, so want User:NAME or User:CN=NAME, where NAME is a name of Kubernetes: a-z 0-9 . and -", o.principal)
	}
	return nil
}

// print writes what is needed in the chosen form.
func (o *options) print(w io.Writer, table needs.Table, asJSON bool) error {
	switch {
	case o.strimzi() && asJSON:
		return process.WriteJSON(w, o.list(table))
	case o.strimzi():
		_, err := io.WriteString(w, o.yaml(table))
		return err
	case asJSON:
		return process.WriteJSON(w, o.facts(table))
	default:
		_, err := io.WriteString(w, o.script(table))
		return err
	}
}

// noPrincipal is said in the place of ACLs.
const noPrincipal = "There are no ACLs, as no principal is known. In a cluster that authorizes, give --principal User:NAME."
