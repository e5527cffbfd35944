package doctor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"layover/cluster"
	"layover/cluster/connect"
	"layover/config"
	"layover/verify/long"
)

func TestWhereAllIsWellNothingIsBad(t *testing.T) {
	for _, protocol := range []string{"layover-2", "cooperative-sticky", ""} { // with older members, or while it is being chosen
		all := healthy(t, "LAYOVER_EVENTS_TOPIC=events")
		all.group.protocol = protocol
		for _, f := range judge(all) {
			if f.Status != OK && f.ID != "tls" || f.Found == "" || f.Why == "" || f.Fix != "" {
				t.Errorf("protocol %q: %+v", protocol, f)
			}
		}
	}
}

// TestEachFaultIsFoundByItsCheckAlone: a fault makes one check bad, and those that are
// listed with it. What is found and what mends it are in the finding.
func TestEachFaultIsFoundByItsCheckAlone(t *testing.T) {
	for name, c := range map[string]struct {
		set    []string
		fault  func(f *facts)
		id     string
		status Status
		found  string
		fix    string
	}{
		"no name of a broker resolves": {nil, func(f *facts) { f.seeds[0].err, f.err = errors.New("no such host"), errNotAsked },
			"broker-names", Fail, "kafka:9092 does not resolve: no such host", "correct KAFKA_BROKERS"},
		"one of two names resolves": {nil, func(f *facts) { f.seeds = append(f.seeds, host{address: "b:1", err: errors.New("no such host")}) },
			"broker-names", Warn, "b:1 does not resolve", "KAFKA_BROKERS"},
		"no broker answers": {nil, func(f *facts) { f.err, f.explain = errors.New("x"), "connection refused" },
			"broker-answers", Fail, "kafka:9092: connection refused", "whether the brokers run"},
		"a certificate of another authority": {nil, func(f *facts) {
			f.err = errors.New("x")
			f.refuse(connect.ReasonTLS, "KAFKA_TLS_CA", "of no authority that is trusted here")
		}, "tls", Fail, "of no authority that is trusted here", "look at KAFKA_TLS_CA"},
		"no TLS where brokers want it": {nil, func(f *facts) {
			f.err = errors.New("x")
			f.refuse(connect.ReasonProtocol, "KAFKA_TLS_ENABLED and the port in KAFKA_BROKERS", "wants TLS")
		}, "tls", Fail, "wants TLS", "KAFKA_TLS_ENABLED"},
		"a wrong password": {nil, func(f *facts) {
			f.err = errors.New("x")
			f.refuse(connect.ReasonLogin, "KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD", "does not take the login")
		}, "login", Fail, "does not take the login", "KAFKA_SASL_PASSWORD"},
		"a certificate of a broker that ends soon": {nil, func(f *facts) {
			f.status.TLS, f.status.Peers = true, []connect.Peer{{Broker: "kafka:9092", Subject: "CN=kafka", NotAfter: noon.Add(3*day + time.Hour)}}
		}, "tls", Warn, "CN=kafka) expires on 2030-01-04, in 3 days", "renewed by who runs them"},
		"a client certificate that has ended": {nil, func(f *facts) {
			f.status.TLS, f.status.Certificates = true, []connect.Certificate{{Variable: "KAFKA_TLS_CERT", NotAfter: noon.Add(-day)}}
		}, "tls", Fail, "has expired on 2029-12-31", "renew the certificate in KAFKA_TLS_CERT"},
		"any certificate is taken": {nil, func(f *facts) { f.status.TLS, f.status.InsecureSkipVerify = true, true }, "tls", Warn, "read and change everything", "unset KAFKA_TLS_INSECURE_SKIP_VERIFY"},
		"a name that does not resolve here": {nil, func(f *facts) {
			f.brokers[1].host = host{address: "broker-1:9092", err: errors.New("no such host")}
			f.brokers[1].err = f.brokers[1].host.err
		}, "advertised-names", Fail, "broker 1 advertises broker-1:9092, which does not resolve here", "KAFKA_ADVERTISED_LISTENERS=...,NAME://HOST:PORT"},
		"localhost of a container": {nil, func(f *facts) {
			f.brokers = f.brokers[:1]
			f.brokers[0].host = host{address: "localhost:9092", ips: []string{"::1"}}
			f.brokers[0].err = errors.New("connection refused")
		}, "advertised-names", Fail, "localhost:9092, which is this machine or container itself", "such as kafka, by one of\nKAFKA_ADVERTISED_LISTENERS=...,NAME://kafka:9092"},
		"a missing ingress topic": {nil, func(f *facts) {
			f.topics["delayed"], f.seen = topic{err: kerr.UnknownTopicOrPartition, rights: all}, []string{"ready", "delayd", "orders"}
			f.journal(kerr.UnknownTopicOrPartition, nil)
			f.runs(kerr.UnknownTopicOrPartition, nil)
		}, "topics", Fail, "ingress topic delayed does not exist, the nearest name is delayd", "set LAYOVER_INGRESS_TOPICS to delayd, if that is meant, or make the topic:\nkafka-topics.sh --bootstrap-server kafka:9092 --create --topic delayed --partitions 1 --config retention.ms=604800000 --config retention.bytes=-1 --config cleanup.policy=delete"},
		"a missing topic of a list": {[]string{"LAYOVER_INGRESS_TOPICS=delayed,retry", "LAYOVER_GROUP_ID=g", "LAYOVER_TOPIC_TARGETS=retry=redo"}, func(f *facts) {
			f.topics["redo"], f.seen, f.group.members = topic{err: kerr.UnknownTopicOrPartition, rights: all}, []string{"retry", "redone"}, nil
		}, "topics", Fail, "target redo does not exist, the nearest name is redone", "write redone instead of redo in LAYOVER_TOPIC_TARGETS, if that is meant"},
		"a missing topic that is like no other": {nil, func(f *facts) {
			f.topics["dead"], f.seen = topic{err: kerr.UnknownTopicOrPartition, rights: all}, []string{"orders"}
		},
			"topics", Fail, "dead-letter topic dead does not exist", "kafka-topics.sh --bootstrap-server kafka:9092 --create --topic dead --partitions 2"},
		"a missing target that headers may choose": {[]string{"LAYOVER_TARGETS_ALLOWED=orders"}, func(f *facts) { f.topics["orders"] = topic{err: kerr.UnknownTopicOrPartition, rights: all} },
			"topics", Warn, "allowed target orders does not exist", "--create --topic orders"},
		"too few partitions": {[]string{"LAYOVER_PARTITION=same"}, func(f *facts) { f.cut("ready") },
			"topics", Fail, "target ready has 1 partition and delayed has 2", "--alter --topic ready --partitions 2"},
		"no leader": {nil, func(f *facts) { f.topics["delayed"].partitions[0].leader = -1 }, "replicas", Fail, "ingress topic delayed has 1 partition without a leader", "--unavailable-partitions"},
		"no leader of a target that headers may choose": {[]string{"LAYOVER_TARGETS_ALLOWED=orders"}, func(f *facts) { f.topics["orders"].partitions[0].leader = -1 }, "replicas", Warn, "allowed target orders has 1 partition without a leader", "--unavailable-partitions"},
		"too few in sync of such a target":              {[]string{"LAYOVER_TARGETS_ALLOWED=orders"}, func(f *facts) { f.topics["orders"].partitions[1].inSync = 1 }, "replicas", Warn, "1 replica in sync", "--under-min-isr-partitions"},
		"too few in sync":                               {nil, func(f *facts) { f.topics["ready"].partitions[1].inSync = 1 }, "replicas", Fail, "1 replica in sync, and min.insync.replicas=2", "--under-min-isr-partitions"},
		"one more missing is too many":                  {nil, func(f *facts) { f.topics["ready"].partitions[1].inSync = 2 }, "replicas", Warn, "2 of 3 replicas in sync, and min.insync.replicas=2", "--at-min-isr-partitions"},
		"more wanted than are":                          {nil, func(f *facts) { f.configs["ready"].of["min.insync.replicas"] = "4" }, "replicas", Warn, "min.insync.replicas=4 and 3 replicas: brokers before Kafka 3.7 take no record with acks=all, later ones take 3 for the minimum", "--add-config min.insync.replicas=2"},
		"more wanted than one broker has": {nil, func(f *facts) {
			f.brokers = f.brokers[:1]
			f.replicas("ready", 1, "2")
		}, "replicas", Warn, "target ready has min.insync.replicas=2 and 1 replica: brokers before Kafka 3.7 take no record with acks=all, later ones take 1 for", "--entity-name ready --add-config min.insync.replicas=1"},
		"more wanted than are, and one is missing": {nil, func(f *facts) {
			f.configs["ready"].of["min.insync.replicas"], f.topics["ready"].partitions[1].inSync = "4", 2
		}, "replicas", Fail, "2 replicas in sync, and min.insync.replicas=4: it takes no record with acks=all", "--under-min-isr-partitions"},
		"as many wanted as are":        {nil, func(f *facts) { f.configs["ready"].of["min.insync.replicas"] = "3" }, "replicas", Warn, "while one broker is down", "--add-config min.insync.replicas=2"},
		"one in sync is enough":        {nil, func(f *facts) { f.configs["ready"].of["min.insync.replicas"] = "1" }, "replicas", Warn, "an acknowledged record may be on one broker alone", "--entity-name ready --add-config min.insync.replicas=2"},
		"one replica of three brokers": {nil, func(f *facts) { f.replicas("ready", 1, "1") }, "replicas", Warn, "stands still while its broker is down", "kafka-reassign-partitions.sh"},
		"Read on ingress": {nil, func(f *facts) { f.deny("delayed", kmsg.ACLOperationRead) }, "acl-ingress", Fail, "Read on topic delayed: missing",
			"kafka-acls.sh --bootstrap-server kafka:9092 --add --allow-principal User:ANONYMOUS --topic delayed --operation Read"},
		"a topic that may not be seen": {nil, func(f *facts) {
			f.topics["ready"] = topic{err: kerr.TopicAuthorizationFailed}
			f.configs["ready"] = values{of: map[string]string{}}
		},
			"acl-targets", Fail, "Write, Describe on topic ready: missing", "--topic ready --operation Write --operation Describe"},
		"DescribeConfigs on a target": {nil, func(f *facts) { f.deny("ready", kmsg.ACLOperationDescribeConfigs) }, "acl-targets", Warn, "DescribeConfigs on topic ready: missing", "--topic ready --operation DescribeConfigs"},
		"Write on dead letters":       {nil, func(f *facts) { f.deny("dead", kmsg.ACLOperationWrite) }, "acl-dead-letters", Fail, "Write on topic dead: missing", "--topic dead --operation Write"},
		"Write on events":             {[]string{"LAYOVER_EVENTS_TOPIC=events"}, func(f *facts) { f.deny("events", kmsg.ACLOperationWrite) }, "acl-events", Fail, "Write on topic events: missing", "--topic events --operation Write"},
		"events that are missing":     {[]string{"LAYOVER_EVENTS_TOPIC=events"}, func(f *facts) { f.topics["events"] = topic{err: kerr.UnknownTopicOrPartition} }, "topics", Fail, "events topic events does not exist", "--create --topic events --partitions 2"},
		"events that are nearly there": {[]string{"LAYOVER_EVENTS_TOPIC=events"}, func(f *facts) {
			f.topics["events"], f.seen = topic{err: kerr.UnknownTopicOrPartition}, []string{"event"}
		}, "topics", Fail, "the nearest name is event", "set LAYOVER_EVENTS_TOPIC to event"},
		"Read on the group by bits": {nil, func(f *facts) { f.group.rights &^= 1 << kmsg.ACLOperationRead }, "acl-group", Fail, "Read on group layover-delayed: missing", "--group layover-delayed --operation Read"},
		"Read on the group by a refusal": {[]string{"LAYOVER_GROUP_ID=my group", "LAYOVER_JOURNAL=off"}, func(f *facts) { f.group.rights, f.group.readable = 0, kerr.GroupAuthorizationFailed },
			"acl-group", Fail, "Read on group my group: missing", "--group 'my group' --operation Read"},
		"Create on a journal that is not there": {nil, func(f *facts) { f.journal(kerr.UnknownTopicOrPartition, kerr.TopicAuthorizationFailed) }, "acl-journal", Warn, "Create on topic delayed.layover-delayed: missing", "--operation Create"},
		"a journal that a policy forbids":       {nil, func(f *facts) { f.journal(kerr.UnknownTopicOrPartition, kerr.PolicyViolation) }, "acl-journal", Warn, "POLICY_VIOLATION", ""},
		"a journal with a wrong name":           {[]string{"LAYOVER_GROUP_ID=my group", "LAYOVER_RUNS=off"}, func(f *facts) {}, "acl-journal", Warn, "no topic can have", "set LAYOVER_JOURNAL_TOPIC"},
		"Write on a runs topic": {nil, func(f *facts) { f.keepForever(); f.deny(runsName, kmsg.ACLOperationWrite) }, "acl-runs", Warn, "Write on topic delayed.layover-delayed.runs: missing",
			"--topic delayed.layover-delayed.runs --operation Write"},
		"Create on a runs topic that is not there": {nil, func(f *facts) { f.keepForever(); f.runs(kerr.UnknownTopicOrPartition, kerr.TopicAuthorizationFailed) }, "acl-runs", Warn,
			"Create on topic delayed.layover-delayed.runs: missing", "--operation Create"},
		"Delete on a runs topic":        {nil, func(f *facts) { f.deny(runsName, kmsg.ACLOperationDelete) }, "acl-runs", Warn, "Delete on topic", "--operation Delete"},
		"a runs topic that is too long": {[]string{"LAYOVER_GROUP_ID=" + strings.Repeat("g", 240)}, func(f *facts) {}, "acl-runs", Warn, "no topic can have", "set LAYOVER_GROUP_ID or LAYOVER_RUNS_TOPIC"},
		"Read on former runs":           {[]string{"LAYOVER_RUNS=off"}, func(f *facts) { f.deny(runsName, kmsg.ACLOperationRead) }, "acl-runs", Warn, "Read on topic delayed.layover-delayed.runs: missing", "--operation Read"},
		"rights to runs that nothing uses": {[]string{"LAYOVER_RUNS=off"}, func(f *facts) { f.deny(runsName, kmsg.ACLOperationWrite); f.deny(runsName, kmsg.ACLOperationCreate) }, "acl-runs", OK,
			"Describe, Read, Delete on topic delayed.layover-delayed.runs: allowed", ""},
		"no room for a month, where nothing can be moved": {nil, func(f *facts) { f.topics[runsName] = topic{err: kerr.TopicAuthorizationFailed} }, "retention", Fail,
			"retention.ms=604800000 is less than LAYOVER_MAX_DELAY plus a day", "or mend what acl-runs has found: six hours do where far-off records are moved\nor lower LAYOVER_MAX_DELAY, which is 30d"},
		"runs with a retention":       {nil, func(f *facts) { f.keepForever(); f.configs[runsName].of["retention.ms"] = "604800000" }, "runs-settings", Fail, "runs topic delayed.layover-delayed.runs: retention.ms=604800000 deletes records before they are delivered, by age", "--entity-name delayed.layover-delayed.runs --add-config retention.ms=-1"},
		"runs of a size":              {nil, func(f *facts) { f.keepForever(); f.configs[runsName].of["retention.bytes"] = "0" }, "runs-settings", Fail, "by size", "--add-config retention.bytes=-1"},
		"runs that are compacted":     {nil, func(f *facts) { f.keepForever(); f.configs[runsName].of["cleanup.policy"] = "compact" }, "runs-settings", Fail, "when their key comes again", "--add-config cleanup.policy=delete"},
		"runs of large segments":      {nil, func(f *facts) { f.configs[runsName].of["segment.bytes"] = "67108865" }, "runs-settings", Warn, "segment.bytes=67108865 keeps delivered records on disk for longer", "--add-config segment.bytes=67108864"},
		"runs of small segments":      {nil, func(f *facts) { f.configs[runsName].of["segment.bytes"] = "1048576" }, "runs-settings", OK, "deletes nothing by itself", ""},
		"former runs, retained":       {[]string{"LAYOVER_JOURNAL=off"}, func(f *facts) { f.configs[runsName].of["retention.ms"] = "0" }, "runs-settings", Fail, "former runs topic delayed.layover-delayed.runs: retention.ms=0", "retention.ms=-1"},
		"runs that take less":         {nil, func(f *facts) { f.configs[runsName].of["max.message.bytes"] = "1048587" }, "message-size", Warn, "delayed.layover-delayed.runs takes 1048587 bytes, less than the 1114124 that copies of delayed need: a larger one is not moved", "--add-config max.message.bytes=1114124"},
		"runs on one replica":         {nil, func(f *facts) { f.replicas(runsName, 1, "1") }, "replicas", Warn, "runs topic delayed.layover-delayed.runs has 1 replica", "kafka-reassign-partitions.sh"},
		"former runs without writers": {[]string{"LAYOVER_RUNS=off"}, func(f *facts) { f.topics[runsName].partitions[1].inSync = 1 }, "replicas", OK, "former runs topic delayed.layover-delayed.runs has a leader for each partition", ""},
		"former runs, no leader":      {[]string{"LAYOVER_RUNS=off"}, func(f *facts) { f.topics[runsName].partitions[1].leader = -1 }, "replicas", Fail, "1 partition without a leader", "--describe"},
		"runs that are not there yet": {nil, func(f *facts) { f.runs(kerr.UnknownTopicOrPartition, nil) }, "topics", OK, "runs topic delayed.layover-delayed.runs is not there yet, and is made at the start", ""},
		"no former runs":              {[]string{"LAYOVER_RUNS=off"}, func(f *facts) { f.runs(kerr.UnknownTopicOrPartition, nil) }, "topics", OK, "former runs topic delayed.layover-delayed.runs is not there, and is not needed", ""},
		"offsets for a week do":       {[]string{"LAYOVER_MAX_DELAY=90d"}, func(f *facts) {}, "offsets-retention", OK, "which is 7d", ""},
		"six hours, less a bit":       {nil, func(f *facts) { f.configs["delayed"].of["retention.ms"] = "21599999" }, "retention", Warn, "retention.ms=21599999 is less than the six hours that far-off records need", "--add-config retention.ms=21600000"},
		"six hours":                   {nil, func(f *facts) { f.configs["delayed"].of["retention.ms"] = "21600000" }, "retention", OK, "delayed keeps records for 6h, and six hours do, as far-off ones are moved, but for those with an id", ""},
		"minutes":                     {nil, func(f *facts) { f.configs["delayed"].of["retention.ms"] = "600000" }, "retention", Fail, "600000", "--entity-name delayed --add-config retention.ms=21600000"},
		"IAM": {[]string{"KAFKA_SASL_MECHANISM=AWS_MSK_IAM", "AWS_REGION=eu-west-1", "AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b"}, func(f *facts) { f.deny("ready", kmsg.ACLOperationWrite) },
			"acl-targets", Fail, "Write on topic ready: missing", "allow in the IAM policy, on topic ready: kafka-cluster:WriteData"},
		"a new file of a certificate that is wrong": {nil, func(f *facts) {
			f.status.TLS, f.status.Certificates = true, []connect.Certificate{{Variable: "KAFKA_TLS_CA", NotAfter: noon.Add(365 * day), Problem: "is no PEM"}}
		}, "tls", Warn, "KAFKA_TLS_CA is no PEM; the certificate from before stays in force", "correct what KAFKA_TLS_CA names"},
		"short retention": {[]string{"LAYOVER_RUNS=off"}, func(f *facts) { f.configs["delayed"].of["retention.ms"] = "86400000" }, "retention", Fail, "retention.ms=86400000 is less than LAYOVER_MAX_DELAY plus a day",
			"kafka-configs.sh --bootstrap-server kafka:9092 --alter --entity-type topics --entity-name delayed --add-config retention.ms=604800000\nor lower LAYOVER_MAX_DELAY, which is 6d"},
		"less than a day longer": {[]string{"LAYOVER_RUNS=off"}, func(f *facts) { f.configs["delayed"].of["retention.ms"] = "604799999" }, "retention", Warn, "604799999", "retention.ms=604800000"},
		"retention by size":      {nil, func(f *facts) { f.configs["delayed"].of["retention.bytes"] = "1000" }, "retention", Warn, "deletes by size", "retention.bytes=-1"},
		"compaction":             {nil, func(f *facts) { f.configs["delayed"].of["cleanup.policy"] = "compact,delete" }, "compaction", Fail, "when its key comes again", "--add-config cleanup.policy=delete"},
		"compacted dead letters": {nil, func(f *facts) { f.configs["dead"].of["cleanup.policy"] = "compact" }, "compaction", Warn, "dead has cleanup.policy=compact and refuses a dead letter without a key", "--entity-name dead --add-config cleanup.policy=delete"},
		"compacted, both": {nil, func(f *facts) {
			f.configs["dead"].of["cleanup.policy"], f.configs["delayed"].of["cleanup.policy"] = "compact,delete", "compact"
		}, "compaction", Fail, "dead has cleanup.policy=compact,delete", "--entity-name dead"},
		"compacted events, of records without an id": {[]string{"LAYOVER_EVENTS_TOPIC=events", "LAYOVER_ON_EXPIRED=drop"}, func(f *facts) { f.configs["events"].of["cleanup.policy"] = "compact" }, "compaction", Warn, "events has cleanup.policy=compact and refuses the event of an expired record without an id", "--entity-name events --add-config cleanup.policy=delete"},
		"compacted events, of ids alone":             {[]string{"LAYOVER_EVENTS_TOPIC=events"}, func(f *facts) { f.configs["events"].of["cleanup.policy"] = "compact" }, "compaction", OK, "events has cleanup.policy=compact", ""},
		"a compacted target":                         {nil, func(f *facts) { f.configs["ready"].of["cleanup.policy"] = "compact" }, "compaction", OK, "", ""},
		"no policy of dead letters":                  {nil, func(f *facts) { delete(f.configs["dead"].of, "cleanup.policy") }, "compaction", Unknown, "cleanup.policy of dead is not told", ""},
		"dead letters that are kept":                 {nil, func(f *facts) {}, "compaction", OK, "delayed has cleanup.policy=delete; dead has cleanup.policy=delete", ""},
		"no dead letters":                            {[]string{"LAYOVER_DLQ_TOPIC=", "LAYOVER_ON_INVALID=halt"}, func(f *facts) {}, "compaction", OK, "delayed has cleanup.policy=delete", ""},
		"timestamps that are replaced":               {[]string{"LAYOVER_TIMESTAMP=original"}, func(f *facts) { f.configs["ready"].of["message.timestamp.type"] = "LogAppendTime" }, "timestamps", Warn, "replaces the timestamps", "message.timestamp.type=CreateTime"},
		"timestamps that are refused":                {[]string{"LAYOVER_TIMESTAMP=original"}, func(f *facts) { f.configs["ready"].of["message.timestamp.before.max.ms"] = "3600000" }, "timestamps", Warn, "refuses records of longer delays", "before.max.ms=2678400000"},
		"a smaller target":                           {nil, func(f *facts) { f.configs["ready"].of["max.message.bytes"] = "1000" }, "message-size", Warn, "ready takes 1000 bytes, less than delayed (1048588): a larger record is a dead letter", "--entity-name ready --add-config max.message.bytes=1048588"},
		"smaller dead letters":                       {nil, func(f *facts) { f.configs["dead"].of["max.message.bytes"] = "1000" }, "message-size", Warn, "without its value", "--entity-name dead"},
		"a group of connectors":                      {nil, func(f *facts) { f.group.kind = "connect" }, "group-members", Fail, `type "connect"`, "LAYOVER_GROUP_ID"},
		"another balancer":                           {nil, func(f *facts) { f.group.protocol = "range" }, "group-members", Fail, `by "range" and Layover by layover-2 or cooperative-sticky alone`, "LAYOVER_GROUP_ID"},
		"a consumer of another":                      {nil, func(f *facts) { f.join("billing\x1b[2J", "delayed", "invoices") }, "group-members", Fail, "not Layover, by client id and topics: billing?[2J at 10.0.0.7 reading delayed, invoices", "stop those members"},
		"the same topics by another":                 {nil, func(f *facts) { f.join("billing", "delayed") }, "group-members", Warn, "maybe not Layover", "the same KAFKA_CLIENT_ID"},
		"short-lived offsets":                        {nil, func(f *facts) { f.ofGroups.of[offsetsRetention] = "1440" }, "offsets-retention", Warn, "offsets.retention.minutes=1440 is 1d, less than 7d", "offsets.retention.minutes=10080"},
		"offsets for a long delay":                   {[]string{"LAYOVER_MAX_DELAY=30d", "LAYOVER_RUNS=off"}, func(f *facts) { f.configs["delayed"].of["retention.ms"] = "-1" }, "offsets-retention", Warn, "less than 30d", "offsets.retention.minutes=43200"},
		"offsets for ever":                           {nil, func(f *facts) { f.ofGroups.of[offsetsRetention] = "2147483647" }, "offsets-retention", OK, "offsets.retention.minutes=2147483647, which is", ""},
		"a session that is too short":                {[]string{"LAYOVER_SESSION_TIMEOUT=5999ms"}, func(f *facts) { delete(f.ofGroups.of, mostSession) }, "session-timeout", Fail, "LAYOVER_SESSION_TIMEOUT is 5s999ms, less than group.min.session.timeout.ms=6000: the brokers refuse the join", "set LAYOVER_SESSION_TIMEOUT to 6s or more"},
		"a session that is too long":                 {[]string{"LAYOVER_SESSION_TIMEOUT=10s"}, func(f *facts) { f.ofGroups.of[mostSession] = "9999" }, "session-timeout", Fail, "LAYOVER_SESSION_TIMEOUT is 10s, more than group.max.session.timeout.ms=9999", "set LAYOVER_SESSION_TIMEOUT to 9s999ms or less"},
		"the shortest session":                       {[]string{"LAYOVER_SESSION_TIMEOUT=6s"}, func(f *facts) {}, "session-timeout", OK, "LAYOVER_SESSION_TIMEOUT is 6s, and brokers take 6s to 30m", ""},
		"the longest session":                        {[]string{"LAYOVER_SESSION_TIMEOUT=30m"}, func(f *facts) {}, "session-timeout", OK, "LAYOVER_SESSION_TIMEOUT is 30m", ""},
		"a clock that is off":                        {nil, func(f *facts) { f.clock.ahead = -3 * time.Second }, "clock", Warn, "3s behind ours", "chrony"},
		"a clock that is wrong":                      {nil, func(f *facts) { f.clock.ahead = time.Hour }, "clock", Fail, "1h0m0s ahead of ours", "chrony"},
		"idle instances":                             {nil, func(f *facts) { f.join("layover", "delayed"); f.join("layover", "delayed") }, "instances", Warn, "3 instances for 2 ingress partitions, 1 too many; one that was killed counts until its session timeout is over", "--alter --topic delayed --partitions 3"},
		"idle instances of a missing topic and another": {[]string{"LAYOVER_INGRESS_TOPICS=absent,delayed", "LAYOVER_GROUP_ID=g"}, func(f *facts) {
			f.topics["absent"] = topic{err: kerr.LeaderNotAvailable, rights: all}
			f.group.members = nil
			for range 3 {
				f.join("layover", "absent", "delayed")
			}
		}, "instances", Warn, "3 instances for 2 ingress partitions", "--alter --topic delayed --partitions 3"},
		"more than the container": {nil, func(f *facts) { f.limit = 200 << 20 }, "memory", Fail, "256 MiB of the container's 200 MiB", "LAYOVER_MAX_PARKED_BYTES to 100Mi"},
		"most of the container":   {nil, func(f *facts) { f.limit = 400 << 20 }, "memory", Warn, "more than half", "200Mi or less"},
		"an unknown variable":     {nil, func(f *facts) { f.warnings = []string{"unknown variable LAYOVER_X is ignored"} }, "settings", Warn, "LAYOVER_X", "layover config help"},
		"a stopped partition": {nil, func(f *facts) {
			f.says(`{"assignments":[{"topic":"delayed","partition":1,"stopped":{"offset":7,"text":"cannot\u001b be read"}}],"sick":[{"kind":"partition","name":"delayed","text":"again"}]}`)
		}, "running-instance", Fail, "delayed/1 is stopped at offset 7: cannot? be read", "/status"},
		"a held target":                  {nil, func(f *facts) { f.says(`{"held":[{"target":"ready","records":3,"detail":"gone"}]}`) }, "running-instance", Fail, "3 records held for target ready: gone", "/status"},
		"a held target without a detail": {nil, func(f *facts) { f.says(`{"held":[{"target":"ready","state":"missing","records":3,"detail":""}]}`) }, "running-instance", Fail, "3 records held for target ready: missing", "/status"},
		"a pause": {nil, func(f *facts) {
			f.says(`{"state":"paused, degraded","degraded":true,"ready_text":"degraded: reading is paused","paused":{"text":"Reading is paused at 1 MiB","late_by_at_least_seconds":9},"counters":{"dead_lettered":1}}`)
		}, "running-instance", Fail, "records are late: Reading is paused at 1 MiB", "/readyz"},
		"overdue records": {nil, func(f *facts) { f.says(`{"degraded":true,"ready_text":"degraded: 3 records are overdue"}`) },
			"running-instance", Fail, "it is degraded: 3 records are overdue", "/readyz"},
		"an instance that reads yet": {nil, func(f *facts) { f.says(`{"state":"not ready","ready_text":"not ready: reading 2 partitions"}`) },
			"running-instance", Warn, "it is not ready: reading 2 partitions", "/readyz"},
		"a sick group":                     {nil, func(f *facts) { f.says(`{"sick":[{"kind":"group","name":"g","text":"fenced"}]}`) }, "running-instance", Fail, "group g: fenced", "/status"},
		"sick brokers, which have no name": {nil, func(f *facts) { f.says(`{"sick":[{"kind":"kafka","name":"","text":"No broker has answered"}]}`) }, "running-instance", Fail, "kafka: No broker", "/status"},
		"a remedy at the end of a long text": {nil, func(f *facts) {
			f.says(`{"sick":[{"kind":"ingress_topic","name":"other","text":"` + strings.Repeat("It is gone. ", 100) + `Make it again."}]}`)
		}, "running-instance", Fail, "It is gone. Make it again.", "/status"},
		"dead letters": {nil, func(f *facts) { f.instance.Counters.DeadLettered = 2 }, "running-instance", Warn, "2 dead letters", "kcat -C -b kafka:9092 -t dead -o -10 -e -f '%h\\n'"},
		"dead letters of brokers with a login": {[]string{"KAFKA_SASL_MECHANISM=SCRAM-SHA-512", "KAFKA_SASL_USERNAME=u", "KAFKA_SASL_PASSWORD=p"}, func(f *facts) { f.instance.Counters.DeadLettered = 2 },
			"running-instance", Warn, "2 dead letters", "kcat -C -b kafka:9092 -F kcat.conf -t dead "},
	} {
		t.Run(name, func(t *testing.T) {
			f := healthy(t, c.set...)
			c.fault(f)
			for _, got := range judge(f) {
				switch {
				case got.ID == c.id:
					if got.Status != c.status || !strings.Contains(got.Found, c.found) || !strings.Contains(got.Fix, c.fix) {
						t.Errorf("%+v\nwant %s, %q, %q", got, c.status, c.found, c.fix)
					}
				case got.Bad():
					if got.ID != "acl-runs" || c.id != "retention" { // a right that is missing shortens what is kept
						t.Errorf("another check: %+v", got)
					}
				}
			}
		})
	}
}

