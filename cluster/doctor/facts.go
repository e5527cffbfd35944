package doctor

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"layover/cluster/connect"
	"layover/config"
)

// facts are the answers of one run. Judging them asks nothing more.
type facts struct {
	settings *config.Config
	warnings []string
	now      time.Time
	limit    int64 // of the container's memory, in bytes; 0: none is known

	seeds   []host
	status  connect.Status
	err     error // of the question which topics and brokers there are
	explain string
	brokers []broker
	topics  map[string]topic
	seen    []string // all topics that this login may see; asked where one is missing

	configs    map[string]values
	creatable  map[string]error // by journal or runs topic that is not there
	group      group
	left       left
	orphans    map[string]*orphans // by runs topic
	ofGroups   values              // of a broker: its settings of groups
	clock      clock
	instance   *Instance
	instanceNo error // why none was asked, or answers
}

// Settings of a broker that are about groups.
const (
	offsetsRetention = "offsets.retention.minutes" // how long it keeps the offsets of a group without members
	leastSession     = "group.min.session.timeout.ms"
	mostSession      = "group.max.session.timeout.ms"
)

// errNotAsked is of a question that depends on an answer which did not come.
var errNotAsked = errors.New("not asked")

// errNoValue is of an answer without the value that was asked for.
var errNoValue = errors.New("the answer does not have it")

// host is an address and what its name resolves to.
type host struct {
	address string // host:port
	ips     []string
	err     error
}

// broker is one that metadata names.
type broker struct {
	host
	id  int32
	err error // of a request to it; host.err is that of its name
}

// topic is what metadata says of a topic.
type topic struct {
	err        error // such as that it is missing, or forbidden
	partitions []partition
	rights     rights
}

// partition is one of a topic: its replicas, and those that are in sync.
type partition struct{ replicas, inSync, leader int32 }

// rights are authorized operations, one bit each; zero: not told.
type rights int32

// rightsOf takes the field of an answer, of which the least number says that it is unknown.
func rightsOf(field int32) rights {
	if field < 0 {
		return 0
	}
	return rights(field)
}

func (r rights) known() bool                          { return r != 0 }
func (r rights) has(operation kmsg.ACLOperation) bool { return r&(1<<operation) != 0 }

// values are the configuration of a topic or a broker.
type values struct {
	of  map[string]string
	err error
}

// group is what its coordinator says of the consumer group.
type group struct {
	err      error // why it cannot be described
	none     bool  // it has no members, and maybe never had
	at       int32 // the coordinator; below 0: none
	rights   rights
	readable error // of a request that needs Read, where rights are not told
	kind     string
	protocol string
	members  []member
	// Of the question for members of the newer protocol, where it has no answer.
	membersErr error
}

// member is one of the group. Others choose its words.
type member struct {
	client, address string
	topics          []string // that it subscribes to; nil: not told
}

// clock is the controller's, compared with ours.
type clock struct {
	err    error
	ahead  time.Duration // of the controller before us; below 0 it is behind
	unsure time.Duration // half of the time that the answer took
}
