package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"layover/admin"
	"layover/cluster"
	"layover/cluster/connect"
	"layover/cluster/doctor"
	"layover/config"
)

const (
	// preflightTurn is how often it is decided whether to look.
	preflightTurn = time.Second
	// preflightEvery is the time between two looks, so that what is mended goes by itself.
	preflightEvery = 10 * time.Minute
	// preflightSoon is the least time between two looks: after one that nobody answered, or
	// when the configuration of an ingress topic has changed.
	preflightSoon = 30 * time.Second
	// preflightSure is how long a refusal has to last that may be a broker which is starting
	// or ending. Such a broker closes connections at once, as one does that wants TLS.
	preflightSure = time.Minute
)

// preflight makes the doctor's checks beside everything else, and keeps what they find until
// it is gone. One goroutine runs it; the others see what it has published.
type preflight struct {
	mode config.Preflight
	log  *slog.Logger
	look func(context.Context) []doctor.Finding
	// answering reports whether a broker answers, and refused whether one surely refuses the
	// connection. Without either nothing is to be learnt.
	answering, refused func() bool
	warnings           func() map[string]string // about configurations of ingress topics; not having read one is one
	sick               func(now time.Time) []string

	looked  time.Time         // the end of the last look
	next    time.Time         // when to look again at the latest
	warned  map[string]string // warnings as they were at the last look
	found   map[string]*found // by check
	shown   atomic.Pointer[admin.Preflight]
	verdict chan error    // capacity 1: of the first look
	judged  bool          // verdict has been sent
	passed  chan struct{} // closed when the start is behind the gate, or there is none
}

// found is a finding that stands.
type found struct {
	admin.Finding
	said bool // the log has it
}

func (d *Daemon) newPreflight() *preflight {
	p := &preflight{
		mode: d.cfg.Preflight, log: d.log, found: make(map[string]*found), verdict: make(chan error, 1), passed: make(chan struct{}),
		look: func(ctx context.Context) []doctor.Finding {
			return doctor.Run(ctx, doctor.Config{Settings: d.cfg, Warnings: d.opts.Warnings, Client: d.asking, Connection: d.connection, Resolve: d.opts.Resolve})
		},
		answering: func() bool { return d.watcher.Health().Told },
		refused:   func() bool { return d.surelyRefused(time.Now()) },
		warnings:  func() map[string]string { return configWarnings(d.watcher, d.cfg.IngressTopics) },
		sick:      func(now time.Time) []string { return admin.SickKinds(d.Sample(), now) },
	}
	p.shown.Store(new(admin.Preflight))
	if p.mode != config.PreflightFail {
		close(p.passed)
	}
	return p
}

// configWarnings are those of the watcher about ingress topics. One whose configuration it has
// not read yet has a warning too: a fault that is mended before the first reading changes no
// other.
func configWarnings(w *cluster.Watcher, ingress []string) map[string]string {
	warnings := w.Health().Warnings
	for _, name := range ingress {
		if warnings[name] == "" && w.Lookup(name).Retention == 0 {
			warnings[name] = "its configuration has not been read"
		}
	}
	return warnings
}

// surelyRefused reports whether a broker refuses the connection and is not about to come or go.
func (d *Daemon) surelyRefused(now time.Time) bool {
	return slices.ContainsFunc(d.connection.Status().Refused, func(r connect.Refusal) bool {
		return !r.Unsure || now.Sub(r.Since) >= preflightSure
	})
}

// sample is what the last look left.
func (p *preflight) sample() admin.Preflight { return *p.shown.Load() }

// run looks until the context ends, as long as there is somebody to ask.
func (p *preflight) run(ctx context.Context, turns *atomic.Int64) {
	if p.mode == config.PreflightOff {
		return
	}
	for {
		turns.Add(1)
		p.turn(ctx)
		select {
		case <-ctx.Done():
			return
		case <-time.After(preflightTurn):
		}
	}
}

// turn looks, if that is due.
func (p *preflight) turn(ctx context.Context) {
	if !p.due(time.Now()) {
		return
	}
	findings := p.look(ctx)
	now := time.Now()
	p.looked, p.warned = now, p.warnings()
	switch {
	case ctx.Err() != nil: // it was cut off
	case outOfReach(findings), !p.answering() && !p.refused(): // the brokers went away meanwhile
		p.next = now.Add(preflightSoon)
	default:
		p.next = now.Add(preflightEvery)
		p.take(findings, now)
	}
}

