package config

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"layover/delay"
)

// firstName is the byte that stands for the name of the first setting. No name begins
// with it.
const firstName = 0x80

// environment makes an environment of one text. Its entries end at a zero byte, which
// no environment can hold. An entry that begins with a byte from firstName on is about
// the known variable of that number. So a fuzzer need not guess names:
// "\x80kafka:9092" sets the first.
func environment(known []string, text string) []string {
	var environ []string
	for entry := range strings.SplitSeq(text, "\x00") {
		if entry != "" && int(entry[0]) >= firstName && int(entry[0]) < firstName+len(known) {
			entry = known[entry[0]-firstName] + "=" + entry[1:]
		}
		environ = append(environ, entry)
	}
	return environ
}

// entries is the reverse of environment for seeds.
func entries(environ ...string) string {
	for i, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if at := slices.Index(Known(), name); at >= 0 {
			environ[i] = string([]byte{byte(firstName + at)}) + value
		}
	}
	return strings.Join(environ, "\x00")
}

// printed is a configuration as the environment that sets every variable to it.
func printed(c *Config) []string {
	var environ []string
	for _, s := range settingsOf(c) {
		if s.Variable == tlsSkipVerify && !c.Kafka.tlsGiven {
			continue // whatever its value, it asks for TLS
		}
		var value string
		switch field := s.field.Interface().(type) {
		case Secret:
			value = field.text()
		case time.Duration:
			value = strconv.FormatInt(int64(field), 10) + "ns"
		case []string:
			value = strings.Join(field, " ,\t")
		case []delay.Mapping:
			for _, m := range field {
				value += m.Name + " =" + strings.ToUpper(m.Format.String()) + ", "
			}
		case []TopicTarget:
			for _, t := range field {
				value += t.Ingress + " =" + t.Target + ", "
			}
		case []TopicDelay:
			for _, d := range field {
				text := cmp.Or(d.Backoff.String(), strconv.FormatInt(int64(d.Delay), 10)+"ns")
				if d.Auto {
					text = "auto"
				}
				value += "," + d.Ingress + "= " + text
			}
		default:
			value = fmt.Sprint(field)
		}
		environ = append(environ, s.Variable+"="+value)
	}
	return environ
}

