package integration

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	tcexec "github.com/testcontainers/testcontainers-go/exec"
	"github.com/twmb/franz-go/pkg/kadm"
)

// TestTheDoctorFindsEachMissingRightAndItsCommandGivesIt: with all rights of docs/acls.md
// nothing is bad. Each one that is left out is found by itself, and the command that is
// printed, carried out, makes it well.
func TestTheDoctorFindsEachMissingRightAndItsCommandGivesIt(t *testing.T) {
	long(t)
	t.Parallel()
	f, s := onSecuredBroker(t, true)
	f.setPassword(kadm.ScramSha256, "password")
	login := []string{"KAFKA_BROKERS=" + s.clear, "KAFKA_SASL_MECHANISM=SCRAM-SHA-256", "KAFKA_SASL_USERNAME=layover", "KAFKA_SASL_PASSWORD=password"}
	for _, made := range []bool{false, true} { // the topics of Layover's own are there, too
		f := newFixture(t, s.broker, 1)
		if made {
			f.createTopic(f.journal(), 1, nil)
			f.createTopic(f.runs(), 1, map[string]string{"retention.ms": "-1", "segment.bytes": "67108864", "max.message.bytes": "1114124"})
		}
		ids := map[string]string{f.ingress: "acl-ingress", f.egress: "acl-targets", f.deadLetters: "acl-dead-letters", f.journal(): "acl-journal", f.runs(): "acl-runs", "": "acl-group"}
		for _, r := range f.rights() {
			f.grant(r)
		}
		f.becomes("acl-group", "ok", login...).fine("settings") // which has SCRAM without TLS
		for _, missing := range f.rights() {
			if missing.operation == kadm.OpDescribe { // Read, Write, Alter and Delete include it
				continue
			}
			if made && missing.operation == kadm.OpCreate { // a topic that is there wants none
				continue
			}
			f.withdraw(missing)
			right := missing.operation.String()
			name := operationName(right)
			id, status := ids[missing.topic], "fail"
			if missing.operation == kadm.OpDescribeConfigs || missing.topic == f.journal() || missing.topic == f.runs() {
				status = "warn"
			}
			bad := []string{id, "settings"}
			if missing.topic == f.runs() { // where nothing can be moved, a week is not enough for a month
				bad = append(bad, "retention")
			}
			c := f.becomes(id, status, login...)
			c.fine(bad...)
			fix := c.says(id, status, name, "--command-config admin.properties --add --allow-principal User:layover", "--operation "+name).Fix
			f.mend(fix)
			f.becomes(id, "ok", login...).fine("settings")
		}
	}
	none := newFixture(t, s.broker, 1)
	c := doctor(t, none.settings(login...)...)
	for _, id := range []string{"acl-ingress", "acl-targets", "acl-dead-letters", "acl-group"} {
		c.says(id, "fail")
		none.mendAll(c.by[id].Fix)
	}
	c.says("clock", "unknown", "--cluster --operation Describe")
	c.says("offsets-retention", "unknown", "--cluster --operation DescribeConfigs")
	c.says("topics", "unknown")
	none.mendAll(c.by["acl-journal"].Fix)
	none.mendAll(c.by["acl-runs"].Fix)
	none.mendAll(c.by["clock"].Fix)
	none.mendAll(c.by["offsets-retention"].Fix)
	c = none.becomes("offsets-retention", "ok", login...)
	c.fine("settings")
	c.says("clock", "ok")
	c.says("offsets-retention", "ok")
}

// mendAll carries out each line of a fix.
func (f *fixture) mendAll(fix string) {
	f.Helper()
	for line := range strings.Lines(fix) {
		if strings.HasPrefix(line, "kafka-") {
			f.mend(line)
		}
	}
}

// operationName writes an operation as kafka-acls.sh does: DESCRIBE_CONFIGS is DescribeConfigs.
func operationName(operation string) (out string) {
	for word := range strings.SplitSeq(strings.ToLower(operation), "_") {
		out += strings.ToUpper(word[:1]) + word[1:]
	}
	return out
}

