package config

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// valuesOf are the values of a valid environment by their variable, on a machine
// whose Go runtime has three processors and no limit.
func valuesOf(t *testing.T, envFiles map[string]string, environ ...string) map[string]Value {
	t.Helper()
	r := newReader(minimal(environ...), host)
	if _, err := r.readAll(); err != nil {
		t.Fatal(err)
	}
	all := make(map[string]Value)
	for _, v := range r.values(envFiles, goRuntime{cores: 3, limit: math.MaxInt64}) {
		all[v.Variable] = v
	}
	return all
}

func TestValuesAreShownAsTheyWouldBeWritten(t *testing.T) {
	tests := map[string]struct{ environ, variable, text, effective string }{
		"a list":                  {"KAFKA_BROKERS=a:1 , b:2", "KAFKA_BROKERS", "a:1,b:2", ""},
		"nothing":                 {"", "LAYOVER_TARGETS_ALLOWED", "", ""},
		"pairs":                   {"LAYOVER_TOPIC_TARGETS= delayed = x", "LAYOVER_TOPIC_TARGETS", "delayed=x", ""},
		"delays":                  {"LAYOVER_TOPIC_DELAYS=delayed=90s", "LAYOVER_TOPIC_DELAYS", "delayed=1m30s", ""},
		"presets":                 {"LAYOVER_HEADERS= Spring ,etf1", "LAYOVER_HEADERS", "spring,etf1", ""},
		"no presets":              {"", "LAYOVER_HEADERS", "native", ""},
		"no added headers":        {"LAYOVER_ADDED_HEADERS= NONE", "LAYOVER_ADDED_HEADERS", "none", ""},
		"some added headers":      {"LAYOVER_ADDED_HEADERS=original-timestamp, id", "LAYOVER_ADDED_HEADERS", "id,original-timestamp", ""},
		"all added headers":       {"", "LAYOVER_ADDED_HEADERS", "id,due,original-timestamp", ""},
		"mapped headers":          {"LAYOVER_HEADER_MAP= X-A = MS ,x-b=key", "LAYOVER_HEADER_MAP", "X-A=ms,x-b=key", ""},
		"a derived name":          {"", "LAYOVER_GROUP_ID", "layover-delayed", ""},
		"a derived number":        {"", "LAYOVER_LANES", "3", ""},
		"a derived size":          {"", "LAYOVER_MAX_PARKED_BYTES", "512Mi", "536870912"},
		"a size that is odd":      {"LAYOVER_MAX_PARKED_BYTES=1048577", "LAYOVER_MAX_PARKED_BYTES", "1048577", "1048577"},
		"a size in larger units":  {"LAYOVER_MAX_PARKED_BYTES=2048Mi", "LAYOVER_MAX_PARKED_BYTES", "2Gi", "2147483648"},
		"days":                    {"", "LAYOVER_MAX_DELAY", "30d", ""},
		"no time":                 {"", "LAYOVER_DEFAULT_DELAY", "0s", ""},
		"days, hours and the odd": {"LAYOVER_DEFAULT_DELAY=26.5h", "LAYOVER_DEFAULT_DELAY", "1d2h30m", ""},
		"a level":                 {"LAYOVER_LOG_LEVEL=WARN", "LAYOVER_LOG_LEVEL", "warn", ""},
		"a choice":                {"LAYOVER_PARTITION=SAME", "LAYOVER_PARTITION", "same", ""},
		"one processor more":      {"", "LAYOVER_GOMAXPROCS", "auto", "4"},
		"the runtime's own":       {"LAYOVER_GOMAXPROCS=off", "LAYOVER_GOMAXPROCS", "off", "3"},
		"processors that are set": {"LAYOVER_GOMAXPROCS=9", "LAYOVER_GOMAXPROCS", "9", "9"},
		"nine tenths of 1 GiB":    {"", "LAYOVER_GOMEMLIMIT", "auto", "966367642"},
		"no limit":                {"LAYOVER_GOMEMLIMIT=off", "LAYOVER_GOMEMLIMIT", "off", "none"},
		"a limit":                 {"LAYOVER_GOMEMLIMIT=1024Mi", "LAYOVER_GOMEMLIMIT", "1Gi", "1073741824"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := valuesOf(t, nil, test.environ)[test.variable]
			if got.Text != test.text || got.Effective != test.effective {
				t.Errorf("got %q, effective %q, want %q, %q", got.Text, got.Effective, test.text, test.effective)
			}
		})
	}
}

