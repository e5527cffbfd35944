package config

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The tests of this file hold what envconfig alone would get wrong.

func TestRequiredButEmptyIsNotSet(t *testing.T) {
	for _, empty := range []string{"", " ", ",", " , ,"} {
		wantProblem(t, minimal("KAFKA_BROKERS="+empty), "KAFKA_BROKERS", "required")
		wantProblem(t, minimal("LAYOVER_INGRESS_TOPICS="+empty), "LAYOVER_INGRESS_TOPICS", "required")
	}
	wantProblem(t, minimal("LAYOVER_EGRESS_TOPIC="), "LAYOVER_EGRESS_TOPIC", "required")
}

func TestEmptyMeansUnset(t *testing.T) {
	var environ []string
	for _, name := range Known() {
		if !slices.ContainsFunc(minimal(), func(pair string) bool { return strings.HasPrefix(pair, name+"=") }) {
			environ = append(environ, name+"=")
		}
	}
	environ = append(environ, "LAYOVER_TOPIC_DELAYS= , ", "LAYOVER_LANES= \n")
	got, want := mustLoad(t, minimal(environ...)), mustLoad(t, minimal())
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestListsAreTrimmedAndHaveNoEmptyEntries(t *testing.T) {
	cfg := mustLoad(t, minimal("KAFKA_BROKERS=a:1, b:2,", "LAYOVER_INGRESS_TOPICS=,x,, y\t", "LAYOVER_GROUP_ID=g"))
	if want := []string{"a:1", "b:2"}; !slices.Equal(cfg.Kafka.Brokers, want) {
		t.Errorf("brokers %q, want %q", cfg.Kafka.Brokers, want)
	}
	if want := []string{"x", "y"}; !slices.Equal(cfg.IngressTopics, want) {
		t.Errorf("topics %q, want %q", cfg.IngressTopics, want)
	}
}

func TestNamesWithoutTheirPrefixAreNotRead(t *testing.T) {
	var bare, refused []string
	for _, name := range Known() {
		word := withoutPrefix(name)
		if _, security := misnamed(word); security {
			refused = append(refused, word)
			continue
		}
		bare = append(bare, word+"=nonsense")
	}
	mustLoad(t, minimal(bare...))
	// AWS's settings are read here, and have names of their own by a tag.
	if got, want := mustLoad(t, append(companions(t, awsRegion), bare...)), mustLoad(t, companions(t, awsRegion)); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	// Java's properties, of which nobody else has the names.
	if want := []string{"SECURITY_PROTOCOL", "SASL_MECHANISM", "SASL_USERNAME", "SASL_PASSWORD"}; !slices.Equal(refused, want) {
		t.Errorf("refused without their prefix are %q, want %q", refused, want)
	}
}

func TestProblemsNameTheVariableInFull(t *testing.T) {
	want := []string{"KAFKA_BROKERS", "LAYOVER_EGRESS_TOPIC", "LAYOVER_INGRESS_TOPICS", "LAYOVER_ON_INVALID"}
	if got := variablesOf(problemsOf(t, nil)); !slices.Equal(got, want) {
		t.Errorf("nothing set: problems of %q, want %q", got, want)
	}
}

func TestDurationsHaveDaysAndNeedAUnit(t *testing.T) {
	if got := mustLoad(t, minimal("LAYOVER_MAX_DELAY=7d")).MaxDelay; got != 168*time.Hour {
		t.Errorf("7d is %v", got)
	}
	wantProblem(t, minimal("LAYOVER_SESSION_TIMEOUT=30"), "LAYOVER_SESSION_TIMEOUT", "30s or 30ms")
	wantProblem(t, minimal("LAYOVER_DEFAULT_DELAY=0"), "LAYOVER_DEFAULT_DELAY", "0s or 0ms")
	wantProblem(t, minimal("LAYOVER_DEFAULT_DELAY=-5s"), "LAYOVER_DEFAULT_DELAY", "negative")
}

func TestNumbersAreDecimal(t *testing.T) {
	if got := mustLoad(t, minimal("LAYOVER_LANES=010")).Lanes; got != 10 {
		t.Errorf("010 is %d, want 10", got)
	}
	if got := mustLoad(t, minimal("LAYOVER_MAX_PARKED_BYTES=010Mi")).MaxParkedBytes; got != 10<<20 {
		t.Errorf("010Mi is %d, want %d", got, 10<<20)
	}
	for _, value := range []string{"0x10", "1_0", "1e1", "+4", "4.0", "4Ki"} {
		wantProblem(t, minimal("LAYOVER_LANES="+value), "LAYOVER_LANES", "1 to 64")
		wantProblem(t, minimal("LAYOVER_GOMAXPROCS="+value), "LAYOVER_GOMAXPROCS", "1 to 1024")
	}
}

// A Service that is called layover sets LAYOVER_PORT to tcp://10.0.0.1:80. A
// setting of such a name would take it for its value.
func TestNoNameIsOneThatServiceLinksSet(t *testing.T) {
	link := regexp.MustCompile(`_(PORT|HOST)$|_PORT_|_SERVICE_`)
	for _, row := range Table() {
		for _, name := range []string{row.Variable, row.File()} {
			isOurs := !strings.HasPrefix(name, "AWS_") // those are AWS's to choose
			if isOurs && link.MatchString(name) || name == "LAYOVER_HOST" || isForeign(name, "tcp://10.0.0.1:80") {
				t.Errorf("%s has the shape of a service link", name)
			}
		}
	}
	mustLoad(t, minimal("LAYOVER_PORT=tcp://10.0.0.1:80", "LAYOVER_PORT_80_TCP_ADDR=10.0.0.1",
		"LAYOVER_SERVICE_HOST=10.0.0.1", "LAYOVER_SERVICE_PORT_HTTP=80"))
}

// The split into words goes wrong at some abbreviations: TLSCAFile would be
// TLSCA_FILE. A type without a decoder of its own would lend its fields names.
func TestTheNamesAreThese(t *testing.T) {
	want := strings.Fields(`KAFKA_BROKERS KAFKA_CLIENT_ID KAFKA_RACK KAFKA_SECURITY_PROTOCOL
		KAFKA_TLS_ENABLED KAFKA_TLS_CA KAFKA_TLS_CERT KAFKA_TLS_KEY KAFKA_TLS_SERVER_NAME
		KAFKA_TLS_INSECURE_SKIP_VERIFY
		KAFKA_SASL_MECHANISM KAFKA_SASL_USERNAME KAFKA_SASL_PASSWORD
		KAFKA_SASL_ALLOW_PLAINTEXT KAFKA_SASL_OAUTH_TOKEN_ENDPOINT
		KAFKA_SASL_OAUTH_CLIENT_ID KAFKA_SASL_OAUTH_CLIENT_SECRET KAFKA_SASL_OAUTH_SCOPES
		KAFKA_SASL_OAUTH_AUDIENCE KAFKA_SASL_OAUTH_EXTENSIONS KAFKA_SASL_OAUTH_TOKEN
		KAFKA_SASL_OAUTH_CA KAFKA_SASL_AWS_REGION
		AWS_REGION AWS_DEFAULT_REGION AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
		AWS_SESSION_TOKEN AWS_ROLE_ARN AWS_ROLE_SESSION_NAME AWS_WEB_IDENTITY_TOKEN
		AWS_ENDPOINT_URL_STS AWS_CONTAINER_CREDENTIALS_FULL_URI
		AWS_CONTAINER_CREDENTIALS_RELATIVE_URI AWS_CONTAINER_AUTHORIZATION_TOKEN
		AWS_EC2_METADATA_DISABLED AWS_EC2_METADATA_SERVICE_ENDPOINT
		LAYOVER_INGRESS_TOPICS LAYOVER_EGRESS_TOPIC LAYOVER_TARGETS_ALLOWED
		LAYOVER_TOPIC_TARGETS LAYOVER_DLQ_TOPIC LAYOVER_ON_INVALID
		LAYOVER_ON_EXPIRED LAYOVER_EVENTS_TOPIC LAYOVER_GROUP_ID
		LAYOVER_GROUP_INSTANCE_ID LAYOVER_SESSION_TIMEOUT LAYOVER_START_OFFSET
		LAYOVER_DEFAULT_DELAY LAYOVER_TOPIC_DELAYS LAYOVER_MAX_DELAY LAYOVER_BACKOFF LAYOVER_MAX_HOPS LAYOVER_EXPIRE_AFTER LAYOVER_HEADERS LAYOVER_HEADER_MAP
		LAYOVER_PARTITION LAYOVER_TIMESTAMP LAYOVER_ADDED_HEADERS LAYOVER_COMPRESSION LAYOVER_MAX_PARKED_BYTES
		LAYOVER_TARGET_PATIENCE LAYOVER_CATCHUP_RATE LAYOVER_LANES LAYOVER_COMMIT_INTERVAL
		LAYOVER_JOURNAL LAYOVER_JOURNAL_TOPIC LAYOVER_RUNS LAYOVER_RUNS_TOPIC
		LAYOVER_SHUTDOWN_TIMEOUT LAYOVER_PREFLIGHT LAYOVER_HTTP_ADDR LAYOVER_HTTP_TLS_CERT
		LAYOVER_HTTP_TLS_KEY LAYOVER_ADMIN_ADDR LAYOVER_ADMIN_TOKEN LAYOVER_LOG_LEVEL
		LAYOVER_LOG_FORMAT LAYOVER_GOMAXPROCS LAYOVER_GOMEMLIMIT`)
	if got := Known(); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// The constants are what the rules name settings by, and the tables of other names.
func TestTheRulesNameSettingsAlone(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "read.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for _, value := range spec.Values {
			found++
			if name, err := strconv.Unquote(value.(*ast.BasicLit).Value); err != nil || !slices.Contains(Known(), name) {
				t.Errorf("the rules name %s, which is no setting: %v", name, err)
			}
		}
		return true
	})
	if found < 40 {
		t.Errorf("%d constants found", found)
	}
	for _, table := range []map[string]string{otherNames, nearNames} {
		for word, meant := range table {
			if !slices.Contains(Known(), meant) || slices.Contains(Known(), "KAFKA_"+word) != (otherNames[word] == "KAFKA_"+word) {
				t.Errorf("%s is taken for %s", word, meant)
			}
		}
	}
	for meant := range bindingKeys {
		if !slices.Contains(Known(), meant) {
			t.Errorf("a binding fills %s, which is no setting", meant)
		}
	}
}

