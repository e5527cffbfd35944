// Package kafkatest starts brokers in a test's process, and does with them what tests do.
// It makes topics, appends and reads records, commits offsets, and has requests fail.
//
//	k := kafkatest.Start(t, 2, kfake.SeedTopics(3, "delayed"))        // on ports of this machine
//	k := kafkatest.StartVirtual(t, 2, kfake.SeedTopics(3, "delayed")) // in a bubble of testing/synctest
//
// Everything ends with the test. The brokers are kfake's: real ones are in package
// integration. The package imports nothing of the product.
package kafkatest

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"
)

// MaxMetadata is how many characters of metadata a commit may have, as Kafka's default.
const MaxMetadata = 4096

// Cluster is the brokers of one test.
type Cluster struct {
	*testing.T
	Broker *kfake.Cluster
	Client *kgo.Client           // the test's own
	Net    *kfake.VirtualNetwork // nil on ports of this machine
	login  []kgo.Opt             // of the test's own client
	opts   []kfake.Opt           // of the brokers
	dir    string                // what they keep; "": they forget all
}

// Start starts brokers on free ports of this machine.
func Start(t *testing.T, brokers int, opts ...kfake.Opt) *Cluster {
	t.Helper()
	return (&Cluster{T: t}).start(append([]kfake.Opt{kfake.NumBrokers(brokers)}, opts...))
}

// The login that guarded brokers know beside the test's own, by SCRAM-SHA-512.
const User, Password = "layover", "right"

// StartGuarded is StartVirtual with brokers that want a login, and that allow User nothing
// but what acls say.
func StartGuarded(t *testing.T, brokers int, acls []kfake.ACL, opts ...kfake.Opt) *Cluster {
	t.Helper()
	c := &Cluster{T: t, login: []kgo.Opt{kgo.SASL(plain.Auth{User: "admin", Pass: "admin"}.AsMechanism())}}
	return c.startVirtual(brokers, append([]kfake.Opt{
		kfake.EnableSASL(), kfake.EnableACLs(), kfake.Superuser("PLAIN", "admin", "admin"), kfake.User("SCRAM-SHA-512", User, Password, acls...),
	}, opts...))
}

// StartVirtual starts brokers on a virtual network, where all waiting is in virtual time.
func StartVirtual(t *testing.T, brokers int, opts ...kfake.Opt) *Cluster {
	t.Helper()
	return (&Cluster{T: t}).startVirtual(brokers, opts)
}

func (c *Cluster) startVirtual(brokers int, opts []kfake.Opt) *Cluster {
	c.Helper()
	c.Net = new(kfake.VirtualNetwork)
	var ports []int // a virtual network has no free ports to choose from
	for i := range brokers {
		ports = append(ports, 9092+i)
	}
	return c.start(append([]kfake.Opt{kfake.NumBrokers(brokers), kfake.Ports(ports...), kfake.ListenFn(c.Net.Listen)}, opts...))
}

func (c *Cluster) start(opts []kfake.Opt) *Cluster {
	c.Helper()
	var err error
	c.opts = append([]kfake.Opt{kfake.BrokerConfigs(map[string]string{"group.min.session.timeout.ms": "1000"})}, opts...)
	if c.Broker, err = kfake.NewCluster(c.opts...); err != nil {
		c.Fatal(err)
	}
	c.Cleanup(c.Broker.Close)
	c.LimitMetadata(MaxMetadata)
	c.Client = c.NewClient()
	return c
}

// Addr is the address of the first broker.
func (c *Cluster) Addr() string { return c.Broker.ListenAddrs()[0] }

// Options are those of a client that reaches the brokers. It chooses no partitions, and
// does not wait for more to send.
func (c *Cluster) Options() []kgo.Opt {
	opts := []kgo.Opt{
		kgo.SeedBrokers(c.Broker.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0),
		kgo.MetadataMinAge(100 * time.Millisecond), kgo.DisableClientMetrics(),
	}
	if c.Net != nil {
		opts = append(opts, kgo.Dialer(c.Net.DialContext))
	}
	return append(opts, c.login...)
}

// NewClient makes a client that ends with the test, or before.
func (c *Cluster) NewClient(opts ...kgo.Opt) *kgo.Client {
	c.Helper()
	cl := c.client(opts...)
	c.Cleanup(cl.Close)
	return cl
}

func (c *Cluster) client(opts ...kgo.Opt) *kgo.Client {
	c.Helper()
	cl, err := kgo.NewClient(append(c.Options(), opts...)...)
	if err != nil {
		c.Fatal(err)
	}
	return cl
}

// Admin asks by the test's own client.
func (c *Cluster) Admin() *kadm.Client { return kadm.NewClient(c.Client) }

// Until waits until a condition holds.
func (c *Cluster) Until(within time.Duration, what string, cond func() bool) {
	c.Helper()
	for deadline := time.Now().Add(within); !cond(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.Fatalf("not within %v: %s", within, what)
		}
	}
}

// Refuse has requests of a kind fail until the handle is removed.
func (c *Cluster) Refuse(key kmsg.Key, f kfake.Fault) *kfake.FaultHandle {
	f.Keys, f.Count = []kmsg.Key{key}, -1
	return c.Broker.Fault(f)
}

// Answer answers requests of a kind by f. Where f returns nil the broker answers.
func (c *Cluster) Answer(key kmsg.Key, f func(kmsg.Request) kmsg.Response) {
	c.Broker.ControlKey(int16(key), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.Broker.KeepControl()
		resp := f(r)
		return resp, nil, resp != nil
	})
}

// LimitMetadata makes commits with longer metadata fail, each partition by itself. kfake
// has no limit.
func (c *Cluster) LimitMetadata(most int) {
	const partitions = 16 // no topic of a test has more
	for n := range int32(partitions) {
		c.Refuse(kmsg.OffsetCommit, kfake.Fault{Partitions: []int32{n}, Err: kerr.OffsetMetadataTooLarge, When: func(r kmsg.Request) bool {
			for _, t := range r.(*kmsg.OffsetCommitRequest).Topics {
				for _, p := range t.Partitions {
					if p.Partition == n && p.Metadata != nil && len(*p.Metadata) > most {
						return true
					}
				}
			}
			return false
		}})
	}
}
