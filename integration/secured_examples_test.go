package integration

import (
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// example is the settings of one service in docs/connect.md.
type example struct {
	name     string
	settings []string
}

// examples are those of the document, in its order.
func examples(t *testing.T) (all []example) {
	t.Helper()
	doc, err := os.ReadFile("../docs/connect.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range strings.Split(string(doc), "\n## ") {
		title, rest, _ := strings.Cut(section, "\n")
		for i, block := range strings.Split(rest, "```ini\n")[1:] {
			block, _, _ = strings.Cut(block, "```")
			all = append(all, example{fmt.Sprintf("%s %d", strings.TrimPrefix(title, "# "), i+1), strings.Split(strings.TrimSpace(block), "\n")})
		}
	}
	if len(all) != 10 {
		t.Fatalf("%d examples, want 10", len(all))
	}
	return all
}

// TestTheExamplesOfTheDocumentWork: `layover config check` takes each, and with its brokers
// replaced by one with the same kind of listener and login it delivers. The files are where
// the test can write them.
func TestTheExamplesOfTheDocumentWork(t *testing.T) {
	t.Parallel()
	f, s := onSecuredBroker(t, false)
	for _, mechanism := range []kadm.ScramMechanism{kadm.ScramSha256, kadm.ScramSha512} {
		f.setPassword(mechanism, plainPassword)
	}
	secrets := filepath.Join(s.dir, "secrets")
	cert, key := s.ca.issue(t, "layover", time.Now().Add(time.Hour))
	for name, content := range map[string]string{
		"kafka/ca.crt": string(s.ca.pem), "kafka/ca.pem": string(s.ca.pem),
		"kafka/user.crt": string(cert), "kafka/user.key": string(key), "kafka/service.cert": string(cert), "kafka/service.key": string(key),
		"kafka/username": "layover\n", "kafka/password": plainPassword + "\n", "kafka/api-key": "layover", "kafka/api-secret": plainPassword,
		"kafka/client-secret": "s3cret", "kafka/web-identity-token": "a.web.identity",
		"bindings/demo/type": "kafka", "bindings/demo/bootstrapServers": s.login, "bindings/demo/securityProtocol": "SASL_SSL", "bindings/demo/saslMechanism": "SCRAM-SHA-512",
		"bindings/demo/username": "layover", "bindings/demo/password": plainPassword, "bindings/demo/ssl.truststore.crt": string(s.ca.pem),
	} {
		path := filepath.Join(secrets, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, path, []byte(content))
	}
	endpoint := newTokenEndpoint(t, time.Minute)
	iam := s.startIAM(t)
	sts := httptest.NewServer(http.HandlerFunc(assumeRole))
	t.Cleanup(sts.Close)
	for _, e := range examples(t) {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, s.broker, 1)
			settings := strings.Split(strings.ReplaceAll(strings.Join(e.settings, "\n"), "/run/secrets", secrets), "\n")
			verb(t, f.settings(append([]string{"KAFKA_BROKERS="}, settings...)...), "config", "check")

			at := s.login
			switch all := strings.Join(settings, " "); {
			case strings.Contains(all, "KAFKA_TLS_CERT"):
				at = s.mtls
			case strings.Contains(all, "AWS_MSK_IAM"):
				at = iam
			case strings.Contains(all, "SERVICE_BINDING_ROOT"):
				at = ""
			}
			settings = f.settings(append(settings, "KAFKA_BROKERS="+at, "SSL_CERT_FILE="+filepath.Join(s.dir, "ca.pem"), "AWS_ENDPOINT_URL_STS="+sts.URL)...)
			if strings.Contains(e.name, "Confluent Cloud 2") {
				settings = append(settings, "KAFKA_SASL_OAUTH_TOKEN_ENDPOINT="+endpoint.URL)
			}
			p := start(t, settings...)
			p.ready(30 * time.Second)
			verb(t, settings, "send", "--delay", "500ms", e.name)
			eventually(t, 30*time.Second, "a delivery", func() bool {
				ends, err := f.ends(f.egress)
				return err == nil && ends[0] == 1
			})
			p.terminate()
		})
	}
}