// TestWhatCannotBeAskedIsUnknownAndNeverOK: each answer that fails makes its checks
// unknown, with the right that it lacks.
func TestWhatCannotBeAskedIsUnknownAndNeverOK(t *testing.T) {
	denied := func(of error, acl string) error { return cluster.Allow(of, acl) }
	for name, c := range map[string]struct {
		fault func(f *facts)
		ids   []string
		found string
	}{
		"configurations": {func(f *facts) {
			for name := range f.configs {
				f.configs[name] = values{err: denied(kerr.TopicAuthorizationFailed, "DescribeConfigs on topic "+name)}
			}
		}, []string{"replicas", "retention", "compaction", "runs-settings", "timestamps", "message-size"}, ""},
		"values": {func(f *facts) {
			for name := range f.configs {
				f.configs[name] = values{of: make(map[string]string)}
			}
		}, []string{"replicas", "retention", "compaction", "runs-settings", "timestamps", "message-size"}, ""},
		"the group": {func(f *facts) { f.group = group{err: kerr.CoordinatorLoadInProgress} }, []string{"acl-group", "group-members", "instances"}, "COORDINATOR_LOAD_IN_PROGRESS"},
		"the broker": {func(f *facts) {
			f.ofGroups = values{err: denied(kerr.ClusterAuthorizationFailed, "DescribeConfigs on the cluster")}
		}, []string{"session-timeout", "offsets-retention"}, "DescribeConfigs on the cluster"},
		"its settings":     {func(f *facts) { f.ofGroups = values{} }, []string{"session-timeout", "offsets-retention"}, "the answer does not have it"},
		"its maximum":      {func(f *facts) { delete(f.ofGroups.of, mostSession) }, []string{"session-timeout"}, "the answer does not have it"},
		"the clock":        {func(f *facts) { f.clock.err = errors.New("unknown request") }, []string{"clock"}, "unknown request"},
		"no time":          {func(f *facts) { f.clock.err, f.ofGroups = errNotAsked, values{err: errNotAsked} }, []string{"clock", "session-timeout", "offsets-retention"}, "not asked in time"},
		"rights":           {func(f *facts) { f.forget() }, []string{"acl-ingress", "acl-targets", "acl-dead-letters", "acl-journal", "acl-runs"}, "the brokers do not tell"},
		"odd retention":    {func(f *facts) { f.configs["delayed"].of["retention.ms"] = "a week" }, []string{"retention"}, ""},
		"no limit by size": {func(f *facts) { delete(f.configs["delayed"].of, "retention.bytes") }, []string{"retention"}, "retention"},
		"the target's timestamps": {func(f *facts) {
			f.settings.Timestamp = config.TimestampOriginal
			delete(f.configs["ready"].of, "message.timestamp.type")
		}, []string{"timestamps"}, "ready"},
		"new members":   {func(f *facts) { f.group = group{none: true, rights: all, membersErr: errors.New("broken pipe")} }, []string{"group-members", "instances"}, "broken pipe"},
		"a topic":       {func(f *facts) { delete(f.topics, "ready") }, []string{"topics", "acl-targets"}, ""},
		"a sick broker": {func(f *facts) { f.topics["ready"] = topic{err: kerr.LeaderNotAvailable, rights: all} }, []string{"topics"}, "LEADER_NOT_AVAILABLE"},
	} {
		t.Run(name, func(t *testing.T) {
			f := healthy(t)
			c.fault(f)
			for _, got := range judge(f) {
				want := slices.Contains(c.ids, got.ID)
				if want != (got.Status == Unknown) || want && !strings.Contains(got.Found, c.found) {
					t.Errorf("%+v; want unknown: %v, %q", got, want, c.found)
				}
			}
		})
	}
}

