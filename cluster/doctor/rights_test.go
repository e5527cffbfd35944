package doctor

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"layover/verify/kafkatest"
)

const topicACL = kmsg.ACLResourceTypeTopic

// acl allows operations on one resource.
func acl(kind kmsg.ACLResourceType, name string, operations ...kmsg.ACLOperation) (out []kfake.ACL) {
	for _, operation := range operations {
		out = append(out, kfake.ACL{Resource: kind, Name: name, Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: operation, Allow: true})
	}
	return out
}

// guarded is a broker with topics that authorizes by ACLs, and the usual settings with a login.
func guarded(t *testing.T, acls []kfake.ACL, topics []string, variables ...string) *fixture {
	w := &fixture{Cluster: kafkatest.StartGuarded(t, 1, acls, kfake.SeedTopics(2, topics...))}
	w.cfg = settings(t, append(variables, "KAFKA_BROKERS="+w.Addr(), "KAFKA_SASL_MECHANISM=SCRAM-SHA-512", "KAFKA_SASL_USERNAME="+kafkatest.User, "KAFKA_SASL_PASSWORD="+kafkatest.Password)...)
	return w
}

// TestRightsOnAGuardedCluster: of a login without rights each one is missing, and with
// those of the document none is.
func TestRightsOnAGuardedCluster(t *testing.T) {
	full := slices.Concat(
		acl(topicACL, "delayed", kmsg.ACLOperationRead, kmsg.ACLOperationDescribeConfigs), acl(topicACL, "ready", kmsg.ACLOperationWrite, kmsg.ACLOperationDescribeConfigs),
		acl(topicACL, "dead", kmsg.ACLOperationWrite, kmsg.ACLOperationDescribeConfigs), acl(kmsg.ACLResourceTypeGroup, "layover-delayed", kmsg.ACLOperationRead),
		acl(topicACL, "delayed.layover-delayed", kmsg.ACLOperationCreate, kmsg.ACLOperationRead, kmsg.ACLOperationWrite, kmsg.ACLOperationAlter, kmsg.ACLOperationDelete, kmsg.ACLOperationDescribeConfigs),
	)
	runs := acl(topicACL, runsName, kmsg.ACLOperationCreate, kmsg.ACLOperationRead, kmsg.ACLOperationWrite, kmsg.ACLOperationAlter, kmsg.ACLOperationDelete, kmsg.ACLOperationDescribeConfigs)
	for name, c := range map[string]struct {
		acls []kfake.ACL
		runs string // LAYOVER_RUNS
		want map[string]Status
	}{
		"none": {nil, "auto", map[string]Status{"acl-ingress": Fail, "acl-targets": Fail, "acl-dead-letters": Fail, "acl-group": Fail, "acl-journal": Warn, "acl-runs": Warn, "topics": Unknown, "group-members": Unknown}},
		"all":  {slices.Concat(full, runs), "auto", map[string]Status{"acl-ingress": OK, "acl-targets": OK, "acl-dead-letters": OK, "acl-group": OK, "acl-journal": OK, "acl-runs": OK, "topics": OK, "retention": OK, "group-members": OK}},
		// Those of before there were runs: nothing can be moved, and a week is not enough for a month.
		"all but for runs": {full, "auto", map[string]Status{"acl-journal": OK, "acl-runs": Warn, "topics": Unknown, "retention": Fail}},
		// Nor does a process move anything to a topic whose configuration it cannot read.
		"all but for the configuration of runs": {slices.Concat(full, runs[:len(runs)-1]), "auto", map[string]Status{"acl-runs": Warn, "topics": OK, "retention": Fail}},
		"all but for runs that are off":         {full, "off", map[string]Status{"acl-journal": OK, "acl-runs": Unknown, "topics": OK, "retention": OK, "runs-settings": Skipped}},
		"runs are off, and not there":           {slices.Concat(full, runs), "off", map[string]Status{"acl-runs": Skipped, "topics": OK, "runs-settings": Skipped}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := guarded(t, c.acls, []string{"delayed", "ready", "dead"}, "LAYOVER_RUNS="+c.runs)
				found := w.run()
				for id, status := range c.want {
					w.is(found[id], status)
				}
				w.is(found["login"], OK, "SCRAM-SHA-512")
				if status := found["acl-group"].Status; status == Fail {
					w.is(found["acl-group"], Fail, "--command-config admin.properties --add --allow-principal User:layover --group layover-delayed --operation Read")
				}
			})
		})
	}
}

// TestCreateOnTheClusterIsARightToJournalsAndRuns, as docs/journal.md and docs/runs.md say: on
// the topic, or the cluster. A topic that is there wants none.
func TestCreateOnTheClusterIsARightToJournalsAndRuns(t *testing.T) {
	const journal = "delayed.layover-delayed"
	acls := acl(kmsg.ACLResourceTypeCluster, "kafka-cluster", kmsg.ACLOperationCreate)
	for _, name := range []string{journal, runsName} {
		acls = append(acls, acl(topicACL, name, kmsg.ACLOperationRead, kmsg.ACLOperationWrite, kmsg.ACLOperationAlter, kmsg.ACLOperationDelete, kmsg.ACLOperationDescribeConfigs)...)
	}
	for state, topics := range map[string][]string{"missing": {"delayed"}, "there": {"delayed", journal, runsName}} {
		t.Run(state, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := guarded(t, acls, topics)
				found := w.run()
				w.is(found["acl-journal"], OK)
				w.is(found["acl-runs"], OK)
			})
		})
	}
}
