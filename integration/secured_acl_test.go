package integration

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// right is one ACL of the user layover: an operation on a topic, or on the group.
type right struct {
	topic, group string
	operation    kadm.ACLOperation
}

func (r right) builder() *kadm.ACLBuilder {
	b := kadm.NewACLs().Allow("User:layover").AllowHosts("*").Operations(r.operation).ResourcePatternType(kadm.ACLPatternLiteral)
	if r.topic != "" {
		return b.Topics(r.topic)
	}
	return b.Groups(r.group)
}

// rights are those of docs/acls.md for a fixture, each by itself.
func (f *fixture) rights() (all []right) {
	for topic, operations := range map[string][]kadm.ACLOperation{
		f.ingress:     {kadm.OpRead, kadm.OpDescribe, kadm.OpDescribeConfigs},
		f.egress:      {kadm.OpWrite, kadm.OpDescribe, kadm.OpDescribeConfigs},
		f.deadLetters: {kadm.OpWrite, kadm.OpDescribe, kadm.OpDescribeConfigs},
		f.journal():   {kadm.OpCreate, kadm.OpDescribe, kadm.OpDescribeConfigs, kadm.OpRead, kadm.OpWrite, kadm.OpAlter, kadm.OpDelete},
		f.runs():      {kadm.OpCreate, kadm.OpDescribe, kadm.OpDescribeConfigs, kadm.OpRead, kadm.OpWrite, kadm.OpAlter, kadm.OpDelete},
	} {
		for _, operation := range operations {
			all = append(all, right{topic: topic, operation: operation})
		}
	}
	return append(all, right{group: f.group, operation: kadm.OpRead})
}

func (f *fixture) grant(r right) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), 30*time.Second)
	defer cancel()
	done, err := f.admin.CreateACLs(ctx, r.builder())
	if err == nil && len(done) > 0 {
		err = done[0].Err
	}
	if err != nil {
		f.Fatal(err)
	}
}

// TestEachRightThatIsMissingIsNamed: with all rights but one, Layover lives and says which
// one is missing. Once it is granted, everything flows. A right that nothing can do without
// is taken from a Layover that runs as well.
func TestEachRightThatIsMissingIsNamed(t *testing.T) {
	long(t)
	t.Parallel()
	f, s := onSecuredBroker(t, true)
	f.setPassword(kadm.ScramSha256, "password")
	for name, c := range map[string]struct {
		missing func(f *fixture) []right // Read and Write include Describe
		names   func(f *fixture) []string
	}{
		"Read on the ingress topic": {func(f *fixture) []right { return []right{{topic: f.ingress, operation: kadm.OpRead}} },
			func(f *fixture) []string { return []string{"allow Read on topic " + f.ingress} }},
		"any right on the ingress topic": {func(f *fixture) []right {
			return []right{{topic: f.ingress, operation: kadm.OpRead}, {topic: f.ingress, operation: kadm.OpDescribe}}
		}, func(f *fixture) []string { return []string{"allow Read on topic " + f.ingress} }},
		"Read on the group": {func(f *fixture) []right { return []right{{group: f.group, operation: kadm.OpRead}} },
			func(f *fixture) []string { return []string{"allow Read on group " + f.group} }},
		"Write on the egress topic": {func(f *fixture) []right { return []right{{topic: f.egress, operation: kadm.OpWrite}} },
			func(f *fixture) []string { return []string{"allow Write on this topic", f.egress} }},
		"any right on the egress topic": {func(f *fixture) []right {
			return []right{{topic: f.egress, operation: kadm.OpWrite}, {topic: f.egress, operation: kadm.OpDescribe}}
		}, func(f *fixture) []string { return []string{"allow Write on topic " + f.egress} }},
		"Write on the dead-letter topic": {func(f *fixture) []right { return []right{{topic: f.deadLetters, operation: kadm.OpWrite}} },
			func(f *fixture) []string { return []string{"allow Write on this topic", f.deadLetters} }},
		"DescribeConfigs on the ingress topic": {func(f *fixture) []right { return []right{{topic: f.ingress, operation: kadm.OpDescribeConfigs}} },
			func(f *fixture) []string { return []string{"DescribeConfigs on topic " + f.ingress} }},
		"Create on the journal": {func(f *fixture) []right { return []right{{topic: f.journal(), operation: kadm.OpCreate}} },
			func(f *fixture) []string { return []string{"allow Create on topic " + f.journal()} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, s.broker, 1)
			missing := c.missing(f)
			for _, r := range f.rights() {
				isMissing := false
				for _, m := range missing {
					isMissing = isMissing || r == m
				}
				if !isMissing {
					f.grant(r)
				}
			}
			p := start(t, f.settings("KAFKA_BROKERS="+s.clear, "KAFKA_SASL_MECHANISM=SCRAM-SHA-256", "KAFKA_SASL_USERNAME=layover", "KAFKA_SASL_PASSWORD=password")...)
			f.produce(
				&kgo.Record{Key: []byte("good"), Headers: []kgo.RecordHeader{header("x-delay", "1s")}},
				&kgo.Record{Key: []byte("bad"), Headers: []kgo.RecordHeader{header("x-delay", "soon")}},
			)
			p.says(time.Minute, c.names(f)...)
			if code, _ := p.get("/livez"); code != http.StatusOK {
				t.Errorf("not alive: %d", code)
			}
			for _, r := range missing {
				f.grant(r)
			}
			eventually(t, time.Minute, "a delivery and a dead letter", func() bool {
				good, err1 := f.ends(f.egress)
				bad, err2 := f.ends(f.deadLetters)
				return err1 == nil && err2 == nil && good[0] == 1 && bad[0] == 1
			})
			f.reachesEnd(time.Minute)
			p.terminate()
		})
	}
}