// loadSeeds are single settings, each as it may be set.
var loadSeeds = []string{
	"KAFKA_BROKERS=b:1, [::1]:9092,,c:65535", "KAFKA_BROKERS=user:pass,word@b:1", "KAFKA_BROKERS=ssl://b:1", "KAFKA_BROKERS=b:0",
	"LAYOVER_INGRESS_TOPICS=a,b,a", "LAYOVER_INGRESS_TOPICS=ready", "LAYOVER_INGRESS_TOPICS=,", "LAYOVER_EGRESS_TOPIC=__x", "LAYOVER_EGRESS_TOPIC=..",
	"LAYOVER_TARGETS_ALLOWED=*,orders.?,[a-z]*,[^x]y", "LAYOVER_TARGETS_ALLOWED=dead-letters,[", "LAYOVER_DLQ_TOPIC= ready\n", "LAYOVER_EVENTS_TOPIC=ready", "LAYOVER_EVENTS_TOPIC=events", "LAYOVER_ON_EXPIRED=dlq", "LAYOVER_EXPIRE_AFTER=1h",
	"LAYOVER_ON_INVALID=HALT", "LAYOVER_ON_INVALID=\u017ftop", "LAYOVER_GROUP_ID= a b ", "LAYOVER_GROUP_ID=a\x1bb", "LAYOVER_GROUP_INSTANCE_ID=layover-0",
	"LAYOVER_SESSION_TIMEOUT=1s", "LAYOVER_SESSION_TIMEOUT=30m1ns", "LAYOVER_START_OFFSET=Latest", "LAYOVER_DEFAULT_DELAY=6d1ns", "LAYOVER_DEFAULT_DELAY=0s",
	"LAYOVER_MAX_DELAY=3650d", "LAYOVER_MAX_DELAY=30", "LAYOVER_MAX_PARKED_BYTES=1Ti", "LAYOVER_MAX_PARKED_BYTES=1.5Gi", "LAYOVER_TARGET_PATIENCE=30d",
	"LAYOVER_LANES=64", "LAYOVER_LANES=010", "LAYOVER_COMMIT_INTERVAL=10ms", "LAYOVER_SHUTDOWN_TIMEOUT=10m",
	"LAYOVER_JOURNAL=off", "LAYOVER_JOURNAL_TOPIC=j.{ingress}", "LAYOVER_JOURNAL_TOPIC={in{group}gress}", "LAYOVER_JOURNAL_TOPIC={ingress}", "LAYOVER_JOURNAL_TOPIC={group",
	"LAYOVER_RUNS=off", "LAYOVER_RUNS_TOPIC={group}{ingress}", "LAYOVER_RUNS_TOPIC={ingress}.{group}", "LAYOVER_RUNS_TOPIC=runs", "LAYOVER_RUNS_TOPIC={ingress}.{group}}",
	"LAYOVER_HTTP_ADDR=[fe80::1%eth0]:0",
	"LAYOVER_HTTP_ADDR=:65536", "LAYOVER_LOG_LEVEL=WARN", "LAYOVER_LOG_FORMAT=json", "LAYOVER_GOMAXPROCS=1024", "LAYOVER_GOMEMLIMIT=16Ti", "LAYOVER_GOMEMLIMIT=OFF",
	"KAFKA_SASL_PASSWORD=secret", "KAFKA_TLS_\n=x", "KAFKA_SECURITY_PROTOCOL=PLAINTEXT", "LAYOVER_LANE=secret", "LAYOVER_\xff=secret",
	"LAYOVER_LANES_FILE=/v/ 7\n", "LAYOVER_LANES_FILE=/v/x", "LAYOVER_LANES_FILE=/none", "KAFKA_BROKERS_FILE=/v/b:1", "LAYOVER_GROUP_ID_FILE=/v/ ", "KAFKA_SASL_JAAS_FILE=/v/x", "LAYOVER_LANE_FILE=x",
	"KAFKA_CLIENT_ID=a b", "LAYOVER_TOPIC_TARGETS=delayed=x", "LAYOVER_TOPIC_TARGETS=delay=x,delayed=ready,delayed=__x,a=", "LAYOVER_TOPIC_TARGETS==,a=b=c,dead-letters",
	"LAYOVER_TOPIC_DELAYS=delayed = 1h30m,", "LAYOVER_TOPIC_DELAYS=delayed=6d1ns", "LAYOVER_TOPIC_DELAYS=delayed=30,x=-1s", "LAYOVER_TOPIC_DELAYS=delayed=auto", "LAYOVER_TOPIC_DELAYS=delayed=1s..7d",
	"LAYOVER_BACKOFF=5s..6h x3", "LAYOVER_BACKOFF=auto", "LAYOVER_BACKOFF=1s..7d", "LAYOVER_BACKOFF=1s..1h,x2", "LAYOVER_MAX_HOPS=0", "LAYOVER_MAX_HOPS=1000001", "LAYOVER_PARTITION=same", "LAYOVER_TIMESTAMP=Original", "LAYOVER_ADDED_HEADERS=ID , original-timestamp", "LAYOVER_ADDED_HEADERS=none,due,due", "LAYOVER_ADDED_HEADERS=,", "LAYOVER_COMPRESSION=none",
	"LAYOVER_HEADERS=Spring,native", "LAYOVER_HEADERS=etf1,ETF1,x", "LAYOVER_HEADER_MAP=X-A=ms, x-b = Key", "LAYOVER_HEADER_MAP=x-delay=ms,a=b=c,a=s,A=s,=s",
	"LAYOVER_PORT_80_TCP=tcp://10.0.0.1:80", "LAYOVER_PORT=tcp://10.0.0.1:80", "LAYOVER_PORT=80", "KAFKA_TLS_PORT=udp://10.0.0.1:80", "KAFKA_TLS_PORT=80",
	"KAFKA_SASL_SERVICE_HOST=10.0.0.1", "LAYOVER_TEST_DOCKER=docker", "=C:=C:\\", "LAYOVER_LANES", "LAYOVER_" + strings.Repeat("X", 200) + "=1",
}

