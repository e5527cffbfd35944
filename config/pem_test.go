package config

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func inBase64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// onOneLine is PEM as it is in an environment that has no line breaks.
func onOneLine(text string) string { return strings.ReplaceAll(text, "\n", `\n`) }

func TestPEMIsTakenInEveryForm(t *testing.T) {
	crypt := certificates(t)
	wrapped := func(text string) string { return inBase64(text)[:76] + "\n" + inBase64(text)[76:] + "\n" }
	forms := map[string]func(string) string{
		"as it is":                  func(text string) string { return text },
		"in base64":                 inBase64,
		"in base64, wrapped":        wrapped,
		"in base64 without padding": func(text string) string { return strings.TrimRight(inBase64(text+"\n"), "=") },
		"in base64 of URLs":         func(text string) string { return base64.URLEncoding.EncodeToString([]byte(text)) },
		"with \\n for line breaks":  onOneLine,
		"with \\r\\n for them":      func(text string) string { return strings.ReplaceAll(text, "\n", `\r\n`) },
		"with line breaks of DOS":   func(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") },
		"with a comment around it":  func(text string) string { return "Bag Attributes\n" + text + "# the end\n" },
		"behind one commented out":  func(text string) string { return "# " + strings.ReplaceAll(crypt.ca, "\n", "\n# ") + "\n" + text },
		"with other blocks before": func(text string) string {
			return "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n" + text
		},
		"both in one":                func(string) string { return crypt.key + crypt.cert + crypt.ca },
		"with white space around it": func(text string) string { return "\n  " + text + "\n\n" },
	}
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			cfg := mustLoad(t, minimal("KAFKA_TLS_CA="+form(crypt.ca+crypt.oldCA), "KAFKA_TLS_CERT="+form(crypt.cert), "KAFKA_TLS_KEY="+form(crypt.key)))
			got, problems := cfg.Kafka.TLS.Load(time.Now())
			if len(problems) > 0 || got.Client == nil || got.Client.Leaf.Subject.CommonName != "layover" || len(got.CAs) < 2 || got.Pool() == nil {
				t.Errorf("got %+v, %q", got, problems)
			}
			dir := t.TempDir()
			write := func(variable, text string) string {
				path := filepath.Join(dir, variable)
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				return variable + "_FILE=" + path
			}
			cfg, warnings, err := load(minimal(write("KAFKA_TLS_CA", form(crypt.ca)), write("KAFKA_TLS_CERT", form(crypt.cert)), write("KAFKA_TLS_KEY", form(crypt.key))), realFiles())
			if err != nil || len(warnings) > 0 || !cfg.Kafka.TLSOn() {
				t.Errorf("in files: %q, %v", warnings, err)
			}
		})
	}
}

