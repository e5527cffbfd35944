package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// defaultMaxDelay is LAYOVER_MAX_DELAY as the documents say that it is by default.
	defaultMaxDelay = 30 * 24 * time.Hour
	// defaultBackoff is LAYOVER_BACKOFF, the same.
	defaultBackoff = "1s..1h x2 jitter=20% max=16"
	// soon is within what a document's records are waited for; those due later are parked.
	soon = 15 * time.Second
)

// outcomes looks where each record ended that the document has written so far. A record is
// delivered when it was due, parked until then, or a dead letter for a reason that the
// document prints. A document whose commands start no Layover gets one for that.
func (s *shell) outcomes(doc, text string) {
	s.Helper()
	f := &fixture{T: s.T, broker: &broker{addr: s.kafka}}
	client := f.kafka(kgo.SeedBrokers(s.kafka))
	f.client, f.admin = client, kadm.NewClient(client)
	written := s.read(f, s.ingress(f)...)
	if len(written) == 0 {
		return
	}
	if !s.runs {
		s.start(doc, 0, "exec layover")
	}
	var left []string
	eventually(s.T, soon+20*time.Second, "each record of "+doc+" has an outcome", func() bool {
		left = s.unfinished(f, doc, text, written)
		return len(left) == 0
	})
	parked := s.parked(written)
	s.Logf("%s: %d records looked at, %d of them parked", doc, len(written), parked)
}

// ingress are the ingress topics that there are.
func (s *shell) ingress(f *fixture) (out []string) {
	s.Helper()
	names := []string{"delayed"}
	for _, pair := range s.env {
		if value, is := strings.CutPrefix(pair, "LAYOVER_INGRESS_TOPICS="); is {
			names = append(names, strings.Split(value, ",")...)
		}
	}
	topics, err := f.admin.ListTopics(f.Context())
	if err != nil {
		s.Fatal(err)
	}
	for _, name := range names {
		if topics.Has(name) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// read returns all records of topics.
func (s *shell) read(f *fixture, topics ...string) (all []*kgo.Record) {
	s.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), 30*time.Second)
	defer cancel()
	from, left := make(map[string]map[int32]kgo.Offset), int64(0)
	for _, topic := range topics {
		ends, err := f.ends(topic)
		if err != nil {
			s.Fatal(err)
		}
		from[topic] = make(map[int32]kgo.Offset)
		for partition, end := range ends {
			from[topic][partition] = kgo.NewOffset().At(0)
			left += end
		}
	}
	if left == 0 {
		return nil
	}
	client := f.kafka(kgo.SeedBrokers(s.kafka), kgo.ConsumePartitions(from))
	defer client.Close()
	for int64(len(all)) < left {
		fetches := client.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			s.Fatalf("read %d of %d records of %q: %v", len(all), left, topics, err)
		}
		all = append(all, fetches.Records()...)
	}
	return all
}

// due is when a record is to be delivered, by the test's own reading of its headers and
// of the settings that the document exports. With a reason it is a dead letter instead.
func (s *shell) due(r *kgo.Record) (due time.Time, reason string) {
	s.Helper()
	due = r.Timestamp
	wait := ""
	for _, pair := range s.env {
		if value, is := strings.CutPrefix(pair, "LAYOVER_TOPIC_DELAYS="); is {
			for _, entry := range strings.Split(value, ",") {
				if topic, d, _ := strings.Cut(entry, "="); topic == r.Topic {
					wait = d
				}
			}
		}
	}
	if value, found := lookup(s.T, r, "x-delay"); found {
		wait = value
	}
	if wait == "auto" {
		wait = defaultBackoff
	}
	if b, ok := backoffIn(wait); ok {
		return s.retried(r, b)
	}
	if ms, err := strconv.ParseInt(wait, 10, 64); err == nil {
		due = due.Add(time.Duration(ms) * time.Millisecond)
	} else if days, err := strconv.Atoi(strings.TrimSuffix(wait, "d")); err == nil {
		due = due.Add(time.Duration(days) * 24 * time.Hour)
	} else if d, err := time.ParseDuration(wait); err == nil {
		due = due.Add(d)
	} else if wait != "" {
		s.Fatalf("%s: x-delay %q is none that this test reads", r.Value, wait)
	}
	due = s.mapped(r, due)
	if value, found := lookup(s.T, r, "x-deliver-at"); found {
		at, err := time.Parse(time.RFC3339, value)
		if err != nil {
			s.Fatalf("%s: x-deliver-at %q: %v", r.Value, value, err)
		}
		due = at
	}
	if due.Sub(r.Timestamp) > defaultMaxDelay {
		return due, "delay_too_long"
	}
	return due, ""
}