// FuzzLoad loads whole environments of any names and values. A refusal has a line
// for each problem that names its variable, with no secret in it. A configuration
// that is loaded is within the documented bounds, and the clients read the same.
// It loads from its own printing as the same, and is understood by the reader of targets.
func FuzzLoad(f *testing.F) {
	f.Add("")
	f.Add(entries(minimal()...))
	for _, more := range loadSeeds {
		f.Add(entries(minimal(more)...))
		f.Add(entries(more))
	}
	for _, seed := range connectionSeeds(f) {
		f.Add(entries(minimal(seed...)...))
	}
	known := Known() // which walks a template: once, not for every entry
	f.Fuzz(func(t *testing.T, text string) {
		environ := environment(known, text)
		cfg, warnings, err := load(environ, host)
		for _, warning := range warnings {
			if strings.ContainsAny(warning, "\n\r") || !knownWarning.MatchString(warning) {
				t.Fatalf("%q: warning %q", environ, warning)
			}
		}
		checkNoSecret(t, environ, strings.Join(warnings, "\n")+fmt.Sprintf("%v\n%+v", err, cfg))
		hidden, hiddenWarnings, hiddenErr := load(withoutSecrets(known, environ), host)
		if fmt.Sprint(hiddenErr) != fmt.Sprint(err) || !slices.Equal(warnings, hiddenWarnings) || !reflect.DeepEqual(cfg, hidden) {
			t.Fatalf("%q: what should not be looked at changes\n%v, %q\nto\n%v, %q", environ, err, warnings, hiddenErr, hiddenWarnings)
		}
		if err != nil {
			checkRefusal(t, known, environ, cfg, err)
			return
		}
		checkBounds(t, cfg)
		checkValues(t, environ, cfg)
		again, more, err := load(printed(cfg), hostOf(63, 1<<40))
		if err != nil || len(more) > len(warnings) || !reflect.DeepEqual(again, literal(cfg)) {
			t.Fatalf("%q prints as\n%q\nwhich loads as\n%+v, %q, %v, want\n%+v", environ, printed(cfg), again, more, err, cfg)
		}
		client, _, err := loadClient(environ, host)
		if err == nil {
			client.Kafka = literal(&Config{Kafka: client.Kafka}).Kafka
		}
		if err != nil || !reflect.DeepEqual(client.Kafka, cfg.Kafka) || client.Topic != cfg.IngressTopics[0] || client.HTTPAddr != cfg.HTTPAddr {
			t.Fatalf("%q: a client reads %+v, %v, want %+v", environ, client, err, cfg)
		}
		denied := append([]string{cfg.DLQTopic, cfg.EventsTopic}, cfg.IngressTopics...)
		for _, ingress := range cfg.IngressTopics {
			denied = append(denied, cfg.JournalName(ingress), cfg.RunsName(ingress))
		}
		if _, err := delay.NewTargets(cfg.EgressTopic, cfg.TargetsAllowed, denied, append(cfg.JournalsLike(), cfg.RunsLike()...)); err != nil {
			t.Fatalf("%q is loaded, and then: %v", environ, err)
		}
	})
}

// checkValues checks that the values as they are shown load as the same
// configuration, and that what is set is not called a default.
func checkValues(t *testing.T, environ []string, cfg *Config) {
	t.Helper()
	r := newReader(environ, host)
	if _, err := r.readAll(); err != nil {
		t.Fatal(err)
	}
	var shown []string
	for i, v := range r.values(nil, goRuntime{}) {
		text := v.Text
		if secret, ok := r.settings[i].field.Interface().(Secret); ok && text == masked(secret.text()) {
			text = secret.text() // shown is only its length
		} else if v.Secret {
			t.Fatalf("%q: the secret is shown as %+v", environ, v)
		}
		if v.Variable != tlsSkipVerify || cfg.Kafka.tlsGiven {
			shown = append(shown, v.Variable+"="+text)
		}
		if given := r.env[v.Variable] != "" || r.env[v.Variable+"_FILE"] != ""; v.Origin.Kind != FromDefault && !given || strings.ContainsAny(v.Text, "\n\r") {
			t.Fatalf("%q: shown is %+v", environ, v)
		}
	}
	if again, _, err := load(shown, hostOf(0, 0)); err != nil || !reflect.DeepEqual(again, literal(cfg)) {
		t.Fatalf("%q is shown as\n%q\nwhich loads as\n%+v, %v, want\n%+v", environ, shown, again, err, cfg)
	}
}

// withoutSecrets replaces every value that no message may depend on: of what asks
// for a login, and of names that are not ours. The scheme of what may be the link
// of a Service stays, by which it is told apart.
func withoutSecrets(known, environ []string) []string {
	out := slices.Clone(environ)
	for i, entry := range out {
		name, value, ok := strings.Cut(entry, "=")
		if ok && value != "" && name != bindingRoot && !slices.Contains(known, strings.TrimSuffix(name, "_FILE")) {
			out[i] = name + "=" + schemeOf(value) + "x"
		}
	}
	return out
}

