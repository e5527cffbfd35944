package integration

import (
	"bytes"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// sendRow is one call of send, beside a daemon with the same settings.
type sendRow struct {
	args string // split at spaces
	to   string // the target that has to exist; "" for none
}

// TestSendWarnsOfWhatIsDeadLetteredAndOfNothingElse: each warning names the reason that
// the daemon then gives, and a record without one is delivered.
func TestSendWarnsOfWhatIsDeadLetteredAndOfNothingElse(t *testing.T) {
	t.Parallel()
	for name, makeRows := range map[string]func(f *fixture) (settings []string, rows map[string]sendRow){
		"targets and a maximum": routedRows,
		"no egress topic":       unroutedRows,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := onSharedBroker(t, 1)
			settings, rows := makeRows(f)
			topics := []string{f.egress}
			for _, row := range rows {
				if row.to != "" && row.to != f.egress {
					f.createTopic(row.to, 1, nil)
					topics = append(topics, row.to)
				}
			}
			f.layover(settings...)
			delivered, dead := f.collect(topics...), f.collect(f.deadLetters)
			warned := make(map[string]string)
			for key, row := range rows {
				warned[key] = f.send(f.settings(settings...), append(strings.Fields(row.args), "--key", key, "v")...)
			}
			eventually(t, 30*time.Second, "all records have an outcome", func() bool {
				out, _ := delivered.count()
				lost, _ := dead.count()
				return out+lost == len(rows)
			})
			for _, a := range delivered.all() {
				if reason := warned[string(a.Key)]; reason != "" {
					t.Errorf("%s (%s): delivered to %s, and send warned of %s", a.Key, rows[string(a.Key)].args, a.Topic, reason)
				}
			}
			for _, a := range dead.all() {
				reason, _ := lookup(t, a.Record, "layover.errors.reason")
				if key := string(a.Key); warned[key] != reason {
					t.Errorf("%s (%s): dead-lettered as %s, and send warned of %q", key, rows[key].args, reason, warned[key])
				}
			}
		})
	}
}

func routedRows(f *fixture) (settings []string, rows map[string]sendRow) {
	eu, orders, side, journal := f.egress+".eu", f.egress+".orders.x", f.egress+".side", f.egress+".layover-x"
	in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(instant) }
	settings = []string{"LAYOVER_MAX_DELAY=1m", "LAYOVER_TARGETS_ALLOWED=" + eu + "," + f.egress + ".orders.*," + f.egress + ".layov*",
		"LAYOVER_TOPIC_TARGETS=" + f.ingress + "=" + side}
	return settings, map[string]sendRow{
		"plain":             {args: "--delay 1s", to: side},
		"at once":           {args: "--delay 0"},
		"a small number":    {args: "--delay 5"},
		"an instant":        {args: "--at " + in(2*time.Second)},
		"a past instant":    {args: "--at 2020-01-01T00:00:00Z"},
		"too long":          {args: "--delay 1m1ms"},
		"a year":            {args: "--at " + in(365*24*time.Hour)},
		"the year 9999":     {args: "--at 9999-12-31T23:59:59Z"},
		"292 years":         {args: "--delay 9223372036854ms"},
		"the egress topic":  {args: "--delay 1s --to " + f.egress},
		"by name":           {args: "--delay 1s --to " + eu, to: eu},
		"by glob":           {args: "--delay 1s --to " + orders, to: orders},
		"not allowed":       {args: "--delay 1s --to " + f.egress + ".us"},
		"the ingress topic": {args: "--delay 1s --to " + f.ingress},
		"the journal":       {args: "--delay 1s --to " + f.ingress + "." + f.group},
		"the dead letters":  {args: "--delay 1s --to " + f.deadLetters},
		"like a journal":    {args: "--delay 1s --to " + journal},
		"both wrong":        {args: "--delay 31d --to " + f.ingress},
	}
}

func unroutedRows(f *fixture) (settings []string, rows map[string]sendRow) {
	eu := f.egress + ".eu"
	return []string{"LAYOVER_EGRESS_TOPIC=", "LAYOVER_TARGETS_ALLOWED=" + eu}, map[string]sendRow{
		"no target":    {args: "--delay 1s"},
		"a target":     {args: "--delay 1s --to " + eu, to: eu},
		"another":      {args: "--delay 1s --to " + f.egress},
		"thirty days":  {args: "--delay 30d1ms --to " + eu},
		"no delay":     {args: "--delay 0"},
		"a wrong pair": {args: "--at 2099-01-01T00:00:00Z"},
	}
}

// warnings are the reasons in what send prints on stderr.
var warnings = regexp.MustCompile(`(?m)^warning: .* by the settings here: ([a-z_]+): `)

// send runs the verb send and returns the reason that it warned of; "" for none.
func (f *fixture) send(settings []string, args ...string) (reason string) {
	f.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(f.Context(), need(f.T, shared.binary), append([]string{"send"}, args...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = environ(settings...), &stdout, &stderr
	if err := cmd.Run(); err != nil || !strings.Contains(stdout.String(), " due ") {
		f.Fatalf("send %q: %v, printed %q and %q", args, err, &stdout, &stderr)
	}
	all := warnings.FindAllStringSubmatch(stderr.String(), -1)
	if len(all) == 0 && strings.Contains(stderr.String(), "warning") || len(all) > 1 {
		f.Errorf("send %q warned %q", args, &stderr)
	}
	if len(all) == 0 {
		return ""
	}
	return all[0][1]
}