// ended says when a command ended a record. A record with an id ends where a later record
// of its partition has that id. Each cancel ends at once.
func (s *shell) ended(written []*kgo.Record) map[*kgo.Record]time.Time {
	s.Helper()
	type name struct {
		topic     string
		partition int32
		id        string
	}
	ended, last := make(map[*kgo.Record]time.Time), make(map[name]*kgo.Record)
	for _, r := range written { // in the order of its partition
		id, named, cancels := s.idOf(r)
		if !named {
			continue
		}
		at := name{r.Topic, r.Partition, id}
		if older := last[at]; older != nil {
			ended[older] = r.Timestamp
		}
		last[at] = r
		if cancels {
			ended[r], last[at] = time.Time{}, nil
		}
	}
	return ended
}

// unfinished are the records that are due soon, or are none that Layover takes, and have
// no outcome yet. A wrong outcome fails the test.
func (s *shell) unfinished(f *fixture, doc, text string, written []*kgo.Record) (left []string) {
	s.Helper()
	topics, err := f.admin.ListTopics(f.Context())
	if err != nil {
		return []string{err.Error()}
	}
	ingress := s.ingress(f)
	delivered, dead := make(map[string]*kgo.Record), make(map[string]*kgo.Record)
	for _, r := range s.read(f, slices.DeleteFunc(topics.Names(), func(name string) bool { return slices.Contains(ingress, name) || strings.HasPrefix(name, "__") })...) {
		if id, found := lookup(s.T, r, "layover-id"); found {
			delivered[id] = r
		}
		if _, found := lookup(s.T, r, "layover.errors.reason"); found {
			topic, _ := lookup(s.T, r, "layover.errors.topic")
			partition, _ := lookup(s.T, r, "layover.errors.partition")
			offset, _ := lookup(s.T, r, "layover.errors.offset")
			dead[topic+"-"+partition+"-"+offset] = r
		}
	}
	ended := s.ended(written)
	for _, r := range written {
		id := fmt.Sprintf("%s-%d-%d", r.Topic, r.Partition, r.Offset)
		due, refusal := s.due(r)
		out, came := delivered[id]
		letter, died := dead[id]
		by, over := ended[r]
		switch {
		case came && over && by.Before(due.Add(-time.Second)):
			s.Fatalf("%s: %q was to end at %v, and was delivered at %v", doc, r.Value, by, out.Timestamp)
		case died:
			reason, _ := lookup(s.T, letter, "layover.errors.reason")
			if reason != refusal || !said(text, reason) {
				message, _ := lookup(s.T, letter, "layover.errors.message")
				s.Fatalf("%s: the document does not say that %q is a dead letter: %s: %s", doc, r.Value, reason, message)
			}
		case came:
			stamped, _ := lookup(s.T, out, "layover-due")
			if refusal != "" || out.Timestamp.Before(due) || stamped != due.UTC().Format(instant) {
				s.Fatalf("%s: %q, due %v, was delivered at %v with layover-due %s", doc, r.Value, due, out.Timestamp, stamped)
			}
		case over: // it leaves no record
		case refusal != "" || time.Until(due) <= soon:
			left = append(left, id)
		}
	}
	return left
}

// said reports whether the document prints a word in what a command says.
func said(text, word string) bool {
	return slices.ContainsFunc(blocks(text), func(b block) bool { return b.kind == "text" && strings.Contains(b.text, word) })
}

// parked waits until the status has as many parked records as are not due yet, from the
// first deadline to the last. It returns how many.
func (s *shell) parked(written []*kgo.Record) (parked int) {
	s.Helper()
	var got struct {
		Parked   struct{ Records int }
		Next     time.Time `json:"next_due"`
		Furthest time.Time `json:"furthest_deadline"`
	}
	var dues []time.Time
	ended := s.ended(written)
	defer func() {
		if s.Failed() {
			s.Logf("parked are %+v, want %v", got, dues)
		}
	}()
	eventually(s.T, 40*time.Second, "what is not due yet is parked until its deadline", func() bool {
		dues = nil
		for _, r := range written {
			if _, over := ended[r]; over {
				continue
			}
			if due, dead := s.due(r); dead == "" && time.Until(due) > 0 {
				dues = append(dues, due)
			}
		}
		_, text := (&process{http: s.http}).get("/status")
		if json.Unmarshal([]byte(text), &got) != nil || got.Parked.Records != len(dues) {
			return false
		}
		return len(dues) == 0 || got.Next.Equal(slices.MinFunc(dues, time.Time.Compare)) && got.Furthest.Equal(slices.MaxFunc(dues, time.Time.Compare))
	})
	return len(dues)
}
