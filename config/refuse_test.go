package config

import (
	"slices"
	"strings"
	"testing"
)

func TestValuesThatAreRefusedOnTheirOwn(t *testing.T) {
	tests := map[string]struct {
		env    string
		reason []string
	}{
		"a broker without a port":       {"KAFKA_BROKERS=kafka", []string{`"kafka"`, "no port"}},
		"a broker without a host":       {"KAFKA_BROKERS=:9092", []string{`":9092"`, "no host"}},
		"a broker with port 0":          {"KAFKA_BROKERS=a:1,b:0", []string{`"b:0"`, "1 to 65535"}},
		"a broker with port 65536":      {"KAFKA_BROKERS=b:65536", []string{"1 to 65535"}},
		"a broker with a named port":    {"KAFKA_BROKERS=b:kafka", []string{"1 to 65535"}},
		"a broker with a signed port":   {"KAFKA_BROKERS=b:+1", []string{"1 to 65535"}},
		"a broker with a scheme":        {"KAFKA_BROKERS=PLAINTEXT://b:1", []string{"scheme"}},
		"a bare IPv6 address":           {"KAFKA_BROKERS=::1:9092", []string{"brackets"}},
		"a name in brackets":            {"KAFKA_BROKERS=[kafka]:9092", []string{"brackets"}},
		"a space in a broker":           {"KAFKA_BROKERS=a b:9092", []string{"bad host"}},
		"two bad brokers":               {"KAFKA_BROKERS=a,ok:1,b", []string{`"a"`, `"b"`}},
		"a long host":                   {"KAFKA_BROKERS=" + strings.Repeat("x", 254) + ":1", []string{"253"}},
		"an ingress topic twice":        {"LAYOVER_INGRESS_TOPICS=a,b,a", []string{`"a" is listed twice`}},
		"an internal ingress topic":     {"LAYOVER_INGRESS_TOPICS=__consumer_offsets", []string{"internal"}},
		"an illegal character":          {"LAYOVER_INGRESS_TOPICS=a/b", []string{`"a/b"`, "'/'"}},
		"a letter beyond ASCII":         {"LAYOVER_EGRESS_TOPIC=réady", []string{"'é'"}},
		"a list where one belongs":      {"LAYOVER_EGRESS_TOPIC=a,b", []string{"','"}},
		"a topic too long":              {"LAYOVER_EGRESS_TOPIC=" + strings.Repeat("x", 250), []string{"249"}},
		"the topic .":                   {"LAYOVER_EGRESS_TOPIC=.", []string{"does not allow"}},
		"the topic ..":                  {"LAYOVER_DLQ_TOPIC=..", []string{"does not allow"}},
		"an internal egress topic":      {"LAYOVER_EGRESS_TOPIC=__x", []string{"internal"}},
		"an internal dead letter":       {"LAYOVER_DLQ_TOPIC=__x", []string{"internal"}},
		"an open class in a glob":       {"LAYOVER_TARGETS_ALLOWED=ok,[a-", []string{`"[a-"`, "glob"}},
		"a regular expression":          {"LAYOVER_TARGETS_ALLOWED=orders.(a|b)*", []string{"'('"}},
		"a class without its beginning": {"LAYOVER_TARGETS_ALLOWED=a]", []string{"']'"}},
		"a backslash in a glob":         {"LAYOVER_TARGETS_ALLOWED=a\\*", []string{`'\\'`}},
		"an internal target":            {"LAYOVER_TARGETS_ALLOWED=__consumer_offsets", []string{"never allowed"}},
		"an internal glob":              {"LAYOVER_TARGETS_ALLOWED=__*", []string{"never allowed"}},
		"a long glob":                   {"LAYOVER_TARGETS_ALLOWED=" + strings.Repeat("*", 250), []string{"249"}},
		"no such choice on invalid":     {"LAYOVER_ON_INVALID=ignore", []string{`"ignore"`, "dlq, deliver, drop or halt"}},
		"no such choice on expiry":      {"LAYOVER_ON_EXPIRED=deliver", []string{`"deliver"`, "dlq or drop"}},
		"an internal events topic":      {"LAYOVER_EVENTS_TOPIC=__events", []string{"internal"}},
		"a glob of events":              {"LAYOVER_EVENTS_TOPIC=events.*", []string{"'*'"}},
		"no such start":                 {"LAYOVER_START_OFFSET=begin", []string{"earliest, latest or none"}},
		"no such level":                 {"LAYOVER_LOG_LEVEL=info+2", []string{"debug, info, warn or error"}},
		"no such format":                {"LAYOVER_LOG_FORMAT=logfmt", []string{"auto, text or json"}},
		"a control character":           {"LAYOVER_GROUP_ID=a\tb", []string{"does not print"}},
		"a group that is not UTF-8":     {"LAYOVER_GROUP_ID=\xff", []string{"does not print"}},
		"a group too long":              {"LAYOVER_GROUP_ID=" + strings.Repeat("x", 1025), []string{"1024"}},
		"a member with a space":         {"LAYOVER_GROUP_INSTANCE_ID=a b", []string{"' '"}},
		"no such journal":               {"LAYOVER_JOURNAL=on", []string{`"on"`, "auto or off"}},
		"an unknown placeholder":        {"LAYOVER_JOURNAL_TOPIC={ingress}.{topic}", []string{`"{topic}"`, "unknown placeholder", "{ingress} and {group}"}},
		"a placeholder in capitals":     {"LAYOVER_JOURNAL_TOPIC={Group}", []string{`"{Group}"`, "unknown placeholder", "{ingress} and {group}"}},
		"a placeholder without a name":  {"LAYOVER_JOURNAL_TOPIC=a{}", []string{`"{}"`, "unknown placeholder"}},
		"a placeholder in another":      {"LAYOVER_JOURNAL_TOPIC={in{group}gress}", []string{`"{ingress}"`, "unknown placeholder"}},
		"an open placeholder":           {"LAYOVER_JOURNAL_TOPIC={ingress", []string{"brace", "{ingress} and {group}"}},
		"a placeholder within one":      {"LAYOVER_JOURNAL_TOPIC={{group", []string{"brace"}},
		"a brace too many":              {"LAYOVER_JOURNAL_TOPIC={ingress}}.{group}", []string{"brace", "{ingress} and {group}"}},
		"a shell's placeholder":         {"LAYOVER_JOURNAL_TOPIC=${ingress}", []string{"'$'", "a-z", "{ingress} and {group}"}},
		"a journal with a slash":        {"LAYOVER_JOURNAL_TOPIC=a/b", []string{"'/'"}},
		"a journal too long":            {"LAYOVER_JOURNAL_TOPIC=" + strings.Repeat("x", 250), []string{"249"}},
		"too long but for placeholders": {"LAYOVER_JOURNAL_TOPIC={ingress}" + strings.Repeat("x", 250), []string{"249", "without {ingress} and {group}"}},
		"the journal .":                 {"LAYOVER_JOURNAL_TOPIC=.", []string{"does not allow"}},
		"an internal journal":           {"LAYOVER_JOURNAL_TOPIC=__{ingress}", []string{"internal"}},
		"runs of every group":           {"LAYOVER_RUNS_TOPIC={ingress}.runs", []string{`"{ingress}.runs" has no {group}`, "want {ingress} and {group}", "one ingress topic and one group"}},
		"runs of every ingress topic":   {"LAYOVER_RUNS_TOPIC=runs.{group}", []string{`"runs.{group}" has no {ingress}`}},
		"runs of everything":            {"LAYOVER_RUNS_TOPIC=runs", []string{`"runs" has no {ingress}`}},
		"runs with a slash":             {"LAYOVER_RUNS_TOPIC={ingress}/{group}", []string{"'/'", "{ingress} and {group}"}},
		"internal runs":                 {"LAYOVER_RUNS_TOPIC=__{ingress}{group}", []string{"internal"}},
		"runs too long":                 {"LAYOVER_RUNS_TOPIC={ingress}{group}" + strings.Repeat("x", 250), []string{"249", "without {ingress} and {group}"}},
		"runs with a placeholder more":  {"LAYOVER_RUNS_TOPIC={ingress}.{group}.{partition}", []string{`"{partition}"`}},
		"a mode of runs":                {"LAYOVER_RUNS=on", []string{"auto or off"}},
		"an address without a colon":    {"LAYOVER_HTTP_ADDR=9846", []string{"no port"}},
		"an address with a named port":  {"LAYOVER_HTTP_ADDR=:http", []string{"0 to 65535"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			variable, _, _ := strings.Cut(test.env, "=")
			wantProblem(t, minimal(test.env), variable, test.reason...)
		})
	}
}

