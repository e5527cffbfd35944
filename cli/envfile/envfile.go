// Package envfile reads files of NAME=value lines, as docker compose reads them:
//
//	# where Kafka is
//	KAFKA_BROKERS=127.0.0.1:9092
//	export LAYOVER_INGRESS_TOPICS=delayed   # the word export may be there
//	LAYOVER_GROUP_ID='a name with # in it'
//
// They are for laptops, where nothing else sets an environment. Nothing is
// replaced in a value, so a $ is a $, and a value ends with its line.
package envfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"unicode/utf8"
)

// maxBytes bounds a file, in bytes: a larger one is no file of settings.
const maxBytes = 1 << 20

// Entry is one line that sets a variable.
type Entry struct{ Name, Value string }

// Merge returns environ, in the form of [os.Environ], with the files' variables
// before it, and the file of each. Where several set the same variable, the last
// file wins, and environ wins over all. An empty value there unsets a file's.
//
// An error has a line for each mistake in any file.
func Merge(environ, paths []string) (merged []string, origins map[string]string, err error) {
	here := make(map[string]bool)
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		here[canonical(name)] = true
	}
	origins = make(map[string]string)
	var wrong []error
	for _, path := range paths {
		entries, err := read(path)
		wrong = append(wrong, err)
		for _, e := range entries {
			if name := canonical(e.Name); !here[name] {
				merged = append(merged, name+"="+e.Value)
				origins[name] = path
			}
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, nil, err
	}
	return append(merged, environ...), origins, nil
}

// canonical is a variable's name as the system compares it: on Windows without
// regard to case.
func canonical(name string) string {
	if runtime.GOOS == "windows" {
		return strings.ToUpper(name)
	}
	return name
}

func read(path string) ([]Entry, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, cannotRead(path, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	switch {
	case err != nil:
		return nil, cannotRead(path, err)
	case len(text) > maxBytes:
		return nil, fmt.Errorf("env file %s: larger than %d bytes, want lines of NAME=value", path, maxBytes)
	}
	return Parse(path, text)
}

func cannotRead(path string, err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err
	}
	return fmt.Errorf("env file %s: cannot be read: %w", path, err)
}

// Parse returns the entries of text in their order. The error has a line for each
// bad one: name, number and remedy. It never repeats a part of the bad line,
// which may be a secret.
func Parse(name string, text []byte) ([]Entry, error) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")) // as some editors begin a file
	var entries []Entry
	var wrong []error
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		e, ok, err := parseLine(strings.TrimRight(line, "\r\n"))
		switch {
		case err != nil:
			wrong = append(wrong, fmt.Errorf("%s:%d: %w", name, number, err))
		case ok:
			entries = append(entries, e)
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	return entries, nil
}

// blanks may stand around names and values.
const blanks = " \t"

// parseLine returns the entry of a line. ok is false where the line is empty or
// a comment.
func parseLine(line string) (e Entry, ok bool, err error) {
	line = strings.Trim(line, blanks)
	if line == "" || line[0] == '#' {
		return e, false, nil
	}
	if !utf8.ValidString(line) || strings.ContainsRune(line, 0) {
		return e, false, errors.New("the line is not text, want UTF-8 without zero bytes")
	}
	if rest, found := strings.CutPrefix(line, "export"); found && rest != "" && strings.ContainsRune(blanks, rune(rest[0])) {
		line = strings.TrimLeft(rest, blanks)
	}
	name, rest, found := strings.Cut(line, "=")
	if !found {
		return e, false, errors.New("there is no =, want NAME=value, or # in front of a comment")
	}
	e.Name = strings.TrimRight(name, blanks)
	if !isName(e.Name) {
		return e, false, errors.New("the text before the = is no name, want letters, digits, _ . and - with no digit first, as in NAME=value")
	}
	e.Value, err = parseValue(rest)
	return e, err == nil, err
}

func isName(name string) bool {
	for i, c := range []byte(name) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c != '.' && c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return name != ""
}

// parseValue reads the text behind the equals sign. Without quotes a value ends
// before a # with a blank in front of it.
func parseValue(text string) (string, error) {
	value := strings.TrimLeft(text, blanks)
	if value != "" && (value[0] == '\'' || value[0] == '"') {
		return parseQuoted(value[1:], value[0])
	}
	for i := range len(text) {
		if text[i] == '#' && i > 0 && strings.ContainsRune(blanks, rune(text[i-1])) {
			text = text[:i]
			break
		}
	}
	return strings.Trim(text, blanks), nil
}

// parseQuoted reads text up to the quote that ends it. A comment may stand behind
// that quote. In single quotes a backslash escapes a quote alone. In double quotes
// \n, \r, \t, \\, \" and \$ mean the same as in a shell's $'…'.
func parseQuoted(text string, quote byte) (string, error) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == quote:
			if rest := strings.TrimLeft(text[i+1:], blanks); rest != "" && rest[0] != '#' {
				return "", errors.New("there is something behind the closing quote, want nothing there, or # in front of a comment")
			}
			return b.String(), nil
		case c == '\\' && i+1 < len(text):
			if unescaped, ok := unescape(text[i+1], quote); ok {
				c = unescaped
				i++
			}
		}
		b.WriteByte(c)
	}
	return "", fmt.Errorf("the quote %c is not closed on this line, want one at both ends of the value, or none", quote)
}

// unescape returns the meaning of a backslash and c, false where they have none.
func unescape(c, quote byte) (byte, bool) {
	if quote == '\'' {
		return c, c == '\''
	}
	switch c {
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	case '\\', '"', '$':
		return c, true
	}
	return 0, false
}