func schemeOf(value string) string {
	for _, scheme := range []string{"tcp://", "udp://", "sctp://"} {
		if strings.HasPrefix(value, scheme) {
			return scheme
		}
	}
	return ""
}

// checkRefusal checks that an error has a line for each problem, which begins with
// the name of a variable that is known or was set.
func checkRefusal(t *testing.T, known, environ []string, cfg *Config, err error) {
	t.Helper()
	var all *Errors
	if !errors.As(err, &all) || cfg != nil || len(all.Problems) == 0 {
		t.Fatalf("%q: %+v beside %T %v", environ, cfg, err, err)
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != len(all.Problems) || strings.Contains(err.Error(), "\r") {
		t.Fatalf("%q: %d problems in %d lines: %q", environ, len(all.Problems), len(lines), err)
	}
	for i, p := range all.Problems {
		isSet := slices.ContainsFunc(environ, func(entry string) bool { return strings.HasPrefix(entry, p.Variable+"=") })
		if !slices.Contains(known, p.Variable) && !isSet || p.Reason == "" {
			t.Fatalf("%q: problem %+v", environ, p)
		}
		if slices.Contains(known, strings.TrimSuffix(p.Variable, "_FILE")) && (!strings.HasPrefix(lines[i], p.Variable+": ") || p.Example == "") {
			t.Fatalf("%q: line %q", environ, lines[i])
		}
		example, _, _ := strings.Cut(p.Example, "=")
		if p.Example != "" && example != bindingRoot && !slices.Contains(known, strings.TrimSuffix(example, "_FILE")) {
			t.Fatalf("%q: example %q", environ, p.Example)
		}
	}
}

var (
	boundTopic   = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)
	boundClient  = regexp.MustCompile(`^[A-Za-z0-9._-]{1,249}$`)
	boundJournal = regexp.MustCompile(`^([a-zA-Z0-9._-]|\{ingress\}|\{group\})+$`)
)

// checkBounds holds a configuration to what docs/configuration.md says.
func checkBounds(t *testing.T, c *Config) {
	t.Helper()
	const day = 24 * time.Hour
	in := func(name string, v, least, most int64) {
		if v < least || v > most {
			t.Fatalf("%s is %d, out of %d to %d", name, v, least, most)
		}
	}
	in("session timeout", int64(c.SessionTimeout), int64(time.Second), int64(30*time.Minute))
	in("maximum delay", int64(c.MaxDelay), int64(time.Millisecond), int64(3650*day))
	in("last wait", int64(c.Backoff.Last()), 1, int64(c.MaxDelay))
	in("hops", int64(c.MaxHops), 0, 1_000_000)
	in("default delay", int64(c.DefaultDelay), 0, int64(c.MaxDelay))
	in("expiry", int64(c.ExpireAfter), 0, int64(3650*24*time.Hour))
	in("parked bytes", c.MaxParkedBytes, 1<<20, 1<<40)
	in("patience", int64(c.TargetPatience), int64(10*time.Millisecond), int64(30*day))
	in("catch-up rate", int64(c.CatchupRate), 0, 1_000_000)
	in("lanes", int64(c.Lanes), 1, 64)
	in("commit interval", int64(c.CommitInterval), int64(10*time.Millisecond), int64(time.Minute))
	in("shutdown timeout", int64(c.ShutdownTimeout), int64(100*time.Millisecond), int64(10*time.Minute))
	in("level", int64(c.LogLevel), int64(slog.LevelDebug), int64(slog.LevelError))
	if c.GOMAXPROCS.Mode == AutoValue {
		in("GOMAXPROCS", c.GOMAXPROCS.Value, 1, 1024)
	}
	if c.GOMEMLIMIT.Mode == AutoValue {
		in("GOMEMLIMIT", c.GOMEMLIMIT.Value, 16<<20, 16<<40)
	}
	for _, topic := range slices.Concat(c.IngressTopics, []string{c.EgressTopic, c.DLQTopic, c.EventsTopic}) {
		if topic != "" && (!boundTopic.MatchString(topic) || strings.HasPrefix(topic, "__") || topic == "." || topic == "..") {
			t.Fatalf("topic %q", topic)
		}
	}
	read := c.IngressTopics
	switch {
	case len(read) == 0 || len(slices.Compact(slices.Sorted(slices.Values(read)))) != len(read):
		t.Fatalf("ingress topics %q", read)
	case slices.Contains(read, c.EgressTopic), slices.Contains(read, c.DLQTopic), c.DLQTopic != "" && c.DLQTopic == c.EgressTopic:
		t.Fatalf("a loop between %q, %q and %q", read, c.EgressTopic, c.DLQTopic)
	case c.EventsTopic != "" && slices.Contains(append([]string{c.EgressTopic, c.DLQTopic}, append(c.Allowed(), read...)...), c.EventsTopic):
		t.Fatalf("events among others in %q", c.EventsTopic)
	case c.OnExpired == OnExpiredDLQ && c.DLQTopic == "", c.OnExpired != OnExpiredDLQ && c.OnExpired != OnExpiredDrop:
		t.Fatalf("expired records are %q without a topic for that", c.OnExpired)
	case c.EgressTopic == "" && len(c.TargetsAllowed) == 0 && len(c.TopicTargets) < len(read):
		t.Fatal("nowhere to deliver to")
	case c.OnInvalid == OnInvalidDLQ && c.DLQTopic == "", c.OnInvalid == OnInvalidDeliver && c.EgressTopic == "" && len(c.TopicTargets) < len(read):
		t.Fatalf("%s without its topic", c.OnInvalid)
	}
	checkTopicRules(t, c)
	checkJournals(t, c)
	checkConnection(t, &c.Kafka)
	for _, address := range append([]string{c.HTTPAddr}, c.Kafka.Brokers...) {
		_, port, err := net.SplitHostPort(address)
		if n, err2 := strconv.ParseUint(port, 10, 16); err != nil || err2 != nil || n == 0 && address != c.HTTPAddr {
			t.Fatalf("address %q", address)
		}
	}
}

