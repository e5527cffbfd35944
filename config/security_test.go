package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// The logins of tests, each whole, and each over TLS by itself or not at all.
var (
	plain = []string{"KAFKA_SASL_MECHANISM=PLAIN", "KAFKA_SASL_USERNAME=me", "KAFKA_SASL_PASSWORD=hunter2"}
	scram = []string{"KAFKA_SASL_MECHANISM=SCRAM-SHA-512", "KAFKA_SASL_USERNAME=me", "KAFKA_SASL_PASSWORD=hunter2"}
	oauth = []string{"KAFKA_SASL_MECHANISM=OAUTHBEARER", "KAFKA_SASL_OAUTH_TOKEN=hunter2"}
	iam   = []string{"KAFKA_SASL_MECHANISM=AWS_MSK_IAM", "AWS_REGION=eu-west-1", "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=hunter2"}
)

const tlsOn, tlsOff = "KAFKA_TLS_ENABLED=true", "KAFKA_TLS_ENABLED=false"

// with is a login and more, in an environment of its own.
func with(login []string, more ...string) []string { return minimal(slices.Concat(login, more)...) }

// loaded loads what has to be valid, with these parts in its warnings in turn, and no
// other warning.
func loaded(t *testing.T, environ []string, warnings ...string) *Config {
	t.Helper()
	cfg, got, err := load(environ, host)
	if err != nil || len(got) != len(warnings) {
		t.Fatalf("load(%q): %q, %v, want warnings %q", environ, got, err, warnings)
	}
	for i, want := range warnings {
		if !strings.Contains(got[i], want) {
			t.Errorf("load(%q): warning %q, want %q", environ, got[i], want)
		}
		if strings.Contains(got[i], "hunter2") {
			t.Errorf("a secret is in the warning %q", got[i])
		}
	}
	return cfg
}

func TestTLSIsOnForEachCauseAlone(t *testing.T) {
	crypt := certificates(t)
	tests := map[string]struct {
		env []string
		on  bool
	}{
		"nothing":                 {nil, false},
		"auto":                    {[]string{"KAFKA_TLS_ENABLED=auto"}, false},
		"empty values":            {[]string{"KAFKA_TLS_ENABLED=", "KAFKA_TLS_CA=", "KAFKA_TLS_CA_FILE= ", "KAFKA_SECURITY_PROTOCOL="}, false},
		"true":                    {[]string{tlsOn}, true},
		"an authority":            {[]string{"KAFKA_TLS_CA=" + crypt.ca}, true},
		"an authority in a file":  {[]string{"KAFKA_TLS_CA_FILE=/v/" + crypt.ca}, true},
		"a client certificate":    {[]string{"KAFKA_TLS_CERT=" + crypt.cert, "KAFKA_TLS_KEY=" + crypt.key}, true},
		"a name":                  {[]string{"KAFKA_TLS_SERVER_NAME=kafka"}, true},
		"verifying":               {[]string{"KAFKA_TLS_INSECURE_SKIP_VERIFY=false"}, true},
		"the protocol SSL":        {[]string{"KAFKA_SECURITY_PROTOCOL=SSL"}, true},
		"the protocol SASL_SSL":   {append([]string{"KAFKA_SECURITY_PROTOCOL=SASL_SSL"}, plain...), true},
		"the protocol PLAINTEXT":  {[]string{"KAFKA_SECURITY_PROTOCOL=PLAINTEXT"}, false},
		"the mechanism of AWS":    {iam, true},
		"authorities for tokens":  {append([]string{"KAFKA_SASL_OAUTH_CA=" + crypt.ca, "KAFKA_BROKERS=[::1]:1"}, oauth...), false},
		"a login on this machine": {append([]string{"KAFKA_BROKERS=localhost:1"}, plain...), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := mustLoad(t, minimal(test.env...)).Kafka.TLSOn(); got != test.on {
				t.Errorf("TLS %v, want %v", got, test.on)
			}
		})
	}
}