// What the user says to the Go runtime itself stands where Layover chooses.
// A token endpoint may have a key in its query. Whoever asks there sends it; nobody prints it.
func TestTheQueryOfAURLIsNotPrinted(t *testing.T) {
	for variable, value := range map[string]string{
		"KAFKA_SASL_OAUTH_TOKEN_ENDPOINT":    "https://login.example.com/oauth2/token",
		"AWS_ENDPOINT_URL_STS":               "https://sts.example.com",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://169.254.170.23/v1/credentials",
	} {
		for query, want := range map[string]string{"": value, "?code=hunter2": value + "?...", "#hunter2": value + "?...", "?a=b#hunter2": value + "?..."} {
			environ := alone(t, variable, value+query)
			if got := fieldOf(mustLoad(t, environ), variable); got != value+query {
				t.Errorf("%s: %v is in force, want %s", variable, got, value+query)
			}
			all, _, err := Effective(environ, nil)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(all, func(v Value) bool { return v.Variable == variable })
			if all[i].Text != want {
				t.Errorf("%s%s is printed as %q, want %q", variable, query, all[i].Text, want)
			}
		}
	}
}

func TestTheGoRuntimesOwnVariablesAreLeftAlone(t *testing.T) {
	g := goRuntime{cores: 7, limit: 1 << 30, hasCores: true, hasLimit: true}
	auto := Auto{Mode: AutoAuto}
	if got := g.inForce(auto, true, host); got != "7" {
		t.Errorf("%s processors, want 7", got)
	}
	if got := g.inForce(auto, false, host); got != "1073741824" {
		t.Errorf("limit %s, want 1 GiB", got)
	}
	if got := (goRuntime{limit: math.MaxInt64}).inForce(auto, false, machine{}); got != "none" {
		t.Errorf("limit %s where none is known, want none", got)
	}
}

// An env file is read when the Go runtime has long read its own environment.
func TestWhatAnEnvFileSaysToTheGoRuntimeIsNotInForce(t *testing.T) {
	processors := func(envFiles map[string]string) string {
		values, _, err := Effective(minimal("GOMAXPROCS=1", "LAYOVER_GOMAXPROCS=auto"), envFiles)
		if err != nil {
			t.Fatal(err)
		}
		return values[slices.IndexFunc(values, func(v Value) bool { return v.Variable == "LAYOVER_GOMAXPROCS" })].Effective
	}
	cores := runtime.GOMAXPROCS(0)
	if got := processors(nil); got != strconv.Itoa(cores) {
		t.Errorf("set in the environment: %s, want the runtime's own %d", got, cores)
	}
	if got := processors(map[string]string{"GOMAXPROCS": ".env"}); got != strconv.Itoa(cores+1) {
		t.Errorf("set in an env file: %s, want one more than %d", got, cores)
	}
}