func TestEveryRangeHoldsAtBothEndsAndIsStated(t *testing.T) {
	tests := map[string]struct{ least, most, below, above, stated string }{
		"LAYOVER_SESSION_TIMEOUT":  {"1s", "30m", "999ms", "30m1ns", "1s to 30m"},
		"LAYOVER_DEFAULT_DELAY":    {"0s", "3650d", "-1ns", "3651d", "0s to 3650d"},
		"LAYOVER_MAX_DELAY":        {"1ms", "3650d", "999us", "3650d1ns", "1ms to 3650d"},
		"LAYOVER_MAX_HOPS":         {"0", "1000000", "-1", "1000001", "0 to 1000000"},
		"LAYOVER_EXPIRE_AFTER":     {"0s", "3650d", "-1ns", "3650d1ns", "0s to 3650d"},
		"LAYOVER_MAX_PARKED_BYTES": {"1Mi", "1Ti", "1048575", "1099511627777", "1Mi to 1Ti"},
		"LAYOVER_TARGET_PATIENCE":  {"10ms", "30d", "9ms", "31d", "10ms to 30d"},
		"LAYOVER_CATCHUP_RATE":     {"0", "1000000", "-1", "1000001", "0 to 1000000"},
		"LAYOVER_LANES":            {"1", "64", "0", "65", "1 to 64"},
		"LAYOVER_COMMIT_INTERVAL":  {"10ms", "1m", "9ms", "61s", "10ms to 1m"},
		"LAYOVER_SHUTDOWN_TIMEOUT": {"100ms", "10m", "99ms", "11m", "100ms to 10m"},
		"LAYOVER_GOMAXPROCS":       {"1", "1024", "0", "1025", "auto, off or 1 to 1024"},
		"LAYOVER_GOMEMLIMIT":       {"16Mi", "16Ti", "1", "17Ti", "auto, off or 16Mi to 16Ti"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			base := minimal("LAYOVER_MAX_DELAY=3650d")
			for _, good := range []string{test.least, test.most} {
				mustLoad(t, append(slices.Clone(base), name+"="+good))
			}
			for _, bad := range []string{test.below, test.above, "nonsense", "99999999999999999999999"} {
				wantProblem(t, append(slices.Clone(base), name+"="+bad), name, quote(bad), test.stated)
			}
		})
	}
	for _, s := range settingsOf(new(Config)) {
		if _, tested := tests[s.Variable]; (s.min != "") != tested || (s.min == "") != (s.max == "") {
			t.Errorf("%s: range %q to %q, tested %v", s.Variable, s.min, s.max, tested)
		}
	}
}

