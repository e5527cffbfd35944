package doctor

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"layover/cluster/connect"
	"layover/config"
	"layover/verify/kafkatest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is brokers on a virtual network, and the settings to ask them with.
type fixture struct {
	*kafkatest.Cluster
	cfg     *config.Config
	resolve func(context.Context, string) ([]string, error)

	mu   sync.Mutex
	keys []kmsg.Key // of all requests
}

// inBubble runs f with brokers that have the topics of the usual settings, in virtual time.
func inBubble(t *testing.T, brokers int, f func(w *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &fixture{Cluster: kafkatest.StartVirtual(t, brokers, kfake.SeedTopics(2, "delayed", "ready", "dead"))}
		w.cfg = settings(t, "KAFKA_BROKERS="+strings.Join(w.Broker.ListenAddrs(), ","))
		f(w)
	})
}

// run makes the checks with a connection of its own, and returns the findings by id.
func (w *fixture) run() map[string]Finding {
	w.Helper()
	c, err := connect.New(connect.Config{Kafka: w.cfg.Kafka, DialTimeout: 3 * time.Second, Dial: w.Net.DialContext})
	if err != nil {
		w.Fatal(err)
	}
	client, err := kgo.NewClient(append(c.Options(), kgo.RequestRetries(1), kgo.DisableClientMetrics(), kgo.WithHooks(w))...)
	if err != nil {
		w.Fatal(err)
	}
	defer client.Close()
	if w.resolve == nil {
		w.resolve = everyName
	}
	found := make(map[string]Finding)
	for _, f := range Run(w.Context(), Config{Settings: w.cfg, Client: client, Connection: c, Resolve: w.resolve}) {
		found[f.ID] = f
	}
	if len(found) != len(IDs()) {
		w.Fatalf("%d findings of %d checks", len(found), len(IDs()))
	}
	return found
}

// everyName resolves: a virtual network has no DNS.
func everyName(context.Context, string) ([]string, error) { return []string{"10.0.0.1"}, nil }

// OnBrokerWrite notes each request, as a hook of the client.
func (w *fixture) OnBrokerWrite(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, _ error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.keys = append(w.keys, kmsg.Key(key))
}

// is fails the test unless a finding has a status and words.
func (w *fixture) is(f Finding, status Status, words ...string) {
	w.Helper()
	if f.Status != status {
		w.Errorf("%s is %s, want %s: %s", f.ID, f.Status, status, f.Found)
	}
	for _, word := range words {
		if !strings.Contains(f.Found+"\n"+f.Fix, word) {
			w.Errorf("%s does not say %q: %s\n%s", f.ID, word, f.Found, f.Fix)
		}
	}
}

// TestOnAHealthyClusterNothingFailsAndLittleIsAsked: one request to each of three brokers,
// and a handful besides. None of them writes.
func TestOnAHealthyClusterNothingFailsAndLittleIsAsked(t *testing.T) {
	inBubble(t, 3, func(w *fixture) {
		for _, f := range w.run() {
			switch f.ID {
			case "tls", "running-instance":
				w.is(f, Skipped)
			case "clock": // kfake does not know the request
				w.is(f, Unknown)
			default:
				if f.Status == Fail || f.Status == Unknown {
					t.Errorf("%+v", f)
				}
			}
		}
		reading := []kmsg.Key{kmsg.ApiVersions, kmsg.Metadata, kmsg.DescribeGroups, kmsg.ConsumerGroupDescribe, kmsg.DescribeConfigs, kmsg.DescribeQuorum, kmsg.Heartbeat, kmsg.FindCoordinator, kmsg.OffsetFetch}
		asked := 0
		for _, key := range w.keys {
			if key == kmsg.CreateTopics { // which is only validated: the next test
				continue
			}
			if !slices.Contains(reading, key) {
				t.Errorf("request %s", key.Name())
			}
			if key != kmsg.ApiVersions {
				asked++
			}
		}
		if asked > 12 {
			t.Errorf("%d requests: %v", asked, w.keys)
		}
	})
}

func TestNothingIsMade(t *testing.T) {
	inBubble(t, 1, func(w *fixture) {
		w.Answer(kmsg.CreateTopics, func(r kmsg.Request) kmsg.Response {
			if !r.(*kmsg.CreateTopicsRequest).ValidateOnly {
				t.Error("a topic would be made")
			}
			return nil
		})
		w.cfg = settings(t, "KAFKA_BROKERS="+w.Addr(), "LAYOVER_TARGETS_ALLOWED=absent")
		w.is(w.run()["topics"], Warn, "allowed target absent does not exist")
		topics, err := w.Admin().ListTopics(w.Context())
		if err != nil || len(topics) != 3 {
			t.Errorf("topics %v, %v", topics.Names(), err)
		}
		groups, err := w.Admin().ListGroups(w.Context())
		if err != nil || len(groups) != 0 {
			t.Errorf("groups %v, %v", groups.Groups(), err)
		}
	})
}

