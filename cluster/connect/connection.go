package connect

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"

	"layover/config"
)

// Config is what a Connection needs.
type Config struct {
	Kafka config.Kafka
	// ClientID stands in for that of Kafka; may be empty.
	ClientID string
	// DialTimeout bounds one attempt, up to the end of the TLS handshake.
	DialTimeout time.Duration
	// Dial stands in for TCP, also to what gives credentials; may be nil.
	Dial dialFunc
	// Log gets a line when a connection is refused; nil: none.
	Log *slog.Logger
}

type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// Connection is how all clients of a process connect. Any goroutine may use it.
type Connection struct {
	cfg       Config
	certs     *certs // nil in plaintext
	mechanism sasl.Mechanism
	renew     func() // forgets cached credentials; nil where none are cached
	gates     gates

	mu       sync.Mutex
	dialed   bool             // something has taken a connection
	answered bool             // some broker has answered after its login
	heard    time.Time        // when one last did
	silent   map[string]*seed // by address
	refusals map[string]int64 // by reason
	refused  map[string]*Refusal
	said     time.Time // the last line about a refusal
	peers    map[string]Peer
}

// Peer is the certificate that a broker showed at the last handshake.
type Peer struct {
	Broker   string // host:port
	Subject  string
	NotAfter time.Time
}

// maxPeers bounds the certificates that are remembered: brokers with new addresses come
// and go for as long as the process lives.
const maxPeers = 1000

// Refusal is a broker's no, as long as it lasts.
type Refusal struct {
	Broker string // host:port
	Cause
	Since time.Time

	last   time.Time // of the attempts that were refused
	behind bool      // it came behind the login, in answer to a request
	said   bool      // the log has it
}

// Status is what is known of connections at a moment.
type Status struct {
	TLS                bool
	InsecureSkipVerify bool
	Mechanism          config.Mechanism // empty without a login
	Dialed             bool             // something has taken a connection since the start, and TLS
	Answered           bool             // some broker has answered since the start
	Refused            []Refusal        // by broker
	Refusals           map[string]int64 // since the start, by reason
	Certificates       []Certificate
	Peers              []Peer // by broker; of those that a handshake succeeded with
}

// New returns a Connection. The certificates were loaded once with the settings, so that
// an error is of files that changed since.
func New(cfg Config) (*Connection, error) {
	c := &Connection{cfg: cfg, refusals: make(map[string]int64), refused: make(map[string]*Refusal), silent: make(map[string]*seed)}
	if cfg.Dial == nil {
		c.cfg.Dial = new(net.Dialer).DialContext
	}
	if cfg.Log == nil {
		c.cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Kafka.TLSOn() {
		c.certs = newCerts(cfg.Kafka.TLS)
		if err := c.certs.refresh(time.Now()); err != nil {
			return nil, err
		}
	}
	if m := c.login(); m != nil {
		c.mechanism = gated{m, &c.gates}
	}
	c.gates.alone = c.mechanism != nil
	return c, nil
}

// Options are the options of a client: brokers, client id, how to dial and log in. What
// is appended to them wins.
func (c *Connection) Options() []kgo.Opt {
	id := c.cfg.ClientID
	if id == "" {
		id = c.cfg.Kafka.ClientID
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(c.cfg.Kafka.Brokers...), kgo.ClientID(id), kgo.Dialer(c.dial), kgo.WithHooks(c),
	}
	if c.mechanism != nil {
		opts = append(opts, kgo.SASL(c.mechanism))
	}
	return opts
}

// Status returns what is known now.
func (c *Connection) Status() Status {
	s := Status{
		TLS: c.certs != nil, InsecureSkipVerify: c.certs != nil && c.cfg.Kafka.TLS.InsecureSkipVerify,
		Mechanism: c.cfg.Kafka.SASL.Mechanism,
	}
	if c.certs != nil {
		s.Certificates = c.certs.state()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.Dialed, s.Answered, s.Refusals = c.dialed, c.answered, make(map[string]int64, len(c.refusals))
	for reason, n := range c.refusals {
		s.Refusals[reason] = n
	}
	s.Refused = c.lasting(time.Now())
	s.Peers = slices.SortedFunc(maps.Values(c.peers), func(a, b Peer) int { return cmp.Compare(a.Broker, b.Broker) })
	return s
}

// Heard returns when a broker last answered a client after its login; zero: none has.
func (c *Connection) Heard() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.heard
}

// meet remembers the certificate that a broker showed.
func (c *Connection) meet(addr string, shown []*x509.Certificate) {
	if len(shown) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.peers == nil || len(c.peers) >= maxPeers && c.peers[addr].Broker == "" {
		c.peers = make(map[string]Peer)
	}
	c.peers[addr] = Peer{addr, shown[0].Subject.String(), shown[0].NotAfter}
}

// dial connects to a broker, unless an attempt there was refused a moment ago.
func (c *Connection) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	began := time.Now()
	conn, err := c.attempt(ctx, network, addr)
	if err != nil && ctx.Err() != nil && time.Since(began) < reachTimeout {
		err = cut{err}
	}
	return conn, err
}