// TestOneBrokerOfADeveloperIsFine: a single replica is nothing to warn of where there is
// one broker.
func TestOneBrokerOfADeveloperIsFine(t *testing.T) {
	f := healthy(t)
	f.brokers = f.brokers[:1]
	for name := range f.topics {
		f.replicas(name, 1, "1")
	}
	for _, got := range judge(f) {
		if got.Bad() {
			t.Errorf("%+v", got)
		}
	}
}

// TestChecksBehindAFailedOneAreSkippedWithItsName: all that need brokers, and none besides.
func TestChecksBehindAFailedOneAreSkippedWithItsName(t *testing.T) {
	f := healthy(t)
	f.err = errors.New("x")
	f.refuse(connect.ReasonLogin, "KAFKA_SASL_PASSWORD", "no")
	for _, got := range judge(f) {
		alone := slices.Contains([]string{"broker-names", "broker-answers", "tls", "login", "memory", "settings", "running-instance"}, got.ID)
		if !alone && (got.Status != Skipped || got.Found != "not asked, as login failed") || alone && strings.Contains(got.Found, "as login failed") {
			t.Errorf("%+v", got)
		}
	}
	f = healthy(t)
	for i := range f.brokers {
		f.brokers[i].err = errors.New("connection refused")
	}
	for _, got := range judge(f) {
		if strings.HasPrefix(got.ID, "acl-") && (got.Status != Skipped || got.Found != "not asked, as advertised-names failed") || got.ID == "topics" && got.Status != OK {
			t.Errorf("%+v", got)
		}
	}
}

