package daemon

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"layover/verify/kafkatest"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// allRights are those of docs/acls.md.
func allRights() (out []kfake.ACL) {
	add := func(resource kmsg.ACLResourceType, name string, operations ...kmsg.ACLOperation) {
		for _, o := range operations {
			out = append(out, kfake.ACL{Resource: resource, Name: name, Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: o, Allow: true})
		}
	}
	add(kmsg.ACLResourceTypeTopic, ingress, kmsg.ACLOperationRead, kmsg.ACLOperationDescribe, kmsg.ACLOperationDescribeConfigs)
	for _, topic := range []string{egress, dlq} {
		add(kmsg.ACLResourceTypeTopic, topic, kmsg.ACLOperationWrite, kmsg.ACLOperationDescribe, kmsg.ACLOperationDescribeConfigs)
	}
	for _, topic := range []string{journalTopic, journalTopic + ".runs"} {
		add(kmsg.ACLResourceTypeTopic, topic, kmsg.ACLOperationCreate, kmsg.ACLOperationDescribe, kmsg.ACLOperationDescribeConfigs,
			kmsg.ACLOperationRead, kmsg.ACLOperationWrite, kmsg.ACLOperationAlter, kmsg.ACLOperationDelete)
	}
	add(kmsg.ACLResourceTypeGroup, "layover-"+ingress, kmsg.ACLOperationRead)
	return out
}

// without are all rights but one.
func without(resource string, operation kmsg.ACLOperation) (out []kfake.ACL) {
	for _, one := range allRights() {
		if one.Name != resource || one.Operation != operation {
			out = append(out, one)
		}
	}
	return out
}

// aclOf is a right as the log names it.
func aclOf(resource string, operation kmsg.ACLOperation) string {
	on := "topic"
	switch {
	case resource == group:
		on = "group"
	case operation == kmsg.ACLOperationWrite && resource != journalTopic: // a target is found mended once it may be described
		return "Allow Write, Describe and DescribeConfigs on topic " + resource
	}
	name := map[kmsg.ACLOperation]string{
		kmsg.ACLOperationRead: "Read", kmsg.ACLOperationWrite: "Write", kmsg.ACLOperationCreate: "Create",
		kmsg.ACLOperationAlter: "Alter", kmsg.ACLOperationDescribeConfigs: "DescribeConfigs",
	}[operation]
	return fmt.Sprintf("allow %s on %s %s", name, on, resource)
}

// right is one right as kadm has it.
func right(resource string, operation kmsg.ACLOperation) *kadm.ACLBuilder {
	b := kadm.NewACLs().Allow("User:layover").AllowHosts().Operations(operation).ResourcePatternType(kadm.ACLPatternLiteral)
	if resource == group {
		return b.Groups(resource)
	}
	return b.Topics(resource)
}

func (w *fixture) grant(resource string, operation kmsg.ACLOperation) {
	w.Helper()
	if _, err := w.Admin().CreateACLs(context.Background(), right(resource, operation)); err != nil {
		w.Fatal(err)
	}
}

func (w *fixture) takeAway(resource string, operation kmsg.ACLOperation) {
	w.Helper()
	out, err := w.Admin().DeleteACLs(context.Background(), right(resource, operation))
	if err != nil || len(out) != 1 || len(out[0].Deleted) != 1 {
		w.Fatal(out, err)
	}
}

// names checks that the log names an ACL, each of its lines at most once in 30 s.
func (in *instance) names(acl string) {
	in.w.Helper()
	last := make(map[string]time.Time) // by the line without its time and error
	for line := range strings.Lines(in.logs.String()) {
		if !strings.Contains(line, "level=INFO") && strings.Contains(line, acl) {
			stamp, rest, _ := strings.Cut(strings.TrimPrefix(line, "time="), " ")
			rest, _, _ = strings.Cut(rest, "err=")
			rest, _, _ = strings.Cut(rest, "text=")
			at, err := time.Parse(time.RFC3339, stamp)
			if err != nil {
				in.w.Fatal(err)
			}
			if was, again := last[rest]; again && at.Sub(was) < 30*time.Second {
				in.w.Errorf("again after %v: %s", at.Sub(was), line)
			}
			last[rest] = at
		}
	}
	if len(last) == 0 {
		in.w.Errorf("the log does not name %s", acl)
	}
}

