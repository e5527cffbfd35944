package topics

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"layover/cli/clitest"
	"layover/cli/process"
	"layover/cluster/needs"
	"layover/config"
)

// environ is the quick start's, and the settings given besides.
func environ(more ...string) []string {
	return append([]string{
		"KAFKA_BROKERS=localhost:9092", "LAYOVER_INGRESS_TOPICS=delayed", "LAYOVER_EGRESS_TOPIC=ready", "LAYOVER_DLQ_TOPIC=dead-letters",
	}, more...)
}

// topics runs the verb.
func topics(t *testing.T, environ []string, args ...string) clitest.Result {
	t.Helper()
	return clitest.Call{Args: args, Environ: environ}.Do(t, Command)
}

// printed runs the verb, which has to end well.
func printed(t *testing.T, environ []string, args ...string) string {
	t.Helper()
	r := topics(t, environ, args...)
	if r.Code != process.ExitOK || r.Stderr != "" {
		t.Fatalf("%q: code %d, stderr %q", args, r.Code, r.Stderr)
	}
	return r.Stdout
}

// words are the commands that a shell makes of a script, each by its words.
func words(t *testing.T, script string) (out [][]string) {
	t.Helper()
	const show = `kafka-topics.sh() { printf '%s\0' kafka-topics.sh "$@"; printf '\n'; }
kafka-acls.sh() { printf '%s\0' kafka-acls.sh "$@"; printf '\n'; }
`
	sh := exec.Command("bash", "-e", "-u", "-c", show+script)
	said, err := sh.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, said, script)
	}
	for line := range strings.Lines(string(said)) {
		out = append(out, strings.Split(strings.TrimSuffix(line, "\x00\n"), "\x00"))
	}
	return out
}

// values are those of a flag in a command.
func values(command []string, flag string) (out []string) {
	for i, word := range command {
		if value, ok := strings.CutPrefix(word, flag+"="); ok {
			out = append(out, value)
		} else if word == flag {
			out = append(out, command[i+1])
		}
	}
	return out
}

// The shell reads back what the table says, entry by entry, whatever the names have in them.
func TestTheCommandsSayWhatTheTableDoes(t *testing.T) {
	const principal = "User:CN=lay over,O=it's $(echo x)"
	env := environ("LAYOVER_INGRESS_TOPICS=delayed,-Odd_One", "LAYOVER_TARGETS_ALLOWED=orders.*,*.eu,more", "LAYOVER_GROUP_ID=the 'group' `ls` \\")
	cfg, _, err := config.Load(env)
	if err != nil {
		t.Fatal(err)
	}
	table := needs.Of(cfg)
	commands := words(t, printed(t, env, "--principal", principal, "--partitions", "7", "--replicas=2", "--command-config", "my admin.properties"))
	if len(commands) != len(table.Topics)+len(grants(table.Rights)) {
		t.Fatalf("%d commands: %q", len(commands), commands)
	}
	same := func(what, got, want any) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%v: %q, want %q", what, got, want)
		}
	}
	for i, topic := range table.Topics {
		c := commands[i]
		var settings []string
		for _, s := range topic.Config {
			settings = append(settings, s.Name+"="+s.Value)
		}
		same(topic.Name, values(c, "--topic"), []string{topic.Name})
		same(topic.Name, values(c, "--config"), settings)
		same(topic.Name, values(c, "--partitions"), []string{"7"})
		same(topic.Name, values(c, "--replication-factor"), []string{"2"})
		same(topic.Name, values(c, "--command-config"), []string{"my admin.properties"})
		same(topic.Name, c[0], "kafka-topics.sh")
	}
	for i, g := range grants(table.Rights) {
		c := commands[len(table.Topics)+i]
		var operations, pattern []string
		for _, o := range g.operations {
			operations = append(operations, string(o))
		}
		if g.pattern == needs.Prefixed {
			pattern = []string{"prefixed"}
		}
		same(g.name, values(c, "--"+string(g.resource)), []string{g.name})
		same(g.name, values(c, "--operation"), operations)
		same(g.name, values(c, "--resource-pattern-type"), pattern)
		same(g.name, values(c, "--allow-principal"), []string{principal})
		same(g.name, values(c, "--bootstrap-server"), []string{"localhost:9092"})
		same(g.name, c[0], "kafka-acls.sh")
	}
}