func TestEachAdvertisedNameIsResolvedAndReached(t *testing.T) {
	inBubble(t, 2, func(w *fixture) {
		w.cfg = settings(t, "KAFKA_BROKERS="+w.Addr())
		second := w.Broker.ListenAddrs()[1]
		advertise := func(host string, port int32) {
			w.Answer(kmsg.Metadata, func(r kmsg.Request) kmsg.Response {
				resp := r.ResponseKind().(*kmsg.MetadataResponse)
				for i, at := range []string{w.Addr(), second} {
					b := kmsg.NewMetadataResponseBroker()
					b.NodeID, b.Host, b.Port = int32(i), strings.Split(at, ":")[0], int32(9092+i)
					if i == 1 && host != "" {
						b.Host, b.Port = host, port
					}
					resp.Brokers = append(resp.Brokers, b)
				}
				return resp
			})
		}
		w.resolve = func(_ context.Context, host string) ([]string, error) {
			if host == "broker-2" {
				return nil, errors.New("no such host")
			}
			return []string{"10.0.0.1"}, nil
		}
		advertise("broker-2", 9092)
		found := w.run()
		w.is(found["advertised-names"], Fail, "broker 1 advertises broker-2:9092, which does not resolve here: no such host", "KAFKA_ADVERTISED_LISTENERS")
		w.is(found["acl-group"], OK) // the other broker answers
	})
}

// TestWithoutBrokersItEndsInSeconds: whether they refuse at once or say nothing at all.
func TestWithoutBrokersItEndsInSeconds(t *testing.T) {
	for name, dial := range map[string]func(context.Context, string, string) (net.Conn, error){
		"silent behind the connection": func(context.Context, string, string) (net.Conn, error) {
			here, there := net.Pipe()
			go io.Copy(io.Discard, there)
			return here, nil
		},
		"refused": func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("connection refused") },
		"silent": func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 1, func(w *fixture) {
				c, err := connect.New(connect.Config{Kafka: w.cfg.Kafka, DialTimeout: 3 * time.Second, Dial: dial})
				if err != nil {
					t.Fatal(err)
				}
				client, err := kgo.NewClient(append(c.Options(), kgo.RequestRetries(1), kgo.DisableClientMetrics())...)
				if err != nil {
					t.Fatal(err)
				}
				defer client.Close()
				began := time.Now()
				findings := Run(w.Context(), Config{Settings: w.cfg, Client: client, Connection: c, Resolve: everyName})
				if took := time.Since(began); took > 8*time.Second {
					t.Errorf("took %v", took)
				}
				w.is(findings[1], Fail, "no broker answers at "+w.Addr())
				if taken := strings.Contains(findings[1].Found, "a connection was taken"); taken != (name == "silent behind the connection") {
					t.Errorf("%+v", findings[1])
				}
			})
		})
	}
}