func TestPEMThatIsRefused(t *testing.T) {
	crypt := certificates(t)
	const ca, cert, key = "KAFKA_TLS_CA", "KAFKA_TLS_CERT", "KAFKA_TLS_KEY"
	pair := func(c, k string) []string { return []string{cert + "=" + c, key + "=" + k} }
	oauth := func(more string) []string { return append(companions(t, "KAFKA_SASL_OAUTH_CA"), more) }
	middle := func(text string) string { return text[:len(text)/2] }
	tests := map[string]struct {
		env      []string
		variable string
		reason   []string
	}{
		"a path":                       {[]string{ca + "=/etc/ssl/ca.pem"}, ca, []string{"is a path", "KAFKA_TLS_CA_FILE"}},
		"a path from here":             {[]string{ca + "=./ca"}, ca, []string{"is a path", "KAFKA_TLS_CA_FILE"}},
		"a name of a file":             {[]string{ca + "=ca.crt"}, ca, []string{"is a path", "KAFKA_TLS_CA_FILE"}},
		"a path of Windows":            {[]string{ca + `=C:\kafka\ca`}, ca, []string{"is a path"}},
		"a path of a key store":        {[]string{ca + "=/etc/kafka.truststore.JKS"}, ca, []string{"is a path"}},
		"a path of a key":              {pair(crypt.cert, "/etc/key"), key, []string{"is a path", "KAFKA_TLS_KEY_FILE"}},
		"a path for the token's":       {oauth("KAFKA_SASL_OAUTH_CA=/ca"), "KAFKA_SASL_OAUTH_CA", []string{"is a path", "KAFKA_SASL_OAUTH_CA_FILE"}},
		"words":                        {[]string{ca + "=yes please"}, ca, []string{"neither PEM nor base64 of PEM; a path belongs into KAFKA_TLS_CA_FILE"}},
		"a key store":                  {[]string{ca + "=\xfe\xed\xfe\xed\x00\x02"}, ca, []string{"Java key store"}},
		"another key store":            {[]string{ca + "=\xce\xce\xce\xce\x00\x02"}, ca, []string{"Java key store"}},
		"a key store in base64":        {[]string{ca + "=" + inBase64("\xfe\xed\xfe\xed\x00\x02")}, ca, []string{"base64 of a Java key store"}},
		"DER":                          {[]string{ca + "=" + crypt.der}, ca, []string{"DER or PKCS #12"}},
		"DER in a file":                {[]string{ca + "_FILE=/v/" + crypt.der}, ca, []string{"DER or PKCS #12", "KAFKA_TLS_CA_FILE"}},
		"PEM without BEGIN and END":    {[]string{ca + "=" + inBase64(crypt.der)}, ca, []string{"base64 of DER", "BEGIN and END"}},
		"spaces in place of lines":     {[]string{ca + "=" + strings.ReplaceAll(crypt.ca, "\n", " ")}, ca, []string{"no line breaks"}},
		"cut short":                    {[]string{ca + "=" + middle(crypt.ca)}, ca, []string{"1 PEM blocks", "1 are damaged or cut short"}},
		"the first of two cut short":   {[]string{ca + "=" + middle(crypt.ca) + "\n" + crypt.ca}, ca, []string{"2 PEM blocks", "damaged or cut short"}},
		"no base64 in it":              {[]string{ca + "=" + strings.Replace(crypt.ca, "MII", "!!!", 1)}, ca, []string{"damaged"}},
		"a block that is none":         {[]string{ca + "=-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----"}, ca, []string{"number 1", "cannot be parsed"}},
		"a key for certificates":       {[]string{ca + "=" + crypt.key}, ca, []string{"a private key and no certificate", "variable of the other"}},
		"another block":                {[]string{ca + "=-----BEGIN X-----\n-----END X-----"}, ca, []string{"has no certificate"}},
		"every CA expired":             {[]string{ca + "=" + crypt.oldCA + crypt.oldCA}, ca, []string{"only certificates that have expired", "the last on " + time.Now().UTC().Format("2006-01")}},
		"every CA of tokens expired":   {oauth("KAFKA_SASL_OAUTH_CA=" + crypt.oldCA), "KAFKA_SASL_OAUTH_CA", []string{"have expired"}},
		"an expired client":            {pair(crypt.oldCert, crypt.key), cert, []string{"has expired on"}},
		"a key for the client's":       {pair(crypt.key, crypt.key), cert, []string{"a private key and no certificate"}},
		"a certificate cut short":      {pair(middle(crypt.cert), crypt.key), cert, []string{"cut short"}},
		"base64 of words":              {[]string{ca + "=" + inBase64("yes please")}, ca, []string{"neither PEM nor base64 of PEM"}},
		"a key of another":             {pair(crypt.cert, crypt.otherKey), key, []string{"does not fit the certificate in KAFKA_TLS_CERT"}},
		"a key of another kind":        {pair(crypt.cert, crypt.rsaKey), key, []string{"does not fit the certificate in KAFKA_TLS_CERT"}},
		"an encrypted key":             {pair(crypt.cert, crypt.encrypted), key, []string{"is encrypted", "openssl pkey"}},
		"an encrypted key of PKCS #8":  {pair(crypt.cert, crypt.encrypted8), key, []string{"is encrypted", "openssl pkey"}},
		"a key cut short":              {pair(crypt.cert, middle(crypt.key)), key, []string{"cut short"}},
		"a certificate for a key":      {pair(crypt.cert, crypt.cert), key, []string{"a certificate and no private key", "variable of the other"}},
		"a key that is none":           {pair(crypt.cert, "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----"), key, []string{"does not fit", "parse"}},
		"a public key":                 {pair(crypt.cert, "-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----"), key, []string{"has no private key"}},
		"a certificate without a key":  {[]string{cert + "=" + crypt.cert}, key, []string{"is missing", "KAFKA_TLS_CERT is set"}},
		"a key without a certificate":  {[]string{key + "_FILE=/v/" + crypt.key}, cert, []string{"is missing", "KAFKA_TLS_KEY_FILE is set"}},
		"words in a file":              {[]string{ca + "_FILE=/v/yes please"}, ca, []string{`neither PEM nor base64 of PEM; it is from the file "/v/yes please" of KAFKA_TLS_CA_FILE`}},
		"an empty file":                {[]string{ca + "_FILE=/v/\n"}, ca, []string{"KAFKA_TLS_CA_FILE is empty"}},
		"an empty file of a key":       {[]string{cert + "=" + crypt.cert, key + "_FILE=/v/"}, key, []string{"KAFKA_TLS_KEY_FILE is empty"}},
		"a file that is not there":     {[]string{ca + "_FILE=/none"}, ca + "_FILE", []string{"cannot be read"}},
		"bad although TLS is switched": {[]string{ca + "=x", "KAFKA_TLS_ENABLED=false"}, ca, []string{"neither PEM"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			wantProblem(t, minimal(test.env...), test.variable, test.reason...)
			text := (&Errors{problemsOf(t, minimal(test.env...))}).Error()
			for line := range strings.Lines(crypt.key + crypt.otherKey + crypt.rsaKey + crypt.cert + crypt.ca + "hunter2") {
				if len(line) > 5 && !strings.HasPrefix(line, "-----") && strings.Contains(text, strings.TrimSpace(line)) {
					t.Errorf("content is in %s", text)
				}
			}
			if strings.Contains(text, "\n") || len(text) > 500 {
				t.Errorf("more than a line: %s", text)
			}
		})
	}
}

