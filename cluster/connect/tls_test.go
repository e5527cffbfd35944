package connect

import (
	"crypto/tls"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"layover/config"
)

// handshake is a broker, settings, and what comes of both.
type handshake struct {
	broker  *tls.Config // nil: plaintext
	tls     config.TLS
	refused Cause  // zero: connected
	hint    string // begin of the message
}

func TestABrokerIsBelievedOnlyWithTheRightCertificate(t *testing.T) {
	ca, other := newAuthority(t, "right"), newAuthority(t, "other")
	local, far := ca.issue("localhost", true, year), ca.issue("kafka.example", false, year)
	client, foreign := ca.issue("layover", false, year), other.issue("layover", false, year)
	trust := func(a *authority) config.TLS {
		return config.TLS{Enabled: config.ToggleTrue, CA: config.NewSecret(a.pem)}
	}
	named := trust(ca)
	named.ServerName = "kafka.example"
	misnamed := trust(ca)
	misnamed.ServerName = "other.example"
	insecure := trust(other)
	insecure.InsecureSkipVerify = true
	mutual, wrongClient := trust(ca), trust(ca)
	mutual.Cert, mutual.Key = config.NewSecret(client.cert), config.NewSecret(client.key)
	wrongClient.Cert, wrongClient.Key = config.NewSecret(foreign.cert), config.NewSecret(foreign.key)
	old := server(local, nil)
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	mutual12 := server(local, ca)
	mutual12.MaxVersion = tls.VersionTLS12
	const names = "KAFKA_TLS_SERVER_NAME, KAFKA_BROKERS and the names that brokers advertise"
	const pair = "KAFKA_TLS_CERT and KAFKA_TLS_KEY"
	for name, h := range map[string]handshake{
		"the right CA":                {broker: server(local, nil), tls: trust(ca)},
		"another CA":                  {server(local, nil), trust(other), Cause{Reason: ReasonTLS, LookAt: "KAFKA_TLS_CA"}, "the broker's certificate is of no authority"},
		"the system's CAs":            {server(local, nil), config.TLS{Enabled: config.ToggleTrue}, Cause{Reason: ReasonTLS, LookAt: "KAFKA_TLS_CA"}, "the broker's certificate is of no authority"},
		"another host's":              {server(far, nil), trust(ca), Cause{Reason: ReasonTLS, LookAt: names}, "the broker's certificate is for other names"},
		"the name of the setting":     {broker: server(far, nil), tls: named},
		"another name of the setting": {server(far, nil), misnamed, Cause{Reason: ReasonTLS, LookAt: names}, "the broker's certificate is for other names"},
		"nothing verified":            {broker: server(far, nil), tls: insecure},
		"an expired certificate":      {server(ca.issue("localhost", true, -day), nil), trust(ca), Cause{Reason: ReasonTLS, LookAt: "the broker's certificate"}, "the broker's certificate has expired"},
		"mutual TLS":                  {broker: server(local, ca), tls: mutual},
		"no client certificate":       {server(local, ca), trust(ca), Cause{Reason: ReasonTLS, LookAt: pair}, "the broker does not take the client's certificate"},
		"no client certificate, 1.2":  {mutual12, trust(ca), Cause{Reason: ReasonTLS, LookAt: "the broker's ssl.cipher.suites, " + pair}, "the broker ends the TLS handshake"},
		"another client certificate":  {server(local, ca), wrongClient, Cause{Reason: ReasonTLS, LookAt: pair}, "the broker does not take the client's certificate"},
		"TLS 1.1":                     {old, trust(ca), Cause{Reason: ReasonTLS, LookAt: "the broker's ssl.enabled.protocols"}, "the broker does not speak TLS 1.2"},
		"plaintext to a TLS port":     {server(local, nil), config.TLS{}, Cause{Reason: ReasonProtocol, LookAt: "KAFKA_TLS_ENABLED, KAFKA_SASL_MECHANISM and the port in KAFKA_BROKERS", Unsure: true}, "the broker closes the connection at once, as one does that wants TLS or a login, or a published port of a container whose Kafka is not up yet"},
	} {
		t.Run(name, func(t *testing.T) { h.try(overTCP(t)) })
	}
}

func (h handshake) try(w *fixture) {
	var opts []kfake.Opt
	if h.broker != nil {
		opts = append(opts, kfake.TLS(h.broker))
	}
	w.start(opts...)
	h.check(w, w.broker.ListenAddrs()[0])
}

// check connects to a broker at an address.
func (h handshake) check(w *fixture, addr string) {
	c := w.connect(config.Kafka{TLS: h.tls, Brokers: []string{addr}})
	err := w.ping(c)
	s := c.Status()
	if h.refused == (Cause{}) {
		if err != nil || len(s.Refused) > 0 || len(s.Refusals) > 0 || !s.Answered {
			w.Errorf("error %v, status %+v, want a connection", err, s)
		}
		shown := len(s.Peers) == 1 && s.Peers[0].Broker == addr && s.Peers[0].NotAfter.After(time.Now())
		if s.TLS && !shown || !s.TLS && len(s.Peers) > 0 {
			w.Errorf("the brokers' certificates are %+v", s.Peers)
		}
		return
	}
	if err == nil || len(s.Refused) != 1 || s.Answered {
		w.Fatalf("error %v, status %+v, want a refusal", err, s)
	}
	got := s.Refused[0]
	if got.Broker != addr || got.Reason != h.refused.Reason || got.LookAt != h.refused.LookAt ||
		got.Unsure != h.refused.Unsure || !strings.HasPrefix(got.Message, h.hint) || strings.Contains(got.Message, "\n") {
		w.Errorf("refusal %+v, want %+v with a message that begins with %q", got, h.refused, h.hint)
	}
	if n := s.Refusals[h.refused.Reason]; n < 1 || len(s.Refusals) != 1 {
		w.Errorf("counters %v, want those of %s", s.Refusals, h.refused.Reason)
	}
	lines := w.logs.with(refusedLine)
	if len(lines) != 1 || lines[0]["look_at"] != h.refused.LookAt || lines[0]["reason"] != h.refused.Reason || lines[0]["broker"] != got.Broker || lines[0]["level"] != "WARN" {
		w.Errorf("log lines %v, want one", lines)
	}
	explained := c.Explain(err).Error()
	if !strings.Contains(explained, "look at "+h.refused.LookAt) || strings.Contains(explained, "\n") {
		w.Errorf("explained as %q", explained)
	}
}

