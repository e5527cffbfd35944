package integration

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	played "layover/verify/long"
)

// findings are those of /status, by id, with their status; nil before the first look.
func (p *process) findings() map[string]string {
	p.t.Helper()
	var s struct {
		Findings []struct{ ID, Status, Found, Why, Fix string }
		Checked  *time.Time `json:"checked_at"`
	}
	_, body := p.get("/status")
	if err := json.Unmarshal([]byte(body), &s); err != nil || s.Checked == nil {
		return nil
	}
	out := make(map[string]string)
	for _, f := range s.Findings {
		if f.Found == "" || f.Why == "" || f.Fix == "" {
			p.t.Errorf("the finding %s does not say all: %+v", f.ID, f)
		}
		out[f.ID] = f.Status
	}
	return out
}

// retention sets retention.ms of the ingress topic.
func (f *fixture) retention(ms string) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), 30*time.Second)
	defer cancel()
	done, err := f.admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms", Value: &ms}}, f.ingress)
	if err == nil {
		err = done[0].Err
	}
	if err != nil {
		f.Fatal(err)
	}
}

// TestTheCommandOfAFindingMendsIt: a healthy start says nothing of checks. Retention that is
// too short is said, delivering goes on, and the command that is printed mends it.
func TestTheCommandOfAFindingMendsIt(t *testing.T) {
	played.InChecks(t)
	t.Parallel()
	f := onSharedBroker(t, 2)
	p := f.layover()
	eventually(t, time.Minute, "the first look", func() bool { return p.findings() != nil })
	if found := p.findings(); len(found) != 0 || strings.Contains(p.log(), "preflight") {
		t.Errorf("a healthy start finds %v", found)
	}
	p.terminate()

	f.retention("1000000")
	p = f.layover()
	eventually(t, time.Minute, "the finding", func() bool { return p.findings()["retention"] == "fail" })
	f.produce(&kgo.Record{Value: []byte("x"), Headers: []kgo.RecordHeader{header("x-delay", "1s")}})
	f.reachesEnd(time.Minute)
	if n := strings.Count(p.log(), "retention.ms=1000000"); n != 1 {
		t.Errorf("the log says it %d times", n)
	}
	var fix string
	for line := range strings.Lines(p.log()) {
		var entry struct{ Msg, ID, Fix string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "preflight finding" && entry.ID == "retention" {
			fix, _, _ = strings.Cut(entry.Fix, ";")
		}
	}
	f.inContainer(strings.ReplaceAll(fix, f.broker.addr, "localhost:9094"))
	p.says(2*time.Minute, "preflight finding is gone", `"id":"retention"`)
	if found := p.findings(); len(found) != 0 {
		t.Errorf("there is still %v", found)
	}
	p.terminate()
}

// TestAFailedCheckEndsTheStart with exit code 1, before the group is joined; mended, the
// same settings start and deliver.
func TestAFailedCheckEndsTheStart(t *testing.T) {
	t.Parallel()
	f := onSharedBroker(t, 2)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := f.admin.DeleteTopics(ctx, f.deadLetters); err != nil {
		t.Fatal(err)
	}
	f.retention("1000000")
	f.produce(&kgo.Record{Value: []byte("x"), Headers: []kgo.RecordHeader{header("x-delay", "0s")}})
	p := start(t, f.settings("LAYOVER_PREFLIGHT=fail")...)
	if code := p.wait(time.Minute); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	for id, words := range map[string][]string{"topics": {f.deadLetters, "kafka-topics.sh"}, "retention": {"retention.ms=1000000", "kafka-configs.sh"}} {
		p.says(time.Second, append(words, "preflight check failed", `"id":"`+id+`"`)...)
	}
	p.says(time.Second, "layover run: preflight: failed: topics, retention; mend that, or set LAYOVER_PREFLIGHT=warn")
	ends, err := f.ends(f.egress)
	if err != nil || ends[0]+ends[1] != 0 {
		t.Errorf("delivered: %v, %v", ends, err)
	}
	groups, err := f.admin.ListGroups(ctx)
	if err != nil || slices.Contains(groups.Groups(), f.group) {
		t.Errorf("the group was joined: %v, %v", groups.Groups(), err)
	}
	f.createTopic(f.deadLetters, 1, nil)
	f.retention("-1")
	p = f.layover("LAYOVER_PREFLIGHT=fail")
	f.reachesEnd(time.Minute)
	if found := p.findings(); len(found) != 0 {
		t.Errorf("it finds %v", found)
	}
	p.terminate()
}

// TestWithAFailingPreflightAKafkaThatIsDownIsWaitedFor, and the record is delivered then.
func TestWithAFailingPreflightAKafkaThatIsDownIsWaitedFor(t *testing.T) {
	long(t)
	t.Parallel()
	f := onOwnBroker(t, 1)
	f.produce(&kgo.Record{Value: []byte("x"), Headers: []kgo.RecordHeader{header("x-delay", "1s")}})
	if err := f.broker.stop(); err != nil {
		t.Fatal(err)
	}
	p := start(t, f.settings("LAYOVER_PREFLIGHT=fail")...)
	p.ready(time.Minute)
	if _, body := p.get("/readyz"); !strings.HasPrefix(body, "degraded: Kafka") {
		t.Errorf("/readyz: %s", body)
	}
	if err := f.broker.start(); err != nil {
		t.Fatal(err)
	}
	f.reachesEnd(2 * time.Minute)
	p.terminate()
}