func TestOnlyTheArgumentIsReadAndNothingIsChanged(t *testing.T) {
	t.Setenv("LAYOVER_LANES", "7")
	t.Setenv("LAYOVER_GROUP_ID", "from-the-process")
	t.Setenv("LAYOVER_TYPO", "x")
	before := os.Environ()
	cfg := mustLoad(t, minimal())
	if cfg.Lanes != 3 || cfg.GroupID != "layover-delayed" {
		t.Errorf("lanes %d, group %q: the process's environment was read", cfg.Lanes, cfg.GroupID)
	}
	if after := os.Environ(); !slices.Equal(before, after) {
		t.Errorf("the process's environment went from %q to %q", before, after)
	}
}

func TestTheTableIsCompleteAndTrue(t *testing.T) {
	settings := settingsOf(new(Config))
	for i, row := range Table() {
		s := settings[i]
		if row.Variable == "" || row.Default == "" || row.Values == "" || row.Description == "" || row.Example == "" {
			t.Errorf("%+v has an empty column", row)
		}
		if s.required && s.literal != "" {
			t.Errorf("%s is required and has the default %s", row.Variable, s.literal)
		}
		mustLoad(t, alone(t, row.Variable, exampleOf(t, s)))
		if cut, ok := strings.CutSuffix(row.Example, "..."); ok && !s.Secret && !strings.HasPrefix(exampleOf(t, s), cut) {
			t.Errorf("%s: the example is %q", row.Variable, row.Example)
		}
		if s.literal == "" {
			continue
		}
		set, unset := mustLoad(t, alone(t, row.Variable, row.Default)), mustLoad(t, companions(t, row.Variable))
		if row.Variable == tlsSkipVerify { // whatever is said of certificates asks for TLS
			set.Kafka.tlsGiven = !set.Kafka.tlsGiven
		}
		if !reflect.DeepEqual(set, unset) {
			t.Errorf("%s=%s is not the default", row.Variable, row.Default)
		}
	}
}