func TestOneAuthorityThatHasNotExpiredIsEnough(t *testing.T) {
	crypt := certificates(t)
	cfg := mustLoad(t, minimal("KAFKA_TLS_CA="+crypt.oldCA+crypt.ca))
	if got, problems := cfg.Kafka.TLS.Load(time.Now()); len(problems) > 0 || len(got.CAs) != 2 {
		t.Errorf("got %+v, %q", got, problems)
	}
	_, problems := cfg.Kafka.TLS.Load(time.Now().Add(72 * time.Hour))
	if len(problems) != 1 || problems[0].Variable != "KAFKA_TLS_CA" || !strings.Contains(problems[0].Reason, "expired") {
		t.Errorf("three days later: %q", problems)
	}
}

func TestNothingSetIsTheSystemsAuthoritiesAndNoClientCertificate(t *testing.T) {
	cfg := mustLoad(t, minimal("KAFKA_TLS_ENABLED=true"))
	got, problems := cfg.Kafka.TLS.Load(time.Now())
	if len(problems) > 0 || got.Client != nil || got.CAs != nil || got.Pool() != nil {
		t.Errorf("got %+v, %q", got, problems)
	}
	if all, err := cfg.Kafka.SASL.OAuth.Authorities(time.Now()); all != nil || err != nil {
		t.Errorf("for tokens: %v, %v", all, err)
	}
}

func TestAuthoritiesOfTheTokenEndpointAreTheirOwn(t *testing.T) {
	crypt := certificates(t)
	cfg := mustLoad(t, alone(t, "KAFKA_SASL_OAUTH_CA", crypt.ca))
	if all, err := cfg.Kafka.SASL.OAuth.Authorities(time.Now()); len(all) != 1 || err != nil {
		t.Errorf("got %d, %v", len(all), err)
	}
	if got, problems := cfg.Kafka.TLS.Load(time.Now()); len(problems) > 0 || len(got.CAs) > 0 {
		t.Errorf("the brokers' are %+v, %q", got, problems)
	}
}

// A daemon reads the files again: what it reads is checked as at the start.
func TestCertificatesAreReadAgainFromTheirFiles(t *testing.T) {
	crypt := certificates(t)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	environ := minimal("KAFKA_TLS_CA_FILE="+write("ca", crypt.ca), "KAFKA_TLS_CERT_FILE="+write("cert", crypt.cert), "KAFKA_TLS_KEY_FILE="+write("key", crypt.key))
	cfg, _, err := load(environ, realFiles())
	if err != nil {
		t.Fatal(err)
	}
	load := func() (int, []Problem) {
		got, problems := cfg.Kafka.TLS.Load(time.Now())
		return len(got.CAs), problems
	}
	write("ca", crypt.ca+crypt.oldCA)
	if cas, problems := load(); cas != 2 || len(problems) > 0 {
		t.Errorf("two authorities now: %d, %q", cas, problems)
	}
	write("cert", crypt.oldCert)
	if _, problems := load(); len(problems) != 1 || problems[0].Variable != "KAFKA_TLS_CERT" || !strings.Contains(problems[0].Reason, "has expired") {
		t.Errorf("an expired one: %q", problems)
	}
	write("cert", crypt.cert)
	write("key", "\n")
	write("ca", "")
	if _, problems := load(); len(problems) != 2 || !strings.Contains(problems[0].Reason, "is empty") || !strings.Contains(problems[1].Reason, filepath.Join(dir, "key")) {
		t.Errorf("empty files: %q", problems)
	}
	os.Remove(filepath.Join(dir, "key"))
	write("ca", crypt.ca)
	if _, problems := load(); len(problems) != 1 || problems[0].Variable != "KAFKA_TLS_KEY" || !strings.Contains(problems[0].Reason, "cannot be read") {
		t.Errorf("a file that is gone: %q", problems)
	}
}