func TestSettingsThatContradictEachOther(t *testing.T) {
	noDLQ, two := "LAYOVER_DLQ_TOPIC=", "LAYOVER_INGRESS_TOPICS=delayed,later"
	tests := map[string]struct {
		env      []string
		variable string
		reason   []string
	}{
		"egress is ingress":                {[]string{"LAYOVER_EGRESS_TOPIC=delayed"}, "LAYOVER_EGRESS_TOPIC", []string{`"delayed"`, "ingress"}},
		"dead letters are ingress":         {[]string{"LAYOVER_INGRESS_TOPICS=a,dead-letters"}, "LAYOVER_DLQ_TOPIC", []string{"ingress"}},
		"dead letters are egress":          {[]string{"LAYOVER_DLQ_TOPIC=ready"}, "LAYOVER_DLQ_TOPIC", []string{"egress"}},
		"no choice without a dead letter":  {[]string{noDLQ}, "LAYOVER_ON_INVALID", []string{"deliver", "drop", "halt", "LAYOVER_DLQ_TOPIC"}},
		"dlq without a dead letter":        {[]string{noDLQ, "LAYOVER_ON_INVALID=dlq"}, "LAYOVER_ON_INVALID", []string{"LAYOVER_DLQ_TOPIC", "deliver, drop or halt"}},
		"expired need a dead-letter topic": {[]string{noDLQ, "LAYOVER_ON_INVALID=halt", "LAYOVER_ON_EXPIRED=dlq"}, "LAYOVER_ON_EXPIRED", []string{"dlq needs a dead-letter topic", "LAYOVER_DLQ_TOPIC", "or choose drop"}},
		"events are ingress":               {[]string{two, "LAYOVER_EVENTS_TOPIC=later"}, "LAYOVER_EVENTS_TOPIC", []string{`"later" is an ingress topic too`}},
		"events are egress":                {[]string{"LAYOVER_EVENTS_TOPIC=ready"}, "LAYOVER_EVENTS_TOPIC", []string{`"ready" is the egress topic too`}},
		"events are dead letters":          {[]string{"LAYOVER_EVENTS_TOPIC=dead-letters"}, "LAYOVER_EVENTS_TOPIC", []string{`"dead-letters" is the dead-letter topic too`}},
		"a target that takes events":       {[]string{"LAYOVER_EVENTS_TOPIC=events", "LAYOVER_TARGETS_ALLOWED=events"}, "LAYOVER_TARGETS_ALLOWED", []string{`"events" is the events topic`, "never"}},
		"the journal takes events":         {[]string{"LAYOVER_EVENTS_TOPIC=delayed.layover-delayed"}, "LAYOVER_JOURNAL_TOPIC", []string{`"delayed.layover-delayed"`, "the events topic"}},
		"events are a topic's target":      {[]string{"LAYOVER_EVENTS_TOPIC=events", "LAYOVER_TOPIC_TARGETS=delayed=events"}, "LAYOVER_TOPIC_TARGETS", []string{`"events" is the events topic too`}},
		"deliver without an egress topic":  {[]string{"LAYOVER_EGRESS_TOPIC=", "LAYOVER_TARGETS_ALLOWED=a", "LAYOVER_ON_INVALID=deliver"}, "LAYOVER_ON_INVALID", []string{"LAYOVER_EGRESS_TOPIC"}},
		"no egress and no targets":         {[]string{"LAYOVER_EGRESS_TOPIC=", "LAYOVER_TARGETS_ALLOWED= , "}, "LAYOVER_EGRESS_TOPIC", []string{"required", "LAYOVER_TARGETS_ALLOWED"}},
		"a target that is ingress":         {[]string{"LAYOVER_TARGETS_ALLOWED=a*,delayed"}, "LAYOVER_TARGETS_ALLOWED", []string{`"delayed"`, "never"}},
		"a target that takes dead letters": {[]string{"LAYOVER_TARGETS_ALLOWED=dead-letters"}, "LAYOVER_TARGETS_ALLOWED", []string{`"dead-letters"`, "never"}},
		"two such targets":                 {[]string{"LAYOVER_TARGETS_ALLOWED=dead-letters,delayed"}, "LAYOVER_TARGETS_ALLOWED", []string{"dead-letter topic", "ingress topic"}},
		"two ingress topics, one journal":  {[]string{two, "LAYOVER_JOURNAL_TOPIC=j.{group}"}, "LAYOVER_JOURNAL_TOPIC", []string{`"j.{group}" has no {ingress}`, "2 ingress topics", "share"}},
		"the journal is ingress":           {[]string{"LAYOVER_JOURNAL_TOPIC={ingress}"}, "LAYOVER_JOURNAL_TOPIC", []string{`"{ingress}" makes "delayed" the journal of "delayed"`, "an ingress topic"}},
		"the journal is another's ingress": {[]string{"LAYOVER_INGRESS_TOPICS=a,a.g", "LAYOVER_GROUP_ID=g"}, "LAYOVER_JOURNAL_TOPIC", []string{`{ingress}.{group} by default makes "a.g" the journal of "a"`, "an ingress topic"}},
		"the journal is egress":            {[]string{"LAYOVER_EGRESS_TOPIC=delayed.layover-delayed"}, "LAYOVER_JOURNAL_TOPIC", []string{`"delayed.layover-delayed" the journal of "delayed"`, "the egress topic"}},
		"the journal takes dead letters":   {[]string{"LAYOVER_JOURNAL_TOPIC=dead-letters"}, "LAYOVER_JOURNAL_TOPIC", []string{`"dead-letters"`, "the dead-letter topic"}},
		"the journal is a target":          {[]string{"LAYOVER_TARGETS_ALLOWED=x*,delayed.layover-delayed"}, "LAYOVER_JOURNAL_TOPIC", []string{"an allowed target of LAYOVER_TARGETS_ALLOWED"}},
		"a journal of the second topic":    {[]string{two, "LAYOVER_JOURNAL_TOPIC=j.{ingress}", "LAYOVER_TARGETS_ALLOWED=j.later"}, "LAYOVER_JOURNAL_TOPIC", []string{`"j.later" the journal of "later"`, "an allowed target"}},
		"two things wrong with journals":   {[]string{two, "LAYOVER_JOURNAL_TOPIC=ready"}, "LAYOVER_JOURNAL_TOPIC", []string{"no {ingress}", "the egress topic"}},
		"a journal made internal by group": {[]string{"LAYOVER_JOURNAL_TOPIC=_{group}", "LAYOVER_GROUP_ID=_x"}, "LAYOVER_JOURNAL_TOPIC", []string{`"__x"`, "internal"}},
		"a taken journal that is off":      {[]string{"LAYOVER_JOURNAL=off", "LAYOVER_JOURNAL_TOPIC=ready"}, "LAYOVER_JOURNAL_TOPIC", []string{"the egress topic"}},
		"one journal for two that is off":  {[]string{two, "LAYOVER_JOURNAL=off", "LAYOVER_JOURNAL_TOPIC=j"}, "LAYOVER_JOURNAL_TOPIC", []string{"share"}},
		"runs are a journal":               {[]string{"LAYOVER_RUNS_TOPIC={ingress}.{group}"}, "LAYOVER_RUNS_TOPIC", []string{`"{ingress}.{group}" makes "delayed.layover-delayed" the runs topic of "delayed", and that is the journal of "delayed"`}},
		"a journal is where runs are":      {[]string{"LAYOVER_JOURNAL_TOPIC={ingress}.{group}.runs"}, "LAYOVER_RUNS_TOPIC", []string{`{ingress}.{group}.runs by default makes "delayed.layover-delayed.runs"`, `the journal of "delayed"`}},
		"runs are another's journal":       {[]string{two, "LAYOVER_GROUP_ID=g", "LAYOVER_JOURNAL_TOPIC={ingress}.g.runs"}, "LAYOVER_RUNS_TOPIC", []string{`"delayed.g.runs"`, `"later.g.runs"`, `the journal of "later"`}},
		"runs are ingress":                 {[]string{"LAYOVER_INGRESS_TOPICS=a,a.g.runs", "LAYOVER_GROUP_ID=g"}, "LAYOVER_RUNS_TOPIC", []string{`"a.g.runs" the runs topic of "a"`, "an ingress topic"}},
		"runs are egress":                  {[]string{"LAYOVER_EGRESS_TOPIC=delayed.layover-delayed.runs"}, "LAYOVER_RUNS_TOPIC", []string{"the egress topic"}},
		"runs take dead letters":           {[]string{"LAYOVER_DLQ_TOPIC=delayed.layover-delayed.runs"}, "LAYOVER_RUNS_TOPIC", []string{"the dead-letter topic"}},
		"runs take events":                 {[]string{"LAYOVER_EVENTS_TOPIC=delayed.layover-delayed.runs"}, "LAYOVER_RUNS_TOPIC", []string{"the events topic"}},
		"runs are a topic's target":        {[]string{"LAYOVER_TOPIC_TARGETS=delayed=delayed.layover-delayed.runs"}, "LAYOVER_RUNS_TOPIC", []string{"a target of LAYOVER_TOPIC_TARGETS"}},
		"runs are an allowed target":       {[]string{two, "LAYOVER_TARGETS_ALLOWED=x*,later.layover-delayed.runs"}, "LAYOVER_RUNS_TOPIC", []string{`the runs topic of "later"`, "an allowed target of LAYOVER_TARGETS_ALLOWED"}},
		"runs made internal by group":      {[]string{"LAYOVER_RUNS_TOPIC=_{group}.{ingress}", "LAYOVER_GROUP_ID=_x"}, "LAYOVER_RUNS_TOPIC", []string{`"__x.delayed"`, "internal"}},
		"taken runs that are off":          {[]string{"LAYOVER_RUNS=off", "LAYOVER_EGRESS_TOPIC=delayed.layover-delayed.runs"}, "LAYOVER_RUNS_TOPIC", []string{"the egress topic"}},
		"a default above six days":         {[]string{"LAYOVER_RUNS=off", "LAYOVER_DEFAULT_DELAY=7d"}, "LAYOVER_DEFAULT_DELAY", []string{`"7d"`, "LAYOVER_MAX_DELAY", "6d by default"}},
		"a default above the maximum":      {[]string{"LAYOVER_DEFAULT_DELAY=31d"}, "LAYOVER_DEFAULT_DELAY", []string{`"31d"`, "LAYOVER_MAX_DELAY", "30d by default"}},
		"a default above a set maximum":    {[]string{"LAYOVER_DEFAULT_DELAY=2h", "LAYOVER_MAX_DELAY=1h"}, "LAYOVER_DEFAULT_DELAY", []string{`"2h"`, `"1h"`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			wantProblem(t, minimal(test.env...), test.variable, test.reason...)
		})
	}
}

