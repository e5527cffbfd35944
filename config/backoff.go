package config

import (
	"fmt"
	"time"

	"layover/delay"
)

// backoffForm is a back-off in the words of a table.
const backoffForm = "FIRST..LAST [xFACTOR] [jitter=P%] [max=N]"

// TopicDelay is the delay of records of an ingress topic that ask for none. It
// stands in for the default delay.
type TopicDelay struct {
	Ingress string
	Delay   time.Duration
	Backoff delay.Backoff // stands in for Delay, where it is not none
	Auto    bool          // the back-off of the setting stands in for both
}

// String returns ingress=delay, as it is read.
func (d TopicDelay) String() string {
	switch {
	case d.Auto:
		return d.Ingress + "=" + delay.BackoffAuto
	case !d.Backoff.IsZero():
		return d.Ingress + "=" + d.Backoff.String()
	}
	return d.Ingress + "=" + FormatDuration(d.Delay)
}

// decodeDelays reads a list of ingress=delay into out. That a delay is at most
// the longest one is a rule between two settings.
func decodeDelays(text string, out *[]TopicDelay) error {
	var all []TopicDelay
	err := decodePairs(text, "delay", func(ingress, value string) error {
		d := TopicDelay{Ingress: ingress, Auto: value == delay.BackoffAuto}
		var err error
		switch {
		case d.Auto:
		case delay.IsBackoff(value):
			if d.Backoff, err = delay.ParseBackoff(value); err != nil {
				return fmt.Errorf("has the back-off %w", err)
			}
		default:
			if d.Delay, err = parseDuration(value); err != nil {
				return fmt.Errorf("has the delay %s, which %w, want 0s to %s, a back-off, or %s", quote(value), err, maxDelay, delay.BackoffAuto)
			}
		}
		all = append(all, d)
		return nil
	})
	*out = all
	return err
}

// relateTopicDelays refuses delays of topics that are not read, and those that would
// make every record without a header invalid.
func (r *rules) relateTopicDelays() {
	wrong := r.notRead(topicDelays)
	for _, d := range r.cfg.TopicDelays {
		if longest := max(d.Delay, d.Backoff.Last()); !r.bad[maxDelay] && longest > r.cfg.MaxDelay {
			wrong = append(wrong, fmt.Sprintf("the delay of %s is above %s, which is %s: every record without a header would be invalid",
				quote(d.Ingress), maxDelay, r.shown(maxDelay)))
		}
	}
	r.refuseAll(topicDelays, wrong)
}

// relateBackoff refuses a back-off with waits that no record may have.
func (r *rules) relateBackoff() {
	if c := r.cfg; !r.bad[backoff] && !r.bad[maxDelay] && c.Backoff.Last() > c.MaxDelay {
		r.refuse(backoff, fmt.Sprintf("the last wait of %s is above %s, which is %s: every record that asks for %s would be invalid",
			r.shown(backoff), maxDelay, r.shown(maxDelay), delay.BackoffAuto))
		r.example(backoff, c.Backoff.Within(c.MaxDelay).String())
	}
}
