// Package doctor is the verb doctor, which looks for what keeps Layover from
// working with these settings, and says what mends it:
//
//	$ layover doctor
//	 1 ok       broker-names: kafka:9092 resolves to 172.18.0.2
//	 2 ok       broker-answers: 3 brokers in the cluster
//	...
//	 6 fail     topics: ingress topic delayd does not exist, the nearest name is delayed
//
// The checks are of layover/cluster/doctor, which changes nothing. The verb
// config check --connect is the same.
package doctor

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"layover/cli/kafka"
	"layover/cli/process"
	"layover/cluster/doctor"
	"layover/config"
)

// Fields names the fields of an object of -o json.
const Fields = "an array: id, status, found, why, fix"

// Command returns the verb doctor.
func Command(p *process.Process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "check brokers, topics and rights, and say what mends them",
		Long: `Checks, in the order in which things fail, the brokers, the login, topics,
rights, retention, the group, clocks, and a running Layover at
LAYOVER_HTTP_ADDR. Of each it prints what was found, and of a bad one why it
matters and what mends it. It changes nothing: no record is written, no topic
made and no group joined. docs/doctor.md has all checks.

Exit code: 0 if no check failed, whatever was warned of or is unknown, 1 if one
failed, 2 if the command line or a setting is wrong.`,
		Args: cobra.NoArgs,
	}
	p.AddEnvFile(cmd)
	output := process.AddOutput(cmd, Fields)
	cmd.Run = p.Does("doctor", func(ctx context.Context, _ []string) int { return Check(ctx, p, output.JSON()) })
	return cmd
}

// Check makes all checks of the settings in p's environment, prints them, and returns the
// exit code.
func Check(ctx context.Context, p *process.Process, asJSON bool) int {
	if err := p.ReadEnvFiles(); err != nil {
		return p.FailUsage(err)
	}
	cfg, warnings, err := config.Load(p.Environ)
	if err != nil {
		p.Judge(warnings, err)
		return process.ExitUsage
	}
	via, err := kafka.Connect(cfg.Kafka, cfg.Kafka.ClientID)
	if err != nil {
		return p.Fail(err)
	}
	// Each try is a login more, and accounts get locked.
	client, err := kgo.NewClient(append(via.Options(), kgo.DisableClientMetrics(), kgo.RequestRetries(1))...)
	if err != nil {
		return p.Fail(err)
	}
	defer client.Close()
	findings := doctor.Run(ctx, doctor.Config{
		Settings: cfg, Warnings: warnings, Client: client, Connection: via.Connection, Instance: instanceOf(cfg),
	})
	if asJSON {
		err = process.WriteJSON(p.Stdout, findings)
	} else {
		err = write(p.Stdout, findings)
	}
	if err != nil {
		return p.FailStdout(err)
	}
	for _, f := range findings {
		if f.Status == doctor.Fail {
			return process.ExitRuntime
		}
	}
	return process.ExitOK
}

// write prints findings for people: a line for each, and below a bad one why it matters
// and what mends it.
func write(w io.Writer, findings []doctor.Finding) error {
	out := bufio.NewWriter(w)
	counts := make(map[doctor.Status]int)
	told := make(map[string]bool) // remedies that mend several
	for i, f := range findings {
		counts[f.Status]++
		fmt.Fprintf(out, "%2d %-8s %s: %s\n", i+1, f.Status, f.ID, f.Found)
		if f.Bad() {
			below(out, "why:", f.Why)
		}
		if f.Bad() || f.Status == doctor.Unknown && !told[f.Fix] {
			below(out, "fix:", f.Fix)
		}
		told[f.Fix] = true
	}
	fmt.Fprintf(out, "\n%s\n", sum(counts))
	return out.Flush()
}

// below prints text under a finding, its later lines under the first.
func below(w io.Writer, label, text string) {
	if text == "" {
		return
	}
	const indent = "            "
	fmt.Fprintf(w, "%s%s %s\n", indent, label, strings.ReplaceAll(text, "\n", "\n"+indent+"     "))
}

// sum counts the results, without those that there are none of.
func sum(counts map[doctor.Status]int) string {
	var parts []string
	for _, s := range []struct {
		status    doctor.Status
		one, many string
	}{{doctor.OK, "ok", "ok"}, {doctor.Warn, "warning", "warnings"}, {doctor.Fail, "failed", "failed"}, {doctor.Unknown, "unknown", "unknown"}, {doctor.Skipped, "skipped", "skipped"}} {
		switch n := counts[s.status]; n {
		case 0:
		case 1:
			parts = append(parts, "1 "+s.one)
		default:
			parts = append(parts, fmt.Sprintf("%d %s", n, s.many))
		}
	}
	return strings.Join(parts, ", ")
}
