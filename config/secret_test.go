package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// holder has secrets where callers may keep them: fmt cannot call the methods of one in
// an unexported field.
type holder struct {
	Public  Secret
	private Secret
	Pointer *Secret
	nested  struct{ deep []Secret }
	any     any
}

func holderOf(secret Secret) holder {
	h := holder{Public: secret, private: secret, Pointer: &secret, any: secret}
	h.nested.deep = []Secret{secret}
	return h
}

func TestNothingPrintsASecret(t *testing.T) {
	secret := secretOf(secret{text: "hunter2 and more", path: "/run/secrets/p", kind: "password"})
	cfg := mustLoad(t, alone(t, "KAFKA_SASL_PASSWORD", "hunter2 and more"))
	var out bytes.Buffer
	for _, value := range []any{secret, &secret, holderOf(secret), &holder{private: secret}, []Secret{secret}, map[string]Secret{"a": secret}, cfg, *cfg, cfg.Kafka, cfg.Kafka.SASL, struct{ cfg *Kafka }{&cfg.Kafka}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%10v", "%T", "%p", "%!"} {
			fmt.Fprintf(&out, verb+"\n", value)
		}
		fmt.Fprintln(&out, value)
		if text, err := json.Marshal(value); err == nil {
			out.Write(text)
		}
		for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
			slog.New(handler).Info("x", "value", value, slog.Group("in", "a", value))
		}
	}
	fmt.Fprintln(&out, fmt.Errorf("a login of %v: %s", secret, secret))
	for _, form := range []string{"hunter2", "68756e74657232", "68756E74657232", "[104 117 110", "aHVudGVyM"} {
		if at := strings.Index(out.String(), form); at >= 0 {
			t.Errorf("%s is printed: %s", form, out.String()[max(0, at-200):at+20])
		}
	}
	for _, want := range []string{"set, 16 bytes", `"Public":"set, 16 bytes"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
}

func TestASecretSaysHowLongItIs(t *testing.T) {
	for want, secret := range map[string]Secret{"": {}, "set, 7 bytes": NewSecret("hunter2"), "set": SecretFile("/none")} {
		if got := secret.String(); got != want || fmt.Sprintf("%d", secret) != want || secret.IsSet() != (want != "") {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The Go runtime prints the value of a panic, and with GOTRACEBACK=all the arguments of
// all goroutines.
func TestAPanicPrintsNoSecret(t *testing.T) {
	if os.Getenv("LAYOVER_TEST_PANIC") != "" {
		secret := SecretFile(os.Getenv("LAYOVER_TEST_PANIC"))
		text, err := secret.Read()
		if err != nil || !strings.HasPrefix(text, "hunter2") {
			t.Fatal("the file cannot be read")
		}
		secret.get().text = text
		go func(h holder) { select {} }(holderOf(secret))
		switch os.Getenv("LAYOVER_TEST_KIND") {
		case "value":
			panic(secret)
		case "struct":
			panic(holderOf(secret))
		case "error":
			panic(fmt.Errorf("wrong: %v %+v", secret, holderOf(secret)))
		}
	}
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte("hunter2 in a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"value", "struct", "error"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestAPanicPrintsNoSecret$")
		cmd.Env = append(os.Environ(), "GOTRACEBACK=all", "LAYOVER_TEST_PANIC="+path, "LAYOVER_TEST_KIND="+kind)
		out, err := cmd.CombinedOutput()
		if err == nil || !bytes.Contains(out, []byte("panic: ")) || !bytes.Contains(out, []byte("goroutine ")) {
			t.Fatalf("%s: no panic: %v\n%s", kind, err, out)
		}
		if bytes.Contains(out, []byte("hunter2")) || bytes.Contains(out, []byte("68756e74")) {
			t.Errorf("%s: the secret is in\n%s", kind, out)
		}
	}
}

func TestASecretIsReadAgainFromItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "password")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(" first \r\n")
	cfg, _, err := load(alone(t, "KAFKA_SASL_PASSWORD", "")[:5:5], realFiles())
	if err == nil {
		t.Fatal("loaded without a password", cfg)
	}
	cfg, _, err = load(append(alone(t, "KAFKA_SASL_PASSWORD", ""), "KAFKA_SASL_PASSWORD_FILE="+path), realFiles())
	if err != nil {
		t.Fatal(err)
	}
	password := cfg.Kafka.SASL.Password
	want := func(want, reason string) {
		t.Helper()
		got, err := password.Read()
		if got != want || (err == nil) != (reason == "") || err != nil && !strings.Contains(err.Error(), reason) {
			t.Errorf("got %q, %v, want %q, %q", got, err, want, reason)
		}
		if err != nil && (!strings.Contains(err.Error(), path) || strings.ContainsAny(err.Error(), "\r\n") || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("error %q", err)
		}
	}
	want(" first ", "")
	write("\xef\xbb\xbfsecond\n")
	want("second", "")
	write(" \n")
	want("", "is empty")
	write("hunter2\nhunter2")
	want("", "line break")
	write("hunter2\xff")
	want("", "UTF-8")
	write(strings.Repeat("x", 1<<20+1))
	want("", "larger than")
	os.Remove(path)
	want("", "cannot be read")
	if password.Path() != path || NewSecret("x").Path() != "" || (Secret{}).Path() != "" {
		t.Errorf("path %q", password.Path())
	}
	for want, secret := range map[string]Secret{"": {}, " x ": NewSecret(" x ")} {
		if got, err := secret.Read(); got != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
}

// Blanks around a password belong to it, those around a token never do.
func TestWhiteSpaceAroundSecrets(t *testing.T) {
	tests := map[string]struct{ variable, value, want string }{
		"a password":              {"KAFKA_SASL_PASSWORD", "  a b ", "  a b "},
		"its last line breaks":    {"KAFKA_SASL_PASSWORD", " a \r\n\n", " a "},
		"a client's secret":       {"KAFKA_SASL_OAUTH_CLIENT_SECRET", " a ", " a "},
		"a token":                 {"KAFKA_SASL_OAUTH_TOKEN", " a \n", "a"},
		"an access key's secret":  {"AWS_SECRET_ACCESS_KEY", "\ta ", "a"},
		"a user":                  {"KAFKA_SASL_USERNAME", " a\n", "a"},
		"a client of a token's":   {"KAFKA_SASL_OAUTH_CLIENT_ID", " a ", "a"},
		"a container's token":     {"AWS_CONTAINER_AUTHORIZATION_TOKEN", "Bearer a ", "Bearer a"},
		"letters beyond ASCII":    {"KAFKA_SASL_PASSWORD", "pässwörd", "pässwörd"},
		"equals signs and quotes": {"KAFKA_SASL_PASSWORD", `"a=b'`, `"a=b'`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := fieldOf(mustLoad(t, alone(t, test.variable, test.value)), test.variable); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			path := filepath.Join(t.TempDir(), "secret")
			if err := os.WriteFile(path, []byte(test.value), 0o600); err != nil {
				t.Fatal(err)
			}
			inFile, _, err := load(append(companions(t, test.variable), test.variable+"=", test.variable+"_FILE="+path), realFiles())
			if err != nil || fieldOf(inFile, test.variable) != test.want {
				t.Errorf("in a file: got %q, %v, want %q", fieldOf(inFile, test.variable), err, test.want)
			}
		})
	}
	for _, blank := range []string{" ", "\n", " \t\r\n"} {
		wantProblem(t, alone(t, "KAFKA_SASL_PASSWORD", blank), "KAFKA_SASL_PASSWORD", "is missing")
	}
}