func TestABadValueIsReportedOnceAndNotAgainByTheRulesAroundIt(t *testing.T) {
	wantProblem(t, minimal("LAYOVER_DLQ_TOPIC=!", "LAYOVER_ON_INVALID=dlq"), "LAYOVER_DLQ_TOPIC")
	wantProblem(t, minimal("LAYOVER_DLQ_TOPIC=!"), "LAYOVER_DLQ_TOPIC")
	wantProblem(t, minimal("LAYOVER_DLQ_TOPIC=!", "LAYOVER_ON_EXPIRED=dlq"), "LAYOVER_DLQ_TOPIC")
	wantProblem(t, minimal("LAYOVER_EVENTS_TOPIC=!"), "LAYOVER_EVENTS_TOPIC")
	wantProblem(t, minimal("LAYOVER_EGRESS_TOPIC=!", "LAYOVER_ON_INVALID=deliver"), "LAYOVER_EGRESS_TOPIC")
	wantProblem(t, minimal("LAYOVER_EGRESS_TOPIC=", "LAYOVER_TARGETS_ALLOWED=!"), "LAYOVER_TARGETS_ALLOWED")
	wantProblem(t, minimal("LAYOVER_MAX_DELAY=x", "LAYOVER_DEFAULT_DELAY=9d"), "LAYOVER_MAX_DELAY")
	wantProblem(t, minimal("LAYOVER_INGRESS_TOPICS=!"), "LAYOVER_INGRESS_TOPICS")
	wantProblem(t, minimal("LAYOVER_INGRESS_TOPICS=a,b", "LAYOVER_JOURNAL_TOPIC=!"), "LAYOVER_JOURNAL_TOPIC")
	wantProblem(t, minimal("LAYOVER_RUNS_TOPIC=!", "LAYOVER_EGRESS_TOPIC=delayed.layover-delayed.runs"), "LAYOVER_RUNS_TOPIC")
	wantProblem(t, minimal("LAYOVER_RUNS=x", "LAYOVER_DEFAULT_DELAY=7d"), "LAYOVER_RUNS")
	wantProblem(t, minimal("LAYOVER_JOURNAL=x", "LAYOVER_DEFAULT_DELAY=7d"), "LAYOVER_JOURNAL")
	wantProblem(t, minimal("LAYOVER_GROUP_ID=\t!\t!", "LAYOVER_EGRESS_TOPIC=delayed."), "LAYOVER_GROUP_ID")
}

