package config

import (
	"encoding/base64"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAnAdminAddressThatOthersReachNeedsAToken(t *testing.T) {
	const addr, token = "LAYOVER_ADMIN_ADDR=", "LAYOVER_ADMIN_TOKEN=t0k"
	for _, open := range []string{":9847", "0.0.0.0:9847", "[::]:9847", "10.0.0.1:9847", "layover:9847", "127.0.0.1.example.com:9847", "[fe80::1]:9847"} {
		wantProblem(t, minimal(addr+open), "LAYOVER_ADMIN_ADDR", "is not loopback", "LAYOVER_ADMIN_TOKEN is not set")
		cfg, warnings, err := load(minimal(addr+open, token), host)
		if err != nil || cfg.AdminAddr != open || len(warnings) != 1 || !strings.Contains(warnings[0], "LAYOVER_ADMIN_TOKEN is sent in plaintext") {
			t.Errorf("%s with a token: %v, warnings %q", open, err, warnings)
		}
	}
	for _, own := range []string{"127.0.0.1:9847", "127.1.2.3:9847", "[::1]:9847", "localhost:9847", "127.0.0.1:0"} {
		if cfg := mustLoad(t, minimal(addr+own)); cfg.AdminAddr != own || cfg.AdminToken.IsSet() {
			t.Errorf("%s: %q", own, cfg.AdminAddr)
		}
		mustLoad(t, minimal(addr+own, token))
	}
	if cfg := mustLoad(t, minimal()); cfg.AdminAddr != "" {
		t.Errorf("by default it is on, at %q", cfg.AdminAddr)
	}
	if _, warnings, err := load(minimal(token), host); err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "no effect without LAYOVER_ADMIN_ADDR") {
		t.Errorf("a token alone: %v, %q", err, warnings)
	}
}

func TestTheTwoHTTPAddressesDiffer(t *testing.T) {
	for _, pair := range [][2]string{
		{":9846", "127.0.0.1:9846"}, {"127.0.0.1:1", "127.0.0.1:1"}, {"0.0.0.0:1", "[::1]:1"}, {"[::]:1", "localhost:1"}, {"LocalHost:1", "localhost:1"}, {"127.0.0.1:1", "127.0.0.1:01"},
	} {
		wantProblem(t, minimal("LAYOVER_HTTP_ADDR="+pair[0], "LAYOVER_ADMIN_ADDR="+pair[1]), "LAYOVER_ADMIN_ADDR", "is taken by LAYOVER_HTTP_ADDR")
	}
	for _, pair := range [][2]string{{":0", "127.0.0.1:0"}, {":00", "127.0.0.1:00"}, {"10.0.0.1:1", "127.0.0.1:1"}, {":1", "127.0.0.1:11"}} {
		mustLoad(t, minimal("LAYOVER_HTTP_ADDR="+pair[0], "LAYOVER_ADMIN_ADDR="+pair[1]))
	}
}

func TestATokenThatNoHeaderCanHaveIsRefusedAndNotRepeated(t *testing.T) {
	for token, want := range map[string]string{
		"hunter two": "no Authorization header can have", "hünter": "no Authorization header can have",
		"hunter\ttwo": "want one line of text", "hunter\ntwo": "want one line of text", "hunter\x7f": "want one line of text",
	} {
		environ := minimal("LAYOVER_ADMIN_ADDR=127.0.0.1:9847", "LAYOVER_ADMIN_TOKEN="+token)
		wantProblem(t, environ, "LAYOVER_ADMIN_TOKEN", want)
		if reason := problemsOf(t, environ)[0].Reason; strings.Contains(reason, "nter") {
			t.Errorf("the reason has the token: %s", reason)
		}
	}
}

// An empty file is unset elsewhere. Here that would be plaintext, or a port for everybody.
func TestAnEmptyFileTurnsNoProtectionOff(t *testing.T) {
	for _, variable := range []string{"LAYOVER_ADMIN_TOKEN", "LAYOVER_HTTP_TLS_CERT", "LAYOVER_HTTP_TLS_KEY"} {
		for _, path := range []string{"/v/", "/v/ \n"} {
			environ := minimal("LAYOVER_ADMIN_ADDR=127.0.0.1:9847", variable+"_FILE="+path)
			wantProblem(t, environ, variable, "of "+variable+"_FILE is empty")
		}
		wantProblem(t, minimal(variable+"_FILE=/none"), variable+"_FILE", "cannot be read")
	}
}

func TestACertificateForHTTPIsWholeAndFitsAndLives(t *testing.T) {
	const certIs, keyIs = "LAYOVER_HTTP_TLS_CERT=", "LAYOVER_HTTP_TLS_KEY="
	crypt := certificates(t)
	cert, key := crypt.cert, crypt.key
	for _, environ := range [][]string{
		{certIs + cert, keyIs + key},
		{certIs + base64.StdEncoding.EncodeToString([]byte(cert)), keyIs + strings.ReplaceAll(key, "\n", `\n`)},
	} {
		cfg := mustLoad(t, minimal(environ...))
		pair, err := cfg.HTTP.TLS.Load(time.Now())
		if err != nil || !cfg.HTTP.TLS.On() || pair.Leaf.SerialNumber.Int64() != 2 {
			t.Errorf("%v, %v", pair, err)
		}
	}
	wantProblem(t, minimal(certIs+cert), "LAYOVER_HTTP_TLS_KEY", "is missing: LAYOVER_HTTP_TLS_CERT is set")
	wantProblem(t, minimal(keyIs+key), "LAYOVER_HTTP_TLS_CERT", "is missing: LAYOVER_HTTP_TLS_KEY is set")
	wantProblem(t, minimal(certIs+"nonsense", keyIs+key), "LAYOVER_HTTP_TLS_CERT", "neither PEM nor base64 of PEM")
	wantProblem(t, minimal(certIs+cert, keyIs+"/tls.key"), "LAYOVER_HTTP_TLS_KEY", "is a path", "LAYOVER_HTTP_TLS_KEY_FILE")
	wantProblem(t, minimal(certIs+cert, keyIs+crypt.otherKey), "LAYOVER_HTTP_TLS_KEY", "does not fit the certificate in LAYOVER_HTTP_TLS_CERT")
	wantProblem(t, minimal(certIs+crypt.oldCert, keyIs+key), "LAYOVER_HTTP_TLS_CERT", "has expired on")
	if cfg := mustLoad(t, minimal()); cfg.HTTP.TLS.On() {
		t.Error("TLS is on by default")
	}
}

func TestTheCertificateForHTTPIsReadAgainFromItsFiles(t *testing.T) {
	dir := t.TempDir()
	settings := HTTPTLS{Cert: SecretFile(filepath.Join(dir, "crt")), Key: SecretFile(filepath.Join(dir, "key"))}
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := settings.Load(time.Now()); err == nil || !strings.Contains(err.Error(), "LAYOVER_HTTP_TLS_CERT: ") || !strings.Contains(err.Error(), "LAYOVER_HTTP_TLS_KEY: ") {
		t.Errorf("without files: %v", err)
	}
	crypt := certificates(t)
	write("key", crypt.key)
	write("crt", crypt.oldCert)
	if _, err := settings.Load(time.Now()); err == nil || !strings.Contains(err.Error(), "LAYOVER_HTTP_TLS_CERT: has expired on") {
		t.Errorf("an expired one: %v", err)
	}
	write("crt", crypt.cert)
	pair, err := settings.Load(time.Now())
	if err != nil || string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Leaf.Raw})) != crypt.cert {
		t.Errorf("%v, %v", pair, err)
	}
}