func TestASecretThatIsRefusedIsNotQuoted(t *testing.T) {
	for _, s := range settingsOf(new(Config)) {
		if !s.Secret {
			continue
		}
		for _, value := range []string{"hunter2\nhunter2", "hunter2\x01", "hunter2\xff"} {
			for _, entry := range []string{s.Variable + "=" + value, s.Variable + "_FILE=/v/" + value} {
				problems := problemsOf(t, append(companions(t, s.Variable), s.Variable+"=", entry))
				text := (&Errors{problems}).Error()
				if problems[0].Variable != s.Variable || s.kind != "key" && !strings.Contains(text, "not valid, want one line of text") {
					t.Errorf("%q: got %s", entry, text)
				}
				// A path is said, and here it is the content.
				if strings.Contains(strings.ReplaceAll(text, quote("/v/"+value), ""), "hunter2") {
					t.Errorf("the secret is in %s", text)
				}
			}
		}
	}
}

// A value is easily put into the twin that wants a path.
func TestASecretInPlaceOfAPathIsNotPrinted(t *testing.T) {
	crypt := certificates(t)
	for _, s := range settingsOf(new(Config)) {
		values := []string{crypt.key + crypt.cert, inBase64(crypt.key), "hunter2/hunter2=="}
		switch {
		case s.kind == "certificates":
			values = values[:2]
		case !s.Secret:
			continue
		}
		for _, value := range values {
			problems := problemsOf(t, append(companions(t, s.Variable), s.Variable+"=", s.File()+"="+value))
			text := (&Errors{problems}).Error()
			if problems[0].Variable != s.File() || !strings.Contains(text, "belongs into "+s.Variable) || strings.Contains(text, "hunter2") || strings.Contains(text, "BEGIN") || strings.Contains(text, value[:15]) {
				t.Errorf("%s: got %s", s.File(), text)
			}
		}
	}
}