func TestAllProblemsAreReportedAtOnceInTheOrderOfTheTable(t *testing.T) {
	var environ []string
	for _, name := range Known() {
		environ = append(environ, name+"=\x00")
	}
	environ = append(environ, "KAFKA_TLS_GARBLEDYGOOK=1", "KAFKA_SASL_KERBEROS_SERVICE_NAME=kafka")
	var got []string
	for _, p := range problemsOf(t, environ) {
		got = append(got, p.Variable)
	}
	isAWS := func(name string) bool { return strings.HasPrefix(name, "AWS_") }
	want := append(slices.DeleteFunc(Known(), isAWS), "KAFKA_SASL_KERBEROS_SERVICE_NAME", "KAFKA_TLS_GARBLEDYGOOK")
	if !slices.Equal(got, want) {
		t.Errorf("problems of %q, want %q", got, want)
	}
	// Those of AWS are read for its mechanism alone.
	got = nil
	for _, p := range problemsOf(t, append(environ, "KAFKA_SASL_MECHANISM=AWS_MSK_IAM")) {
		if isAWS(p.Variable) {
			got = append(got, p.Variable)
		}
	}
	if want := slices.DeleteFunc(Known(), func(name string) bool { return !isAWS(name) }); !slices.Equal(got, want) {
		t.Errorf("problems of %q, want %q", got, want)
	}
}

