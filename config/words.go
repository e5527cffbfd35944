package config

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxText bounds a line of text, in bytes.
const maxText = 4096

// checkText allows one printable line.
func checkText(text string) error {
	if len(text) > maxText {
		return fmt.Errorf("is longer than %d bytes", maxText)
	}
	return checkPrintable(text)
}

// checkHost allows a name or an address without a port.
func checkHost(host string) error {
	if _, err := netip.ParseAddr(host); err == nil {
		return nil
	}
	switch {
	case len(host) > maxHost:
		return fmt.Errorf("is longer than %d characters", maxHost)
	case strings.Contains(host, ":"):
		return errors.New("has a port, want the host alone")
	}
	return checkAlphabet(host, "")
}

var region = regexp.MustCompile(`^[a-z]{2}[a-z0-9-]{3,30}$`)

// checkRegion allows the form of AWS's regions: new ones come.
func checkRegion(name string) error {
	if !region.MatchString(name) {
		return errors.New("is not of the form of an AWS region, such as eu-west-1")
	}
	return nil
}

// checkLine refuses control characters in a secret, as RFC 4013 does in a password. A line
// break inside of one is a mistake, and other control characters end fields of protocols.
func checkLine(text string) error {
	if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
		return errors.New("has a line break or another control character, or is not UTF-8")
	}
	return nil
}

// isURL reports whether a value is a URL.
func (s *setting) isURL() bool { return s.kind == "url" || s.kind == "container" || s.kind == "link" }

// containerHosts are where AWS's SDKs take credentials of a container from without TLS.
var containerHosts = []string{"169.254.170.2", "169.254.170.23", "fd00:ec2::23"}

// checkURL allows http and https with a host, without a login, which would be printed.
// By http no secret is sent but to this host, and for a container to AWS's addresses.
func checkURL(text, kind string) error {
	if strings.Contains(text, "@") {
		return errors.New("has an @, want a URL without a login")
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" || checkPrintable(text) != nil {
		return errors.New("is no URL such as https://host/path")
	}
	near := isLoopback(u.Hostname()) || kind == "container" && slices.Contains(containerHosts, u.Hostname())
	if kind != "link" && u.Scheme == "http" && !near {
		return errors.New("is http, and secrets are sent there: want https")
	}
	return nil
}

// extensionName is a key of RFC 7628, section 3.1.
var extensionName = regexp.MustCompile(`^[A-Za-z]+$`)

// checkExtension allows name=value as RFC 7628 does; auth is the token's own name.
func checkExtension(pair string) error {
	name, value, ok := strings.Cut(pair, "=")
	switch {
	case !ok:
		return errors.New("is not of the form name=value")
	case !extensionName.MatchString(name) || strings.EqualFold(name, "auth"):
		return errors.New("has a name that is not letters alone, or is auth")
	}
	return checkPrintable(value)
}