// withdraw takes a right away.
func (f *fixture) withdraw(r right) {
	f.Helper()
	if done, err := f.admin.DeleteACLs(f.Context(), r.builder()); err != nil || len(done) == 0 || done[0].Err != nil {
		f.Fatal(done, err)
	}
}

// TestTheDoctorFindsMembersThatAreHidden: brokers do not describe a group of the newer
// protocol (KIP-848) to who may not describe its topics.
func TestTheDoctorFindsMembersThatAreHidden(t *testing.T) {
	long(t)
	t.Parallel()
	f, s := onSecuredBroker(t, true)
	f.setPassword(kadm.ScramSha256, "password")
	login := []string{"KAFKA_BROKERS=" + s.clear, "KAFKA_SASL_MECHANISM=SCRAM-SHA-256", "KAFKA_SASL_USERNAME=layover", "KAFKA_SASL_PASSWORD=password"}
	for _, r := range f.rights() {
		f.grant(r)
	}
	hidden := "hidden-" + f.ingress
	f.createTopic(hidden, 1, nil)
	f.becomes("group-members", "ok", login...)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.broker.container.Exec(t.Context(), []string{"timeout", "30", "/opt/kafka/bin/kafka-console-consumer.sh", "--bootstrap-server", "localhost:9094",
			"--topic", hidden, "--group", f.group, "--command-property", "group.protocol=consumer"}, tcexec.Multiplexed())
	}()
	c := f.becomes("group-members", "fail", login...)
	c.says("group-members", "fail", "consumer (KIP-848)", "TOPIC_AUTHORIZATION_FAILED", "LAYOVER_GROUP_ID")
	c.says("acl-group", "ok")
	c.says("instances", "unknown")
	<-done
}

// TestTheDoctorOnARefusedConnection: the doctor finds each fault where it is, in
// seconds. The faults are a wrong authority, a wrong name, no TLS, a wrong password and
// a mechanism for which the user has no password.
func TestTheDoctorOnARefusedConnection(t *testing.T) {
	long(t)
	t.Parallel()
	f, s := onSecuredBroker(t, false)
	f.setPassword(kadm.ScramSha256, "password")
	right := []string{"KAFKA_BROKERS=" + s.login, s.trust(), "KAFKA_SASL_MECHANISM=SCRAM-SHA-256", "KAFKA_SASL_USERNAME=layover", "KAFKA_SASL_PASSWORD=password"}
	for name, c := range map[string]struct {
		set   []string
		id    string
		words []string
	}{
		"another authority": {[]string{"KAFKA_TLS_CA_FILE=" + filepath.Join(s.dir, "other.pem")}, "tls", []string{"of no authority that is trusted here", "KAFKA_TLS_CA"}},
		"another name":      {[]string{"KAFKA_TLS_SERVER_NAME=kafka.example.com"}, "tls", []string{"is for other names", "KAFKA_TLS_SERVER_NAME"}},
		"no TLS":            {[]string{"KAFKA_TLS_CA_FILE=", "KAFKA_TLS_ENABLED=false"}, "tls", []string{"KAFKA_TLS_ENABLED"}},
		"a wrong password":  {[]string{"KAFKA_SASL_PASSWORD=wrong"}, "login", []string{"does not take the login", "KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD"}},
		"no such user":      {[]string{"KAFKA_SASL_MECHANISM=SCRAM-SHA-512"}, "login", []string{"KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			got := doctor(t, f.settings(append(append([]string{}, right...), c.set...)...)...)
			if took := time.Since(began); took > 15*time.Second {
				t.Errorf("took %v", took)
			}
			got.fine(c.id, "tls", "settings") // the test's certificates last for a day
			got.says(c.id, "fail", c.words...)
			got.says("broker-answers", "ok")
			got.says("topics", "skipped", "as "+c.id+" failed")
		})
	}
	t.Run("nothing is wrong", func(t *testing.T) {
		t.Parallel()
		got := doctor(t, f.settings(right...)...)
		got.fine("tls")
		got.says("tls", "warn", "the certificate of "+s.login+" (CN=broker) expires on ", "renewed")
		got.says("login", "ok", "SCRAM-SHA-256")
	})
}
