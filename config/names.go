package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"layover/delay"
)

// The errors of the checks here continue a sentence that begins with the
// quoted value.

const (
	brokerPorts  = "1 to 65535"
	listenPorts  = "0 to 65535"
	nameAlphabet = "a-z A-Z 0-9 . _ -"

	placeholders = ingressPlaceholder + " and " + groupPlaceholder

	maxGroup = 1024 // bytes of a group's name, for which Kafka has no bound
	maxHost  = 253  // bytes of a host's name, the bound of DNS
)

// checkName checks by Kafka's rule for topics, which its clients also apply to
// the names of static members.
func checkName(name string) error {
	switch {
	case len(name) > delay.MaxTopicName:
		return fmt.Errorf("is longer than %d characters", delay.MaxTopicName)
	case name == "." || name == "..":
		return errors.New("is a name that Kafka does not allow")
	}
	return checkAlphabet(name, "")
}

// checkClient allows the characters of a topic's name in a client's id, which is
// part of the names of metrics and quotas. Kafka takes no others there.
func checkClient(id string) error {
	if len(id) > delay.MaxTopicName {
		return fmt.Errorf("is longer than %d characters", delay.MaxTopicName)
	}
	return checkAlphabet(id, "")
}

// checkAlphabet allows the characters of a topic's name, and those in also.
func checkAlphabet(name, also string) error {
	for _, c := range name {
		switch {
		case c < utf8.RuneSelf && delay.IsTopicByte(byte(c)):
		case strings.ContainsRune(also, c):
		default:
			return fmt.Errorf("has the character %q, want only %s%s", c, nameAlphabet, spaced(also))
		}
	}
	return nil
}

func spaced(characters string) string {
	var b strings.Builder
	for _, c := range characters {
		b.WriteRune(' ')
		b.WriteRune(c)
	}
	return b.String()
}

// checkTopic checks a topic that Layover reads or writes. Kafka's own topics
// are never among them: one wrong record there breaks the cluster.
func checkTopic(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	return checkNotInternal(name)
}

func checkNotInternal(name string) error {
	if strings.HasPrefix(name, "__") {
		return errors.New("begins with __, which is for internal topics: they are never allowed")
	}
	return nil
}

// checkTarget checks a topic's name or a glob as path.Match reads it. A backslash is
// refused, as no character of a topic's name needs one. Names have no slash, so *
// matches any part of a name.
func checkTarget(pattern string) error {
	const special = "*?[]^"
	if !IsGlob(pattern) {
		return checkTopic(pattern)
	}
	if len(pattern) > delay.MaxTopicName {
		return fmt.Errorf("is longer than %d characters", delay.MaxTopicName)
	}
	if err := checkAlphabet(pattern, special); err != nil {
		return err
	}
	if _, err := path.Match(pattern, ""); err != nil {
		return errors.New("is no valid glob: a [ begins a class such as [a-z] and needs its ]")
	}
	return checkNotInternal(pattern)
}

// IsGlob reports whether a target is a glob and no name: ] and ^ mean something
// in a class alone.
func IsGlob(target string) bool { return strings.ContainsAny(target, "*?[") }

// checkTemplate checks a topic's name with placeholders in it. Its rest has to be a
// piece of a topic's name, and may be empty or a dot. The final name's length is not
// known here, only that of the rest.
func checkTemplate(name string) error {
	rest := strings.NewReplacer(ingressPlaceholder, "", groupPlaceholder, "").Replace(name)
	if rest == name && !strings.ContainsAny(name, "{}") {
		return checkTopic(name)
	}
	if len(rest) > delay.MaxTopicName {
		return fmt.Errorf("is longer than %d characters without %s", delay.MaxTopicName, placeholders)
	}
	if strings.ContainsAny(rest, "{}") {
		return fmt.Errorf("has %s, want no placeholders but %s", strangeBrace(rest), placeholders)
	}
	if err := checkAlphabet(rest, ""); err != nil {
		return fmt.Errorf("%w besides %s", err, placeholders)
	}
	return checkNotInternal(name)
}

// strangeBrace names the first brace in text, which has one: a
// placeholder where the next brace closes it.
func strangeBrace(text string) string {
	text = text[strings.IndexAny(text, "{}"):]
	end := 1 + strings.IndexAny(text[1:], "{}") // 0 if there is no second brace
	if text[0] == '{' && text[end] == '}' {
		return "the unknown placeholder " + quote(text[:end+1])
	}
	return "a brace that belongs to no placeholder"
}

// checkGroup allows printable characters: Kafka takes any text, people read it.
func checkGroup(name string) error {
	if len(name) > maxGroup {
		return fmt.Errorf("is longer than %d bytes", maxGroup)
	}
	return checkPrintable(name)
}

func checkPrintable(text string) error {
	unprintable := func(c rune) bool { return !unicode.IsPrint(c) }
	if !utf8.ValidString(text) || strings.ContainsFunc(text, unprintable) {
		return errors.New("has a character that does not print")
	}
	return nil
}

// checkBroker checks host:port. A URL is refused as such, since its scheme may
// ask for encryption.
func checkBroker(address string) error {
	if strings.Contains(address, "://") {
		return errors.New("has a scheme, want host:port alone")
	}
	host, err := checkAddress(address, 1)
	if err != nil {
		return err
	}
	if host == "" {
		return errors.New("has no host, want host:port")
	}
	return nil
}

// checkListen checks an address to listen on: any host or none, any port.
func checkListen(address string) error {
	_, err := checkAddress(address, 0)
	return err
}

// checkAddress splits host:port, checks both and returns the host, which may
// be empty. Names of ports are not looked up.
func checkAddress(address string, minPort uint64) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		if strings.Count(address, ":") > 1 {
			return "", errors.New("is not host:port, with an IPv6 address in brackets as in [::1]:9092")
		}
		return "", errors.New("has no port, want host:port")
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n < minPort {
		ports := listenPorts
		if minPort > 0 {
			ports = brokerPorts
		}
		return "", fmt.Errorf("has a port that is no number from %s", ports)
	}
	if strings.HasPrefix(address, "[") {
		if ip, err := netip.ParseAddr(host); err != nil || !ip.Is6() {
			return "", errors.New("has something other than an IPv6 address in brackets")
		}
		return host, nil
	}
	if len(host) > maxHost {
		return "", fmt.Errorf("has a host of more than %d characters", maxHost)
	}
	if err := checkAlphabet(host, ""); err != nil {
		return "", fmt.Errorf("has a bad host, it %w", err)
	}
	return host, nil
}