func TestTLSThatIsSwitchedOffIsOff(t *testing.T) {
	crypt := certificates(t)
	for _, cause := range [][]string{
		{"KAFKA_TLS_CA=" + crypt.ca}, {"KAFKA_TLS_SERVER_NAME=kafka"}, {"KAFKA_TLS_INSECURE_SKIP_VERIFY=true"}, {"KAFKA_TLS_CERT=" + crypt.cert, "KAFKA_TLS_KEY_FILE=/v/" + crypt.key},
	} {
		cfg, warnings, err := load(minimal(append(cause, tlsOff)...), host)
		if err != nil || cfg.Kafka.TLSOn() || len(warnings) != 1 || !strings.Contains(warnings[0], "KAFKA_TLS_ENABLED is false: connections are in plaintext") {
			t.Fatalf("%q: warnings %q, %v", cause, warnings, err)
		}
		for _, entry := range cause {
			if name, _, _ := strings.Cut(entry, "="); !strings.Contains(warnings[0], name) {
				t.Errorf("%q is not in %s", name, warnings[0])
			}
		}
	}
	if mustLoad(t, minimal(tlsOff)).Kafka.TLSOn() {
		t.Error("TLS is on")
	}
}

func TestVerifyingNothingWarns(t *testing.T) {
	loaded(t, minimal("KAFKA_TLS_INSECURE_SKIP_VERIFY=true"), "KAFKA_TLS_INSECURE_SKIP_VERIFY is true: any certificate")
	loaded(t, minimal("KAFKA_TLS_INSECURE_SKIP_VERIFY_FILE=/v/true"), "KAFKA_TLS_INSECURE_SKIP_VERIFY_FILE is true")
	_, warnings, err := loadClient([]string{"KAFKA_TLS_INSECURE_SKIP_VERIFY=true"}, host)
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "any certificate") {
		t.Errorf("a client: %q, %v", warnings, err)
	}
}

// TestTheSecurityProtocolHasToAgree tries each with TLS set to each, with a login and
// without: it is taken exactly if it says the same, and completes auto.
func TestTheSecurityProtocolHasToAgree(t *testing.T) {
	for _, protocol := range []SecurityProtocol{ProtocolPlaintext, ProtocolSSL, ProtocolSASLPlaintext, ProtocolSASLSSL} {
		for _, enabled := range []string{"", "auto", "true", "false"} {
			for _, login := range []bool{false, true} {
				wantsTLS, wantsLogin := strings.HasSuffix(string(protocol), "SSL"), strings.HasPrefix(string(protocol), "SASL")
				agrees := wantsLogin == login && (enabled == "" || enabled == "auto" || enabled == fmt.Sprint(wantsTLS))
				environ := minimal("KAFKA_SECURITY_PROTOCOL="+string(protocol), "KAFKA_TLS_ENABLED="+enabled, "KAFKA_BROKERS=127.0.0.1:1")
				if login {
					environ = append(environ, plain...)
				}
				name := fmt.Sprintf("%s, TLS %q, login %v", protocol, enabled, login)
				cfg, warnings, err := load(environ, host)
				if (err == nil) != agrees || len(warnings) > 0 {
					t.Errorf("%s: %q, %v, want it taken: %v", name, warnings, err, agrees)
				}
				if err == nil && cfg.Kafka.TLSOn() != wantsTLS {
					t.Errorf("%s: TLS %v", name, cfg.Kafka.TLSOn())
				}
			}
		}
	}
}

