package doctor

import (
	"cmp"
	"fmt"
	"strings"

	"layover/cluster/connect"
	"layover/config"
)

// seedList is the brokers for the commands that mend. Kafka's tools do not go on from a
// name alone that does not resolve.
func (f *facts) seedList() string {
	var all []string
	for _, h := range f.seeds {
		if h.err == nil {
			all = append(all, h.address)
		}
	}
	return cmp.Or(strings.Join(all, ","), "BROKER:PORT")
}

// secured reports whether brokers want TLS or a login.
func (f *facts) secured() bool {
	return f.settings.Kafka.TLSOn() || f.settings.Kafka.SASL.Mechanism != ""
}

// tool begins a command of Kafka's tools. Where brokers want TLS or a login, so do they.
func (f *facts) tool(name string) string {
	command := fmt.Sprintf("%s --bootstrap-server %s", name, f.seedList())
	if f.secured() {
		command += " --command-config admin.properties"
	}
	return command
}

// actions are the rights as policies of AWS_MSK_IAM have them, by kind and operation.
var actions = map[string]string{
	"topic Read": "ReadData", "topic Write": "WriteData", "topic Create": "CreateTopic", "topic Delete": "DeleteTopic", "topic Alter": "AlterTopic",
	"topic Describe": "DescribeTopic", "topic DescribeConfigs": "DescribeTopicDynamicConfiguration", "group Read": "AlterGroup",
	"cluster Describe": "DescribeCluster", "cluster DescribeConfigs": "DescribeClusterDynamicConfiguration",
}

// allow is the command, or the policy, that gives rights to a topic, a group or the
// cluster, which has no name.
func (f *facts) allow(kind, name string, operations ...string) string {
	if f.settings.Kafka.SASL.Mechanism == config.MechanismAWS {
		var all []string
		for _, operation := range operations {
			all = append(all, "kafka-cluster:"+actions[kind+" "+operation])
		}
		return fmt.Sprintf("allow in the IAM policy, on %s: %s", strings.TrimSpace(kind+" "+name), strings.Join(all, ", "))
	}
	command := fmt.Sprintf("%s --add --allow-principal %s --%s", f.tool("kafka-acls.sh"), Principal(f.settings, &f.status), kind)
	if name != "" {
		command += " " + quoted(name)
	}
	return command + " --operation " + strings.Join(operations, " --operation ")
}

// allowACL is allow for one right by its name, such as "Read on group orders".
func (f *facts) allowACL(acl string) string {
	operation, on, _ := strings.Cut(acl, " on ")
	kind, name, _ := strings.Cut(strings.TrimPrefix(on, "the "), " ")
	return f.allow(kind, name, operation)
}

// alterTopic is the command that sets values of a topic.
func (f *facts) alterTopic(name string, set ...string) string {
	return fmt.Sprintf("%s --alter --entity-type topics --entity-name %s --add-config %s", f.tool("kafka-configs.sh"), name, strings.Join(set, ","))
}

// Principal is what brokers call Layover, such as User:layover, as a word of a shell's command, and as far as the
// settings tell. Brokers may have rules that make another name of it.
func Principal(settings *config.Config, status *connect.Status) string {
	return quoted("User:" + nameOf(&settings.Kafka.SASL, status))
}

func nameOf(s *config.SASL, status *connect.Status) string {
	switch s.Mechanism {
	case config.MechanismPlain, config.MechanismScramSHA256, config.MechanismScramSHA512:
		if user, err := s.Username.Read(); err == nil && user != "" {
			return user
		}
		return "NAME"
	case "":
		for _, c := range status.Certificates {
			if c.Variable == "KAFKA_TLS_CERT" && c.Subject != "" {
				return c.Subject
			}
		}
		return "ANONYMOUS"
	}
	return "NAME"
}

// quoted is a word of a command for a shell.
func quoted(word string) string {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("._-:/=,@%+", c)
	}
	if word != "" && strings.IndexFunc(word, func(c rune) bool { return !plain(c) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
