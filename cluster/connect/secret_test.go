package connect

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"layover/config"
)

// holdsSecret reports whether text has a secret. The secret may be as it is, in a URL,
// in hex, or in base64 at any of the three places where it may begin.
func holdsSecret(text, secret string) bool {
	forms := []string{secret, url.QueryEscape(secret), url.PathEscape(secret), hex.EncodeToString([]byte(secret))}
	for shift := range 3 {
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			whole := enc.EncodeToString([]byte("xxx"[:shift] + secret))
			begin, end := (shift*8+5)/6, (shift+len(secret))*8/6
			forms = append(forms, whole[begin:end]) // without the characters that it shares with its neighbours
		}
	}
	for _, form := range forms {
		if strings.Contains(strings.ToLower(text), strings.ToLower(form)) {
			return true
		}
	}
	return false
}

const canary, canaryToken = "c4nary/+of the vault?", "c4nary-token"

// loginsWithSecrets have one in every credential.
func loginsWithSecrets() map[string]config.Kafka {
	secret := config.NewSecret(canary)
	oauthOf := func(change func(o *config.OAuth)) config.Kafka {
		o := oauthSettings()
		o.ClientSecret = secret
		change(o)
		return config.Kafka{SASL: config.SASL{Mechanism: config.MechanismOAuth, OAuth: *o}}
	}
	awsOf := func(a config.AWS) config.Kafka {
		k := iam(a)
		k.AWS.Region, k.AWS.EC2MetadataDisabled = "eu-west-1", true
		return k
	}
	withPassword := func(m config.Mechanism) config.Kafka {
		k := plainLogin(secret)
		k.SASL.Mechanism = m
		return k
	}
	return map[string]config.Kafka{
		"PLAIN":               withPassword(config.MechanismPlain),
		"SCRAM-SHA-256":       withPassword(config.MechanismScramSHA256),
		"SCRAM-SHA-512":       withPassword(config.MechanismScramSHA512),
		"a token":             oauthOf(func(o *config.OAuth) { o.Token = config.NewSecret(canaryToken) }),
		"a token that is bad": oauthOf(func(o *config.OAuth) { o.Token = secret }),
		"a token endpoint":    oauthOf(func(*config.OAuth) {}),
		"an access key":       awsOf(config.AWS{AccessKeyID: config.NewSecret("AKID"), SecretAccessKey: secret, SessionToken: config.NewSecret(canaryToken)}),
		"a web identity":      awsOf(config.AWS{RoleARN: "role", WebIdentityToken: secret, EndpointURLSTS: "http://" + endpointAddr}),
		"a container":         awsOf(config.AWS{ContainerURI: "http://" + endpointAddr, ContainerAuthToken: secret}),
	}
}

// parrot is an endpoint that gives one token, and then repeats requests in its errors.
func parrot() http.HandlerFunc {
	var answers atomic.Int32
	return func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if answers.Add(1) == 1 && !strings.Contains(string(body), "AssumeRole") {
			says(200, fmt.Sprintf(`{"access_token":%q,"expires_in":100}`, canaryToken))(rw, r)
			return
		}
		says(400, fmt.Sprintf(`{"error":%q,"error_description":%q,"message":%q,"code":%q}`, body, body, r.Header, canary))(rw, r)
	}
}

// TestNoSecretIsPrinted plants a secret in every credential, has logins taken and
// refused, and searches all that can be printed. The log is at debug, with kgo's.
func TestNoSecretIsPrinted(t *testing.T) {
	for name, k := range loginsWithSecrets() {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				w.Setenv("AWS_REGION", "eu-west-1")
				w.serve(endpointAddr, parrot())
				w.start()
				var taken atomic.Bool
				taken.Store(k.SASL.Mechanism != config.MechanismAWS)
				w.judge(func(string) (int16, string, string) {
					if taken.Load() {
						return 0, "", ""
					}
					return notTaken, "Authentication failed: Invalid username or password", ""
				})
				k.Brokers, k.TLS.Enabled = nil, config.ToggleFalse
				c := w.connect(k)
				all := []string{fmt.Sprint(w.ping(c))}
				taken.Store(false)
				for range 3 {
					err := w.ping(c)
					all = append(all, fmt.Sprintf("%v %+v %#v %v", err, err, err, c.Explain(err)))
					time.Sleep(2 * time.Minute)
				}
				status, _ := json.Marshal(c.Status())
				all = append(all, string(status), w.logs.text())
				for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x", "%q"} {
					all = append(all, fmt.Sprintf(verb, c), fmt.Sprintf(verb, c.cfg), fmt.Sprintf(verb, c.mechanism))
				}
				for _, text := range all {
					if holdsSecret(text, canary) || holdsSecret(text, canaryToken) {
						t.Errorf("a secret is in:\n%s", text)
					}
				}
				if s := c.Status(); len(s.Refusals) == 0 || len(w.logs.with(refusedLine)) == 0 && !strings.HasPrefix(name, "SCRAM") {
					t.Errorf("nothing was refused: %+v", s)
				}
			})
		})
	}
}

func TestNoKeyIsPrinted(t *testing.T) {
	inBubble(t, func(w *fixture) {
		ca := newAuthority(t, "ca")
		client := ca.issue("layover", false, year)
		w.start(kfake.TLS(server(ca.issue("localhost", true, year), ca)))
		c := w.connect(config.Kafka{TLS: config.TLS{Enabled: config.ToggleTrue, CA: w.file("ca", ca.pem), Cert: w.file("cert", client.cert), Key: w.file("key", client.key)}})
		body := strings.Split(client.key, "\n")[1]
		all := []string{fmt.Sprint(w.ping(c)), fmt.Sprintf("%+v %#v", c, c)}
		watch := watch{c: c}
		for _, wrong := range []string{body, strings.Replace(client.key, "PRIVATE KEY", "OTHER", 2), strings.Replace(client.key, "PRIVATE", "RSA PRIVATE", 2), client.key[:80] + "?" + client.key[80:]} {
			w.write("key", wrong)
			watch.look(time.Now())
			watch.look(time.Now())
			all = append(all, fmt.Sprintf("%+v", c.Status()), c.Status().Certificates[len(c.Status().Certificates)-1].Problem)
		}
		if len(w.logs.with(wrongFile)) == 0 {
			t.Error("no line of a wrong key")
		}
		for _, text := range append(all, w.logs.text()) {
			if strings.Contains(text, body[:20]) || strings.Contains(text, body[20:40]) {
				t.Errorf("a part of the key is in:\n%s", text)
			}
		}
	})
}

func TestTheSearchFindsASecretInEveryForm(t *testing.T) {
	for _, text := range []string{
		canary, "x" + canary + "x", url.QueryEscape(canary), url.PathEscape(canary), hex.EncodeToString([]byte(canary)),
		base64.StdEncoding.EncodeToString([]byte(canary)), base64.URLEncoding.EncodeToString([]byte("a:" + canary + "x")), base64.RawStdEncoding.EncodeToString([]byte("b" + canary)),
	} {
		if !holdsSecret("before "+text+" behind", canary) {
			t.Errorf("not found in %q", text)
		}
	}
	if holdsSecret("c4nary of the vault", canary) {
		t.Error("found where it is not")
	}
}