func TestEveryLineHasVariableReasonAndExample(t *testing.T) {
	problems := problemsOf(t, []string{"LAYOVER_LANES=x\ny", "KAFKA_SASL_A\nB=1", "KAFKA_SECURITY_PROTOCOL=SASL_SSL", "KAFKA_SASL_USER=me"})
	lines := strings.Split((&Errors{problems}).Error(), "\n")
	if len(lines) != len(problems) {
		t.Fatalf("%d lines for %d problems: %q", len(lines), len(problems), lines)
	}
	for i, line := range lines {
		p := problems[i]
		name := p.Variable
		if strings.Contains(name, "\n") {
			name = `"KAFKA_SASL_A\nB"`
		}
		want := name + ": " + p.Reason
		if p.Example != "" {
			want += "; example: " + p.Example
		}
		if line != want || p.Reason == "" {
			t.Errorf("got  %s\nwant %s", line, want)
		}
	}
}

// An example that leads to the same error is none.
func TestAnExampleIsAnotherLineThanTheMistake(t *testing.T) {
	tests := map[string]struct {
		env  []string
		want string
	}{
		"a value":                   {[]string{"LAYOVER_LANES=x"}, "LAYOVER_LANES=4"},
		"a choice":                  {[]string{"LAYOVER_DLQ_TOPIC="}, "LAYOVER_ON_INVALID=halt"},
		"a secret":                  {[]string{"KAFKA_SASL_MECHANISM=SCRAM-SHA-256", "KAFKA_SASL_USERNAME=x"}, "KAFKA_SASL_PASSWORD_FILE=/run/secrets/kafka_sasl_password"},
		"a certificate":             {[]string{"KAFKA_TLS_CA=/ca.pem"}, "KAFKA_TLS_CA_FILE=/run/secrets/kafka_tls_ca"},
		"a name that is another's":  {[]string{"KAFKA_SSL_CA=x"}, "KAFKA_TLS_CA_FILE=/run/secrets/kafka_tls_ca"},
		"a name of nothing":         {[]string{"KAFKA_SASL_GARBLEDYGOOK=x"}, ""},
		"no login for a protocol":   {[]string{"KAFKA_SECURITY_PROTOCOL=SASL_SSL"}, "KAFKA_SASL_MECHANISM=SCRAM-SHA-512"},
		"a protocol without TLS":    {[]string{"KAFKA_SECURITY_PROTOCOL=PLAINTEXT", "KAFKA_TLS_ENABLED=true"}, "KAFKA_SECURITY_PROTOCOL=SSL"},
		"a login and no protocol":   {with(plain, "KAFKA_SECURITY_PROTOCOL=SSL", "KAFKA_TLS_ENABLED=true")[4:], "KAFKA_SECURITY_PROTOCOL=SASL_SSL"},
		"a login in plaintext":      {with(plain, "KAFKA_SECURITY_PROTOCOL=PLAINTEXT", "KAFKA_BROKERS=127.0.0.1:1", "KAFKA_TLS_ENABLED=false")[4:], "KAFKA_SECURITY_PROTOCOL=SASL_PLAINTEXT"},
		"no topic for dead letters": {[]string{"LAYOVER_DLQ_TOPIC=", "LAYOVER_ON_INVALID=dlq"}, "LAYOVER_ON_INVALID=halt"},
		"nowhere to deliver to":     {[]string{"LAYOVER_EGRESS_TOPIC=", "LAYOVER_TARGETS_ALLOWED=x", "LAYOVER_ON_INVALID=deliver"}, "LAYOVER_ON_INVALID=halt"},
		"a protocol with TLS":       {[]string{"KAFKA_SECURITY_PROTOCOL=SSL", "KAFKA_TLS_ENABLED=false"}, "KAFKA_SECURITY_PROTOCOL=PLAINTEXT"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			problems := problemsOf(t, minimal(test.env...))
			if len(problems) != 1 || problems[0].Example != test.want {
				t.Errorf("got %+v, want one with the example %s", problems, test.want)
			}
		})
	}
}

