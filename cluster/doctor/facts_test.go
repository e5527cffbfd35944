package doctor

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"layover/cluster"
	"layover/cluster/connect"
	"layover/config"
)

const day = 24 * time.Hour

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// all are the rights that Layover wants to some topic.
const all = rights(1<<kmsg.ACLOperationRead | 1<<kmsg.ACLOperationWrite | 1<<kmsg.ACLOperationCreate | 1<<kmsg.ACLOperationDelete |

	1<<kmsg.ACLOperationAlter | 1<<kmsg.ACLOperationDescribe | 1<<kmsg.ACLOperationDescribeConfigs)

// settings loads settings of these variables, and of a usual set.
func settings(t *testing.T, variables ...string) *config.Config {
	t.Helper()
	cfg, _, err := config.Load(append([]string{
		"KAFKA_BROKERS=kafka:9092", "LAYOVER_INGRESS_TOPICS=delayed", "LAYOVER_EGRESS_TOPIC=ready", "LAYOVER_DLQ_TOPIC=dead", "LAYOVER_MAX_PARKED_BYTES=256Mi",
	}, variables...))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// healthy are facts of a cluster of three brokers where all is well.
func healthy(t *testing.T, variables ...string) *facts {
	f := &facts{
		settings: settings(t, variables...), now: noon, limit: 1 << 30,
		seeds:  []host{{address: "kafka:9092", ips: []string{"10.0.0.1"}}},
		topics: make(map[string]topic), configs: make(map[string]values), creatable: make(map[string]error),
		group: group{
			rights: all, kind: "consumer", protocol: "layover-2",
			members: []member{{client: "layover", address: "/10.0.0.9", topics: []string{"delayed"}}},
		},
		ofGroups: values{of: map[string]string{offsetsRetention: "10080", leastSession: "6000", mostSession: "1800000"}},
		clock:    clock{ahead: 20 * time.Millisecond, unsure: 5 * time.Millisecond}, instance: new(Instance),
	}
	f.instance.Group.ID = f.settings.GroupID
	for id := range int32(3) {
		f.brokers = append(f.brokers, broker{id: id, host: host{address: "kafka:9092", ips: []string{"10.0.0.1"}}})
	}
	for _, u := range uses(f.settings) {
		f.topics[u.topic] = topic{rights: all, partitions: []partition{{replicas: 3, inSync: 3, leader: 1}, {replicas: 3, inSync: 3, leader: 2}}}
		f.configs[u.topic] = values{of: map[string]string{
			"cleanup.policy": "delete", "retention.ms": "604800000", "retention.bytes": "-1", "max.message.bytes": "1048588", "min.insync.replicas": "2",
			"message.timestamp.type": "CreateTime", "message.timestamp.before.max.ms": "9223372036854775807", "segment.bytes": "1073741824",
		}}
		if u.role == runsTopic || u.role == formerRuns {
			f.configs[u.topic].of["retention.ms"], f.configs[u.topic].of["segment.bytes"], f.configs[u.topic].of["max.message.bytes"] = "-1", "67108864", "1114124"
		}
	}
	return f
}

// finding is that of one check.
func finding(f *facts, id string) Finding { return judge(f)[slices.Index(IDs(), id)] }

// says has the running instance answer, for the group of the settings.
func (f *facts) says(status string) {
	if err := json.Unmarshal([]byte(status), f.instance); err != nil {
		panic(err)
	}
}

func (f *facts) refuse(reason, lookAt, message string) {
	f.status.Refused = []connect.Refusal{{Broker: "kafka:9092", Cause: connect.Cause{Reason: reason, LookAt: lookAt, Message: message}}}
}

// cut leaves a topic one partition.
func (f *facts) cut(name string) {
	t := f.topics[name]
	t.partitions = t.partitions[:1]
	f.topics[name] = t
}

func (f *facts) replicas(name string, n int32, least string) {
	for i := range f.topics[name].partitions {
		f.topics[name].partitions[i].replicas, f.topics[name].partitions[i].inSync = n, n
	}
	f.configs[name].of["min.insync.replicas"] = least
}

func (f *facts) deny(name string, operation kmsg.ACLOperation) {
	t := f.topics[name]
	t.rights &^= 1 << operation
	f.topics[name] = t
}

// journal has the journal topic missing, and not to be made.
func (f *facts) journal(err, create error) {
	name := f.settings.JournalName("delayed")
	f.topics[name], f.creatable[name] = topic{err: err, rights: all}, cluster.Allow(create, "Create on topic "+name)
}

// runsName is the runs topic of the usual settings.
const runsName = "delayed.layover-delayed.runs"

// runs has the runs topic missing, and whether it can be made.
func (f *facts) runs(err, create error) {
	f.topics[runsName], f.creatable[runsName] = topic{err: err, rights: all}, cluster.Allow(create, "Create on topic "+runsName)
}

// keepForever lets the ingress topic do without runs.
func (f *facts) keepForever() { f.configs["delayed"].of["retention.ms"] = "-1" }

func (f *facts) join(client string, topics ...string) {
	f.group.members = append(f.group.members, member{client: client, address: "/10.0.0.7", topics: topics})
}

// forget has the brokers tell no rights. Whether a configuration may be read is told by
// reading it.
func (f *facts) forget() {
	for name, t := range f.topics {
		t.rights = 0
		f.topics[name] = t
	}
}
