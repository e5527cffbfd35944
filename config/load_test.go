package config

import (
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"layover/delay"
)

func TestFourVariablesAreAWholeConfiguration(t *testing.T) {
	want := &Config{
		Kafka:           kafkaOf("kafka:9092"),
		IngressTopics:   []string{"delayed"},
		EgressTopic:     "ready",
		DLQTopic:        "dead-letters",
		OnInvalid:       OnInvalidDLQ,
		OnExpired:       OnExpiredDLQ,
		GroupID:         "layover-delayed",
		SessionTimeout:  10 * time.Second,
		StartOffset:     StartEarliest,
		Headers:         []string{"native"},
		MaxDelay:        30 * 24 * time.Hour,
		Backoff:         backoffOf(t, "1s..1h x2 jitter=20% max=16"),
		MaxHops:         1000,
		Partition:       PartitionKey,
		Timestamp:       TimestampDelivery,
		AddedHeaders:    delay.AddAll,
		Compression:     CompressionSnappy,
		MaxParkedBytes:  512 << 20,
		TargetPatience:  15 * time.Minute,
		Lanes:           3,
		CommitInterval:  time.Second,
		Journal:         JournalAuto,
		JournalTopic:    "{ingress}.{group}",
		Runs:            RunsAuto,
		RunsTopic:       "{ingress}.{group}.runs",
		ShutdownTimeout: 8 * time.Second,
		Preflight:       PreflightWarn,
		HTTPAddr:        ":9846",
		LogLevel:        slog.LevelInfo,
		LogFormat:       LogFormatAuto,
		GOMAXPROCS:      Auto{Mode: AutoAuto},
		GOMEMLIMIT:      Auto{Mode: AutoAuto},
	}
	if got := mustLoad(t, minimal()); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// Globs of other processes' journals are made from the defaults as they are.
func TestTheDefaultJournalIsTheOneThatGlobsAreMadeFrom(t *testing.T) {
	c := mustLoad(t, minimal())
	if c.JournalTopic != defaultJournal || !strings.HasPrefix(c.GroupID, defaultGroup) {
		t.Errorf("journal %q of group %q, want %q and %q...", c.JournalTopic, c.GroupID, defaultJournal, defaultGroup)
	}
	if got, want := c.JournalsLike(), []string{"*.layover-*"}; !slices.Equal(got, want) {
		t.Errorf("globs %q, want %q", got, want)
	}
}

func TestDerivedDefaultsFollowTheMachine(t *testing.T) {
	tests := map[string]struct {
		host  machine
		lanes int
		bytes int64
	}{
		"one core, limit unknown":      {hostOf(1, 0), 1, 256 << 20},
		"four cores, half of 2Gi":      {hostOf(4, 2<<30), 4, 1 << 30},
		"many cores":                   {hostOf(96, 1<<30), 4, 512 << 20},
		"limit below twice the least":  {hostOf(2, 1<<20), 2, 1 << 20},
		"limit above twice the most":   {hostOf(2, 1<<45), 2, 1 << 40},
		"no core reported (a defence)": {hostOf(0, 0), 1, 256 << 20},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cfg, _, err := load(minimal(), test.host)
			if err != nil {
				t.Fatal(err)
			}
			if cfg.Lanes != test.lanes || cfg.MaxParkedBytes != test.bytes {
				t.Errorf("lanes %d, bytes %d, want %d and %d", cfg.Lanes, cfg.MaxParkedBytes, test.lanes, test.bytes)
			}
		})
	}
}