func TestADisagreementNamesBothSides(t *testing.T) {
	const protocol = "KAFKA_SECURITY_PROTOCOL"
	crypt := certificates(t)
	tests := map[string]struct {
		env      []string
		variable string
		reason   []string
	}{
		"TLS is off":                   {[]string{protocol + "=SSL", tlsOff}, protocol, []string{`"SSL" is with TLS, and KAFKA_TLS_ENABLED is false`}},
		"TLS is on":                    {[]string{protocol + "=PLAINTEXT", tlsOn}, protocol, []string{"is without TLS, and KAFKA_TLS_ENABLED asks for it"}},
		"TLS is on by an authority":    {[]string{protocol + "=PLAINTEXT", "KAFKA_TLS_ENABLED=auto", "KAFKA_TLS_CA_FILE=/v/" + crypt.ca}, protocol, []string{"KAFKA_TLS_CA_FILE asks for it"}},
		"TLS is on by AWS":             {with(iam, protocol+"=SASL_PLAINTEXT")[4:], protocol, []string{"AWS_MSK_IAM asks for it"}},
		"no mechanism":                 {[]string{protocol + "=SASL_SSL", "KAFKA_SASL_USERNAME=me"}, "KAFKA_SASL_MECHANISM", []string{"is missing", "SASL_SSL"}},
		"a mechanism":                  {with(plain, protocol+"=SSL")[4:], protocol, []string{"is without a login, and KAFKA_SASL_MECHANISM is set"}},
		"both":                         {with(plain, protocol+"=PLAINTEXT", tlsOn)[4:], protocol, []string{"is without TLS", "; it is without a login"}},
		"credentials alone":            {[]string{protocol + "=SSL", "KAFKA_SASL_PASSWORD_FILE=/v/hunter2"}, protocol, []string{"without a login, and KAFKA_SASL_PASSWORD_FILE is set"}},
		"an unknown protocol":          {[]string{protocol + "=TLS"}, protocol, []string{`"TLS" is no choice`, "SASL_SSL"}},
		"an unknown one, and no TLS":   {with(plain, protocol+"=TLS")[4:], protocol, []string{"no choice"}},
		"an unknown toggle":            {[]string{protocol + "=SSL", "KAFKA_TLS_ENABLED=yes"}, "KAFKA_TLS_ENABLED", []string{"auto, true or false"}},
		"an unknown mechanism":         {[]string{protocol + "=SASL_SSL", "KAFKA_SASL_MECHANISM=GSSAPI"}, "KAFKA_SASL_MECHANISM", []string{`"GSSAPI" is no choice`, "SCRAM-SHA-512"}},
		"a plain login by a protocol":  {with(plain, protocol+"=SASL_PLAINTEXT")[4:], protocol, []string{"would send the login of PLAIN in plaintext", "SASL_SSL", "KAFKA_SASL_ALLOW_PLAINTEXT=true"}},
		"a protocol in an empty file":  {[]string{protocol + "_FILE=/v/"}, protocol, []string{"KAFKA_SECURITY_PROTOCOL_FILE is empty"}},
		"a mechanism in an empty file": {[]string{"KAFKA_SASL_MECHANISM_FILE=/v/\n"}, "KAFKA_SASL_MECHANISM", []string{"is empty"}},
		"a toggle in an empty file":    {[]string{"KAFKA_TLS_ENABLED_FILE=/v/"}, "KAFKA_TLS_ENABLED", []string{"is empty"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			wantProblem(t, minimal(test.env...), test.variable, test.reason...)
		})
	}
}