func TestALoginInAURLIsNotRepeated(t *testing.T) {
	tests := map[string][]string{
		"KAFKA_SASL_OAUTH_TOKEN_ENDPOINT":    {"https://me:hunter2@host/", "https://host/?a=hunter2@", "http://host/?token=hunter2", "hunter2", "https://", "https://:1/hunter2", "ftp://hunter2", "https://host/hunter2\x01", "https://[hunter2"},
		"AWS_ENDPOINT_URL_STS":               {"https://me:hunter2@host/", "http://hunter2", "sts.amazonaws.com/hunter2"},
		"AWS_CONTAINER_CREDENTIALS_FULL_URI": {"https://hunter2@host/", "http://169.254.170.3/hunter2"},
		"AWS_EC2_METADATA_SERVICE_ENDPOINT":  {"http://hunter2@host/", "unix:///hunter2"},
		"KAFKA_BROKERS":                      {"me:hunter2@b:1", "a:1,hunter2@b:1"},
	}
	for variable, values := range tests {
		for _, value := range values {
			environ := alone(t, variable, value)
			wantProblem(t, environ, variable)
			if text := (&Errors{problemsOf(t, environ)}).Error(); strings.Contains(text, "hunter2") {
				t.Errorf("%s: the login is in %s", value, text)
			}
		}
	}
	for variable, value := range map[string]string{
		"KAFKA_SASL_OAUTH_TOKEN_ENDPOINT":    "http://127.0.0.1:8080/token",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://169.254.170.23/v1/credentials",
		"AWS_ENDPOINT_URL_STS":               "http://localhost:1",
		"AWS_EC2_METADATA_SERVICE_ENDPOINT":  "http://[fd00:ec2::254]",
	} {
		if got := fieldOf(mustLoad(t, alone(t, variable, value)), variable); got != value {
			t.Errorf("%s: got %v", variable, got)
		}
	}
}

func TestSecretsOfEqualContentAreEqual(t *testing.T) {
	one, two := mustLoad(t, alone(t, "KAFKA_SASL_PASSWORD", "a")), mustLoad(t, alone(t, "KAFKA_SASL_PASSWORD", "a"))
	other := mustLoad(t, alone(t, "KAFKA_SASL_PASSWORD", "b"))
	if !reflect.DeepEqual(one, two) || reflect.DeepEqual(one, other) {
		t.Error("secrets are not compared by their content")
	}
}

func TestASecretIsDecodedFromText(t *testing.T) {
	var h struct{ Password Secret }
	if err := json.Unmarshal([]byte(`{"Password":"hunter2"}`), &h); err != nil {
		t.Fatal(err)
	}
	if got, err := h.Password.Read(); got != "hunter2" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}