// attempt is dial without a look at what ended it.
func (c *Connection) attempt(ctx context.Context, network, addr string) (net.Conn, error) {
	if err := c.skips(addr); err != nil {
		return nil, err
	}
	if err := c.gates.enter(ctx, addr); err != nil {
		return nil, err
	}
	if !c.cfg.Kafka.MayLogIn(addr) {
		return nil, lookAt("KAFKA_TLS_ENABLED", "%s is not on this host, and %s would send the login in plaintext: set it to true, or KAFKA_SASL_ALLOW_PLAINTEXT=true if that is meant", addr, c.cfg.Kafka.SASL.Mechanism)
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.DialTimeout)
	defer cancel()
	quick := !c.isSilent(addr)
	conn, err := c.reach(ctx, network, addr, quick)
	if err != nil || c.certs == nil {
		c.took(err == nil)
		return listening(conn, quick), err
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		conn.Close()
		return nil, err
	}
	secured := tls.Client(conn, c.certs.config(time.Now(), host))
	if err := secured.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, temporary{err}
	}
	c.took(true)
	c.meet(addr, secured.ConnectionState().PeerCertificates)
	return listening(secured, quick), nil
}

// took notes that a connection was taken, if one was.
func (c *Connection) took(yes bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dialed = c.dialed || yes
}

// temporary marks an error that time may mend: kgo tries again, as after one of the
// network, and what is to be written waits.
type temporary struct{ error }

// Unwrap returns the error itself.
func (t temporary) Unwrap() error { return t.error }

// Temporary is how kgo asks.
func (temporary) Temporary() bool { return true }

// OnBrokerConnect implements kgo.HookBrokerConnect: kgo calls it at the end of each
// attempt, login included.
func (c *Connection) OnBrokerConnect(b kgo.BrokerMetadata, took time.Duration, _ net.Conn, err error) {
	addr := address(b)
	if !c.tried(b, took, err) || isPause(err) {
		return
	}
	cause, no := c.cause(err)
	if no && !cause.Unsure {
		c.gates.leave(addr, err, &cause, time.Now())
	} else {
		c.gates.leave(addr, err, nil, time.Now())
	}
	if c.renew != nil && cause.Reason == ReasonLogin { // new ones may be right, long before the end of these
		c.renew()
	}
	switch {
	case no:
		c.refuse(addr, cause, false)
	case err == nil:
		c.accept(addr, false)
	}
}

// OnBrokerE2E implements kgo.HookBrokerE2E. An answer to a request that needs the login
// proves that it was right not to log in. A listener that wants a login closes the
// connection instead.
func (c *Connection) OnBrokerE2E(b kgo.BrokerMetadata, key int16, e2e kgo.BrokerE2E) {
	const saslHandshake, apiVersions, saslAuthenticate = 17, 18, 36
	if key == saslHandshake || key == apiVersions || key == saslAuthenticate {
		return
	}
	if err := e2e.Err(); err == nil {
		c.accept(address(b), true)
	} else if cause, no := c.cause(err); no {
		c.refuse(address(b), cause, true)
	}
}

func address(b kgo.BrokerMetadata) string { return net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port))) }
