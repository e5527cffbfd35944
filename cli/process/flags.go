package process

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"layover/delay"
)

// AddEnvFile adds --env-file to a verb that reads settings, and to its actions.
func (p *Process) AddEnvFile(cmd *cobra.Command) {
	const name = "env-file"
	flags := cmd.Flags()
	if cmd.HasSubCommands() {
		flags = cmd.PersistentFlags()
	}
	flags.StringArrayVar(&p.EnvFiles, name, nil, "read settings from `FILE` too: lines of NAME=value;\nthe last of several wins, the environment over all")
	must(cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)))
}

// AddPartitions adds --topic and --partition to a verb with actions: they choose an ingress
// topic, and a partition. A number that is not given stays. usage is that of --topic.
func AddPartitions(cmd *cobra.Command, usage string, topic *string, partition *int32) {
	cmd.PersistentFlags().Func("topic", usage, func(name string) error {
		if *topic = name; !delay.IsTopicName(name) {
			return errors.New("want the name of an ingress topic")
		}
		return nil
	})
	cmd.PersistentFlags().Func("partition", "only partition `N`", func(text string) error {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || n < 0 {
			return errors.New("want a number from 0 on")
		}
		*partition = int32(n)
		return nil
	})
}

// Choice is the value of a flag that takes one of a few words, the first by
// default.
type Choice struct {
	words  []string
	chosen string
}

// String returns the chosen word.
func (c *Choice) String() string { return c.chosen }

// Type implements pflag.Value.
func (c *Choice) Type() string { return "choice" }

// Set chooses a word.
func (c *Choice) Set(word string) error {
	if !slices.Contains(c.words, word) {
		return fmt.Errorf("want %s", strings.Join(c.words, " or "))
	}
	c.chosen = word
	return nil
}

// AddChoice adds a flag that takes one of the words, the first by default.
func AddChoice(cmd *cobra.Command, name, usage string, words ...string) *Choice {
	c := &Choice{words: words, chosen: words[0]}
	cmd.Flags().Var(c, name, usage)
	must(cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)))
	return c
}

// Output is the form in which a verb prints facts.
type Output struct{ Choice }

const outputFlag = "output"

// AddOutput adds -o to a command. fields names the fields of an object.
func AddOutput(cmd *cobra.Command, fields string) *Output {
	o := &Output{Choice{words: []string{"text", "json"}, chosen: "text"}}
	cmd.Flags().VarP(o, outputFlag, "o", "print `FORM`: text for people, json for machines:\n"+fields)
	must(cmd.RegisterFlagCompletionFunc(outputFlag, cobra.FixedCompletions(o.words, cobra.ShellCompDirectiveNoFileComp)))
	return o
}

// JSON reports whether a machine reads the output.
func (o *Output) JSON() bool { return o.chosen == "json" }

// must panics for a mistake of the program itself: a missing flag, or one completed
// twice.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