func TestWhatNoCommandCanGiveIsSaid(t *testing.T) {
	env := environ("LAYOVER_TARGETS_ALLOWED=orders.*,*.eu")
	for _, args := range [][]string{{"--principal=User:layover"}, {"--format", "strimzi", "--cluster", "c", "--principal=User:layover"}, {"-o", "json"}} {
		got := printed(t, env, args...)
		for _, part := range []string{"orders.*", "No topic can be made of a glob", "*.eu", "No ACL is the same as this glob"} {
			if !strings.Contains(got, part) {
				t.Errorf("%q: %q is not in:\n%s", args, part, got)
			}
		}
	}
}

// The commands of the document are what the verb prints for the quick start, word by word.
func TestTheCommandsOfTheDocumentAreThoseOfTheVerb(t *testing.T) {
	doc, err := os.ReadFile("../../docs/acls.md")
	if err != nil {
		t.Fatal(err)
	}
	_, want, _ := strings.Cut(printed(t, environ(), "--principal", "User:layover"), "# ACLs of User:layover.\n")
	if n := strings.Count(want, "kafka-acls.sh "); n != 6 {
		t.Fatalf("%d commands: %s", n, want)
	}
	if !strings.Contains(string(doc), "```sh\n"+want+"```\n") {
		t.Errorf("docs/acls.md has other commands than:\n%s", want)
	}
}

func TestThePrincipalIsFromTheFlagOrTheLogin(t *testing.T) {
	scram := []string{"KAFKA_SASL_MECHANISM=SCRAM-SHA-512", "KAFKA_SASL_USERNAME=me", "KAFKA_SASL_PASSWORD=open-sesame", "KAFKA_TLS_ENABLED=true"}
	file := filepath.Join(t.TempDir(), "name")
	if err := os.WriteFile(file, []byte("filed\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		environ, args []string
		want          string // "" for no ACLs
	}{
		"neither":             {nil, nil, ""},
		"the flag":            {nil, []string{"--principal", "User:layover"}, "User:layover"},
		"the login":           {scram, nil, "User:me"},
		"the login's file":    {append(scram[:1:1], "KAFKA_SASL_USERNAME_FILE="+file, "KAFKA_SASL_PASSWORD=open-sesame", "KAFKA_TLS_ENABLED=true"), nil, "User:filed"},
		"the flag before all": {scram, []string{"--principal=User:CN=other"}, "User:CN=other"},
	} {
		t.Run(name, func(t *testing.T) {
			got := printed(t, environ(test.environ...), test.args...)
			if strings.Contains(got, "open-sesame") {
				t.Error("a secret is printed")
			}
			if none := strings.Contains(got, "There are no ACLs"); none != (test.want == "") || none == strings.Contains(got, "kafka-acls.sh") {
				t.Errorf("printed:\n%s", got)
			}
			if test.want != "" && !strings.Contains(got, "--allow-principal "+test.want+" ") {
				t.Errorf("%s is not allowed:\n%s", test.want, got)
			}
		})
	}
}

func TestMistakesOnTheCommandLineAreUsage(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		said string
	}{
		"no cluster of Strimzi":        {[]string{"--format", "strimzi"}, "--cluster is missing"},
		"no name of a cluster":         {[]string{"--format=strimzi", "--cluster", "my.cluster"}, "--cluster"},
		"a cluster for commands":       {[]string{"--cluster", "c"}, "no effect"},
		"an address for Strimzi":       {[]string{"--format=strimzi", "--cluster=c", "--brokers", "k:1"}, "no effect"},
		"an unknown format":            {[]string{"--format", "terraform"}, "want commands or strimzi"},
		"no partitions":                {[]string{"--partitions", "0"}, "--partitions 0"},
		"too many replicas":            {[]string{"--replicas", "32768"}, "--replicas"},
		"a principal without its type": {[]string{"--principal", "layover"}, "TYPE:NAME"},
		"a line break in a principal":  {[]string{"--principal", "User:a\nrm"}, "TYPE:NAME"},
		"a line break in an address":   {[]string{"--brokers", "k:1\nrm"}, "printable"},
		"a user that is no resource":   {[]string{"--format=strimzi", "--cluster=c", "--principal=User:Layover"}, "KafkaUser"},
		"a whole distinguished name":   {[]string{"--format=strimzi", "--cluster=c", "--principal=User:CN=layover,O=x"}, "KafkaUser"},
		"an operand":                   {[]string{"delayed"}, "delayed"},
	} {
		t.Run(name, func(t *testing.T) {
			r := topics(t, environ(), test.args...)
			if r.Code != process.ExitUsage || r.Stdout != "" || !strings.Contains(r.Stderr, test.said) {
				t.Errorf("code %d, stdout %q, stderr %q", r.Code, r.Stdout, r.Stderr)
			}
		})
	}
	if r := topics(t, []string{"KAFKA_BROKERS=k:1"}); r.Code != process.ExitUsage || !strings.Contains(r.Stderr, "LAYOVER_INGRESS_TOPICS") {
		t.Errorf("without settings: code %d, stderr %q", r.Code, r.Stderr)
	}
}