func TestAQuotedValueIsCutAndStaysOnOneLine(t *testing.T) {
	tests := map[string]struct{ value, want string }{
		"short":                {"a\nb", `"a\nb"`},
		"as long as allowed":   {strings.Repeat("x", 100), `"` + strings.Repeat("x", 100) + `"`},
		"longer":               {strings.Repeat("x", 101), `"` + strings.Repeat("x", 100) + `"...`},
		"a rune on the border": {strings.Repeat("x", 99) + "ééé", `"` + strings.Repeat("x", 99) + `"...`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := quote(test.value); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
	reason := problemsOf(t, minimal("LAYOVER_LANES="+strings.Repeat("y", 5000)))[0].Reason
	if n := strings.Count(reason, "y"); n != 100 {
		t.Errorf("%d of 5000 bytes are repeated, want 100", n)
	}
}

func TestALoginAmongTheBrokersIsNotPrinted(t *testing.T) {
	environ := minimal("KAFKA_BROKERS=me:hun,ter2@kafka:9092")
	wantProblem(t, environ, "KAFKA_BROKERS", "login")
	reason := problemsOf(t, environ)[0].Reason
	if strings.Contains(reason, "hun") || strings.Contains(reason, "ter2") {
		t.Errorf("the password is printed: %s", reason)
	}
}