func TestAcceptedValues(t *testing.T) {
	tests := map[string]struct {
		env  []string
		got  func(*Config) any
		want any
	}{
		"brokers of every form": {[]string{"KAFKA_BROKERS=a:1, b.example.org:65535,[::1]:9092,10.0.0.1:9092,my_kafka-1:9092"},
			func(c *Config) any { return c.Kafka.Brokers },
			[]string{"a:1", "b.example.org:65535", "[::1]:9092", "10.0.0.1:9092", "my_kafka-1:9092"}},
		"a broker named twice":     {[]string{"KAFKA_BROKERS=a:1,a:1"}, func(c *Config) any { return c.Kafka.Brokers }, []string{"a:1"}},
		"egress where targets are": {[]string{"LAYOVER_EGRESS_TOPIC=", "LAYOVER_TARGETS_ALLOWED=a"}, func(c *Config) any { return c.EgressTopic }, ""},
		"globs":                    {[]string{"LAYOVER_TARGETS_ALLOWED=*,orders.?,[a-z]*,[^x]y,ready"}, func(c *Config) any { return c.TargetsAllowed }, []string{"*", "orders.?", "[a-z]*", "[^x]y", "ready"}},
		"a target named twice":     {[]string{"LAYOVER_TARGETS_ALLOWED=a,b,a"}, func(c *Config) any { return c.TargetsAllowed }, []string{"a", "b"}},
		"egress where all have one": {[]string{"LAYOVER_EGRESS_TOPIC=", "LAYOVER_INGRESS_TOPICS=a,b", "LAYOVER_GROUP_ID=g", "LAYOVER_TOPIC_TARGETS=b=x,a=x"},
			func(c *Config) any { return c.TopicTargets }, []TopicTarget{{"b", "x"}, {"a", "x"}}},
		"deliver where all have one": {[]string{"LAYOVER_EGRESS_TOPIC=", "LAYOVER_TOPIC_TARGETS=delayed=x", "LAYOVER_ON_INVALID=deliver"}, func(c *Config) any { return c.OnInvalid }, OnInvalidDeliver},
		"a target of some":           {[]string{"LAYOVER_INGRESS_TOPICS=a,b", "LAYOVER_GROUP_ID=g", "LAYOVER_TOPIC_TARGETS=b=ready"}, func(c *Config) any { return c.TopicTargets }, []TopicTarget{{"b", "ready"}}},
		"pairs with white space":     {[]string{"LAYOVER_INGRESS_TOPICS=a,b", "LAYOVER_GROUP_ID=g", "LAYOVER_TOPIC_TARGETS=, a = x ,\tb=y,\n"}, func(c *Config) any { return c.TopicTargets }, []TopicTarget{{"a", "x"}, {"b", "y"}}},
		"no delay and the longest":   {[]string{"LAYOVER_INGRESS_TOPICS=a,b", "LAYOVER_GROUP_ID=g", "LAYOVER_TOPIC_DELAYS=a=0s,b=30d"}, func(c *Config) any { return c.TopicDelays }, []TopicDelay{{Ingress: "a"}, {Ingress: "b", Delay: 720 * time.Hour}}},
		"a topic's delay above":      {[]string{"LAYOVER_DEFAULT_DELAY=1m", "LAYOVER_TOPIC_DELAYS=delayed=1h"}, func(c *Config) any { return c.DefaultDelay }, time.Minute},
		"the longest client":         {[]string{"KAFKA_CLIENT_ID=" + strings.Repeat("x", 249)}, func(c *Config) any { return len(c.Kafka.ClientID) }, 249},
		"a codec in capitals":        {[]string{"LAYOVER_COMPRESSION=ZSTD"}, func(c *Config) any { return c.Compression }, CompressionZstd},
		"the longest topic":          {[]string{"LAYOVER_EGRESS_TOPIC=" + strings.Repeat("x", 249)}, func(c *Config) any { return len(c.EgressTopic) }, 249},
		"one leading underscore":     {[]string{"LAYOVER_EGRESS_TOPIC=_ready"}, func(c *Config) any { return c.EgressTopic }, "_ready"},
		"drop without a dead letter": {[]string{"LAYOVER_DLQ_TOPIC=", "LAYOVER_ON_INVALID=drop"}, func(c *Config) any { return c.OnInvalid }, OnInvalidDrop},
		"halt beside a dead letter":  {[]string{"LAYOVER_ON_INVALID=halt"}, func(c *Config) any { return c.OnInvalid }, OnInvalidHalt},
		"dlq said aloud":             {[]string{"LAYOVER_ON_INVALID=dlq"}, func(c *Config) any { return c.OnInvalid }, OnInvalidDLQ},
		"expired by default":         {nil, func(c *Config) any { return c.OnExpired }, OnExpiredDLQ},
		"expired, no dead letters":   {[]string{"LAYOVER_DLQ_TOPIC=", "LAYOVER_ON_INVALID=halt"}, func(c *Config) any { return c.OnExpired }, OnExpiredDrop},
		"expired are dropped":        {[]string{"LAYOVER_ON_EXPIRED=drop"}, func(c *Config) any { return c.OnExpired }, OnExpiredDrop},
		"expired, said aloud":        {[]string{"LAYOVER_ON_EXPIRED=DLQ"}, func(c *Config) any { return c.OnExpired }, OnExpiredDLQ},
		"an expiry above the delay":  {[]string{"LAYOVER_EXPIRE_AFTER=30d"}, func(c *Config) any { return c.ExpireAfter }, 720 * time.Hour},
		"a glob over the events":     {[]string{"LAYOVER_EVENTS_TOPIC=events.a", "LAYOVER_TARGETS_ALLOWED=events.*"}, func(c *Config) any { return c.EventsTopic }, "events.a"},
		"days and hours":             {[]string{"LAYOVER_MAX_DELAY=1d12h"}, func(c *Config) any { return c.MaxDelay }, 36 * time.Hour},
		"weeks":                      {[]string{"LAYOVER_MAX_DELAY=2w"}, func(c *Config) any { return c.MaxDelay }, 14 * 24 * time.Hour},
		"default at the maximum":     {[]string{"LAYOVER_DEFAULT_DELAY=30d"}, func(c *Config) any { return c.DefaultDelay }, 30 * 24 * time.Hour},
		"a bare number of bytes":     {[]string{"LAYOVER_MAX_PARKED_BYTES=268435456"}, func(c *Config) any { return c.MaxParkedBytes }, int64(256 << 20)},
		"kibibytes":                  {[]string{"LAYOVER_MAX_PARKED_BYTES=2048Ki"}, func(c *Config) any { return c.MaxParkedBytes }, int64(2 << 20)},
		"a journal in capitals":      {[]string{"LAYOVER_JOURNAL=OFF", "LAYOVER_RUNS=Off"}, func(c *Config) any { return c.Journal }, JournalOff},
		"a journal for all groups":   {[]string{"LAYOVER_JOURNAL_TOPIC=journal"}, func(c *Config) any { return c.JournalTopic }, "journal"},
		"placeholders again":         {[]string{"LAYOVER_JOURNAL_TOPIC={group}{group}-{ingress}{ingress}"}, func(c *Config) any { return c.JournalTopic }, "{group}{group}-{ingress}{ingress}"},
		"the longest journal":        {[]string{"LAYOVER_JOURNAL_TOPIC={group}" + strings.Repeat("x", 249) + "{ingress}"}, func(c *Config) any { return len(c.JournalTopic) }, 265},
		"a group that no topic is":   {[]string{"LAYOVER_GROUP_ID=a b/c"}, func(c *Config) any { return c.JournalName("delayed") }, "delayed.a b/c"},
		"a glob over the journal":    {[]string{"LAYOVER_TARGETS_ALLOWED=delayed.*"}, func(c *Config) any { return c.JournalName("delayed") }, "delayed.layover-delayed"},
		"a group like a glob":        {[]string{"LAYOVER_TARGETS_ALLOWED=delayed.*", "LAYOVER_GROUP_ID=*"}, func(c *Config) any { return c.JournalName("delayed") }, "delayed.*"},
		"any free port":              {[]string{"LAYOVER_HTTP_ADDR=127.0.0.1:0"}, func(c *Config) any { return c.HTTPAddr }, "127.0.0.1:0"},
		"every IPv6 address":         {[]string{"LAYOVER_HTTP_ADDR=[::]:9846"}, func(c *Config) any { return c.HTTPAddr }, "[::]:9846"},
		"a level in capitals":        {[]string{"LAYOVER_LOG_LEVEL=WARN"}, func(c *Config) any { return c.LogLevel }, slog.LevelWarn},
		"memory limit as a number":   {[]string{"LAYOVER_GOMEMLIMIT=1073741824"}, func(c *Config) any { return c.GOMEMLIMIT }, Auto{AutoValue, 1 << 30}},
		"processors off":             {[]string{"LAYOVER_GOMAXPROCS=Off"}, func(c *Config) any { return c.GOMAXPROCS }, Auto{Mode: AutoOff}},
		"white space around a value": {[]string{"LAYOVER_EGRESS_TOPIC= ready\n"}, func(c *Config) any { return c.EgressTopic }, "ready"},
		"the last of a name twice":   {[]string{"LAYOVER_LANES=1", "LAYOVER_LANES=2"}, func(c *Config) any { return c.Lanes }, 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.got(mustLoad(t, minimal(test.env...))); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestAJournalIsNamedForItsIngressTopicAndItsGroup(t *testing.T) {
	tests := map[string]struct {
		setting, group, want string
		shared               bool
	}{
		"by default":               {"", "g", "in.g", false},
		"the ingress topic alone":  {"{ingress}.journal", "g", "in.journal", true},
		"the group alone":          {"journal.{group}", "g", "journal.g", false},
		"neither":                  {"journal", "g", "journal", true},
		"both twice, side by side": {"{group}{ingress}{ingress}{group}", "g", "gining", false},
		"a group named like one":   {"{ingress}.{group}", "{ingress}", "in.{ingress}", false},
		"a group with one in it":   {"{group}.x{ingress}", "g.{group}", "g.{group}.xin", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cfg := mustLoad(t, minimal("LAYOVER_JOURNAL_TOPIC="+test.setting, "LAYOVER_GROUP_ID="+test.group))
			if got := cfg.JournalName("in"); got != test.want || cfg.JournalShared() != test.shared {
				t.Errorf("got %q, shared %v, want %q, %v", got, cfg.JournalShared(), test.want, test.shared)
			}
		})
	}
}

func TestEverySettingIsReadFromItsVariable(t *testing.T) {
	crypt := certificates(t)
	tests := map[string]struct {
		value string
		want  any
	}{
		"KAFKA_BROKERS":           {"other:1", []string{"other:1"}},
		"KAFKA_CLIENT_ID":         {"other", "other"},
		"KAFKA_RACK":              {"a-1", "a-1"},
		"KAFKA_SECURITY_PROTOCOL": {"sasl_ssl", ProtocolSASLSSL},
		"KAFKA_TLS_ENABLED":       {"TRUE", ToggleTrue},
		"KAFKA_TLS_CA":            {crypt.ca, strings.TrimSpace(crypt.ca)},
		"KAFKA_TLS_CERT":          {crypt.cert + crypt.ca, strings.TrimSpace(crypt.cert + crypt.ca)},
		"KAFKA_TLS_KEY":           {crypt.key + crypt.ca, strings.TrimSpace(crypt.key + crypt.ca)},
		"KAFKA_TLS_SERVER_NAME":   {"kafka.example.com", "kafka.example.com"},
		"KAFKA_SASL_MECHANISM":    {"scram-sha-512", MechanismScramSHA512},
		"KAFKA_SASL_USERNAME":     {"other", "other"},
		"KAFKA_SASL_PASSWORD":     {" other ", " other "},

		"KAFKA_TLS_INSECURE_SKIP_VERIFY":  {"true", true},
		"KAFKA_SASL_ALLOW_PLAINTEXT":      {"true", true},
		"KAFKA_SASL_OAUTH_TOKEN_ENDPOINT": {"https://b/c?d=e", "https://b/c?d=e"},
		"KAFKA_SASL_OAUTH_CLIENT_ID":      {"other", "other"},
		"KAFKA_SASL_OAUTH_CLIENT_SECRET":  {" other", " other"},
		"KAFKA_SASL_OAUTH_SCOPES":         {"a,b c", []string{"a", "b c"}},
		"KAFKA_SASL_OAUTH_AUDIENCE":       {"an audience", "an audience"},
		"KAFKA_SASL_OAUTH_EXTENSIONS":     {"a=b,c==d", []string{"a=b", "c==d"}},
		"KAFKA_SASL_OAUTH_TOKEN":          {" other ", "other"},
		"KAFKA_SASL_OAUTH_CA":             {crypt.ca, strings.TrimSpace(crypt.ca)},
		"KAFKA_SASL_AWS_REGION":           {"us-gov-west-1", "us-gov-west-1"},

		"AWS_REGION":                             {"eu-west-2", "eu-west-2"},
		"AWS_DEFAULT_REGION":                     {"eu-west-3", "eu-west-3"},
		"AWS_ACCESS_KEY_ID":                      {"other", "other"},
		"AWS_SECRET_ACCESS_KEY":                  {"other", "other"},
		"AWS_SESSION_TOKEN":                      {"other", "other"},
		"AWS_ROLE_ARN":                           {"arn:aws:iam::1:role/r", "arn:aws:iam::1:role/r"},
		"AWS_ROLE_SESSION_NAME":                  {"other", "other"},
		"AWS_WEB_IDENTITY_TOKEN":                 {"other", "other"},
		"AWS_ENDPOINT_URL_STS":                   {"https://sts", "https://sts"},
		"AWS_CONTAINER_CREDENTIALS_FULL_URI":     {"http://[fd00:ec2::23]/x", "http://[fd00:ec2::23]/x"},
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": {"/x", "/x"},
		"AWS_CONTAINER_AUTHORIZATION_TOKEN":      {"Bearer x", "Bearer x"},
		"AWS_EC2_METADATA_DISABLED":              {"false", false},
		"AWS_EC2_METADATA_SERVICE_ENDPOINT":      {"http://10.0.0.1", "http://10.0.0.1"},
		"LAYOVER_INGRESS_TOPICS":                 {"in", []string{"in"}},
		"LAYOVER_EGRESS_TOPIC":                   {"out", "out"},
		"LAYOVER_TARGETS_ALLOWED":                {"a*", []string{"a*"}},
		"LAYOVER_TOPIC_TARGETS":                  {"delayed=x", []TopicTarget{{"delayed", "x"}}},
		"LAYOVER_DLQ_TOPIC":                      {"dead", "dead"},
		"LAYOVER_ON_INVALID":                     {"drop", OnInvalidDrop},
		"LAYOVER_ON_EXPIRED":                     {"drop", OnExpiredDrop},
		"LAYOVER_EVENTS_TOPIC":                   {"events", "events"},
		"LAYOVER_GROUP_ID":                       {"g", "g"},
		"LAYOVER_GROUP_INSTANCE_ID":              {"i", "i"},
		"LAYOVER_SESSION_TIMEOUT":                {"11s", 11 * time.Second},
		"LAYOVER_START_OFFSET":                   {"none", StartNone},
		"LAYOVER_DEFAULT_DELAY":                  {"12s", 12 * time.Second},
		"LAYOVER_TOPIC_DELAYS":                   {"delayed=12m", []TopicDelay{{Ingress: "delayed", Delay: 12 * time.Minute}}},
		"LAYOVER_MAX_DELAY":                      {"13s", 13 * time.Second},
		"LAYOVER_BACKOFF":                        {"5s..6s", backoffOf(t, "5s..6s x2 jitter=20% max=16")},
		"LAYOVER_MAX_HOPS":                       {"15", 15},
		"LAYOVER_EXPIRE_AFTER":                   {"14s", 14 * time.Second},
		"LAYOVER_HEADERS":                        {"etf1,HTTP", []string{"etf1", "http"}},
		"LAYOVER_HEADER_MAP":                     {"X-Wait=S", []delay.Mapping{{Name: "X-Wait", Format: delay.FormatS}}},
		"LAYOVER_PARTITION":                      {"same", PartitionSame},
		"LAYOVER_TIMESTAMP":                      {"original", TimestampOriginal},
		"LAYOVER_ADDED_HEADERS":                  {"Due, id", delay.AddID | delay.AddDue},
		"LAYOVER_COMPRESSION":                    {"lz4", CompressionLZ4},
		"LAYOVER_MAX_PARKED_BYTES":               {"14Mi", int64(14 << 20)},
		"LAYOVER_TARGET_PATIENCE":                {"15s", 15 * time.Second},
		"LAYOVER_CATCHUP_RATE":                   {"16000", 16000},
		"LAYOVER_LANES":                          {"16", 16},
		"LAYOVER_COMMIT_INTERVAL":                {"17s", 17 * time.Second},
		"LAYOVER_JOURNAL":                        {"off", JournalOff},
		"LAYOVER_JOURNAL_TOPIC":                  {"j.{ingress}", "j.{ingress}"},
		"LAYOVER_RUNS":                           {"OFF", RunsOff},
		"LAYOVER_RUNS_TOPIC":                     {"r.{ingress}.{group}", "r.{ingress}.{group}"},
		"LAYOVER_SHUTDOWN_TIMEOUT":               {"18s", 18 * time.Second},
		"LAYOVER_PREFLIGHT":                      {"fail", PreflightFail},
		"LAYOVER_HTTP_ADDR":                      {"host:19", "host:19"},
		"LAYOVER_HTTP_TLS_CERT":                  {crypt.cert + crypt.ca, strings.TrimSpace(crypt.cert + crypt.ca)},
		"LAYOVER_HTTP_TLS_KEY":                   {crypt.key + crypt.ca, strings.TrimSpace(crypt.key + crypt.ca)},
		"LAYOVER_ADMIN_ADDR":                     {"[::1]:20", "[::1]:20"},
		"LAYOVER_ADMIN_TOKEN":                    {" other\n", "other"},
		"LAYOVER_LOG_LEVEL":                      {"error", slog.LevelError},
		"LAYOVER_LOG_FORMAT":                     {"text", LogFormatText},
		"LAYOVER_GOMAXPROCS":                     {"21", Auto{AutoValue, 21}},
		"LAYOVER_GOMEMLIMIT":                     {"22Mi", Auto{AutoValue, 22 << 20}},
	}
	if len(tests) != len(Known()) {
		t.Fatalf("%d tests of %d settings", len(tests), len(Known()))
	}
	for _, name := range Known() {
		t.Run(name, func(t *testing.T) {
			cfg, _, err := load(alone(t, name, tests[name].value), host)
			if err != nil {
				t.Fatal(err)
			}
			got := fieldOf(cfg, name)
			if !reflect.DeepEqual(got, tests[name].want) {
				t.Errorf("got %v, want %v", got, tests[name].want)
			}
			// By its companions it may be set already.
			if before := fieldOf(mustLoad(t, companions(t, name)), name); reflect.DeepEqual(got, before) {
				t.Errorf("%v is there without the variable: the test proves nothing", got)
			}
		})
	}
}

// Each field of a configuration is a setting, or found out from settings.
func TestEveryFieldIsASetting(t *testing.T) {
	var fields int
	var count func(spec reflect.Type)
	count = func(spec reflect.Type) {
		for i := range spec.NumField() {
			switch field := spec.Field(i); {
			case !field.IsExported():
			case slices.Contains([]reflect.Type{reflect.TypeFor[Kafka](), reflect.TypeFor[TLS](), reflect.TypeFor[SASL](), reflect.TypeFor[OAuth](), reflect.TypeFor[AWS](), reflect.TypeFor[HTTP](), reflect.TypeFor[HTTPTLS]()}, field.Type):
				count(field.Type)
			default:
				fields++
			}
		}
	}
	count(reflect.TypeFor[Config]())
	if fields != len(Known()) {
		t.Errorf("%d fields and %d settings", fields, len(Known()))
	}
}

// kafkaOf is a connection to brokers with nothing else set.
func kafkaOf(brokers ...string) Kafka {
	return Kafka{Brokers: brokers, ClientID: "layover", TLS: TLS{Enabled: ToggleAuto}, AWS: AWS{EC2MetadataDisabled: true}}
}

func TestClientNeedsNothingAndChecksWhatItReads(t *testing.T) {
	tests := map[string]struct {
		env  []string
		want Client
	}{
		"nothing set":          {nil, Client{Kafka: kafkaOf(), HTTPAddr: ":9846"}},
		"all set, with spaces": {[]string{"KAFKA_BROKERS=a:1, b:2", "LAYOVER_INGRESS_TOPICS= one , two", "LAYOVER_HTTP_ADDR=:1"}, Client{kafkaOf("a:1", "b:2"), "one", ":1"}},
		"all set and empty":    {[]string{"KAFKA_BROKERS=", "LAYOVER_INGRESS_TOPICS=,", "LAYOVER_HTTP_ADDR="}, Client{Kafka: kafkaOf(), HTTPAddr: ":9846"}},
		"the rest is wrong":    {[]string{"LAYOVER_LANES=x", "LAYOVER_EGRESS_TOPIC=!", "LAYOVER_ON_INVALID=dlq", "LAYOVER_NONE=1"}, Client{Kafka: kafkaOf(), HTTPAddr: ":9846"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, warnings, err := LoadClient(test.env)
			if err != nil || len(warnings) > 0 || !reflect.DeepEqual(*got, test.want) {
				t.Errorf("got %+v, %q, %v, want %+v", got, warnings, err, test.want)
			}
		})
	}
	_, _, err := LoadClient([]string{"KAFKA_BROKERS=a", "LAYOVER_INGRESS_TOPICS=!", "LAYOVER_HTTP_ADDR=1", "KAFKA_TLS_CA=x"})
	want := []string{"KAFKA_BROKERS", "KAFKA_TLS_CA", "LAYOVER_HTTP_ADDR", "LAYOVER_INGRESS_TOPICS"}
	if got := variablesOf(err.(*Errors).Problems); !slices.Equal(got, want) {
		t.Errorf("problems of %q, want %q", got, want)
	}
}

func ExampleErrors() {
	_, _, err := Load([]string{"KAFKA_BROKERS=kafka", "LAYOVER_INGRESS_TOPICS=delayed", "LAYOVER_MAX_DELAY=30"})
	fmt.Println(err)
	// Output:
	// KAFKA_BROKERS: "kafka" has no port, want host:port; example: KAFKA_BROKERS=kafka:9092
	// LAYOVER_EGRESS_TOPIC: required unless LAYOVER_TARGETS_ALLOWED is set or LAYOVER_TOPIC_TARGETS has every ingress topic; example: LAYOVER_EGRESS_TOPIC=ready
	// LAYOVER_ON_INVALID: must be chosen where there is no dead-letter topic: set it to one of deliver, drop or halt, or set LAYOVER_DLQ_TOPIC; example: LAYOVER_ON_INVALID=halt
	// LAYOVER_MAX_DELAY: "30" has no unit (did you mean 30s or 30ms?), want 1ms to 3650d; example: LAYOVER_MAX_DELAY=6d
}