// By Kafka's default one replica's acknowledgement is enough, whatever their number.
func TestFromThreeReplicasOnTwoHaveToAcknowledge(t *testing.T) {
	for replicas, want := range map[string]int{"1": 0, "2": 0, "3": 5, "5": 5} { // of five topics
		for _, args := range [][]string{nil, {"-o", "json"}, {"--format=strimzi", "--cluster=c"}, {"--format=strimzi", "--cluster=c", "-o", "json"}} {
			got := printed(t, environ(), append(args, "--replicas", replicas)...)
			if n := strings.Count(strings.ReplaceAll(got, "\"", ""), "min.insync.replicas"); n != want && n != 2*want { // JSON has the commands, too
				t.Errorf("%s replicas, %q: %d topics with min.insync.replicas, want %d", replicas, args, n, want)
			}
		}
	}
}

// A runs topic holds records: no retention, and segments that are soon closed, as only closed
// ones are freed. With runs off there is nothing to make, and rights to empty what is there.
func TestARunsTopicIsMadeToKeepRecords(t *testing.T) {
	made := words(t, printed(t, environ(), "--replicas", "3"))
	at := slices.IndexFunc(made, func(c []string) bool { return slices.Contains(c, "delayed.layover-delayed.runs") })
	if want := []string{"cleanup.policy=delete", "retention.ms=-1", "retention.bytes=-1", "segment.bytes=67108864", "max.message.bytes=1114124", "min.insync.replicas=2"}; at < 0 || !slices.Equal(values(made[at], "--config"), want) {
		t.Errorf("commands %q, want one with %q", made, want)
	}
	off := printed(t, environ("LAYOVER_RUNS=off"), "--principal", "User:layover")
	if !strings.Contains(off, "--topic delayed.layover-delayed.runs --operation Describe --operation Read --operation Delete\n") || strings.Contains(off, "segment.bytes") {
		t.Errorf("runs are off:\n%s", off)
	}
	resource := printed(t, environ(), "--format=strimzi", "--cluster=c", "--replicas=1")
	if !strings.Contains(resource, "  name: delayed.layover-delayed.runs\n") || !strings.Contains(resource, "    segment.bytes: \"67108864\"\n") {
		t.Errorf("resources:\n%s", resource)
	}
}

func TestForMachines(t *testing.T) {
	object := clitest.Objects(t, printed(t, environ("LAYOVER_TARGETS_ALLOWED=orders.*"), "-o", "json", "--principal", "User:layover"))[0]
	var got facts
	b, _ := json.Marshal(object)
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if got.Principal != "User:layover" || len(got.Topics) != 5 || len(got.ACLs) != 23 || len(got.Gaps) != 1 || len(got.Commands) != 5+7 {
		t.Errorf("got %+v", got)
	}
	for _, c := range got.Commands {
		if strings.Contains(c, "\n") || len(words(t, c)) != 1 {
			t.Errorf("no command of one line: %q", c)
		}
	}
	if strimzi := clitest.Objects(t, printed(t, environ(), "-o", "json", "--format", "strimzi", "--cluster", "c"))[0]; strimzi["kind"] != "List" || len(strimzi["items"].([]any)) != 5 {
		t.Errorf("got %v", strimzi)
	}
}

// resources are the documents of a YAML file.
func resources(t *testing.T, text string) (out []any) {
	t.Helper()
	for decoder := yaml.NewDecoder(strings.NewReader(text)); ; {
		var one any
		err := decoder.Decode(&one)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
		out = append(out, one)
	}
}

// object is a document as any reader of YAML and JSON has it.
type object = map[string]any