// TestABrokerThatSaysNothingCostsItsTimeAlone: one of two takes connections and is silent
// on them. The run ends within its bound.
func TestABrokerThatSaysNothingCostsItsTimeAlone(t *testing.T) {
	inBubble(t, 2, func(w *fixture) {
		silent := w.Broker.ListenAddrs()[1]
		w.cfg = settings(t, "KAFKA_BROKERS="+w.Addr())
		c, err := connect.New(connect.Config{Kafka: w.cfg.Kafka, DialTimeout: 3 * time.Second, Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if addr != silent {
				return w.Net.DialContext(ctx, network, addr)
			}
			here, there := net.Pipe()
			go io.Copy(io.Discard, there)
			return here, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		client, err := kgo.NewClient(append(c.Options(), kgo.RequestRetries(1), kgo.DisableClientMetrics())...)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		began := time.Now()
		findings := Run(w.Context(), Config{Settings: w.cfg, Client: client, Connection: c, Resolve: everyName})
		if took := time.Since(began); took > Timeout {
			t.Errorf("took %v", took)
		}
		w.is(findings[slices.Index(IDs(), "advertised-names")], Fail, silent+", which is not reached from here")
	})
}

// TestABrokerThatHangsUpLeavesUnknown: after the topics it ends the connection at each
// question. The run ends within its bound, and knows what it knew before.
func TestABrokerThatHangsUpLeavesUnknown(t *testing.T) {
	inBubble(t, 1, func(w *fixture) {
		for _, key := range []kmsg.Key{kmsg.DescribeConfigs, kmsg.CreateTopics} {
			w.Broker.ControlKey(int16(key), func(kmsg.Request) (kmsg.Response, error, bool) {
				w.Broker.KeepControl()
				return nil, errors.New("the broker hangs up"), true
			})
		}
		began := time.Now()
		found := w.run()
		if took := time.Since(began); took > Timeout {
			t.Errorf("took %v", took)
		}
		for _, id := range []string{"retention", "compaction", "timestamps", "message-size", "offsets-retention", "session-timeout", "acl-journal", "acl-runs"} {
			w.is(found[id], Unknown)
		}
		w.is(found["topics"], OK)
	})
}

// TestEmptyAnswersAreUnknown: an answer without what was asked for ends nothing.
func TestEmptyAnswersAreUnknown(t *testing.T) {
	inBubble(t, 1, func(w *fixture) {
		for _, key := range []kmsg.Key{kmsg.DescribeConfigs, kmsg.CreateTopics, kmsg.DescribeGroups, kmsg.ConsumerGroupDescribe, kmsg.Heartbeat} {
			w.Answer(key, func(r kmsg.Request) kmsg.Response { return r.ResponseKind() })
		}
		found := w.run()
		w.is(found["retention"], Unknown)
		w.is(found["offsets-retention"], Unknown)
		w.is(found["session-timeout"], Unknown)
		w.is(found["acl-journal"], Unknown)
		w.is(found["acl-runs"], Unknown)
		w.is(found["group-members"], Unknown)
	})
}

// TestMembersOfTheNewerProtocolThatAreHiddenAreNotNone: a coordinator hides them where a
// topic of theirs may not be described, and another error tells nothing.
func TestMembersOfTheNewerProtocolThatAreHiddenAreNotNone(t *testing.T) {
	for code, status := range map[*kerr.Error]Status{kerr.TopicAuthorizationFailed: Fail, kerr.CoordinatorLoadInProgress: Unknown, kerr.GroupIDNotFound: OK, kerr.UnsupportedVersion: OK} {
		inBubble(t, 1, func(w *fixture) {
			w.Answer(kmsg.DescribeGroups, func(r kmsg.Request) kmsg.Response {
				resp := r.ResponseKind().(*kmsg.DescribeGroupsResponse)
				g := kmsg.NewDescribeGroupsResponseGroup()
				g.Group, g.ErrorCode = w.cfg.GroupID, kerr.GroupIDNotFound.Code
				resp.Groups = append(resp.Groups, g)
				return resp
			})
			w.Answer(kmsg.ConsumerGroupDescribe, func(r kmsg.Request) kmsg.Response {
				resp := r.ResponseKind().(*kmsg.ConsumerGroupDescribeResponse)
				g := kmsg.NewConsumerGroupDescribeResponseGroup()
				g.Group, g.ErrorCode = w.cfg.GroupID, code.Code
				resp.Groups = append(resp.Groups, g)
				return resp
			})
			found := w.run()
			w.is(found["group-members"], status)
			w.is(found["acl-group"], OK)
		})
	}
}

func TestAWrongPasswordIsTriedOnceOrTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &fixture{Cluster: kafkatest.StartGuarded(t, 1, nil, kfake.SeedTopics(1, "delayed"))}
		w.cfg = settings(t, "KAFKA_BROKERS="+w.Addr(), "KAFKA_SASL_MECHANISM=SCRAM-SHA-512", "KAFKA_SASL_USERNAME="+kafkatest.User, "KAFKA_SASL_PASSWORD=wrong")
		w.Refuse(kmsg.SASLAuthenticate, kfake.Fault{Err: kerr.SaslAuthenticationFailed})
		w.is(w.run()["login"], Fail, "KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD", kerr.SaslAuthenticationFailed.Message)
		logins := 0
		for _, key := range w.keys {
			if key == kmsg.SASLHandshake {
				logins++
			}
		}
		if logins < 1 || logins > 2 {
			t.Errorf("%d logins", logins)
		}
	})
}

// TestASessionTimeoutThatBrokersRefuseIsFound: Layover never joins with it. The test joins as it does.
func TestASessionTimeoutThatBrokersRefuseIsFound(t *testing.T) {
	inBubble(t, 1, func(w *fixture) {
		for session, status := range map[string]Status{"2s": OK, "999ms": Fail, "30m": Fail, "5m": OK} { // kfake's longest is 5m, and the shortest of the fixture 1s
			w.cfg.SessionTimeout, _ = time.ParseDuration(session)
			join := kmsg.NewPtrJoinGroupRequest()
			join.Group, join.SessionTimeoutMillis, join.RebalanceTimeoutMillis, join.ProtocolType = "another", int32(w.cfg.SessionTimeout.Milliseconds()), 60_000, "consumer"
			join.Protocols = append(join.Protocols, kmsg.JoinGroupRequestProtocol{Name: "cooperative-sticky"})
			resp, err := join.RequestWith(w.Context(), w.Client)
			if err == nil && kerr.ErrorForCode(resp.ErrorCode) == kerr.MemberIDRequired {
				join.MemberID = resp.MemberID
				resp, err = join.RequestWith(w.Context(), w.Client)
			}
			if err != nil || (kerr.ErrorForCode(resp.ErrorCode) == kerr.InvalidSessionTimeout) != (status == Fail) {
				t.Errorf("%s: the broker says %v, %v", session, err, kerr.ErrorForCode(resp.ErrorCode))
			}
			w.is(w.run()["session-timeout"], status, "LAYOVER_SESSION_TIMEOUT")
		}
	})
}