func TestALoginNeedsItsCredentialsAndAMechanism(t *testing.T) {
	const endpoint, secret = "KAFKA_SASL_OAUTH_TOKEN_ENDPOINT=https://host/token", "KAFKA_SASL_OAUTH_CLIENT_SECRET=hunter2"
	tests := map[string]struct {
		env      []string
		variable string
		reason   []string
	}{
		"a password alone":             {[]string{"KAFKA_SASL_PASSWORD=hunter2"}, "KAFKA_SASL_MECHANISM", []string{"is missing: KAFKA_SASL_PASSWORD is set"}},
		"a user in a file alone":       {[]string{"KAFKA_SASL_USERNAME_FILE=/v/me"}, "KAFKA_SASL_MECHANISM", []string{"is missing: KAFKA_SASL_USERNAME_FILE is set"}},
		"a token alone":                {[]string{"KAFKA_SASL_OAUTH_TOKEN_FILE=/v/hunter2"}, "KAFKA_SASL_MECHANISM", []string{"KAFKA_SASL_OAUTH_TOKEN_FILE is set"}},
		"a region alone":               {[]string{"KAFKA_SASL_AWS_REGION=eu-west-1"}, "KAFKA_SASL_MECHANISM", []string{"KAFKA_SASL_AWS_REGION is set"}},
		"OAuth without anything":       {oauth[:1], "KAFKA_SASL_OAUTH_TOKEN_ENDPOINT", []string{"is missing", "OAUTHBEARER", "KAFKA_SASL_OAUTH_TOKEN_FILE"}},
		"OAuth with a client alone":    {append(oauth[:1:1], secret, "KAFKA_SASL_OAUTH_CLIENT_ID=me"), "KAFKA_SASL_OAUTH_TOKEN_ENDPOINT", []string{"is missing"}},
		"OAuth without a client":       {append(oauth[:1:1], endpoint, secret), "KAFKA_SASL_OAUTH_CLIENT_ID", []string{"is missing: KAFKA_SASL_OAUTH_TOKEN_ENDPOINT is set"}},
		"OAuth without its secret":     {append(oauth[:1:1], endpoint, "KAFKA_SASL_OAUTH_CLIENT_ID=me"), "KAFKA_SASL_OAUTH_CLIENT_SECRET", []string{"is missing"}},
		"OAuth with token and server":  {append(oauth[:1:1], endpoint, secret, "KAFKA_SASL_OAUTH_CLIENT_ID=me", "KAFKA_SASL_OAUTH_TOKEN_FILE=/v/hunter2"), "KAFKA_SASL_OAUTH_TOKEN", []string{"KAFKA_SASL_OAUTH_TOKEN_FILE", "KAFKA_SASL_OAUTH_TOKEN_ENDPOINT", "unset the other"}},
		"OAuth with an empty token":    {append(oauth[:1:1], "KAFKA_SASL_OAUTH_TOKEN_FILE=/v/"), "KAFKA_SASL_OAUTH_TOKEN", []string{"is empty"}},
		"an extension without a name":  {append(oauth[:2:2], "KAFKA_SASL_OAUTH_EXTENSIONS=a=b,=c"), "KAFKA_SASL_OAUTH_EXTENSIONS", []string{`"=c" has a name that is not letters alone`}},
		"an extension with a dash":     {append(oauth[:2:2], "KAFKA_SASL_OAUTH_EXTENSIONS=a-b=c"), "KAFKA_SASL_OAUTH_EXTENSIONS", []string{"letters"}},
		"an extension called auth":     {append(oauth[:2:2], "KAFKA_SASL_OAUTH_EXTENSIONS=Auth=c"), "KAFKA_SASL_OAUTH_EXTENSIONS", []string{"is auth"}},
		"an extension without a value": {append(oauth[:2:2], "KAFKA_SASL_OAUTH_EXTENSIONS=a"), "KAFKA_SASL_OAUTH_EXTENSIONS", []string{"name=value"}},
		"a user on two lines":          {append(plain[:1:1], "KAFKA_SASL_USERNAME=a\nb", "KAFKA_SASL_PASSWORD=x"), "KAFKA_SASL_USERNAME", []string{"does not print"}},
		"AWS without anything":         {iam[:2], "KAFKA_SASL_MECHANISM", []string{"AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_EC2_METADATA_DISABLED=false"}},
		"AWS with a session alone":     {append(iam[:2:2], "AWS_SESSION_TOKEN=hunter2"), "KAFKA_SASL_MECHANISM", []string{"needs credentials"}},
		"AWS without a secret":         {iam[:3], "AWS_SECRET_ACCESS_KEY", []string{"is missing: AWS_ACCESS_KEY_ID is set"}},
		"AWS with a secret alone":      {append(iam[:2:2], iam[3]), "AWS_ACCESS_KEY_ID", []string{"is missing: AWS_SECRET_ACCESS_KEY is set"}},
		"AWS with a role alone":        {append(iam[:2:2], "AWS_ROLE_ARN=arn:x"), "AWS_WEB_IDENTITY_TOKEN", []string{"is missing: AWS_ROLE_ARN is set", "AWS_WEB_IDENTITY_TOKEN_FILE"}},
		"AWS with an identity alone":   {append(iam[:2:2], "AWS_WEB_IDENTITY_TOKEN_FILE=/v/hunter2"), "AWS_ROLE_ARN", []string{"is missing: AWS_WEB_IDENTITY_TOKEN_FILE is set"}},
		"AWS without a region":         {append(iam[:3:3], iam[3], "AWS_REGION="), "KAFKA_SASL_AWS_REGION", []string{`"kafka:9092" has no region in its name`}},
		"AWS with a bad region":        {append(iam[:4:4], "AWS_REGION=Ireland"), "AWS_REGION", []string{`"Ireland"`, "eu-west-1"}},
		"AWS with metadata in between": {append(iam[:2:2], "AWS_EC2_METADATA_DISABLED=no"), "AWS_EC2_METADATA_DISABLED", []string{"true or false"}},
		"AWS with a bad container":     {append(iam[:2:2], "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://10.0.0.1/x"), "AWS_CONTAINER_CREDENTIALS_FULL_URI", []string{"https"}},
	}
	for name, mechanism := range map[string]string{"PLAIN": "PLAIN", "SCRAM-SHA-256": "SCRAM-SHA-256", "SCRAM-SHA-512": "scram-sha-512"} {
		login := []string{tlsOn, "KAFKA_SASL_MECHANISM=" + mechanism}
		mustLoad(t, with(login, "KAFKA_SASL_USERNAME=me", "KAFKA_SASL_PASSWORD=hunter2"))
		wantProblem(t, with(login, "KAFKA_SASL_USERNAME=me"), "KAFKA_SASL_PASSWORD", "is missing: KAFKA_SASL_MECHANISM is "+name)
		wantProblem(t, with(login, "KAFKA_SASL_PASSWORD=hunter2"), "KAFKA_SASL_USERNAME", "is missing: KAFKA_SASL_MECHANISM is "+name)
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			environ := minimal(append([]string{tlsOn}, test.env...)...)
			wantProblem(t, environ, test.variable, test.reason...)
			if text := (&Errors{problemsOf(t, environ)}).Error(); strings.Contains(strings.ReplaceAll(text, "/v/hunter2", ""), "hunter2") {
				t.Errorf("a secret is in %s", text)
			}
		})
	}
}