// The expected resources are written from the table by the names of Strimzi's CRDs.
func TestTheResourcesOfStrimziSayWhatTheTableDoes(t *testing.T) {
	env := environ("LAYOVER_INGRESS_TOPICS=delayed,Odd_One,no,1e5", "LAYOVER_TARGETS_ALLOWED=orders.*,a..b", "LAYOVER_GROUP_ID=gr: #1 \"x\"",
		"LAYOVER_JOURNAL_TOPIC={ingress}.journal", "KAFKA_SASL_MECHANISM=SCRAM-SHA-512", "KAFKA_SASL_USERNAME=layover", "KAFKA_SASL_PASSWORD=open-sesame", "KAFKA_TLS_ENABLED=true")
	cfg, _, err := config.Load(env)
	if err != nil {
		t.Fatal(err)
	}
	table := needs.Of(cfg)
	names := map[string]string{"Odd_One": "odd-one-", "a..b": "a-b-", "Odd_One.journal": "odd-one-journal-"} // whose own is no name in Kubernetes
	var want []any
	for _, topic := range table.Topics {
		spec := object{"partitions": 6, "replicas": 2}
		if _, odd := names[topic.Name]; odd {
			spec["topicName"] = topic.Name
		}
		for i, s := range topic.Config {
			if i == 0 {
				spec["config"] = object{}
			}
			spec["config"].(object)[s.Name] = s.Value
		}
		want = append(want, object{"apiVersion": "kafka.strimzi.io/v1", "kind": "KafkaTopic",
			"metadata": object{"name": topic.Name, "labels": object{"strimzi.io/cluster": "my-cluster"}}, "spec": spec})
	}
	var acls []any
	for _, g := range grants(table.Rights) {
		var operations []any
		for _, o := range g.operations {
			operations = append(operations, string(o))
		}
		pattern := map[needs.Pattern]string{needs.Literal: "literal", needs.Prefixed: "prefix"}[g.pattern]
		acls = append(acls, object{"resource": object{"type": string(g.resource), "name": g.name, "patternType": pattern}, "operations": operations, "host": "*"})
	}
	want = append(want, object{"apiVersion": "kafka.strimzi.io/v1", "kind": "KafkaUser",
		"metadata": object{"name": "layover", "labels": object{"strimzi.io/cluster": "my-cluster"}},
		"spec":     object{"authentication": object{"type": "scram-sha-512"}, "authorization": object{"type": "simple", "acls": acls}}})

	args := []string{"--format", "strimzi", "--cluster", "my-cluster", "--partitions", "6", "--replicas", "2"}
	text := printed(t, env, args...)
	got := resources(t, text)
	seen := make(map[string]bool)
	for i := range got {
		meta := got[i].(object)["metadata"].(object)
		name := meta["name"].(string)
		if seen[name] || !isResourceName(name) {
			t.Errorf("the name %q comes twice, or is none", name)
		}
		seen[name] = true
		if i < len(table.Topics) {
			if begin, odd := names[table.Topics[i].Name]; odd && strings.HasPrefix(name, begin) && len(name) == len(begin)+8 {
				meta["name"] = table.Topics[i].Name
			}
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v\n%s", got, want, text)
	}
	if strings.Contains(text, "open-sesame") {
		t.Error("a secret is printed")
	}

	var inJSON struct{ Items []any }
	if err := yaml.Unmarshal([]byte(printed(t, env, append(args, "-o", "json")...)), &inJSON); err != nil {
		t.Fatal(err)
	}
	if again := resources(t, text); !reflect.DeepEqual(inJSON.Items, again) {
		t.Errorf("JSON %v\nYAML %v", inJSON.Items, again)
	}
}

func TestTheUserOfStrimziHasTheLoginOfThePrincipal(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		has  string // "": no user
		not  string
	}{
		"a certificate":           {[]string{"--principal=User:CN=layover"}, "kind: KafkaUser\nmetadata:\n  name: layover\n  labels:\n    strimzi.io/cluster: c\nspec:\n  authentication:\n    type: tls\n", "scram"},
		"another login":           {[]string{"--principal=User:layover"}, "no authentication: the credentials are made elsewhere", "authentication:\n"},
		"no principal":            {nil, "", "KafkaUser"},
		"an earlier Strimzi":      {[]string{"--principal=User:layover", "--strimzi-api=v1beta2"}, "apiVersion: kafka.strimzi.io/v1beta2\nkind: KafkaUser", "io/v1\n"},
		"a name that is no label": {[]string{"--principal=User:lay.over"}, "name: lay.over\n", "scram"},
	} {
		t.Run(name, func(t *testing.T) {
			got := printed(t, environ(), append([]string{"--format=strimzi", "--cluster=c"}, test.args...)...)
			if !strings.Contains(got, test.has) || strings.Contains(got, test.not) {
				t.Errorf("printed:\n%s", got)
			}
		})
	}
}