// assumeRole is AWS's STS, for one token.
func assumeRole(w http.ResponseWriter, r *http.Request) {
	if r.PostFormValue("Action") != "AssumeRoleWithWebIdentity" || r.PostFormValue("WebIdentityToken") != "a.web.identity" {
		http.Error(w, "no", http.StatusForbidden)
		return
	}
	fmt.Fprintf(w, `<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>AKIAX</AccessKeyId>`+
		`<SecretAccessKey>key of the role</SecretAccessKey><SessionToken>session</SessionToken><Expiration>%s</Expiration></Credentials>`+
		`</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
}

// startIAM puts a listener as MSK's in front of the broker: it answers the login
// AWS_MSK_IAM itself. It returns its address.
func (s *secured) startIAM(t *testing.T) string {
	t.Helper()
	cert, key := s.ca.issue(t, "iam", time.Now().Add(time.Hour), "127.0.0.1", "localhost", hostOf(s.via))
	return s.front(t, s.via, cert, key)
}

// front puts a listener with a certificate in front of the broker: it speaks TLS, answers
// logins by AWS_MSK_IAM, and passes everything else on. It returns its address.
func (s *secured) front(t *testing.T, addr string, cert, key []byte) string {
	t.Helper()
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", addr, &tls.Config{Certificates: []tls.Certificate{pair}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() { // ends when the listener is closed
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.logIn(conn)
		}
	}()
	return l.Addr().String()
}

func hostOf(addr string) string {
	host, _, _ := net.SplitHostPort(addr)
	return host
}

// logIn passes a connection on to the broker. Requests of the login are answered here.
func (s *secured) logIn(conn net.Conn) {
	defer conn.Close()
	broker, err := net.Dial("tcp", s.behind)
	if err != nil {
		return
	}
	defer broker.Close()
	for in := false; !in; {
		request, err := frame(conn)
		if err != nil || len(request) < 8 {
			return
		}
		key, version := int16(binary.BigEndian.Uint16(request)), int16(binary.BigEndian.Uint16(request[2:]))
		var answer []byte
		switch key {
		case 17: // SaslHandshake
			resp := kmsg.NewPtrSASLHandshakeResponse()
			resp.Version, resp.SupportedMechanisms = version, []string{"AWS_MSK_IAM"}
			answer = resp.AppendTo(append([]byte(nil), request[4:8]...))
		case 36: // SaslAuthenticate
			resp := kmsg.NewPtrSASLAuthenticateResponse()
			resp.Version = version
			if err := checkIAM(request, version); err != nil {
				message := err.Error()
				resp.ErrorCode, resp.ErrorMessage = 58, &message
			}
			resp.SASLAuthBytes = []byte(`{"version":"2020_10_22"}`)
			head := append([]byte(nil), request[4:8]...)
			if resp.IsFlexible() {
				head = append(head, 0)
			}
			answer, in = resp.AppendTo(head), resp.ErrorCode == 0
		default:
			if _, err := broker.Write(kbin.AppendBytes(nil, request)); err != nil {
				return
			}
			if answer, err = frame(broker); err != nil {
				return
			}
		}
		if _, err := conn.Write(kbin.AppendBytes(nil, answer)); err != nil {
			return
		}
	}
	go func() { io.Copy(broker, conn); broker.Close() }()
	io.Copy(conn, broker)
}

// frame reads a request or an answer behind its size.
func frame(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > 100<<20 {
		return nil, errors.New("too large")
	}
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	return b, err
}

// checkIAM compares the signature in a SaslAuthenticate request with AWS's own signer's.
func checkIAM(request []byte, version int16) error {
	req := kmsg.NewPtrSASLAuthenticateRequest()
	req.Version = version
	b := kbin.Reader{Src: request[8:]}
	b.NullableString() // client id
	if req.IsFlexible() {
		kmsg.ReadTags(&b)
	}
	if err := req.ReadFrom(b.Src); err != nil {
		return err
	}
	var said map[string]string
	if err := json.Unmarshal(req.SASLAuthBytes, &said); err != nil {
		return err
	}
	at, err := time.Parse("20060102T150405Z", said["x-amz-date"])
	if err != nil {
		return err
	}
	query := url.Values{"Action": {"kafka-cluster:Connect"}, "X-Amz-Expires": {said["x-amz-expires"]}}
	r, err := http.NewRequest(http.MethodGet, "https://"+said["host"]+"/?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	keys := aws.Credentials{AccessKeyID: "AKIAX", SecretAccessKey: "key of the role", SessionToken: "session"}
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	signed, _, err := v4.NewSigner().PresignHTTP(r.Context(), keys, r, empty, "kafka-cluster", "eu-west-1", at)
	if err != nil {
		return err
	}
	want, err := url.Parse(signed)
	if err != nil {
		return err
	}
	if got := said["x-amz-signature"]; got != want.Query().Get("X-Amz-Signature") {
		return fmt.Errorf("the signature is %s, want that of %s", got, signed)
	}
	return nil
}