// TestCommandsAreForABrokerThatResolves: Kafka's tools end where no name of theirs does.
func TestCommandsAreForABrokerThatResolves(t *testing.T) {
	f := healthy(t)
	f.seeds = []host{{address: "gone:9092", err: errors.New("no such host")}, f.seeds[0], {address: "b:9092", ips: []string{"10.0.0.2"}}}
	f.deny("ready", kmsg.ACLOperationWrite)
	for _, got := range judge(f) {
		if strings.Contains(got.Fix, "gone:9092 ") || got.ID == "acl-targets" && !strings.Contains(got.Fix, "--bootstrap-server kafka:9092,b:9092 ") {
			t.Errorf("%+v", got)
		}
	}
}

// TestTenTimesTheTopicsAreNoHundredTimesTheWork: each is missing, and each of many more topics
// has a name like it. Where each pair was looked at, ten times the topics took a hundred times as long.
func TestTenTimesTheTopicsAreNoHundredTimesTheWork(t *testing.T) {
	long.Only(t)
	took := func(missing int) time.Duration {
		var names, seen []string
		for i := range missing {
			names = append(names, fmt.Sprintf("orders.of-region-%04d.v1", i))
		}
		for i := range missing * 3 {
			seen = append(seen, fmt.Sprintf("orders.of-region-%05d.v2", i))
		}
		f := healthy(t, "LAYOVER_TARGETS_ALLOWED="+strings.Join(names, ","), "LAYOVER_PARTITION=same")
		for _, name := range names {
			f.topics[name] = topic{err: kerr.UnknownTopicOrPartition, rights: all}
		}
		f.seen = seen
		began := time.Now()
		found := judge(f)
		d := time.Since(began)
		if got := found[slices.Index(IDs(), "topics")]; got.Status != Warn || !strings.Contains(got.Found, fmt.Sprintf("and %d more", missing-50)) {
			t.Errorf("%+v", got)
		}
		return d
	}
	few, many := took(300), took(3000)
	t.Logf("300 topics took %v, 3000 took %v", few, many)
	if many > 40*few {
		t.Errorf("300 topics took %v, 3000 took %v", few, many)
	}
}