func TestEachKindOfAWSCredentialsIsTaken(t *testing.T) {
	for name, credentials := range map[string][]string{
		"a key":                 {"AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY_FILE=/v/b", "AWS_SESSION_TOKEN=c"},
		"a key and a role":      {"AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b", "AWS_ROLE_ARN=c"},
		"an identity":           {"AWS_ROLE_ARN=a", "AWS_WEB_IDENTITY_TOKEN_FILE=/v/b"},
		"a container":           {"AWS_CONTAINER_CREDENTIALS_FULL_URI=http://169.254.170.23/v1", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=/v/b"},
		"a container's path":    {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=/v2/x"},
		"an instance, asked":    {"AWS_EC2_METADATA_DISABLED=false"},
		"a region of its own":   {"AWS_EC2_METADATA_DISABLED=false", "AWS_REGION=", "AWS_DEFAULT_REGION=eu-west-1"},
		"the region of brokers": {"AWS_EC2_METADATA_DISABLED=false", "AWS_REGION=", "KAFKA_BROKERS=b-1.x.c2.kafka.eu-west-1.amazonaws.com:9098,boot-x.c1.kafka-serverless.EU-WEST-1.amazonaws.com:9098"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := mustLoad(t, with(iam[:2], credentials...))
			for _, broker := range cfg.Kafka.Brokers {
				if got := cfg.Kafka.RegionFor(broker); got != "eu-west-1" {
					t.Errorf("%s: region %q", broker, got)
				}
			}
		})
	}
}

func TestTheRegionOfABrokerIsTheNearest(t *testing.T) {
	const msk = "b-1.x.kafka.eu-west-1.amazonaws.com"
	for _, test := range []struct {
		env          []string
		broker, want string
	}{
		{nil, msk, "eu-west-1"}, {nil, msk + ":9098", "eu-west-1"}, {nil, "b.kafka.cn-north-1.amazonaws.com.cn:9098", "cn-north-1"},
		{nil, "kafka:1", "us-east-2"}, {nil, "kafka.eu-west-1.amazonaws.com.example.org:1", "us-east-2"}, {nil, "s3.eu-west-1.amazonaws.com", "us-east-2"},
		{[]string{"AWS_REGION=us-east-1"}, "kafka:1", "us-east-1"}, {[]string{"AWS_REGION=us-east-1"}, msk, "eu-west-1"},
		{[]string{"KAFKA_SASL_AWS_REGION=us-west-1", "AWS_REGION=us-east-1"}, msk, "eu-west-1"}, {[]string{"KAFKA_SASL_AWS_REGION=us-west-1"}, "kafka:1", "us-west-1"},
	} {
		cfg := mustLoad(t, with(iam, append([]string{"AWS_REGION=", "AWS_DEFAULT_REGION=us-east-2"}, test.env...)...))
		if got := cfg.Kafka.RegionFor(test.broker); got != test.want {
			t.Errorf("%q, %s: region %q, want %q", test.env, test.broker, got, test.want)
		}
	}
}

// Platforms set these for everybody.
func TestAWSIsNotReadWithoutItsMechanism(t *testing.T) {
	var environ []string
	for _, name := range Known() {
		if strings.HasPrefix(name, "AWS_") {
			environ = append(environ, name+"=\x00 hunter2", name+"_FILE=/none")
		}
	}
	if len(environ) < 20 {
		t.Fatalf("environment %q", environ)
	}
	for _, login := range [][]string{nil, {tlsOn, scram[0], scram[1], scram[2]}, {tlsOn, oauth[0], oauth[1]}} {
		if got := mustLoad(t, with(login, environ...)).Kafka.AWS; got != (AWS{EC2MetadataDisabled: true}) {
			t.Errorf("%q: got %+v", login, got)
		}
	}
	if cfg, _, err := loadClient(environ, host); err != nil || cfg.Kafka.AWS != (AWS{EC2MetadataDisabled: true}) {
		t.Errorf("a client: %+v, %v", cfg, err)
	}
}

func TestALoginThatCanBeReadOnItsWayIsRefused(t *testing.T) {
	const allow = "KAFKA_SASL_ALLOW_PLAINTEXT=true"
	for name, login := range map[string][]string{"PLAIN": plain, "OAUTHBEARER": oauth, "AWS_MSK_IAM": append(iam[:4:4], tlsOff)} {
		t.Run(name, func(t *testing.T) {
			wantProblem(t, with(login), "KAFKA_TLS_ENABLED", name, "plaintext", "KAFKA_SASL_ALLOW_PLAINTEXT=true")
			for _, brokers := range []string{"localhost:1", "127.0.0.1:1,127.8.9.10:2", "[::1]:1,LOCALHOST:2", "[::ffff:127.0.0.1]:1"} {
				mustLoad(t, with(login, "KAFKA_BROKERS="+brokers))
			}
			for _, brokers := range []string{"localhost:1,kafka:1", "127.0.0.1.example.org:1", "localhost.example.org:1", "kafka.localhost:1", "10.0.0.1:1", "[::2]:1", "0.0.0.0:1", "[::]:1", "128.0.0.1:1"} {
				wantProblem(t, with(login, "KAFKA_BROKERS="+brokers), "KAFKA_TLS_ENABLED", "plaintext")
			}
			wantProblem(t, with(login, "KAFKA_BROKERS=x"), "KAFKA_BROKERS") // once
			wantProblem(t, with(login, "KAFKA_SASL_ALLOW_PLAINTEXT=false"), "KAFKA_TLS_ENABLED")
			loaded(t, with(login, allow), "KAFKA_SASL_ALLOW_PLAINTEXT is true: "+name)
			if _, _, err := loadClient(with(login), host); err == nil {
				t.Error("a client may")
			}
			cfg := loaded(t, with(login, tlsOn, allow))
			if !cfg.Kafka.TLSOn() {
				t.Error("what allows plaintext switches TLS off")
			}
		})
	}
	for _, mechanism := range []string{"SCRAM-SHA-256", "SCRAM-SHA-512"} {
		login := []string{"KAFKA_SASL_MECHANISM=" + mechanism, scram[1], scram[2]}
		loaded(t, with(login), mechanism+" without TLS")
		loaded(t, with(login, "KAFKA_SECURITY_PROTOCOL=SASL_PLAINTEXT"), mechanism+" without TLS")
		loaded(t, with(login, "KAFKA_SECURITY_PROTOCOL=SASL_SSL"))
		loaded(t, with(login, tlsOn))
	}
}

func TestWhatAMechanismDoesNotNeedIsSaidToHaveNoEffect(t *testing.T) {
	loaded(t, with(plain, tlsOn, "KAFKA_SASL_OAUTH_AUDIENCE=x", "KAFKA_SASL_AWS_REGION=eu-west-1"), "without effect with KAFKA_SASL_MECHANISM=PLAIN: KAFKA_SASL_OAUTH_AUDIENCE, KAFKA_SASL_AWS_REGION")
	loaded(t, with(oauth, tlsOn, "KAFKA_SASL_PASSWORD_FILE=/v/hunter2"), "without effect with KAFKA_SASL_MECHANISM=OAUTHBEARER: KAFKA_SASL_PASSWORD_FILE")
	loaded(t, with(iam, "KAFKA_SASL_USERNAME=x"), "without effect with KAFKA_SASL_MECHANISM=AWS_MSK_IAM: KAFKA_SASL_USERNAME")
}

func TestHostsAndNamesOfConnections(t *testing.T) {
	for value, reason := range map[string]string{"kafka:9092": "port", "a b": "' '", "https://a": "port", strings.Repeat("x", 254): "253", "[::1]": "port"} {
		wantProblem(t, minimal("KAFKA_TLS_SERVER_NAME="+value), "KAFKA_TLS_SERVER_NAME", reason)
	}
	for _, value := range []string{"kafka.example.com", "10.0.0.1", "::1", "kafka_1"} {
		if got := mustLoad(t, minimal("KAFKA_TLS_SERVER_NAME="+value)).Kafka.TLS.ServerName; got != value {
			t.Errorf("got %q, want %q", got, value)
		}
	}
	wantProblem(t, minimal("KAFKA_RACK=a\nb"), "KAFKA_RACK", "does not print")
	wantProblem(t, minimal("KAFKA_RACK="+strings.Repeat("x", maxText+1)), "KAFKA_RACK", "4096")
}

// The certificates that were checked at the start are those of the configuration.
func TestALoadedConfigurationHasItsCertificates(t *testing.T) {
	crypt := certificates(t)
	cfg := mustLoad(t, minimal("KAFKA_TLS_CA="+crypt.ca, "KAFKA_TLS_CERT="+crypt.cert, "KAFKA_TLS_KEY="+crypt.key))
	got, problems := cfg.Kafka.TLS.Load(time.Now())
	if len(problems) > 0 || got.CAs[0].Subject.CommonName != "root" || got.Client.Leaf.Subject.CommonName != "layover" {
		t.Errorf("got %+v, %q", got, problems)
	}
}