// TestTwoSidesThatDoNotSpeakTheSame has servers that do as Kafka's: it takes the first
// bytes of a handshake for a size over its limit, and resets the connection.
func TestTwoSidesThatDoNotSpeakTheSame(t *testing.T) {
	const port = "KAFKA_TLS_ENABLED and the port in KAFKA_BROKERS"
	for name, h := range map[string]struct {
		handshake
		answer string // before it closes
	}{
		"TLS, reset":               {handshake{nil, config.TLS{Enabled: config.ToggleTrue}, Cause{Reason: ReasonProtocol, LookAt: port, Unsure: true}, "the broker closes the connection in the TLS handshake"}, ""},
		"TLS, another protocol":    {handshake{nil, config.TLS{Enabled: config.ToggleTrue}, Cause{Reason: ReasonProtocol, LookAt: port}, "the broker does not speak TLS there"}, "HTTP/1.1 400 Bad Request\r\n\r\n"},
		"plaintext, reset":         {handshake{nil, config.TLS{}, Cause{Reason: ReasonProtocol, LookAt: "KAFKA_TLS_ENABLED, KAFKA_SASL_MECHANISM and the port in KAFKA_BROKERS", Unsure: true}, "the broker closes the connection at once"}, ""},
		"plaintext, with an alert": {handshake{nil, config.TLS{}, Cause{Reason: ReasonProtocol, LookAt: port}, "the broker wants TLS there"}, "\x15\x03\x03\x00\x02\x02\x28"},
	} {
		t.Run(name, func(t *testing.T) {
			h.check(overTCP(t), serveTCP(t, func(conn *net.TCPConn) {
				io.ReadFull(conn, make([]byte, 4))
				if h.answer != "" {
					io.WriteString(conn, h.answer)
					conn.CloseWrite()
					io.Copy(io.Discard, conn)
				}
			}))
		})
	}
}

// serveTCP has f talk to whoever connects to the address that it returns.
func serveTCP(t *testing.T, f func(*net.TCPConn)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	t.Cleanup(all.Wait)
	t.Cleanup(func() { l.Close() })
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				f(conn.(*net.TCPConn))
			})
		}
	})
	return l.Addr().String()
}

func TestTLSThatIsAskedForIsNeverPlaintext(t *testing.T) {
	w := overTCP(t)
	first := make(chan byte, 100)
	addr := serveTCP(t, func(conn *net.TCPConn) {
		var begin [1]byte
		conn.Read(begin[:])
		first <- begin[0]
	})
	for name, ca := range map[string]config.Secret{
		"no file":      config.SecretFile(w.dir + "/none"),
		"a directory":  config.SecretFile(w.dir),
		"an empty one": w.file("empty", ""),
		"white space":  w.file("space", " \n\t"),
		"no PEM":       w.file("text", "certificate"),
		"no block":     w.file("block", "-----BEGIN CERTIFICATE-----\n"),
	} {
		k := config.Kafka{Brokers: []string{addr}, TLS: config.TLS{Enabled: config.ToggleTrue, CA: ca}}
		if c, err := New(Config{Kafka: k}); err == nil || c != nil || !strings.HasPrefix(err.Error(), "KAFKA_TLS_CA ") {
			t.Errorf("%s: connection %v, error %v, want none and one of KAFKA_TLS_CA", name, c != nil, err)
		}
	}
	c := w.connect(config.Kafka{Brokers: []string{addr}, TLS: config.TLS{Enabled: config.ToggleTrue}}) // the system's CAs
	if err := w.ping(c); err == nil || !c.Status().TLS {
		t.Errorf("error %v, status %+v, want a refusal and TLS", err, c.Status())
	}
	const handshakeRecord = 22
	if got := <-first; got != handshakeRecord {
		t.Errorf("the first byte on the wire is %d, want that of a TLS handshake", got)
	}
}

func TestWhatIsSkippedIsInTheStatus(t *testing.T) {
	for name, want := range map[string]config.TLS{
		"TLS":          {Enabled: config.ToggleTrue},
		"not verified": {Enabled: config.ToggleTrue, InsecureSkipVerify: true},
		"plaintext":    {Enabled: config.ToggleFalse, InsecureSkipVerify: true},
	} {
		c, err := New(Config{Kafka: config.Kafka{TLS: want}})
		if err != nil {
			t.Fatal(err)
		}
		on := want.Enabled == config.ToggleTrue
		if s := c.Status(); s.TLS != on || s.InsecureSkipVerify != (on && want.InsecureSkipVerify) || s.Mechanism != "" {
			t.Errorf("%s: status %+v", name, s)
		}
	}
}