// due reports whether to look now. A broker that refuses the connection has a line and a
// place of its own. It is a failed check at the start alone, which it may end.
func (p *preflight) due(now time.Time) bool {
	switch {
	case !p.answering() && (p.judged || p.mode != config.PreflightFail || !p.refused()):
		return false
	case !now.Before(p.next):
		return true
	}
	return now.Sub(p.looked) >= preflightSoon && !maps.Equal(p.warnings(), p.warned)
}

// outOfReach reports whether no broker was reached: that is waited for, and nothing is known
// of the rest.
func outOfReach(findings []doctor.Finding) bool {
	return slices.ContainsFunc(findings, func(f doctor.Finding) bool {
		return f.Status == doctor.Fail && (f.ID == "broker-names" || f.ID == "broker-answers")
	})
}

// blind reports whether brokers are there and were not asked everything.
func blind(findings []doctor.Finding) bool {
	return slices.ContainsFunc(findings, func(f doctor.Finding) bool {
		return f.Status == doctor.Fail && (f.ID == "tls" || f.ID == "login" || f.ID == "advertised-names")
	})
}

// take notes the findings of one look, and logs what has come and gone. What could not be
// asked this time stays as it was.
func (p *preflight) take(findings []doctor.Finding, now time.Time) {
	published := &admin.Preflight{Checked: now}
	judging := p.mode == config.PreflightFail && !p.judged
	var failed []doctor.Finding
	kinds := p.sick(now)
	for _, f := range findings {
		was := p.found[f.ID]
		switch {
		case f.Bad():
			p.note(f, now, slices.ContainsFunc(kinds, func(kind string) bool { return saysTheSame(kind, f.ID) }), judging)
			if f.Status == doctor.Fail {
				failed = append(failed, f)
			}
		case was == nil:
		case f.Status == doctor.Unknown, f.Status == doctor.Skipped && blind(findings):
		default:
			delete(p.found, f.ID)
			if was.said {
				p.log.Info("preflight finding is gone", "id", f.ID, "after", now.Sub(was.Since).Round(time.Second).String())
			}
		}
		if stands := p.found[f.ID]; stands != nil {
			published.Findings = append(published.Findings, stands.Finding)
		}
	}
	p.shown.Store(published)
	if !p.judged {
		p.judged = true
		p.verdict <- verdictOf(failed)
	}
}

// note keeps a finding, and logs it when it appears or changes between warn and fail. At the
// gate a failed check is an error and is always said, as it ends the process.
func (p *preflight) note(f doctor.Finding, now time.Time, elsewhere, judging bool) {
	was := p.found[f.ID]
	since, changed := now, true
	if was != nil {
		since, changed = was.Since, was.Status != f.Status
	}
	is := &found{Finding: admin.Finding{Finding: f, Since: since}, said: was != nil && was.said}
	p.found[f.ID] = is
	line := []any{"id", f.ID, "status", string(f.Status), "found", oneLine(f.Found), "why", f.Why, "fix", oneLine(f.Fix)}
	switch {
	case judging && f.Status == doctor.Fail:
		p.log.Error("preflight check failed", line...)
		is.said = true
	case changed && !elsewhere && f.ID != "settings": // its warnings are the start's first lines
		p.log.Warn("preflight finding", line...)
		is.said = true
	}
}

func oneLine(text string) string { return strings.ReplaceAll(text, "\n", "; ") }

// saysTheSame reports whether a sick thing of a kind has what a check finds, with a line of
// its own in the log.
func saysTheSame(kind, check string) bool {
	switch kind {
	case admin.SickKafka:
		return check == "tls" || check == "login"
	case admin.SickGroup:
		return check == "acl-group"
	case admin.SickIngress, admin.SickPartition:
		return check == "topics" || check == "acl-ingress"
	case admin.SickTarget:
		return check == "topics" || check == "acl-targets"
	case admin.SickDeadLetter:
		return check == "topics" || check == "acl-dead-letters"
	case admin.SickEvents:
		return check == "topics" || check == "acl-events"
	case admin.SickJournal:
		return check == "acl-journal"
	}
	return false
}

// verdictOf is nil where no check failed.
func verdictOf(failed []doctor.Finding) error {
	if len(failed) == 0 {
		return nil
	}
	names := make([]string, len(failed))
	for i, f := range failed {
		names[i] = f.ID
	}
	return fmt.Errorf("preflight: failed: %s; mend that, or set LAYOVER_PREFLIGHT=warn to start in spite of it", strings.Join(names, ", "))
}

// passGate waits for the first look and starts the consumer, unless a check failed. It returns
// nil when the context ends meanwhile.
func (d *Daemon) passGate(ctx context.Context) error {
	defer close(d.preflight.passed)
	select {
	case <-ctx.Done():
		return nil
	case err := <-d.preflight.verdict:
		if err != nil {
			return err
		}
	}
	return d.consumer.Start()
}