func TestEveryOriginIsSaid(t *testing.T) {
	got := valuesOf(t, map[string]string{"LAYOVER_LANES": "a.env", "LAYOVER_DLQ_TOPIC": "b.env", "LAYOVER_LOG_LEVEL": "b.env", "LAYOVER_GROUP_ID_FILE": "b.env"},
		"LAYOVER_LANES=5", "LAYOVER_LOG_LEVEL=", "LAYOVER_GROUP_ID_FILE=/v/g", "LAYOVER_JOURNAL_FILE=/v/")
	for variable, want := range map[string]Origin{
		"KAFKA_BROKERS":     {Kind: FromEnvironment},
		"LAYOVER_LANES":     {FromEnvFile, "a.env"},
		"LAYOVER_DLQ_TOPIC": {FromEnvFile, "b.env"},
		"LAYOVER_LOG_LEVEL": {Kind: FromDefault}, // set to nothing
		"LAYOVER_GROUP_ID":  {FromFile, "/v/g"},
		"LAYOVER_JOURNAL":   {Kind: FromDefault}, // an empty file
		"LAYOVER_MAX_DELAY": {Kind: FromDefault},
	} {
		if got[variable].Origin != want {
			t.Errorf("%s: got %+v, want %+v", variable, got[variable].Origin, want)
		}
	}
	for origin, want := range map[Origin]string{{Kind: FromDefault}: "default", {FromFile, "/x"}: "file /x", {FromEnvFile, "x"}: "env file x"} {
		if origin.String() != want {
			t.Errorf("got %q, want %q", origin, want)
		}
	}
}

func TestEffectiveIsWhatLoadLoads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "group")
	if err := os.WriteFile(path, []byte("g\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	environ := minimal("LAYOVER_GROUP_ID_FILE="+path, "LAYOVER_LANE=1")
	values, warnings, err := Effective(environ, nil)
	if err != nil || len(warnings) != 1 {
		t.Fatalf("%v, %q", err, warnings)
	}
	var names, shown []string
	for _, v := range values {
		names = append(names, v.Variable)
		if v.Variable != tlsSkipVerify { // which asks for TLS whatever its value
			shown = append(shown, v.Variable+"="+v.Text)
		}
	}
	if !slices.Equal(names, Known()) {
		t.Errorf("got %q, want %q", names, Known())
	}
	want, _, err := Load(environ)
	if err != nil {
		t.Fatal(err)
	}
	if got := mustLoad(t, shown); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if values, warnings, err := Effective([]string{"LAYOVER_LANE=1"}, nil); err == nil || values != nil || len(warnings) != 1 {
		t.Errorf("invalid: %v, %q, %v", values, warnings, err)
	}
}

// The specification is this test's own, with secrets that are no Secret.
func TestASecretIsNeverPrinted(t *testing.T) {
	type login struct {
		Password string        `split_words:"true" kind:"instance" secret:"true"`
		Patience time.Duration `split_words:"true" default:"1s" min:"1s" max:"2s" secret:"true"`
		Other    string        `split_words:"true" kind:"instance"`
		Unset    string        `split_words:"true" kind:"instance" secret:"true"`
	}
	read := func(environ ...string) *reader {
		r := newReader(environ, host)
		r.settings = walk(&struct{ Own *login }{new(login)})
		for i := range r.settings {
			r.read(&r.settings[i])
		}
		return r
	}
	want := []Value{
		{Variable: "OWN_PASSWORD", Text: "set, 24 bytes", Secret: true, Origin: Origin{FromFile, "/v/correct-horse-battery-st"}},
		{Variable: "OWN_PATIENCE", Text: "set, 2 bytes", Secret: true, Origin: Origin{Kind: FromDefault}},
		{Variable: "OWN_OTHER", Text: "shown", Origin: Origin{Kind: FromEnvironment}},
		{Variable: "OWN_UNSET", Secret: true, Origin: Origin{Kind: FromDefault}},
	}
	r := read("OWN_PASSWORD_FILE=/v/correct-horse-battery-st", "OWN_OTHER=shown")
	if got := r.values(nil, goRuntime{}); r.err() != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v, %v\nwant %+v", got, r.err(), want)
	}
	for _, environ := range [][]string{{"OWN_PASSWORD=hun ter2"}, {"OWN_PATIENCE=hunter2"}, {"OWN_PASSWORD=hunter2", "OWN_PASSWORD_FILE=/x"}} {
		err := read(environ...).err()
		if err == nil || strings.Contains(err.Error(), "hun") || strings.Contains(err.Error(), "ter2") {
			t.Errorf("%q: got %v", environ, err)
		}
	}
	if err := read("OWN_OTHER=vis ible").err(); err == nil || !strings.Contains(err.Error(), "vis ible") {
		t.Errorf("what is no secret is hidden: %v", err)
	}
}
