package config

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
)

// Secret is a value that may come from a file, and that nothing prints: no verb of
// fmt, no JSON, no log. [Secret.Read] is the one way to it. The zero Secret is unset.
type Secret struct {
	// of is a pointer to a pointer. In an unexported field fmt cannot call methods, and
	// prints the struct behind a pointer where a verb does not suit it: %!s(...=&{...}).
	of **secret
}

type secret struct {
	text string
	path string // of the file to read again; "" where text is the value for good
	kind string // of the setting, by which it is trimmed and checked; "": as a token
}

// NewSecret returns a secret of a literal value.
func NewSecret(text string) Secret { return secretOf(secret{text: text}) }

// SecretFile returns a secret that is in a file, which need not be there yet.
func SecretFile(path string) Secret { return secretOf(secret{path: path}) }

func secretOf(s secret) Secret {
	p := &s
	return Secret{of: &p}
}

// get returns the content, for a change too; that of an unset secret is empty.
func (s Secret) get() *secret {
	if s.of == nil {
		return new(secret)
	}
	return *s.of
}

// IsSet reports whether there is a value.
func (s Secret) IsSet() bool { return s.of != nil }

// Path is the path of the file that the value is from; "" where it is from none.
func (s Secret) Path() string { return s.get().path }

// Read returns the value, which for a file is its content of now; "" of an unset one.
// An empty or unreadable file is an error that has its path and nothing of its content.
func (s Secret) Read() (string, error) {
	of := s.get()
	if of.path == "" {
		return of.text, nil
	}
	content, err := readFile(of.path)
	if err != nil {
		return "", fmt.Errorf("the file %s %w", quote(of.path), err)
	}
	text := trimSecret(string(bytes.TrimPrefix(content, []byte(byteOrderMark))), of.kind)
	if text == "" {
		return "", fmt.Errorf("the file %s is empty", quote(of.path))
	}
	if of.kind == "password" || of.kind == "token" || of.kind == "text" {
		err = checkLine(text)
	}
	if err != nil {
		return "", fmt.Errorf("the file %s %w", quote(of.path), err)
	}
	return text, nil
}

func (s Secret) text() string { return s.get().text }

// asRead returns the value as it was when the settings were read.
func (s Secret) asRead() (string, error) { return s.text(), nil }

// trimSecret returns the value in text. White space alone is none. A password may begin
// and end with blanks: only line breaks at its end do not belong to it.
func trimSecret(text, kind string) string {
	trimmed := strings.TrimSpace(text)
	if kind != "password" || trimmed == "" {
		return trimmed
	}
	return strings.TrimRight(text, "\r\n")
}

// String returns only how long the value is; empty of an unset one.
func (s Secret) String() string {
	if s.IsSet() && s.text() == "" {
		return "set" // by SecretFile, and not read
	}
	return masked(s.text())
}

// Format implements fmt.Formatter: every verb prints the same.
func (s Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, s.String()) }

// MarshalText implements encoding.TextMarshaler, and so JSON.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// UnmarshalText takes a literal value. Having it also keeps envconfig from taking the
// fields for settings.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = NewSecret(string(text))
	return nil
}
