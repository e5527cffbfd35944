package doctor

import (
	"fmt"
	"strings"

	"layover/config"
)

// seed is a broker for the commands that mend.
func (f *facts) seed() string {
	if b := f.settings.Kafka.Brokers; len(b) > 0 {
		return b[0]
	}
	return "BROKER:PORT"
}

// tool begins a command of Kafka's tools. Where brokers want TLS or a login, so do they.
func (f *facts) tool(name string) string {
	command := fmt.Sprintf("%s --bootstrap-server %s", name, f.seed())
	if k := &f.settings.Kafka; k.TLSOn() || k.SASL.Mechanism != "" {
		command += " --command-config admin.properties"
	}
	return command
}

// kafkaACLs begins the command that allows Layover something.
func (f *facts) kafkaACLs() string {
	return f.tool("kafka-acls.sh") + " --add --allow-principal " + quoted("User:"+f.principal())
}

// allowACL is the command that gives a right by its name, such as "Read on group orders".
func (f *facts) allowACL(acl string) string {
	operation, on, _ := strings.Cut(acl, " on ")
	kind, name, _ := strings.Cut(on, " ")
	switch {
	case on == "the cluster":
		return f.kafkaACLs() + " --cluster --operation " + operation
	case f.settings.Kafka.SASL.Mechanism == config.MechanismAWS:
		return "allow in the IAM policy what is " + acl
	}
	return fmt.Sprintf("%s --%s %s --operation %s", f.kafkaACLs(), kind, quoted(name), operation)
}

// alterTopic is the command that sets values of a topic.
func (f *facts) alterTopic(name string, set ...string) string {
	return fmt.Sprintf("%s --alter --entity-type topics --entity-name %s --add-config %s", f.tool("kafka-configs.sh"), name, strings.Join(set, ","))
}

// principal is what brokers call Layover, as far as the settings tell. Brokers may have
// rules that make another name of it.
func (f *facts) principal() string {
	s := &f.settings.Kafka.SASL
	switch s.Mechanism {
	case config.MechanismPlain, config.MechanismScramSHA256, config.MechanismScramSHA512:
		if user, err := s.Username.Read(); err == nil && user != "" {
			return user
		}
		return "NAME"
	case "":
		for _, c := range f.status.Certificates {
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