// TestEachRightThatIsMissingIsNamed, in the log and in /status, and nothing is lost: once
// it is granted everything goes on by itself.
func TestEachRightThatIsMissingIsNamed(t *testing.T) {
	long.Only(t)
	for _, test := range []struct {
		resource  string
		operation kmsg.ACLOperation
		quiet     bool // nothing is sick, and one line in the log is enough
	}{
		{ingress, kmsg.ACLOperationRead, false},
		{ingress, kmsg.ACLOperationDescribeConfigs, true},
		{egress, kmsg.ACLOperationWrite, false},
		{egress, kmsg.ACLOperationDescribeConfigs, true},
		{dlq, kmsg.ACLOperationWrite, false},
		{dlq, kmsg.ACLOperationDescribeConfigs, true},
		{group, kmsg.ACLOperationRead, false},
		{journalTopic, kmsg.ACLOperationCreate, false},
		{journalTopic, kmsg.ACLOperationWrite, false},
		{journalTopic, kmsg.ACLOperationDescribeConfigs, true},
	} {
		acl := aclOf(test.resource, test.operation)
		t.Run(acl, func(t *testing.T) {
			inGuardedBubble(t, without(test.resource, test.operation), func(w *fixture) {
				in := w.start(login()...)
				time.Sleep(15 * time.Second)
				w.send(0, "good", header("x-delay", "1s"))
				w.send(0, "bad", header("x-delay", "soon"))
				time.Sleep(3 * time.Minute)
				in.names(acl)
				if sick := in.sick(); test.quiet != (len(sick) == 0) {
					t.Errorf("sick: %q", sick)
				}
				if _, body := in.get("/status"); !test.quiet && !strings.Contains(body, acl) {
					t.Errorf("/status does not name %s: %s", acl, body)
				}
				w.grant(test.resource, test.operation)
				w.arrives(egress, 1, 2*time.Minute)
				w.arrives(dlq, 1, 2*time.Minute)
				w.Until(2*time.Minute, "nothing is sick", func() bool { return len(in.sick()) == 0 })
				in.stop()
			})
		})
	}
}

// inGuardedBubble is inBubble with a broker that wants a login and authorizes.
func inGuardedBubble(t *testing.T, acls []kfake.ACL, f func(w *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f(fixtureOf(kafkatest.StartGuarded(t, 1, acls, kfake.SeedTopics(2, ingress), kfake.SeedTopics(2, egress), kfake.SeedTopics(1, dlq))))
	})
}

// TestEachRightThatIsTakenAwayIsNamed while Layover runs, with its journal in use.
func TestEachRightThatIsTakenAwayIsNamed(t *testing.T) {
	long.Only(t)
	for _, test := range []struct {
		resource  string
		operation kmsg.ACLOperation
		provoke   func(w *fixture, in *instance) *instance
	}{
		{ingress, kmsg.ACLOperationRead, stay},
		{group, kmsg.ACLOperationRead, stay},
		{journalTopic, kmsg.ACLOperationRead, func(w *fixture, in *instance) *instance {
			in.stop()
			return w.start(login()...)
		}},
		{journalTopic, kmsg.ACLOperationAlter, func(w *fixture, in *instance) *instance {
			if resp, err := w.Admin().UpdatePartitions(context.Background(), 3, ingress); err != nil || resp.Error() != nil {
				w.Fatal(err, resp.Error())
			}
			return in
		}},
	} {
		acl := aclOf(test.resource, test.operation)
		t.Run(acl, func(t *testing.T) {
			inGuardedBubble(t, allRights(), func(w *fixture) {
				in := w.start(login()...)
				in.ready()
				w.scattered(8000)
				w.takeAway(test.resource, test.operation)
				in = test.provoke(w, in)
				for range 6 {
					w.sendMany(0, 0, 2000, func(i int) []kgo.RecordHeader {
						return []kgo.RecordHeader{header("x-delay", [...]string{"5h", "0s"}[i%2])}
					})
					time.Sleep(30 * time.Second)
				}
				in.names(acl)
				w.grant(test.resource, test.operation)
				w.send(1, "after", header("x-delay", "1s"))
				w.Until(2*time.Minute, "it is delivered", func() bool { return w.count(egress) >= 4000+6*1000+1 })
				in.stop()
			})
		})
	}
}

// stay has the instance run on.
func stay(_ *fixture, in *instance) *instance { return in }