// checkTopicRules checks that what is said of single ingress topics is said once of
// each, of none else, and within the bounds.
func checkTopicRules(t *testing.T, c *Config) {
	t.Helper()
	once := func(seen map[string]bool, ingress string) bool {
		again := seen[ingress]
		seen[ingress] = true
		return !again && slices.Contains(c.IngressTopics, ingress)
	}
	targets, delays := make(map[string]bool), make(map[string]bool)
	for _, at := range c.TopicTargets {
		if !once(targets, at.Ingress) || !boundTopic.MatchString(at.Target) || strings.HasPrefix(at.Target, "__") ||
			slices.Contains(c.IngressTopics, at.Target) || at.Target == c.DLQTopic {
			t.Fatalf("targets %q of %q", c.TopicTargets, c.IngressTopics)
		}
	}
	for _, d := range c.TopicDelays {
		if !once(delays, d.Ingress) || d.Delay < 0 || max(d.Delay, d.Backoff.Last()) > c.MaxDelay {
			t.Fatalf("delays %v of %q, at most %v", c.TopicDelays, c.IngressTopics, c.MaxDelay)
		}
	}
	if !boundClient.MatchString(c.Kafka.ClientID) {
		t.Fatalf("client %q", c.Kafka.ClientID)
	}
}

// checkJournals checks that each ingress topic has a journal and a runs topic that are no
// other topic of the configuration.
func checkJournals(t *testing.T, c *Config) {
	t.Helper()
	if c.Journal != JournalAuto && c.Journal != JournalOff || !boundJournal.MatchString(c.JournalTopic) {
		t.Fatalf("journal %q, topic %q", c.Journal, c.JournalTopic)
	}
	if c.Runs != RunsAuto && c.Runs != RunsOff || !boundJournal.MatchString(c.RunsTopic) ||
		!strings.Contains(c.RunsTopic, "{ingress}") || !strings.Contains(c.RunsTopic, "{group}") {
		t.Fatalf("runs %q, topic %q", c.Runs, c.RunsTopic)
	}
	taken := slices.Concat(c.IngressTopics, []string{c.EgressTopic, c.DLQTopic, c.EventsTopic})
	for _, at := range c.TopicTargets {
		taken = append(taken, at.Target)
	}
	for _, target := range c.TargetsAllowed {
		if boundTopic.MatchString(target) {
			taken = append(taken, target)
		}
	}
	for _, ingress := range c.IngressTopics {
		name := c.JournalName(ingress)
		if slices.Contains(taken, name) || strings.HasPrefix(name, "__") {
			t.Fatalf("%q is the journal of %q and not alone among %q", name, ingress, taken)
		}
		taken = append(taken, name)
	}
	for _, ingress := range c.IngressTopics {
		name := c.RunsName(ingress)
		if slices.Contains(taken, name) || strings.HasPrefix(name, "__") {
			t.Fatalf("%q is the runs topic of %q and not alone among %q", name, ingress, taken)
		}
		taken = append(taken, name)
	}
}
