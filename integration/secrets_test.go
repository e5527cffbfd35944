package integration

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// canaries are secrets that no output may have. Their characters differ in every encoding.
type canaries struct {
	*testing.T
	all map[string]string // by what they are
}

// plant makes a secret.
func (c *canaries) plant(of string) string {
	secret := fmt.Sprintf("c4n/ry+%02d?&=%s", len(c.all), of)
	c.all[of] = secret
	return secret
}

// absent fails the test where an output has a secret: as it is, in base64 at any of its
// three alignments, or in a URL.
func (c *canaries) absent(output, from string) {
	c.Helper()
	for of, secret := range c.all {
		forms := []string{secret, url.QueryEscape(secret), url.PathEscape(secret), strings.Trim(strings.ReplaceAll(fmt.Sprintf("%q", secret), `\`, ""), `"`)}
		for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			for shift := range 3 {
				encoded := encoding.EncodeToString([]byte(strings.Repeat("x", shift) + secret))
				forms = append(forms, encoded[4:len(encoded)-4])
			}
		}
		for _, form := range forms {
			if strings.Contains(output, form) {
				at := strings.Index(output, form)
				c.Errorf("%s has the %s as %q: ...%s...", from, of, form, output[max(0, at-100):min(len(output), at+100)])
			}
		}
	}
}

// TestNoOutputHasASecret plants secrets in every setting that may have one. It looks for
// them in the output of every verb, of the servers, and of a crash.
func TestNoOutputHasASecret(t *testing.T) {
	t.Parallel()
	need(t, shared.binary)
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		write(t, path, []byte(content))
		return path
	}
	k, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.EnableSASL(), kfake.Superuser("PLAIN", "other", "other"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	ca := newAuthority(t, "CA")
	cert, key := ca.issue(t, "layover", time.Now().Add(time.Hour), "127.0.0.1")
	for name, login := range map[string]func(*canaries) []string{
		"PLAIN": func(c *canaries) []string {
			return []string{"KAFKA_SASL_MECHANISM=PLAIN", "KAFKA_SASL_USERNAME=me", "KAFKA_SASL_PASSWORD=" + c.plant("password")}
		},
		"SCRAM from a file": func(c *canaries) []string {
			return []string{"KAFKA_SASL_MECHANISM=SCRAM-SHA-512", "KAFKA_SASL_USERNAME=me", "KAFKA_SASL_PASSWORD_FILE=" + file("password", c.plant("password"))}
		},
		"OAUTHBEARER": func(c *canaries) []string {
			e := newTokenEndpoint(t, time.Minute) // it repeats nothing, and refuses the secret
			return []string{"KAFKA_SASL_MECHANISM=OAUTHBEARER", "KAFKA_SASL_OAUTH_CLIENT_ID=me", "KAFKA_SASL_OAUTH_TOKEN_ENDPOINT=" + e.URL, "KAFKA_SASL_OAUTH_CLIENT_SECRET=" + c.plant("client secret")}
		},
		"a token": func(c *canaries) []string {
			return []string{"KAFKA_SASL_MECHANISM=OAUTHBEARER", "KAFKA_SASL_OAUTH_TOKEN=" + c.plant("token")}
		},
		"AWS": func(c *canaries) []string {
			return []string{"KAFKA_SASL_MECHANISM=AWS_MSK_IAM", "KAFKA_TLS_ENABLED=false", "AWS_REGION=eu-west-1", "AWS_ACCESS_KEY_ID=me", "AWS_SECRET_ACCESS_KEY=" + c.plant("secret key"), "AWS_SESSION_TOKEN=" + c.plant("session token")}
		},
		"a certificate": func(c *canaries) []string {
			c.all["key"] = strings.Split(string(key), "\n")[1]
			c.all["key in base64"] = base64.StdEncoding.EncodeToString(key)[40:100]
			return []string{"KAFKA_TLS_CA=" + string(ca.pem), "KAFKA_TLS_CERT_FILE=" + file("tls.crt", string(cert)), "KAFKA_TLS_KEY=" + base64.StdEncoding.EncodeToString(key)}
		},
		"nothing valid": func(c *canaries) []string {
			var all []string
			for _, name := range secretSettings(t) {
				all = append(all, name+"="+c.plant(name))
			}
			return append(all, "KAFKA_SSL_KEY_PASSWORD="+c.plant("a near miss"), "SASL_JAAS_CONFIG="+c.plant("another"),
				"KAFKA_BROKERS=me:"+c.plant("login")+"@kafka:9092", "KAFKA_SASL_OAUTH_TOKEN_ENDPOINT=https://me:"+c.plant("login of a URL")+"@host/")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &canaries{T: t, all: make(map[string]string)}
			settings := append(minimal("KAFKA_BROKERS="+k.ListenAddrs()[0], "LAYOVER_LOG_LEVEL=debug", "LAYOVER_ADMIN_ADDR=127.0.0.1:"+freePort(t), "LAYOVER_ADMIN_TOKEN="+c.plant("admin token")), login(c)...)
			for _, args := range [][]string{
				{"config"}, {"config", "-o", "json"}, {"config", "check"}, {"config", "help"}, {"send", "--delay", "1s", "x"}, {"journal", "show"},
				{"journal", "show", "-o", "json"}, {"journal", "recover"}, {"skip"}, {"health"}, {"version"}, {"help"},
			} {
				t.Run(strings.Join(args, " "), func(t *testing.T) {
					t.Parallel()
					out, _ := try(t, settings, args...)
					c.absent(out, "layover "+t.Name())
				})
			}
			c.serves(settings)
		})
	}
}

// serves looks at what a running process says, until it is made to crash with all its
// stacks.
func (c *canaries) serves(settings []string) {
	c.Helper()
	p := launch(c.T, append(settings, "GOTRACEBACK=all")...)
	p.mu.Lock()
	p.keep = 1 << 20 // the stacks, too
	p.mu.Unlock()
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		select {
		case <-p.exited:
			c.absent(p.log(), "layover run")
			return
		default:
		}
	}
	for _, path := range []string{"/", "/status", "/metrics", "/livez", "/readyz", "/startupz", "/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/goroutine?debug=2"} {
		_, body := p.get(path)
		c.absent(body, path)
	}
	p.signal(syscall.SIGQUIT)
	p.wait(10 * time.Second)
	if !strings.Contains(p.log(), "goroutine") {
		c.Error("no stacks")
	}
	c.absent(p.log(), "layover run")
}

// secretSettings are the names that the table of settings calls secret.
func secretSettings(t *testing.T) (names []string) {
	t.Helper()
	var table struct {
		Settings []struct {
			Name   string `json:"name"`
			Secret bool   `json:"secret"`
		} `json:"settings"`
	}
	out, _ := try(t, nil, "config", "help", "-o", "json")
	if err := json.Unmarshal([]byte(out), &table); err != nil {
		t.Fatal(err)
	}
	for _, s := range table.Settings {
		if s.Secret {
			names = append(names, s.Name)
		}
	}
	if len(names) < 5 {
		t.Fatalf("secrets are %q", names)
	}
	return names
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
